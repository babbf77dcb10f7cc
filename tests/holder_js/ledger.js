/**
 * `node ledger.js FILE` holds the page's ledger to the table of cases that the Python ledgers are held
 * to, and prints how many there are; the first that it does not keep is an error.
 */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";

import { Ledger, disclosed, spent, stateAfter } from "../../holder-js/src/ledger.js";
import { Problem } from "../../holder-js/src/problem.js";

const SPENT_WITHIN = 1e-9;
const cases = JSON.parse(readFileSync(process.argv[2], "utf8"));
for (const { name, steps } of cases) {
  const ledger = new Ledger(database());
  for (const step of steps) await check(ledger, step, `${name}: ${JSON.stringify(step)}`);
}
console.log(cases.length);

async function check(ledger, { keep, find, settle, fail, spent: now, disclosed: since, dated, gives, problem }, at) {
  if (problem !== undefined) {
    await assert.rejects(ledger.keep(keep), { name: "Problem", type: problem }, at);
    assert.equal(await ledger.find(keep.task), undefined, at);
  } else if (keep !== undefined) {
    const kept = await ledger.keep({ ...keep, state: "drawn", reason: null });
    assert.equal(kept.report, gives, at);
    assert.equal((await ledger.find(keep.task)).report, gives, at);
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

/** As much of IndexedDB as the ledger uses, in memory. */
function database() {
  const rows = new Map();
  const request = (result) => ({ result, set onsuccess(done) { queueMicrotask(done); }, set onerror(_) {} });
  const store = {
    get: (task) => request(rows.get(task)),
    getAll: () => request([...rows.values()]),
    put: (row) => request(void rows.set(row.task, structuredClone(row))),
    transaction: { set oncomplete(done) { queueMicrotask(done); }, set onabort(_) {} },
  };
  return { transaction: () => ({ objectStore: () => store }) };
}
