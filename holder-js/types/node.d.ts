/** What only Node has: a store in a file, and a dry run of many records. */
import { Store } from "./src/ledger.js";
/** One person's answers in one file, which its owner alone may read; processes may share it. */
export declare class FileStore extends Store {
    #private;
    path: string;
    tries: number;
    /**
     * @param {string} path a file for one person, in a folder that is there
     * @param {{caps?: Partial<import("./src/ledger.js").Caps>, tries?: number}} [options] how often to try while
     *   another program has the file
     */
    constructor(path: string, { tries, ...options }?: {
        caps?: Partial<import("./src/ledger.js").Caps>;
        tries?: number;
    });
    /** @returns {Promise<import("./src/ledger.js").Row[]>} */
    rows(): Promise<import("./src/ledger.js").Row[]>;
    /** @param {(rows: import("./src/ledger.js").Row[]) => import("./src/ledger.js").Row | undefined} work */
    change(work: (rows: import("./src/ledger.js").Row[]) => import("./src/ledger.js").Row | undefined): Promise<void>;
}
/**
 * What answering for many people would do: nothing is drawn, stored or sent. For people to read; a program that
 * decides by it whether to answer tells the curator by silence.
 * @param {import("./src/http.js").Task} task from `loadTask`
 * @param {Record<string, Record<string, unknown>>} records by person
 * @param {import("./src/holder.js").Options} [options] those with which you answer
 * @returns {{findings: Record<string, import("./src/features.js").Finding[]>, smallestGroup: number | null}} what does
 *   not fit, by person, without those whose record fits; and the fewest people expected in a stratum that a report
 *   would disclose, null if the task discloses nothing
 * @throws {Problem} what would refuse every report, but for what each person has spent; `invalid-record` for a name
 *   that the task does not ask for
 */
export declare function dryRun(task: import("./src/http.js").Task, records: Record<string, Record<string, unknown>>, options?: import("./src/holder.js").Options): {
    findings: Record<string, import("./src/features.js").Finding[]>;
    smallestGroup: number | null;
};
