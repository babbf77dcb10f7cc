/** What can go wrong, by type. */

/**
 * The first row are refusals of this holder, the second faults on the way and on this device; the others are
 * a curator's or a relay's own (docs/calls.md, "Errors"). Others may come: treat them as final.
 * @typedef {"refused" | "budget-spent" | "wrong-clock" | "task-not-open" | "task-mismatch" | "invalid-task" | "invalid-record" | "invalid-request"
 *   | "unreachable" | "unexpected-response" | "ledger-failed"
 *   | "task-not-found" | "report-not-found" | "not-authorized" | "quota-reached" | "report-conflict" | "not-admitted" | "malformed-report"
 *   | "wrong-questions" | "wrong-payload" | "too-large" | "unsupported-media-type" | "too-many-requests" | "overloaded"
 *   | "storage-failed" | "curator-down" | "internal" | (string & {})} ProblemType
 */

/**
 * Of `budget-spent`, which cap is in the way; of `refused`, `invalid-request` and `unreachable`, what is wrong or missing; of
 * `task-not-open`, the phase of the collection.
 * @typedef {"task" | "year" | "disclosed" | "groups" | "invitation" | "signature" | "plain-http" | "login-page" | import("./calls.js").Phase} Why
 */

/** An error by the name of its problem type, with what to do about it. */
export class Problem extends Error {
  /**
   * @param {ProblemType} type
   * @param {string} detail for people who read English, never with a value of a record
   * @param {Why} [why] which kind of it, where there are several
   */
  constructor(type, detail, why) {
    super(detail);
    this.name = "Problem";
    this.type = type;
    /** @type {Why | undefined} */
    this.why = why;
  }
}
