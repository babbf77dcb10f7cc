/**
 * The form of a new task. It edits one JSON document, where each field's name is its place (`study.py`), and goes one
 * step at a time; the curator says what is wrong with the document, by field.
 *
 * A draft, with its file, stands in IndexedDB until the task is published, the draft is discarded, or somebody signs
 * out (`page.js`). No secret is kept.
 */

const form = document.getElementById("wizard");
const summary = document.getElementById("faults");
const index = document.getElementById("steps");
const wide = matchMedia("(min-width: 60rem)");
const KEY = "study";
const FILES = ["public", "register"];
const OUTSIDE = new Set([...FILES, "goal", "form_token", "planned", "unplanned", "relay", "start"]);
const CHECK_AFTER_MS = 150;
const { title } = document;

let study = {}; // the document
let changes = {}; // what somebody changed in it, by field
let faults = null; // what is wrong with it, by field; null before the curator has said so
let said = []; // the fields whose faults stand on the page

// ---- the document and its draft

const fields = () => [...form.elements].filter(({ name }) => name && !OUTSIDE.has(name));
const at = (path) => path.split(".").reduce((part, key) => part?.[key], study);

function put(path, value) {
  const keys = path.split(".");
  const last = keys.pop();
  keys.reduce((part, key) => part[key], study)[last] = value;
  changes[path] = value;
}

/** Let the form's fields have the document's values. */
function fill() {
  for (const each of fields()) {
    const value = at(each.name) ?? "";
    if (each.type === "radio") each.checked = each.value === value;
    else if (each.type === "checkbox") each.checked = value === true;
    else each.value = value;
  }
  if (study.wave_count) unfold(document.getElementById("waves"));
  for (const follow of [sayKind, sayOdds, sayWaves, sayGroups, sayLanguage, sayColumns, sayHeadlines, showTranslations]) follow();
  document.getElementById("translations").open = study.translations.length > 0;
}

/** The document as a file, without languages that have no text. */
function asFile() {
  const translations = (study.translations ?? []).filter(({ texts }) => texts.length > 0);
  return new File([JSON.stringify({ ...study, translations })], "study.json", { type: "application/json" });
}

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

const kept = () => stored("readonly", (drafts) => drafts.get(KEY)).catch(() => undefined);
const discard = () => stored("readwrite", (drafts) => drafts.delete(KEY)).catch(() => undefined);
const columns = () => (study.columns ?? []).map(({ found }) => found.name).join("\n");
let saving = Promise.resolve();

/** Keep what was changed in the document, once its columns are there. */
function save() {
  if (columns() === "") return;
  const chosen = FILES.map((name) => [name, form.elements[name].files[0]]).filter(([, file]) => file);
  const draft = {
    columns: columns(),
    changes: { ...changes },
    files: chosen,
    saved: new Date(),
    goal: form.elements.goal.value,
    step: location.hash.slice(1),
  };
  saving = saving.then(() => stored("readwrite", (drafts) => drafts.put(draft, KEY))).catch(() => undefined);
}

/** Take the document that came with the columns, with the draft's changes if that is of the same columns. */
async function begin() {
  [changes, faults, said] = [{}, null, []];
  show(false); // at once, before all steps are drawn below each other
  await saving;
  const draft = await kept();
  if (draft?.columns === columns()) {
    for (const [path, value] of Object.entries(draft.changes)) if (path === "translations" || form.elements.namedItem(path)) put(path, value);
  }
  fill();
  go(draft?.columns === columns() && step(draft.step) && draft.step !== "data" ? draft.step : steps()[1].dataset.step);
  await check();
  sayLeft();
}

/** A moment as other pages write it, whatever the browser's language. */
function saidMoment(moment) {
  const [day, time] = [{ dateStyle: "long" }, { timeStyle: "short" }].map((style) => moment.toLocaleString("en-GB", style));
  return `${day}, ${time}`;
}

