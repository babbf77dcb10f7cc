/**
 * The form of a new task: a draft that this browser keeps, translations, and what epsilon means.
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
  const draft = { columns: columns(), fields, files: chosen, saved: new Date() };
  saving = saving.then(() => stored("readwrite", (drafts) => drafts.put(draft, KEY))).catch(() => undefined);
}

/** Fill the form in from the draft, if that is of the same columns. */
async function restore() {
  const draft = await stored("readonly", (drafts) => drafts.get(KEY)).catch(() => undefined);
  if (draft?.columns !== columns()) return;
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

/** The sentence below epsilon, for the number that stands there. */
function sayOdds() {
  const epsilon = Number(form.elements.epsilon?.value);
  const place = form.querySelector("[data-of-hundred]");
  if (place && epsilon > 0) place.textContent = Math.ceil(100 / (1 + Math.exp(-epsilon)));
}

/** Show as many waves as were chosen, and what all answers of one person cost together. */
function sayWaves() {
  const count = form.elements.wave_count?.value;
  if (count === undefined) return;
  for (const each of form.querySelectorAll("[data-wave]")) each.hidden = Number(each.dataset.wave) > Number(count);
  const [epsilon, place] = [Number(form.elements.epsilon.value), document.getElementById("lifetime")];
  const lifetime = form.elements.mode.value === "repeat" ? Number(count) * epsilon : epsilon;
  const more = lifetime > Number(place.dataset.cap) ? `, more than the ${place.dataset.cap} that the answer page takes` : "";
  place.className = more ? "problem" : "help";
  place.textContent = count && epsilon > 0 ? `All answers of one person together cost ε ${Number(lifetime.toPrecision(6))} at most (the lifetime ε)${more}.` : "";
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
  const called = new Map();
  for (const yes of column.querySelectorAll("[value='yes']:checked")) {
    const [old, name] = yes.closest("fieldset").querySelectorAll("[type='hidden']");
    called.set(old.value, name.value);
  }
  for (const line of column.querySelector("[name^='rename.']")?.value.split("\n") ?? []) {
    const at = line.lastIndexOf("=");
    if (at >= 0) called.set(line.slice(0, at).trim(), line.slice(at + 1).trim());
  }
  const found = column.querySelector("[name^='categories.']")?.value.split("\n") ?? [];
  return found.map((each) => called.get(each.trim()) ?? each);
}

const isAsked = (column) => column.querySelector("[name^='use.']")?.checked || column.querySelector("[name^='name.']")?.value === form.elements.label.value;

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

form.addEventListener("input", (event) => {
  if (event.target.name === "epsilon") sayOdds();
  if (["epsilon", "mode", "wave_count"].includes(event.target.name)) sayWaves();
  save();
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
  if (event.target.id === "columns") void restore().then(sayWaves).then(save);
});
form.addEventListener("privet-done", (event) => event.detail.until.push(saving.then(discard)));
void offer();
