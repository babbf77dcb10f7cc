/**
 * A person's part in a panel (docs/holder.md, "Panels"): the wave that this device drew, and the epsilon that is
 * kept for it, once the person agreed to take part.
 *
 * The draw depends on the panel's dates and this device's clock alone, and stays, since a turn that is known is a kept one.
 */
export type Task = import("./http.js").Task;
export type Member = {
    /**
     * the panel's id
     */
    task: string;
    /**
     * the number of the wave that this device drew, from 0; null if all are answered
     */
    wave: number | null;
    /**
     * the epsilon that all answers cost together, at most
     */
    lifetime: number;
    /**
     * the end of the last wave that this person answers, Unix time in seconds
     */
    closes: number;
    /**
     * empty
     */
    bytes: Uint8Array;
};
/**
 * @param {import("./task.js").Task} task
 * @returns {boolean} whether it is a panel's own document, which takes no reports
 */
export declare const isPanel: ({ panel, opens, closes }: import("./task.js").Task) => boolean;
/**
 * @param {import("./task.js").Task} task
 * @param {number} epsilon of one answer
 * @param {number} [now] Unix time in seconds
 * @returns {number} what all answers cost together, of a person who comes now, or before the first wave
 */
export declare const lifetimeOf: ({ panel }: import("./task.js").Task, epsilon: number, now?: number) => number;
/**
 * @param {Task} task of a panel
 * @param {number} wave its number, from 0
 * @returns {Promise<Task>} the wave's task
 */
export declare const waveTask: (task: Task, wave: number) => Promise<Task>;
/**
 * @param {Task} task of a panel
 * @returns {Promise<Task>} the panel's own document
 */
export declare const wholePanel: (task: Task) => Promise<Task>;
/**
 * @param {Task} task of a panel
 * @returns {Promise<string>} the panel's id
 */
export declare const panelIdOf: (task: Task) => Promise<string>;
/**
 * @param {Task} task of a panel
 * @param {number} epsilon of one answer
 * @param {number} now Unix time in seconds
 * @param {(size: number) => Uint8Array} [random]
 * @returns {Promise<Member>} a person's part who comes to the panel now, which has a wave that has not closed
 */
export declare function drawMember(task: Task, epsilon: number, now: number, random?: (size: number) => Uint8Array): Promise<Member>;
/**
 * @param {Member} member
 * @param {Task} task of its panel
 * @param {number} epsilon of one answer
 * @param {number} now Unix time in seconds
 * @returns {number[]} the numbers of the waves to answer: the one that was drawn, or those that have not closed, else the
 *   last one, without those that had closed when the person came, for which nothing is kept, whatever the clock says since
 */
export declare function turnsOf({ wave, lifetime }: Member, { panel }: Task, epsilon: number, now: number): number[];
/**
 * @param {Member[]} members
 * @param {Map<string, number>} spent epsilon by panel
 * @param {number} now Unix time in seconds
 * @returns {number} the epsilon that is kept for later waves
 */
export declare function reserved(members: Member[], spent: Map<string, number>, now: number): number;
