/** What came out of a collection, in words and as intervals on a line. */
export type Figure = {
    name: string;
    value: number;
    low: number;
    high: number;
    public: number;
    /**
     * whether that differs beyond chance
     */
    differs: boolean;
};
/**
 * @typedef {object} Figure
 * @property {string} name
 * @property {number} value
 * @property {number} low
 * @property {number} high
 * @property {number} public
 * @property {boolean} differs whether that differs beyond chance
 */
/**
 * @param {{figures: Figure[]}} results
 * @param {import("./task.js").Task} task
 * @param {import("./texts.js").Texts} texts
 * @param {(text: string) => {text: string, lang: string}} translate
 * @param {(...children: (Node | string)[]) => HTMLElement} heading
 * @returns {HTMLElement[]} what was asked for, where that is a class, and a row for each figure; of two classes
 *   for the second, whose share is the rest
 */
export declare function rowsOf({ figures }: {
    figures: Figure[];
}, { label }: import("./task.js").Task, texts: import("./texts.js").Texts, translate: (text: string) => {
    text: string;
    lang: string;
}, heading: (...children: (Node | string)[]) => HTMLElement): HTMLElement[];
