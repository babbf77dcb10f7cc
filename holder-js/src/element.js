/**
 * `<privet-answer task="…">`: what a task is about, its form, a check in words, the exact bytes that one button
 * sends, and the receipt.
 *
 * Everything stands in a shadow tree, is set as text, and is styled by a constructed style sheet, so that a policy
 * without inline styles or scripts suffices. The person's record is in the fields alone, until they send.
 */

import { people, figure } from "./explanation.js";
import { element, makeForm } from "./form.js";
import { answer, check, epsilonOf, memberOf, status, turn, validate } from "./holder.js";
import { collectionOf, loadTask, taskIdIn } from "./http.js";
import { splitsOf } from "./disclosures.js";
import { IndexedDBStore } from "./indexeddb-store.js";
import { MemoryStore, disclosed, keptIn, spent } from "./ledger.js";
import { isPanel, lifetimeOf, wholePanel } from "./panels.js";
import { Problem } from "./problem.js";
import { OpenedRecord, platformRandom } from "./report.js";
import { rowsOf } from "./results.js";
import { Wording, groupInWords } from "./review.js";
import { styleSheet } from "./style.js";
import { hex, readTask } from "./task.js";
import { SPOKEN, textsFor } from "./texts.js";
import { best, preferred, translator } from "./translation.js";
import { takePage } from "./whole-page.js";

/** Where the parts of a report are (docs/protocol.md, "Report"), the last three from its end. */
const [ANSWERS_START, ANSWERS_END, ID_START, TASK_START] = [9, 69, 64, 41];

/** What is said of a problem, by its type and its kind, or its type; of any other, that it failed. */
const SAID = {
  "task-not-open not-yet-open": "opensOn", "task-not-open full": "ended", "task-not-open over": "ended", "wrong-clock": "wrongClock",
  "refused groups": "smallGroup", "refused invitation": "invitationMissing", "invalid-request invitation": "invitationWrong",
  "budget-spent task": "tooMuch", "budget-spent year": "spent", "budget-spent disclosed": "disclosedEnough",
  "task-not-open": "notOpen", "task-not-found": "unknownTask", "not-authorized": "invitationWrong",
  "quota-reached": "quota", "invalid-task": "unsafe", "task-mismatch": "unsafe", refused: "unsafe",
  unreachable: "unreachable", overloaded: "unreachable", "storage-failed": "unreachable", "too-many-requests": "unreachable",
  "curator-down": "unreachable", internal: "unreachable", "ledger-failed": "storage",
};

/** Seconds after which a relay that holds a message is asked about it again, one after the other. */
const ASKED_AGAIN = [5, 10, 20, 30];

/** The name of the text about a state for a reason that only this state has. */
const textOf = (state, reason) => `${state}-${reason}`.replace(/-(.)/g, (_, letter) => letter.toUpperCase());

const now = () => Date.now() / 1000;
/** @type {typeof HTMLElement} */
const Base = globalThis.HTMLElement ?? class {}; // so that servers may import it

/**
 * Attributes: `task`, the task's address; `language`, else the browser's; `invitation`; `curator-key`, 64
 * hexadecimal digits; `level` of its first heading, else 2; `theme`, `light` or `dark`, else the system's; `page`,
 * where it is a page of its own and not a part of one;
 * `preview`, a task's bytes in base64url, which is shown as people will see it: nothing is fetched, sent or stored.
 *
 * Dispatches `privet-step` with `{step, title, language}`: `questions`, `check`, `sending`; `receipt` with the
 * answer's `state`; `stopped` with a problem's `type`.
 */
export class PrivetAnswer extends Base {
  static observedAttributes = ["task", "language", "invitation", "curator-key", "level", "preview"];

  #root = null;

  /** @type {Visit | null} */
  #visit = null;

