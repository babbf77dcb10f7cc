/**
 * The task: its fields, its canonical bytes and its limits (docs/protocol.md, "Task").
 *
 * `SCHEMA` reads decoded msgpack into plain values and writes them back; a fault is a Problem
 * `invalid-task` that says where.
 */

import { VERSIONS } from "./calls.js";
import { MAX_TABLE_ENTRIES, refuse } from "./mechanisms.js";
import { Real, decode, encode } from "./msgpack.js";
import { cellsOf, isTree } from "./partition.js";
import { Problem } from "./problem.js";
import { createStratifiedMechanism, disclosedColumns, isTreeOfStrata, strataOf } from "./strata.js";
import { trimmed } from "./features.js";

export const MAX = {
  cells: 2 ** 16, nodes: 2 ** 17, columns: 20_000, questions: 64, classes: 1_000,
  levels: 64, parameters: 16, part: 2 ** 16, name: 200, category: 1_000, description: 10_000, translations: 32,
  waves: 64, panelSeconds: 1_096 * 86_400, taskBytes: 3 * 2 ** 20, items: 3 * 2 ** 18, containers: 60_000,
  randomBytes: 2 ** 23, reportBytes: 2 ** 21,
};
const UNSHOWABLE = /[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]/;
const LINK = /^https:\/\/[!-~]+$/;
const LANGUAGE = /^[a-z]{2,3}(-[A-Za-z0-9]{2,8}){0,3}$/;
const ENVELOPE_BYTES = 79;

/** What version 2 calls some fields, by today's names. */
const NAMES = { disclosed: "shown", group_sizes: "crowds" };

// ---- types of fields: read(value, where) checks and simplifies, write(value) is its inverse

const same = (value) => value;

const one = (...choices) => ({
  read: (value, at) => (choices.includes(value) ? value : refuse(at)),
  write: same,
});

const integer = (low, high) => ({
  read: (value, at) =>
    Number.isInteger(value) && value >= low && value <= high ? value : refuse(at),
  write: same,
});

const real = {
  read: (value, at) => (value instanceof Real ? value.value : refuse(at)),
  write: (value) => new Real(value),
};

const text = (least, most, plain = true) => ({
  read(value, at) {
    if (typeof value !== "string") refuse(at);
    const length = [...value].length;
    if (length < least || length > most) refuse(at);
    return plain && UNSHOWABLE.test(value) ? refuse(at) : value;
  },
  write: same,
});

const optional = (type) => ({
  read: (value, at) => (value === null ? null : type.read(value, at)),
  write: (value) => (value === null ? null : type.write(value)),
});

const list = (type, least, most) => ({
  read(value, at) {
    if (!Array.isArray(value) || value.length < least || value.length > most) {
      refuse(at);
    }
    return value.map((item, i) => type.read(item, `${at}[${i}]`));
  },
  write: (values) => values.map(type.write),
});

/** A map of exactly these fields; those in `absent` are left out where they are unset. */
const fields = (types, absent = []) => ({
  read(value, at) {
    if (!isMap(value)) refuse(at);
    const names = Object.keys(types).filter((name) => name in value || !absent.includes(name));
    const unknown = Object.keys(value).find((name) => !Object.hasOwn(types, name));
    if (unknown !== undefined) refuse(at);
    const missing = names.find((name) => !(name in value));
    if (missing !== undefined) refuse(at);
    return Object.fromEntries(names.map((name) => [name, types[name].read(value[name], `${at}.${name}`)]));
  },
  write: (value) =>
    Object.fromEntries(Object.entries(value).map(([name, item]) => [name, types[name].write(item)])),
});

const isMap = (value) => value !== null && typeof value === "object" && Object.getPrototypeOf(value) === null;

const byKind = (kinds) => ({
  read(value, at) {
    if (!isMap(value) || !Object.hasOwn(kinds, value.kind)) refuse(at);
    return kinds[value.kind].read(value, at);
  },
  write: (value) => kinds[value.kind].write(value),
});

/** Text to integers, reals and text; reals stay `Real`, since no mechanism takes one. */
const parameters = {
  read(value, at) {
    if (!isMap(value) || Object.keys(value).length > MAX.parameters) refuse(at);
    return { ...value };
  },
  write: same,
};

