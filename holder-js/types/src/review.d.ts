/** What will be sent and what anybody could learn from it, in words (docs/answer-page.md). */
import { OpenedRecord } from "./report.js";
/** What is said of a task to one reader. */
export declare class Wording {
    texts: import("./texts.js").Texts;
    task: import("./http.js").Task;
    own: (text: string) => {
        text: string;
        lang: string;
    };
    /**
     * @param {import("./texts.js").Texts} texts
     * @param {import("./http.js").Task} task
     * @param {readonly string[]} languages the reader's
     */
    constructor(texts: import("./texts.js").Texts, task: import("./http.js").Task, languages: readonly string[]);
    /**
     * @param {string} key
     * @param {Record<string, string | number>} [values]
     * @returns {string}
     */
    say(key: string, values?: Record<string, string | number>): string;
    /** @param {string} name of a column */
    named(name: string): string;
    /**
     * @param {{asFiles?: boolean, invitation?: string}} [options]
     * @returns {string[]} what happens to the answers, step by step
     */
    sent({ asFiles, invitation }?: {
        asFiles?: boolean;
        invitation?: string;
    }): string[];
    /** @returns {Learn} */
    learn(): Learn;
    /**
     * @param {import("./strata.js").Disclosure} disclosed
     * @returns {string} the group that a report names, with its number of people
     */
    group(disclosed: import("./strata.js").Disclosure): string;
    /**
     * @param {import("./features.js").Finding} finding
     * @returns {string} to whoever filled a field in
     */
    finding({ field, fault }: import("./features.js").Finding): string;
}
/**
 * @param {import("./strata.js").Disclosure} disclosed
 * @param {import("./texts.js").Texts} texts
 * @param {(text: string) => string} own the task's texts in the reader's language
 */
export declare function groupInWords({ size, of, conditions, replaced }: import("./strata.js").Disclosure, texts: import("./texts.js").Texts, own: (text: string) => string): string;
export type Learn = {
    lead: string;
    /**
     * of 100 people who send the same message, how many gave these answers at most
     */
    many: number;
    few: number;
    ofMany: string;
    ofFew: string;
    /**
     * what a picture of them says
     */
    picture: string;
    after: string;
    /**
     * the same in numbers
     */
    odds: string;
};
export type Review = {
    /**
     * of these words
     */
    language: string;
    /**
     * of the task
     */
    name: {
        text: string;
        lang: string;
    };
    /**
     * what happens to the answers, step by step
     */
    sent: string[];
    /**
     * what anybody could learn
     */
    learn: Learn;
    /**
     * what does not fit
     */
    findings: {
        field: string | null;
        message: string;
    }[];
    /**
     * the group that is sent openly; null if there is none
     */
    disclosed: string | null;
    /**
     * how much is sent, and that it cannot be taken back
     */
    goes: string;
    /**
     * give it to `answer`, which then sends these very bytes
     */
    record: OpenedRecord;
    /**
     * the message
     */
    bytes: Uint8Array;
};
/**
 * How sure anybody could be afterwards.
 * @typedef {object} Learn
 * @property {string} lead
 * @property {number} many of 100 people who send the same message, how many gave these answers at most
 * @property {number} few
 * @property {string} ofMany
 * @property {string} ofFew
 * @property {string} picture what a picture of them says
 * @property {string} after
 * @property {string} odds the same in numbers
 */
/**
 * @typedef {object} Review
 * @property {string} language of these words
 * @property {{text: string, lang: string}} name of the task
 * @property {string[]} sent what happens to the answers, step by step
 * @property {Learn} learn what anybody could learn
 * @property {{field: string | null, message: string}[]} findings what does not fit
 * @property {string | null} disclosed the group that is sent openly; null if there is none
 * @property {string} goes how much is sent, and that it cannot be taken back
 * @property {OpenedRecord} record give it to `answer`, which then sends these very bytes
 * @property {Uint8Array} bytes the message
 */
/**
 * Show a person what answering sends, and what anybody could learn, before it happens.
 * @param {import("./http.js").Task} task from `loadTask`
 * @param {Record<string, unknown> | OpenedRecord} record
 * @param {{languages?: readonly string[], asFiles?: boolean, invitation?: string}} [options] the reader's languages, of
 *   which English, German, Spanish and Chinese are spoken; the browser's if absent
 * @returns {Promise<Review>}
 */
export declare function review(task: import("./http.js").Task, record: Record<string, unknown> | OpenedRecord, { languages, ...more }?: {
    languages?: readonly string[];
    asFiles?: boolean;
    invitation?: string;
}): Promise<Review>;
