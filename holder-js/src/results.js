/** What came out of a collection, in words and as intervals on a line. */

import { svg } from "./explanation.js";
import { element } from "./form.js";
import { capitalized } from "./translation.js";

const [WIDTH, HEIGHT, MARGIN] = [300, 20, 8];
/** An interval of a share that is wider says nothing by decimals. */
const WIDE = 0.02;

/**
 * @typedef {object} Figure
 * @property {string} name
 * @property {number} value
 * @property {number} low
 * @property {number} high
 * @property {number} public
 * @property {boolean} differs whether that differs beyond chance
 */

/**
 * @param {{figures: Figure[]}} results
 * @param {import("./task.js").Task} task
 * @param {import("./texts.js").Texts} texts
 * @param {(text: string) => {text: string, lang: string}} translate
 * @param {(...children: (Node | string)[]) => HTMLElement} heading
 * @returns {HTMLElement[]} what was asked for, where that is a class, and a row for each figure; of two classes
 *   for the second, whose share is the rest
 */
export function rowsOf({ figures }, { label }, texts, translate, heading) {
  const isShare = label.kind === "classes";
  const [least, most] = isShare ? [0, 1] : [label.low, label.high];
  const within = (value) => Math.min(Math.max(value, least), most);
  const worded = (value, digits) => (isShare ? texts.percent(within(value), digits) : texts.number(Number(within(value).toPrecision(3))));
  const at = (value) => MARGIN + ((within(value) - least) / (most - least)) * (WIDTH - 2 * MARGIN);
  const asked = translate(label.name);
  const unit = label.unit === undefined ? "" : ` (${translate(label.unit).text})`;
  const stated = isShare && figures.length === 2 ? figures.slice(1) : figures;
  const rows = stated.map(({ name, differs, ...values }) => {
    const digits = values.high - values.low > WIDE ? 0 : 1;
    const isSame = !differs && values.low <= values.public && values.public <= values.high;
    const own = isShare ? translate(name) : asked;
    const title = element("b", { lang: own.lang }, isShare ? own.text : capitalized(own.text) + unit);
    const said = Object.fromEntries(Object.entries(values).map(([key, value]) => [key, worded(value, digits)]));
    const words = [isShare ? "" : `${texts.say("resultsMean")}: `, texts.say("resultsFigure", said), isSame ? ` ${texts.say("resultsSame")}` : ""].join("");
    return element("div", { className: "figure-row" }, element("p", {}, title), element("p", {}, words), line(values, at));
  });
  if (!isShare) return rows;
  const prompt = label.prompt === undefined ? { ...asked, text: capitalized(asked.text) } : translate(label.prompt);
  return [heading(element("span", { lang: prompt.lang }, prompt.text)), ...rows];
}

function line(values, at) {
  const drawn = svg("svg", { class: "interval", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, "aria-hidden": "true" });
  const middle = HEIGHT / 2;
  drawn.append(
    svg("path", { class: "axis", d: `M${MARGIN} ${middle}H${WIDTH - MARGIN}` }),
    svg("path", { class: "line", d: `M${at(values.low)} ${middle}H${at(values.high)}` }),
    svg("circle", { class: "dot", cx: at(values.value), cy: middle, r: 5 }),
    svg("circle", { class: "ring", cx: at(values.public), cy: middle, r: 6.5 }),
  );
  return drawn;
}