const name = text(1, MAX.name);
const categories = (least, most) => {
  const names = list(text(1, MAX.category), least, most);
  return {
    read(value, at) {
      const read = names.read(value, at);
      if (new Set(read).size < read.length) refuse(at);
      return read.some((each) => each !== trimmed(each)) ? refuse(at) : read;
    },
    write: same,
  };
};
/** Text of a form, such as a link. */
const matching = (pattern, most) => ({
  read: (value, at) => (pattern.test(text(1, most).read(value, at)) ? value : refuse(at)),
  write: same,
});

/** Text with line breaks, and no other control character. */
const lines = (least) => ({
  read(value, at) {
    const read = text(least, MAX.description, false).read(value, at);
    return UNSHOWABLE.test(read.replaceAll("\n", "")) ? refuse(at) : read;
  },
  write: same,
});

const asker = fields({
  name,
  contact: text(1, MAX.category),
  purpose: text(1, MAX.category),
  link: matching(LINK, MAX.category),
});
const language = matching(LANGUAGE, MAX.category);
const translation = fields({ language, texts: list(list(lines(1), 2, 2), 1, MAX.columns) });

const node = integer(-1, MAX.nodes - 1);
const nodes = list(node, 1, MAX.nodes);

const described = { name, prompt: text(1, MAX.category), description: text(1, MAX.category) };
const measured = { ...described, unit: name, low: real, high: real };

const feature = byKind({
  numeric: fields({ kind: one("numeric"), ...measured, missing: optional(real) }, ["prompt", "description", "unit"]),
  categorical: fields(
    {
      kind: one("categorical"),
      ...described,
      categories: categories(1, MAX.columns),
      missing: optional(text(1, MAX.category)),
      unknown: optional(text(1, MAX.category)),
    },
    ["prompt", "description"],
  ),
});

const label = byKind({
  classes: fields(
    { kind: one("classes"), ...described, classes: categories(2, MAX.classes), headline: text(1, MAX.category) },
    ["prompt", "description", "headline"],
  ),
  range: fields({ kind: one("range"), ...measured }, ["prompt", "description", "unit"]),
});

const question = fields(
  {
    partition: integer(0, MAX.questions - 1),
    mechanism: text(0, MAX.name, false),
    epsilon: real,
    parameters,
    asks: one("label", "cell"),
    centring: fields({ centres: list(real, 1, MAX.cells), radius: real }),
    levels: integer(3, MAX.levels),
  },
  ["centring", "levels"],
);

const second = integer(0, Number.MAX_SAFE_INTEGER);
const seconds = optional(second);
const panel = fields({ mode: one("rotate", "repeat"), waves: list(list(second, 2, 2), 2, MAX.waves) });

const SCHEMA = fields(
  {
    version: one(...VERSIONS),
    name,
    description: lines(0),
    features: list(feature, 0, MAX.columns),
    label,
    partitions: list(
      fields({
        columns: integer(0, MAX.columns),
        feature: nodes,
        threshold: list(real, 1, MAX.nodes),
        left: nodes,
        right: nodes,
      }),
      1,
      MAX.questions,
    ),
    questions: list(question, 1, MAX.questions),
    allocation: one("all", "one"),
    parts: list(integer(1, MAX.part), 1, MAX.questions),
    opens: seconds,
    closes: seconds,
    invited: one(true),
    smallest_batch: { read: (value, at) => (value === "all" ? value : integer(1, 10 ** 12).read(value, at)), write: same },
    edition: integer(2, 2 ** 31 - 1),
    asker,
    language,
    translations: list(translation, 1, MAX.translations),
    disclosed: list(name, 1, MAX.columns),
    group_sizes: list(integer(0, 2 ** 53 - 1), 1, MAX.cells),
    panel,
  },
  ["parts", "invited", "smallest_batch", "edition", "asker", "language", "translations", "disclosed", "group_sizes", "panel"],
);

// ---- the task

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
 * @property {string} [headline] the class of which a headline speaks
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
 * @property {number} [levels] on which a number is rounded; two, if left out
 */
/** @typedef {{mode: "rotate" | "repeat", waves: [number, number][]}} Panel of dates in Unix time, in seconds */

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
 * @property {number | "all"} [smallest_batch]
 * @property {number} [edition]
 * @property {{name: string, contact: string, purpose: string, link: string}} [asker]
 * @property {string} [language]
 * @property {{language: string, texts: [string, string][]}[]} [translations]
 * @property {string[]} [disclosed]
 * @property {number[]} [group_sizes]
 * @property {Panel} [panel] the waves in which it is asked
 * @property {any[]} mechanisms one per question
 * @property {{ofCell: number[], nodes: number[]} | null} strata null if no column is disclosed
 */

