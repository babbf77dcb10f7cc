/**
 * A holder (docs/calls.md, "Calls of a holder"): reads a task, opens a record against it, answers once, and
 * asks what became of that.
 *
 * `validate` says what of a record does not fit, to a person or a developer. `answer` sends a report
 * whatever the values are: a call that threw at a value after the task was fetched would tell it by
 * silence. Names are the program's, so an unknown one, of a column or an option, is refused.
 */

import { splitsOf } from "./disclosures.js";
import { unknownNames } from "./features.js";
import { checkCollecting, clockWasSet, collectionOf, loadTask, pause, send, statusOf, taskIdIn, unixTime } from "./http.js";
import { IndexedDBStore } from "./indexeddb-store.js";
import { FINAL } from "./calls.js";
import { Store, afford } from "./ledger.js";
import { readCode, writeCode } from "./code.js";
import { drawMember, isPanel, lifetimeOf, memberFrom, numberOf, panelIdOf, partOf, turnsOf, waveTask, wholePanel } from "./panels.js";
import { MAX_DEPTH } from "./partition.js";
import { Problem } from "./problem.js";
import { OpenedRecord, platformRandom } from "./report.js";
import { MAX, hex } from "./task.js";
import { preferred, translator } from "./translation.js";

const STEPS_PER_FEATURE = 30; // what a value that does not fit may take
export const SMALLEST_GROUP = 20;
const MOST_APART = 2 * 86_400; // caches may keep a task, with its Date, for a day
const INVITATION = /^[!-~]{1,200}$/;

/** @typedef {import("./http.js").Task} Task */
/** @typedef {import("./ledger.js").Answer} Answer */

/**
 * @typedef {object} HolderOptions
 * @property {Store} [store] where the answer is kept before it is sent; if absent, IndexedDB. In Node there
 *   is none: a report that was drawn and forgotten would be drawn again
 * @property {number} [smallestGroup] the fewest people that may be expected in any stratum
 * @property {readonly string[]} [languages] in which the store keeps a task's name; the browser's if absent
 * @property {(size: number) => Uint8Array} [random] for tests
 * @property {() => number} [clock] seconds from any start, for the moment at which a report leaves
 * @property {boolean} [development] whether the first record that does not fit is said on the console;
 *   if absent, on pages of this machine
 */
/** @typedef {HolderOptions & import("./http.js").HttpOptions} Options */
const OPTIONS = new Set([
  "store", "http", "random", "now", "sleep", "smallestGroup", "invitation", "curatorKey", "attempts", "clock", "development", "languages",
]);
const LOCAL = new Set(["localhost", "127.0.0.1", "[::1]"]);
let saidInDevelopment = false;
let pageStore;

/**
 * Open a record against a task: what does not fit, and what its report would disclose. `answer` takes
 * what comes back, whatever it says.
 * @param {import("./task.js").Task} task from `loadTask`
 * @param {Record<string, unknown>} record values by name, the label included
 * @returns {OpenedRecord}
 * @throws {Problem} `invalid-record` for a name that the task does not ask for, never for a value
 */
export function validate(task, record) {
  return opened(task, record, departure(task)); // fixed before the record is read
}

/**
 * Answer a task once, and return when the report is durable; if it was answered before, the record is not
 * looked at: a relay that holds the answer is asked, and what nobody has is sent again, byte for byte.
 * @param {Task | string} task from `loadTask`, or its address
 * @param {Record<string, unknown> | OpenedRecord} record values by name, the label included; or what `validate` made of it
 * @param {Options} [options]
 * @returns {Promise<Answer>} `counted`, or `held` by a relay
 * @throws {Problem} by its type, never for a value. After `unreachable` and its like the answer is kept, and
 *   `answer` or `resend` sends it again
 */
