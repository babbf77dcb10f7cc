/**
 * What each mechanism draws and sends (docs/mechanisms.md, "How a holder answers"), in its symbols.
 *
 * A mechanism is built once from a question; `privatize(category, words)` turns one category and
 * `words` random 64-bit integers into the payload.
 */

import { Fraction, WORD, exp, flipWords, whole } from "./exact.js";
import { Problem } from "./problem.js";

/**
 * @typedef {object} Mechanism
 * @property {number} levels
 * @property {number} categories
 * @property {object} parameters those that the task states, or the default ones
 * @property {object} integers the numbers that chances are made of, by the names of the vectors
 * @property {number} words how many random words it draws
 * @property {number} tableEntries length of its table of noise, or 0
 * @property {string} tableKey the same for mechanisms with the same table
 * @property {number} sums how many numbers a curator adds reports up into
 * @property {number} reportBytes
 * @property {(cell: number) => number} misfitAt the category of a record that does not fit
 * @property {(category: number, words: bigint[]) => Uint8Array} privatize
 */

/**
 * @typedef {object} Question
 * @property {string} mechanism
 * @property {number} epsilon
 * @property {number} cells
 * @property {number} slots
 * @property {boolean} regression whether the label is a number
 * @property {object} [parameters]
 */

export const MAX_TABLE_ENTRIES = 3 * 2 ** 16;
const MAX_CATEGORIES = 2 ** 20;
const MAX_POINTS = 2 ** 24;

/**
 * @param {Question} question
 * @returns {Mechanism}
 * @throws {Problem} `invalid-task`
 */
export function createMechanism({ mechanism, epsilon, cells, slots, regression, parameters = {} }) {
  if (!Object.hasOwn(MECHANISMS, mechanism)) refuse(mechanism);
  if (!(epsilon >= 0.001 && epsilon <= 64)) refuse("epsilon");
  const m = cells * slots + 1;
  if (m < 3 || m > MAX_CATEGORIES) refuse("categories");
  const { build, known, ownLevels } = MECHANISMS[mechanism];
  if (regression && ownLevels && slots !== 2) refuse("levels");
  const allowed = mechanism !== "randomized_response" || regression ? known : [];
  const unknown = Object.keys(parameters).find((name) => !allowed.includes(name));
  if (unknown !== undefined) refuse(unknown);
  const built = build({ eps: Fraction.of(epsilon), cells, slots, m, regression, stated: parameters });
  const plain = { levels: slots, parameters: {}, integers: {}, tableEntries: 0, tableKey: "", sums: m };
  const mechanismOf = { ...plain, ...built };
  const misfit = cells * mechanismOf.levels;
  return { ...mechanismOf, categories: misfit + 1, misfitAt: () => misfit };
}

export function refuse(where) {
  throw new Problem("invalid-task", `The task is not valid (${where}): do not answer it.`);
}

function checked(name, value, low, high) {
  if (!Number.isInteger(value) || value < low || value > high) refuse(name);
  return value;
}

// ---- payloads

/** w(n): bytes of an integer up to n. */
export const width = (n) => [1, 2, 4].find((bytes) => n < 2 ** (8 * bytes));

/** Integers up to `largest`, little-endian, one after another. */
export function integers(values, largest) {
  const size = width(largest);
  const bytes = new Uint8Array(values.length * size);
  values.forEach((value, i) => {
    for (let j = 0; j < size; j += 1) bytes[i * size + j] = Math.floor(value / 2 ** (8 * j)) % 256;
  });
  return bytes;
}

const bitBytes = (n) => Math.ceil(n / 8);

/** Bit i of the array becomes bit i mod 8 of byte i / 8. */
function bits(array) {
  const bytes = new Uint8Array(bitBytes(array.length));
  array.forEach((bit, i) => {
    bytes[i >> 3] |= Number(bit) << (i & 7);
  });
  return bytes;
}

// ---- one answer for cell and label

function grr({ eps, m }) {
  const Q = whole(WORD).over(exp(eps).plus(whole(m - 1))).ceil();
  const P = WORD - BigInt(m - 1) * Q;
  return {
    integers: { own: P, other: Q },
    words: 1,
    reportBytes: width(m - 1),
    privatize(category, [r]) {
      const step = r < P ? 0 : Number((r - P) / Q) + 1;
      return integers([(category + step) % m], m - 1);
    },
  };
}

