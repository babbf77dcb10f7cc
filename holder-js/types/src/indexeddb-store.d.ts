/** Answers in this browser, which keeps them for the page's origin and the profile that it runs in. */
import { Store } from "./ledger.js";
/** The store of a page: in IndexedDB, shared by all tabs. */
export declare class IndexedDBStore extends Store {
    #private;
    /** @returns {Promise<import("./ledger.js").Row[]>} */
    rows(): Promise<import("./ledger.js").Row[]>;
    /** @param {(rows: import("./ledger.js").Row[]) => import("./ledger.js").Row | undefined} work */
    change(work: (rows: import("./ledger.js").Row[]) => import("./ledger.js").Row | undefined): Promise<void>;
}
