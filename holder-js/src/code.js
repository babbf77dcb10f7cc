/**
 * A code to keep of a person's part in a panel (docs/holder.md, "A code to keep"): the panel, the wave that was drawn,
 * the first wave that its lifetime covers, and which waves were answered; nothing of an answer.
 */

import { concat } from "./msgpack.js";
import { Problem } from "./problem.js";
import { fromHex } from "./report.js";
import { hex, idOf } from "./task.js";

const START = "privet1.";
const FORM = /privet1\.([\w-]{64})(?![\w-])/;
const [ID, ANSWERED, CHECK] = [32, 34, 42]; // where the id ends, the answered waves begin, and the check begins

/**
 * @typedef {object} Part in a panel
 * @property {number | null} wave that was drawn, from 0; null if all are answered
 * @property {number} first wave that the lifetime covers, from 0; 0 where holders rotate
 * @property {number[]} answered numbers of waves
 */

/**
 * @param {string} id of the panel
 * @param {Part} part
 * @returns {Promise<string>} 72 characters, whatever was answered
 */
export async function writeCode(id, { wave, first, answered }) {
  const body = concat([fromHex(id), Uint8Array.of(wave === null ? 0 : wave + 1, first), new Uint8Array(CHECK - ANSWERED)]);
  new DataView(body.buffer).setBigUint64(ANSWERED, answered.reduce((sum, each) => sum | (1n << BigInt(each)), 0n));
  const bytes = concat([body, await checkOf(body)]);
  return START + btoa(String.fromCharCode(...bytes)).replaceAll("+", "-").replaceAll("/", "_");
}

/**
 * @param {string} text that has it, as a person copied or saved it
 * @param {string} id of the panel
 * @param {import("./task.js").Panel} panel
 * @returns {Promise<Part>}
 * @throws {Problem} `invalid-request`, with `code` as its `why` if it is damaged, `other-code` if it is of another panel
 */
export async function readCode(text, id, { mode, waves }) {
  const damaged = () => new Problem("invalid-request", "This is no whole code of a panel.", "code");
  const [, written] = text.match(FORM) ?? [];
  if (written === undefined) throw damaged();
  const bytes = Uint8Array.from(atob(written.replaceAll("-", "+").replaceAll("_", "/")), (sign) => sign.charCodeAt(0));
  const body = bytes.subarray(0, CHECK);
  if (hex(await checkOf(body)) !== hex(bytes.subarray(CHECK))) throw damaged();
  if (hex(body.subarray(0, ID)) !== id) throw new Problem("invalid-request", "This code is of another panel.", "other-code");
  const [turn, first] = [bytes[ID], bytes[ID + 1]];
  const mask = new DataView(bytes.buffer).getBigUint64(ANSWERED);
  const numbers = Array.from({ length: 64 }, (_, wave) => wave).filter((wave) => (mask >> BigInt(wave)) & 1n);
  const isDrawn = mode === "rotate";
  const coming = isDrawn ? [turn - 1] : waves.map((_, wave) => wave).slice(first);
  const fits = isDrawn ? turn >= 1 && turn <= waves.length && first === 0 : turn === 0 && first < waves.length;
  if (!fits || numbers.some((wave) => !coming.includes(wave))) throw damaged();
  return { wave: isDrawn ? turn - 1 : null, first, answered: numbers };
}

/** By which a mistyped code is seen. */
const checkOf = async (body) => fromHex(await idOf(body)).subarray(0, 6);