/** Offer the draft of an earlier visit. */
async function offer() {
  const draft = await kept();
  const place = document.getElementById("draft");
  if (!draft || columns() !== "") return;
  const [, file] = draft.files.find(([name]) => name === "public") ?? [];
  place.querySelector("p").textContent = `This browser has a draft of ${saidMoment(draft.saved)}, ${file ? `with ${file.name}` : "of one question"}.`;
  place.hidden = false;
  place.querySelector("[data-draft='discard']").onclick = () => {
    place.hidden = true;
    void discard();
  };
  place.querySelector("[data-draft='go-on']").onclick = () => {
    place.hidden = true;
    for (const [name, file] of draft.files) {
      const transfer = new DataTransfer();
      transfer.items.add(file);
      form.elements[name].files = transfer.files;
      if (name === "register") unfold(form.elements[name]);
    }
    aim(draft.goal);
    form.querySelector(`[formaction$='${file ? "/new/columns" : "/new/question"}']`).click();
  };
}

/** Show what the first step needs for what somebody wants to know. */
function aim(goal) {
  form.elements.goal.value = goal;
  document.getElementById("file").hidden = goal === "count";
  for (const each of form.querySelectorAll("[data-in-waves]")) each.hidden = goal !== "change";
  for (const each of form.querySelectorAll("[data-goal][aria-expanded]")) each.setAttribute("aria-expanded", String(each.dataset.goal === goal));
}

// ---- what is wrong

let asked = 0;

/** Ask the curator what is wrong with the document as it is now. */
async function check() {
  const number = ++asked;
  const body = new FormData();
  body.set("form_token", form.elements.form_token.value);
  body.set("study", asFile());
  const response = await fetch(`${form.getAttribute("action")}/check`, { method: "POST", body }).catch(() => null);
  const silent = { faults: { "": "The curator does not answer: try again, or load the page again" }, known: { text: "", tells: false } };
  const { faults: found, known } = response?.ok ? await response.json() : silent;
  for (const each of fields()) if (each.validity.badInput) found[each.name] = "choose a whole date";
  if (classes().length > 2 && !study.headline) found.headline = "choose one";
  if (number !== asked) return;
  faults = found;
  sayKnown(found.holders ? "Type a number of people." : known.text);
  if (isAlone()) sayPlanned(known.tells);
}

/** The precision beside the people, in which the setting that it names is a link. */
function sayKnown(said) {
  const text = said.replaceAll("± ", "±\u00a0");
  const { looks } = form.elements;
  const name = `Advanced: ${named(looks)}`;
  for (const place of form.querySelectorAll("[data-known]")) {
    if (place.textContent === text) continue;
    const [before, after] = text.split(name);
    place.textContent = before;
    if (after === undefined) continue;
    const link = Object.assign(document.createElement("a"), { href: `#${stepOf("looks")}`, textContent: name });
    link.addEventListener("click", (event) => {
      event.preventDefault();
      go(stepOf("looks"), looks);
    });
    place.append(link, after);
  }
}

/** The field of a fault, or that of which it is a part; null if there is none. */
function field(path) {
  for (let name = path; name; name = name.slice(0, Math.max(name.lastIndexOf("."), 0))) {
    const found = form.elements.namedItem(name);
    if (found) return found instanceof RadioNodeList ? found[0] : found;
  }
  return null;
}

const stepOf = (path) => field(path)?.closest("[data-step]").dataset.step ?? "check";
const faultsOf = (id) => Object.keys(faults ?? {}).filter((path) => stepOf(path) === id);

/** The words of a field's label: those of a group's for a wave or a decision, and for a column its name first. */
function named(of) {
  const group = of.closest(".wave, .decision");
  if (group) return group.querySelector("legend").textContent.replace(/\?[^?]*$/u, "");
  const label = of.labels[0].cloneNode(true);
  for (const each of label.querySelectorAll("small, input, select, textarea")) each.remove();
  const column = of.closest("[data-column]")?.querySelector("legend").textContent;
  return [column, label.textContent.trim().replace(/[?:]$/u, "")].filter(Boolean).join(", ");
}

/** What is wrong with a field, in the words of labels. */
function sentence(path) {
  const of = field(path);
  const text = faults[path].replace(/\b[a-z]+(?:_[a-z]+)+\b/gu, (name) => (form.elements[name] ? `“${named(form.elements[name])}”` : name));
  return of ? `${named(of)}: ${text}` : text;
}

