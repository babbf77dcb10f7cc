/** The disclosed part of a report: its stratum, and a mechanism for the rest (docs/encoding.md, "Disclosed columns"). */
export declare const MAX_SUMS: number;
/**
 * @param {import("./partition.js").Tree} tree
 * @param {boolean[]} isDisclosed which encoded columns are disclosed
 * @returns {{nodes: number[], ofCell: number[]}} the node of each stratum, and the stratum of each cell
 */
export declare function strataOf({ feature, left, right }: import("./partition.js").Tree, isDisclosed: boolean[]): {
    nodes: number[];
    ofCell: number[];
};
/**
 * @param {import("./task.js").Task["features"]} features of a task
 * @param {string[]} disclosed names of those that are disclosed
 * @returns {boolean[]} which encoded columns are disclosed
 */
export declare const disclosedColumns: (features: import("./task.js").Task["features"], disclosed: string[]) => boolean[];
/**
 * `createMechanism`, or where cells are in strata one that says the stratum and hides the rest.
 * @param {import("./mechanisms.js").Question & {strata?: number[]}} question `strata` has the stratum of each cell
 * @returns {import("./mechanisms.js").Mechanism}
 * @throws {import("./problem.js").Problem} `invalid-task`
 */
export declare function createStratifiedMechanism({ strata: ofCell, ...question }: import("./mechanisms.js").Question & {
    strata?: number[];
}): import("./mechanisms.js").Mechanism;
export type Disclosure = {
    /**
     * of the stratum
     */
    number: number;
    /**
     * people expected in it
     */
    size: number;
    /**
     * people expected in all
     */
    of: number;
    /**
     * what it says: names, relations and values
     */
    conditions: [string, "<" | ">=" | "<=" | ">" | "is" | "is not", number | string][];
    /**
     * the features for which another value counts
     */
    replaced: string[];
};
/**
 * @typedef {object} Disclosure
 * @property {number} number of the stratum
 * @property {number} size people expected in it
 * @property {number} of people expected in all
 * @property {[string, "<" | ">=" | "<=" | ">" | "is" | "is not", number | string][]} conditions what it says: names, relations and values
 * @property {string[]} replaced the features for which another value counts
 */
/**
 * What a report from a record discloses, for people.
 * @param {import("./task.js").Task} task with disclosed columns
 * @param {import("./features.js").EncodedRecord} record
 * @returns {Disclosure}
 */
export declare function disclosureOf({ features, partitions, questions, strata: { nodes }, group_sizes: groupSizes }: import("./task.js").Task, { columns, replaced }: import("./features.js").EncodedRecord): Disclosure;
