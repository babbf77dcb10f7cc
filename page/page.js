/** The answer page: form, exact bytes, one button. */

import { explain, meaning } from "./explanation.js";
import { element, makeForm } from "./form.js";
import { checkDates, checkInvitation, departure, epsilonOf, fateOf, fetchTask, send, taskIdIn } from "./holder.js";
import { Ledger, afford, spent, stateAfter, CAPS } from "./ledger.js";
import { Problem } from "./problem.js";
import { makeReport, platformRandom } from "./report.js";
import { hex } from "./task.js";

/** Where the parts of a report are (docs/protocol.md, "Report"), the last three from its end. */
const [ANSWERS_START, ANSWERS_END, ID_START, TASK_START] = [9, 69, 64, 41];
const TITLES = {
  counted: "Your answer counts",
  held: "A relay has your answer",
  drawn: "Your answer is kept, and nobody has confirmed it yet",
  refused: "Your answer was not taken",
};
const $ = (id) => document.getElementById(id);
const setting = (name) => document.querySelector(`meta[name="privet-${name}"]`).content;
const url = new URL(setting("task"), document.baseURI).href;
const options = {
  curatorKey: setting("curator-key") || undefined,
  invitation: decodeURIComponent(location.hash.slice(1)) || undefined,
};
const now = () => Date.now() / 1000;

await guarded(async () => {
  const ledger = await Ledger.open();
  const earlier = await ledger.find(taskIdIn(url));
  if (earlier === undefined) await ask(ledger);
  else await showEarlier(ledger, earlier);
  await showSpent(ledger);
});

/** Show a problem in place of whatever was going on. */
async function guarded(work) {
  try {
    await work();
  } catch (error) {
    $("form").hidden = true;
    say(error instanceof Problem ? error.message : `This page has failed (${error.message}): nothing more was sent.`);
    if (!(error instanceof Problem)) throw error;
  }
}

function say(text) {
  $("state").textContent = text;
}

/** Fetch the task, check it, and show its form; nothing of the record exists yet. */
async function ask(ledger) {
  const task = await fetchTask(url, options);
  show(task.name);
  checkDates(task);
  checkInvitation(task, options.invitation);
  afford(await ledger.answers(), epsilonOf(task), now());
  $("description").textContent = task.description;
  $("explanation").append(...explain(task, new URL(url).host).map((line) => element("li", {}, line)));
  $("meaning").textContent = meaning(task);
  const { fields, read } = makeForm(task);
  $("questions").append(...fields);
  const random = fixedRandomness();
  const draw = () => makeReport(task, read(), random());
  const update = () => preview(draw());
  update();
  $("form").addEventListener("input", update);
  $("form").addEventListener("submit", (event) => {
    event.preventDefault();
    void guarded(() => submit(ledger, task, draw));
  });
  $("form").hidden = false;
  say("");
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

/** Show the very bytes that the button sends. */
function preview({ bytes, misfit }) {
  const warning = misfit === null ? "" : `Your answers do not fit the task yet. ${misfit} If you send them as they are, ` +
    "the message says, perturbed like any other, that they do not fit.";
  if ($("misfit").textContent !== warning) $("misfit").textContent = warning; // else it is read out again
  const size = `${bytes.length} ${bytes.length === 1 ? "byte" : "bytes"}`;
  $("size").textContent = `This message of ${size}, and nothing else:`;
  $("bytes").replaceChildren(...parts(bytes));
  $("send").textContent = misfit === null ? `Send these ${size}` : "Send that my answers do not fit";
}

/** The message in hexadecimal, its parts marked; all but the answers has a fixed length. */
function parts(bytes) {
  const text = hex(bytes);
  const places = [
    [ANSWERS_START, bytes.length - ANSWERS_END, "payload"],
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
async function submit(ledger, task, draw) {
  checkDates(task);
  const leave = departure(task);
  const { id, bytes } = draw();
  $("form").remove();
  say("Sending …");
  void navigator.storage.persist?.();
  const epsilon = epsilonOf(task);
  const drawn = { task: task.id, name: task.name, url, epsilon, id: hex(id), bytes, drawn: now(), state: "drawn", reason: null };
  await Ledger.alone(async () => {
    const answer = await ledger.keep(drawn);
    await leave();
    await deliver(ledger, answer);
  });
  await showSpent(ledger);
}

/** Send an answer, note what became of it, and show that. */
async function deliver(ledger, answer) {
  const outcome = await outcomeOf(answer);
  await ledger.settle({ ...answer, ...outcome });
  const state = outcome.state === "drawn" ? answer.state : outcome.state;
  showReceipt(ledger, { ...answer, ...outcome, state });
}

async function outcomeOf(answer) {
  try {
    const { held } = await send(url, answer, options);
    return { state: held ? "held" : "counted", reason: null };
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    return { state: stateAfter(error), reason: error.message };
  }
}

/** An answer that this browser has given before; a relay that holds it is asked what became of it. */
async function showEarlier(ledger, earlier) {
  show(earlier.name);
  let answer = earlier;
  if (earlier.state === "held" && earlier.url === url) {
    try {
      answer = { ...earlier, ...(await fateOf(url, earlier.id)) };
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      const state = error.type === "report-not-found" ? "drawn" : "held";
      answer = { ...earlier, state, reason: error.message };
    }
    await ledger.settle(answer);
  }
  showReceipt(ledger, answer);
}

function showReceipt(ledger, answer) {
  const { state, reason, drawn, bytes, epsilon } = answer;
  const held = state === "held" ? " It is delivered later, among others; open this page again to see." : "";
  $("receipt-title").textContent = TITLES[state];
  $("outcome").textContent =
    `${reason ?? ""} The message of ${bytes.length} bytes was drawn on ${new Date(1000 * drawn).toLocaleString()} and cost epsilon ` +
    `${epsilon}.${held} This browser keeps it, so that you answer once; what you filled in is gone.`;
  $("again").hidden = state === "counted" || state === "held";
  $("again").onclick = () => {
    $("again").hidden = true;
    say("Sending …");
    void guarded(() => Ledger.alone(async () => {
      if (options.curatorKey !== undefined) await fetchTask(url, options);
      await deliver(ledger, answer);
    }));
  };
  $("receipt").hidden = false;
  $("receipt-title").focus();
  say("");
}

function show(name) {
  $("name").textContent = name;
  document.title = `${name}: answer privately`;
}

async function showSpent(ledger) {
  const total = spent(await ledger.answers(), now());
  $("ledger").textContent = `Spent in this browser, at this page's address, within a year: epsilon ${total} of ${CAPS.year}.`;
}
