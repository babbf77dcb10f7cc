/**
 * The task: its fields, its canonical bytes and its limits (docs/protocol.md, "Task").
 *
 * `SCHEMA` reads decoded msgpack into plain values and writes them back; a fault is a Problem
 * `invalid-task` that says where.
 */
export declare const MAX: {
    cells: number;
    nodes: number;
    columns: number;
    questions: number;
    classes: number;
    parameters: number;
    part: number;
    name: number;
    category: number;
    description: number;
    translations: number;
    waves: number;
    panelSeconds: number;
    taskBytes: number;
    items: number;
    containers: number;
    randomBytes: number;
    reportBytes: number;
};
export type NumericFeature = {
    kind: "numeric";
    name: string;
    /**
     * the question that people read, instead of the name
     */
    prompt?: string;
    /**
     * help below it
     */
    description?: string;
    unit?: string;
    low: number;
    high: number;
    /**
     * what counts where there is no value; null if such a record does not fit
     */
    missing: number | null;
};
export type CategoricalFeature = {
    kind: "categorical";
    name: string;
    /**
     * the question that people read, instead of the name
     */
    prompt?: string;
    /**
     * help below it
     */
    description?: string;
    categories: string[];
    missing: string | null;
    /**
     * what counts for an unlisted category; null if such a record does not fit
     */
    unknown: string | null;
};
export type ClassLabel = {
    kind: "classes";
    name: string;
    /**
     * the question that people read, instead of the name
     */
    prompt?: string;
    /**
     * help below it
     */
    description?: string;
    classes: string[];
};
export type RangeLabel = {
    kind: "range";
    name: string;
    /**
     * the question that people read, instead of the name
     */
    prompt?: string;
    /**
     * help below it
     */
    description?: string;
    unit?: string;
    low: number;
    high: number;
};
export type Question = {
    partition: number;
    mechanism: string;
    epsilon: number;
    parameters: Record<string, unknown>;
    asks: "label" | "cell";
    centring?: {
        centres: number[];
        radius: number;
    };
};
export type Task = {
    id: string;
    version: number;
    name: string;
    description: string;
    features: (NumericFeature | CategoricalFeature)[];
    label: ClassLabel | RangeLabel;
    partitions: import("./partition.js").Tree[];
    questions: Question[];
    allocation: string;
    /**
     * Unix time in seconds
     */
    opens: number | null;
    closes: number | null;
    invited?: true;
    smallest_batch?: number;
    edition?: number;
    asker?: {
        name: string;
        contact: string;
        purpose: string;
        link: string;
    };
    language?: string;
    translations?: {
        language: string;
        texts: [string, string][];
    }[];
    disclosed?: string[];
    group_sizes?: number[];
    /**
     * the waves in which it is asked
     */
    panel?: {
        mode: "rotate" | "repeat";
        waves: [number, number][];
    };
    /**
     * one per question
     */
    mechanisms: any[];
    /**
     * null if no column is disclosed
     */
    strata: {
        ofCell: number[];
        nodes: number[];
    } | null;
};
/**
 * @typedef {object} NumericFeature
 * @property {"numeric"} kind
 * @property {string} name
 * @property {string} [prompt] the question that people read, instead of the name
 * @property {string} [description] help below it
 * @property {string} [unit]
 * @property {number} low
 * @property {number} high
 * @property {number | null} missing what counts where there is no value; null if such a record does not fit
 */
/**
 * @typedef {object} CategoricalFeature
 * @property {"categorical"} kind
 * @property {string} name
 * @property {string} [prompt] the question that people read, instead of the name
 * @property {string} [description] help below it
 * @property {string[]} categories
 * @property {string | null} missing
 * @property {string | null} unknown what counts for an unlisted category; null if such a record does not fit
 */
/**
 * @typedef {object} ClassLabel
 * @property {"classes"} kind
 * @property {string} name
 * @property {string} [prompt] the question that people read, instead of the name
 * @property {string} [description] help below it
 * @property {string[]} classes
 */
/**
 * @typedef {object} RangeLabel
 * @property {"range"} kind
 * @property {string} name
 * @property {string} [prompt] the question that people read, instead of the name
 * @property {string} [description] help below it
 * @property {string} [unit]
 * @property {number} low
 * @property {number} high
 */
/**
 * @typedef {object} Question
 * @property {number} partition
 * @property {string} mechanism
 * @property {number} epsilon
 * @property {Record<string, unknown>} parameters
 * @property {"label" | "cell"} asks
 * @property {{centres: number[], radius: number}} [centring]
 */
/**
 * A task as its message has it, with its id and what was worked out once for it.
 * @typedef {object} Task
 * @property {string} id
 * @property {number} version
 * @property {string} name
 * @property {string} description
 * @property {(NumericFeature | CategoricalFeature)[]} features
 * @property {ClassLabel | RangeLabel} label
 * @property {import("./partition.js").Tree[]} partitions
 * @property {Question[]} questions
 * @property {string} allocation
 * @property {number | null} opens Unix time in seconds
 * @property {number | null} closes
 * @property {true} [invited]
 * @property {number} [smallest_batch]
 * @property {number} [edition]
 * @property {{name: string, contact: string, purpose: string, link: string}} [asker]
 * @property {string} [language]
 * @property {{language: string, texts: [string, string][]}[]} [translations]
 * @property {string[]} [disclosed]
 * @property {number[]} [group_sizes]
 * @property {{mode: "rotate" | "repeat", waves: [number, number][]}} [panel] the waves in which it is asked
 * @property {any[]} mechanisms one per question
 * @property {{ofCell: number[], nodes: number[]} | null} strata null if no column is disclosed
 */
/**
 * @param {Uint8Array} bytes
 * @returns {Promise<string>} a task's id: the SHA-256 of its bytes, in hexadecimal
 */
export declare function idOf(bytes: Uint8Array): Promise<string>;
/** @param {Uint8Array} bytes */
export declare const hex: (bytes: Uint8Array) => string;
/**
 * @param {Record<string, any>} task its fields, in the JSON form, and what was worked out for it
 * @returns {Uint8Array} its canonical bytes
 */
export declare const packTask: ({ id, url, clockAhead, clockSetBy, mechanisms, strata, ...task }: Record<string, any>) => Uint8Array;
/**
 * Read a task, check it against everything that a holder can check without an account of its
 * own, and build its mechanisms.
 * @param {Uint8Array} bytes
 * @param {string} [expected] the id it was asked for by
 * @returns {Promise<Task>}
 * @throws {Problem} `invalid-task` or `task-mismatch`
 */
export declare function readTask(bytes: Uint8Array, expected?: string): Promise<Task>;
