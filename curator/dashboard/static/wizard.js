/**
 * The form of a new task: one step at a time, a draft that this browser keeps, translations, and what epsilon means.
 *
 * The draft, with its file, stands in IndexedDB until the task is published, the draft is discarded, or somebody
 * signs out (`page.js`). No secret is kept.
 */

const form = document.getElementById("wizard");
const KEY = "new";
const files = ["public", "register"];

/** Do something with the store of drafts; resolves when it is durable. */
function stored(mode, work) {
  return new Promise((resolve, reject) => {
    const opening = indexedDB.open("privet-wizard", 1);
    opening.onupgradeneeded = () => opening.result.createObjectStore("drafts");
    opening.onerror = () => reject(opening.error);
    opening.onsuccess = () => {
      const database = opening.result;
      const transaction = database.transaction("drafts", mode);
      const request = work(transaction.objectStore("drafts"));
      transaction.oncomplete = () => {
        database.close();
        resolve(request.result);
      };
      transaction.onerror = () => reject(transaction.error);
    };
  });
}

const discard = () => stored("readwrite", (drafts) => drafts.delete(KEY)).catch(() => undefined);
const columns = () => [...form.querySelectorAll("[name^='name.']")].map((each) => each.value).join("\n");

const isChoice = (field) => ["checkbox", "radio"].includes(field.type);

function changed(field) {
  if (!field.name || ["file", "hidden"].includes(field.type)) return false;
  if (isChoice(field)) return field.checked !== field.defaultChecked;
  if (field.tagName !== "SELECT") return field.value !== field.defaultValue;
  return field.selectedIndex !== Math.max([...field.options].findIndex((each) => each.defaultSelected), 0);
}

let saving = Promise.resolve();

/** Keep what differs from the form as it came, once its columns are there. */
function save() {
  if (columns() === "") return;
  const fields = [...form.elements].filter(changed).map((each) => [each.name, each.type === "checkbox" ? each.checked : each.value]);
  const chosen = files.map((name) => [name, form.elements[name].files[0]]).filter(([, file]) => file);
  const draft = { columns: columns(), fields, files: chosen, saved: new Date(), step: location.hash.slice(1) };
  saving = saving.then(() => stored("readwrite", (drafts) => drafts.put(draft, KEY))).catch(() => undefined);
}

/** Fill the form in from the draft, if that is of the same columns. */
async function restore() {
  const draft = await stored("readonly", (drafts) => drafts.get(KEY)).catch(() => undefined);
  if (draft?.columns !== columns()) return undefined;
  for (const [name, value] of draft.fields) {
    const field = form.elements.namedItem(name);
    if (field?.type === "checkbox") field.checked = value;
    else if (field) field.value = value; // of radio buttons that with this value
  }
  sayOdds();
  sayWaves();
  sayLanguage();
  for (const each of form.querySelectorAll("[data-column]")) sayAnswers(each);
  showTranslations();
  document.getElementById("translations").open = translations().length > 0;
  return draft.step;
}

/** Offer the draft of an earlier visit. */
async function offer() {
  const draft = await stored("readonly", (drafts) => drafts.get(KEY)).catch(() => undefined);
  const place = document.getElementById("draft");
  if (!draft || columns() !== "") return;
  const [, file] = draft.files.find(([name]) => name === "public");
  place.querySelector("p").textContent = `This browser has a draft of ${draft.saved.toLocaleString()}, with ${file.name}.`;
  place.hidden = false;
  place.querySelector("[data-draft='discard']").onclick = () => {
    place.hidden = true;
    void discard();
  };
  place.querySelector("[data-draft='go-on']").onclick = () => {
    place.hidden = true;
    for (const [name, kept] of draft.files) {
      const transfer = new DataTransfer();
      transfer.items.add(kept);
      form.elements[name].files = transfer.files;
    }
    form.querySelector("[formaction$='/new/columns']").click();
  };
}

