/**
 * Fractions of BigInts, and bounds on e^x that every holder computes alike (docs/mechanisms.md,
 * "How a holder answers"). Privacy rests on these integers; floating point decides nothing here.
 */
/** W, the number of values of a random word. */
export declare const WORD: bigint;
/** A fraction n / d with d > 0, not reduced. */
export declare class Fraction {
    n: bigint;
    d: bigint;
    /**
     * @param {bigint} n
     * @param {bigint} [d]
     */
    constructor(n: bigint, d?: bigint);
    /**
     * The exact value of a 64-bit float.
     * @param {number} value finite
     * @returns {Fraction}
     */
    static of(value: number): Fraction;
    plus(other: any): Fraction;
    minus(other: any): Fraction;
    times(other: any): Fraction;
    over(other: any): Fraction;
    /** @returns {boolean} whether this is at most `other` */
    atMost(other: any): boolean;
    floor(): bigint;
    ceil(): bigint;
}
/** @param {bigint|number} n */
export declare const whole: (n: bigint | number) => Fraction;
/**
 * E(x), a fraction just below e^x.
 * @param {Fraction} x at least 0
 * @returns {Fraction}
 */
export declare function exp(x: Fraction): Fraction;
/**
 * F(x): words at which a bit is flipped.
 * @param {Fraction} x
 * @returns {bigint}
 */
export declare function flipWords(x: Fraction): bigint;