/** v(p, q), the variance that default parameters minimize. */
function variance(p, q, m) {
  const one = whole(1);
  const gap = p.minus(q);
  const sum = p.times(one.minus(p)).plus(whole(m - 1).times(q).times(one.minus(q)));
  return sum.over(whole(m).times(gap).times(gap));
}

function subset({ eps, m, stated }) {
  const inSet = (odds, k) => odds.times(whole(k)).over(odds.times(whole(k)).plus(whole(m - k)));
  const E = exp(eps);
  const k = checked("k", stated.k ?? bestSize(), 1, m - 1);
  const biased = E.times(new Fraction(WORD - BigInt(2 * k * m), WORD));
  const T = whole(WORD).times(inSet(biased, k)).floor();
  const indexed = k * width(m - 1) < bitBytes(m);

  function bestSize() {
    const k0 = Number(whole(m).over(E.plus(whole(1))).floor());
    const spread = (size) => {
      const p = inSet(E, size);
      return variance(p, whole(size).minus(p).over(whole(m - 1)), m);
    };
    const [less, more] = [Math.max(1, k0), Math.min(k0 + 1, m - 1)];
    return spread(less).atMost(spread(more)) ? less : more;
  }

  return {
    parameters: { k },
    integers: { own: T },
    words: k + 1,
    reportBytes: indexed ? k * width(m - 1) : bitBytes(m),
    privatize(category, [r, ...words]) {
      const pool = Uint32Array.from({ length: m }, (_, i) => i);
      pool[category] = m - 1;
      words.forEach((s, i) => {
        const j = i + Number((BigInt(m - 1 - i) * s) / WORD);
        [pool[i], pool[j]] = [pool[j], pool[i]];
      });
      if (r < T) pool[k - 1] = category;
      const chosen = pool.slice(0, k).sort();
      if (indexed) return integers([...chosen], m - 1);
      const member = new Array(m).fill(false);
      chosen.forEach((c) => { member[c] = true; });
      return bits(member);
    },
  };
}

// ---- projective

/** S(j): points of a space of j coordinates. */
const points = (q, j) => (j <= 0 ? 0 : (q ** j - 1) / (q - 1));

function projective({ eps, m, stated }) {
  const E = exp(eps);
  const { order: q, dimension: t } =
    stated.order === undefined && stated.dimension === undefined ? bestSpace(E, m) : stated;
  checked("order", q, 2, MAX_POINTS);
  checked("dimension", t, 2, 24);
  const K = points(q, t);
  if (!isPrime(q) || K < m || K > MAX_POINTS) refuse("order");
  const [c, N] = [BigInt(points(q, t - 1)), BigInt(q ** (t - 1))];
  const least = whole(WORD).over(E.times(whole(c)).plus(whole(N))).ceil();
  const B = least + mod(WORD * inverse(N, c) - least, c);
  const A = (WORD - N * B) / c;
  return {
    parameters: { order: q, dimension: t },
    integers: { A, B },
    words: 1,
    sums: K,
    reportBytes: width(K - 1),
    privatize(category, [r]) {
      const orthogonal = r < c * A;
      const free = orthogonal
        ? vectorOf(Number(r / A), q, t - 1)
        : digits(Number((r - c * A) / B), q, t - 1);
      const x = vectorOf(category, q, t);
      const d = x.findLastIndex((coordinate) => coordinate !== 0);
      const y = [...free.slice(0, d), 0, ...free.slice(d)];
      const product = x.reduce((sum, a, i) => (sum + a * y[i]) % q, 0);
      y[d] = ((orthogonal ? 0 : 1) - product + q) % q;
      return integers([numberOf(y, q)], K - 1);
    },
  };
}

const mod = (a, b) => ((a % b) + b) % b;

/** The inverse of a modulo b, by Euclid's algorithm. */
function inverse(a, b) {
  let [r0, r1, s0, s1] = [mod(a, b), b, 1n, 0n];
  while (r1 !== 0n) [r0, r1, s0, s1] = [r1, r0 % r1, s1, s0 - (r0 / r1) * s1];
  return mod(s0, b);
}

const digits = (n, q, count) => Array.from({ length: count }, (_, i) => Math.floor(n / q ** i) % q);

function vectorOf(number, q, t) {
  let d = 0;
  while (d + 1 < t && points(q, d + 1) <= number) d += 1;
  return digits(number - points(q, d), q, t).map((y, i) => (i < d ? y : Number(i === d)));
}

