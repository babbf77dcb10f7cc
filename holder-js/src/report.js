/** From a record to the bytes of its report (docs/encoding.md). */

import { clip, encodeRecord } from "./features.js";
import { concat, encode } from "./msgpack.js";
import { locate } from "./partition.js";
import { disclosureOf } from "./strata.js";

const WORD = 2 ** 64;

/**
 * @param {number} size
 * @returns {Uint8Array} random bytes of the platform
 */
export function platformRandom(size) {
  const pieces = [];
  for (let left = size; left > 0; left -= 65_536) {
    pieces.push(crypto.getRandomValues(new Uint8Array(Math.min(left, 65_536))));
  }
  return concat(pieces);
}

/**
 * A record in the numbers of a task. It always leads to a report, whatever its values: `findings` and
 * `disclosed` are for whoever gave the record, and nothing that is sent depends on the findings.
 */
export class OpenedRecord {
  #encoded;

  /** @type {{id: Uint8Array, answers: unknown[]} | undefined} */
  #drawn;

  /**
   * @param {import("./task.js").Task} task from `loadTask`
   * @param {Record<string, unknown> | null} record values by name, the label included
   * @param {() => Promise<void>} [leave] the wait for a moment that was fixed before
   */
  constructor(task, record, leave = async () => {}) {
    this.task = task;
    this.leave = leave;
    this.#encoded = encodeRecord(task, record);
  }

  /** @returns {import("./features.js").Finding[]} what does not fit the task */
  get findings() {
    return this.#encoded.faults;
  }

  /** @returns {import("./strata.js").Disclosure | null} what its report discloses; null if the task discloses nothing */
  get disclosed() {
    return this.task.strata === null ? null : disclosureOf(this.task, this.#encoded);
  }

  /**
   * @param {(size: number) => Uint8Array} [random]
   * @returns {{id: Uint8Array, bytes: Uint8Array}} its report, whether it fits or not; the same one until it is taken
   */
  draw(random = platformRandom) {
    this.#drawn ??= this.#draw(random);
    return { id: this.#drawn.id, bytes: encode({ version: versionOf(this.task), task: fromHex(this.task.id), ...this.#drawn }) };
  }

  /**
   * @param {(size: number) => Uint8Array} random
   * @param {import("./task.js").Task} task that it answers, of the same panel
   * @returns {{id: Uint8Array, bytes: Uint8Array}} the report that was shown, if one was; never the same one twice
   */
  take(random, task) {
    this.task = task;
    const report = this.draw(random);
    this.#drawn = undefined;
    return report;
  }

  #draw(random) {
    const { task } = this;
    const id = random(16);
    const answers = asked(task, random).map((index) => {
      const category = choose(task, index, this.#encoded, random);
      const mechanism = task.mechanisms[index];
      return [index, mechanism.privatize(category, wordsOf(random(8 * mechanism.words)))];
    });
    return { id, answers };
  }
}

/** The version that a report states: its task's, which version 2 counted apart. */
const versionOf = ({ version }) => (version === 2 ? 1 : version);

/** @param {string} text */
export const fromHex = (text) => Uint8Array.from(text.match(/../g) ?? [], (pair) => parseInt(pair, 16));

/** All questions, or one drawn at random in proportion to the task's parts. */
function asked({ questions, allocation, parts = questions.map(() => 1) }, random) {
  if (allocation === "all") return questions.map((_, index) => index);
  const total = parts.reduce((sum, part) => sum + part, 0);
  let left = Number((bigEndian(random(8)) * BigInt(total)) >> 64n);
  let question = 0;
  for (; left >= parts[question]; question += 1) left -= parts[question];
  return [question];
}

/** The category of a record: its cell and level, or the misfit. */
function choose(task, index, { columns, label, faults }, random) {
  const { partition, asks, centring } = task.questions[index];
  const mechanism = task.mechanisms[index];
  const cell = locate(task.partitions[partition], columns);
  let category = cell;
  if (asks === "label") {
    const r = bigEndian(random(8));
    const { levels } = mechanism;
    const isClass = task.label.kind === "classes";
    const level = isClass ? label : rounded(task.label, centring, cell, label, levels, r);
    category = cell * levels + level;
  }
  const unfit = mechanism.misfitAt(cell);
  return [category, unfit][Number(faults.length > 0)];
}

/** A number as a level, rounded at random without bias. */
function rounded({ low, high }, centring, cell, y, levels, r) {
  const start = centring === undefined ? low : centring.centres[cell] - centring.radius;
  const width = centring === undefined ? high - low : 2 * centring.radius;
  const u = clip((y - start) / width, 0, 1) * (levels - 1);
  const below = Math.min(Math.floor(u), levels - 2);
  return r < BigInt(Math.floor((u - below) * WORD)) ? below + 1 : below;
}

const view = (bytes) => new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);

const bigEndian = (bytes) => view(bytes).getBigUint64(0);

function wordsOf(bytes) {
  return Array.from({ length: bytes.length / 8 }, (_, i) => view(bytes).getBigUint64(8 * i, true));
}
