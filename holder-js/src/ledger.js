/**
 * What was answered and what it cost: the only thing that a holder keeps.
 *
 * An answer is stored before it is first sent, and from then on only sent again byte for byte.
 *
 * It counts a year by this device's clock. That may be wrong, so a draw is dated no earlier than the one
 * before it; and what is dated in the future, or before anybody could draw, counts.
 */

import { REPORT_MOVES } from "./calls.js";
import { disclosedBits } from "./disclosures.js";
import { reserved } from "./panels.js";
import { Problem } from "./problem.js";

/** @type {Caps} */
export const CAPS = { task: 2, year: 4, disclosed: 32 };
/** 2026-01-01: no answer was drawn before, whatever a clock said. */
export const EARLIEST = 1_767_225_600;
/** Strata that a task is taken to have of which an older page kept only what was said of the record. */
const UNKNOWN_STRATA = 64;
const YEAR_SECONDS = 365 * 86_400;
const SLACK = 1e-9; // for the rounding of sums

/**
 * @typedef {object} Answer
 * @property {string} task the task's id
 * @property {string | null} [panel] the id of the panel whose wave it is
 * @property {string} name what the task is called, in the language `lang`
 * @property {string} lang "" where the task does not say
 * @property {{name: string, contact: string} | null} [asker] who asks, and how to reach them, in `lang`
 * @property {number | null} closes when its collection ends, Unix time in seconds
 * @property {string} url where it is sent
 * @property {number} epsilon
 * @property {string} id the report's, 32 hexadecimal digits
 * @property {Uint8Array} bytes the report; empty where a code to keep says that there was one
 * @property {import("./disclosures.js").DisclosedSplits | null} splits by which it discloses
 * @property {import("./strata.js").Disclosure | null} disclosed what it discloses, with the task's words in `lang`
 * @property {string | null} invitation for `url` alone
 * @property {number} drawn Unix time in seconds
 * @property {import("./calls.js").ReportState} state
 * @property {string | null} reason of a refusal, of a loss, or of the last attempt that failed: a problem's type
 * @property {string | null} detail the same in words
 */

/**
 * @typedef {object} Caps what may be spent, as in `privet-holder`
 * @property {number} task epsilon on one task
 * @property {number} year epsilon on all tasks within 365 days
 * @property {number} disclosed bits that tasks disclose within 365 days
 */

/** @typedef {import("./panels.js").Member} Member */
/** @typedef {Answer | Member} Row */

/** @param {Row} row */
const isMember = (row) => "lifetime" in row;

/** One person's answers, one per task, and parts in panels: what all stores have in common. */
export class Store {
  /** @param {{caps?: Partial<Caps>}} [options] */
  constructor({ caps = {} } = {}) {
    /** @type {Caps} */
    this.caps = { ...CAPS, ...caps };
    for (const [name, cap] of Object.entries(this.caps)) {
      if (!Object.hasOwn(CAPS, name) || !(cap >= 0)) throw new Problem("invalid-request", `There is no cap ${name}: ${cap}.`);
    }
  }

  /** @returns {Promise<Row[]>} */
  async rows() {
    throw new Error("a store says what it has");
  }

  /**
   * Put the rows that `work` returns in the places of their tasks', all or none, durably, while nobody else does.
   * @param {(rows: Row[]) => Row[]} work what it throws changes nothing
   * @returns {Promise<void>}
   */
  async change(work) {
    throw new Error(`a store changes by itself: ${work}`);
  }

  /** @returns {Promise<Answer[]>} */
  async answers() {
    return answersIn(await this.rows());
  }

  /** @returns {Promise<Member[]>} */
  async members() {
    return membersIn(await this.rows());
  }

  /**
   * Keep a person's part in a panel with all that it can cost; a part that is there already stays.
   * @param {Member} member
   * @param {number} now Unix time in seconds
   * @param {import("./disclosures.js").DisclosedSplits | null} [splits] by which one answer discloses
   * @returns {Promise<Member>} the one that counts
   * @throws {Problem} `budget-spent`, `ledger-failed`
   */
  async join(member, now, splits = null) {
    let kept = member;
    await this.change((rows) => {
      const first = membersIn(rows).find(({ task }) => task === member.task);
      kept = first ?? member;
      if (first === undefined) afford(rows, { epsilon: member.lifetime, splits }, now, this.caps);
      return first === undefined ? [member] : [];
    });
    return kept;
  }

