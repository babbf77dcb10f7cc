/** The answer page: what it is about, the form, a check in words, and the exact bytes that one button sends. */

import { people, figure, odds, ofHundred, surest } from "./explanation.js";
import { capitalized, element, makeForm } from "./form.js";
import { SMALLEST_GROUP, checkDates, collectionOf, departure, epsilonOf, statusOf, fetchTask, send, taskIdIn } from "./holder.js";
import { splitsOf } from "./disclosures.js";
import { Ledger, afford, disclosed, spent, stateAfter, CAPS } from "./ledger.js";
import { Problem } from "./problem.js";
import { OpenedRecord, platformRandom } from "./report.js";
import { rowsOf } from "./results.js";
import { hex } from "./task.js";
import { textsFor, translator } from "./texts.js";

/** Where the parts of a report are (docs/protocol.md, "Report"), the last three from its end. */
const [ANSWERS_START, ANSWERS_END, ID_START, TASK_START] = [9, 69, 64, 41];

/** What is said of a problem, by its type; of any other, that it failed. */
const SAID = {
  "task-not-open": "notOpen", "task-not-found": "unknownTask", "not-authorized": "invitationWrong",
  "quota-reached": "quota", "invalid-task": "unsafe", "task-mismatch": "unsafe", refused: "unsafe",
  unreachable: "unreachable", overloaded: "unreachable", "storage-failed": "unreachable", "too-many-requests": "unreachable",
  "curator-down": "unreachable", internal: "unreachable", "ledger-failed": "storage",
};

/** Why a relay lost a message, by the reason that it gives. */
const LOST = { "task-not-open": "lostLate", "task-not-found": "lostDeleted", "too-few": "lostFew" };

/** What is said in place of another text where the study shows columns. */
const OF_GROUP = {
  sentStay: "sentStayDisclosed", sentMessage: "sentMessageDisclosed", learnLead: "learnLeadDisclosed", learnAfter: "learnAfterDisclosed",
  questionsStay: "questionsStayDisclosed", unfit: "unfitDisclosed", checkStay: "checkStayDisclosed",
};
const CONDITIONS = { "<": "isBelow", ">=": "isAtLeast", "<=": "isAtMost", ">": "isAbove", is: "isOne", "is not": "isNot" };

const $ = (id) => document.getElementById(id);
const setting = (name) => document.querySelector(`meta[name="privet-${name}"]`).content;
const url = new URL(setting("task"), document.baseURI).href;
const { host } = new URL(url);
const options = {
  curatorKey: setting("curator-key") || undefined,
  invitation: decodeURIComponent(location.hash.slice(1)) || undefined,
};
const now = () => Date.now() / 1000;
const texts = await textsFor(navigator.languages);
let inPlace = {};
const say = (key, values) => texts.say(inPlace[key] ?? key, values);

document.documentElement.lang = texts.language;
sayAll();
$("bytes").setAttribute("aria-label", say("bytesLabel"));
show({ text: say("heading"), lang: texts.language });
tell(say("loading"));

await guarded(async () => {
  const ledger = await Ledger.open();
  const earlier = await ledger.find(taskIdIn(url));
  if (earlier === undefined) await ask(ledger);
  else await showEarlier(ledger, earlier);
});

/** Say what stands on the page whatever happens. */
function sayAll() {
  for (const place of document.querySelectorAll("[data-text]")) place.textContent = say(place.dataset.text);
}

/** Show a problem in place of whatever was going on. */
async function guarded(work) {
  try {
    await work();
  } catch (error) {
    for (const part of ["form", "preview"]) $(part).hidden = true;
    tell(sayProblem(error));
    $("fault").textContent = error.said ? "" : error.message;
    $("technical").hidden = error.said === true;
    if (!(error instanceof Problem)) throw error;
  }
}

function sayProblem(error) {
  return error.said ? error.message : say(SAID[error.type] ?? "failed");
}

/** A problem stated to the reader in these words. */
function stop(type, key, values) {
  throw Object.assign(new Problem(type, say(key, values)), { said: true });
}

function tell(text) {
  $("state").textContent = text;
}

function show({ text, lang }) {
  $("name").replaceChildren(element("span", { lang }, text));
  document.title = say("title", { name: text });
}

