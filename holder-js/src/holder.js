/**
 * A holder's calls (docs/calls.md, "Calls of a holder"): fetch a task, send one report, ask a
 * relay what became of it.
 *
 * `validate` says what of a record does not fit, to a person or a developer. `answer` sends a report
 * whatever the values are: a call that threw at a value after the task was fetched would tell it by
 * silence. Names are the program's, so an unknown one, of a column or an option, is refused.
 *
 * The network, randomness, time and the store of drawn reports are arguments, so that the same
 * module serves a browser, Node and tests.
 */

import {
  CALLS, INVITATION_HEADER, PROBLEM_BASE, PROBLEM_TYPE, RETRIED, SIGNATURE_HEADER, TASKS, TASK_ID, TASK_TYPE,
} from "./calls.js";
import { Problem } from "./problem.js";
import { concat } from "./msgpack.js";
import { MAX_DEPTH } from "./partition.js";
import { unknownNames } from "./features.js";
import { OpenedRecord, platformRandom } from "./report.js";
import { isSigned } from "./signature.js";
import { hex, readTask } from "./task.js";

const STEPS_PER_FEATURE = 30; // what a value that does not fit may take
export const SMALLEST_GROUP = 20;
const MOST_APART = 2 * 86_400; // caches may keep a task, with its Date, for a day
const ORIGIN = String.raw`https://[^/?#@]+|http://(?:localhost|127\.0\.0\.1|\[::1\])(?::\d+)?`;
const ADDRESS = new RegExp(`^(?:${ORIGIN})(?:/[^?#]*)?${TASKS}/(${TASK_ID})$`);

const pause = (seconds) => new Promise((resolve) => { setTimeout(resolve, 1000 * seconds); });

/**
 * @typedef {object} Options
 * @property {typeof fetch} [http]
 * @property {(size: number) => Uint8Array} [random]
 * @property {() => number} [now] Unix time in seconds
 * @property {(seconds: number) => Promise<void>} [sleep]
 * @property {Map<string, {id: string, bytes: Uint8Array}>} [kept] drawn reports by task id; give a
 *   durable one (awaited), since a report that was drawn must not be drawn again
 * @property {number} [mostEpsilon] what the holder is ready to spend on this task
 * @property {number} [smallestGroup] the fewest people that may be expected in any stratum
 * @property {string} [invitation]
 * @property {string} [curatorKey] answer only tasks signed with this key, 64 hexadecimal digits
 * @property {number} [attempts]
 * @property {() => number} [clock] seconds from any start, for the moment at which a report leaves
 * @property {boolean} [development] whether the first record that does not fit is said on the console;
 *   if absent, on pages of this machine
 */
const OPTIONS = new Set([
  "http", "random", "now", "sleep", "kept", "mostEpsilon", "smallestGroup", "invitation", "curatorKey", "attempts", "clock", "development",
]);
const LOCAL = new Set(["localhost", "127.0.0.1", "[::1]"]);
let saidInDevelopment = false;

/**
 * Open a record against a task: what does not fit, and what its report would disclose. `answer` takes
 * what comes back, whatever it says.
 * @param {object} task from `fetchTask`
 * @param {object} record values by name, the label included
 * @returns {OpenedRecord}
 * @throws {Problem} `invalid-record` for a name that the task does not ask for, and for no value
 */
export function validate(task, record) {
  return opened(task, record, departure(task)); // fixed before the record is read
}

/**
 * Answer a task once; again with the same bytes if it was answered before.
 * @param {string} url https://curator.example/v1/tasks/{id}
 * @param {object | OpenedRecord} record values by name, the label included; or what `validate` made of it
 * @param {Options} [options]
 * @returns {Promise<Receipt>}
 * @throws {Problem} by its type; `unreachable` and `unexpected-response` are this holder's own
 */
export async function answer(url, record, options = {}) {
  checkOptions(options);
  const { random = platformRandom, now, kept = new Map(), mostEpsilon = 2, smallestGroup = SMALLEST_GROUP } = options;
  const id = taskIdIn(url);
  if (record instanceof OpenedRecord) {
    if (record.task.id !== id) throw new Problem("invalid-request", "The record was validated against another task.");
    await record.leave(); // for reading it took time before the next call
  }
  let drawn = await kept.get(id);
  let findings = [];
  if (drawn === undefined) {
    const task = await fetchTask(url, options);
    checkDates(task, now?.());
    const { group_sizes: groupSizes = [], invited } = task;
    // of any stratum: a refusal that depended on the record's own would tell it
    if (groupSizes.some((size) => size < smallestGroup)) {
      throw new Problem("refused", `It discloses columns, and expects fewer than ${smallestGroup} people in a stratum.`);
    }
    if (invited && !options.invitation) throw new Problem("refused", "It needs an invitation.");
    const spends = epsilonOf(task);
    if (!(spends <= mostEpsilon)) {
      throw new Problem("refused", `The task would spend epsilon ${spends}, above ${mostEpsilon}.`);
    }
    const leave = departure(task, options);
    const ready = record instanceof OpenedRecord ? record : opened(task, record, leave);
    const report = ready.draw(random);
    ({ findings } = ready);
    drawn = { id: hex(report.id), bytes: report.bytes };
    await kept.set(id, drawn);
    await leave();
  } else if (options.curatorKey !== undefined) {
    await fetchTask(url, options);
  }
  try {
    return await send(url, drawn, options);
  } finally {
    sayInDevelopment(findings, options);
  }
}