/** The element before which a field's fault stands: within the field's own cell of a grid. */
function belowFault(of) {
  const label = of.closest("label");
  if (!label?.parentElement.matches(".two, .grid, .row")) return label ?? of;
  const cell = document.createElement("div");
  label.replaceWith(cell);
  cell.append(label);
  return label;
}

/** Say at each of these fields what is wrong there, and above the step, with links to them. */
function say(paths) {
  for (const each of form.querySelectorAll(".fault")) each.remove();
  for (const each of form.querySelectorAll("[aria-invalid]")) {
    each.removeAttribute("aria-invalid");
    each.setAttribute("aria-describedby", each.getAttribute("aria-describedby").replace(/^fault\S* ?/u, ""));
  }
  const order = [...form.elements];
  said = paths.filter((path) => path in faults).sort((one, other) => order.indexOf(field(one)) - order.indexOf(field(other)));
  for (const path of said) {
    const of = field(path);
    if (!of) continue;
    const text = of.closest(".decision") ? faults[path].replace(/^./u, (first) => first.toUpperCase()) : sentence(path);
    const line = Object.assign(document.createElement("p"), { className: "problem fault", textContent: text, id: `fault-${path}` });
    of.setAttribute("aria-invalid", "true");
    of.setAttribute("aria-describedby", `${line.id} ${of.getAttribute("aria-describedby") ?? ""}`.trim());
    belowFault(of).before(line);
  }
  const here = said.filter((path) => [stepOf(path), "check"].includes(current()));
  const list = document.createElement("ul");
  for (const path of here) {
    const link = Object.assign(document.createElement("a"), { textContent: sentence(path) });
    if (field(path)) link.href = `#${stepOf(path)}`;
    link.addEventListener("click", (event) => {
      event.preventDefault();
      go(stepOf(path), field(path));
    });
    list.append(document.createElement("li"));
    list.lastChild.append(link);
  }
  summary.replaceChildren(Object.assign(document.createElement("h2"), { textContent: "There is a problem" }), list);
  summary.hidden = here.length === 0;
  document.title = summary.hidden ? title : `Error: ${title}`;
}

/** True if nothing is wrong with these fields; else that is said, and has the focus. */
function good(paths) {
  say(paths);
  if (!summary.hidden) summary.focus();
  return paths.length === 0;
}

let timer = 0;

/** Take back what was said of fields that are right now; no other is marked before somebody goes on. */
function checkSoon() {
  clearTimeout(timer);
  timer = setTimeout(async () => {
    const before = JSON.stringify(said.map((path) => faults[path]));
    await check();
    if (before !== JSON.stringify(said.map((path) => faults[path]))) say(said);
    sayLeft();
  }, CHECK_AFTER_MS);
}

// ---- sentences that follow what is typed

/** The number in a field, perhaps with a decimal comma; NaN for `1,125`, which may be two. */
function number(text) {
  return /^[-+]?[1-9]\d{0,2},\d{3}$/u.test(text.trim()) ? NaN : Number(text.trim().replace(",", "."));
}

/** Show the fields of the kind of answer that was chosen for a question without a file. */
function sayKind() {
  const { kind } = study.columns[0];
  for (const each of form.querySelectorAll("[data-kind]")) each.hidden = each.dataset.kind !== kind;
  hideUnused("bins", kind === "numeric");
}

/** Hide a setting that is of no use and has no value. */
function hideUnused(name, isUsed) {
  const setting = form.elements[name]?.closest(".setting");
  if (setting) setting.hidden = !isUsed && !study[name];
}

/** Show the setting about groups where messages say openly to which one somebody belongs. */
function sayGroups() {
  hideUnused("smallest_group", study.columns.some(({ disclosed }) => disclosed));
}

/** How many of a hundred are right of two answers after seeing a message, at most. */
function odds() {
  const epsilon = number(study.epsilon);
  return epsilon > 0 ? Math.ceil(100 / (1 + Math.exp(-epsilon))) : "?";
}

/** The sentence below epsilon, for the number that stands there. */
function sayOdds() {
  form.querySelector("[data-of-hundred]").textContent = odds();
}

