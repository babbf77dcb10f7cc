/**
 * Fractions of BigInts, and bounds on e^x that every holder computes alike (docs/mechanisms.md,
 * "How a holder answers"). Privacy rests on these integers; floating point decides nothing here.
 */

/** W, the number of values of a random word. */
export const WORD = 1n << 64n;

/** A fraction n / d with d > 0, not reduced. */
export class Fraction {
  /**
   * @param {bigint} n
   * @param {bigint} [d]
   */
  constructor(n, d = 1n) {
    this.n = d < 0n ? -n : n;
    this.d = d < 0n ? -d : d;
  }

  /**
   * The exact value of a 64-bit float.
   * @param {number} value finite
   * @returns {Fraction}
   */
  static of(value) {
    let d = 1n;
    let scaled = value;
    while (!Number.isInteger(scaled)) {
      scaled *= 2;
      d *= 2n;
    }
    return new Fraction(BigInt(scaled), d);
  }

  plus(other) {
    return new Fraction(this.n * other.d + other.n * this.d, this.d * other.d);
  }

  minus(other) {
    return new Fraction(this.n * other.d - other.n * this.d, this.d * other.d);
  }

  times(other) {
    return new Fraction(this.n * other.n, this.d * other.d);
  }

  over(other) {
    return new Fraction(this.n * other.d, this.d * other.n);
  }

  /** @returns {boolean} whether this is at most `other` */
  atMost(other) {
    return this.n * other.d <= other.n * this.d;
  }

  floor() {
    const quotient = this.n / this.d;
    return quotient * this.d > this.n ? quotient - 1n : quotient;
  }

  ceil() {
    return -new Fraction(-this.n, this.d).floor();
  }
}

/** @param {bigint|number} n */
export const whole = (n) => new Fraction(BigInt(n));

/**
 * E(x), a fraction just below e^x.
 * @param {Fraction} x at least 0
 * @returns {Fraction}
 */
export function exp(x) {
  const twice = x.times(whole(2)).ceil();
  const halvings = twice === 0n ? 0n : BigInt(twice.toString(2).length);
  const d = x.d << halvings;
  let low = 0n;
  let term = 1n << 256n;
  for (let n = 1n; term > 0n; n += 1n) {
    low += term;
    term = (term * x.n) / (d * n);
  }
  for (let i = 0n; i < halvings; i += 1n) low = (low * low) >> 256n;
  return new Fraction(low, 1n << 256n);
}

/**
 * F(x): words at which a bit is flipped.
 * @param {Fraction} x
 * @returns {bigint}
 */
export function flipWords(x) {
  return whole(WORD).over(whole(1).plus(exp(x))).ceil();
}
