/** The look of `<privet-answer>`: every colour is a property that the page around it may set. */
/** @returns {CSSStyleSheet} which no policy on styles forbids */
export declare function styleSheet(): CSSStyleSheet;
