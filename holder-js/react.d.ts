/** `<privet-answer>` in the JSX of React 19 and later: `import type {} from "@privet/holder/react"`. */

import type { DetailedHTMLProps, HTMLAttributes } from "react";
import type { PrivetAnswer, PrivetAnswerAttributes } from "./element.js";

declare module "react" {
  namespace JSX {
    interface IntrinsicElements {
      "privet-answer": DetailedHTMLProps<HTMLAttributes<PrivetAnswer>, PrivetAnswer> & PrivetAnswerAttributes;
    }
  }
}
