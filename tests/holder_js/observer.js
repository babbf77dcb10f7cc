/**
 * What an observer of the network sees of a holder: `node observer.js` reads
 * `{task, id, records, slow, tries}` and prints, for each record by name, the seconds from its
 * last call before the report to this, once for a holder that waits for its moment and once for one that sends at once. Of the
 * record in `slow` each value takes that many seconds to read.
 */

import { readFileSync } from "node:fs";
import { webcrypto } from "node:crypto";

import { MemoryStore, answer } from "../../holder-js/index.js";

globalThis.crypto ??= webcrypto; // global from Node 20 on

const { task, id, records, slow, tries } = JSON.parse(readFileSync(0, "utf8"));
const now = () => performance.now() / 1000;

function slowly(record, seconds) {
  const read = (name) => {
    const end = now() + seconds;
    while (now() < end);
    return record[name];
  };
  const getters = Object.keys(record).map((name) => [name, { enumerable: true, get: () => read(name) }]);
  return Object.defineProperties({}, Object.fromEntries(getters));
}

async function secondsToReport(record, options) {
  const store = new MemoryStore();
  const seen = [];
  const http = async (_, { method }) => {
    seen.push(now());
    if (method !== "POST") {
      return new Response(Buffer.from(task, "hex"), { headers: { "Content-Type": "application/vnd.privet.task+msgpack" } });
    }
    return new Response(JSON.stringify({ report: (await store.find(id)).id, counted: true }), { status: 201 });
  };
  await answer(`https://curator.example/v1/tasks/${id}`, record, { ...options, http, store });
  return seen.at(-1) - seen.at(-2);
}

const subjects = { ...records, slow: slowly(records[slow.record], slow.seconds) };
const atOnce = { sleep: async () => {} };
const times = Object.fromEntries(Object.keys(subjects).map((name) => [name, { waiting: [], atOnce: [] }]));
await secondsToReport(subjects[slow.record], atOnce); // what is computed once
for (let round = 0; round < tries; round += 1) {
  for (const [name, record] of Object.entries(subjects)) {
    times[name].waiting.push(await secondsToReport(record, {}));
    times[name].atOnce.push(await secondsToReport(record, atOnce));
  }
}
console.log(JSON.stringify(times));
