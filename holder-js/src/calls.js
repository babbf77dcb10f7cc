/** A holder's calls, by `python -m scripts.write_calls` from protocol/calls.py. */

export const VERSIONS = [2, 3, 4];
export const TASKS = "/v1/tasks";
export const TASK_ID = "[0-9a-f]{64}";
export const TASK_TYPE = "application/vnd.privet.task+msgpack";
export const JSON_TYPE = "application/json";
export const PROBLEM_TYPE = "application/problem+json";
export const PROBLEM_BASE = "urn:privet:problem:";
export const INVITATION_HEADER = "Privet-Invitation";
export const SIGNATURE_HEADER = "Privet-Signature";
/** HTTP statuses after which the same bytes are sent again. */
export const RETRIED = new Set([408, 429, 500, 502, 503, 504]);
/** Problems after which the same bytes would be refused again. */
export const FINAL = new Set([
  "invalid-task",
  "task-mismatch",
  "invalid-record",
  "invalid-public-data",
  "invalid-report",
  "malformed-report",
  "wrong-questions",
  "wrong-payload",
  "invalid-request",
  "too-large",
  "unsupported-media-type",
  "not-authorized",
  "insufficient-scope",
  "task-not-found",
  "model-not-found",
  "report-not-found",
  "illegal-move",
  "task-not-open",
  "quota-reached",
  "not-admitted",
  "report-conflict",
  "not-enough-reports",
]);
/** What may become of a report, as pairs of states; other news changes nothing. */
export const REPORT_MOVES = new Set([
  "drawn drawn",
  "drawn held",
  "drawn counted",
  "drawn refused",
  "held held",
  "held counted",
  "held refused",
  "held lost",
  "lost held",
  "lost counted",
  "lost lost",
  "refused held",
  "refused counted",
  "refused refused",
]);
/** The state of a report, as its holder knows it.
 * @typedef {"drawn" | "held" | "counted" | "refused" | "lost"} ReportState */
export const REPORT_STATES = new Set([
  "drawn",
  "held",
  "counted",
  "refused",
  "lost",
]);
/** The phase of a collection, by its state, dates and quota.
 * @typedef {"draft" | "not-yet-open" | "open" | "full" | "over" | "closed" | "deleted"} Phase */
export const CALLS = {
  readTask: { method: "GET", below: "", accept: TASK_TYPE, good: [200], limit: 3145728 },
  readStatus: { method: "GET", below: "/status", accept: JSON_TYPE, good: [200], limit: 1048576 },
  sendReport: { method: "POST", below: "/reports", accept: JSON_TYPE, good: [201, 200, 202], limit: 65536 },
  readReport: { method: "GET", below: "/reports/", accept: JSON_TYPE, good: [200], limit: 65536 },
};
