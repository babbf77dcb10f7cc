/** The tree of a question: its form, and the cell of a record (docs/protocol.md, "Task"). */
export declare const MAX_DEPTH = 256;
export type Tree = {
    columns: number;
    feature: number[];
    threshold: number[];
    left: number[];
    right: number[];
};
/**
 * @typedef {{columns: number, feature: number[], threshold: number[], left: number[], right: number[]}} Tree
 */
/**
 * Whether the arrays are one binary tree, parents first, of a depth within the limit.
 * @param {Tree} tree
 * @returns {boolean}
 */
export declare function isTree({ columns, feature, threshold, left, right }: Tree): boolean;
/**
 * @param {Tree} tree
 * @returns {number} how many leaves it has
 */
export declare function cellsOf(tree: Tree): number;
/**
 * Every node is looked at and a leaf leads to itself, so that all records take the same steps.
 * @param {Tree} tree
 * @param {number[]} x a record's columns
 * @returns {number} the record's cell: leaves are numbered from 0 in the order of their nodes
 */
export declare function locate({ feature, threshold, left, right }: Tree, x: number[]): number;