export async function answer(task, record, options = {}) {
  checkOptions(options);
  const { random = platformRandom, now = unixTime, invitation = null, store = ownStore() } = options;
  let url = typeof task === "string" ? task : task.url;
  const id = taskIdIn(url);
  if (record instanceof OpenedRecord) {
    if (!(await areAlike(record.task, id))) throw new Problem("invalid-request", "The record was validated against another task.");
    await record.leave(); // for reading it took time before the next call
  }
  let kept = await store.find(id);
  let findings = [];
  if (kept === undefined) {
    let loaded = typeof task === "string" ? await loadTask(url, options) : task;
    if (clockWasSet(loaded, now)) Object.assign(loaded, await loadTask(url, options)); // with the server's time
    if (loaded.panel !== undefined && !(record instanceof OpenedRecord)) checkNames(loaded, record); // before anything is kept
    loaded = await turn(loaded, options);
    const isWave = loaded.panel !== undefined;
    if (loaded.id !== id) {
      kept = await store.find(loaded.id);
      if (kept !== undefined) return deliver(store, kept, loaded.url, options);
    }
    if (isWave) checkDates(loaded, now(), true);
    if (loaded.id !== id) {
      url = loaded.url;
      await loadTask(url, options); // or it was deleted: told before anything is drawn
    }
    await check(loaded, options);
    await checkCollecting(url, options);
    const [epsilon, splits] = [epsilonOf(loaded), await splitsOf(loaded)];
    const panel = isWave ? await panelIdOf(loaded) : null;
    if (loaded.panel?.mode === "repeat") await store.join(await drawMember(loaded, epsilon, now()), now(), splits);
    const leave = departure(loaded, options);
    const ready = record instanceof OpenedRecord ? record : opened(loaded, record, leave);
    const report = ready.take(random, loaded);
    ({ findings } = ready);
    kept = await store.keep({
      task: loaded.id, panel, ...inWords(ready, options), closes: loaded.closes, url, epsilon, splits, invitation,
      id: hex(report.id), bytes: report.bytes, drawn: now(), state: "drawn", reason: null, detail: null,
    });
    await leave();
  }
  try {
    return await deliver(store, kept, url, options);
  } finally {
    sayInDevelopment(findings, options);
  }
}

/**
 * The task that this person answers now: of a panel the wave whose turn it is, else `task` itself.
 *
 * Where holders rotate, the first call takes part in the panel, so make it once the person has agreed: it draws the
 * wave, and the store keeps that with the panel's lifetime. Where they repeat, `answer` keeps that with the first answer.
 * @param {Task} task from `loadTask`
 * @param {Options} [options]
 * @returns {Promise<Task>} whose dates say when the turn is; `check` refuses it outside them
 * @throws {Problem} `budget-spent` if all waves together pass a cap; `wrong-clock`; `task-not-open` outside all waves
 */
export async function turn(task, options = {}) {
  checkOptions(options);
  if (task.panel === undefined) return task;
  const { random, now = unixTime, store = ownStore() } = options;
  const epsilon = epsilonOf(task);
  let member = await memberOf(task, store);
  if (member === undefined) {
    checkForEverybody(await wholePanel(task), options);
    member = await drawMember(task, epsilon, now(), random);
    if (task.panel.mode === "rotate") member = await store.join(member, now(), await splitsOf(task));
  }
  const waves = await Promise.all(turnsOf(member, task, epsilon, now()).map((wave) => waveTask(task, wave)));
  while (waves.length > 1 && await isDeleted(waves[0], options)) waves.shift();
  return waves[0];
}

async function isDeleted({ url }, options) {
  try {
    await loadTask(url, options);
    return false;
  } catch (error) {
    if (error.type !== "task-not-found") throw error;
    return true;
  }
}

/**
 * @param {Task} task
 * @param {Store} store
 * @returns {Promise<import("./panels.js").Member | undefined>} a person's part in the task's panel, if there is one
 */
export async function memberOf(task, store) {
  const id = task.panel && await panelIdOf(task);
  return (await store.members()).find((each) => each.task === id);
}

/**
 * @param {Task} task
 * @param {Store} store
 * @returns {Promise<Answer[]>} a person's answers to the task's panel, in the order of its waves
 */
export async function answersTo(task, store) {
  const id = await panelIdOf(task);
  return (await store.answers()).filter(({ panel }) => panel === id).sort((one, other) => one.closes - other.closes);
}

/**
 * A secret that restores this person's part in a panel, here or elsewhere: which wave was drawn, and which ones were
 * answered. It has nothing of the answers.
 * @param {Task} task from `loadTask`
 * @param {Options} [options]
 * @returns {Promise<string | null>} null of a task that is no panel's, and before anything is drawn
 */