/** The number in a field, perhaps with a decimal comma; NaN for `1,125`, which may be two. */
function number(name) {
  const text = form.elements[name]?.value.trim() ?? "";
  return /^[-+]?[1-9]\d{0,2},\d{3}$/u.test(text) ? NaN : Number(text.replace(",", "."));
}

/** The sentence below epsilon, for the number that stands there. */
function sayOdds() {
  const epsilon = number("epsilon");
  const place = form.querySelector("[data-of-hundred]");
  if (place) place.textContent = epsilon > 0 ? Math.ceil(100 / (1 + Math.exp(-epsilon))) : "?";
}

/** Show as many waves as were chosen, and what all answers of one person cost together. */
function sayWaves() {
  const count = form.elements.wave_count?.value;
  if (count === undefined) return;
  for (const each of form.querySelectorAll("[data-wave]")) each.hidden = Number(each.dataset.wave) > Number(count);
  const [epsilon, place] = [number("epsilon"), document.getElementById("lifetime")];
  const lifetime = form.elements.mode.value === "repeat" ? Number(count) * epsilon : epsilon;
  const more = lifetime > Number(place.dataset.cap) ? `, more than the ${place.dataset.cap} that the answer page takes` : "";
  place.className = more ? "problem" : "help";
  place.textContent = count && epsilon > 0 ? `All answers of one person together cost ε ${Number(lifetime.toPrecision(6))} at most (the lifetime ε)${more}.` : "";
}

/** A number with spaces between its thousands, as other pages write it. */
const thousands = (text) => text.replace(/\B(?<![.,]\d*)(?=(?:\d{3})+(?!\d))/gu, "\u202f");

/** The end of a range: four digits have no space. */
const amount = (text) => (/^\D?\d{1,4}(?!\d)/u.test(text) ? text : thousands(text));

/** The answers of a column in a few words: its categories, or the ends of its numbers with their unit. */
function saidAnswers(column) {
  const field = (name) => column.querySelector(`[name^='${name}.']`)?.value ?? "";
  const years = column.querySelector("[value='year']:checked")?.parentElement.textContent.match(/\d{4}/gu);
  const [low, high] = years ?? [field("low"), field("high")];
  const means = column.querySelector("[data-means]")?.value;
  if (low !== "" && !means) return `${amount(low)} to ${amount(high)} ${field("unit")}`.trim();
  const all = [...new Set(answers(column).map((each) => each.trim()).filter(Boolean))];
  return all.slice(0, 8).join(", ") + (all.length > 8 ? ` and ${all.length - 8} more` : "");
}

/** The answers of a column in its summary, as they are to be called. */
function sayAnswers(column) {
  const place = column.querySelector("[data-answers]");
  if (!place) return;
  const all = [...new Set(answers(column).map((each) => each.trim()).filter(Boolean))];
  place.textContent = all.slice(0, 6).join(", ") + (all.length > 6 ? ` and ${all.length - 6} more` : "");
}

const sayLanguage = () => { form.querySelector("[data-unstated]").hidden = form.elements.language.value !== ""; };

// ---- translations: a field for each text of the task, in each language that was chosen

/** The texts of the task by what they belong to, each text once, in the order in which people read them. */
function originals() {
  const seen = new Set();
  const once = (title, texts, question) => {
    const left = texts.map((each) => each.trim()).filter((each) => each && !seen.has(each) && seen.add(each));
    return left.length > 0 ? [{ title, question, texts: left }] : [];
  };
  const study = ["name", "description", "asker_name", "asker_purpose"].map((name) => form.elements[name].value);
  return [...once("The study", study), ...[...form.querySelectorAll("[data-column]")].filter(isAsked).flatMap((column) => {
    const name = column.querySelector("[name^='name.']").value;
    const prompt = column.querySelector("[name^='prompt.']");
    const more = [...column.querySelectorAll(".texts [data-text]")].map((each) => each.value);
    const question = prompt?.value || name;
    return once(prompt?.value || prompt?.placeholder || name, [question, ...more, ...answers(column)], question.trim());
  })];
}

