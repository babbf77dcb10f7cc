/** Types of `<privet-answer>`: for `querySelector`, for its events and, where JSX is a global namespace, for JSX. */

import { PrivetAnswer } from "./types/src/element.js";

export { PrivetAnswer };

/** What `privet-step` says in its `detail`; nothing of the record. */
export interface Step {
  step: "start" | "before" | "questions" | "check" | "sending" | "receipt" | "stopped" | "loading";
  /** For the page around it. */
  title: string;
  language: string;
  /** Of the answer, with `receipt`. */
  state?: "drawn" | "held" | "counted" | "refused" | "lost" | "restored";
  /** Of the problem, with `stopped`. */
  type?: string;
}

/** The attributes of `<privet-answer>`. */
export interface PrivetAnswerAttributes {
  task?: string;
  language?: string;
  invitation?: string;
  "curator-key"?: string;
  level?: number | `${number}`;
  theme?: "light" | "dark";
  preview?: string;
  "onprivet-step"?: (event: CustomEvent<Step>) => void;
}

declare global {
  interface HTMLElementTagNameMap { "privet-answer": PrivetAnswer }
  interface HTMLElementEventMap { "privet-step": CustomEvent<Step> }
  namespace JSX {
    interface IntrinsicElements {
      "privet-answer": PrivetAnswerAttributes & { id?: string; class?: string; style?: unknown; key?: string | number; ref?: unknown };
    }
  }
}