export async function codeToKeep(task, options = {}) {
  checkOptions(options);
  const { store = ownStore() } = options;
  const member = await memberOf(task, store);
  if (member === undefined) return null;
  const answered = (await answersTo(task, store)).map((each) => numberOf(task.panel, each));
  return writeCode(member.task, partOf(member, task, epsilonOf(task), answered));
}

/**
 * Take up the part in a panel that a code is of. What is known already stays, and nothing is drawn or sent.
 * @param {Task} task from `loadTask`
 * @param {string} code from `codeToKeep`
 * @param {Options} [options]
 * @throws {Problem} `invalid-request` of a damaged code, with `code` as its `why`, or another panel's, with `other-code`
 */
export async function restore(task, code, options = {}) {
  checkOptions(options);
  if (task.panel === undefined) throw new Problem("invalid-request", "The task is not asked in waves, so it has no code.", "other-code");
  const part = await readCode(code, await panelIdOf(task), task.panel);
  await keepAnswered(task, part, options);
}

/** Keep a person's part in a panel with the waves that they say were answered, elsewhere or before. */
export async function keepAnswered(task, part, options) {
  const { now = unixTime, store = ownStore() } = options;
  const [epsilon, splits] = [epsilonOf(task), await splitsOf(task)];
  const member = await memberFrom(part, task, epsilon);
  await store.restore(member, await Promise.all(part.answered.map(async (number) => {
    const { id, url, closes } = await waveTask(task, number);
    return {
      task: id, panel: member.task, ...inWords({ task, disclosed: null }, options), closes, url, epsilon, splits, invitation: null,
      id: "", bytes: new Uint8Array(), drawn: Math.min(closes, now()), state: /** @type {const} */ ("counted"), reason: null, detail: null,
    };
  })));
}

/**
 * Send again what nobody has accepted, and ask relays what became of what they hold.
 * @param {Options} [options] for all answers
 * @returns {Promise<Answer[]>} all that were not known to count, as they stand now; a fault is the `reason` of
 *   its answer, and does not keep the others from being sent
 */
export async function resend(options = {}) {
  checkOptions(options);
  const { store = ownStore() } = options;
  const outcomes = [];
  for (const kept of await store.answers()) {
    if (kept.state === "counted" && (kept.bytes.length === 0 || !(await isMissed(kept, options)))) continue;
    outcomes.push(await deliver(store, kept, kept.url, options, true).catch(async (error) => {
      if (!(error instanceof Problem)) throw error;
      return await store.find(kept.task) ?? kept;
    }));
  }
  return outcomes;
}

/**
 * What became of an answer; the relay that holds it is asked.
 * @param {Task | string} task from `loadTask`, or its address
 * @param {Options} [options]
 * @returns {Promise<Answer | undefined>} as it stands now; undefined if there is none in the store
 * @throws {Problem}
 */
export async function status(task, options = {}) {
  checkOptions(options);
  const { store = ownStore() } = options;
  const kept = await store.find(taskIdIn(typeof task === "string" ? task : task.url));
  if (kept?.state !== "held") return kept;
  await checkKey(kept.url, options);
  const { state, reason } = await statusOf(kept.url, kept.id, options);
  return store.settle({ ...kept, state, reason, detail: reason });
}

/**
 * Whatever would refuse a report refuses it here, without a record; of a panel without a part in it, whatever would
 * refuse to take part. Nothing is drawn or kept.
 * @param {Task} task
 * @param {Options} [options]
 * @throws {Problem} `wrong-clock`, `task-not-open`, `budget-spent`; `refused` if it expects fewer people than
 *   `smallestGroup` in any stratum, or needs an invitation
 */
export async function check(task, options = {}) {
  checkForEverybody(task, options);
  const { now = unixTime, store = ownStore() } = options;
  const panel = (await memberOf(task, store))?.task;
  const epsilon = panel === undefined ? lifetimeOf(task, epsilonOf(task), now()) : epsilonOf(task);
  afford(await store.rows(), { epsilon, splits: await splitsOf(task), panel }, now(), store.caps);
}

