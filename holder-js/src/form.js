/** The form of a task: a field per feature and one for the label. Text is set as text, never as HTML. */

import { NUMBER } from "./features.js";
import { capitalized } from "./translation.js";

const MOST_RADIOS = 6;
const EMPTY = "(missing)"; // counts where nothing was answered, and is no answer to choose

/**
 * @param {string} tag
 * @param {object} [properties] of the element; `for`, `lang` and names with a dash become attributes
 * @param {...(Node | string)} children
 * @returns {HTMLElement}
 */
export function element(tag, properties = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name === "for" || name === "lang" || name.includes("-")) made.setAttribute(name, value);
    else made[name] = value;
  }
  made.append(...children);
  return made;
}

/**
 * @typedef {object} Field
 * @property {string} name of the feature or label
 * @property {HTMLElement} title what people call it
 * @property {HTMLElement} field what to show
 * @property {HTMLElement} input what gets the focus
 * @property {() => string} value as the protocol reads it
 * @property {() => string} entered what was filled in, in no language
 * @property {(entered: string) => void} enter the same again
 * @property {() => HTMLElement} words the answer in words
 * @property {() => string | null} fault why it does not fit
 * @property {() => string | null} warning how it will count, where that is not as it was given
 */

/**
 * @param {import("./task.js").Task} task
 * @param {import("./texts.js").Texts} texts
 * @param {(text: string) => {text: string, lang: string}} translate of the task's texts
 * @returns {{fields: Field[], read: () => Record<string, string>}} and how to read the record: all
 *   that was filled in, by name
 */
export function makeForm({ features, label, disclosed = [] }, texts, translate) {
  const own = (text, transform = (words) => words) => {
    const { text: words, lang } = translate(text);
    return element("span", { lang }, transform(words));
  };
  const said = features.map((asked) => ({ ...asked, isDisclosed: disclosed.includes(asked.name) }));
  const fields = [...said, label].map((asked, i) => checked(makeField(asked, `field-${i}`, texts, own), `field-${i}`));
  return { fields, read: () => Object.fromEntries(fields.map(({ name, value }) => [name, value()])) };
}

function makeField(asked, id, texts, own) {
  const choices = (asked.categories ?? asked.classes)?.filter((each) => each !== EMPTY || asked.missing !== EMPTY);
  if (choices === undefined) return numberField(asked, id, texts, own);
  return choices.length <= MOST_RADIOS ? radioField(asked, choices, id, texts, own) : selectField(asked, choices, id, texts, own);
}

function numberField(asked, id, texts, own) {
  const { name, low, high } = asked;
  const ends = texts.say("range", { low: texts.number(low, true), high: texts.number(high, true) });
  const range = isRequired(asked) ? ends : `${ends} ${texts.say("optional")}`;
  const input = element("input", {
    id, type: "text", inputMode: low < 0 ? "text" : "decimal", autocomplete: "off", required: isRequired(asked),
    "aria-describedby": `${id}-help`,
  });
  const read = () => {
    const all = texts.typedNumbers(input.value);
    const within = all.filter((each) => low <= Number(each) && Number(each) <= high);
    return within.length === 1 ? within : all;
  };
  const value = () => (read().length > 1 ? input.value.trim() : read()[0]);
  const number = () => (NUMBER.test(value()) ? Number(value()) : NaN);
  const counted = () => Math.min(Math.max(number(), low), high);
  return {
    name, input, value,
    title: title(asked, own),
    entered: value,
    enter: (entered) => { input.value = NUMBER.test(entered) ? texts.number(Number(entered)) : entered; },
    field: element("div", { className: "question" }, element("label", { for: id }, title(asked, own)), ...help(asked, id, own, texts, range), input),
    words: () => (value() === "" ? element("i", {}, texts.say("checkEmpty")) : element("span", {}, texts.number(number(), true))),
    fault() {
      if (value() === "") return isRequired(asked) ? texts.say("faultNumberMissing") : null;
      const [one, other] = read();
      if (other) return texts.say("faultEither", { typed: value(), one: texts.number(Number(one)), other: texts.number(Number(other)) });
      return Number.isFinite(number()) ? null : texts.say("faultNumber", { example: texts.number(low + (high - low) / 2) });
    },
    warning() {
      if (!Number.isFinite(number()) || counted() === number()) return null;
      return texts.say("outside", { value: texts.number(number(), true), counted: texts.number(counted(), true) });
    },
  };
}

