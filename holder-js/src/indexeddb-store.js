/** Answers in this browser, which keeps them for the page's origin and the profile that it runs in. */

import { Store } from "./ledger.js";
import { Problem } from "./problem.js";

const ANSWERS = "answers";

/** The store of a page: in IndexedDB, shared by all tabs. */
export class IndexedDBStore extends Store {
  #opening;

  /** @returns {Promise<import("./ledger.js").Row[]>} */
  async rows() {
    return done((await this.#store("readonly")).getAll());
  }

  /** @param {(rows: import("./ledger.js").Row[]) => import("./ledger.js").Row | undefined} work */
  async change(work) {
    const store = await this.#store("readwrite");
    const end = ended(store.transaction);
    end.catch(() => {}); // said below, if nothing is said before
    const changed = work(await done(store.getAll())); // nothing else is awaited, which would end the transaction
    if (changed !== undefined) store.put(changed);
    await end;
  }

  async #store(mode) {
    try {
      this.#opening ??= open();
      const database = await this.#opening;
      return database.transaction(ANSWERS, mode, { durability: "strict" }).objectStore(ANSWERS);
    } catch (error) { // where site data is blocked, browsers throw at once, or have no IndexedDB
      this.#opening = undefined;
      throw error instanceof Problem ? error : failed(error);
    }
  }
}

function open() {
  const opening = indexedDB.open("privet", 1);
  opening.onupgradeneeded = () => opening.result.createObjectStore(ANSWERS, { keyPath: "task" });
  return done(opening);
}

/** The result of a request. */
function done(request) {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(failed(request.error));
  });
}

/** The end of a transaction, on disk. */
function ended(transaction) {
  return new Promise((resolve, reject) => {
    transaction.oncomplete = () => resolve();
    transaction.onabort = () => reject(failed(transaction.error));
  });
}

function failed(error) {
  return new Problem("ledger-failed", `This browser cannot store your answer (${error?.message}): nothing was sent.`);
}