/** When the study opens once it is published. */
function sayOpening() {
  const first = study.wave_count ? study.waves[0].first : study.opens;
  const isLater = first > new Date().toISOString().slice(0, 10);
  document.getElementById("opening").textContent = study.draft ? "The study is published as a draft, which takes no answers until you open it." : isLater ? `The study opens on ${first}.` : "The study opens at once.";
}

/** Show as many waves as were chosen, in place of the study's own days, and what all answers of one person cost together. */
function sayWaves() {
  const count = Number(study.wave_count);
  for (const name of ["opens", "closes"]) form.elements[name].closest(".setting").hidden = count > 0;
  for (const each of form.querySelectorAll("[data-wave]")) each.hidden = Number(each.dataset.wave) > count;
  const [epsilon, place] = [number(study.epsilon), document.getElementById("lifetime")];
  const lifetime = study.mode === "repeat" ? count * epsilon : epsilon;
  const more = lifetime > Number(place.dataset.cap) ? `, more than the ${place.dataset.cap} that the answer page takes` : "";
  place.className = more ? "problem" : "help";
  place.textContent = count && epsilon > 0 ? `All answers of one person together cost ε ${Number(lifetime.toPrecision(6))} at most (the lifetime ε)${more}.` : "";
}

/** Which languages of the study's texts the answer page's own words are not in. */
function sayLanguage() {
  form.querySelector("[data-unstated]").hidden = Boolean(study.language);
  const [, others] = form.elements.language.querySelectorAll("optgroup");
  const chosen = [study.language, ...study.translations.map(({ language }) => language)];
  const unspoken = [...others.children].filter(({ value }) => chosen.includes(value)).map((each) => each.textContent);
  const place = document.getElementById("unspoken");
  place.querySelector("b").textContent = new Intl.ListFormat("en", { type: "disjunction" }).format(unspoken);
  place.hidden = unspoken.length === 0;
}

/** A number with spaces between its thousands, as other pages write it. */
const thousands = (text) => text.replace(/\B(?<![.,]\d*)(?=(?:\d{3})+(?!\d))/gu, "\u202f");

/** The end of a range: four digits have no space. */
const amount = (text) => (/^\D?\d{1,4}(?!\d)/u.test(text) ? text : thousands(text));

const lines = (text) => text.split("\n").map((each) => each.trim()).filter(Boolean);

/** The words by which a column's two values are called; none if they stay as they are. */
const words = ({ means, as_is: stay }) => (stay ? [] : means.filter(Boolean));

/** True if a pair of answers is one by what was decided of it, or of all spellings at once. */
const isOne = ({ one, spelled }, place) => one[place < spelled ? 0 : place] === "yes";

/** True if a column is a number after what was decided of the texts among its numbers. */
function isDecidedNumber(column) {
  const { found, blank } = column;
  if (!found.is_number || found.feature?.kind === "numeric") return false;
  return Object.keys(found.blanks).length > 0 ? blank === "missing" : found.merges.every((_, place) => isOne(column, place));
}

/** True if a column counts as a number: by its kind, or by what was decided of it. */
const isNumber = (column) => words(column).length === 0 && (column.kind === "numeric" || isDecidedNumber(column));

/** The categories of a column, as they are to be called; of a label also what becomes of empty rows. */
function answers(column) {
  const { found, blank, void: gap, void_name: name, rename, categories } = column;
  const isLabel = found.name === study.label;
  const ofEmpty = isLabel && found.empty > 0 && column.empty === "answer" ? [column.empty_name] : [];
  if (words(column).length > 0) return [...words(column), ...ofEmpty];
  const called = new Map(found.merges.filter((_, place) => isOne(column, place)).map((pair) => [pair.old, pair.new]));
  if (blank === "missing") for (const each of Object.keys(found.blanks)) called.set(each, "");
  for (const line of lines(rename)) {
    const equals = line.lastIndexOf("=");
    if (equals >= 0) called.set(line.slice(0, equals).trim(), line.slice(equals + 1).trim());
  }
  const listed = lines(categories).filter((each) => each !== found.feature?.missing);
  const all = [...listed.map((each) => called.get(each) ?? each), ...(gap === "answer" ? [name] : []), ...ofEmpty];
  return [...new Set(all.filter(Boolean))];
}

