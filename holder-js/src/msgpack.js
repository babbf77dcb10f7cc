/**
 * Canonical msgpack (docs/protocol.md, "Bytes"): one byte string for each value.
 *
 * Integers are numbers where they are safe and else BigInts, reals are `Real`, binary is
 * `Uint8Array`, maps are objects without a prototype. `decode` refuses whatever `encode` would not
 * have written.
 */

/** A 64-bit float, also where it is whole: 20.0 is not 20. */
export class Real {
  /** @param {number} value */
  constructor(value) {
    this.value = value;
  }
}

const MAX_NESTING = 16;
const text = new TextEncoder();
const strictText = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** Headers by kind: [most that the first byte holds, that byte, code of an 8-bit length, 16, 32]. */
const HEADERS = {
  text: [31, 0xa0, 0xd9, 0xda, 0xdb],
  binary: [-1, 0, 0xc4, 0xc5, 0xc6],
  list: [15, 0x90, null, 0xdc, 0xdd],
  map: [15, 0x80, null, 0xde, 0xdf],
};

/**
 * @param {*} value nested maps, lists, text, binary, numbers, truth values and null
 * @returns {Uint8Array} its canonical bytes
 */
export function encode(value) {
  const parts = [];
  write(value, parts);
  return concat(parts);
}

/**
 * @param {Uint8Array[]} parts
 * @returns {Uint8Array} all of them, one after another
 */
export function concat(parts) {
  const joined = new Uint8Array(parts.reduce((size, part) => size + part.length, 0));
  let at = 0;
  for (const part of parts) {
    joined.set(part, at);
    at += part.length;
  }
  return joined;
}

function write(value, parts) {
  if (value === null) parts.push(Uint8Array.of(0xc0));
  else if (typeof value === "boolean") parts.push(Uint8Array.of(value ? 0xc3 : 0xc2));
  else if (typeof value === "number" || typeof value === "bigint") parts.push(integer(value));
  else if (value instanceof Real) parts.push(real(value.value));
  else if (typeof value === "string") {
    const bytes = text.encode(value);
    parts.push(header("text", bytes.length), bytes);
  } else if (value instanceof Uint8Array) {
    parts.push(header("binary", value.length), value);
  } else if (Array.isArray(value)) {
    parts.push(header("list", value.length));
    for (const item of value) write(item, parts);
  } else {
    const keys = Object.keys(value).map((key) => ({ key, bytes: text.encode(key) }));
    keys.sort((one, other) => compare(one.bytes, other.bytes));
    parts.push(header("map", keys.length));
    for (const { key } of keys) {
      write(key, parts);
      write(value[key], parts);
    }
  }
}

function real(value) {
  const bytes = new Uint8Array(9);
  bytes[0] = 0xcb;
  new DataView(bytes.buffer).setFloat64(1, value);
  return bytes;
}

function integer(value) {
  const n = BigInt(value);
  if (n >= -32n && n < 128n) return Uint8Array.of(Number(n) & 0xff);
  const size = [1, 2, 4, 8].find((bytes) => fits(n, bytes));
  if (size === undefined) throw new RangeError();
  return withNumber((n < 0n ? 0xd0 : 0xcc) + Math.log2(size), n, size);
}

function fits(n, bytes) {
  const bits = 8 * bytes;
  return (n < 0n ? BigInt.asIntN(bits, n) : BigInt.asUintN(bits, n)) === n;
}

function header(kind, length) {
  const [most, first, ...codes] = HEADERS[kind];
  if (length <= most) return Uint8Array.of(first + length);
  const place = codes.findIndex((code, i) => code !== null && length < 2 ** (8 << i));
  return withNumber(codes[place], BigInt(length), 1 << place);
}

/** A code and a big-endian number of `size` bytes. */
function withNumber(code, n, size) {
  const bytes = new Uint8Array(1 + size);
  bytes[0] = code;
  for (let i = size, rest = BigInt.asUintN(8 * size, n); i > 0; i -= 1, rest >>= 8n) {
    bytes[i] = Number(rest & 0xffn);
  }
  return bytes;
}

