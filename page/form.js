/** The form of a task: a field per feature and one for the label. Text is set as text, never as HTML. */

const MOST_RADIOS = 6;

/**
 * @param {string} tag
 * @param {object} [properties] of the element; `for` and names with a dash become attributes
 * @param {...(Node | string)} children
 * @returns {HTMLElement}
 */
export function element(tag, properties = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name === "for" || name.includes("-")) made.setAttribute(name, value);
    else made[name] = value;
  }
  made.append(...children);
  return made;
}

/**
 * @param {object} task
 * @returns {{fields: HTMLElement[], read: () => Record<string, string>}} what to show, and how to read
 *   the record: all that was filled in, by name
 */
export function makeForm({ features, label }) {
  const questions = [...features, label].map((asked, i) => makeField(asked, `field-${i}`));
  questions.at(-1).field.classList.add("own");
  return {
    fields: questions.map(({ field }) => field),
    read: () => Object.fromEntries(questions.map(({ name, value }) => [name, value()])),
  };
}

function makeField(asked, id) {
  const choices = asked.categories ?? asked.classes;
  if (choices === undefined) return numberField(asked, id);
  return choices.length <= MOST_RADIOS ? radioField(asked, choices, id) : selectField(asked, choices, id);
}

function numberField(asked, id) {
  const { low, missing = null } = asked;
  const range = `A number, taken as ${low} to ${asked.high}${missing === null ? "" : "; may be left empty"}.`;
  const input = element("input", {
    id, type: "text", inputMode: low < 0 ? "text" : "decimal", autocomplete: "off", "aria-describedby": `${id}-help`,
  });
  const field = element("div", { className: "question" }, element("label", { for: id }, title(asked)), ...help(asked, id, range), input);
  return { name: asked.name, field, value: () => input.value };
}

function radioField(asked, choices, id) {
  const options = optionsOf(asked, choices);
  const inputs = options.map(({ value }) => element("input", { type: "radio", name: id, value }));
  const rows = options.map(({ text }, i) => element("label", { className: "choice" }, inputs[i], element("span", {}, text)));
  const field = element(
    "fieldset", { className: "question", "aria-describedby": `${id}-help` },
    element("legend", {}, title(asked)), ...help(asked, id), ...rows,
  );
  return { name: asked.name, field, value: () => inputs.find(({ checked }) => checked)?.value ?? "" };
}

function selectField(asked, choices, id) {
  const options = optionsOf(asked, choices).map(({ value, text }) => element("option", { value }, text));
  const select = element("select", { id, "aria-describedby": `${id}-help` }, element("option", { value: "" }, "Choose …"), ...options);
  const field = element("div", { className: "question" }, element("label", { for: id }, title(asked)), ...help(asked, id), select);
  return { name: asked.name, field, value: () => select.value };
}

/** The choices, and what stands for a missing and for an unlisted answer where the task allows them. */
function optionsOf({ missing = null, unknown = null }, choices) {
  const options = choices.map((value) => ({ value, text: value }));
  if (missing !== null && !choices.includes("")) options.push({ value: "", text: "No answer" });
  if (unknown !== null) options.push({ value: unknown, text: `Something else (taken as ${unknown})` });
  return options;
}

/** A name for people: words in place of underscores, and the unit. */
function title({ name, unit }) {
  const words = name.replaceAll("_", " ").trim() || name;
  return words[0].toUpperCase() + words.slice(1) + (unit ? ` (${unit})` : "");
}

function help({ description }, id, more = "") {
  const text = [description, more].filter(Boolean).join(" ");
  return [element("p", { id: `${id}-help`, className: "help", hidden: text === "" }, text)];
}
