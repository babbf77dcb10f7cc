/**
 * `node ledger.js FILE FOLDER` holds every store to the table of cases that the Python ledgers are held
 * to, and prints how many there are; the first that one does not keep is an error.
 */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";

import { stateAfter } from "../../holder-js/src/holder.js";
import { keptIn } from "../../holder-js/src/ledger.js";
import { IndexedDBStore, MemoryStore, Problem, disclosed, spent } from "../../holder-js/index.js";
import { FileStore } from "../../holder-js/node.js";

const SPENT_WITHIN = 1e-9;
const cases = JSON.parse(readFileSync(process.argv[2], "utf8"));
for (const [number, { name, steps }] of cases.entries()) {
  const [memory, rows, file] = [new MemoryStore(), new Map(), join(process.argv[3], `${number}.json`)];
  const inBrowser = () => {
    globalThis.indexedDB = { open: () => request(database(rows)) };
    return new IndexedDBStore();
  };
  for (const open of [() => memory, inBrowser, () => new FileStore(file)]) { // the last two anew for each step
    for (const step of steps) await check(open(), step, `${name}: ${JSON.stringify(step)}`);
  }
}
console.log(cases.length);

async function check(ledger, { join, at: when, kept: left, keep, find, settle, fail, spent: now, disclosed: since, dated, gives, problem }, at) {
  if (join !== undefined) {
    const { splits = null, ...member } = join;
    const joined = ledger.join({ ...member, task: join.panel, bytes: new Uint8Array() }, when, splits);
    if (problem !== undefined) await assert.rejects(joined, { name: "Problem", type: problem }, at);
    else assert.equal((await joined).wave, gives, at);
  } else if (left !== undefined) {
    assert.ok(Math.abs(keptIn(await ledger.rows(), left) - gives) < SPENT_WITHIN, at);
  } else if (problem !== undefined) {
    await assert.rejects(ledger.keep({ bytes: Uint8Array.of(), ...keep }), { name: "Problem", type: problem }, at);
    assert.equal(await ledger.find(keep.task), undefined, at);
  } else if (keep !== undefined) {
    const kept = await ledger.keep({ bytes: Uint8Array.of(1, 255), ...keep, state: "drawn", reason: null });
    assert.equal(kept.report, gives, at);
    const found = await ledger.find(keep.task);
    assert.deepEqual([found.report, [...found.bytes]], [gives, [1, 255]], at);
  } else if (find !== undefined) {
    assert.equal((await ledger.find(find))?.report ?? null, gives, at);
  } else if (now !== undefined) {
    assert.ok(Math.abs(spent(await ledger.answers(), now) - gives) < SPENT_WITHIN, at);
  } else if (since !== undefined) {
    assert.ok(Math.abs(disclosed(await ledger.answers(), since) - gives) < SPENT_WITHIN, at);
  } else if (dated !== undefined) {
    assert.equal((await ledger.find(dated)).drawn, gives, at);
  } else {
    const { task, ...end } = settle ?? { ...fail, state: stateAfter(new Problem(fail.problem, "")), reason: fail.problem };
    await ledger.settle({ ...(await ledger.find(task)), ...end });
    const { state, reason } = await ledger.find(task);
    assert.deepEqual([state, reason], gives, at);
  }
}

/** As much of IndexedDB as the store uses, in memory. */
function database(rows) {
  const store = {
    getAll: () => request([...rows.values()]),
    put: (row) => request(void rows.set(row.task, structuredClone(row))),
    transaction: { set oncomplete(done) { setTimeout(done); }, set onabort(_) {} },
  };
  return { transaction: () => ({ objectStore: () => store }) };
}

function request(result) {
  return { result, set onsuccess(done) { queueMicrotask(done); }, set onerror(_) {} };
}
