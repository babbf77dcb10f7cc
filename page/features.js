/** From a record to numbers (docs/protocol.md, "From a record to a category"). */

const SPACES = /^\p{White_Space}+|\p{White_Space}+$/gu;
const NUMBER = /^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$/;

/** @param {string} text */
export const trimmed = (text) => text.replace(SPACES, "");

class Misfit extends Error {}

/**
 * Encode a record, with the same work whether it fits or not.
 * @param {object} task its features and label
 * @param {object} record values by name, the label included
 * @returns {{columns: number[], label: number, misfit: string | null}} the encoded columns, the index
 *   of the class or the number clipped to the label's range, and why the record does not fit; then
 *   another value stands in for one that does not
 */
export function encodeRecord(task, record) {
  const faults = [];
  const fields = isRecord(record) ? record : {};
  const known = new Set([...task.features.map(({ name }) => name), task.label.name]);
  const unknown = Object.keys(fields).filter((name) => !known.has(name));
  if (!isRecord(record)) faults.push("The record is no map of fields.");
  if (unknown.length > 0) faults.push(`The field ${JSON.stringify(unknown[0])} is unknown: leave it out.`);
  const read = (encoded, field, standIn) => {
    try {
      return encoded(field, valueOf(fields, field.name));
    } catch (error) {
      faults.push(`The field ${JSON.stringify(field.name)} ${error instanceof Misfit ? error.message : "cannot be read"}.`);
      return encoded(field, standIn);
    }
  };
  const columns = task.features.flatMap((feature) => read(encode, feature, feature.categories?.[0] ?? feature.low));
  const label = read(labelOf, task.label, task.label.classes?.[0] ?? task.label.low);
  return { columns, label, misfit: faults[0] ?? null };
}

const isRecord = (record) => record !== null && typeof record === "object" && !Array.isArray(record);

function misfit(what) {
  throw new Misfit(what);
}

/** The value, or null if it is missing. */
function valueOf(record, name) {
  const value = Object.hasOwn(record, name) ? record[name] : null;
  if (value === undefined || Number.isNaN(value)) return null;
  return typeof value === "string" && trimmed(value) === "" ? null : value;
}

function encode(feature, value) {
  const present = value ?? feature.missing;
  if (present === null) misfit("is missing: give it a value");
  if (feature.kind === "numeric") {
    const width = feature.high - feature.low;
    const number = numberOf(present);
    return [width === 0 ? 0 : clip((number - feature.low) / width, 0, 1)];
  }
  const listed = feature.categories.filter((category) => category === nameOf(present)).length;
  const name = listed ? nameOf(present) : feature.unknown;
  if (name === null) misfit(`must be one of ${feature.categories.slice(0, 20).join(", ")}`);
  return feature.categories.map((category) => (category === name ? 1 : 0));
}

function labelOf(label, value) {
  if (value === null) misfit("is missing: give it a value");
  if (label.kind === "range") return clip(numberOf(value), label.low, label.high);
  const levels = label.classes.map((name, level) => (name === nameOf(value) ? level + 1 : 0));
  const level = levels.reduce((sum, each) => sum + each, -1);
  if (level < 0) misfit(`must be one of ${label.classes.slice(0, 20).join(", ")}`);
  return level;
}

function numberOf(value) {
  if (typeof value === "string" && NUMBER.test(trimmed(value))) value = Number(trimmed(value));
  if (typeof value === "boolean") value = Number(value);
  if (typeof value !== "number") misfit("must be a number");
  if (!Number.isFinite(value)) misfit("must be a finite number");
  return value;
}

/** The name of a value; ECMAScript's spelling of numbers is the protocol's. */
function nameOf(value) {
  if (typeof value === "string") return trimmed(value);
  if (typeof value === "boolean") return value ? "1" : "0";
  return typeof value === "number" ? String(value) : null;
}

/**
 * @param {number} value
 * @param {number} low
 * @param {number} high
 */
export const clip = (value, low, high) => Math.min(Math.max(value, low), high);