/** The categories of a column, as they are to be called. */
function answers(column) {
  const means = [...column.querySelectorAll("[data-means]")].map((each) => each.value).filter(Boolean);
  if (means.length > 0) return means;
  const called = new Map();
  for (const yes of column.querySelectorAll("[value='yes']:checked")) {
    const [old, name] = yes.closest("fieldset").querySelectorAll("[type='hidden']");
    called.set(old.value, name.value);
  }
  const blank = column.querySelector("[name^='blank.'][value='missing']:checked");
  if (blank) for (const each of column.querySelector("[name^='blanks.']").value.split("\n")) called.set(each, "");
  for (const line of column.querySelector("[name^='rename.']")?.value.split("\n") ?? []) {
    const at = line.lastIndexOf("=");
    if (at >= 0) called.set(line.slice(0, at).trim(), line.slice(at + 1).trim());
  }
  const found = column.querySelector("[name^='categories.']")?.value.split("\n") ?? [];
  const isAnswer = column.querySelector("[name^='void.'][value='answer']:checked") !== null;
  const more = isAnswer ? [column.querySelector("[name^='void_name.']").value] : [];
  return [...found.map((each) => called.get(each.trim()) ?? each), ...more];
}

const isAsked = (column) => Boolean(column.querySelector("[name^='use.']:checked")?.value) || column.querySelector("[name^='name.']")?.value === form.elements.label.value;

const translations = () => JSON.parse(form.elements.translations?.value || "[]");

/** Show a field for each text and language; what was translated before stays. */
function showTranslations() {
  const place = form.querySelector("[data-translations]");
  const names = Object.fromEntries([...form.querySelector("[data-translate]").options].map((each) => [each.value, each.textContent]));
  place.replaceChildren(...translations().map(({ language, texts }) => {
    const known = new Map(texts);
    const group = Object.assign(document.createElement("fieldset"), { lang: language });
    group.append(Object.assign(document.createElement("legend"), { textContent: names[language] ?? language }));
    for (const { title, question, texts: own } of originals()) {
      group.append(Object.assign(document.createElement("b"), { textContent: title }));
      for (const original of own) {
      const label = Object.assign(document.createElement("label"), { textContent: original === question ? "Question" : original });
      const field = Object.assign(document.createElement("textarea"), { rows: 1, value: known.get(original) ?? "" });
      if (original === question) field.setAttribute("aria-label", `Question: ${original}`);
      field.addEventListener("input", () => {
        const now = translations();
        const into = now.find((each) => each.language === language);
        into.texts = into.texts.filter(([text]) => text !== original);
        if (field.value.trim()) into.texts.push([original, field.value.trim()]);
        form.elements.translations.value = JSON.stringify(now);
      });
      label.append(field);
      group.append(label);
      }
    }
    return group;
  }));
}

function addLanguage(select) {
  const now = translations();
  if (select.value && !now.some(({ language }) => language === select.value)) {
    form.elements.translations.value = JSON.stringify([...now, { language: select.value, texts: [] }]);
  }
  select.value = "";
  showTranslations();
  save();
}

// ---- one step at a time, with an index that says what is left

const index = document.getElementById("steps");
const wide = matchMedia("(min-width: 60rem)");
const steps = () => [...form.querySelectorAll("[data-step]")];
const step = (id) => form.querySelector(`[data-step="${id}"]`);
const heading = (id) => step(id).querySelector("h2").textContent;

/** The words of a field's label, without those of help in it. */
function named(field) {
  const label = field.labels[0].cloneNode(true);
  for (const each of label.querySelectorAll("small, input, select, textarea")) each.remove();
  return label.textContent.trim().replace(/[?:]$/u, "");
}