function numberOf(vector, q) {
  const d = vector.findLastIndex((coordinate) => coordinate !== 0);
  const scale = Number(inverse(BigInt(vector[d]), BigInt(q)));
  const below = vector.slice(0, d).map((y, i) => ((y * scale) % q) * q ** i);
  return below.reduce((sum, term) => sum + term, points(q, d));
}

function isPrime(n) {
  for (let d = 2; d * d <= n; d += 1) if (n % d === 0) return false;
  return n >= 2;
}

function primeFrom(start, step) {
  let n = start;
  while (!isPrime(n)) n += step;
  return n;
}

function bestSpace(E, m) {
  const limit = Math.max(2 ** 14, 16 * m);
  const found = [];
  for (let t = 2; t <= 24; t += 1) {
    for (const q of candidates(t, m, limit, E.floor() + 1n)) {
      const [c, N, s] = [points(q, t - 1), q ** (t - 1), points(q, t - 2)].map(whole);
      const weight = E.times(c).plus(N);
      const p = E.times(c).over(weight);
      const other = E.times(s).plus(c).minus(s).over(weight);
      found.push({ order: q, dimension: t, spread: variance(p, other, m) });
    }
  }
  const best = found.map(({ spread }) => spread).reduce((a, b) => (a.atMost(b) ? a : b));
  const most = best.times(new Fraction(101n, 100n));
  const good = found.filter(({ spread }) => spread.atMost(most));
  const size = (space) => points(space.order, space.dimension);
  return good.reduce((a, b) => (size(b) < size(a) ? b : a));
}

function candidates(t, m, limit, wanted) {
  const least = largest((q) => points(q, t) < m, 1) + 1;
  const most = Math.max(largest((q) => points(q, t) <= limit, 1), least);
  const near = wanted > BigInt(most) ? most : Math.max(Number(wanted), least);
  const orders = [primeFrom(least, 1), primeFrom(near, 1), primeFrom(near, -1)];
  return orders.filter((q) => m <= points(q, t) && points(q, t) <= limit);
}

/** The largest integer from `start` on at which a condition that ends somewhere still holds. */
function largest(holds, start) {
  let step = 1;
  while (holds(start + step)) step *= 2;
  let at = start;
  for (; step >= 1; step /= 2) if (holds(at + step)) at += step;
  return at;
}

// ---- noise from a table

const ONE = 1n << 128n;

/** D(step, span). */
function noise(step, span) {
  const room = whole(38).minus(step.times(whole(span)));
  const far = room.atMost(whole(24)) ? room : whole(24);
  const C = Number(far.over(step).ceil()) + span;
  const entries = 2 * C + 1;
  if (entries > MAX_TABLE_ENTRIES) refuse("noise");
  let table = null;
  const largestCode = 2 * C - span;
  return {
    C,
    entries,
    key: `${(step.n << 256n) / step.d} ${span}`,
    largestCode,
    /** w_C, ..., w_0 */
    get weights() {
      table ??= weightsOf(step, C);
      return table.weights;
    },
    /** The code of the output for input x and word r. */
    code(x, r) {
      table ??= weightsOf(step, C);
      return clampCode(x + countAtMost(table.sums, r) - span, largestCode);
    },
  };
}

const clampCode = (code, most) => Math.min(Math.max(code, 0), most);

function weightsOf(step, C) {
  const g = exp(step).times(whole(ONE)).floor();
  const natural = tableFrom(g, 1n << 28n, C, null);
  const base = new Fraction((1n << 28n) * WORD, 2n * sum(natural.weights) + natural.peak);
  for (let i = 0n; ; i += 1n) {
    const start = base.times(new Fraction((1n << 20n) + (1n << i), 1n << 20n)).ceil();
    const { weights, peak } = tableFrom(g, start, C, WORD);
    const middle = WORD - 2n * sum(weights);
    if (middle <= peak) {
      const all = [...weights, middle];
      return { weights: all, sums: sumsOf([...all, ...weights.reverse()]) };
    }
  }
}

const sum = (values) => values.reduce((total, value) => total + value, 0n);

/** w_C, ..., w_1 and the peak. */
function tableFrom(g, start, C, room) {
  const weights = [start, ((g - ONE) * start) / ONE];
  let used = 2n * sum(weights);
  for (let k = C - 2; k >= 1; k -= 1) {
    const next = (g * weights.at(-1)) / ONE;
    if (room !== null) {
      const flat = (room - used) / BigInt(2 * k + 1);
      if (flat <= next) {
        return { weights: weights.concat(new Array(k).fill(flat)), peak: (g * flat) / ONE };
      }
    }
    weights.push(next);
    used += 2n * next;
  }
  return { weights, peak: (g * weights.at(-1)) / ONE };
}