function opened(task, record, leave) {
  const [unknown] = unknownNames(task, record);
  if (unknown !== undefined) {
    const asked = [...task.features, task.label].map(({ name }) => JSON.stringify(name));
    throw new Problem("invalid-record", `The task does not ask for ${JSON.stringify(unknown)}, but for ${asked.join(", ")}. Nothing was sent.`);
  }
  return new OpenedRecord(task, record, leave);
}

function checkOptions(options) {
  const unknown = Object.keys(options).find((name) => !OPTIONS.has(name));
  if (unknown !== undefined) {
    throw new Problem("invalid-request", `There is no option ${JSON.stringify(unknown)}, but ${[...OPTIONS].join(", ")}.`);
  }
}

/** Say loudly, once a page and to its developer alone, that a record does not fit. */
function sayInDevelopment(findings, { development = LOCAL.has(globalThis.location?.hostname) }) {
  if (!development || saidInDevelopment || findings.length === 0) return;
  saidInDevelopment = true;
  console.error(`PRIVET: THIS RECORD DOES NOT FIT THE TASK, and its report says so, perturbed:\n  ${findings.join("\n  ")}\n`
    + "Call validate(task, record) to see this before an answer spends epsilon.");
}

/**
 * @param {string} url
 * @returns {string} the task's id
 * @throws {Problem} `invalid-request` for what is no task's address, or plain http to another machine
 */
export function taskIdIn(url) {
  const id = ADDRESS.exec(url)?.at(-1);
  if (id === undefined) {
    throw new Problem("invalid-request", `${url} is no task's address: it needs https, and ends in ${TASKS}/ and an id.`);
  }
  return id;
}

/**
 * @param {string} url
 * @param {Options} [options]
 * @returns {Promise<object>} the task, its hash checked; `clockAhead` says by how many seconds the server's
 *   clock is ahead of this device's, null if the server did not say
 * @throws {Problem}
 */
export async function fetchTask(url, options = {}) {
  const id = taskIdIn(url);
  const reply = await persist(CALLS.readTask, url, options);
  if (reply.type !== TASK_TYPE) throw unexpected(reply);
  if (options.curatorKey !== undefined && !(await isSigned(id, reply.signature, options.curatorKey))) {
    throw new Problem("refused", "The task is not signed with the key that this holder trusts.");
  }
  const ahead = Date.parse(reply.date) / 1000 - (options.now ?? unixTime)();
  return { ...(await readTask(reply.body, id)), clockAhead: Number.isNaN(ahead) ? null : ahead };
}

/**
 * @param {string} url the task's address
 * @param {Options} [options]
 * @returns {Promise<{collecting: boolean | null, settled: boolean | null, invited: boolean | null, results: object | null, asFiles: boolean}>} whether
 *   it takes reports now, whether none that a relay holds can count any more, and whether only invited ones
 *   do, null where a relay has not heard; and what came out, once it is over and shown
 * @throws {Problem}
 */
export async function collectionOf(url, options = {}) {
  const reply = await persist(CALLS.readStatus, url, options);
  const { collecting, settled, invited, results = null, as_files: asFiles = false } = json(reply);
  return { collecting, settled, invited, results, asFiles };
}

/**
 * @param {object} task
 * @param {number} [now] Unix time in seconds
 * @throws {Problem} `wrong-clock` if this device's clock and the server's are more than two days apart;
 *   `task-not-open`
 */
export function checkDates({ opens, closes, clockAhead = null }, now = unixTime()) {
  const clocks = `This device's clock says ${inUtc(now)}${clockAhead === null ? "" : `, the server's ${inUtc(now + clockAhead)}`}.`;
  if (Math.abs(clockAhead ?? 0) > MOST_APART) throw new Problem("wrong-clock", `${clocks} Set the wrong one, then answer. Nothing was drawn.`);
  const late = closes !== null && now >= closes;
  if ((opens !== null && now < opens) || late) {
    throw new Problem("task-not-open", `The task ${late ? "closed" : "opens"} on ${inUtc(late ? closes : opens)}: nothing was drawn. ${clocks}`);
  }
}