/**
 * The same but for the account of a person.
 * @param {Task} task
 * @param {Options} [options]
 */
export function checkForEverybody(task, options = {}) {
  checkOptions(options);
  const { smallestGroup = SMALLEST_GROUP, now = unixTime } = options;
  checkDates(task, now());
  if (task.panel?.waves.at(-1)[1] - now() > MAX.panelSeconds) throw new Problem("refused", "Its last wave is years away.");
  // of any stratum: a refusal that depended on the record's own would tell it
  if ((task.group_sizes ?? []).some((size) => size < smallestGroup)) {
    throw new Problem("refused", `It expects fewer than ${smallestGroup} people in a stratum.`, "groups");
  }
  if (task.invited && !options.invitation) throw new Problem("refused", "It needs an invitation.", "invitation");
}

/** Send a kept answer, unless it counts already or the relay at this address has it; note what became of it. */
async function deliver(store, kept, url, options, again = false) {
  if (kept.state === "counted" && !again) return kept;
  const invitation = options.invitation ?? (kept.url === url ? kept.invitation ?? undefined : undefined);
  try {
    await checkKey(url, options);
    const news = await newsOf(kept, url, options) ?? await send(url, kept, { ...options, invitation });
    return await store.settle({ ...kept, url, invitation: invitation ?? null, ...news, detail: news.reason });
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    await store.settle({ ...kept, state: stateAfter(error), reason: error.type, detail: error.message });
    throw error;
  }
}

/** What the relay that holds an answer says of it; null if nobody has it. */
async function newsOf(kept, url, options) {
  if (kept.state !== "held" || kept.url !== url) return null;
  try {
    return await statusOf(url, kept.id, options);
  } catch (error) {
    if (error.type !== "report-not-found") throw error;
    return null;
  }
}

/** Whether the curator that counted an answer asks for it again; not if it does not say. */
async function isMissed(kept, options) {
  try {
    await checkKey(kept.url, options);
    return (await collectionOf(kept.url, options)).asksAgain;
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    return false;
  }
}

/** A kept answer goes to no address that does not show the pinned key's signature. */
async function checkKey(url, options) {
  if (options.curatorKey !== undefined) await loadTask(url, options);
}

/**
 * @param {Problem} problem in which an attempt to send a report ended
 * @returns {"drawn" | "refused"} where the report then stands
 */
export const stateAfter = ({ type }) => (FINAL.has(type) ? "refused" : "drawn");

/** Whether an id is that of the task or of another document of its panel, which ask the same. */
async function areAlike(task, id) {
  const others = task.panel === undefined ? [] : await Promise.all([wholePanel(task), ...task.panel.waves.map((_, wave) => waveTask(task, wave))]);
  return [task, ...others].some((each) => each.id === id);
}

function opened(task, record, leave) {
  checkNames(task, record);
  return new OpenedRecord(task, record, leave);
}

function checkNames(task, record) {
  const [unknown] = unknownNames(task, record);
  if (unknown !== undefined) {
    const asked = [...task.features, task.label].map(({ name }) => JSON.stringify(name));
    throw new Problem("invalid-record", `The task does not ask for ${JSON.stringify(unknown)}, but for ${asked.join(", ")}.`);
  }
}

/** What the store keeps for people: the task's name, and what is disclosed, in a language of theirs. */
function inWords({ task, disclosed }, { languages = preferred() }) {
  const own = translator(task, languages);
  const { text: name, lang } = own(task.name);
  const worded = (value) => (typeof value === "string" ? own(value).text : value);
  const conditions = disclosed?.conditions.map(([of, relation, value]) => [worded(of), relation, worded(value)]);
  const asker = task.asker === undefined ? null : { name: own(task.asker.name).text, contact: own(task.asker.contact).text };
  return { name, lang, asker, disclosed: disclosed && { ...disclosed, conditions, replaced: disclosed.replaced.map(worded) } };
}

/** The store of this page, one for all calls. */
function ownStore() {
  if (globalThis.indexedDB === undefined) throw new Problem("invalid-request", "Give a store: a report that was drawn must not be drawn again.");
  pageStore ??= new IndexedDBStore();
  return pageStore;
}