/**
 * @param {Uint8Array} bytes
 * @returns {Promise<string>} a task's id: the SHA-256 of its bytes, in hexadecimal
 */
export async function idOf(bytes) {
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
  return hex(digest);
}

/** @param {Uint8Array} bytes */
export const hex = (bytes) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");

/**
 * @param {Record<string, any>} task its fields, in the JSON form, and what was worked out for it
 * @returns {Uint8Array} its canonical bytes
 */
export const packTask = ({ id, url, clockAhead, clockSetBy, mechanisms, strata, ...task }) => {
  const fields = SCHEMA.write(task);
  if (task.version > 2) return encode(fields);
  return encode(Object.fromEntries(Object.entries(fields).map(([name, value]) => [NAMES[name] ?? name, value])));
};

/**
 * Read a task, check it against everything that a holder can check without an account of its
 * own, and build its mechanisms.
 * @param {Uint8Array} bytes
 * @param {string} [expected] the id it was asked for by
 * @returns {Promise<Task>}
 * @throws {Problem} `invalid-task` or `task-mismatch`
 */
export async function readTask(bytes, expected) {
  if (bytes.length > MAX.taskBytes) refuse("the task");
  const id = await idOf(bytes);
  if (expected !== undefined && id !== expected) {
    throw new Problem("task-mismatch", "The task is not the one asked for: do not answer it.");
  }
  const task = SCHEMA.read(inTodaysNames(decoded(bytes)), "task");
  checkVersion(task);
  checkFeatures(task);
  checkPanel(task);
  checkTranslations(task);
  checkTrees(task);
  checkParts(task);
  const strata = checkedStrata(task);
  task.questions.forEach((asked, i) => checkQuestion(task, asked, `question ${i}`));
  const ofCells = strata === null ? [] : [strata.ofCell, [...strata.nodes.keys()]];
  const mechanisms = task.questions.map((asked, i) => mechanismOf(task, asked, ofCells[i]));
  checkSizes(task, mechanisms);
  return { ...task, id, mechanisms, strata };
}

function decoded(bytes) {
  try {
    return decode(bytes, { containers: MAX.containers, items: MAX.items });
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    return refuse("the bytes");
  }
}

/** The fields of a document of version 2 by the names that they have today; those of any other as they are. */
function inTodaysNames(fields) {
  if (!isMap(fields) || fields.version !== 2) return fields;
  const named = Object.assign(Object.create(null), fields);
  for (const [name, own] of Object.entries(NAMES)) {
    if (name in fields) refuse(`task.${name}`);
    if (own in fields) named[name] = fields[own];
    delete named[own];
  }
  return named;
}

/** Refuse what only later versions may say. */
function checkVersion({ version, features, label: asked, questions, disclosed, smallest_batch: together }) {
  const hasNew = "headline" in asked || questions.some((each) => "levels" in each) || (disclosed && questions.length > 1);
  const isNew = features.length === 0 || together === "all" || hasNew;
  if (isNew && version < 4) refuse("the task");
}

function checkFeatures({ features, label: asked, opens, closes }) {
  const names = [...features, asked].map((each) => each.name);
  if (new Set(names).size < names.length) refuse("features and label");
  for (const each of [...features, asked]) {
    if (each.kind === "numeric" && each.low > each.high) refuse(each.name);
    if (each.kind === "range" && each.low >= each.high) refuse(each.name);
    if (each.headline !== undefined && !each.classes.includes(each.headline)) refuse(each.name);
    if ("low" in each && !Number.isFinite(each.high - each.low)) refuse(each.name);
    for (const standIn of each.kind === "categorical" ? [each.missing, each.unknown] : []) {
      if (standIn !== null && !each.categories.includes(standIn)) refuse(each.name);
    }
  }
  if (opens !== null && closes !== null && opens >= closes) refuse("the task");
}

function checkPanel({ panel: asked, opens, closes, invited, disclosed }) {
  if (asked === undefined) return;
  const { mode, waves } = asked;
  waves.forEach(([from, to], i) => {
    if (from >= to) refuse("a wave");
    if (i > 0 && from < waves[i - 1][1]) refuse("a wave");
  });
  const dates = [[waves[0][0], waves.at(-1)[1]], ...waves];
  if (!dates.some(([from, to]) => from === opens && to === closes)) refuse("the dates");
  if (invited) refuse("a panel");
  if (mode === "repeat" && disclosed !== undefined) refuse("a panel");
}