function radioField(asked, choices, id, texts, own) {
  const options = optionsOf(asked, choices, texts, own);
  const inputs = options.map(({ value }, i) => element("input", {
    type: "radio", name: id, value, required: isRequired(asked), ...(i === 0 ? { id } : {}),
  }));
  const rows = options.map(({ words }, i) => element("label", { className: "choice" }, inputs[i], words()));
  const chosen = () => inputs.findIndex((input) => input.checked);
  return {
    name: asked.name, input: inputs[0],
    title: title(asked, own),
    entered: () => String(chosen()),
    enter: (entered) => inputs.forEach((input, i) => { input.checked = String(i) === entered; }),
    field: element(
      "fieldset", { className: "question", "aria-describedby": `${id}-help` },
      element("legend", {}, title(asked, own)), ...help(asked, id, own, texts), ...rows,
    ),
    value: () => options[chosen()]?.value ?? "",
    words: () => options[chosen()]?.words() ?? element("i", {}, texts.say("checkEmpty")),
    fault: () => (chosen() < 0 && isRequired(asked) ? texts.say("faultChoice") : null),
    warning: () => null,
  };
}

function selectField(asked, choices, id, texts, own) {
  const options = optionsOf(asked, choices, texts, own);
  const first = element("option", { value: "" }, texts.say("choose"));
  const rows = options.map(({ words }, i) => element("option", { value: i, lang: words().lang }, words().textContent));
  const input = element("select", { id, required: isRequired(asked), "aria-describedby": `${id}-help` }, first, ...rows);
  const chosen = () => (input.value === "" ? undefined : options[Number(input.value)]);
  return {
    name: asked.name, input,
    title: title(asked, own),
    entered: () => input.value,
    enter: (entered) => { input.value = entered; },
    field: element("div", { className: "question" }, element("label", { for: id }, title(asked, own)), ...help(asked, id, own, texts), input),
    value: () => chosen()?.value ?? "",
    words: () => chosen()?.words() ?? element("i", {}, texts.say("checkEmpty")),
    fault: () => (chosen() === undefined && isRequired(asked) ? texts.say("faultChoice") : null),
    warning: () => null,
  };
}

/** A field that shows its fault once it was checked, and its warning at once. */
function checked(made, id) {
  const fault = element("p", { id: `${id}-fault`, className: "fault", hidden: true });
  const warning = element("p", { className: "note", role: "status", hidden: true });
  made.field.append(warning);
  (made.field.querySelector(".help") ?? made.input).after(fault);
  const show = (place, text) => {
    place.textContent = text ?? "";
    place.hidden = text === null;
  };
  const describe = () => {
    const text = made.fault();
    show(fault, text);
    made.field.classList.toggle("wrong", text !== null);
    for (const input of made.field.querySelectorAll("input, select")) {
      if (text === null) input.removeAttribute("aria-invalid");
      else input.setAttribute("aria-invalid", "true");
    }
    const described = made.field.tagName === "FIELDSET" ? made.field : made.input;
    described.setAttribute("aria-describedby", text === null ? `${id}-help` : `${id}-help ${id}-fault`);
    return text;
  };
  made.field.addEventListener("input", () => { // not on change, which comes between press and release of a click elsewhere
    show(warning, made.warning());
    if (!fault.hidden) describe();
  });
  return { ...made, fault: describe };
}

/** Whether leaving it out would not fit. */
const isRequired = ({ missing = null }) => missing === null;

/** The choices, and what stands for an unlisted answer and for none where the task allows them. */
function optionsOf({ missing = null, unknown = null }, choices, texts, own) {
  const options = choices.map((value) => ({ value, words: () => own(value) }));
  const plain = (text) => () => element("span", {}, text);
  if (unknown !== null) options.push({ value: unknown, words: plain(texts.say("other", { name: own(unknown).textContent })) });
  if (missing !== null) options.push({ value: "", words: plain(texts.say("noAnswer")) });
  return options;
}

/** The question; else the name for people, with words in place of underscores. And the unit, if it does not end with that. */
function title({ name, prompt, unit }, own) {
  const made = prompt === undefined ? own(name, capitalized) : own(prompt);
  if (unit && !(prompt ?? name).endsWith(`(${unit})`)) made.append(" (", own(unit), ")");
  return made;
}

function help({ description, isDisclosed = false }, id, own, texts, more = "") {
  const said = [description ? own(description) : "", more, isDisclosed ? texts.say("questionDisclosed") : ""].filter(Boolean);
  const parts = said.flatMap((part, i) => (i === 0 ? [part] : [" ", part]));
  return [element("p", { id: `${id}-help`, className: "help", hidden: parts.length === 0 }, ...parts)];
}