const some = (all, most) => all.length <= most + 1 ? all.join(", ") : `${all.slice(0, most).join(", ")} and ${all.length - most} more`;

/** The ends of a column's numbers as they are published: those far from the others too, if they are answers. */
function ends({ found, low, high, blank }) {
  const far = blank === "answer" && found.feature?.kind === "numeric" ? Object.keys(found.blanks).map(Number) : [];
  if (far.length === 0) return [low, high];
  return [Math.min(number(low), ...far), Math.max(number(high), ...far)].map(String);
}

/** The answers of a column in a few words: its categories, or the ends of its numbers with their unit. */
function saidAnswers(column, most = 8) {
  const { numbers, years, feature } = column.found;
  const range = ([low, high], unit) => `${amount(low)} to ${amount(high)} ${unit}`.trim();
  if (column.use === "number") return range([String(numbers.low), String(numbers.high)], numbers.unit);
  if (column.use === "year") return range(years.map(String), "");
  if (isNumber(column)) return range(ends(column), column.unit);
  return feature?.kind === "numeric" && words(column).length === 0 ? "each number in your file" : some(answers(column), most);
}

/** True if people may leave a column's question open, since records of the file do. */
function mayBeEmpty({ found, blank, void: gap, rename }) {
  const [blanks, voids] = [found.blanks, found.voids].map((each) => Object.keys(each).length > 0);
  return found.empty > 0 || (blanks && blank === "missing") || (voids && gap === "missing") || lines(rename).some((each) => each.endsWith("="));
}

/** The answers of each column in its row, as they are to be called, and the fields that its kind needs. */
function sayColumns() {
  form.querySelectorAll("[data-column]").forEach((row, place) => {
    const column = study.columns[place];
    const [text, kind, isLabel] = [row.querySelector("[data-answers]"), row.querySelector("[name$='.kind']"), column.found.name === study.label];
    if (text) text.textContent = saidAnswers(column, 6);
    for (const each of row.querySelectorAll("[data-of-label]")) each.hidden = !isLabel;
    for (const each of row.querySelectorAll("[data-of-question]")) each.hidden = isLabel;
    for (const each of row.querySelectorAll("[data-as]")) each.hidden = each.dataset.as !== (isNumber(column) ? "number" : "answers");
    if (!kind) return;
    kind.disabled = isDecidedNumber(column);
    kind.value = isNumber(column) ? "numeric" : column.kind;
    kind.closest("label").hidden = words(column).length > 0;
  });
}

/** The answers to the question that is wanted or asked alone; none of a number. */
function classes() {
  const column = study.columns.find(({ found }) => found.name === study.label);
  if (!column) return [];
  const { found: { feature, label_type: type, label_as_number: asNumber } } = column;
  const isOfTexts = feature?.kind !== "numeric";
  const byKind = isNumber(column) ? (column.alone ? "range" : isOfTexts ? asNumber : type) : "classes";
  if ((study.label_type || byKind) !== "classes") return [];
  if (!isNumber(column) || isOfTexts) return answers(column);
  return Array.from({ length: feature.high - feature.low + 1 }, (_, place) => String(feature.low + place)); // few whole numbers
}

/** Let the answer of which headlines speak be chosen among the answers, where there are several. */
function sayHeadlines() {
  const [choice, all] = [form.elements.headline, classes()];
  choice.closest(".setting").hidden = all.length < 2;
  const yes = all.filter((each) => choice.dataset.yes.split(" ").includes(each.toLowerCase()));
  choice.options[0].textContent = all.length > 2 ? "choose one" : `${yes.length === 1 ? yes[0] : all.at(-1)} (chosen for you)`;
  choice.replaceChildren(choice.options[0], ...all.map((each) => new Option(each)));
  choice.value = all.includes(study.headline) ? study.headline : "";
  if (choice.value !== (study.headline ?? "")) put("headline", choice.value);
}

const isAlone = () => study.columns.some(({ alone }) => alone);
const isAsked = (column) => Boolean(column.use) || column.found.name === study.label;

/** A column's question as people read it. */
const promptOf = (column) => `columns.${study.columns.indexOf(column)}.prompt`;
const question = (column) => column.prompt.trim() || form.elements[promptOf(column)]?.placeholder || column.found.name;

