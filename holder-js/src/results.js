/** What came out of a collection, in words and as intervals on a line. */

import { svg } from "./explanation.js";
import { element } from "./form.js";
import { capitalized } from "./translation.js";

const [WIDTH, HEIGHT, MARGIN, MIDDLE, SIGN] = [300, 20, 8, 10, 6];
/** An interval of a share that is wider says nothing by decimals. */
const WIDE = 0.02;
const HALF = 0.5;

/**
 * @typedef {object} Figure
 * @property {string} name
 * @property {number} value
 * @property {number} low
 * @property {number} high
 * @property {number} [public] left out where there are no public records
 * @property {boolean} differs whether that differs beyond chance
 */

/**
 * @typedef {object} Distribution of a number, in bins around levels
 * @property {{level: number, share: number, low: number, high: number}[]} bins
 * @property {{part: number, value: number, low: number, high: number}[]} quantiles
 */

/**
 * @param {{figures: Figure[], distribution?: Distribution | null}} results
 * @param {import("./task.js").Task} task
 * @param {import("./texts.js").Texts} texts
 * @param {(text: string) => {text: string, lang: string}} translate
 * @param {(...children: (Node | string)[]) => HTMLElement} heading
 * @returns {HTMLElement[]} what was asked for, a row for each figure, of two classes for the task's headline, else the
 *   second, since the other's share is the rest; and of a number its distribution
 */
export function rowsOf({ figures, distribution }, { label }, texts, translate, heading) {
  const isShare = label.kind === "classes";
  const [least, most] = isShare ? [0, 1] : [label.low, label.high];
  const at = axis(least, most);
  const unit = label.unit === undefined ? "" : ` ${translate(label.unit).text}`;
  const headline = label.headline ?? label.classes?.[1];
  const stated = isShare && figures.length === 2 ? figures.filter(({ name }) => name === headline) : figures;
  const rows = stated.map(({ name, differs, public: before, ...found }) => {
    const values = typeof before === "number" ? { ...found, public: before } : found;
    if (tellsNothing(values, least, most)) return element("p", { className: "figure-row" }, ...(isShare ? [named(name, translate), ": "] : []), texts.say("resultsNothing"));
    const said = isShare ? shares(values, texts) : numbers(values, texts, unit);
    const words = isShare ? around(texts.say("resultsShare", { ...said, name: "\0" }), named(name, translate)) : [texts.say("resultsMean", said)];
    const isSame = !differs && values.low <= before && before <= values.high;
    if ("public" in values) words.push(" ", texts.say(isSame ? "resultsSame" : "resultsPublic", said));
    return element("div", { className: "figure-row" }, element("p", {}, ...words), line(values, at));
  });
  const asked = label.prompt === undefined ? { ...translate(label.name), text: capitalized(translate(label.name).text) } : translate(label.prompt);
  const isDrawn = distribution && !tellsNothing(figures[0], least, most);
  return [heading(element("span", { lang: asked.lang }, asked.text)), ...rows, ...(isDrawn ? spread(distribution, texts, unit) : [])];
}

/** A share of people around each level as a bar with its interval, in a table; and the median. */
function spread({ bins, quantiles }, texts, unit) {
  const at = axis(0, Math.min(Math.max(...bins.map(({ high }) => high)), 1));
  const rows = bins.map(({ level, share: value, low, high }) => {
    const said = shares({ value, low, high }, texts);
    return element("tr", {}, element("th", { scope: "row" }, texts.number(level)), element("td", {}, bar({ value, low, high }, at)), element("td", {}, `${said.value} (${said.low}–${said.high})`));
  });
  const half = quantiles.find(({ part }) => part === HALF);
  return [
    element("table", { className: "spread" }, element("caption", {}, `${texts.say("resultsSpread")}${unit && ` (${unit.trim()})`}`), ...rows),
    ...(half ? [element("p", {}, texts.say("resultsHalf", numbers(half, texts, unit)))] : []),
    element("p", { className: "help" }, texts.say("resultsRounded")),
  ];
}

const tellsNothing = ({ low, high }, least, most) => low <= least && high >= most;
const named = (name, translate) => element("span", { lang: translate(name).lang }, translate(name).text);
/** A text with elements in the places of its NULs. */
export const around = (text, ...children) => text.split("\0").flatMap((part, i) => (i === 0 ? [part] : [children[i - 1], part]));
const mapped = (values, transform) => Object.fromEntries(Object.entries(values).map(([key, value]) => [key, transform(value)]));
const axis = (least, most) => (value) => MARGIN + ((Math.min(Math.max(value, least), most) - least) / (most - least)) * (WIDTH - 2 * MARGIN);

/** Shares in words. */
function shares(values, texts) {
  const digits = values.high - values.low > WIDE ? 0 : 1;
  return mapped(values, (value) => texts.percent(Math.min(Math.max(value, 0), 1), digits));
}

/** Numbers in words, in two digits of their interval's half width; the first one with its unit. */
function numbers(values, texts, unit) {
  const half = (values.high - values.low) / 2;
  const step = half > 0 ? 10 ** (Math.floor(Math.log10(half)) - 1) : 0;
  const said = mapped(values, (value) => texts.number(step ? Number((Math.round(value / step) * step).toPrecision(12)) : value));
  return { ...said, value: said.value + unit };
}

function line({ value, ...values }, at) {
  const drawn = picture(values, at, svg("path", { class: "axis", d: `M${MARGIN} ${MIDDLE}H${WIDTH - MARGIN}` }));
  drawn.append(svg("circle", { class: "dot", cx: at(value), cy: MIDDLE, r: 5 }));
  if ("public" in values) drawn.append(svg("path", { class: "earlier", d: `M${at(values.public)} ${MIDDLE - SIGN}l${SIGN} ${SIGN}l-${SIGN} ${SIGN}l-${SIGN}-${SIGN}z` }));
  return drawn;
}

const bar = (values, at) => picture(values, at, svg("rect", { class: "bar", x: MARGIN, y: 2, width: at(values.value) - MARGIN, height: HEIGHT - 4 }));

function picture({ low, high }, at, below) {
  const drawn = svg("svg", { class: "interval", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, "aria-hidden": "true" });
  drawn.append(below, svg("path", { class: "line", d: `M${at(low)} ${MIDDLE}H${at(high)}` }));
  return drawn;
}