/** w_{-C}, w_{-C} + w_{-C+1}, ..., without the last sum, which is 2^64. */
function sumsOf(weights) {
  let total = 0n;
  return BigUint64Array.from(weights.slice(0, -1), (weight) => (total += weight));
}

/** How many of the increasing sums are at most r. */
function countAtMost(sums, r) {
  let [low, high] = [0, sums.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (sums[middle] <= r) low = middle + 1;
    else high = middle;
  }
  return low;
}

// ---- the papers' vectors U and V

/** The part of epsilon for each of the coordinates in which two holders can differ. */
function share({ eps, cells, slots }) {
  return eps.over(whole(2 + (slots > 1 ? Math.min(2, cells) : 0)));
}

function resolutionOf(stated, costs) {
  let fine = 1;
  while (!whole(16).times(costs).atMost(whole(fine))) fine *= 2;
  return checked("resolution", stated.resolution ?? fine, 1, 4096);
}

/**
 * U, whose last entry is the misfit's, then V with the first label left out; `one` stands for 1, and
 * `top` is V's entry of the level.
 */
function coordinates({ cells, slots }, cell, slot, one, top) {
  const U = Array.from({ length: cells + 1 }, (_, i) => (i === cell ? one : 0));
  const own = cell * (slots - 1) + slot - 1;
  const V = Array.from({ length: cells * (slots - 1) }, (_, i) => (slot >= 1 && i === own ? top : 0));
  return [...U, ...V];
}

function laplace(question) {
  const { cells, slots, regression, stated } = question;
  const R = resolutionOf(stated, share(question));
  const D = noise(share(question).over(whole(R)), R);
  const levels = regression ? R + 1 : slots;
  return {
    levels,
    parameters: { resolution: R },
    integers: { get noise() { return D.weights; } },
    words: cells * slots + 1,
    tableEntries: D.entries,
    tableKey: D.key,
    reportBytes: (cells * slots + 1) * width(D.largestCode),
    privatize(category, words) {
      const [cell, level] = [Math.floor(category / levels), category % levels];
      const exact = regression
        ? coordinates(question, cell, 1, R, level)
        : coordinates(question, cell, level, R, R);
      return integers(words.map((r, i) => D.code(exact[i], r)), D.largestCode);
    },
  };
}

function randomizedResponse(question) {
  if (question.regression) return numericResponse(question);
  const { cells, slots } = question;
  const Q = flipWords(share(question));
  return {
    integers: { turned: Q },
    words: cells * slots + 1,
    reportBytes: bitBytes(cells * slots + 1),
    privatize(category, words) {
      const exact = coordinates(question, Math.floor(category / slots), category % slots, 1, 1);
      return bits(words.map((r, i) => (exact[i] === 1) !== (r < Q)));
    },
  };
}

function numericResponse({ eps, cells, stated }) {
  const part = eps.over(whole(cells > 1 ? 4 : 2));
  const R = resolutionOf(stated, part);
  const D = noise(part.over(whole(R)), 2 * R);
  const Q = flipWords(eps.over(whole(4)));
  return {
    levels: R + 1,
    parameters: { resolution: R },
    integers: { turned: Q, get noise() { return D.weights; } },
    words: cells + 2,
    sums: 2 * cells + 3,
    tableEntries: D.entries,
    tableKey: D.key,
    reportBytes: width(D.largestCode) + bitBytes(cells + 1),
    privatize(category, [first, ...words]) {
      const [cell, level] = [Math.floor(category / (R + 1)), category % (R + 1)];
      const x = [2 * level, R][Number(cell === cells)];
      const label = integers([D.code(x, first)], D.largestCode);
      const U = bits(words.map((r, c) => (c === cell) !== (r < Q)));
      return Uint8Array.of(...label, ...U);
    },
  };
}

const MECHANISMS = {
  subset: { build: subset, known: ["k"] },
  projective: { build: projective, known: ["order", "dimension"] },
  grr: { build: grr, known: [] },
  laplace: { build: laplace, known: ["resolution"], ownLevels: true },
  randomized_response: { build: randomizedResponse, known: ["resolution"], ownLevels: true },
};
