/** A page that is `<privet-answer page>` and nothing else: its title, language, invitation and the browser's way back. */
/** @param {import("./element.js").PrivetAnswer} form */
export declare function takePage(form: import("./element.js").PrivetAnswer): void;
