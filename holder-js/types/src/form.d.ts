/** The form of a task: a field per feature and one for the label. Text is set as text, never as HTML. */
/**
 * @param {string} tag
 * @param {object} [properties] of the element; `for`, `lang` and names with a dash become attributes
 * @param {...(Node | string)} children
 * @returns {HTMLElement}
 */
export declare function element(tag: string, properties?: object, ...children: (Node | string)[]): HTMLElement;
export type Field = {
    /**
     * of the feature or label
     */
    name: string;
    /**
     * what people call it
     */
    title: HTMLElement;
    /**
     * what to show
     */
    field: HTMLElement;
    /**
     * what gets the focus
     */
    input: HTMLElement;
    /**
     * as the protocol reads it
     */
    value: () => string;
    /**
     * what was filled in, in no language
     */
    entered: () => string;
    /**
     * the same again
     */
    enter: (entered: string) => void;
    /**
     * the answer in words
     */
    words: () => HTMLElement;
    /**
     * why it does not fit
     */
    fault: () => string | null;
    /**
     * how it will count, where that is not as it was given
     */
    warning: () => string | null;
};
/**
 * @typedef {object} Field
 * @property {string} name of the feature or label
 * @property {HTMLElement} title what people call it
 * @property {HTMLElement} field what to show
 * @property {HTMLElement} input what gets the focus
 * @property {() => string} value as the protocol reads it
 * @property {() => string} entered what was filled in, in no language
 * @property {(entered: string) => void} enter the same again
 * @property {() => HTMLElement} words the answer in words
 * @property {() => string | null} fault why it does not fit
 * @property {() => string | null} warning how it will count, where that is not as it was given
 */
/**
 * @param {import("./task.js").Task} task
 * @param {import("./texts.js").Texts} texts
 * @param {(text: string) => {text: string, lang: string}} translate of the task's texts
 * @returns {{fields: Field[], read: () => Record<string, string>}} and how to read the record: all
 *   that was filled in, by name
 */
export declare function makeForm({ features, label, disclosed }: import("./task.js").Task, texts: import("./texts.js").Texts, translate: (text: string) => {
    text: string;
    lang: string;
}): {
    fields: Field[];
    read: () => Record<string, string>;
};