  connectedCallback() {
    if (this.#visit !== null) return;
    if (this.hasAttribute("page")) takePage(this);
    this.#begin();
  }

  attributeChangedCallback() {
    if (this.#visit !== null) this.#begin();
  }

  /**
   * One screen back, from the check or from a question; nothing anywhere else.
   * @returns {boolean} whether there is one before that
   */
  back() {
    return this.#visit?.back() ?? false;
  }

  #begin() {
    if (this.#root === null) {
      this.#root = this.attachShadow({ mode: "open" });
      this.#root.adoptedStyleSheets = [styleSheet()];
    }
    const visit = new Visit(this, (step) => {
      if (visit === this.#visit) this.dispatchEvent(new CustomEvent("privet-step", { detail: step, bubbles: true, composed: true }));
    }, this.#visit, () => this.#begin());
    this.#visit = visit;
    this.#root.replaceChildren(visit.place);
    void visit.run();
  }
}

/** One task before one person. */
class Visit {
  #parts = {};
  #title = "";

  /** @type {import("./texts.js").Texts} */
  #texts;

  /** @type {Wording | null} */
  #wording = null;

  /** @type {import("./form.js").Field[]} */
  #fields = [];

  /** Which question is shown; -1 before the first. */
  #at = -1;

  /** Whether a screen has been shown before. */
  #isMoving = false;

  /** Whether the person has just agreed to take part in a panel, so that the next visit goes on with the questions. */
  #agreed = false;

  /** Whether all questions have been answered once, so that a changed answer leads back to the check. */
  #isChecked = false;

  /** Whether the relay is the curator's own, which is said at the start and before anything is sent. */
  #isTrial = false;

  /** Whether a relay is known to pass the message on only together with others, run by somebody else. */
  #isAmongOthers = false;

  /**
   * @param {PrivetAnswer} host
   * @param {(step: object) => void} dispatch
   * @param {Visit | null} earlier of the same person, perhaps in another language
   * @param {() => void} restart as if the page were opened again
   */
  constructor(host, dispatch, earlier, restart) {
    this.restart = restart;
    const language = host.getAttribute("language");
    this.host = host;
    this.dispatch = dispatch;
    this.earlier = earlier;
    this.languages = language ? [language, ...preferred()] : preferred();
    this.preview = host.getAttribute("preview");
    this.options = {
      store: this.preview === null ? new IndexedDBStore() : new MemoryStore(), languages: this.languages,
      curatorKey: host.getAttribute("curator-key") || undefined, invitation: host.getAttribute("invitation") || undefined,
    };
    this.level = Number(host.getAttribute("level")) || 2;
    this.place = element("div", { id: "answer" });
  }

  async run() {
    this.#texts = await textsFor(this.languages);
    this.place.append(...this.#layout());
    for (const part of this.place.querySelectorAll("[id]")) this.#parts[part.id] = part;
    this.place.lang = this.#texts.language;
    this.#sayAll();
    this.#$("bytes").setAttribute("aria-label", this.#say("bytesLabel"));
    this.#name({ text: this.#say("heading"), lang: this.#texts.language }, "loading");
    this.#offerLanguages();
    this.#tell(this.#say("loading"));
    await this.#guarded(async () => {
      this.url = new URL(this.host.getAttribute("task") ?? "", document.baseURI).href;
      if (this.preview !== null) {
        await this.#showPreview();
        return;
      }
      const earlier = await this.options.store.find(taskIdIn(this.url));
      if (earlier === undefined) await this.#ask();
      else await this.#showEarlier(earlier);
    });
  }

  /** One screen back; whether there is one before that. */
  back() {
    if (this.#$("preview")?.hidden === false) this.#show(this.#at);
    else if (this.#$("form")?.hidden === false) this.#show(this.#at - 1);
    else return false;
    return this.#at >= 0;
  }

  /** Show one screen: a question by its number, or what comes before the first. */
  #show(at) {
    this.#at = at;
    const isStart = at < 0;
    for (const [id, isShown] of [["start", isStart], ["counts", isStart], ["form", !isStart], ["preview", false]]) this.#$(id).hidden = !isShown;
    this.#fields.forEach(({ field }, i) => { field.hidden = i !== at; });
    const total = this.#fields.length;
    this.#$("number").textContent = this.#say("number", { number: at + 1, total });
    [this.#$("progress").max, this.#$("progress").value] = [total, at + 1];
    this.#$("next").textContent = this.#say(this.#isChecked || at === total - 1 ? "check" : "next");
    if (this.#isTrial) this.#$("trial").hidden = !isStart;
    if (this.#isMoving) { // for who opens a page is where they want to be
      this.host.scrollIntoView();
      this.#$(isStart ? "begin" : "number").focus();
    }
    this.#isMoving = true;
    this.#step(isStart ? "start" : "questions");
  }

  #$(id) {
    return this.#parts[id];
  }

  #say(key, values) {
    return (this.#wording ?? this.#texts).say(key, values);
  }

  #step(step, more = {}) {
    this.dispatch({ step, title: this.#title, language: this.#texts.language, ...more });
  }

  #heading(rank, properties, ...children) {
    return element(`h${Math.min(this.level + rank, 6)}`, { className: ["title", "heading", "subheading"][rank], ...properties }, ...children);
  }

  /** All that may be shown, most of it hidden at first. */
  #layout() {
    const said = (tag, key, properties = {}) => element(tag, { "data-text": key, ...properties });
    const titled = (id, key, properties = {}) => this.#heading(1, { id, "data-text": key, ...properties });
    const section = (id, title, properties, ...children) => element("section", { id, "aria-labelledby": title, ...properties }, ...children);
    const details = (id, key, properties, ...children) => element("details", { id, ...properties }, said("summary", key), ...children);
    const mark = (className, key, properties = {}) => said("span", key, { className, ...properties });
    return [
      element("p", { id: "trial", className: "warning", hidden: true }),
      element("p", { id: "speak" }, element("label", { for: "language" }, said("span", "language"), " ", element("select", { id: "language" }))),
      this.#heading(0, { id: "name", tabIndex: -1 }),
      element("p", { id: "state", role: "status" }),
      section(
        "start", "name", { hidden: true },
        element("p", { id: "asks" }), said("p", "inShort"), said("button", "start", { id: "begin", type: "button" }),
        said("p", "choice", { className: "help" }),
        details("who", "whoTitle", {}),
        details("what", "sentTitle", {}, element("ol", { id: "sent" })),
        details("learn", "learnTitle", {}, said("p", "learnLead"), element("div", { id: "people" }), said("p", "learnAfter"), element("p", { id: "odds", className: "help" })),
      ),
      element(
        "form", { id: "form", hidden: true, noValidate: true, autocomplete: "off" },
        section(
          "questions", "number", {},
          this.#heading(1, { id: "number", tabIndex: -1 }), element("progress", { id: "progress", "aria-hidden": "true" }),
          element("div", { id: "fields" }),
          element(
            "div", { className: "buttons" }, element("button", { id: "next", type: "submit" }),
            said("button", "previous", { id: "previous", type: "button", className: "quiet" }),
          ),
          said("p", "questionsStay", { className: "help" }),
          details("unfit", "unfitTitle", {}, said("p", "unfit"), said("button", "unfitButton", { id: "unfit-button", type: "button", className: "quiet" })),
        ),
      ),
      section(
        "preview", "preview-title", { hidden: true }, titled("preview-title", "checkTitle", { tabIndex: -1 }),
        element("p", { id: "stay" }), element("dl", { id: "answers" }), element("p", { id: "group", hidden: true }),
        element("p", {}, element("span", { id: "sends" }), " ", said("span", "checkOnce")),
        details(
          "exact", "bytes", {}, element("p", { id: "size" }), element("pre", { id: "bytes", tabIndex: 0, role: "region" }),
          element(
            "p", { className: "legend" }, mark("task", "bytesTask"), " ", mark("id", "bytesId"), " ",
            mark("group", "bytesGroup", { id: "bytes-group", hidden: true }), " ", mark("payload", "bytesPayload"), " ", said("span", "bytesRest"),
          ),
        ),
        element(
          "div", { className: "buttons" }, said("button", "send", { id: "send", type: "button" }),
          said("button", "previous", { id: "back", type: "button", className: "quiet" }),
        ),
      ),
      section(
        "results", "results-title", { hidden: true }, titled("results-title", "resultsTitle"), element("div", { id: "figures" }),
        said("p", "resultsMayChange", { id: "results-may-change" }), said("p", "resultsLead", { className: "help" }),
      ),
      section(
        "receipt", "receipt-title", { hidden: true }, this.#heading(1, { id: "receipt-title", tabIndex: -1 }),
        ...["outcome", "receipt-facts"].map((id) => element("p", { id })), ...["receipt-group", "receipt-date"].map((id) => element("p", { id, hidden: true })),
        said("p", "resultsLater", { id: "receipt-results" }), said("p", "receiptBack"),
        said("button", "again", { id: "again", type: "button", hidden: true }),
      ),
      said("button", "retry", { id: "retry", type: "button", hidden: true }),
      details("technical", "details", { hidden: true }, element("p", { id: "fault" })),
      details("counts", "limitTitle", { hidden: true }, element("p", { id: "ledger" })),
    ];
  }

  /** Say what stands there whatever happens. */
  #sayAll() {
    for (const place of this.place.querySelectorAll("[data-text]")) place.textContent = this.#say(place.dataset.text);
  }

  #tell(text) {
    this.#$("state").textContent = text;
  }

  #name({ text, lang }, ...step) {
    this.#$("name").replaceChildren(element("span", { lang }, text));
    this.#title = this.#say("title", { name: text });
    this.#step(...step);
  }

