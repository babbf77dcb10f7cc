/** @privet/holder: answer a task with a record that never leaves this device. */

export { answer, check, codeToKeep, resend, restore, status, turn, validate } from "./src/holder.js";
export { collectionOf, loadTask } from "./src/http.js";
export { IndexedDBStore } from "./src/indexeddb-store.js";
export { MemoryStore, Store, disclosed, spent } from "./src/ledger.js";
export { Problem } from "./src/problem.js";
export { OpenedRecord } from "./src/report.js";
export { review } from "./src/review.js";
export { translator } from "./src/translation.js";

/** @typedef {import("./src/http.js").Task} Task */
/** @typedef {import("./src/http.js").Collection} Collection */
/** @typedef {import("./src/holder.js").Options} Options */
/** @typedef {import("./src/ledger.js").Answer} Answer */
/** @typedef {import("./src/ledger.js").Caps} Caps */
/** @typedef {import("./src/features.js").Finding} Finding */
/** @typedef {import("./src/problem.js").ProblemType} ProblemType */
/** @typedef {import("./src/review.js").Review} Review */
