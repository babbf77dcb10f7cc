/** Answers in this browser, which keeps them for the page's origin and the profile that it runs in. */
import { Store } from "./ledger.js";
/** The store of a page: in IndexedDB, shared by all tabs. */
export declare class IndexedDBStore extends Store {
    #private;
    /** @returns {Promise<import("./ledger.js").Answer[]>} */
    answers(): Promise<import("./ledger.js").Answer[]>;
    /** @param {(answers: import("./ledger.js").Answer[]) => import("./ledger.js").Answer | undefined} work */
    change(work: (answers: import("./ledger.js").Answer[]) => import("./ledger.js").Answer | undefined): Promise<void>;
}