/** Fetch the task and check that it can be answered, then show its form; nothing of the record exists yet. */
async function ask(ledger) {
  const task = await fetchTask(url, options);
  const translate = translator(task, navigator.languages);
  show(translate(task.name));
  const cost = { epsilon: epsilonOf(task), splits: await splitsOf(task) };
  const { asFiles } = await checkAnswerable(task, cost, ledger, translate);
  if (task.strata !== null) {
    inPlace = OF_GROUP;
    sayAll();
  }
  introduce(task, translate, asFiles);
  await showLimit(ledger, cost);
  const { fields, read } = makeForm(task, texts, translate);
  $("fields").append(...fields.map(({ field }) => field));
  $("required").hidden = $("fields").querySelector(".required") === null;
  const random = fixedRandomness();
  let drawn;
  const review = (record) => {
    const opened = new OpenedRecord(task, record);
    drawn = opened.draw(random());
    preview(drawn, opened, fields, translate);
  };
  $("form").addEventListener("submit", (event) => {
    event.preventDefault();
    if (passes(fields)) review(read());
  });
  $("unfit-button").addEventListener("click", () => review(null)); // no map of fields: a misfit
  $("back").addEventListener("click", () => history.back());
  $("send").addEventListener("click", () => void guarded(() => submit(ledger, task, cost, drawn)));
  addEventListener("popstate", () => {
    if ($("preview").hidden) return;
    [$("form").hidden, $("preview").hidden] = [false, true];
    $("questions").scrollIntoView();
  });
  $("form").hidden = false;
  tell("");
}

/** Whatever would refuse a report refuses it now, before anything is drawn. */
async function checkAnswerable(task, cost, ledger, translate) {
  const { opens, closes, invited, clockAhead, group_sizes: groupSizes = [] } = task;
  try {
    checkDates({ opens: null, closes: null, clockAhead });
  } catch (error) {
    stop(error.type, "wrongClock", { device: texts.date(now()), server: texts.date(now() + clockAhead), host });
  }
  if (opens !== null && now() < opens) stop("task-not-open", "opensOn", { date: texts.date(opens) });
  const collection = await collectionOf(url, options);
  showResults(collection, task, translate);
  if (closes !== null && now() >= closes) stop("task-not-open", "closedOn", { date: texts.date(closes) });
  if (collection.collecting === false) stop("task-not-open", collection.results === null ? "notOpen" : "ended");
  if ((invited || collection.invited) && !options.invitation) stop("refused", "invitationMissing");
  if (groupSizes.some((size) => size < SMALLEST_GROUP)) stop("refused", "smallGroup");
  try {
    afford(await ledger.answers(), cost, now());
  } catch (error) {
    if (error.type !== "budget-spent") throw error;
    stop(error.type, { task: "tooMuch", year: "spent", disclosed: "disclosedEnough" }[error.cap]);
  }
  return collection;
}

/** What came out, if that is known, and whether it may still change. */
function showResults({ results, settled }, task, translate) {
  if (results === null) return;
  $("figures").replaceChildren(...rowsOf(results, task, texts, translate));
  $("results-may-change").hidden = settled === true;
  $("results").hidden = false;
}

/** Who asks, what is sent, and what anybody could learn from it. */
function introduce(task, translate, asFiles) {
  const theirs = (text) => {
    const { text: words, lang } = translate(text);
    return element("span", { lang, className: "text" }, words);
  };
  const { asker, description, closes, disclosed = [] } = task;
  if (asker === undefined) {
    $("who").append(element("p", { className: "warning" }, say("whoUnknown")));
  } else {
    const link = element("a", { href: asker.link, target: "_blank", rel: "noopener noreferrer" }, asker.link);
    const rows = [["whoName", theirs(asker.name)], ["whoPurpose", theirs(asker.purpose)], ["whoContact", theirs(asker.contact)], ["whoLink", link]];
    $("who").append(element("dl", { className: "facts" }, ...rows.flatMap(([key, value]) => [element("dt", {}, say(key)), element("dd", {}, value)])));
  }
  if (description !== "") $("who").append(element("p", {}, say("whoDescription")), element("blockquote", {}, theirs(description)));
  if (asker !== undefined || description !== "") $("who").append(element("p", { className: "help" }, say("whoTheirs")));
  if (closes !== null) $("who").append(element("p", {}, say("whoDates", { date: texts.date(closes) })));
  const sent = ["sentStay", ...(disclosed.length > 0 ? ["sentGroup"] : []), "sentMessage", "sentGoes", ...(asFiles ? ["sentFiles"] : []), ...(options.invitation ? ["sentInvited"] : []), "sentTotal"];
  $("sent").append(...sent.map((key) => element("li", {}, say(key, { host, names: texts.list(disclosed.map((name) => capitalized(translate(name).text))) }))));
  const epsilon = epsilonOf(task);
  const many = ofHundred(epsilon);
  const numbers = { many, few: 100 - many };
  $("people").append(
    people(many, say("learnPicture", numbers)),
    element("p", { className: "key" }, figure(true), say("learnMany", numbers)),
    element("p", { className: "key" }, figure(false), say("learnFew", numbers)),
  );
  const values = { odds: texts.number(odds(epsilon)), epsilon: texts.number(epsilon), surest: texts.percent(surest(epsilon)), of: disclosed.length > 0 ? say("learnOfGroup") : "" };
  $("odds").textContent = say("learnOdds", values);
}

