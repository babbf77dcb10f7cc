/** What is said to people, in the reader's language. */
/** The languages that the page itself speaks. */
export declare const SPOKEN: string[];
/**
 * @param {readonly string[]} [wanted] the reader's languages
 * @returns {Promise<Texts>}
 */
export declare function textsFor(wanted?: readonly string[]): Promise<Texts>;
/** One language's texts, numbers and dates. */
export declare class Texts {
    language: string;
    region: string;
    catalogue: Record<string, string>;
    /**
     * @param {string} language
     * @param {Record<string, string>} catalogue
     * @param {string} region whose numbers and dates they are, as a language's tag
     */
    constructor(language: string, catalogue: Record<string, string>, region: string);
    /**
     * @param {string} key
     * @param {Record<string, string | number>} [values] for the names in braces
     */
    say(key: string, values?: Record<string, string | number>): string;
    /**
     * @param {number} value
     * @param {boolean} [isGrouped] with signs between thousands from five digits on, so that years have none; to be read only
     */
    number(value: number, isGrouped?: boolean): string;
    /** @param {string[]} items */
    list(items: string[]): string;
    /**
     * @param {number} share
     * @param {number} [digits] after the decimal sign, at most
     */
    percent(share: number, digits?: number): string;
    /** @param {number} seconds Unix time */
    date(seconds: number): string;
    /**
     * The number that somebody typed, with the signs of this language or of another: `1.234,5`,
     * `1,234.5`, `12,5`, full-width digits, spaces or apostrophes between thousands.
     * @param {string} typed
     * @returns {string[]} as the protocol reads it, or what is no number as it is; both numbers where the other
     *   language's sign may be either, as in `1,125` where decimals follow a point
     */
    typedNumbers(typed: string): string[];
    get decimalSign(): string;
}
