/**
 * What was answered and what it cost, in this browser (IndexedDB): the only thing that stays here.
 *
 * An answer is stored before it is first sent, and from then on only sent again byte for byte. The
 * database belongs to the page's origin and to this browser's profile.
 *
 * It counts a year by this device's clock. That may be wrong, so a draw is dated no earlier than the one
 * before it; and what is dated in the future, or before anybody could draw, counts.
 */

import { FINAL, REPORT_MOVES } from "./calls.js";
import { disclosedBits } from "./disclosures.js";
import { Problem } from "./problem.js";

/**
 * The most epsilon for one task, and for all tasks within 365 days; the most bits disclosed within 365
 * days. As in `privet-holder`.
 */
export const CAPS = { task: 2, year: 4, disclosed: 32 };
/** 2026-01-01: no answer was drawn before, whatever a clock said. */
export const EARLIEST = 1_767_225_600;
/** Strata that a task is taken to have of which an older page kept only what was said of the record. */
const UNKNOWN_STRATA = 64;
const YEAR_SECONDS = 365 * 86_400;
const SLACK = 1e-9; // for the rounding of sums
const ANSWERS = "answers";

/**
 * @typedef {object} Answer
 * @property {string} task the task's id
 * @property {string} name what the task is called, in the language `lang`
 * @property {string} lang
 * @property {number | null} closes when its collection ends, Unix time in seconds
 * @property {string} url where it is sent
 * @property {number} epsilon
 * @property {string} id the report's, 32 hexadecimal digits
 * @property {Uint8Array} bytes the report
 * @property {import("./disclosures.js").DisclosedSplits | null} splits by which it discloses
 * @property {number} drawn Unix time in seconds
 * @property {"drawn" | "held" | "counted" | "refused" | "lost"} state
 * @property {string | null} reason of a refusal, or of the last attempt that failed, for people
 * @property {string | null} detail the same as the server worded it
 */

export class Ledger {
  /** @param {IDBDatabase} database */
  constructor(database) {
    this.database = database;
  }

  /**
   * @returns {Promise<Ledger>}
   * @throws {Problem} `ledger-failed`
   */
  static async open() {
    const opening = indexedDB.open("privet", 1);
    opening.onupgradeneeded = () => opening.result.createObjectStore(ANSWERS, { keyPath: "task" });
    return new Ledger(await done(opening));
  }

  /**
   * Run `work` while no other tab answers.
   * @template T
   * @param {() => Promise<T>} work
   * @returns {Promise<T>}
   */
  static alone(work) {
    return navigator.locks.request("privet", work);
  }

  /**
   * @param {string} task
   * @returns {Promise<Answer | undefined>}
   */
  find(task) {
    return done(this.#store("readonly").get(task));
  }

  /** @returns {Promise<Answer[]>} */
  answers() {
    return done(this.#store("readonly").getAll());
  }

  /**
   * Store an answer before it is sent, dated no earlier than any other; if the task has one already, that
   * stays.
   * @param {Answer} answer
   * @returns {Promise<Answer>} the one that counts
   * @throws {Problem} `budget-spent`, `ledger-failed`
   */
  async keep(answer) {
    const store = this.#store("readwrite");
    const earlier = await done(store.getAll());
    const kept = earlier.find(({ task }) => task === answer.task);
    if (kept !== undefined) return kept;
    afford(earlier, answer, answer.drawn);
    const dated = { ...answer, drawn: Math.max(answer.drawn, ...earlier.map(({ drawn }) => drawn)) };
    await done(store.put(dated));
    await ended(store.transaction);
    return dated;
  }

  /**
   * Note what became of an answer; news that is no move changes nothing.
   * @param {Answer} answer
   */
  async settle(answer) {
    const store = this.#store("readwrite");
    const kept = (await done(store.get(answer.task)))?.state ?? "drawn";
    if (REPORT_MOVES.has(`${kept} ${answer.state}`)) await done(store.put(answer));
    await ended(store.transaction);
  }

  #store(mode) {
    return this.database.transaction(ANSWERS, mode, { durability: "strict" }).objectStore(ANSWERS);
  }
}

/**
 * @param {Problem} problem in which an attempt to send a report ended
 * @returns {"drawn" | "refused"} where the report then stands
 */
export const stateAfter = ({ type }) => (FINAL.has(type) ? "refused" : "drawn");

/** The answers that are not a year old; a date that cannot be counts. */
const counting = (answers, now) => answers.filter(({ drawn }) => drawn > now - YEAR_SECONDS || drawn < EARLIEST);

/**
 * @param {Answer[]} answers
 * @param {number} now Unix time in seconds
 * @returns {number} the epsilon of those drawn within a year
 */
export function spent(answers, now) {
  return counting(answers, now).reduce((sum, { epsilon }) => sum + epsilon, 0);
}

/**
 * @param {Answer[]} answers
 * @param {number} now Unix time in seconds
 * @param {...import("./disclosures.js").DisclosedSplits} more
 * @returns {number} the most bits that those drawn within a year disclose together, and `more` splits
 */
export function disclosed(answers, now, ...more) {
  return disclosedBits([...counting(answers, now).map(splitsIn).filter((splits) => splits !== null), ...more]);
}

function splitsIn({ task, group = null, splits }) {
  if (splits !== undefined || group === null) return splits ?? null;
  const unknown = Array.from({ length: UNKNOWN_STRATA - 1 }, (_, cut) => String(cut));
  return { tree: task, strata: UNKNOWN_STRATA, cuts: { [task]: unknown } };
}

/**
 * @param {Answer[]} earlier
 * @param {{epsilon: number, splits?: import("./disclosures.js").DisclosedSplits | null}} cost
 * @param {number} now
 * @throws {Problem} `budget-spent`, with the name of the `cap`
 */
export function afford(earlier, { epsilon, splits = null }, now) {
  const refuse = (cap, detail) => {
    throw Object.assign(new Problem("budget-spent", detail), { cap });
  };
  if (!(epsilon <= CAPS.task * (1 + SLACK))) {
    refuse("task", `This task costs epsilon ${epsilon}, and this page spends at most ${CAPS.task} on one task.`);
  }
  const before = spent(earlier, now);
  if (!(before + epsilon <= CAPS.year * (1 + SLACK))) {
    refuse("year", `This task costs epsilon ${epsilon}, and you have spent ${before} of ${CAPS.year} within a year: `
      + "leave it, to protect what you answered before.");
  }
  if (splits === null) return;
  const [told, telling] = [disclosed(earlier, now), disclosed(earlier, now, splits)];
  if (!(telling <= CAPS.disclosed * (1 + SLACK))) {
    refuse("disclosed", `This task discloses ${telling - told} more bits, and you have disclosed ${told} of ${CAPS.disclosed} within a year: leave it.`);
  }
}

/** The result of a request. */
function done(request) {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(failed(request.error));
  });
}

/** The end of a transaction, on disk. */
function ended(transaction) {
  return new Promise((resolve, reject) => {
    transaction.oncomplete = () => resolve();
    transaction.onabort = () => reject(failed(transaction.error));
  });
}

function failed(error) {
  return new Problem("ledger-failed", `This browser cannot store your answer (${error?.message}): nothing was sent.`);
}
