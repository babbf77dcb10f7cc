/** Answers in this browser, which keeps them for the page's origin and the profile that it runs in. */

import { Store } from "./ledger.js";
import { Problem } from "./problem.js";

const ANSWERS = "answers";
const OPENS_WITHIN = 10_000; // milliseconds; some browsers never answer until they are started again

/** The store of a page: in IndexedDB, shared by all tabs. */
export class IndexedDBStore extends Store {
  #opening;

  /** @returns {Promise<import("./ledger.js").Row[]>} */
  async rows() {
    return done((await this.#store("readonly")).getAll());
  }

  /** @param {(rows: import("./ledger.js").Row[]) => import("./ledger.js").Row[]} work */
  async change(work) {
    const store = await this.#store("readwrite");
    const end = ended(store.transaction);
    end.catch(() => {}); // said below, if nothing is said before
    for (const row of work(await done(store.getAll()))) store.put(row); // nothing else is awaited, which would end the transaction
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

async function open() {
  const opening = indexedDB.open("privet", 1);
  opening.onupgradeneeded = () => opening.result.createObjectStore(ANSWERS, { keyPath: "task" });
  let waiting;
  const silent = new Promise((_, reject) => {
    waiting = setTimeout(() => reject(failed({ message: "no answer in 10 s: restart it" })), OPENS_WITHIN);
  });
  return Promise.race([done(opening), silent]).finally(() => clearTimeout(waiting));
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
