/** The tree of a question: its form, and the cell of a record (docs/protocol.md, "Task"). */

const LEAF = -1;

/**
 * @typedef {{columns: number, feature: number[], threshold: number[], left: number[], right: number[]}} Tree
 */

/**
 * Whether the arrays are one binary tree, parents first, of a depth within the limit.
 * @param {Tree} tree
 * @param {number} maxDepth
 * @returns {boolean}
 */
export function isTree({ columns, feature, threshold, left, right }, maxDepth) {
  const nodes = feature.length;
  if ([threshold, left, right].some((array) => array.length !== nodes)) return false;
  const depth = new Array(nodes).fill(null);
  depth[0] = 0;
  for (let node = 0; node < nodes; node += 1) {
    if (depth[node] === null || depth[node] > maxDepth) return false;
    if (left[node] === LEAF && right[node] === LEAF) continue;
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
 * @param {Tree} tree
 * @param {number[]} x a record's columns
 * @returns {number} the record's cell: leaves are numbered from 0 in the order of their nodes
 */
export function locate(tree, x) {
  let node = 0;
  while (tree.left[node] !== LEAF) {
    const below = x[tree.feature[node]] < tree.threshold[node];
    node = below ? tree.left[node] : tree.right[node];
  }
  return tree.left.slice(0, node).filter((child) => child === LEAF).length;
}