function checkTranslations({ language: own, translations = [] }) {
  const languages = translations.map((each) => each.language);
  if (new Set([own, ...languages]).size <= languages.length) refuse("the task");
  for (const { texts } of translations) {
    if (new Set(texts.map(([original]) => original)).size < texts.length) refuse("a translation");
  }
}

function checkTrees({ features, partitions }) {
  const columns = features.reduce((sum, each) => sum + (each.categories?.length ?? 1), 0);
  if (columns > MAX.columns) refuse("the features");
  for (const tree of partitions) {
    if (tree.columns !== columns) refuse("a partition");
    if (!isTree(tree) || cellsOf(tree) > MAX.cells) refuse("a partition");
  }
  const total = partitions.reduce((sum, tree) => sum + tree.feature.length, 0);
  if (total > MAX.nodes) refuse("the partitions");
}

function checkParts({ questions, allocation, parts }) {
  if (parts === undefined) return;
  if (allocation !== "one" || parts.length !== questions.length) refuse("the task");
}

/** The strata of the first question's tree, or null. */
function checkedStrata({ features, label: asked, partitions, questions, allocation, disclosed = [], group_sizes: groupSizes = [] }) {
  const names = features.map((each) => each.name);
  if (disclosed.includes(asked.name)) refuse(asked.name);
  const stranger = disclosed.find((each) => !names.includes(each));
  if (stranger !== undefined) refuse(stranger);
  if (new Set(disclosed).size < disclosed.length) refuse("the task");
  const [first, ...others] = questions;
  const most = Number(allocation === "one");
  if (disclosed.length > 0 && (others.length > most || first.asks !== "label")) refuse("the task");
  const tree = partitions[first.partition];
  if (tree === undefined) refuse("question 0");
  const cells = disclosed.length === 0 ? null : strataOf(tree, disclosedColumns(features, disclosed));
  if (groupSizes.length !== (cells?.nodes.length ?? 0)) refuse("the task");
  const isOfStrata = ({ asks, partition: of }) => asks === "label" && isTreeOfStrata(partitions[of], tree, cells.nodes);
  if (cells !== null && !others.every(isOfStrata)) refuse("question 1");
  return cells;
}

function checkQuestion({ label: asked, partitions }, { partition, asks, centring, levels, epsilon }, at) {
  if (partition >= partitions.length) refuse(at);
  if (!(epsilon > 0)) refuse(at);
  if (levels !== undefined && (asked.kind !== "range" || asks !== "label" || centring !== undefined)) refuse(at);
  if (centring === undefined) return;
  if (asked.kind !== "range" || asks !== "label") refuse(at);
  const { centres, radius } = centring;
  if (centres.length !== cellsOf(partitions[partition])) refuse(at);
  if (!(radius > 0 && radius <= asked.high - asked.low && Number.isFinite(2 * radius))) refuse(at);
  for (const centre of centres) {
    const low = centre - radius;
    const inside = centre >= asked.low && centre <= asked.high;
    if (!inside || !Number.isFinite(low) || !(low < centre)) refuse(at);
  }
}

function mechanismOf({ label: asked, partitions }, { partition, mechanism, epsilon, parameters: stated, asks, levels = 2 }, strata) {
  const regression = asked.kind === "range" && asks === "label";
  const slots = asks === "cell" ? 1 : regression ? levels : asked.classes.length;
  const cells = cellsOf(partitions[partition]);
  return createStratifiedMechanism({ mechanism, epsilon, cells, slots, regression, parameters: stated, strata });
}

function checkSizes({ allocation }, mechanisms) {
  const total = (sizes) =>
    allocation === "all" ? sizes.reduce((sum, size) => sum + size, 0) : Math.max(...sizes);
  const tables = new Map(mechanisms.map((each) => [each.tableKey, each.tableEntries]));
  const entries = [...tables.values()].reduce((sum, size) => sum + size, 0);
  if (entries > MAX_TABLE_ENTRIES) refuse("the questions");
  if (total(mechanisms.map((each) => 8 * each.words)) > MAX.randomBytes) refuse("a report");
  const payloads = total(mechanisms.map(({ reportBytes }) => reportBytes + 7));
  if (ENVELOPE_BYTES + payloads > MAX.reportBytes) refuse("a report");
}