/** Whether all that was filled in fits; if not, each fault stands at its field and in a summary. */
function passes(fields) {
  const faults = fields.map(({ fault }) => fault());
  const wrong = fields.filter((_, i) => faults[i] !== null);
  $("fault-list").replaceChildren(...wrong.map(({ title, input }) => {
    const link = element("a", { href: `#${input.id}` }, title.cloneNode(true), ": ", faults[fields.findIndex((each) => each.input === input)]);
    link.addEventListener("click", (event) => {
      event.preventDefault(); // the invitation stays behind the hash
      input.focus();
    });
    return element("li", {}, link);
  }));
  $("faults").hidden = wrong.length === 0;
  if (wrong.length > 0) {
    $("unfit").hidden = false;
    $("faults").focus();
  }
  return wrong.length === 0;
}

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

/** Show the answers in words, and the very bytes that the button sends. */
function preview({ bytes }, { task, findings, disclosed }, fields, translate) {
  const fits = findings.length === 0;
  $("stay").textContent = say(fits ? "checkStay" : "checkUnfit");
  $("answers").replaceChildren(...(fits ? fields.map(answerRow) : []));
  $("sends").textContent = say("checkSends", { size: bytes.length });
  $("size").textContent = say("bytesLead", { size: bytes.length });
  $("bytes").replaceChildren(...parts(bytes, task));
  for (const id of ["group", "bytes-group"]) $(id).hidden = disclosed === null;
  if (disclosed !== null) $("group").replaceChildren(groupInWords(disclosed, translate));
  [$("form").hidden, $("preview").hidden] = [true, false];
  history.pushState(null, ""); // so that the browser's own way back leads to the questions
  scrollTo(0, 0);
  $("preview-title").focus();
}

function answerRow({ title, words, warning, input }) {
  const change = element("button", { type: "button", className: "link", "aria-label": say("checkChangeOf", { name: title.textContent }) }, say("checkChange"));
  change.addEventListener("click", () => {
    addEventListener("popstate", () => input.focus(), { once: true });
    history.back();
  });
  const remark = warning() === null ? [] : [element("p", { className: "warning" }, warning())];
  return element("div", {}, element("dt", {}, title.cloneNode(true)), element("dd", {}, words(), ...remark), element("dd", {}, change));
}