/** What is missing in a step: each a field, and what to say of it. */
function missing(part) {
  const fields = [...part.querySelectorAll("input, select, textarea")].filter((each) => !each.validity.valid);
  const found = fields.map((field) => [field, said(field)]);
  for (const column of [...part.querySelectorAll("[data-column]")].filter(isAsked)) {
    for (const pair of column.querySelectorAll(".decision:has([type='radio'])")) {
      if (!pair.querySelector(":checked")) found.push([pair.querySelector("[type='radio']"), pair.querySelector("legend").textContent]);
    }
    const called = column.querySelector("[name^='void_name.']");
    const isAnswer = column.querySelector("[name^='void.'][value='answer']:checked") !== null;
    if (isAnswer && !called.value.trim()) found.push([called, called.closest("fieldset").querySelector("legend").textContent]);
    const means = [...column.querySelectorAll("[data-means]")];
    const open = means.find((each) => !each.value.trim());
    if (open && means.some((each) => each.value.trim())) found.push([open, column.querySelector(".decision legend").textContent]);
  }
  return found;
}

function said(field) {
  if (!field.validity.valueMissing) return field.type === "url" ? `${named(field)}: it begins with https://` : `${named(field)}: ${field.validationMessage}`;
  return field.type === "file" ? "Choose a file." : field.tagName === "SELECT" ? `${named(field)}: choose one.` : `${named(field)}: fill this in.`;
}

/** What is said at a field: no legend that stands above it anyway. */
function saidHere(field, text) {
  if (!field.closest(".decision")) return text;
  return field.type === "radio" ? "Choose one." : "Fill this in.";
}

/** The element before which a field's fault stands: within the field's own cell of a grid. */
function belowFault(field) {
  const label = field.closest("label");
  if (!label?.parentElement.matches(".two, .grid, .row")) return label ?? field;
  const cell = document.createElement("div");
  label.replaceWith(cell);
  cell.append(label);
  return label;
}

/** Say at each field what is missing there; nothing if nothing is. */
function mark(part, faults) {
  for (const each of part.querySelectorAll(".fault")) each.remove();
  for (const each of part.querySelectorAll("[aria-invalid]")) each.removeAttribute("aria-invalid");
  for (const [field, text] of faults) {
    const line = Object.assign(document.createElement("p"), { className: "problem fault", textContent: saidHere(field, text), id: `fault-${field.name}` });
    field.setAttribute("aria-invalid", "true");
    field.setAttribute("aria-describedby", [...new Set([line.id, ...(field.getAttribute("aria-describedby") ?? "").split(" ").filter(Boolean)])].join(" "));
    belowFault(field).before(line);
  }
}

/** Take back what was said at fields that are filled in now; no other is marked before somebody goes on. */
function unmark(part) {
  mark(part, missing(part).filter(([field]) => field.hasAttribute("aria-invalid")));
}

/** Mark in the index where one is, and what each step lacks. */
function sayLeft(current) {
  const there = new Set(steps().map((each) => each.dataset.step));
  for (const link of index.querySelectorAll("[data-to]")) {
    const { to } = link.dataset;
    const state = link.parentElement.querySelector("small");
    if (there.has(to) && !(to === "data" && there.size === 1)) link.href = `#${to}`;
    else link.removeAttribute("href");
    if (to === current) link.setAttribute("aria-current", "step");
    else link.removeAttribute("aria-current");
    const left = there.has(to) ? missing(step(to)).length : 0;
    const works = to !== "where" || form.querySelector("[data-works]");
    const done = there.size > 1 && to !== "check";
    state.textContent = !done ? "" : left > 0 ? `${left} to fill in` : works ? "done" : "no link yet";
    state.className = done && left === 0 && works ? "is-done" : "";
  }
  const at = [...there].indexOf(current) + 1;
  index.querySelector("summary").textContent = there.size > 1 ? `Step ${at} of ${there.size}: ${heading(current)}` : "Steps";
}

