/** What only Node has: a store in a file, and a dry run of many records. */

import { randomBytes } from "node:crypto";
import { closeSync, fsyncSync, openSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";

import { checkForEverybody, validate } from "./src/holder.js";
import { pause } from "./src/http.js";
import { Store } from "./src/ledger.js";
import { Problem } from "./src/problem.js";
import { fromHex } from "./src/report.js";
import { hex } from "./src/task.js";

const VERSION = 1;
const SECONDS = 0.02; // the file is taken for a few milliseconds at a time

/** One person's answers in one file, which its owner alone may read; processes may share it. */
export class FileStore extends Store {
  /**
   * @param {string} path a file for one person, in a folder that is there
   * @param {{caps?: Partial<import("./src/ledger.js").Caps>, tries?: number}} [options] how often to try while
   *   another program has the file
   */
  constructor(path, { tries = 500, ...options } = {}) {
    super(options);
    this.path = path;
    this.tries = tries;
  }

  /** @returns {Promise<import("./src/ledger.js").Row[]>} */
  async rows() {
    return this.#read();
  }

  /** @param {(rows: import("./src/ledger.js").Row[]) => import("./src/ledger.js").Row[]} work */
  async change(work) {
    const taken = await this.#take();
    try {
      const earlier = this.#read();
      const changed = work(earlier);
      if (changed.length > 0) this.#write([...earlier.filter(({ task }) => changed.every((row) => row.task !== task)), ...changed]);
    } finally {
      rmSync(taken, { force: true });
    }
  }

  async #take() {
    const path = `${this.path}.taken`;
    for (let tries = 1; ; tries += 1) {
      try {
        closeSync(openSync(path, "wx", 0o600));
        return path;
      } catch (error) {
        if (error.code !== "EEXIST") throw failed(error);
        if (tries >= this.tries) throw new Problem("ledger-failed", `${path} is there: if no program is answering, remove it. Nothing was sent.`);
      }
      await pause(SECONDS);
    }
  }

  #read() {
    let text;
    try {
      text = readFileSync(this.path, "utf8");
    } catch (error) {
      if (error.code === "ENOENT") return [];
      throw failed(error);
    }
    try {
      const { version, answers } = JSON.parse(text);
      if (version !== VERSION) throw new Error(`its version is ${version}`);
      return answers.map(({ bytes, ...answer }) => ({ ...answer, bytes: fromHex(bytes) }));
    } catch (error) {
      throw failed(error); // a damaged file does not pass for an empty one, which would spend anew
    }
  }

  /** A new file, on the disk, in the place of the old. */
  #write(answers) {
    const path = `${this.path}.${randomBytes(8).toString("hex")}`;
    try {
      const file = openSync(path, "wx", 0o600);
      writeFileSync(file, JSON.stringify({ version: VERSION, answers: answers.map(({ bytes, ...answer }) => ({ ...answer, bytes: hex(bytes) })) }));
      fsyncSync(file);
      closeSync(file);
      renameSync(path, this.path);
      const folder = openSync(dirname(this.path), "r");
      fsyncSync(folder);
      closeSync(folder);
    } catch (error) {
      rmSync(path, { force: true });
      throw failed(error);
    }
  }
}

/**
 * What answering for many people would do: nothing is drawn, stored or sent. For people to read; a program that
 * decides by it whether to answer tells the curator by silence.
 * @param {import("./src/http.js").Task} task from `loadTask`
 * @param {Record<string, Record<string, unknown>>} records by person
 * @param {import("./src/holder.js").Options} [options] those with which you answer
 * @returns {{findings: Record<string, import("./src/features.js").Finding[]>, smallestGroup: number | null}} what does
 *   not fit, by person, without those whose record fits; and the fewest people expected in a stratum that a report
 *   would disclose, null if the task discloses nothing
 * @throws {Problem} what would refuse every report, but for what each person has spent; `invalid-record` for a name
 *   that the task does not ask for
 */
export function dryRun(task, records, options = {}) {
  checkForEverybody(task, options);
  const opened = Object.entries(records).map(([who, record]) => ({ who, ...sides(validate(task, record)) }));
  const sizes = opened.flatMap(({ size }) => size ?? []);
  return {
    findings: Object.fromEntries(opened.filter(({ findings }) => findings.length > 0).map(({ who, findings }) => [who, findings])),
    smallestGroup: sizes.length > 0 ? Math.min(...sizes) : null,
  };
}

const sides = ({ findings, disclosed }) => ({ findings, size: disclosed?.size });

function failed(error) {
  return new Problem("ledger-failed", `The answers cannot be kept (${error.message}): nothing was sent.`);
}