  /**
   * Keep a part in a panel that a code restores, with the answers that it names, on top of what is known: no cap refuses
   * what is spent already, and each later answer must be afforded. A turn that was drawn and used here stays.
   * @param {Member} member
   * @param {Answer[]} answers
   */
  async restore(member, answers) {
    await this.change((rows) => {
      const own = membersIn(rows).find(({ task }) => task === member.task);
      const isUsed = answersIn(rows).some(({ panel }) => panel === member.task);
      const stays = own !== undefined && (own.wave === null ? own.lifetime >= member.lifetime : isUsed);
      return [...(stays ? [] : [member]), ...answers.filter(({ task }) => rows.every((row) => row.task !== task))];
    });
  }

  /**
   * @param {string} task its id
   * @returns {Promise<Answer | undefined>}
   */
  async find(task) {
    return (await this.answers()).find((each) => each.task === task);
  }

  /**
   * Store an answer before it is sent, dated no earlier than any other; if the task has one already, that
   * stays.
   * @param {Answer} answer
   * @returns {Promise<Answer>} the one that counts
   * @throws {Problem} `budget-spent`, `ledger-failed`
   */
  async keep(answer) {
    let kept = answer;
    await this.change((rows) => {
      const earlier = answersIn(rows);
      const first = earlier.find(({ task }) => task === answer.task);
      if (first === undefined) afford(rows, answer, answer.drawn, this.caps);
      kept = first ?? { ...answer, drawn: Math.max(answer.drawn, ...earlier.map(({ drawn }) => drawn)) };
      return first === undefined ? [kept] : [];
    });
    return kept;
  }

  /**
   * Note what became of an answer; news that is no move changes nothing.
   * @param {Answer} answer
   * @returns {Promise<Answer>} as it stands then
   */
  async settle(answer) {
    let settled = answer;
    await this.change((rows) => {
      const before = answersIn(rows).find(({ task }) => task === answer.task);
      const isMove = REPORT_MOVES.has(`${before?.state ?? "drawn"} ${answer.state}`);
      settled = isMove ? answer : before ?? answer;
      return isMove ? [answer] : [];
    });
    return settled;
  }
}

/** Answers in memory, for tests and simulations: gone with the program, and with them what was spent. */
export class MemoryStore extends Store {
  #rows = new Map();

  async rows() {
    return [...this.#rows.values()];
  }

  /** @param {(rows: Row[]) => Row[]} work */
  async change(work) {
    for (const row of work([...this.#rows.values()])) this.#rows.set(row.task, structuredClone(row));
  }
}

/** @param {Row[]} rows @returns {Answer[]} */
const answersIn = (rows) => /** @type {Answer[]} */ (rows.filter((row) => !isMember(row)));
/** @param {Row[]} rows @returns {Member[]} */
const membersIn = (rows) => /** @type {Member[]} */ (rows.filter(isMember));

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
 * @param {Row[]} rows
 * @param {number} now Unix time in seconds
 * @param {{panel: string | null, epsilon: number}} [more] an answer that is about to be drawn
 * @returns {number} the epsilon that is kept for later waves of panels
 */
export function keptIn(rows, now, more = { panel: null, epsilon: 0 }) {
  const byPanel = new Map();
  for (const { panel = null, epsilon } of [...answersIn(rows), more]) byPanel.set(panel, (byPanel.get(panel) ?? 0) + epsilon);
  return reserved(membersIn(rows), byPanel, now);
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
 * @param {Row[]} rows with what is kept for later waves, which is as good as spent
 * @param {{epsilon: number, splits?: import("./disclosures.js").DisclosedSplits | null, panel?: string | null}} cost of an
 *   answer, whose `panel` pays from its own; or of all a panel's
 * @param {number} now
 * @param {Caps} [caps]
 * @throws {Problem} `budget-spent`, with the cap as its `why`
 */
export function afford(rows, { epsilon, splits = null, panel = null }, now, caps = CAPS) {
  const earlier = answersIn(rows);
  const refuse = (cap, detail) => {
    throw new Problem("budget-spent", detail, cap);
  };
  if (!(epsilon <= caps.task * (1 + SLACK))) {
    refuse("task", `This task costs epsilon ${epsilon}, and at most ${caps.task} is spent on one task.`);
  }
  const before = spent(earlier, now);
  const kept = keptIn(rows, now, { panel, epsilon });
  if (!(before + kept + epsilon <= caps.year * (1 + SLACK))) {
    refuse("year", `This task costs epsilon ${epsilon}, and you have spent ${before}${kept > 0 ? `, and keep ${kept} for later waves,` : ""} of ${caps.year} within a year.`);
  }
  if (splits === null) return;
  const [told, telling] = [disclosed(earlier, now), disclosed(earlier, now, splits)];
  if (!(telling <= caps.disclosed * (1 + SLACK))) {
    refuse("disclosed", `This task discloses ${telling - told} more bits, and you have disclosed ${told} of ${caps.disclosed} within a year.`);
  }
}