/** Show the step that the address names, or the first; its heading has the focus after a move. */
function show(moved = true) {
  const wanted = location.hash.slice(1);
  const current = step(wanted) ? wanted : "data";
  for (const each of steps()) each.hidden = each.dataset.step !== current;
  index.open = wide.matches;
  sayLeft(current);
  if (current === "check") {
    sayAll();
    if (!document.getElementById("missing").hidden) sayMissing();
  }
  if (!moved) return;
  step(current).querySelector("h2").focus({ preventScroll: true });
  document.querySelector(".wizard").scrollIntoView();
}

/** Go to a step, and perhaps to a field in it. */
function go(id, field = null) {
  if (location.hash !== `#${id}`) history.pushState(null, "", `#${id}`); // Back leads to the step before
  show();
  save();
  if (!field) return;
  for (let fold = field.closest("details"); fold; fold = fold.parentElement.closest("details")) fold.open = true;
  field.focus();
}

/** All that was entered, with a way back to each; what is missing is said above. */
function sayAll() {
  const place = document.getElementById("summary");
  const asked = [...form.querySelectorAll("[data-column]")].filter((each) => each.querySelector("[name^='name.']").value !== form.elements.label.value && isAsked(each));
  const leftOut = [...form.querySelectorAll("[data-column]")].filter((each) => each.querySelector("[name^='name.']").value !== form.elements.label.value && !isAsked(each));
  const prompt = (column) => column.querySelector("[name^='prompt.']")?.value || column.querySelector("[name^='prompt.']")?.placeholder;
  const withAnswers = (column) => [prompt(column), saidAnswers(column)].filter(Boolean).join(" – ");
  const text = (name) => form.elements[name].value.trim();
  const label = [...form.querySelectorAll("[data-column]")].find((each) => each.querySelector("[name^='name.']").value === text("label"));
  const waves = text("wave_count");
  const rows = [
    ["To be predicted", label ? withAnswers(label) || text("label") : "", "questions"],
    [`Asked besides (${asked.length})`, asked.map(withAnswers), "questions"],
    ...(leftOut.length > 0 ? [[`Left out (${leftOut.length})`, leftOut.map(prompt), "questions"]] : []),
    ["Study", text("name"), "study"],
    ["People", thousands(text("holders")), "study"],
    ["Privacy of each answer", `ε = ${text("epsilon")}`, "study"],
    ["When", waves ? `${waves} waves` : `${text("first_day") ? `from ${text("first_day")} ` : ""}until ${text("last_day") || "you close it"}`, "study"],
    ["Who can answer", form.elements.invited.checked ? "only people with an invitation" : "everybody who has the link", "study"],
    ["Who is asking", [text("asker_name"), text("asker_contact"), text("asker_link")].filter(Boolean).join(", "), "asker"],
    ["Purpose", text("asker_purpose"), "asker"],
    ["Languages", [form.elements.language.selectedOptions[0].textContent, ...translations().map(({ language }) => form.querySelector(`[data-translate] [value="${language}"]`)?.textContent ?? language)].join(", "), "asker"],
    ["Where people answer", form.querySelector("[data-works]")?.dataset.works ?? "no link for people yet", "where"],
  ];
  place.replaceChildren(...rows.map(([name, value, to]) => {
    const row = document.createElement("div");
    const link = Object.assign(document.createElement("a"), { href: `#${to}`, textContent: "Change" });
    link.setAttribute("aria-label", `Change: ${name}`);
    const last = document.createElement("dd");
    last.append(link);
    const [lines, is] = [Array.isArray(value) ? value : [value || "missing"], document.createElement("dd")];
    is.className = value ? "" : "is-missing";
    is.append(...lines.map((line) => Object.assign(document.createElement("div"), { textContent: line })));
    row.append(Object.assign(document.createElement("dt"), { textContent: name }), is, last);
    return row;
  }));
}

