/** What will be sent and what anybody could learn from it, in words (docs/answer-page.md). */

import { odds, ofHundred } from "./explanation.js";
import { epsilonOf, validate } from "./holder.js";
import { lifetimeOf } from "./panels.js";
import { OpenedRecord } from "./report.js";
import { textsFor } from "./texts.js";
import { capitalized, preferred, translator } from "./translation.js";

/** What is said in place of another text where the task discloses columns. */
const OF_GROUP = {
  stay: "stayDisclosed", inShort: "inShortDisclosed", sentMessage: "sentMessageDisclosed",
};
/** What is said in place of another text in a wave of a panel, and where each is answered. */
const OF_WAVE = { receiptDate: "receiptDateWave", resultsLater: "resultsLaterWave" };
const OF_EACH = { ...OF_WAVE, checkOnce: "checkOnceRepeat" };
const CONDITIONS = { "<": "isBelow", ">=": "isAtLeast", "<=": "isAtMost", ">": "isAbove", is: "isOne", "is not": "isNot" };

/** What is said of a task to one reader. */
export class Wording {
  /**
   * @param {import("./texts.js").Texts} texts
   * @param {import("./http.js").Task} task
   * @param {readonly string[]} languages the reader's
   * @param {string | null} [site] the host of the page or app that asks, "" where that has none; null of a page of its own
   */
  constructor(texts, task, languages, site = globalThis.location?.host ?? "") {
    this.texts = texts;
    this.task = task;
    this.own = translator(task, languages);
    this.site = site;
  }

  /**
   * @param {string} key
   * @param {Record<string, string | number>} [values]
   * @returns {string}
   */
  say(key, values) {
    const { strata, panel } = this.task;
    const more = [strata !== null && OF_GROUP, panel && (panel.mode === "repeat" ? OF_EACH : OF_WAVE)];
    if (key === "stay" && this.site !== null) return this.texts.say(this.site ? "embedded" : "embeddedApp", { site: this.site });
    return this.texts.say(more.map((each) => each && each[key]).find(Boolean) ?? key, { of: strata === null ? "" : this.texts.say("learnOfGroup"), ...values });
  }

  /** @param {string} name of a column */
  named(name) {
    return capitalized(this.own(name).text);
  }

  /**
   * @param {{asFiles?: boolean, invitation?: string}} [options]
   * @returns {string[]} what happens to the answers, step by step
   */
  sent({ asFiles = false, invitation } = {}) {
    const { disclosed = [], url, panel, smallest_batch: together } = this.task;
    const waves = panel === undefined ? [] : [panel.mode === "rotate" ? "sentRotate" : "sentRepeat"];
    const values = { count: panel?.waves.length, host: new URL(url).host, names: this.texts.list(disclosed.map((name) => this.named(name))) };
    const keys = ["stay", ...waves, ...(disclosed.length > 0 ? ["sentGroup"] : []), "sentMessage", "sentGoes", ...(together === "all" ? ["sentToTheEnd"] : []), ...(asFiles ? ["sentFiles"] : []), ...(invitation ? ["sentInvited"] : []), "sentTotal"];
    return keys.map((key) => this.say(key, values));
  }

  /** @returns {Learn} */
  learn() {
    const epsilon = lifetimeOf(this.task, epsilonOf(this.task)); // of all answers together
    const many = ofHundred(epsilon);
    const numbers = { many, few: 100 - many };
    const [ofMany, ofFew] = ["learnMany", "learnFew"].map((key) => this.say(key, numbers));
    const values = { odds: this.texts.number(odds(epsilon)), epsilon: this.texts.number(epsilon) };
    return {
      ...numbers,
      hint: this.say("hint", numbers), lead: this.say("learnLead"), ofMany, ofFew, picture: this.texts.list([ofMany, ofFew]), after: this.say("learnAfter"), odds: this.say("learnOdds", values),
    };
  }

  /**
   * @param {import("./strata.js").Disclosure} disclosed
   * @returns {string} the group that a report names, with its number of people
   */
  group(disclosed) {
    return groupInWords(disclosed, this.texts, (text) => this.own(text).text);
  }

  /**
   * @param {import("./features.js").Finding} finding
   * @returns {string} to whoever filled a field in
   */
  finding({ field, fault }) {
    const asked = [...this.task.features, this.task.label].find(({ name }) => name === field);
    if (asked === undefined) return this.say("checkUnfit");
    if (!("low" in asked)) return this.say("faultChoice");
    return fault === "missing" ? this.say("faultNumberMissing") : this.say("faultNumber", { example: this.texts.number(asked.low + (asked.high - asked.low) / 2) });
  }
}

/**
 * @param {import("./strata.js").Disclosure} disclosed
 * @param {import("./texts.js").Texts} texts
 * @param {(text: string) => string} own the task's texts in the reader's language
 */
export function groupInWords({ size, of, conditions, replaced }, texts, own) {
  const words = conditions.map(([name, relation, value]) => texts.say(CONDITIONS[relation], {
    name: capitalized(own(name)),
    value: typeof value === "number" ? texts.number(value) : own(value),
  }));
  const said = words.length === 0 ? texts.say("groupOfAll") : texts.list(words);
  const instead = replaced.length > 0 ? texts.say("checkReplaced", { names: texts.list(replaced.map((name) => capitalized(own(name)))) }) : "";
  return texts.say("checkGroup", { conditions: said, size: texts.number(size), total: texts.number(of), share: texts.percent(size / of) }) + instead;
}

/**
 * How sure anybody could be afterwards.
 * @typedef {object} Learn
 * @property {string} hint in short
 * @property {string} lead
 * @property {number} many of 100 people who send the same message, how many gave these answers at most
 * @property {number} few
 * @property {string} ofMany
 * @property {string} ofFew
 * @property {string} picture what a picture of them says
 * @property {string} after
 * @property {string} odds the same in numbers
 */

/**
 * @typedef {object} Review
 * @property {string} language of these words
 * @property {{text: string, lang: string}} name of the task
 * @property {string[]} sent what happens to the answers, step by step
 * @property {Learn} learn what anybody could learn
 * @property {{field: string | null, message: string}[]} findings what does not fit
 * @property {string | null} disclosed the group that is sent openly; null if there is none
 * @property {string} goes how much is sent, and that it cannot be taken back
 * @property {OpenedRecord} record give it to `answer`, which then sends these very bytes
 * @property {Uint8Array} bytes the message
 */

/**
 * Show a person what answering sends, and what anybody could learn, before it happens.
 * @param {import("./http.js").Task} task from `loadTask`
 * @param {Record<string, unknown> | OpenedRecord} record
 * @param {{languages?: readonly string[], asFiles?: boolean, invitation?: string}} [options] the reader's languages, of
 *   which English, German, Spanish and Chinese are spoken; the browser's if absent
 * @returns {Promise<Review>}
 */
export async function review(task, record, { languages = preferred(), ...more } = {}) {
  const checked = record instanceof OpenedRecord ? record : validate(task, record);
  const texts = await textsFor(languages);
  const wording = new Wording(texts, task, languages);
  const { bytes } = checked.draw();
  return {
    language: texts.language,
    name: wording.own(task.name),
    sent: wording.sent(more),
    learn: wording.learn(),
    findings: checked.findings.map((finding) => ({ field: finding.field, message: wording.finding(finding) })),
    disclosed: checked.disclosed === null ? null : wording.group(checked.disclosed),
    goes: [wording.say("checkSends", { size: bytes.length }), wording.say("checkOnce")].join(" "),
    record: checked,
    bytes,
  };
}
