/**
 * The account of what tasks disclose: how finely their strata together sort people, in bits.
 *
 * Two bounds are kept, and the smaller one is charged: the sum over different trees of log2(strata), and
 * the sum over different columns of log2(1 + cuts). A column is its whole declaration. The charge is a
 * task's and not a record's, so that no later refusal depends on a record.
 */

import { hex } from "./task.js";

const LEAF = -1;

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
export async function splitsOf({ features, partitions, questions, strata }) {
  if (strata === null) return null;
  const columns = await Promise.all(features.map(async (feature) => {
    const name = await digest(feature);
    return (feature.categories ?? [null]).map((category) => ({ name, category }));
  })).then((each) => each.flat());
  const { feature, threshold, left, right } = partitions[questions[0].partition];
  const ends = new Set(strata.nodes);
  const cuts = new Map();
  const walk = (node) => {
    if (ends.has(node) || left[node] === LEAF) return null;
    const { name, category } = columns[feature[node]];
    const cut = cutOf(category, threshold[node]);
    if (!cuts.has(name)) cuts.set(name, new Set());
    cuts.get(name).add(cut);
    return [name, cut, walk(left[node]), walk(right[node])];
  };
  const tree = await digest(walk(0));
  return { tree, strata: ends.size, cuts: Object.fromEntries([...cuts].map(([name, through]) => [name, [...through]])) };
}

/** A number's threshold in the range; a category by its name, unless all go one way. */
function cutOf(category, threshold) {
  if (category === null) return String(threshold);
  if (threshold > 0 && threshold <= 1) return category;
  return threshold <= 0 ? " all right" : " all left"; // no category begins with a space
}

async function digest(value) {
  return hex(new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(JSON.stringify(value)))));
}

/**
 * @param {DisclosedSplits[]} disclosed
 * @returns {number} the most bits that strata by these splits tell of one record, all together
 */
export function disclosedBits(disclosed) {
  const strata = new Map(disclosed.map((splits) => [splits.tree, splits.strata]));
  const cuts = new Map();
  for (const [column, through] of disclosed.flatMap((splits) => Object.entries(splits.cuts))) {
    if (!cuts.has(column)) cuts.set(column, new Set());
    through.forEach((cut) => cuts.get(column).add(cut));
  }
  const sum = (sizes) => sizes.reduce((bits, size) => bits + Math.log2(size), 0);
  return Math.min(sum([...strata.values()]), sum([...cuts.values()].map(({ size }) => 1 + size)));
}
