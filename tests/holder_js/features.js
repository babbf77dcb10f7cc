/** From a record to numbers (docs/protocol.md, "From a record to a category"). */

import { Problem } from "./problem.js";

const SPACES = /^\p{White_Space}+|\p{White_Space}+$/gu;
const NUMBER = /^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$/;

/** @param {string} text */
export const trimmed = (text) => text.replace(SPACES, "");

/**
 * @param {object} task its features and label
 * @param {object} record values by name, the label included
 * @returns {{columns: number[], label: number}} the encoded columns, and the index of the class or
 *   the number clipped to the label's range
 * @throws {Problem} `invalid-record`
 */
export function encodeRecord(task, record) {
  const known = new Set([...task.features.map(({ name }) => name), task.label.name]);
  const unknown = Object.keys(record).find((name) => !known.has(name));
  if (unknown !== undefined) misfit(unknown, "is no field of the task: leave it out");
  const columns = task.features.flatMap((feature) => encode(feature, valueOf(record, feature.name)));
  return { columns, label: labelOf(task.label, valueOf(record, task.label.name)) };
}

function misfit(name, what) {
  throw new Problem("invalid-record", `The field ${JSON.stringify(name)} ${what}.`);
}

/** The value, or null if it is missing. */
function valueOf(record, name) {
  const value = Object.hasOwn(record, name) ? record[name] : null;
  if (value === undefined || Number.isNaN(value)) return null;
  return typeof value === "string" && trimmed(value) === "" ? null : value;
}

function encode(feature, value) {
  const present = value ?? feature.missing;
  if (present === null) misfit(feature.name, "is missing: give it a value");
  if (feature.kind === "numeric") {
    const width = feature.high - feature.low;
    const number = numberOf(feature.name, present);
    return [width === 0 ? 0 : clip((number - feature.low) / width, 0, 1)];
  }
  const listed = feature.categories.includes(nameOf(present));
  const name = listed ? nameOf(present) : feature.unknown;
  if (name === null) misfit(feature.name, `must be one of ${feature.categories.slice(0, 20).join(", ")}`);
  return feature.categories.map((category) => (category === name ? 1 : 0));
}

function labelOf(label, value) {
  if (value === null) misfit(label.name, "is missing: give it a value");
  if (label.kind === "range") return clip(numberOf(label.name, value), label.low, label.high);
  const index = label.classes.indexOf(nameOf(value));
  if (index < 0) misfit(label.name, `must be one of ${label.classes.slice(0, 20).join(", ")}`);
  return index;
}

function numberOf(name, value) {
  if (typeof value === "string" && NUMBER.test(trimmed(value))) value = Number(trimmed(value));
  if (typeof value === "boolean") value = Number(value);
  if (typeof value !== "number") misfit(name, "must be a number");
  if (!Number.isFinite(value)) misfit(name, "must be a finite number");
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
