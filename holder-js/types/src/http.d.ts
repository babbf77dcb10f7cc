/** A holder's calls over HTTP (docs/calls.md, "Calls of a holder"), each repeated until somebody answers. */
export type HttpOptions = {
    /**
     * what makes the calls
     */
    http?: typeof fetch;
    /**
     * take only tasks signed with this key, 64 hexadecimal digits
     */
    curatorKey?: string;
    /**
     * to a task that counts invited reports only
     */
    invitation?: string;
    /**
     * at each call; if not said, 6 that send and 3 that read
     */
    attempts?: number;
    /**
     * Unix time in seconds, for tests
     */
    now?: () => number;
    /**
     * for tests
     */
    sleep?: (seconds: number) => Promise<void>;
};
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
export declare const pause: (seconds: number) => Promise<any>;
/** Unix time in seconds. */
export declare const unixTime: () => number;
/**
 * @param {string} url
 * @returns {string} the task's id
 * @throws {Problem} `invalid-request` for what is no task's address, or plain http to another machine
 */
export declare function taskIdIn(url: string): string;
/**
 * Fetch a task and check all of it that needs no account of a person: hash, form, limits, signature.
 * @param {string} url https://curator.example/v1/tasks/{id}
 * @param {HttpOptions} [options]
 * @returns {Promise<Task>}
 * @throws {Problem}
 */
export declare function loadTask(url: string, options?: HttpOptions): Promise<Task>;
/**
 * @param {Task} task
 * @param {() => number} [now] Unix time in seconds
 * @returns {boolean} whether this device's clock was set since the task was fetched, so that `clockAhead` is of another
 *   clock; also after the device slept
 */
export declare const clockWasSet: ({ clockSetBy }: Task, now?: () => number) => boolean;
export type Task = import("./task.js").Task & {
    url: string;
    clockAhead: number | null;
    clockSetBy: number;
};
/** @typedef {import("./task.js").Task & {url: string, clockAhead: number | null, clockSetBy: number}} Task from
 * `loadTask`: with its address, and by how many seconds the server's clock is ahead of this device's, null if it did
 * not say */
/**
 * @param {string} url the task's address
 * @param {HttpOptions} [options]
 * @returns {Promise<Collection>} how its collection stands
 * @throws {Problem}
 */
export declare function collectionOf(url: string, options?: HttpOptions): Promise<Collection>;
/**
 * Send a report, until somebody confirms that it is durable.
 * @param {string} url the task's address
 * @param {{id: string, bytes: Uint8Array}} drawn
 * @param {HttpOptions} [options]
 * @returns {Promise<{state: "counted" | "held", reason: null}>} whether it counts, or a relay has it
 * @throws {Problem}
 */
export declare function send(url: string, drawn: {
    id: string;
    bytes: Uint8Array;
}, options?: HttpOptions): Promise<{
    state: "counted" | "held";
    reason: null;
}>;
/**
 * Ask the relay that holds a report what became of it.
 * @param {string} url the task's address
 * @param {string} id the report's
 * @param {HttpOptions} [options]
 * @returns {Promise<{state: "held" | "counted" | "refused" | "lost", reason: string | null}>}
 * @throws {Problem} `report-not-found`: send it again
 */
export declare function statusOf(url: string, id: string, options?: HttpOptions): Promise<{
    state: "held" | "counted" | "refused" | "lost";
    reason: string | null;
}>;
export type Collection = {
    /**
     * whether the task takes reports now; null where a relay has not heard
     */
    collecting: boolean | null;
    /**
     * whether none that a relay holds can count any more
     */
    settled: boolean | null;
    /**
     * whether only invited reports count
     */
    invited: boolean | null;
    /**
     * whether the curator was restored from a backup, and asks for what it counted
     */
    asksAgain: boolean;
    /**
     * whether a relay there passes reports on as files
     */
    asFiles: boolean;
    /**
     * whether the relay there is run by the curator's own operator, for a trial
     */
    oneOperator: boolean;
    /**
     * what came out, once it is over and shown
     */
    results: {
        figures: import("./results.js").Figure[];
    } | null;
};
