/** A curator's signature on its task (docs/protocol.md, "Signature"), for holders that pinned its key. */

import { concat } from "./msgpack.js";
import { fromHex } from "./report.js";

const HEADER = /^ed25519 [0-9a-f]{64} ([0-9a-f]{128})$/;
const PREFIX = new TextEncoder().encode("privet task signature v1\0");

/**
 * @param {string} id the task's id, in hexadecimal
 * @param {string|null} header `Privet-Signature` as it came
 * @param {string} key the pinned key, in hexadecimal; the one that the header names does not matter
 * @returns {Promise<boolean>}
 */
export async function isSigned(id, header, key) {
  const signature = HEADER.exec(header ?? "")?.[1];
  if (signature === undefined) return false;
  const pinned = await crypto.subtle.importKey("raw", fromHex(key), { name: "Ed25519" }, false, ["verify"]);
  const message = concat([PREFIX, fromHex(id)]);
  return crypto.subtle.verify({ name: "Ed25519" }, pinned, fromHex(signature), message);
}
