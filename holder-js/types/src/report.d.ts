/** From a record to the bytes of its report (docs/encoding.md). */
/**
 * @param {number} size
 * @returns {Uint8Array} random bytes of the platform
 */
export declare function platformRandom(size: number): Uint8Array;
/**
 * A record in the numbers of a task. It always leads to a report, whatever its values: `findings` and
 * `disclosed` are for whoever gave the record, and nothing that is sent depends on the findings.
 */
export declare class OpenedRecord {
    #private;
    task: import("./task.js").Task;
    leave: () => Promise<void>;
    /**
     * @param {import("./task.js").Task} task from `loadTask`
     * @param {Record<string, unknown> | null} record values by name, the label included
     * @param {() => Promise<void>} [leave] the wait for a moment that was fixed before
     */
    constructor(task: import("./task.js").Task, record: Record<string, unknown> | null, leave?: () => Promise<void>);
    /** @returns {import("./features.js").Finding[]} what does not fit the task */
    get findings(): import("./features.js").Finding[];
    /** @returns {import("./strata.js").Disclosure | null} what its report discloses; null if the task discloses nothing */
    get disclosed(): import("./strata.js").Disclosure | null;
    /**
     * @param {(size: number) => Uint8Array} [random]
     * @returns {{id: Uint8Array, bytes: Uint8Array}} its report, whether it fits or not; the same one until it is taken
     */
    draw(random?: (size: number) => Uint8Array): {
        id: Uint8Array;
        bytes: Uint8Array;
    };
    /**
     * @param {(size: number) => Uint8Array} random
     * @param {import("./task.js").Task} task that it answers, of the same panel
     * @returns {{id: Uint8Array, bytes: Uint8Array}} the report that was shown, if one was; never the same one twice
     */
    take(random: (size: number) => Uint8Array, task: import("./task.js").Task): {
        id: Uint8Array;
        bytes: Uint8Array;
    };
}
/** @param {string} text */
export declare const fromHex: (text: string) => Uint8Array<ArrayBuffer>;
