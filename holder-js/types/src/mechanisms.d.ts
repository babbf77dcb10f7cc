/**
 * What each mechanism draws and sends (docs/mechanisms.md, "How a holder answers"), in its symbols.
 *
 * A mechanism is built once from a question; `privatize(category, words)` turns one category and
 * `words` random 64-bit integers into the payload.
 */
export type Mechanism = {
    levels: number;
    categories: number;
    /**
     * those that the task states, or the default ones
     */
    parameters: object;
    /**
     * the numbers that chances are made of, by the names of the vectors
     */
    integers: object;
    /**
     * how many random words it draws
     */
    words: number;
    /**
     * length of its table of noise, or 0
     */
    tableEntries: number;
    /**
     * the same for mechanisms with the same table
     */
    tableKey: string;
    /**
     * how many numbers a curator adds reports up into
     */
    sums: number;
    reportBytes: number;
    /**
     * the category of a record that does not fit
     */
    misfitAt: (cell: number) => number;
    privatize: (category: number, words: bigint[]) => Uint8Array;
};
export type Question = {
    mechanism: string;
    epsilon: number;
    cells: number;
    slots: number;
    /**
     * whether the label is a number
     */
    regression: boolean;
    parameters?: object;
};
/**
 * @typedef {object} Mechanism
 * @property {number} levels
 * @property {number} categories
 * @property {object} parameters those that the task states, or the default ones
 * @property {object} integers the numbers that chances are made of, by the names of the vectors
 * @property {number} words how many random words it draws
 * @property {number} tableEntries length of its table of noise, or 0
 * @property {string} tableKey the same for mechanisms with the same table
 * @property {number} sums how many numbers a curator adds reports up into
 * @property {number} reportBytes
 * @property {(cell: number) => number} misfitAt the category of a record that does not fit
 * @property {(category: number, words: bigint[]) => Uint8Array} privatize
 */
/**
 * @typedef {object} Question
 * @property {string} mechanism
 * @property {number} epsilon
 * @property {number} cells
 * @property {number} slots
 * @property {boolean} regression whether the label is a number
 * @property {object} [parameters]
 */
export declare const MAX_TABLE_ENTRIES: number;
/**
 * @param {Question} question
 * @returns {Mechanism}
 * @throws {Problem} `invalid-task`
 */
export declare function createMechanism({ mechanism, epsilon, cells, slots, regression, parameters }: Question): Mechanism;
export declare function refuse(where: any): void;
/** w(n): bytes of an integer up to n. */
export declare const width: (n: any) => number | undefined;
/** Integers up to `largest`, little-endian, one after another. */
export declare function integers(values: any, largest: any): Uint8Array<ArrayBuffer>;
