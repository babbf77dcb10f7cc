/**
 * The account of what tasks disclose: how finely their strata together sort people, in bits.
 *
 * Two bounds are kept, and the smaller one is charged: the sum over different trees of log2(strata), and
 * the sum over different columns of log2(1 + cuts). A column is its whole declaration. The charge is a
 * task's and not a record's, so that no later refusal depends on a record.
 */
export type DisclosedSplits = {
    /**
     * equal for equal trees of disclosed splits
     */
    tree: string;
    strata: number;
    /**
     * by column, the cuts through it
     */
    cuts: Record<string, string[]>;
};
/**
 * @typedef {object} DisclosedSplits
 * @property {string} tree equal for equal trees of disclosed splits
 * @property {number} strata
 * @property {Record<string, string[]>} cuts by column, the cuts through it
 */
/**
 * @param {import("./task.js").Task} task
 * @returns {Promise<DisclosedSplits | null>} its disclosed splits; null if it discloses no column
 */
export declare function splitsOf({ features, partitions, questions, strata }: import("./task.js").Task): Promise<DisclosedSplits | null>;
/**
 * @param {DisclosedSplits[]} disclosed
 * @returns {number} the most bits that strata by these splits tell of one record, all together
 */
export declare function disclosedBits(disclosed: DisclosedSplits[]): number;
