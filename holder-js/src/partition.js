/** The tree of a question: its form, and the cell of a record (docs/protocol.md, "Task"). */

const LEAF = -1;
export const MAX_DEPTH = 256;

/**
 * @typedef {{columns: number, feature: number[], threshold: number[], left: number[], right: number[]}} Tree
 */

/**
 * Whether the arrays are one binary tree, parents first, of a depth within the limit.
 * @param {Tree} tree
 * @returns {boolean}
 */
export function isTree({ columns, feature, threshold, left, right }) {
  const nodes = feature.length;
  if ([threshold, left, right].some((array) => array.length !== nodes)) return false;
  const depth = new Array(nodes).fill(null);
  depth[0] = 0;
  for (let node = 0; node < nodes; node += 1) {
    if (depth[node] === null || depth[node] > MAX_DEPTH) return false;
    if (left[node] === LEAF && right[node] === LEAF) {
      if (feature[node] !== LEAF) return false;
      continue;
    }
    if (feature[node] < 0 || feature[node] >= columns) return false;
    for (const child of [left[node], right[node]]) {
      if (child <= node || child >= nodes || depth[child] !== null) return false;
      depth[child] = depth[node] + 1;
    }
  }
  return true;
}

/**
 * @param {Tree} tree
 * @returns {number} how many leaves it has
 */
export function cellsOf(tree) {
  return tree.left.filter((child) => child === LEAF).length;
}

/**
 * Every node is looked at and a leaf leads to itself, so that all records take the same steps.
 * @param {Tree} tree
 * @param {number[]} x a record's columns
 * @returns {number} the record's cell: leaves are numbered from 0 in the order of their nodes
 */
export function locate({ feature, threshold, left, right }, x) {
  const children = left.map((child, node) => {
    const next = [right[node], child][Number(x[feature[node]] < threshold[node])];
    return child === LEAF ? node : next;
  });
  let leaf = 0;
  for (let step = Math.min((left.length - 1) / 2, MAX_DEPTH); step > 0; step -= 1) leaf = children[leaf];
  return left.reduce((cell, child, node) => cell + Number(child === LEAF && node < leaf), 0);
}