/** Order of bytes, which for UTF-8 is that of code points. */
function compare(one, other) {
  const shared = Math.min(one.length, other.length);
  for (let i = 0; i < shared; i += 1) if (one[i] !== other[i]) return one[i] - other[i];
  return one.length - other.length;
}

/**
 * @param {Uint8Array} bytes
 * @param {{containers: number, items: number}} [bounds] most lists and maps, and items in all of them
 * @returns {*} the value
 * @throws {RangeError} for bytes that are no canonical msgpack, or beyond the bounds
 */
export function decode(bytes, bounds = { containers: 66, items: 256 }) {
  const reader = new Reader(bytes, bounds);
  const value = reader.value(0);
  if (reader.at !== bytes.length) throw new RangeError();
  return value;
}

class Reader {
  constructor(bytes, bounds) {
    this.bytes = bytes;
    this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.at = 0;
    this.left = { ...bounds };
  }

  take(size) {
    if (size > this.bytes.length - this.at) throw new RangeError();
    this.at += size;
    return this.bytes.subarray(this.at - size, this.at);
  }

  number(size, signed = false) {
    let n = 0n;
    for (const byte of this.take(size)) n = (n << 8n) | BigInt(byte);
    return signed ? BigInt.asIntN(8 * size, n) : n;
  }

  value(depth) {
    const [code] = this.take(1);
    if (code < 0x80) return code;
    if (code >= 0xe0) return code - 256;
    if (code === 0xc0) return null;
    if (code === 0xc2 || code === 0xc3) return code === 0xc3;
    if (code === 0xcb) return this.real();
    if (code >= 0xcc && code <= 0xd3) return this.integer(code);
    for (const kind of Object.keys(HEADERS)) {
      const length = this.length(kind, code);
      if (length !== null) return this.content(kind, length, depth);
    }
    throw new RangeError();
  }

  real() {
    const value = this.view.getFloat64(this.at + this.take(8).length - 8);
    if (!Number.isFinite(value)) throw new RangeError();
    return new Real(value);
  }

  integer(code) {
    const n = this.number(1 << (code & 3), code >= 0xd0);
    const start = this.at - (1 << (code & 3)) - 1;
    if (compare(integer(n), this.bytes.subarray(start, this.at)) !== 0) {
      throw new RangeError();
    }
    return n >= Number.MIN_SAFE_INTEGER && n <= Number.MAX_SAFE_INTEGER ? Number(n) : n;
  }

  /** The length that a header of this kind states, or null if it is of another kind. */
  length(kind, code) {
    const [most, first, ...codes] = HEADERS[kind];
    if (most >= 0 && code >= first && code <= first + most) return code - first;
    const place = codes.indexOf(code);
    if (place < 0) return null;
    const length = Number(this.number(1 << place));
    if (header(kind, length)[0] !== code) throw new RangeError();
    return length;
  }

  content(kind, length, depth) {
    if (kind === "text") return this.text(length);
    if (kind === "binary") return this.take(length).slice();
    this.left.containers -= 1;
    this.left.items -= length;
    if (this.left.containers < 0 || this.left.items < 0) throw new RangeError();
    if (depth >= MAX_NESTING) throw new RangeError();
    if (kind === "list") return Array.from({ length }, () => this.value(depth + 1));
    return this.map(length, depth);
  }

  text(length) {
    try {
      return strictText.decode(this.take(length));
    } catch {
      throw new RangeError();
    }
  }

  map(length, depth) {
    const map = Object.create(null);
    let last = null;
    for (let i = 0; i < length; i += 1) {
      const key = this.value(depth + 1);
      if (typeof key !== "string") throw new RangeError();
      const bytes = text.encode(key);
      if (last !== null && compare(last, bytes) >= 0) throw new RangeError();
      last = bytes;
      map[key] = this.value(depth + 1);
    }
    return map;
  }
}
