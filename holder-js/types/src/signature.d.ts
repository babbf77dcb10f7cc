/** A curator's signature on its task (docs/protocol.md, "Signature"), for holders that pinned its key. */
/**
 * @param {string} id the task's id, in hexadecimal
 * @param {string|null} header `Privet-Signature` as it came
 * @param {string} key the pinned key, in hexadecimal; the one that the header names does not matter
 * @returns {Promise<boolean>}
 */
export declare function isSigned(id: string, header: string | null, key: string): Promise<boolean>;