// ---- translations: a field for each text of the task, in each language that was chosen

/** The texts of the task by what they belong to, each text once, in the order in which people read them. */
function originals() {
  const seen = new Set();
  const once = (heading, texts, prompt) => {
    const left = texts.map((each) => each?.trim()).filter((each) => each && !seen.has(each) && seen.add(each));
    return left.length > 0 ? [{ heading, prompt, texts: left }] : [];
  };
  return [...once("The study", [study.name, study.description, study.asker.name, study.asker.purpose]), ...study.columns.filter(isAsked).flatMap((column) => {
    const prompt = column.prompt.trim() || column.found.name;
    return once(question(column), [prompt, column.description, column.unit, ...answers(column)], prompt);
  })];
}

/** Show a field for each text and language; what was translated before stays. */
function showTranslations() {
  const place = form.querySelector("[data-translations]");
  const names = Object.fromEntries([...form.querySelector("[data-translate]").options].map((each) => [each.value, each.textContent]));
  place.replaceChildren(...study.translations.map((into) => {
    const { language } = into;
    const known = new Map(into.texts);
    const group = Object.assign(document.createElement("fieldset"), { lang: language });
    group.append(Object.assign(document.createElement("legend"), { textContent: names[language] ?? language }));
    for (const { heading, prompt, texts } of originals()) {
      group.append(Object.assign(document.createElement("b"), { textContent: heading }));
      for (const original of texts) {
        const label = Object.assign(document.createElement("label"), { textContent: original === prompt ? "Question" : original });
        const text = Object.assign(document.createElement("textarea"), { rows: 1, value: known.get(original) ?? "" });
        if (original === prompt) text.setAttribute("aria-label", `Question: ${original}`);
        text.addEventListener("input", () => {
          into.texts = into.texts.filter(([each]) => each !== original);
          if (text.value.trim()) into.texts.push([original, text.value.trim()]);
          put("translations", study.translations);
        });
        label.append(text);
        group.append(label);
      }
    }
    return group;
  }));
}

function addLanguage(select) {
  const isNew = select.value && !study.translations.some(({ language }) => language === select.value);
  if (isNew) put("translations", [...study.translations, { language: select.value, texts: [] }]);
  select.value = "";
  showTranslations();
  sayLanguage();
  save();
}

// ---- one step at a time, with an index that says what is left

const steps = () => [...form.querySelectorAll("[data-step]")];
const step = (id) => form.querySelector(`[data-step="${id}"]`);
const works = () => form.querySelector("[data-works]");
const current = () => (step(location.hash.slice(1)) ? location.hash.slice(1) : "data");

/** Mark in the index where one is, and what each step lacks. */
function sayLeft() {
  const there = steps().map((each) => each.dataset.step);
  for (const link of index.querySelectorAll("[data-to]")) {
    const { to } = link.dataset;
    link.parentElement.hidden = there.length > 1 ? !there.includes(to) : to === "question";
    const state = link.parentElement.querySelector("small");
    if (there.length > 1 && there.includes(to)) link.href = `#${to}`;
    else link.removeAttribute("href");
    if (to === current()) link.setAttribute("aria-current", "step");
    else link.removeAttribute("aria-current");
    const left = faultsOf(to).length;
    const isDone = to !== "where" || works();
    const known = faults !== null && there.length > 1 && there.includes(to) && to !== "check";
    state.textContent = !known ? "" : left > 0 ? `${left} to fill in` : isDone ? "done" : "no link yet";
    state.className = known && left === 0 && isDone ? "is-done" : "";
  }
  const heading = step(current()).querySelector("h2").textContent;
  index.querySelector("summary").textContent = there.length > 1 ? `Step ${there.indexOf(current()) + 1} of ${there.length}: ${heading}` : "Steps";
}

/** Show the step that the address names, or the first; its heading has the focus after a move. */
function show(moved = true) {
  for (const each of steps()) each.hidden = each.dataset.step !== current();
  index.open = wide.matches;
  say(said);
  sayLeft();
  if (current() === "check") sayAll();
  if (!moved) return;
  step(current()).querySelector("h2").focus({ preventScroll: true });
  document.querySelector(".wizard").scrollIntoView();
}

