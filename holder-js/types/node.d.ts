/** What only Node has: a store in a file. */
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
