/**
 * The look of `<privet-answer>`: every colour is a property that the page around it may set, and text stays readable
 * whatever is set. It is light or dark as the page around it is; outside of its cards text has the page's own colour.
 */

const LIGHT = {
  back: "#f6f7f3", card: "#fff", ink: "#17241f", soft: "#52605a", line: "#cfd8d2", edge: "#66746d",
  accent: "#12634a", "on-accent": "#fff", tint: "#e7f2ec", warn: "#8a2f0b", "warn-back": "#fdeee4",
  task: "#1f4f8f", id: "#6d3f8f",
};
const DARK = {
  back: "#101614", card: "#19211e", ink: "#e8eeeb", soft: "#a9b7b1", line: "#35423c", edge: "#87968f",
  accent: "#6fd3ae", "on-accent": "#0b1512", tint: "#1c2f28", warn: "#ffb595", "warn-back": "#3a2118",
  task: "#9cc3ff", id: "#d9b3f5",
};

/** Colours of text, which are readable on each surface. */
const TEXT = ["ink", "soft", "accent", "warn", "task", "id"];

/** Where text stands, with the colour behind it. */
const SURFACES = { "section, .quiet, input, select": "card", pre: "back", "#people, .note, #sent li::before": "tint", ".warning": "warn-back" };

const wished = (color) => Object.keys(LIGHT).map((name) => `--wish-${name}: var(--privet-${name}, ${color(name)});`).join(" ");

/** Text of wished colours on surfaces; `text` gives the colour of a text, `behind` the one behind it. */
const surfaces = (text, behind) => [
  ...Object.entries(SURFACES).map(([selector, name]) => `${selector} { --on: ${behind(`var(--wish-${name})`)}; ${TEXT.map((each) => `--${each}: ${text(each)};`).join(" ")} color: var(--ink); background: var(--on); }`),
  `button:not(.quiet, .link) { --on: ${behind("var(--wish-accent)")}; --ink: ${text("on-accent")}; color: var(--ink); background: var(--on); }`,
].join("\n");

/** A colour that lets nothing through: what is behind it counts as white, in the dark as black. */
const opaque = (color) => {
  const over = (white) => `color(from ${color} srgb ${["r", "g", "b"].map((each) => `calc(${each} * alpha + ${white} * (1 - alpha))`).join(" ")} / 1)`;
  return `light-dark(${over(1)}, ${over(0)})`;
};

/** Relative luminance (WCAG 2). */
const LUMINANCE = "calc(.2126 * r + .7152 * g + .0722 * b)";

/**
 * A colour if its contrast with `--on` is 4.5 at least (WCAG 2, 1.4.3), else black or white, one of which always has 4.58.
 * Half of either luminance stands in a colour of its own, so that one expression has both: 0 if they differ enough, else
 * far below black or above white. That is added to the colour, which is then within what a screen has.
 */
const readable = (name) => {
  const luminance = (color, channels) => `color(from ${color} srgb-linear ${channels} / 1)`;
  const both = `color-mix(in srgb-linear, ${luminance(`var(--wish-${name})`, `${LUMINANCE} 0 0`)}, ${luminance("var(--on)", `0 ${LUMINANCE} 0`)})`;
  const isTooNear = "clamp(0, 1e6 * (4.53 * (2 * min(r, g) + .05) - 2 * max(r, g) - .05), 1)";
  const away = `calc(${isTooNear} * clamp(-9, 1e9 * (.1791 - 2 * g), 9))`;
  const added = `color(from ${both} srgb-linear ${away} ${away} ${away})`;
  const within = ["r", "g", "b"].map((each) => `clamp(0, 2 * ${each}, 1)`).join(" ");
  return `color(from color-mix(in srgb-linear, color(from var(--wish-${name}) srgb-linear r g b / 1), ${added}) srgb-linear ${within} / 1)`;
};

