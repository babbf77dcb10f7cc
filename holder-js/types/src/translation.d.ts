/** A task's texts in the reader's language, where its asker has translated them. */
/**
 * @param {readonly string[]} wanted tags, the most wanted first
 * @param {string[]} available
 * @returns {string | undefined} the first available one that is wanted, else one of the same language
 */
export declare function best(wanted: readonly string[], available: string[]): string | undefined;
/** @returns {readonly string[]} the reader's languages, as the browser has them */
export declare const preferred: () => readonly string[];
/**
 * A task's own texts for a reader.
 * @param {Pick<import("./task.js").Task, "language" | "translations">} task
 * @param {readonly string[]} wanted the reader's languages
 * @returns {(text: string) => {text: string, lang: string}} the text in the wanted language where
 *   there is a translation, and the language it is in, "" where the task does not say
 */
export declare function translator({ language, translations }: Pick<import("./task.js").Task, "language" | "translations">, wanted: readonly string[]): (text: string) => {
    text: string;
    lang: string;
};
/** @param {string} name of a column, for people */
export declare function capitalized(name: string): string;
