/**
 * A holder (docs/calls.md, "Calls of a holder"): reads a task, opens a record against it, answers once, and
 * asks what became of that.
 *
 * `validate` says what of a record does not fit, to a person or a developer. `answer` sends a report
 * whatever the values are: a call that threw at a value after the task was fetched would tell it by
 * silence. Names are the program's, so an unknown one, of a column or an option, is refused.
 */
import { Store } from "./ledger.js";
import { Problem } from "./problem.js";
import { OpenedRecord } from "./report.js";
export declare const SMALLEST_GROUP = 20;
export type Task = import("./http.js").Task;
export type Answer = import("./ledger.js").Answer;
export type HolderOptions = {
    /**
     * where the answer is kept before it is sent; if absent, IndexedDB. In Node there
     * is none: a report that was drawn and forgotten would be drawn again
     */
    store?: Store;
    /**
     * the fewest people that may be expected in any stratum
     */
    smallestGroup?: number;
    /**
     * in which the store keeps a task's name; the browser's if absent
     */
    languages?: readonly string[];
    /**
     * for tests
     */
    random?: (size: number) => Uint8Array;
    /**
     * seconds from any start, for the moment at which a report leaves
     */
    clock?: () => number;
    /**
     * whether the first record that does not fit is said on the console;
     * if absent, on pages of this machine
     */
    development?: boolean;
};
export type Options = HolderOptions & import("./http.js").HttpOptions;
/**
 * Open a record against a task: what does not fit, and what its report would disclose. `answer` takes
 * what comes back, whatever it says.
 * @param {import("./task.js").Task} task from `loadTask`
 * @param {Record<string, unknown>} record values by name, the label included
 * @returns {OpenedRecord}
 * @throws {Problem} `invalid-record` for a name that the task does not ask for, never for a value
 */
export declare function validate(task: import("./task.js").Task, record: Record<string, unknown>): OpenedRecord;
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
export declare function answer(task: Task | string, record: Record<string, unknown> | OpenedRecord, options?: Options): Promise<Answer>;
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
export declare function turn(task: Task, options?: Options): Promise<Task>;
/**
 * @param {Task} task
 * @param {Store} store
 * @returns {Promise<import("./panels.js").Member | undefined>} a person's part in the task's panel, if there is one
 */
export declare function memberOf(task: Task, store: Store): Promise<import("./panels.js").Member | undefined>;
/**
 * Send again what nobody has accepted, and ask relays what became of what they hold.
 * @param {Options} [options] for all answers
 * @returns {Promise<Answer[]>} all that were not known to count, as they stand now; a fault is the `reason` of
 *   its answer, and does not keep the others from being sent
 */
export declare function resend(options?: Options): Promise<Answer[]>;
/**
 * What became of an answer; the relay that holds it is asked.
 * @param {Task | string} task from `loadTask`, or its address
 * @param {Options} [options]
 * @returns {Promise<Answer | undefined>} as it stands now; undefined if there is none in the store
 * @throws {Problem}
 */
export declare function status(task: Task | string, options?: Options): Promise<Answer | undefined>;
/**
 * Whatever would refuse a report refuses it here, without a record; of a panel without a part in it, whatever would
 * refuse to take part. Nothing is drawn or kept.
 * @param {Task} task
 * @param {Options} [options]
 * @throws {Problem} `wrong-clock`, `task-not-open`, `budget-spent`; `refused` if it expects fewer people than
 *   `smallestGroup` in any stratum, or needs an invitation
 */
export declare function check(task: Task, options?: Options): Promise<void>;
/**
 * The same but for the account of a person.
 * @param {Task} task
 * @param {Options} [options]
 */
export declare function checkForEverybody(task: Task, options?: Options): void;
/**
 * @param {Problem} problem in which an attempt to send a report ended
 * @returns {"drawn" | "refused"} where the report then stands
 */
export declare const stateAfter: ({ type }: Problem) => "drawn" | "refused";
/**
 * @param {Pick<Task, "opens" | "closes" | "clockAhead" | "panel">} task of a repeating panel only its end counts, since
 *   its first waves may be deleted: `turn` says when the next one is
 * @param {number} [now] Unix time in seconds
 * @param {boolean} [isTurn] whether these are the dates of this person's turn
 * @throws {Problem} `wrong-clock` if this device's clock and the server's are more than two days apart;
 *   `task-not-open`
 */
export declare function checkDates({ opens, closes, clockAhead, panel }: Pick<Task, "opens" | "closes" | "clockAhead" | "panel">, now?: number, isTurn?: boolean): void;
/**
 * @param {Pick<Task, "questions" | "allocation">} task
 * @returns {number} what answering it spends
 */
export declare function epsilonOf({ questions, allocation }: Pick<Task, "questions" | "allocation">): number;
/**
 * Fix when the report will leave, before the record is looked at; returns the wait for it. The period
 * is longer than drawing takes on a slow device, by the task's numbers alone.
 * @param {import("./task.js").Task} task
 * @param {Options} [options]
 * @returns {() => Promise<void>}
 */
export declare function departure({ features, partitions, questions, mechanisms }: import("./task.js").Task, { sleep, clock }?: Options): () => Promise<void>;
