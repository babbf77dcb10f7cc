/** From a record to numbers (docs/encoding.md, "From a record to a category"). */

const SPACES = /^\p{White_Space}+|\p{White_Space}+$/gu;
export const NUMBER = /^[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?$/;
const MISSING_TEXTS = new Set(["", "NA", "N/A", "NaN", "nan", "null", "NULL"]);

/** @param {string} text */
export const trimmed = (text) => text.replace(SPACES, "");

/** @typedef {"missing" | "unlisted" | "no-number" | "unreadable" | "unknown-field" | "no-record"} Fault */

/**
 * What of a record does not fit.
 * @typedef {object} Finding
 * @property {string | null} field its name; null if it is about the whole record
 * @property {Fault} fault
 * @property {string} message for developers, in English
 */

class Misfit extends Error {
  /**
   * @param {Fault} fault
   * @param {string} what
   */
  constructor(fault, what) {
    super(what);
    this.fault = fault;
  }
}

/**
 * @typedef {object} EncodedRecord
 * @property {number[]} columns
 * @property {number} label the index of the class, or the number clipped to the label's range
 * @property {Finding[]} faults what does not fit; a record with any is a misfit
 * @property {string[]} replaced the fields for which another value counts
 */

/**
 * Encode a record, with the same work whether it fits or not.
 * @param {Pick<import("./task.js").Task, "features" | "label">} task
 * @param {unknown} record values by name, the label included
 * @returns {EncodedRecord}
 */
export function encodeRecord(task, record) {
  const [faults, replaced] = [[], []];
  const fields = isRecord(record) ? record : {};
  const unknown = unknownNames(task, record);
  const find = (field, fault, message) => void faults.push({ field, fault, message });
  if (!isRecord(record)) find(null, "no-record", "The record is no map of fields.");
  if (unknown.length > 0) find(unknown[0], "unknown-field", `The field ${JSON.stringify(unknown[0])} is unknown: leave it out.`);
  const read = (encoded, field, standIn) => {
    try {
      const value = valueOf(fields, field.name);
      if (field.categories ? listedName(field.categories, value) === null : isMissing(value)) replaced.push(field.name);
      return encoded(field, value);
    } catch (error) {
      replaced.push(field.name);
      const { fault, message } = error instanceof Misfit ? error : new Misfit("unreadable", "cannot be read");
      find(field.name, fault, `The field ${JSON.stringify(field.name)} ${message}.`);
      return encoded(field, standIn);
    }
  };
  const columns = task.features.flatMap((feature) => read(encode, feature, feature.categories?.[0] ?? feature.low));
  const label = read(labelOf, task.label, task.label.classes?.[0] ?? task.label.low);
  return { columns, label, faults, replaced };
}

/**
 * @param {Pick<import("./task.js").Task, "features" | "label">} task
 * @param {object} record
 * @returns {string[]} the names in the record that the task does not ask for
 */
export function unknownNames({ features, label }, record) {
  const known = new Set([...features, label].map(({ name }) => name));
  return isRecord(record) ? Object.keys(record).filter((name) => !known.has(name)) : [];
}

const isRecord = (record) => record !== null && typeof record === "object" && !Array.isArray(record);

function misfit(fault, what) {
  throw new Misfit(fault, what);
}

const valueOf = (record, name) => (Object.hasOwn(record, name) ? record[name] : null);

const isMissing = (value) =>
  value === null || value === undefined || Number.isNaN(value) || (typeof value === "string" && MISSING_TEXTS.has(value));

function encode(feature, value) {
  const listed = feature.kind === "numeric" ? null : listedName(feature.categories, value);
  if (listed === null && isMissing(value)) {
    return feature.missing === null ? misfit("missing", "is missing: give it a value") : encode(feature, feature.missing);
  }
  if (feature.kind === "numeric") {
    const width = feature.high - feature.low;
    const number = numberOf(value);
    return [width === 0 ? 0 : clip((number - feature.low) / width, 0, 1)];
  }
  const name = listed ?? feature.unknown;
  if (name === null) misfit("unlisted", `must be one of ${feature.categories.slice(0, 20).join(", ")}`);
  return feature.categories.map((category) => (category === name ? 1 : 0));
}

function labelOf(label, value) {
  const listed = label.kind === "range" ? null : listedName(label.classes, value);
  if (listed === null && isMissing(value)) misfit("missing", "is missing: give it a value");
  if (label.kind === "range") return clip(numberOf(value), label.low, label.high);
  if (listed === null) misfit("unlisted", `must be one of ${label.classes.slice(0, 20).join(", ")}`);
  return label.classes.map((name, level) => (name === listed ? level : 0)).reduce((sum, level) => sum + level, 0);
}

function numberOf(value) {
  if (typeof value === "boolean") value = Number(value);
  if (typeof value === "string" && NUMBER.test(value)) value = Number(value);
  if (typeof value !== "number") misfit("no-number", "must be a number");
  if (!Number.isFinite(value)) misfit("no-number", "must be a finite number");
  return value;
}

/** The listed name that is a value's own, else null. */
function listedName(names, value) {
  const own = nameOf(value);
  return names.filter((name) => name === own)[0] ?? null;
}

/** The name of a value; ECMAScript's spelling of numbers is the protocol's. */
function nameOf(value) {
  if (typeof value === "string") return value;
  if (typeof value === "boolean") return value ? "True" : "False";
  return typeof value === "number" ? String(value) : null;
}

/**
 * @param {number} value
 * @param {number} low
 * @param {number} high
 */
export const clip = (value, low, high) => Math.min(Math.max(value, low), high);