const RULES = `
:host { display: block; container-type: inline-size; ${wished((name) => LIGHT[name])} ${TEXT.map((name) => `--${name}: initial;`).join(" ")} --line: var(--wish-line); --edge: var(--wish-edge); }
:host([theme="light"]) { color-scheme: light; }
:host([theme="dark"]) { color-scheme: dark; ${wished((name) => DARK[name])} }
@media (prefers-color-scheme: dark) { :host([page]:not([theme="light"])) { ${wished((name) => DARK[name])} } }
@supports (color: light-dark(red, red)) { :host, :host([page]), :host([theme]) { ${wished((name) => `light-dark(${LIGHT[name]}, ${DARK[name]})`)} } }
${surfaces((name) => `var(--wish-${name})`, (color) => color)}
@supports (color: color(from color-mix(in srgb-linear, light-dark(red, red), color(from red srgb-linear calc(2 * r) 0 0)) srgb-linear clamp(0, 2 * r, 1) g calc(b * alpha) / 1)) {
${surfaces(readable, opaque)}
}
:host([hidden]) { display: none; }
* { box-sizing: border-box; }
#answer { overflow-wrap: anywhere; hyphens: auto; font-family: var(--privet-font-family, inherit); font-size: var(--privet-font-size, 1.0625rem); line-height: 1.55; }
.title { font-size: 2rem; line-height: 1.2; margin: 1.2rem 0 .4rem; letter-spacing: -.01em; }
.heading { font-size: 1.3rem; line-height: 1.3; margin: 0 0 .5rem; }
.subheading { font-size: 1.05rem; margin: 0 0 .3rem; }
.title:focus, .heading:focus { outline: none; }
p { margin: .5rem 0; }
#state:empty { display: none; }
#speak, #in-studys-language { text-align: right; }
#speak select { width: auto; min-height: 2.5rem; padding: .3rem .5rem; }
section {
  border: 1px solid var(--line); border-radius: .8rem;
  padding: 1.25rem; margin: 1rem 0;
}
section p + .heading { margin-top: 1.4rem; }
a, summary, .link { color: var(--accent, inherit); }
summary { cursor: pointer; padding: .5rem 0; width: fit-content; }
.text { white-space: pre-line; }
blockquote { margin: .5rem 0; padding: .1rem 0 .1rem 1rem; border-left: .25rem solid var(--line); }
dl { margin: .6rem 0; }
dd { margin: 0; }
.facts { display: grid; grid-template-columns: minmax(6.5rem, max-content) 1fr; gap: .35rem 1rem; }
.facts dt { color: var(--soft, inherit); }
.help { color: var(--soft, inherit); font-size: .95rem; }
#sent { list-style: none; margin: .6rem 0 0; padding: 0; counter-reset: step; }
#sent li { counter-increment: step; position: relative; padding-left: 2.4rem; margin: .7rem 0; }
#sent li::before {
  content: counter(step); position: absolute; left: 0; top: .05rem; width: 1.6rem; height: 1.6rem; border-radius: 50%;
  color: var(--accent); font-weight: 700; font-size: .9rem; line-height: 1.6rem; text-align: center;
}
#people { border-radius: .6rem; padding: 1rem; margin: .8rem 0; }
.people { display: block; width: 100%; height: auto; margin-bottom: .6rem; }
.figure { width: 1rem; height: 1.5rem; flex: none; }
.same { fill: var(--accent); stroke: var(--accent); stroke-width: .8; }
.other { fill: none; stroke: var(--edge); stroke-width: .8; }
.key { display: flex; gap: .6rem; align-items: center; margin: .2rem 0; font-weight: 600; }
.question { border: 0; margin: 0; padding: 1.1rem 0; min-width: 0; }
.question > label:not(.choice), .question > legend { display: block; font-weight: 600; padding: 0; }
.question > legend { float: left; width: 100%; }
.question > legend ~ * { clear: both; }
.named > legend, .named > label:not(.choice) { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
.question .help { margin: .1rem 0 .5rem; }
.fault { color: var(--warn, inherit); font-weight: 600; margin: .2rem 0 .5rem; }
.wrong { border-left: .3rem solid var(--warn); padding-left: .9rem; }
progress { display: block; width: 100%; height: .5rem; accent-color: var(--accent); }
input[type="text"], input[type="file"], select {
  font: inherit; width: 100%; max-width: 24rem;
  padding: .6rem .7rem; min-height: 2.9rem; border: 1px solid var(--edge); border-radius: .4rem;
}
[aria-invalid="true"] { border-color: var(--warn); border-width: 2px; }
.choice { display: flex; width: fit-content; padding-right: 1rem; gap: .7rem; align-items: center; min-height: 2.75rem; }
.choice input { width: 1.35rem; height: 1.35rem; flex: none; accent-color: var(--accent); }
:focus-visible { outline: .2rem solid var(--accent, currentcolor); outline-offset: .15rem; }
#answers > div { display: grid; grid-template-columns: 1fr 1fr auto; gap: .2rem 1rem; padding: .7rem 0; border-bottom: 1px solid var(--line); }
#answers dt { font-weight: 600; }
pre {
  font: .9rem/1.6 ui-monospace, "DejaVu Sans Mono", monospace; white-space: pre-wrap; hyphens: none;
  max-height: 14rem; overflow: auto; margin: .5rem 0; padding: .7rem;
  border: 1px solid var(--line); border-radius: .4rem;
}
.legend { font-size: .9rem; color: var(--soft, inherit); margin: .2rem 0 .8rem; }
.legend span + span::before { content: "· "; color: var(--soft, inherit); font-weight: 400; }
.task { color: var(--task); }
.id { color: var(--id); }
.group { color: var(--task); font-weight: 700; text-decoration: underline; }
.payload { color: var(--accent); font-weight: 700; }
.warning { color: var(--warn); border-left: .3rem solid currentcolor; }
.warning, .note { padding: .7rem; border-radius: .3rem; }
.buttons { display: grid; gap: .7rem; margin-top: 1.2rem; }
button {
  font: inherit; font-weight: 600; width: 100%; min-height: 3.2rem; padding: .6rem 1rem;
  border: 2px solid var(--accent, var(--on, currentcolor)); border-radius: .5rem; cursor: pointer;
}
button.quiet { color: var(--accent); border-color: var(--accent); }
button.link {
  background: none; border: 0; padding: .2rem 0; min-height: 1.75rem; width: auto; font-weight: 400; text-decoration: underline;
}
#unfit, #begin { margin-top: 1rem; }
#figures .subheading { margin-top: 1rem; }
.figure-row { padding: .6rem 0; border-bottom: 1px solid var(--line); }
.figure-row p { margin: 0; }
.spread { width: 100%; margin: 1rem 0; border-collapse: collapse; font-variant-numeric: tabular-nums; }
.spread caption { text-align: left; font-weight: 600; padding-bottom: .3rem; }
.spread th { font-weight: 400; text-align: right; }
.spread th, .spread td + td { white-space: nowrap; }
.spread .interval { width: 100%; max-width: none; }
.spread td:nth-child(2) { width: 60%; }
.bar { fill: var(--accent); opacity: .3; }
.interval { display: block; width: 100%; max-width: 26rem; height: auto; }
.axis { stroke: var(--line); stroke-width: 2; }
.line { stroke: var(--accent); stroke-width: 5; stroke-linecap: round; opacity: .45; }
.dot { fill: var(--accent); }
.earlier { fill: none; stroke: var(--ink); stroke-width: 1.5; }
#ledger { font-size: .9rem; }
[hidden] { display: none !important; }
@container (max-width: 30rem) {
  .title { font-size: 1.6rem; }
  section { padding: 1rem; }
  .facts { grid-template-columns: 1fr; gap: 0; }
  .facts dd { margin-bottom: .5rem; }
  #answers > div { grid-template-columns: 1fr auto; }
  #answers dt { grid-column: 1 / -1; }
}
@media (forced-colors: active) {
  .same { fill: CanvasText; stroke: CanvasText; }
  .other, .earlier, .axis { stroke: CanvasText; }
  .dot, .bar { fill: Highlight; }
  .line { stroke: Highlight; }
  button { border-color: ButtonText; }
}
`;

/** @returns {CSSStyleSheet} which no policy on styles forbids */
export function styleSheet() {
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(RULES);
  return sheet;
}
