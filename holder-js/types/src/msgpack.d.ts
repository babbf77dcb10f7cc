/**
 * Canonical msgpack (docs/protocol.md, "Bytes"): one byte string for each value.
 *
 * Integers are numbers where they are safe and else BigInts, reals are `Real`, binary is
 * `Uint8Array`, maps are objects without a prototype. `decode` refuses whatever `encode` would not
 * have written.
 */
/** A 64-bit float, also where it is whole: 20.0 is not 20. */
export declare class Real {
    value: number;
    /** @param {number} value */
    constructor(value: number);
}
/**
 * @param {*} value nested maps, lists, text, binary, numbers, truth values and null
 * @returns {Uint8Array} its canonical bytes
 */
export declare function encode(value: any): Uint8Array;
/**
 * @param {Uint8Array[]} parts
 * @returns {Uint8Array} all of them, one after another
 */
export declare function concat(parts: Uint8Array[]): Uint8Array;
/**
 * @param {Uint8Array} bytes
 * @param {{containers: number, items: number}} [bounds] most lists and maps, and items in all of them
 * @returns {*} the value
 * @throws {RangeError} for bytes that are no canonical msgpack, or beyond the bounds
 */
export declare function decode(bytes: Uint8Array, bounds?: {
    containers: number;
    items: number;
}): any;