/** Open all folds that an element is in, and its own. */
function unfold(to) {
  for (let fold = to.closest("details"); fold; fold = fold.parentElement.closest("details")) fold.open = true;
}

/** Go to a step, and perhaps to a field in it. */
function go(id, to = null) {
  if (location.hash !== `#${id}`) history.pushState(null, "", `#${id}`); // Back leads to the step before
  show();
  save();
  if (!to) return;
  unfold(to);
  to.focus();
}

/** All that was entered, with a way back to each. */
function sayAll() {
  sayOpening();
  const others = study.columns.filter(({ found }) => found.name !== study.label);
  const [yes, no] = [others.filter(isAsked), others.filter((each) => !isAsked(each))];
  const withAnswers = (column) => {
    const isOptional = column.found.name !== study.label && mayBeEmpty(column);
    return [question(column), saidAnswers(column) + (isOptional ? "; may be left empty" : "")].filter(Boolean).join(" – ");
  };
  const label = study.columns.find(({ found }) => found.name === study.label);
  const { name, contact, link, purpose } = study.asker;
  const languages = [study.language, ...study.translations.map(({ language }) => language)];
  const spoken = (tag) => [...form.elements.language.options].find(({ value }) => value === (tag ?? ""))?.textContent ?? tag;
  const days = study.waves.slice(0, Number(study.wave_count));
  const bare = [label, ...yes].filter((column) => column && !column.prompt.trim());
  const rows = [
    ...(isAlone() ? [["Question", withAnswers(label), "label"]] : [
      ["Answer you want to know", label ? withAnswers(label) : "", "label"],
      [`Asked besides (${yes.length})`, yes.map(withAnswers), "label"],
      ...(bare.length > 0 ? [[`Without a question (${bare.length})`, `People will read ${some(bare.map((column) => `“${question(column)}”`), 8)}`, promptOf(bare[0])]] : []),
    ]),
    ...(no.length > 0 ? [[`Left out (${no.length})`, no.map(question), "label"]] : []),
    ["Study", study.name || (isAlone() ? question(label) : ""), "name"],
    ["People", faults?.holders ? "" : `${thousands(String(study.holders).replace(/\D/gu, ""))}${study.wave_count ? " in each wave" : ""}`, "holders"],
    ...(study.description?.trim() ? [["About the study", study.description.trim(), "description"]] : []),
    ["Privacy of each person", `ε = ${study.epsilon}${odds() === "?" ? "" : `: somebody who thinks two answers equally likely is at most ${odds()}\u00a0% sure of either after seeing the message`}`, "epsilon"],
    ["When", study.wave_count ? days.map(({ first, last }, place) => `wave ${place + 1}: ${first} to ${last}`) : `${study.opens ? `from ${study.opens} ` : ""}until ${study.closes || "you close it"}`, study.wave_count ? "waves.0.first" : "opens"],
    ["Who can answer", study.invited ? "only people with an invitation" : "everybody who has the link", "invited"],
    ["Who is asking", [name, contact, link].filter(Boolean).join(", "), "asker.name"],
    ["Purpose", purpose, "asker.purpose"],
    ["Languages", languages.map(spoken).join(", "), "language"],
    ["Where people answer", works()?.dataset.works ?? "no link for people yet", "relay"],
  ];
  document.getElementById("summary").replaceChildren(...rows.map(([term, value, name]) => {
    const to = field(name) ? stepOf(name) : "question";
    const row = document.createElement("div");
    const back = Object.assign(document.createElement("a"), { href: `#${to}`, textContent: "Change" });
    back.setAttribute("aria-label", `Change: ${term}`);
    back.addEventListener("click", (event) => {
      event.preventDefault();
      go(to, field(name));
    });
    const [is, last] = [document.createElement("dd"), document.createElement("dd")];
    last.append(back);
    is.className = value ? "" : "is-missing";
    is.append(...[value || "missing"].flat().map((line) => Object.assign(document.createElement("div"), { textContent: line })));
    row.append(Object.assign(document.createElement("dt"), { textContent: term }), is, last);
    return row;
  }));
}

