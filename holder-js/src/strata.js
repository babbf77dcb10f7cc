/** The disclosed part of a report: its stratum, and a mechanism for the rest (docs/encoding.md, "Disclosed columns"). */

import { createMechanism, integers, refuse, width } from "./mechanisms.js";
import { concat } from "./msgpack.js";

export const MAX_SUMS = 2 ** 21;
const LEAF = -1;

/**
 * @param {import("./partition.js").Tree} tree
 * @param {boolean[]} isDisclosed which encoded columns are disclosed
 * @returns {{nodes: number[], ofCell: number[]}} the node of each stratum, and the stratum of each cell
 */
export function strataOf({ feature, left, right }, isDisclosed) {
  const top = new Array(feature.length);
  const reach = (node, above) => {
    top[node] = above ?? (isDisclosed[feature[node]] ? null : node); // of a leaf, no column
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
 * @param {import("./partition.js").Tree | undefined} tree
 * @param {import("./partition.js").Tree} of a tree
 * @param {number[]} ends the nodes of its strata
 * @returns {boolean} whether `tree` is the part of it whose cells are the strata, its nodes in their order
 */
export function isTreeOfStrata(tree, of, ends) {
  const from = [0];
  return tree?.feature.every((column, node) => {
    const [own, cut] = [from[node], tree.threshold[node]];
    if (own < from[node - 1]) return false;
    if (ends.includes(own)) return column === LEAF && cut === 0;
    [from[tree.left[node]], from[tree.right[node]]] = [of.left[own], of.right[own]];
    return column === of.feature[own] && cut === of.threshold[own];
  }) ?? false;
}

/**
 * @param {import("./task.js").Task["features"]} features of a task
 * @param {string[]} disclosed names of those that are disclosed
 * @returns {boolean[]} which encoded columns are disclosed
 */
export const disclosedColumns = (features, disclosed) =>
  features.flatMap(({ name, categories = [name] }) => categories.map(() => disclosed.includes(name)));

/**
 * `createMechanism`, or where cells are in strata one that says the stratum and hides the rest.
 * @param {import("./mechanisms.js").Question & {strata?: number[]}} question `strata` has the stratum of each cell
 * @returns {import("./mechanisms.js").Mechanism}
 * @throws {import("./problem.js").Problem} `invalid-task`
 */
export function createStratifiedMechanism({ strata: ofCell, ...question }) {
  if (ofCell === undefined) return createMechanism(question);
  const sizes = [];
  const hiddenOf = ofCell.map((disclosed) => (sizes[disclosed] = (sizes[disclosed] ?? 0) + 1) - 1);
  const largest = sizes.reduce((a, b) => Math.max(a, b));
  const inner = createMechanism({ ...question, cells: largest });
  if (sizes.length * (1 + inner.sums) > MAX_SUMS) refuse("strata");
  const { levels } = inner;
  const misfits = ofCell.length * levels;
  return {
    ...inner,
    categories: misfits + sizes.length,
    stratumBytes: width(sizes.length - 1),
    reportBytes: width(sizes.length - 1) + inner.reportBytes,
    misfitAt: (cell) => misfits + ofCell[cell],
    privatize(category, words) {
      const fits = Number(category < misfits);
      const [cell, level] = [fits * Math.floor(category / levels), category % levels];
      const disclosed = [category - misfits, ofCell[cell]][fits];
      const hidden = [inner.misfitAt(0), hiddenOf[cell] * levels + level][fits];
      return concat([integers([disclosed], sizes.length - 1), inner.privatize(hidden, words)]);
    },
  };
}

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
export function disclosureOf({ features, partitions, questions, strata: { nodes }, group_sizes: groupSizes }, { columns, replaced }) {
  const { feature, threshold, left, right } = partitions[questions[0].partition];
  const fields = features.flatMap((of) => (of.categories ?? [of]).map((category) => ({ of, category })));
  const splits = [];
  let node = 0;
  while (!nodes.includes(node)) {
    const cut = threshold[node];
    const isLeft = columns[feature[node]] < cut;
    const { of, category } = fields[feature[node]];
    if (cut > 0 && cut <= 1 && (of.categories || of.low < of.high)) splits.push({ of, category, cut, isLeft });
    node = (isLeft ? left : right)[node];
  }
  const number = nodes.indexOf(node);
  const asked = [...new Set(splits.map(({ of }) => of))];
  return {
    number,
    size: groupSizes[number],
    of: groupSizes.reduce((sum, each) => sum + each, 0),
    conditions: asked.flatMap((of) => inShort(of, splits.filter((split) => split.of === of))),
    replaced: asked.map(({ name }) => name).filter((name) => replaced.includes(name)),
  };
}

/** The closest bounds of a number; the category if one is left, else those it is not. */
function inShort({ name, low, high, categories }, splits) {
  if (categories) {
    const [one, ...others] = categories.filter((each) => splits.every(({ category, isLeft }) => (each === category) !== isLeft));
    if (others.length === 0) return [[name, "is", one]];
    return [...new Set(splits.map(({ category }) => category))].map((each) => [name, "is not", each]);
  }
  const bound = ({ cut, isLeft }) => {
    const value = readable(low + cut * (high - low), high - low);
    const goesLeft = Number.isInteger(value) && (value - low) / (high - low) < cut;
    return [name, (isLeft ? "<" : ">") + (isLeft === goesLeft ? "=" : ""), value];
  };
  splits.sort((a, b) => a.cut - b.cut);
  return [splits.findLast(({ isLeft }) => !isLeft), splits.find(({ isLeft }) => isLeft)].filter(Boolean).map(bound);
}

/** Six digits, or one decimal from 1e5 on; 0 for the noise of rounding. */
function readable(value, width) {
  const size = Math.abs(value);
  if (size < Math.min(1e-7 * width, 0.005)) return 0;
  return Number(size < 1e5 ? value.toPrecision(6) : value.toFixed(1));
}
