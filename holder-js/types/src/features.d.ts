/** From a record to numbers (docs/encoding.md, "From a record to a category"). */
export declare const NUMBER: RegExp;
/** @param {string} text */
export declare const trimmed: (text: string) => string;
export type Fault = "missing" | "unlisted" | "no-number" | "unreadable" | "unknown-field" | "no-record";
export type Finding = {
    /**
     * its name; null if it is about the whole record
     */
    field: string | null;
    fault: Fault;
    /**
     * for developers, in English
     */
    message: string;
};
export type EncodedRecord = {
    columns: number[];
    /**
     * the index of the class, or the number clipped to the label's range
     */
    label: number;
    /**
     * what does not fit; a record with any is a misfit
     */
    faults: Finding[];
    /**
     * the fields for which another value counts
     */
    replaced: string[];
};
/**
 * @typedef {object} EncodedRecord
 * @property {number[]} columns
 * @property {number} label the index of the class, or the number clipped to the label's range
 * @property {Finding[]} faults what does not fit; a record with any is a misfit
 * @property {string[]} replaced the fields for which another value counts
 */
/**
 * Encode a record, with the same work whether it fits or not.
 * @param {Pick<import("./task.js").Task, "features" | "label">} task
 * @param {unknown} record values by name, the label included
 * @returns {EncodedRecord}
 */
export declare function encodeRecord(task: Pick<import("./task.js").Task, "features" | "label">, record: unknown): EncodedRecord;
/**
 * @param {Pick<import("./task.js").Task, "features" | "label">} task
 * @param {object} record
 * @returns {string[]} the names in the record that the task does not ask for
 */
export declare function unknownNames({ features, label }: Pick<import("./task.js").Task, "features" | "label">, record: object): string[];
/**
 * @param {number} value
 * @param {number} low
 * @param {number} high
 */
export declare const clip: (value: number, low: number, high: number) => number;
