/**
 * What was answered and what it cost: the only thing that a holder keeps.
 *
 * An answer is stored before it is first sent, and from then on only sent again byte for byte.
 *
 * It counts a year by this device's clock. That may be wrong, so a draw is dated no earlier than the one
 * before it; and what is dated in the future, or before anybody could draw, counts.
 */
/** @type {Caps} */
export declare const CAPS: Caps;
/** 2026-01-01: no answer was drawn before, whatever a clock said. */
export declare const EARLIEST = 1767225600;
export type Answer = {
    /**
     * the task's id
     */
    task: string;
    /**
     * the id of the panel whose wave it is
     */
    panel?: string | null;
    /**
     * what the task is called, in the language `lang`
     */
    name: string;
    /**
     * "" where the task does not say
     */
    lang: string;
    /**
     * when its collection ends, Unix time in seconds
     */
    closes: number | null;
    /**
     * where it is sent
     */
    url: string;
    epsilon: number;
    /**
     * the report's, 32 hexadecimal digits
     */
    id: string;
    /**
     * the report
     */
    bytes: Uint8Array;
    /**
     * by which it discloses
     */
    splits: import("./disclosures.js").DisclosedSplits | null;
    /**
     * what it discloses, with the task's words in `lang`
     */
    disclosed: import("./strata.js").Disclosure | null;
    /**
     * for `url` alone
     */
    invitation: string | null;
    /**
     * Unix time in seconds
     */
    drawn: number;
    state: "drawn" | "held" | "counted" | "refused" | "lost";
    /**
     * of a refusal, of a loss, or of the last attempt that failed: a problem's type
     */
    reason: string | null;
    /**
     * the same in words
     */
    detail: string | null;
};
export type Caps = {
    /**
     * epsilon on one task
     */
    task: number;
    /**
     * epsilon on all tasks within 365 days
     */
    year: number;
    /**
     * bits that tasks disclose within 365 days
     */
    disclosed: number;
};
export type Member = import("./panels.js").Member;
export type Row = Answer | Member;
/** One person's answers, one per task, and parts in panels: what all stores have in common. */
export declare class Store {
    /** @type {Caps} */
    caps: Caps;
    /** @param {{caps?: Partial<Caps>}} [options] */
    constructor({ caps }?: {
        caps?: Partial<Caps>;
    });
    /** @returns {Promise<Row[]>} */
    rows(): Promise<Row[]>;
    /**
     * Put the row that `work` returns in the place of its task's, durably, while nobody else does.
     * @param {(rows: Row[]) => Row | undefined} work what it throws changes nothing, and nor does undefined
     * @returns {Promise<void>}
     */
    change(work: (rows: Row[]) => Row | undefined): Promise<void>;
    /** @returns {Promise<Answer[]>} */
    answers(): Promise<Answer[]>;
    /** @returns {Promise<Member[]>} */
    members(): Promise<Member[]>;
    /**
     * Keep a person's part in a panel with all that it can cost; a part that is there already stays.
     * @param {Member} member
     * @param {number} now Unix time in seconds
     * @param {import("./disclosures.js").DisclosedSplits | null} [splits] by which one answer discloses
     * @returns {Promise<Member>} the one that counts
     * @throws {Problem} `budget-spent`, `ledger-failed`
     */
    join(member: Member, now: number, splits?: import("./disclosures.js").DisclosedSplits | null): Promise<Member>;
    /**
     * @param {string} task its id
     * @returns {Promise<Answer | undefined>}
     */
    find(task: string): Promise<Answer | undefined>;
    /**
     * Store an answer before it is sent, dated no earlier than any other; if the task has one already, that
     * stays.
     * @param {Answer} answer
     * @returns {Promise<Answer>} the one that counts
     * @throws {Problem} `budget-spent`, `ledger-failed`
     */
    keep(answer: Answer): Promise<Answer>;
    /**
     * Note what became of an answer; news that is no move changes nothing.
     * @param {Answer} answer
     * @returns {Promise<Answer>} as it stands then
     */
    settle(answer: Answer): Promise<Answer>;
}
/** Answers in memory, for tests and simulations: gone with the program, and with them what was spent. */
export declare class MemoryStore extends Store {
    #private;
    rows(): Promise<any[]>;
    /** @param {(rows: Row[]) => Row | undefined} work */
    change(work: (rows: Row[]) => Row | undefined): Promise<void>;
}
/**
 * @param {Answer[]} answers
 * @param {number} now Unix time in seconds
 * @returns {number} the epsilon of those drawn within a year
 */
export declare function spent(answers: Answer[], now: number): number;
/**
 * @param {Row[]} rows
 * @param {number} now Unix time in seconds
 * @param {{panel: string | null, epsilon: number}} [more] an answer that is about to be drawn
 * @returns {number} the epsilon that is kept for later waves of panels
 */
export declare function keptIn(rows: Row[], now: number, more?: {
    panel: string | null;
    epsilon: number;
}): number;
/**
 * @param {Answer[]} answers
 * @param {number} now Unix time in seconds
 * @param {...import("./disclosures.js").DisclosedSplits} more
 * @returns {number} the most bits that those drawn within a year disclose together, and `more` splits
 */
export declare function disclosed(answers: Answer[], now: number, ...more: import("./disclosures.js").DisclosedSplits[]): number;
/**
 * @param {Row[]} rows with what is kept for later waves, which is as good as spent
 * @param {{epsilon: number, splits?: import("./disclosures.js").DisclosedSplits | null, panel?: string | null}} cost of an
 *   answer, whose `panel` pays from its own; or of all a panel's
 * @param {number} now
 * @param {Caps} [caps]
 * @throws {Problem} `budget-spent`, with the cap as its `why`
 */
export declare function afford(rows: Row[], { epsilon, splits, panel }: {
    epsilon: number;
    splits?: import("./disclosures.js").DisclosedSplits | null;
    panel?: string | null;
}, now: number, caps?: Caps): void;
