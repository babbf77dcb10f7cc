/** What a message can give away, as numbers and as a picture of 100 people. */

const SVG = "http://www.w3.org/2000/svg";
const [ROWS, COLUMNS] = [5, 20];

/**
 * Out of 100 people who send one message, half of them with one record and half with another beforehand:
 * how many have the likelier record at most. No message and no two records give more, since the
 * probabilities of a message differ by a factor of e^epsilon at most.
 * @param {number} epsilon what the whole report spends
 * @returns {number}
 */
export const ofHundred = (epsilon) => Math.ceil(100 / (1 + Math.exp(-epsilon)));

/**
 * @param {number} epsilon
 * @returns {number} by which odds change at most, rounded up to three digits
 */
export function odds(epsilon) {
  const factor = Math.exp(epsilon);
  const unit = 10 ** (Math.floor(Math.log10(factor)) - 2);
  return Number((Math.ceil(factor / unit) * unit).toPrecision(3));
}

/**
 * @param {number} many of 100 people
 * @param {string} label what the picture says
 * @returns {SVGElement} 100 people, `many` of them filled
 */
export function people(many, label) {
  const drawn = svg("svg", { class: "people", viewBox: `0 0 ${10 * COLUMNS} ${15 * ROWS}`, role: "img", "aria-label": label });
  for (let i = 0; i < ROWS * COLUMNS; i += 1) drawn.append(person(i < many, 10 * (i % COLUMNS), 15 * Math.floor(i / COLUMNS)));
  return drawn;
}

/** @param {boolean} filled */
export function figure(filled) {
  const drawn = svg("svg", { class: "figure", viewBox: "0 0 10 15", "aria-hidden": "true" });
  drawn.append(person(filled, 0, 0));
  return drawn;
}

function person(filled, x, y) {
  const group = svg("g", { class: filled ? "same" : "other", transform: `translate(${x} ${y})` });
  group.append(svg("circle", { cx: 5, cy: 3.6, r: 2.1 }), svg("path", { d: "M1.7 13.4V10a3.3 3.3 0 0 1 6.6 0v3.4z" }));
  return group;
}

/**
 * @param {string} tag
 * @param {Record<string, string | number>} attributes
 */
export function svg(tag, attributes) {
  const made = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  return made;
}
