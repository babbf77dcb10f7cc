/**
 * `<privet-answer task="…">`: what a task is about, its form, a check in words, the exact bytes that one button
 * sends, and the receipt.
 *
 * Everything stands in a shadow tree, is set as text, and is styled by a constructed style sheet, so that a policy
 * without inline styles or scripts suffices. The person's record is in the fields alone, until they send.
 */

import { calendar } from "./calendar.js";
import { people, figure } from "./explanation.js";
import { element, makeForm } from "./form.js";
import { answer, answersTo, check, codeToKeep, epsilonOf, keepAnswered, memberOf, restore, status, turn, validate } from "./holder.js";
import { checkPhase, collectionOf, loadTask, taskIdIn } from "./http.js";
import { splitsOf } from "./disclosures.js";
import { IndexedDBStore } from "./indexeddb-store.js";
import { MemoryStore, disclosed, keptIn, spent } from "./ledger.js";
import { isPanel, lifetimeOf, numberOf, partOf, turnsOf, waveTask, wholePanel } from "./panels.js";
import { Problem } from "./problem.js";
import { OpenedRecord, platformRandom } from "./report.js";
import { around, rowsOf } from "./results.js";
import { Wording, groupInWords } from "./review.js";
import { styleSheet } from "./style.js";
import { hex, readTask } from "./task.js";
import { SPOKEN, textsFor } from "./texts.js";
import { best, preferred, translator } from "./translation.js";
import { takePage } from "./whole-page.js";

/** Where the parts of a report are (docs/protocol.md, "Report"), the last three from its end; `QUESTION` of one answer. */
const [ANSWERS_START, QUESTION, ANSWERS_END, ID_START, TASK_START] = [9, 11, 69, 64, 41];

/** What is said of a problem, by its type and its kind, or its type; of any other, that it failed. */
const SAID = {
  "task-not-open not-yet-open": "opensOn", "task-not-open over": "ended", "wrong-clock": "wrongClock",
  "refused groups": "smallGroup", "refused invitation": "invitationMissing", "invalid-request invitation": "invitationWrong",
  "budget-spent task": "tooMuch", "budget-spent year": "spent", "budget-spent disclosed": "disclosedEnough",
  "task-not-open": "notOpen", "task-not-found": "unknownTask", "not-authorized": "invitationWrong",
  "quota-reached": "quota", "invalid-task": "unsafe", "task-mismatch": "unsafe", refused: "unsafe",
  unreachable: "unreachable", overloaded: "unreachable", "storage-failed": "unreachable", "too-many-requests": "unreachable",
  "curator-down": "unreachable", internal: "unreachable", "ledger-failed": "storage",
  "unreachable login-page": "loginPage", "invalid-request plain-http": "plainHttp",
};

/** Seconds without a visit after which some browsers delete what a page keeps. */
const KEPT_FOR = 7 * 86_400;

/** Characters of a file that are looked through for a code. */
const CODE_WITHIN = 10_000;

/** Seconds after which a relay that holds a message is asked about it again, one after the other. */
const ASKED_AGAIN = [5, 10, 20, 30];

/** The name of the text about a state for a reason that only this state has. */
const textOf = (state, reason) => `${state}-${reason}`.replace(/-(.)/g, (_, letter) => letter.toUpperCase());

const now = () => Date.now() / 1000;
/** @type {typeof HTMLElement} */
const Base = globalThis.HTMLElement ?? class {}; // so that servers may import it