/** Ask whether to publish without a plan, unless there is one of the settings as they are. */
function sayPlanned(planned) {
  const box = form.elements.unplanned;
  if (!box) return;
  box.closest("label").hidden = planned;
  if (planned) box.checked = false;
}

form.addEventListener("click", (event) => {
  const button = event.target.closest("button[type='button'][data-goal]");
  if (button) aim(button.dataset.goal);
});
/** Take a number of people from a plan, and plan with it. */
form.addEventListener("click", ({ target }) => {
  if (!target.dataset.people) return;
  form.elements.holders.value = target.dataset.people;
  form.elements.holders.dispatchEvent(new Event("input", { bubbles: true }));
  sayAll();
  form.requestSubmit(form.querySelector("[formaction$='/new/plan']"));
});
form.addEventListener("click", async (event) => {
  if (event.target.dataset.next === undefined) return;
  const id = current();
  clearTimeout(timer);
  await check();
  const left = steps().slice(steps().indexOf(step(id)) + 1).filter(({ dataset }) => dataset.step !== "where" || !works());
  if (good(faultsOf(id))) go(left[0].dataset.step);
  else sayLeft();
});

let isGood = false;
form.addEventListener("submit", async (event) => {
  const { submitter } = event;
  if (submitter?.dataset.into === "published" && document.getElementById("published").hasAttribute("aria-busy")) {
    event.preventDefault();
    event.stopPropagation(); // it is being published
    return;
  }
  if (isGood) for (const id of ["preview", "plan", "published"]) document.querySelector(`#${id} .problem`)?.remove(); // which may stand there of another button
  if (isGood || submitter?.dataset.into === "relay") return;
  if (submitter?.dataset.goal) aim(submitter.dataset.goal);
  if (submitter?.getAttribute("formaction")?.endsWith("/new/question")) return;
  if (submitter?.dataset.into === "columns") {
    faults = form.elements.public.files.length > 0 ? {} : { public: "choose a file" };
    if (good(Object.keys(faults))) return;
  }
  event.preventDefault();
  event.stopPropagation(); // page.js does not send it
  if (submitter?.dataset.into === "columns") return;
  clearTimeout(timer);
  await check();
  sayLeft();
  if (!good(Object.keys(faults))) return;
  isGood = true;
  form.requestSubmit(submitter);
  isGood = false;
});
form.addEventListener("formdata", ({ formData }) => {
  for (const name of [...formData.keys()]) if (!OUTSIDE.has(name)) formData.delete(name);
  formData.set("study", asFile());
});
form.addEventListener("input", ({ target }) => {
  const isFile = FILES.includes(target.name); // which a plan depends on, too
  if (OUTSIDE.has(target.name) && !isFile) return;
  if (target.name && !isFile) put(target.name, target.type === "checkbox" ? target.checked : target.value);
  if (columns() === "") return;
  sayOdds();
  sayWaves();
  save();
  if (!isAlone()) sayPlanned(false);
  checkSoon();
});
form.addEventListener("change", ({ target }) => {
  if (columns() === "") return;
  sayKind();
  sayGroups();
  sayLanguage();
  sayColumns();
  sayHeadlines();
  if (target.dataset.translate !== undefined) addLanguage(target);
  else if (target.name) showTranslations();
});
form.addEventListener("privet-loaded", ({ target }) => {
  if (target.id === "relay") sayLeft();
  if (target.id === "plan") sayPlanned(target.querySelector("[name='planned']") !== null);
  if (target.id === "published" && !isAlone()) sayPlanned(false); // what was refused may be the plan
  if (target.id === "preview" && navigator.userActivation?.isActive) target.querySelector("a")?.click();
  const proposed = target.id === "columns" && document.getElementById("proposed");
  if (!proposed) return;
  study = JSON.parse(proposed.dataset.study);
  if (columns() === "") return;
  document.getElementById("draft").hidden = true;
  void begin();
});
form.addEventListener("privet-done", (event) => event.detail.until.push(saving.then(discard)));
addEventListener("hashchange", () => {
  if (location.hash === "" || step(location.hash.slice(1))) show();
  save();
});
wide.addEventListener("change", () => { index.open = wide.matches; });
document.querySelector(".wizard").hidden = false;
show(false);
void offer();