/** @param {number} moment Unix time in seconds */
function inUtc(moment) {
  const date = new Date(1000 * moment);
  return Number.isNaN(date.getTime()) ? "a day of no calendar" : `${date.toISOString().slice(0, 16).replace("T", " ")} UTC`;
}

/**
 * @param {object} task
 * @returns {number} what answering it spends
 */
export function epsilonOf({ questions, allocation }) {
  const spent = questions.map(({ epsilon }) => epsilon);
  return allocation === "all" ? spent.reduce((sum, epsilon) => sum + epsilon, 0) : Math.max(...spent);
}

/**
 * Fix when the report will leave, before the record is looked at; returns the wait for it. The period
 * is longer than drawing takes on a slow device, by the task's numbers alone.
 * @param {object} task
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
const unixTime = () => Date.now() / 1000;

/**
 * @typedef {object} Receipt
 * @property {string} report the report's id
 * @property {boolean} counted whether it counts from now on, and did not before
 * @property {boolean} held whether a relay has it, which will deliver it
 */

/**
 * Send a report, until somebody confirms that it is durable.
 * @param {string} url the task's address
 * @param {{id: string, bytes: Uint8Array}} drawn
 * @param {Options} [options]
 * @returns {Promise<Receipt>}
 * @throws {Problem}
 */
export async function send(url, drawn, options = {}) {
  // without a Content-Type, so that browsers ask nothing first
  const headers = options.invitation ? { [INVITATION_HEADER]: options.invitation } : {};
  const reply = await persist(CALLS.sendReport, url, options, { headers, body: drawn.bytes });
  const { report, counted } = json(reply);
  if (report !== drawn.id || typeof counted !== "boolean") throw unexpected(reply);
  return { report, counted, held: reply.status === 202 };
}

/**
 * Ask the relay that holds a report what became of it.
 * @param {string} url the task's address
 * @param {string} id the report's
 * @param {Options} [options]
 * @returns {Promise<{state: "held" | "counted" | "refused" | "lost", reason: string | null}>}
 * @throws {Problem} `report-not-found`: send it again
 */
export async function statusOf(url, id, options = {}) {
  const reply = await persist(CALLS.readReport, url, options, { id });
  const { state, reason } = json(reply);
  if (!["held", "counted", "refused", "lost"].includes(state)) throw unexpected(reply);
  return { state, reason };
}

/** The first reply with a good status; throws what another stands for that is final, or the last. */
async function persist(call, taskUrl, options, { id = "", headers = {}, body } = {}) {
  checkOptions(options);
  const { http = fetch, sleep = pause, attempts = 6 } = options;
  const url = `${taskUrl}${call.below}${id}`;
  const request = { method: call.method, headers: { Accept: call.accept, ...headers }, body };
  for (let attempt = 1; ; attempt += 1) {
    let wait = Math.min(0.5 * 2 ** (attempt - 1), 30) * (0.5 + Math.random() / 2);
    try {
      const reply = await once(http, url, request, call.limit);
      if (call.good.includes(reply.status)) return reply;
      if (!RETRIED.has(reply.status) || attempt === attempts) throw problemIn(reply);
      wait = Math.max(wait, Math.min(reply.retryAfter, 60));
    } catch (error) {
      if (error instanceof Problem) throw error;
      if (attempt === attempts) throw new Problem("unreachable", `${url} does not answer: ${error.message}`);
    }
    await sleep(wait);
  }
}

async function once(http, url, request, limit) {
  const response = await http(url, {
    ...request, redirect: "error", credentials: "omit", signal: AbortSignal.timeout(120_000),
  });
  const parts = [];
  let size = 0;
  const reader = response.body?.getReader();
  for (let part = await reader?.read(); part && !part.done; part = await reader.read()) {
    size += part.value.length;
    if (size > limit) throw new Problem("unexpected-response", `${url} sends more than ${limit} bytes.`);
    parts.push(part.value);
  }
  const retryAfter = response.headers.get("retry-after") ?? "";
  return {
    url,
    status: response.status,
    signature: response.headers.get(SIGNATURE_HEADER),
    type: (response.headers.get("content-type") ?? "").split(";")[0].trim().toLowerCase(),
    date: response.headers.get("date"),
    retryAfter: /^\d{1,9}$/.test(retryAfter) ? Number(retryAfter) : 0,
    body: concat(parts),
  };
}

function problemIn(reply) {
  if (reply.type !== PROBLEM_TYPE) return unexpected(reply);
  const { type, detail } = json(reply);
  return new Problem(String(type).replace(PROBLEM_BASE, ""), String(detail));
}

function json(reply) {
  try {
    return JSON.parse(new TextDecoder().decode(reply.body)) ?? {};
  } catch {
    throw unexpected(reply);
  }
}

function unexpected({ url, status }) {
  return new Problem("unexpected-response", `${url} answered ${status} with what no curator sends.`);
}