/** What is missing anywhere, as links to its fields; the number of these. */
function sayMissing() {
  const place = document.getElementById("missing");
  const faults = steps().flatMap((part) => {
    const found = missing(part);
    mark(part, found);
    return found.map(([field, text]) => [part.dataset.step, field, text]);
  });
  place.hidden = faults.length === 0;
  place.className = "problem";
  const list = document.createElement("ul");
  for (const [id, field, text] of faults) {
    const link = Object.assign(document.createElement("a"), { href: `#${id}`, textContent: text });
    link.addEventListener("click", (event) => {
      event.preventDefault();
      go(id, field);
    });
    list.append(Object.assign(document.createElement("li"), {}));
    list.lastChild.append(link);
  }
  place.replaceChildren(Object.assign(document.createElement("b"), { textContent: "This is missing:" }), list);
  return faults.length;
}

/** True if nothing is missing anywhere; else that has the focus. */
function complete() {
  const left = sayMissing();
  if (left > 0) document.getElementById("missing").focus();
  return left === 0;
}

/** Ask whether to publish without a plan, unless there is one of the settings as they are. */
function sayPlanned(planned) {
  const box = form.elements.unplanned;
  if (!box) return;
  box.closest("label").hidden = planned;
  if (planned) box.checked = false;
}

form.addEventListener("click", (event) => {
  if (event.target.dataset.next === undefined) return;
  const part = event.target.closest("[data-step]");
  const faults = missing(part);
  mark(part, faults);
  if (faults.length > 0) go(part.dataset.step, faults[0][0]);
  else go(steps()[steps().indexOf(part) + 1].dataset.step);
});
form.addEventListener("submit", (event) => {
  const first = event.submitter?.dataset.into === "columns";
  const faults = first ? missing(step("data")) : [];
  if (first) mark(step("data"), faults);
  if (faults.length > 0) go("data", faults[0][0]);
  const whole = faults.length === 0 && (first || event.submitter?.dataset.into === "relay" || complete());
  if (whole) return;
  event.preventDefault();
  event.stopPropagation(); // page.js does not send it
});
addEventListener("hashchange", () => {
  if (location.hash === "" || step(location.hash.slice(1))) show();
  save();
});
wide.addEventListener("change", () => { index.open = wide.matches; });

form.addEventListener("input", (event) => {
  if (event.target.name === "epsilon") sayOdds();
  if (["epsilon", "mode", "wave_count"].includes(event.target.name)) sayWaves();
  save();
  const part = steps().find((each) => !each.hidden);
  if (part.querySelector(".fault")) unmark(part);
  sayPlanned(false);
  sayLeft(part.dataset.step);
});
form.addEventListener("change", (event) => {
  if (event.target.name === "language") sayLanguage();
  const column = event.target.closest("[data-column]");
  if (column) sayAnswers(column);
  if (event.target.dataset.translate !== undefined) addLanguage(event.target);
  else if (event.target.dataset.text !== undefined || event.target.name === "label" || column) showTranslations();
});
form.addEventListener("formdata", ({ formData }) => {
  const full = translations().filter(({ texts }) => texts.length > 0); // a language without a text is none
  if (form.elements.translations) formData.set("translations", full.length > 0 ? JSON.stringify(full) : "");
});
form.addEventListener("privet-loaded", (event) => {
  if (event.target.id === "relay") sayLeft("where");
  if (event.target.id === "plan") sayPlanned(event.target.querySelector("[name='planned']") !== null);
  if (event.target.id === "published") sayPlanned(false); // what was refused may be the plan
  if (event.target.id === "preview" && navigator.userActivation?.isActive) event.target.querySelector("a")?.click();
  if (event.target.id !== "columns" || columns() === "") return;
  document.getElementById("draft").hidden = true;
  show(false); // at once, before all steps are drawn below each other
  void restore().then((id) => {
    sayWaves();
    go(step(id) && id !== "data" ? id : "questions");
    save();
  });
});
form.addEventListener("privet-done", (event) => event.detail.until.push(saving.then(discard)));
document.querySelector(".wizard").hidden = false;
show(false);
void offer();
