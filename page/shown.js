/** What a report says openly: the shown cell, and a mechanism for the rest (docs/protocol.md, "Shown columns"). */

import { createMechanism, integers, refuse, width } from "./mechanisms.js";
import { concat } from "./msgpack.js";
import { locate } from "./partition.js";

export const MAX_SUMS = 2 ** 21;
const LEAF = -1;

/**
 * @param {import("./partition.js").Tree} tree
 * @param {boolean[]} isShown which encoded columns are shown
 * @returns {{nodes: number[], ofCell: number[]}} the node of each shown cell, and the shown cell of each cell
 */
export function shownCellsOf({ feature, left, right }, isShown) {
  const top = new Array(feature.length);
  const reach = (node, above) => {
    top[node] = above ?? (isShown[feature[node]] ? null : node); // of a leaf, no column
  };
  reach(0, null);
  left.forEach((child, node) => {
    if (child !== LEAF) [child, right[node]].forEach((each) => reach(each, top[node]));
  });
  const tops = top.filter((_, node) => left[node] === LEAF);
  const nodes = [...new Set(tops)].sort((a, b) => a - b);
  const numbers = new Map(nodes.map((node, number) => [node, number]));
  return { nodes, ofCell: tops.map((node) => numbers.get(node)) };
}

/**
 * @param {object[]} features of a task
 * @param {string[]} shown names of those that are shown
 * @returns {boolean[]} which encoded columns are shown
 */
export const shownColumns = (features, shown) =>
  features.flatMap(({ name, categories = [name] }) => categories.map(() => shown.includes(name)));

/**
 * `createMechanism`, or where cells are in shown cells one that says the shown cell and hides the rest.
 * @param {import("./mechanisms.js").Question & {shown?: number[]}} question `shown` is the shown cell of each cell
 * @returns {import("./mechanisms.js").Mechanism}
 * @throws {import("./problem.js").Problem} `invalid-task`
 */
export function createShownMechanism({ shown: ofCell, ...question }) {
  if (ofCell === undefined) return createMechanism(question);
  const sizes = [];
  const hiddenOf = ofCell.map((shown) => (sizes[shown] = (sizes[shown] ?? 0) + 1) - 1);
  const largest = sizes.reduce((a, b) => Math.max(a, b));
  const inner = createMechanism({ ...question, cells: largest });
  if (sizes.length * (1 + inner.sums) > MAX_SUMS) refuse(`${sizes.length} shown cells are too many`);
  const { levels } = inner;
  const misfits = ofCell.length * levels;
  return {
    ...inner,
    categories: misfits + sizes.length,
    shownBytes: width(sizes.length - 1),
    reportBytes: width(sizes.length - 1) + inner.reportBytes,
    misfitAt: (cell) => misfits + ofCell[cell],
    privatize(category, words) {
      const fits = Number(category < misfits);
      const [cell, level] = [fits * Math.floor(category / levels), category % levels];
      const shown = [category - misfits, ofCell[cell]][fits];
      const hidden = [inner.misfitAt(0), hiddenOf[cell] * levels + level][fits];
      return concat([integers([shown], sizes.length - 1), inner.privatize(hidden, words)]);
    },
  };
}

/**
 * What a report from a record says openly, for people.
 * @param {object} task from `readTask`, with shown columns
 * @param {number[]} columns the record, encoded
 * @returns {{number: number, crowd: number, of: number, conditions: [string, "<" | ">=" | "is" | "is not", number | string][]}}
 *   its shown cell, the people expected in there and in all, and the conditions on the way there, less
 *   those that others imply
 */
export function toldOpenly({ features, partitions, questions, shownCells, crowds }, columns) {
  const tree = partitions[questions[0].partition];
  const number = shownCells.ofCell[locate(tree, columns)];
  const of = crowds.reduce((sum, each) => sum + each, 0);
  return { number, crowd: crowds[number], of, conditions: conditionsAt(tree, features, shownCells.nodes[number]) };
}

function conditionsAt(tree, features, node) {
  let found = [];
  for (const condition of path(tree, features, node)) {
    if (found.some((other) => follows(condition, other))) continue;
    found = [...found.filter((other) => !follows(other, condition)), condition];
  }
  return found;
}

/** The conditions from the root to a node; splits that send all records one way say nothing. */
function path({ feature, threshold, left, right }, features, node) {
  const columns = features.flatMap((each) => (each.categories ?? [null]).map((category) => ({ ...each, category })));
  const found = [];
  for (let at = node; at > 0;) {
    const child = at;
    at = left.findIndex((each, parent) => each === child || right[parent] === child);
    const { name, low, high, category } = columns[feature[at]];
    const isLeft = left[at] === child;
    if (!(threshold[at] > 0 && threshold[at] <= 1) || low === high && category === null) continue;
    if (category !== null) found.unshift([name, isLeft ? "is not" : "is", category]);
    else found.unshift([name, isLeft ? "<" : ">=", low + threshold[at] * (high - low)]);
  }
  return found;
}

/** Whether a condition holds wherever the other does. */
function follows([name, relation, value], [otherName, other, otherValue]) {
  if (name !== otherName) return false;
  if (relation === "is not" && other === "is") return value !== otherValue;
  if (relation !== other) return false;
  if (relation === "<") return otherValue <= value;
  return relation === ">=" ? otherValue >= value : value === otherValue;
}
