/**
 * The package as a program, for the conformance kit (docs/conformance.md): `node conformance.js URL STATE`
 * answers a task with the record on standard input and keeps its report in the file STATE;
 * `node conformance.js --draw` makes the reports of test vectors, one JSON object to a line.
 */

import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";

import { OpenedRecord, Problem, answer, loadTask } from "@privet/holder";
import { FileStore } from "@privet/holder/node";

const [url, state] = process.argv.slice(2);
const given = readFileSync(0, "utf8");
process.exitCode = url === "--draw" ? await draw(given) : await run(JSON.parse(given));

async function run(record) {
  const { PRIVET_INVITATION: invitation, PRIVET_HOLDER_CURATOR_KEY: curatorKey } = process.env;
  const store = new FileStore(state);
  try {
    const { state: end } = await answer(url, record, { store, invitation, curatorKey });
    return { counted: 0, held: 5 }[end] ?? 1;
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    console.error(error.message);
    const kept = await store.find(url.split("/").at(-1));
    return kept?.state === "drawn" ? 4 : 1;
  }
}

async function draw(lines) {
  for (const line of lines.trim().split("\n")) {
    const { task, record, seed } = JSON.parse(line);
    const bytes = Buffer.from(task, "hex");
    const id = createHash("sha256").update(bytes).digest("hex");
    const headers = { "Content-Type": "application/vnd.privet.task+msgpack" };
    const loaded = await loadTask(`https://curator.example/v1/tasks/${id}`, { http: async () => new Response(bytes, { headers }) });
    console.log(Buffer.from(new OpenedRecord(loaded, record).draw(stream(seed)).bytes).toString("hex"));
  }
  return 0;
}

/** SHA-256(seed + "/0"), SHA-256(seed + "/1"), ... one after another. */
function stream(seed) {
  let rest = Buffer.alloc(0);
  let block = 0;
  return (size) => {
    while (rest.length < size) {
      rest = Buffer.concat([rest, createHash("sha256").update(`${seed}/${block}`).digest()]);
      block += 1;
    }
    const drawn = Uint8Array.from(rest.subarray(0, size));
    rest = rest.subarray(size);
    return drawn;
  };
}
