/**
 * The answer page's holder as a program, for the conformance kit (docs/conformance.md):
 * `node holder.js URL STATE` answers a task with the record on standard input and keeps its report in
 * the file STATE; `node holder.js --draw` makes the reports of test vectors, one JSON object to a line.
 */

import { existsSync, openSync, readFileSync, writeFileSync, fsyncSync, closeSync } from "node:fs";
import { createHash, webcrypto } from "node:crypto";

import { answer } from "../holder-js/src/holder.js";
import { stateAfter } from "../holder-js/src/ledger.js";
import { Problem } from "../holder-js/src/problem.js";
import { OpenedRecord, fromHex } from "../holder-js/src/report.js";
import { hex, readTask } from "../holder-js/src/task.js";

globalThis.crypto ??= webcrypto; // global from Node 20 on

const [url, state] = process.argv.slice(2);
const given = readFileSync(0, "utf8");
process.exitCode = url === "--draw" ? await draw(given) : await run(JSON.parse(given));

async function run(record) {
  const { PRIVET_INVITATION: invitation, PRIVET_HOLDER_CURATOR_KEY: curatorKey } = process.env;
  try {
    const receipt = await answer(url, record, { kept: stored(state), invitation, curatorKey });
    return receipt.held ? 5 : 0;
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    console.error(error.message);
    return existsSync(state) && stateAfter(error) === "drawn" ? 4 : 1;
  }
}

/** One report by its task's id, on disk before it is sent. */
function stored(path) {
  return {
    get(task) {
      if (!existsSync(path)) return undefined;
      const kept = JSON.parse(readFileSync(path, "utf8"));
      return kept.task === task ? { id: kept.id, bytes: fromHex(kept.bytes) } : undefined;
    },
    set(task, { id, bytes }) {
      const file = openSync(path, "w", 0o600);
      writeFileSync(file, JSON.stringify({ task, id, bytes: hex(bytes) }));
      fsyncSync(file);
      closeSync(file);
    },
  };
}

async function draw(lines) {
  for (const line of lines.trim().split("\n")) {
    const { task, record, seed } = JSON.parse(line);
    console.log(hex(new OpenedRecord(await readTask(fromHex(task)), record).draw(stream(seed)).bytes));
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
