/**
 * `<privet-answer task="…">`: what a task is about, its form, a check in words, the exact bytes that one button
 * sends, and the receipt.
 *
 * Everything stands in a shadow tree, is set as text, and is styled by a constructed style sheet, so that a policy
 * without inline styles or scripts suffices. The person's record is in the fields alone, until they send.
 */
/** @type {typeof HTMLElement} */
declare const Base: typeof HTMLElement;
/**
 * Attributes: `task`, the task's address; `language`, else the browser's; `invitation`; `curator-key`, 64
 * hexadecimal digits; `level` of its first heading, else 2; `theme`, `light` or `dark`, else the system's; `page`,
 * where it is a page of its own and not a part of one;
 * `preview`, a task's bytes in base64url, which is shown as people will see it: nothing is fetched, sent or stored.
 *
 * Dispatches `privet-step` with `{step, title, language}`: `questions`, `check`, `sending`; `receipt` with the
 * answer's `state`; `stopped` with a problem's `type`.
 */
export declare class PrivetAnswer extends Base {
    #private;
    static observedAttributes: string[];
    connectedCallback(): void;
    attributeChangedCallback(): void;
    /**
     * One screen back, from the check or from a question; nothing anywhere else.
     * @returns {boolean} whether there is one before that
     */
    back(): boolean;
}
export {};