function checkOptions(options) {
  const unknown = Object.keys(options).find((name) => !OPTIONS.has(name));
  if (unknown !== undefined) {
    throw new Problem("invalid-request", `There is no option ${JSON.stringify(unknown)}, but ${[...OPTIONS].join(", ")}.`);
  }
  const { invitation } = options;
  if (invitation !== undefined && !INVITATION.test(invitation)) {
    throw new Problem("invalid-request", "The invitation is damaged.", "invitation");
  }
}

/** Say loudly, once a page and to its developer alone, that a record does not fit. */
function sayInDevelopment(findings, { development = LOCAL.has(globalThis.location?.hostname) }) {
  if (!development || saidInDevelopment || findings.length === 0) return;
  saidInDevelopment = true;
  console.error(`PRIVET: THIS RECORD DOES NOT FIT THE TASK, and its report says so, perturbed:\n  ${findings.map(({ message }) => message).join("\n  ")}\n`
    + "Call validate(task, record) to see this before an answer spends epsilon.");
}

/**
 * @param {Pick<Task, "opens" | "closes" | "clockAhead" | "panel">} task of a repeating panel only its end counts, since
 *   its first waves may be deleted: `turn` says when the next one is
 * @param {number} [now] Unix time in seconds
 * @param {boolean} [isTurn] whether these are the dates of this person's turn
 * @throws {Problem} `wrong-clock` if this device's clock and the server's are more than two days apart;
 *   `task-not-open`
 */
export function checkDates({ opens, closes, clockAhead = null, panel }, now = unixTime(), isTurn = false) {
  const clocks = `This device's clock says ${inUtc(now)}${clockAhead === null ? "" : `, the server's ${inUtc(now + clockAhead)}`}.`;
  if (Math.abs(clockAhead ?? 0) > MOST_APART) throw new Problem("wrong-clock", `${clocks} Nothing was drawn.`);
  const late = closes !== null && now >= closes;
  const early = opens !== null && now < opens && !(panel?.mode === "repeat" && isPanel({ panel, opens, closes }));
  if (early || late) {
    const said = isTurn ? `Your turn ${late ? "was until" : "is from"}` : `The task ${late ? "closed" : "opens"} on`;
    throw new Problem("task-not-open", `${said} ${inUtc(late ? closes : opens)}: nothing was drawn. ${clocks}`, late ? "over" : "not-yet-open");
  }
}

/** @param {number} moment Unix time in seconds */
function inUtc(moment) {
  const date = new Date(1000 * moment);
  return Number.isNaN(date.getTime()) ? "a day of no calendar" : `${date.toISOString().slice(0, 16).replace("T", " ")} UTC`;
}

/**
 * @param {Pick<Task, "questions" | "allocation">} task
 * @returns {number} what answering it spends
 */
export function epsilonOf({ questions, allocation }) {
  const spent = questions.map(({ epsilon }) => epsilon);
  return allocation === "all" ? spent.reduce((sum, epsilon) => sum + epsilon, 0) : Math.max(...spent);
}

/**
 * Fix when the report will leave, before the record is looked at; returns the wait for it. The period
 * is longer than drawing takes on a slow device, by the task's numbers alone.
 * @param {import("./task.js").Task} task
 * @param {Options} [options]
 * @returns {() => Promise<void>}
 */
export function departure({ features, partitions, questions, mechanisms }, { sleep = pause, clock = seconds } = {}) {
  const steps = [
    ...features.map(({ categories = [0] }) => categories.length + STEPS_PER_FEATURE),
    ...questions.map(({ partition }) => partitions[partition].feature.length + MAX_DEPTH),
    ...mechanisms.map(({ words, tableEntries }) => words + tableEntries),
  ].reduce((sum, each) => sum + each, 0);
  const period = 0.05 + 1e-5 * steps;
  const [chance] = crypto.getRandomValues(new Uint32Array(1));
  const moment = clock() + period * (1 + chance / 2 ** 32);
  return () => {
    const late = Math.max(Math.ceil((clock() - moment) / period), 0);
    return sleep(moment + late * period - clock());
  };
}

const seconds = () => performance.now() / 1000;
