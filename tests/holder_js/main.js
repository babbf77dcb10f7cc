/**
 * The holder under Node: `node main.js URL` answers a task with each record on standard input, one
 * JSON object to a line and each a person of its own, and prints a receipt or a problem for each.
 */

import { createInterface } from "node:readline";
import { webcrypto } from "node:crypto";

import { answer } from "../../page/holder.js";
import { Problem } from "../../page/problem.js";

globalThis.crypto ??= webcrypto; // global from Node 20 on

const [url, mostEpsilon = "4", invitation] = process.argv.slice(2);
for await (const line of createInterface({ input: process.stdin })) {
  const kept = new Map();
  const options = { kept, mostEpsilon: Number(mostEpsilon), invitation };
  try {
    const receipt = await answer(url, JSON.parse(line), options);
    const again = await answer(url, {}, options);
    console.log(JSON.stringify({ ...receipt, again: again.counted }));
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    console.log(JSON.stringify({ problem: error.type, detail: error.message }));
  }
}
