/** A holder's calls over HTTP (docs/calls.md, "Calls of a holder"), each repeated until somebody answers. */

import {
  CALLS, INVITATION_HEADER, PROBLEM_BASE, PROBLEM_TYPE, REPORT_STATES, RETRIED, SIGNATURE_HEADER, TASKS, TASK_ID, TASK_TYPE,
} from "./calls.js";
import { concat } from "./msgpack.js";
import { Problem } from "./problem.js";
import { isSigned } from "./signature.js";
import { readTask } from "./task.js";

const ORIGIN = String.raw`https://[^/?#@]+|http://(?:localhost|127\.0\.0\.1|\[::1\])(?::\d+)?`;
const ADDRESS = new RegExp(`^(?:${ORIGIN})(?:/[^?#]*)?${TASKS}/(${TASK_ID})$`);
const PAGE_TYPE = "text/html"; // no answer to any call
const CLOCK_SET = 3_600; // seconds by which the clock is off from a steady one where it was set, or the device slept

/**
 * @typedef {object} HttpOptions
 * @property {typeof fetch} [http] what makes the calls
 * @property {string} [curatorKey] take only tasks signed with this key, 64 hexadecimal digits
 * @property {string} [invitation] to a task that counts invited reports only
 * @property {number} [attempts] at each call; if not said, 6 that send and 3 that read
 * @property {() => number} [now] Unix time in seconds, for tests
 * @property {(seconds: number) => Promise<void>} [sleep] for tests
 */

/** @param {number} seconds */
export const pause = (seconds) => new Promise((resolve) => { setTimeout(resolve, 1000 * seconds); });

/** Unix time in seconds. */
export const unixTime = () => Date.now() / 1000;

/**
 * @param {string} url
 * @returns {string} the task's id
 * @throws {Problem} `invalid-request` for what is no task's address, or plain http to another machine or in this page
 */
export function taskIdIn(url) {
  const id = ADDRESS.exec(url)?.at(-1);
  const isPlain = id === undefined && ADDRESS.test(url.replace(/^http:/, "https:"));
  if (id === undefined && !isPlain) throw new Problem("invalid-request", `${url} is no task's address: it needs https, and ends in ${TASKS}/ and an id.`);
  if (isPlain) throw new Problem("invalid-request", `${url} is plain http: use https.`, "plain-http");
  if (globalThis.crypto?.subtle === undefined) throw new Problem("invalid-request", "There is no Web Crypto here: use https.", "plain-http");
  return id;
}

/**
 * Fetch a task and check all of it that needs no account of a person: hash, form, limits, signature.
 * @param {string} url https://curator.example/v1/tasks/{id}
 * @param {HttpOptions} [options]
 * @returns {Promise<Task>}
 * @throws {Problem}
 */
export async function loadTask(url, options = {}) {
  const id = taskIdIn(url);
  const reply = await persist(CALLS.readTask, url, options);
  if (reply.type !== TASK_TYPE) throw unexpected(reply);
  if (options.curatorKey !== undefined && !(await isSigned(id, reply.signature, options.curatorKey))) {
    throw new Problem("refused", "The task is not signed with the key that this holder trusts.", "signature");
  }
  const now = options.now ?? unixTime;
  const ahead = Date.parse(reply.date) / 1000 - now();
  return {
    ...(await readTask(reply.body, id)), url, clockAhead: Number.isNaN(ahead) ? null : ahead, clockSetBy: setBy(now),
  };
}

/** By how much this device's clock has been set so far: a difference of two readings tells. */
const setBy = (now) => now() - performance.now() / 1000;

/**
 * @param {Task} task
 * @param {() => number} [now] Unix time in seconds
 * @returns {boolean} whether this device's clock was set since the task was fetched, so that `clockAhead` is of another
 *   clock; also after the device slept
 */
export const clockWasSet = ({ clockSetBy }, now = unixTime) => Math.abs(setBy(now) - clockSetBy) > CLOCK_SET;

/** @typedef {import("./task.js").Task & {url: string, clockAhead: number | null, clockSetBy: number}} Task from
 * `loadTask`: with its address, and by how many seconds the server's clock is ahead of this device's, null if it did
 * not say */

/**
 * @param {string} url the task's address
 * @param {HttpOptions} [options]
 * @returns {Promise<Collection>} how its collection stands
 * @throws {Problem}
 */