/** The disclosed group, and its number of people. */
function groupInWords({ size, of, conditions, replaced }, translate) {
  const words = conditions.map(([name, relation, value]) => say(CONDITIONS[relation], {
    name: capitalized(translate(name).text),
    value: typeof value === "number" ? texts.number(value) : translate(value).text,
  }));
  const said = words.length === 0 ? say("groupOfAll") : texts.list(words);
  const instead = replaced.length > 0 ? say("checkReplaced", { names: texts.list(replaced.map((name) => capitalized(translate(name).text))) }) : "";
  return element("strong", {}, say("checkGroup", { conditions: said, size: texts.number(size), total: texts.number(of), share: texts.percent(size / of) }), instead);
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

/** Store the answer, then send it; the record is gone from the page before that. */
async function submit(ledger, task, cost, { id, bytes }) {
  checkDates(task);
  const leave = departure(task);
  const group = $("group").hidden ? null : $("group").textContent;
  $("form").remove();
  $("answers").replaceChildren();
  $("preview").hidden = true;
  tell(say("sending"));
  void navigator.storage.persist?.();
  const { text: name, lang } = translator(task, navigator.languages)(task.name);
  const { closes } = task;
  const drawn = {
    task: task.id, name, lang, closes, group, url, ...cost, id: hex(id), bytes, drawn: now(), state: "drawn", reason: null,
  };
  await Ledger.alone(async () => {
    const answer = await ledger.keep(drawn);
    await leave();
    await deliver(ledger, answer);
  });
}

/** Send an answer, note what became of it, and show that. */
async function deliver(ledger, answer) {
  const outcome = await outcomeOf(answer);
  await ledger.settle({ ...answer, ...outcome });
  const state = outcome.state === "drawn" ? answer.state : outcome.state;
  await showReceipt(ledger, { ...answer, ...outcome, state });
}

async function outcomeOf(answer) {
  try {
    const { held } = await send(url, answer, options);
    return { state: held ? "held" : "counted", reason: null };
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    return { state: stateAfter(error), reason: sayProblem(error), detail: error.message };
  }
}

/** An answer that this browser has given before; a relay that holds it is asked what became of it. */
async function showEarlier(ledger, earlier) {
  show({ text: earlier.name, lang: earlier.lang ?? "" });
  let answer = earlier;
  if (earlier.state === "held" && earlier.url === url) {
    try {
      const { state, reason } = await statusOf(url, earlier.id);
      const why = (state === "lost" ? LOST : SAID)[reason];
      answer = { ...earlier, state, reason: why === undefined ? null : say(why), detail: reason };
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      const state = error.type === "report-not-found" ? "drawn" : "held";
      answer = { ...earlier, state, reason: error.type === "report-not-found" ? null : sayProblem(error), detail: error.message };
    }
    await ledger.settle(answer);
  }
  await showReceipt(ledger, answer);
  const collection = await collectionOf(url, { ...options, attempts: 1 });
  if (collection.results === null) return;
  const task = await fetchTask(url, options);
  showResults(collection, task, translator(task, navigator.languages));
  $("receipt-results").hidden = true;
}

async function showReceipt(ledger, answer) {
  const { state, reason, drawn, bytes, epsilon, closes = null, group = null, detail = null } = answer;
  $("receipt-title").textContent = say(`${state}Title`);
  $("outcome").textContent = [reason, say(state, { host, share: texts.percent(epsilon / CAPS.year) })].filter(Boolean).join(" ");
  $("receipt-facts").textContent = say("receiptFacts", { size: bytes.length, date: texts.date(drawn) });
  $("receipt-group").hidden = group === null;
  $("receipt-group").textContent = group ?? "";
  $("fault").textContent = detail ?? "";
  $("technical").hidden = detail === null || state === "counted";
  $("receipt-date").hidden = closes === null || now() >= closes;
  if (closes !== null) $("receipt-date").textContent = say("receiptDate", { date: texts.date(closes) });
  $("again").hidden = state === "counted" || state === "held";
  $("again").onclick = () => {
    $("again").hidden = true;
    tell(say("sending"));
    void guarded(() => Ledger.alone(async () => {
      if (options.curatorKey !== undefined) await fetchTask(url, options);
      await deliver(ledger, answer);
    }));
  };
  $("receipt").hidden = false;
  $("receipt-title").focus();
  tell("");
  await showLimit(ledger);
}

/** What this page keeps count of, and what a task would add. */
async function showLimit(ledger, { epsilon, splits } = { epsilon: 0, splits: null }) {
  const answers = await ledger.answers();
  const share = (used, cap) => texts.percent(used / cap);
  const said = [say("limit", { used: share(spent(answers, now()), CAPS.year), here: location.host })];
  if (epsilon > 0) said.push(say("limitThis", { share: share(epsilon, CAPS.year) }));
  const told = disclosed(answers, now());
  if (told > 0 || splits !== null) said.push(say("limitDisclosed", { used: share(told, CAPS.disclosed) }));
  if (splits !== null) said.push(say("limitThis", { share: share(disclosed(answers, now(), splits) - told, CAPS.disclosed) }));
  $("ledger").textContent = said.join(" ");
}
