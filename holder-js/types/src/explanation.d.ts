/** What a message can give away, as numbers and as a picture of 100 people. */
/**
 * Out of 100 people who send one message, half of them with one record and half with another beforehand:
 * how many have the likelier record at most. No message and no two records give more, since the
 * probabilities of a message differ by a factor of e^epsilon at most.
 * @param {number} epsilon what the whole report spends
 * @returns {number}
 */
export declare const ofHundred: (epsilon: number) => number;
/**
 * @param {number} epsilon
 * @returns {number} by which odds change at most, rounded up to three digits
 */
export declare function odds(epsilon: number): number;
/**
 * @param {number} many of 100 people
 * @param {string} label what the picture says
 * @returns {SVGElement} 100 people, `many` of them filled
 */
export declare function people(many: number, label: string): SVGElement;
/** @param {boolean} filled */
export declare function figure(filled: boolean): SVGElement;
/**
 * @param {string} tag
 * @param {Record<string, string | number>} attributes
 */
export declare function svg(tag: string, attributes: Record<string, string | number>): SVGElement;