export async function collectionOf(url, options = {}) {
  const reply = await persist(CALLS.readStatus, url, options);
  const { phase = null, settled, invited, asks_again: asksAgain = false, as_files: asFiles = false, one_operator: oneOperator = false, results = null } = json(reply);
  return { phase, collecting: phase === null ? null : phase === "open", settled, invited, asksAgain, asFiles, oneOperator, results };
}

/**
 * Nothing is drawn for a task whose collection takes no reports now; one that does not say may take them.
 * @param {string} url the task's address
 * @param {HttpOptions} [options]
 * @throws {Problem} as `checkPhase`
 */
export async function checkCollecting(url, options = {}) {
  const phase = await collectionOf(url, { ...options, attempts: 1 }).then((status) => status.phase, (error) => {
    if (!(error instanceof Problem)) throw error;
    return null;
  });
  checkPhase(phase);
}

/**
 * @param {import("./calls.js").Phase | null} phase of a collection; null where it is not known
 * @throws {Problem} `quota-reached` or `task-not-open` if a report would not be counted now
 */
export function checkPhase(phase) {
  if (phase === "full") throw new Problem("quota-reached", "It has all its answers.");
  if (phase !== null && phase !== "open") throw new Problem("task-not-open", "It takes no reports now.", phase);
}

/**
 * Send a report, until somebody confirms that it is durable.
 * @param {string} url the task's address
 * @param {{id: string, bytes: Uint8Array}} drawn
 * @param {HttpOptions} [options]
 * @returns {Promise<{state: "counted" | "held", reason: null}>} whether it counts, or a relay has it
 * @throws {Problem}
 */
export async function send(url, drawn, options = {}) {
  // without a Content-Type, so that browsers ask nothing first
  const headers = options.invitation ? { [INVITATION_HEADER]: options.invitation } : {};
  const reply = await persist(CALLS.sendReport, url, options, { headers, body: drawn.bytes });
  const { report, counted } = json(reply);
  if (report !== drawn.id || typeof counted !== "boolean") throw unexpected(reply);
  return { state: reply.status === 202 ? "held" : "counted", reason: null };
}

/**
 * Ask the relay that holds a report what became of it.
 * @param {string} url the task's address
 * @param {string} id the report's
 * @param {HttpOptions} [options]
 * @returns {Promise<{state: import("./calls.js").ReportState, reason: string | null}>}
 * @throws {Problem} `report-not-found`: send it again
 */
export async function statusOf(url, id, options = {}) {
  const reply = await persist(CALLS.readReport, url, options, { id });
  const { state, reason } = json(reply);
  if (!REPORT_STATES.has(state)) throw unexpected(reply);
  return { state, reason };
}

/**
 * @typedef {object} Collection
 * @property {import("./calls.js").Phase | null} phase by its state, dates and quota; null where a relay has not heard
 * @property {boolean | null} collecting whether the task takes reports now; null where a relay has not heard
 * @property {boolean | null} settled whether none that a relay holds can count any more
 * @property {boolean | null} invited whether only invited reports count
 * @property {boolean} asksAgain whether the curator was restored from a backup, and asks for what it counted
 * @property {boolean} asFiles whether a relay there passes reports on as files
 * @property {boolean} oneOperator whether the relay there is run by the curator's own operator, for a trial
 * @property {{figures: import("./results.js").Figure[]} | null} results what came out, once it is over and shown
 */

/** The first reply with a good status; throws what another stands for that is final, or the last. */
async function persist(call, taskUrl, options, { id = "", headers = {}, body } = {}) {
  const { http = fetch, sleep = pause, attempts = call.method === "POST" ? 6 : 3 } = options;
  const url = `${taskUrl}${call.below}${id}`;
  const request = { method: call.method, headers: { Accept: call.accept, ...headers }, body };
  for (let attempt = 1; ; attempt += 1) {
    let wait = Math.min(0.5 * 2 ** (attempt - 1), 30) * (0.5 + Math.random() / 2);
    try {
      const reply = await once(http, url, request, call.limit);
      if (reply.type === PAGE_TYPE && reply.status < 400) throw new Error("a web page does", { cause: PAGE_TYPE });
      if (call.good.includes(reply.status)) return reply;
      if (!RETRIED.has(reply.status) || attempt === attempts) throw problemIn(reply);
      wait = Math.max(wait, Math.min(reply.retryAfter, 60));
    } catch (error) {
      if (error instanceof Problem) throw error;
      const why = error.cause === PAGE_TYPE ? "login-page" : undefined;
      if (attempt === attempts) throw new Problem("unreachable", `${url} does not answer: ${error.message}`, why);
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