  /** Show a problem in place of whatever was going on. */
  async #guarded(work) {
    try {
      await work();
    } catch (error) {
      for (const part of ["start", "form", "preview"]) this.#$(part).hidden = true;
      this.#tell(this.#sayProblem(error));
      this.#$("fault").textContent = error.message;
      this.#$("technical").hidden = isExact(error);
      this.#step("stopped", { type: error.type ?? "failed" });
      if (!(error instanceof Problem)) throw error;
      if (SAID[error.type] === "unreachable") this.#offerAgain(this.#$("retry"), this.restart);
    }
  }

  /** Offer to try once more, and do so once this device has a network again. */
  #offerAgain(button, work) {
    const waiting = new AbortController();
    const tryAgain = () => {
      waiting.abort();
      button.hidden = true;
      if (this.place.isConnected) work();
    };
    button.hidden = false;
    button.onclick = tryAgain;
    addEventListener("online", tryAgain, { signal: waiting.signal });
  }

  #sayProblem({ type, why }) {
    const { opens, closes, clockAhead, panel } = this.task ?? {};
    const isEarly = why === "not-yet-open";
    const isLate = why === "over" && closes !== null && now() >= closes;
    const isTurn = panel !== undefined && !isPanel(this.task);
    const dated = isEarly && isTurn ? "yourTurn" : isLate ? (isTurn && panel.mode === "rotate" ? "turnOver" : "closedOn") : undefined;
    return this.#say(dated ?? SAID[`${type} ${why}`] ?? SAID[type] ?? "failed", {
      host: this.#host, date: this.#texts.date((isEarly ? opens : closes) ?? now()), end: this.#texts.date(closes ?? now()),
      device: this.#texts.date(now()), server: this.#texts.date(now() + (clockAhead ?? 0)),
    });
  }

  get #host() {
    return new URL(this.url).host;
  }

  /** Fetch the task and check that it can be answered, then show its form; nothing of the record exists yet. */
  async #ask() {
    const { url } = this;
    const asked = collectionOf(url, this.options); // beside the task, since each takes a round trip
    asked.catch(() => {}); // said below, if nothing is said before
    this.#open(await loadTask(url, this.options));
    if (this.task.panel?.mode === "rotate" && await memberOf(this.task, this.options.store) === undefined) {
      this.#open(await wholePanel(this.task));
      await check(this.task, this.options);
      await this.#showForm(await asked);
      return;
    }
    const answered = await this.#takeTurn();
    if (answered === undefined) await this.#showForm(await this.#checkAnswerable(this.url === url ? asked : collectionOf(this.url, this.options)));
    else await this.#showEarlier(answered);
  }

  /** Go on with the wave of a panel whose turn it is; the answer to it, if there is one. */
  async #takeTurn() {
    const task = await turn(this.task, this.options);
    if (task === this.task) return undefined;
    this.url = task.url;
    this.#open(task);
    return this.options.store.find(task.id);
  }

  /** Show the form of a task that stands in the page itself, to whoever asks. */
  async #showPreview() {
    const bytes = Uint8Array.from(atob(this.preview.replaceAll("-", "+").replaceAll("_", "/")), (each) => each.charCodeAt(0));
    const task = await readTask(bytes);
    this.url = this.url.replace(/[^/]*$/, task.id);
    const read = { ...task, url: this.url, clockAhead: null, clockSetBy: 0 };
    this.#open(read);
    this.#warn("previewTitle");
    if (task.invited) this.options.invitation = "preview";
    await check(this.task, { ...this.options, now: () => Math.max(now(), task.opens ?? 0) });
    await this.#showForm({});
  }

  /** @param {import("./http.js").Task} task whose texts are said from now on */
  #open(task) {
    this.task = task;
    this.#wording = new Wording(this.#texts, task, this.languages);
    this.#name(this.#wording.own(task.name), "loading");
    this.#sayAll();
    this.#offerLanguages();
  }

  /** The page's own languages, and those that the task speaks besides. */
  #offerLanguages() {
    const { language, translations = [] } = this.task ?? {};
    const more = [language, ...translations.map((each) => each.language)].filter((tag) => tag && best([tag], SPOKEN) === undefined);
    const offered = [...SPOKEN, ...more];
    const now = best(this.languages, offered);
    const place = this.#$("language");
    place.replaceChildren(...offered.map((tag) => element("option", { value: tag, lang: tag, selected: tag === now }, new Intl.DisplayNames([tag], { type: "language" }).of(tag))));
    place.onchange = () => this.host.setAttribute("language", place.value);
  }

  #warn(key) {
    this.#$("trial").textContent = this.#say(key);
    this.#$("trial").hidden = false;
  }

  async #showForm({ asFiles, oneOperator = false }) {
    const { task, earlier } = this;
    this.#isAmongOthers = !oneOperator && (task.smallest_batch ?? 0) > 1;
    this.#isTrial = oneOperator;
    if (oneOperator) this.#warn("oneOperator");
    this.#introduce(asFiles);
    const member = await memberOf(task, this.options.store); // whose lifetime is counted already
    await this.#showLimit({ epsilon: member ? 0 : lifetimeOf(task, epsilonOf(task), now()), splits: await splitsOf(task) });
    const { fields, read } = makeForm(task, this.#texts, this.#wording.own);
    const again = earlier?.task?.id === task.id;
    if (again) earlier.#fields.forEach(({ entered }, i) => fields[i].enter(entered()));
    this.#fields = fields;
    this.random = again && earlier.random || fixedRandomness();
    const goesOn = earlier !== null && earlier.#agreed;
    this.#isMoving = goesOn;
    this.earlier = null;
    this.#$("fields").append(...fields.map(({ field }) => field));
    this.#$("start").querySelector(".help").prepend(this.#say("howMany", { count: fields.length }), " ");
    let ready;
    const review = (opened) => {
      ready = opened;
      ready.draw(this.random());
      this.#preview(ready, fields);
    };
    this.#$("form").addEventListener("submit", (event) => {
      event.preventDefault();
      if (!this.#passes(fields[this.#at])) return;
      const next = this.#isChecked ? fields.findIndex(({ fault }) => fault() !== null) : this.#at + 1;
      if (next >= 0 && next < fields.length) this.#show(next);
      else review(validate(task, read()));
    });
    this.#$("unfit-button").addEventListener("click", () => review(new OpenedRecord(task, null))); // no map of fields: a misfit
    for (const id of ["back", "previous"]) this.#$(id).addEventListener("click", () => this.back());
    this.#$("begin").addEventListener("click", () => (isPanel(task) && this.preview === null ? void this.#guarded(() => this.#takePart()) : this.#show(0)));
    this.#$("send").addEventListener("click", () => void this.#guarded(() => this.#submit(ready)));
    this.#tell("");
    this.#isChecked = again && earlier.#isChecked;
    this.#show(again ? earlier.#at : goesOn ? 0 : -1);
  }

  /** Draw this person's turn, who has agreed to it, and go on with that wave. */
  async #takePart() {
    await turn(this.task, this.options);
    this.#agreed = true;
    this.restart();
  }

  /** Whatever would refuse a report refuses it now, before anything is drawn. */
  async #checkAnswerable(asked) {
    const collection = await asked;
    this.#showResults(collection, this.task, this.#wording.own);
    await check(this.task, this.options);
    const { phase, results } = collection;
    if (phase !== null && phase !== "open") throw new Problem("task-not-open", "It takes no reports now.", results === null ? phase : "over");
    if (collection.invited && !this.options.invitation) throw new Problem("refused", "It needs an invitation.", "invitation");
    return collection;
  }

  /** What came out, if that is known, and whether it may still change. */
  #showResults({ results, settled }, task, own) {
    if (results === null) return;
    this.#$("figures").replaceChildren(...rowsOf(results, task, this.#texts, own, (...children) => this.#heading(2, {}, ...children)));
    this.#$("results-may-change").hidden = settled === true;
    this.#$("results").hidden = false;
  }

  /** Who asks, what is sent, and what anybody could learn from it. */
  #introduce(asFiles) {
    const { asker, description, closes } = this.task;
    const theirs = (text) => {
      const { text: words, lang } = this.#wording.own(text);
      return element("span", { lang, className: "text" }, words);
    };
    const who = this.#$("who");
    if (asker === undefined) {
      this.#$("asks").className = "warning";
      this.#$("asks").textContent = this.#say("whoUnknown");
    } else {
      this.#$("asks").append(element("strong", {}, theirs(asker.name)), ": ", theirs(asker.purpose));
      const link = element("a", { href: asker.link, target: "_blank", rel: "noopener noreferrer" }, asker.link);
      const way = wayTo(asker.contact);
      const contact = way === null ? theirs(asker.contact) : element("a", { href: way }, asker.contact);
      const rows = [["whoName", theirs(asker.name)], ["whoPurpose", theirs(asker.purpose)], ["whoContact", contact], ["whoLink", link]];
      who.append(element("dl", { className: "facts" }, ...rows.flatMap(([key, value]) => [element("dt", {}, this.#say(key)), element("dd", {}, value)])));
    }
    if (description !== "") who.append(element("blockquote", {}, theirs(description)));
    if (asker !== undefined || description !== "") who.append(element("p", { className: "help" }, this.#say("whoTheirs")));
    who.hidden = who.childElementCount === 1;
    const sent = this.#wording.sent({ asFiles, invitation: this.options.invitation });
    const when = isPanel(this.task) ? sent[1] : closes === null ? "" : this.#say("whoDates", { date: this.#texts.date(closes) });
    this.#$("start").querySelector(".help").append(" ", element("span", {}, when));
    this.#$("sent").append(...sent.map((words) => element("li", {}, words)));
    const { many, picture, ofMany, ofFew, odds } = this.#wording.learn();
    this.#$("people").append(
      people(many, picture),
      element("p", { className: "key" }, figure(true), ofMany),
      element("p", { className: "key" }, figure(false), ofFew),
    );
    this.#$("odds").textContent = odds;
  }

  /** Whether what was filled in fits; if not, the fault stands at the field. */
  #passes({ input, fault }) {
    const fits = fault() === null;
    if (!fits) input.focus();
    return fits;
  }

  /** Show the answers in words, and the very bytes that the button sends. */
  #preview(ready, fields) {
    const { bytes } = ready.draw();
    const [fits, told] = [ready.findings.length === 0, ready.disclosed];
    this.#$("stay").textContent = this.#say(fits ? "checkStay" : "checkUnfit");
    this.#$("answers").replaceChildren(...(fits ? fields.map((field, i) => this.#answerRow(field, i)) : []));
    this.#$("sends").textContent = this.#say("checkSends", { size: bytes.length });
    this.#$("size").textContent = this.#say("bytesLead", { size: bytes.length });
    this.#$("bytes").replaceChildren(...parts(bytes, this.task));
    for (const id of ["group", "bytes-group"]) this.#$(id).hidden = told === null;
    if (told !== null) this.#$("group").replaceChildren(element("strong", {}, this.#wording.group(told)));
    [this.#$("form").hidden, this.#$("preview").hidden] = [true, false];
    if (this.#isTrial) this.#$("trial").hidden = false;
    this.#isChecked = fits;
    this.host.scrollIntoView();
    this.#$("preview-title").focus();
    this.#step("check");
  }

  #answerRow({ title, words, warning, input }, at) {
    const change = element("button", { type: "button", className: "link", "aria-label": this.#say("checkChangeOf", { name: title.textContent }) }, this.#say("checkChange"));
    change.addEventListener("click", () => {
      this.#show(at);
      input.focus();
    });
    const remark = warning() === null ? [] : [element("p", { className: "note" }, warning())];
    return element("div", {}, element("dt", {}, title.cloneNode(true)), element("dd", {}, words(), ...remark), element("dd", {}, change));
  }

  /** Store the answer, then send it; the record is gone from the page before that. */
  async #submit(ready) {
    this.#$("form").remove();
    this.#fields = [];
    this.#$("answers").replaceChildren();
    this.#$("preview").hidden = true;
    if (this.preview !== null) {
      this.#tell(this.#say("previewSent"));
      return;
    }
    this.#$("speak").hidden = true;
    this.#tell(this.#say("sending"));
    this.#step("sending");
    navigator.storage?.persist?.().catch(() => {}); // which is a wish
    await this.#deliver(this.task, ready);
  }

  /** Answer, or send what was kept, and show what became of it. */
  async #deliver(task, ready) {
    try {
      const sent = await answer(task, ready, this.options);
      await this.#showReceipt(sent);
      if (sent.state === "held") void this.#guarded(() => this.#follow(sent));
    } catch (error) {
      const kept = error instanceof Problem ? await this.options.store.find(taskIdIn(this.url)) : undefined;
      if (kept === undefined) throw error;
      await this.#showReceipt(kept);
    }
  }

  /** An answer that this browser has given before; a relay that holds it is asked what became of it. */
  async #showEarlier(earlier) {
    this.#name({ text: earlier.name, lang: earlier.lang }, "loading");
    const kept = await this.#standing(earlier);
    await this.#showReceipt(kept);
    const collection = await collectionOf(this.url, { ...this.options, attempts: 1 });
    if (collection.results === null) return;
    const task = await loadTask(this.url, this.options);
    const own = translator(task, this.languages);
    this.#showResults(collection, task, own);
    this.#name(own(task.name), "receipt", { state: kept.state }); // it was kept in the language of that time
    this.#$("receipt-results").hidden = true;
  }

  /** A kept answer as the relay that holds it says that it stands, or with why it does not say. */
  async #standing(kept) {
    if (kept.url !== this.url) return kept;
    try {
      return await status(this.url, this.options) ?? kept;
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      const isGone = error.type === "report-not-found";
      return { ...kept, state: isGone ? "drawn" : "held", reason: isGone ? null : error.type, detail: error.message };
    }
  }

  /** Ask for a minute what became of a message that a relay holds, and show it once it is known. */
  async #follow(held) {
    for (const seconds of ASKED_AGAIN) {
      await new Promise((resolve) => setTimeout(resolve, 1000 * seconds));
      if (!this.place.isConnected) return;
      const kept = await this.#standing(held);
      if (kept.state !== "held") {
        await this.#showReceipt(kept);
        return;
      }
    }
  }

  async #showReceipt({ state, reason, drawn, bytes, epsilon, closes, disclosed: told, detail }) {
    const own = textOf(state, reason);
    const why = own in this.#texts.catalogue ? own : reason === null || state === "lost" ? undefined : SAID[reason] ?? "failed";
    const share = this.#texts.percent(epsilon / this.options.store.caps.year);
    const became = state === "held" && this.#isAmongOthers ? "heldAmongOthers" : state;
    this.#$("receipt-title").textContent = this.#say(`${state}Title`);
    this.#$("outcome").textContent = [why && this.#say(why), this.#say(became, { host: this.#host, share })].filter(Boolean).join(" ");
    this.#$("receipt-facts").textContent = this.#say("receiptFacts", { size: bytes.length, date: this.#texts.date(drawn) });
    this.#$("receipt-group").hidden = told === null;
    this.#$("receipt-group").textContent = told === null ? "" : groupInWords(told, this.#texts, (text) => text);
    this.#$("fault").textContent = detail ?? "";
    this.#$("technical").hidden = detail === null || state === "counted";
    this.#$("receipt-date").hidden = closes === null || now() >= closes;
    if (closes !== null) this.#$("receipt-date").textContent = this.#say("receiptDate", { date: this.#texts.date(closes) });
    this.#$("again").hidden = true;
    const deliver = () => {
      this.#tell(this.#say("sending"));
      void this.#guarded(() => this.#deliver(this.url, null)); // the stored bytes, so no record is needed
    };
    if (state !== "counted" && state !== "held") this.#offerAgain(this.#$("again"), deliver);
    for (const id of ["receipt", "counts"]) this.#$(id).hidden = false;
    this.#$("receipt-title").focus();
    this.#tell("");
    this.#step("receipt", { state });
    await this.#showLimit();
  }

  /** What this page keeps count of, and what a task would add. */
  async #showLimit({ epsilon, splits } = { epsilon: 0, splits: null }) {
    const { store } = this.options;
    const [answers, rows] = [await store.answers(), await store.rows()];
    const share = (used, cap) => this.#texts.percent(used / cap);
    const used = spent(answers, now()) + keptIn(rows, now());
    const said = [this.#say("limit", { used: share(used, store.caps.year), here: location.host })];
    if (epsilon > 0) said.push(this.#say("limitThis", { share: share(epsilon, store.caps.year) }));
    const told = disclosed(answers, now());
    if (told > 0 || splits !== null) said.push(this.#say("limitDisclosed", { used: share(told, store.caps.disclosed) }));
    if (splits !== null) said.push(this.#say("limitThis", { share: share(disclosed(answers, now(), splits) - told, store.caps.disclosed) }));
    this.#$("ledger").textContent = said.join(" ");
  }
}

/** The address of a contact that is all of it an e-mail address or a telephone number; null of any other. */
function wayTo(contact) {
  if (/^[^\s@:/?&%]+@[^\s@:/?&%]+\.[^\s@:/?&%]+$/.test(contact)) return `mailto:${contact}`;
  return /^\+?\d[\d\s().\/-]{4,}$/.test(contact) ? `tel:${contact.replace(/[^+\d]/g, "")}` : null;
}

/** Whether what is said of a problem leaves nothing to tell. */
const isExact = ({ type, why }) => `${type} ${why}` in SAID || type === "wrong-clock";

/**
 * Random bytes that are drawn once: other answers give other messages by the same chance, so nobody
 * can try until a message pleases.
 */
function fixedRandomness() {
  const drawn = [];
  return () => {
    let at = 0;
    return (size) => {
      drawn[at] ??= platformRandom(size);
      at += 1;
      return drawn[at - 1];
    };
  };
}

/** The message in hexadecimal, its parts marked; all but the answers has a fixed length. */
function parts(bytes, { strata, mechanisms }) {
  const text = hex(bytes);
  const payload = bytes.length - ANSWERS_END - mechanisms[0].reportBytes;
  const hidden = strata === null ? ANSWERS_START : payload + mechanisms[0].stratumBytes;
  const places = [
    ...(strata === null ? [] : [[payload, hidden, "group"]]),
    [hidden, bytes.length - ANSWERS_END, "payload"],
    [bytes.length - ID_START, bytes.length - ID_START + 16, "id"],
    [bytes.length - TASK_START, bytes.length - TASK_START + 32, "task"],
  ];
  const nodes = [];
  let at = 0;
  for (const [from, to, className] of places) {
    nodes.push(text.slice(2 * at, 2 * from), element("span", { className }, text.slice(2 * from, 2 * to)));
    at = to;
  }
  return [...nodes, text.slice(2 * at)];
}

if (globalThis.customElements?.get("privet-answer") === undefined) globalThis.customElements?.define("privet-answer", PrivetAnswer);