/**
 * Attributes: `task`, the task's address; `language`, else the browser's; `invitation`; `curator-key`, 64
 * hexadecimal digits; `level` of its first heading, else 2; `theme`, `light` or `dark`, else the page's; `page`,
 * where it is a page of its own and not a part of one;
 * `preview`, a task's bytes in base64url, which is shown as people will see it: nothing is fetched, sent or stored.
 *
 * Dispatches `privet-step` with `{step, title, language}`: `start`, `before`, `questions`, `check`, `sending`; `receipt` with the
 * answer's `state`, or `restored`; `stopped` with a problem's `type`.
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

  /** Whether the person said that they answered nothing that this browser does not know. */
  #isSure = false;

  /** Whether a code may restore a part in a panel. */
  #isRestorable = false;

  /** Whether all questions have been answered once, so that a changed answer leads back to the check. */
  #isChecked = false;

  /** Whether the relay is the curator's own, which is said at the start and before anything is sent. */
  #isTrial = false;

  /** What answers to a panel give away, which is counted. */
  #given = "";

  /** The text about a message that a relay holds. */
  #held = "held";

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
    this.#isSure = earlier !== null && earlier.#isSure;
    this.languages = language ? [language, ...preferred()] : preferred();
    this.preview = host.getAttribute("preview");
    this.options = {
      store: this.preview === null ? new IndexedDBStore() : new MemoryStore(), languages: this.languages,
      curatorKey: host.getAttribute("curator-key") || undefined, invitation: host.getAttribute("invitation") || undefined,
    };
    this.site = host.hasAttribute("page") ? null : location.host;
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
      if (earlier === undefined) {
        await this.#ask();
        return;
      }
      if (earlier.panel || earlier.state === "held") await loadTask(this.url, { ...this.options, attempts: 1 }).then((task) => this.#open(task), ofProblem);
      await this.#showEarlier(earlier);
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
    for (const [id, isShown] of [["start", isStart], ["counts", isStart], ["restore", isStart && this.#isRestorable], ["form", !isStart], ["preview", false]]) this.#$(id).hidden = !isShown;
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
      element("p", { id: "in-studys-language", hidden: true }, element("button", { type: "button", className: "link" })),
      this.#heading(0, { id: "name", tabIndex: -1 }),
      element("p", { id: "wave", className: "help", hidden: true }),
      element("p", { id: "state", role: "status" }),
      section(
        "start", "name", { hidden: true },
        element("p", { id: "asks" }), element("p", {}, said("span", "stay"), " ", said("span", "inShort"), " ", element("span", { id: "hint" })), said("p", "keepFirst", { id: "keep-first", hidden: true }), said("button", "start", { id: "begin", type: "button" }),
        said("p", "choice", { className: "help" }),
        details("who", "whoTitle", {}),
        details("what", "sentTitle", {}, element("ol", { id: "sent" })),
        details("learn", "learnTitle", {}, said("p", "learnLead"), element("div", { id: "people" }), said("p", "learnAfter"), element("p", { id: "odds", className: "help" })),
      ),
      section(
        "before", "before-title", { hidden: true }, this.#heading(1, { id: "before-title", tabIndex: -1 }), said("p", "beforeWhy", { id: "before-why" }),
        element("div", { className: "buttons" }, ...["beforeNo", "beforeYes"].map((id) => said("button", id, { id, type: "button", className: "quiet" }))),
        said("p", "beforeRefused", { id: "before-refused", className: "warning", hidden: true, tabIndex: -1 }),
      ),
      details(
        "restore", "restoreTitle", { hidden: true },
        element("p", {}, said("label", "restoreField", { for: "code" }), element("input", { id: "code", type: "text", autocomplete: "off", spellcheck: false, "aria-describedby": "code-fault" })),
        element("p", {}, said("label", "restoreFile", { for: "code-file" }), " ", element("input", { id: "code-file", type: "file" })),
        element("p", { id: "code-fault", className: "fault", role: "alert" }),
        said("button", "restoreUse", { id: "use-code", type: "button", className: "quiet" }),
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
          said("p", "stay", { className: "help" }),
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
        "results", "results-title", { hidden: true }, this.#heading(1, { id: "results-title" }), element("div", { id: "figures" }),
        said("p", "resultsMayChange", { id: "results-may-change" }), said("p", "resultsLead", { className: "help" }),
        said("p", "resultsEarlier", { id: "results-earlier", className: "help" }),
      ),
      section(
        "receipt", "receipt-title", { hidden: true }, this.#heading(1, { id: "receipt-title", tabIndex: -1 }),
        ...["outcome", "receipt-facts"].map((id) => element("p", { id })), ...["receipt-group", "receipt-date"].map((id) => element("p", { id, hidden: true })),
        element("p", { id: "next-wave", hidden: true }), said("p", "resultsLater", { id: "receipt-results" }), element("p", { id: "receipt-asker", hidden: true }), said("p", "receiptBack"),
        said("button", "again", { id: "again", type: "button", hidden: true }),
      ),
      section(
        "keep", "keep-title", { hidden: true }, titled("keep-title", "keepTitle"), said("p", "keepWhy"),
        element("div", { className: "buttons" }, said("button", "keepSave", { id: "save-code", type: "button", className: "quiet" }), said("button", "keepShow", { id: "show-code", type: "button", className: "quiet" })),
        element("pre", { id: "shown-code", hidden: true }),
      ),
      said("button", "calendar", { id: "calendar", type: "button", className: "quiet", hidden: true }),
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
      for (const part of ["start", "before", "restore", "form", "preview"]) this.#$(part).hidden = true;
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
    const wave = panel && { wave: numberOf(panel, this.task) + 1, total: panel.waves.length };
    const isEarly = why === "not-yet-open";
    const isLate = why === "over" && closes !== null && now() >= closes;
    const isTurn = panel !== undefined && !isPanel(this.task);
    const isDrawn = isTurn && panel.mode === "rotate";
    const dated = isEarly && isTurn ? (isDrawn ? "yourTurn" : "waveNext") : isLate ? (isDrawn ? "turnOver" : "closedOn") : undefined;
    return this.#say(dated ?? SAID[`${type} ${why}`] ?? SAID[type] ?? "failed", {
      ...wave, host: this.#host, date: isEarly ? this.#texts.date(opens ?? now()) : this.#texts.end(closes ?? now()), end: this.#texts.end(closes ?? now()),
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
    const { panel } = this.task;
    const last = panel && (await answersTo(this.task, this.options.store)).at(-1);
    const isOver = panel !== undefined && now() >= panel.waves.at(-1)[1];
    if (isOver && last === undefined) await this.#showOutcome();
    else if (panel !== undefined && !isOver && await this.#isUnknown()) return;
    if (panel?.mode === "rotate" && await memberOf(this.task, this.options.store) === undefined) {
      this.#open(await wholePanel(this.task));
      await check(this.task, this.options);
      await this.#sayWave();
      await this.#showForm(await asked);
      return;
    }
    let answered = isOver ? last : await this.#takeTurn();
    if (now() < (this.task.opens ?? 0)) answered = last; // between two waves
    if (panel !== undefined && answered !== undefined) {
      this.#open(await waveTask(this.task, numberOf(panel, answered)));
      this.url = this.task.url;
    }
    await this.#sayWave();
    if (answered === undefined && await this.#isUnsure()) return;
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

  /** Ask whether waves were answered, where nothing is known of a person and may have been deleted; whether that is asked. */
  async #isUnknown() {
    const { task, options: { store } } = this;
    const { waves } = task.panel;
    if (this.#isSure || now() < waves[0][0] + KEPT_FOR || await memberOf(task, store) !== undefined) return false;
    this.#askBefore("beforeTitle", [...waves.keys()].filter((wave) => waves[wave][0] <= now()), () => {
      this.#$("before-refused").hidden = false;
      this.#$("restore").open = true;
      this.#$("before-refused").focus();
    });
    return true;
  }

  /** Ask whether this wave was answered after a code was saved, of which it would not know; whether that is asked. */
  async #isUnsure() {
    const { task, options: { store } } = this;
    const member = task.panel && await memberOf(task, store);
    const answered = task.panel ? await answersTo(task, store) : [];
    if (this.#isSure || !member?.restored || now() < task.opens || now() >= task.closes || answered.some(({ bytes }) => bytes.length > 0)) return false;
    const wave = numberOf(task.panel, task);
    this.#$("before-why").hidden = true;
    this.#askBefore("beforeSince", [wave], () => void this.#guarded(async () => {
      const numbers = answered.map((each) => numberOf(task.panel, each));
      await keepAnswered(task, partOf(member, task, epsilonOf(task), [...numbers, wave]), this.options);
      this.restart();
    }));
    return true;
  }

  #askBefore(key, waves, confirm) {
    const said = waves.map((wave) => this.#texts.number(wave + 1));
    this.#$("before-title").textContent = this.#say(key, { waves: this.#texts.list(said, "disjunction") });
    this.#$("beforeNo").onclick = () => {
      this.#isSure = true;
      this.restart();
    };
    this.#$("beforeYes").onclick = confirm;
    this.#$("before").hidden = false;
    this.#offerRestoring();
    this.#tell("");
    this.#step("before");
  }

  /** Take up a code from its field or a file. */
  #offerRestoring() {
    const [field, file, fault] = ["code", "code-file", "code-fault"].map((id) => this.#$(id));
    const use = async (text) => {
      try {
        await restore(this.task, text, this.options);
      } catch (error) {
        if (error.type !== "invalid-request") throw error;
        fault.textContent = this.#say(error.why === "other-code" ? "restoreOther" : "restoreDamaged");
        field.setAttribute("aria-invalid", "true");
        return;
      }
      this.#isSure = false; // of what came after that code
      this.restart();
    };
    this.#$("use-code").onclick = () => void this.#guarded(() => use(field.value));
    file.onchange = () => void this.#guarded(async () => use(await file.files[0].slice(0, CODE_WITHIN).text()));
    this.#$("restore").hidden = false;
  }

  /** Offer a code to keep, as a file and to be shown: in no address, and nowhere until it is asked for. */
  #offerCode() {
    this.#$("keep").hidden = false;
    this.#$("save-code").onclick = () => void this.#guarded(async () => {
      const code = await codeToKeep(this.task, this.options);
      saveFile("privet-code.txt", "text/plain", `${this.#wording.own(this.task.name).text}\n${pageAddress()}\n${code}\n`);
    });
    this.#$("show-code").onclick = () => void this.#guarded(async () => {
      this.#$("shown-code").textContent = await codeToKeep(this.task, this.options);
      this.#$("shown-code").hidden = false;
    });
  }

  /** Which wave of a panel this is, which ones were answered and what that costs of all, and which one is next. */
  async #sayWave() {
    const { task, options: { store } } = this;
    if (task?.panel === undefined) return;
    const { panel: { mode, waves } } = task;
    const answered = await answersTo(task, store);
    const [member, epsilon, total] = [await memberOf(task, store), epsilonOf(task), waves.length];
    const done = answered.map((each) => numberOf(task.panel, each));
    const dated = (key, wave) => this.#say(key, { wave: wave + 1, total, date: this.#texts.date(waves[wave][0]), end: this.#texts.end(waves[wave][1]) });
    const part = member ?? (mode === "repeat" ? { wave: null, lifetime: lifetimeOf(task, epsilon, now()) } : undefined);
    this.#given = this.#say("waveSpent", {
      waves: answered.length > 0 ? this.#texts.list(done.map((wave) => this.#texts.number(wave + 1))) : this.#say("waveNone"),
      spent: this.#texts.number(answered.reduce((sum, each) => sum + each.epsilon, 0)),
      lifetime: this.#texts.number(part?.lifetime ?? epsilon),
    });
    const isDrawn = mode === "repeat" || !isPanel(task);
    this.#$("wave").textContent = isDrawn ? dated("waveOf", isPanel(task) ? 0 : numberOf(task.panel, task)) : this.#say("waveOne", { total });
    const next = part && turnsOf(part, task, epsilon, now()).find((wave) => !done.includes(wave) && now() < waves[wave][1]);
    this.#$("next-wave").textContent = next === undefined ? this.#say(mode === "rotate" ? "waveDone" : "waveLast") : dated("waveNext", next);
    for (const id of ["wave", "next-wave"]) this.#$(id).hidden = false;
    const isToCome = next !== undefined && now() < waves[next][0];
    this.#$("calendar").hidden = !isToCome;
    if (isToCome && member !== undefined) this.#offerCode();
    this.#$("calendar").onclick = () => void this.#remind(next);
  }

  /** Save a calendar file for a wave. */
  async #remind(wave) {
    const { id, name, panel: { waves } } = await waveTask(this.task, wave);
    const url = pageAddress();
    const said = { name: this.#wording.own(name).text, wave: wave + 1, total: waves.length, url };
    const [title, text] = ["calendarTitle", "calendarText"].map((key) => this.#say(key, said));
    const [opens, closes] = waves[wave];
    saveFile(`wave-${wave + 1}.ics`, "text/calendar", calendar({ id, title, text, url, opens, closes }, now()));
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
    await this.#sayWave();
    await this.#showForm({});
  }

  /** @param {import("./http.js").Task} task whose texts are said from now on */
  #open(task) {
    this.task = task;
    this.#held = task.smallest_batch === "all" ? "heldToTheEnd" : "held";
    this.#wording = new Wording(this.#texts, task, this.languages, this.site);
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
    const studys = [language, ...translations.map((each) => each.language)].filter(Boolean);
    const spoken = best(studys, SPOKEN);
    if (spoken !== undefined && best([this.#texts.language], studys) === undefined) void this.#offerLanguage(spoken);
  }

  /** Offer the page in a language of the study, in that language, where the study has no text in the reader's. */
  async #offerLanguage(language) {
    const texts = await textsFor([language]);
    const button = this.#$("in-studys-language").firstChild;
    button.textContent = texts.say("inStudysLanguage");
    button.lang = texts.language;
    button.onclick = () => this.host.setAttribute("language", texts.language);
    this.#$("in-studys-language").hidden = false;
  }

  #warn(key) {
    this.#$("trial").textContent = this.#say(key);
    this.#$("trial").hidden = false;
  }

  async #showForm({ asFiles, oneOperator = false }) {
    const { task, earlier } = this;
    if (!oneOperator && task.smallest_batch > 1) this.#held = "heldAmongOthers";
    this.#isTrial = oneOperator;
    if (oneOperator) this.#warn("oneOperator");
    this.#introduce(asFiles);
    const member = await memberOf(task, this.options.store); // whose lifetime is counted already
    await this.#showLimit({ epsilon: member ? 0 : lifetimeOf(task, epsilonOf(task), now()), splits: await splitsOf(task) });
    const { fields, read } = makeForm(task, this.#texts, this.#wording.own);
    const again = earlier?.task?.id === task.id;
    if (again) earlier.#fields.forEach(({ entered }, i) => fields[i].enter(entered()));
    this.#fields = fields;
    if (fields.length === 1 && fields[0].title.textContent === this.#$("name").textContent) fields[0].field.classList.add("named");
    this.random = again && earlier.random || fixedRandomness();
    const goesOn = earlier !== null && earlier.#agreed;
    this.#isMoving = goesOn || this.#isSure;
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
    this.#isRestorable = task.panel !== undefined && this.preview === null && member === undefined;
    if (this.#isRestorable) this.#offerRestoring();
    this.#$("begin").addEventListener("click", () => (isPanel(task) && this.preview === null ? void this.#guarded(() => this.#takePart()) : this.#show(0)));
    this.#$("send").addEventListener("click", () => void this.#guarded(() => this.#submit(ready)));
    this.#tell("");
    this.#isChecked = again && earlier.#isChecked;
    this.#show(again ? earlier.#at : goesOn ? 0 : -1);
  }

  /** Draw this person's turn, who has agreed to it, and go on with that wave. */
  async #takePart() {
    askToKeep();
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
    checkPhase(results === null ? phase : "over");
    if (collection.invited && !this.options.invitation) throw new Problem("refused", "It needs an invitation.", "invitation");
    return collection;
  }

  /** What came out, if that is known, and whether it may still change. */
  #showResults({ results, settled }, task, own) {
    if (results === null) return;
    this.#$("figures").replaceChildren(...rowsOf(results, task, this.#texts, own, (...children) => this.#heading(2, {}, ...children)));
    this.#$("results-earlier").hidden = results.figures.every((each) => typeof each.public !== "number");
    this.#$("results-may-change").hidden = settled === true;
    const wave = task.panel && { wave: numberOf(task.panel, task) + 1, total: task.panel.waves.length };
    this.#$("results-title").textContent = this.#say(wave ? "resultsWave" : "resultsTitle", wave);
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
      const rows = [["whoName", theirs(asker.name)], ["whoPurpose", theirs(asker.purpose)], ["whoContact", contactOf(theirs(asker.contact))], ["whoLink", link]];
      who.append(element("dl", { className: "facts" }, ...rows.flatMap(([key, value]) => [element("dt", {}, this.#say(key)), element("dd", {}, value)])));
    }
    if (description !== "") who.append(element("blockquote", {}, theirs(description)));
    if (asker !== undefined || description !== "") who.append(element("p", { className: "help" }, this.#say("whoTheirs")));
    who.hidden = who.childElementCount === 1;
    this.#$("keep-first").hidden = !(now() < this.task.panel?.waves.at(-1)[0]);
    const sent = this.#wording.sent({ asFiles, invitation: this.options.invitation });
    const when = this.task.panel !== undefined ? sent[1] : closes === null ? "" : this.#say("whoDates", { date: this.#texts.end(closes) });
    this.#$("start").querySelector(".help").append(" ", element("span", {}, when));
    this.#$("sent").append(...sent.map((words) => element("li", {}, words)));
    const { hint, many, picture, ofMany, ofFew, odds } = this.#wording.learn();
    this.#$("hint").textContent = hint;
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
    this.#$("stay").textContent = this.#say(fits ? "stay" : "checkUnfit");
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
    askToKeep();
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
    const name = await this.#showOutcome();
    if (name === undefined) return;
    this.#name(name, "receipt", { state: standingOf(kept) }); // it was kept in the language of that time
    this.#$("receipt-results").hidden = true;
  }

  /** Show what came out, of a panel in the wave that ended last; the task's name in the reader's language, if there is anything. */
  async #showOutcome() {
    const ended = this.task?.panel?.waves.findLastIndex(([, closes]) => closes <= now());
    if (ended === -1) return undefined;
    const url = ended === undefined ? this.url : (await waveTask(this.task, ended)).url;
    const collection = await collectionOf(url, { ...this.options, attempts: 1 });
    if (collection.results === null) return undefined;
    const task = await loadTask(url, this.options);
    const own = translator(task, this.languages);
    this.#showResults(collection, task, own);
    return own(task.name);
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

  async #showReceipt({ state, reason, drawn, bytes, epsilon, closes, disclosed: told, detail, asker = null, lang }) {
    const own = textOf(state, reason);
    const why = own in this.#texts.catalogue ? own : reason === null || state === "lost" ? undefined : SAID[reason] ?? "failed";
    const share = this.#texts.percent(epsilon / this.options.store.caps.year);
    const stands = standingOf({ state, bytes });
    const became = stands === "held" ? this.#held : stands;
    this.#$("receipt-title").textContent = this.#say(`${stands}Title`);
    this.#$("receipt-facts").hidden = bytes.length === 0;
    this.#$("outcome").textContent = [why && this.#say(why), this.#say(became, { host: this.#host, share })].filter(Boolean).join(" ");
    this.#$("receipt-facts").textContent = this.#say("receiptFacts", { size: bytes.length, date: this.#texts.date(drawn) });
    this.#$("receipt-group").hidden = told === null;
    this.#$("receipt-group").textContent = told === null ? "" : groupInWords(told, this.#texts, (text) => text);
    this.#$("fault").textContent = detail ?? "";
    this.#$("technical").hidden = detail === null || state === "counted";
    this.#$("receipt-date").hidden = closes === null || now() >= closes;
    if (closes !== null) this.#$("receipt-date").textContent = this.#say("receiptDate", { date: this.#texts.end(closes) });
    this.#$("receipt-asker").hidden = asker === null;
    if (asker !== null) {
      const theirs = (text) => element("span", { lang }, text);
      this.#$("receipt-asker").replaceChildren(...around(this.#say("receiptAsker", { name: "\0", contact: "\0" }), theirs(asker.name), contactOf(theirs(asker.contact))));
    }
    this.#$("again").hidden = true;
    const deliver = () => {
      this.#tell(this.#say("sending"));
      void this.#guarded(() => this.#deliver(this.url, null)); // the stored bytes, so no record is needed
    };
    if (state !== "counted" && state !== "held") this.#offerAgain(this.#$("again"), deliver);
    await this.#sayWave();
    for (const id of ["receipt", "counts"]) this.#$(id).hidden = false;
    this.#$("receipt-title").focus();
    this.#tell("");
    this.#step("receipt", { state: stands });
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
    if (this.#given) said.push(this.#given);
    this.#$("ledger").textContent = said.join(" ");
  }
}

/** A contact, as a link where it is one. */
function contactOf(shown) {
  const href = wayTo(shown.textContent);
  return href === null ? shown : element("a", { href }, shown);
}

/** The address of a contact that is all of it an e-mail address or a telephone number; null of any other. */
function wayTo(contact) {
  if (/^[^\s@:/?&%]+@[^\s@:/?&%]+\.[^\s@:/?&%]+$/.test(contact)) return `mailto:${contact}`;
  return /^\+?\d[\d\s().\/-]{4,}$/.test(contact) ? `tel:${contact.replace(/[^+\d]/g, "")}` : null;
}

/** The page's address without what stands behind its hash, such as an invitation. */
const pageAddress = () => location.href.replace(/#.*/, "");

/** Ask the browser to keep what this page stores, which is a wish. */
function askToKeep() {
  navigator.storage?.persist?.().catch(() => {});
}

/** Have the browser save a file that is made here. */
function saveFile(name, type, text) {
  const href = URL.createObjectURL(new Blob([text], { type }));
  element("a", { href, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(href), 60_000); // once it is saved
}

/** Ignores a problem, after which something else is shown. */
function ofProblem(error) {
  if (!(error instanceof Problem)) throw error;
}

/** The state of an answer; of one that a code to keep, or somebody's word, is all that is known of, `restored`. */
const standingOf = ({ state, bytes }) => (bytes.length === 0 ? "restored" : state);

/** Whether what is said of a problem leaves nothing to tell. */
const isExact = ({ type, why }) => `${type} ${why}` in SAID || ["wrong-clock", "quota-reached"].includes(type);

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
  const mechanism = mechanisms[strata === null ? 0 : bytes[QUESTION]];
  const payload = bytes.length - ANSWERS_END - mechanism.reportBytes;
  const hidden = strata === null ? ANSWERS_START : payload + mechanism.stratumBytes;
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
