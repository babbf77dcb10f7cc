/**
 * Every link and form of the dashboard leads to a page. Those with `data-into` put the part of that
 * page with this id into the page that is open instead; a form there with `data-go-on` is sent at once.
 */

const EVERY_MS = 5_000;
const VISIBLE_AFTER_MS = 1_000;
const parser = new DOMParser();
const latest = new Map();
let lastSeen = new Date();

/** Fetch a page and put its part `into` here, or the problem that it states. */
async function load(url, into, options = {}) {
  const target = document.getElementById(into);
  latest.get(into)?.abort();
  const abort = new AbortController();
  latest.set(into, abort);
  target.setAttribute("aria-busy", "true");
  target.querySelector("#problem")?.remove(); // what was wrong before may be right now
  const waiting = showWaiting(target, abort);
  try {
    const response = await fetch(url, { ...options, signal: abort.signal });
    if (response.redirected) {
      const until = [];
      target.dispatchEvent(new CustomEvent("privet-done", { bubbles: true, detail: { until } }));
      await Promise.all(until);
      location.href = response.url;
      return null;
    }
    const isPage = response.headers.get("Content-Type")?.startsWith("text/html");
    const page = isPage ? parser.parseFromString(await response.text(), "text/html") : refusal(await response.json());
    const part = page.getElementById(into);
    target.replaceChildren(...(part ? part.childNodes : [problemIn(page)]));
    prepare(target);
    markInvalid(target);
    target.dispatchEvent(new CustomEvent("privet-loaded", { bubbles: true }));
    markPath(target);
    target.querySelector("form[data-go-on]")?.requestSubmit();
    if (into === "node" && part) mark([new URL(url, location.href).pathname.split("/").at(-1)]);
    return page;
  } catch (error) {
    if (error.name === "AbortError") return null;
    target.replaceChildren("The curator does not answer. Try again.");
    return null;
  } finally {
    waiting.end();
    if (latest.get(into) === abort) target.removeAttribute("aria-busy");
  }
}

/** What the server itself refuses, such as a file that is too large, before there is a page of it. */
function refusal({ title, detail }) {
  const page = document.implementation.createHTMLDocument();
  const problem = Object.assign(page.createElement("div"), { id: "problem", className: "problem" });
  problem.append(Object.assign(page.createElement("h1"), { textContent: title }), `${title}. ${detail}`);
  page.body.append(problem);
  return page;
}

/** What a page says is wrong, as a part of another page that is scrolled to. */
function problemIn(page) {
  const problem = page.getElementById("problem");
  problem.querySelector("h1").remove();
  problem.tabIndex = -1;
  requestAnimationFrame(() => problem.focus()); // which scrolls to it
  return problem;
}

/** After a second: how long it has taken, and a button that stops it here and at the curator. */
function showWaiting(target, abort) {
  const started = Date.now();
  const line = document.createElement("p");
  line.className = "waiting";
  line.setAttribute("role", "status");
  const seconds = document.createElement("span");
  seconds.setAttribute("aria-hidden", "true"); // not read out every second
  const cancel = Object.assign(document.createElement("button"), { type: "button", className: "quiet", textContent: "Cancel" });
  cancel.addEventListener("click", () => abort.abort());
  const doing = document.querySelector(`[data-into="${target.id}"][data-doing]`)?.dataset.doing ?? "The curator is working";
  const timer = setInterval(() => {
    if (!line.isConnected) {
      target.before(line);
      line.append(document.createElement("progress"), `${doing} … `, seconds, cancel);
    }
    seconds.textContent = `${Math.round((Date.now() - started) / 1000)} s`;
  }, VISIBLE_AFTER_MS);
  return {
    end() {
      clearInterval(timer);
      line.remove();
    },
  };
}

document.addEventListener("click", (event) => {
  const link = event.target.closest("a[data-into], .tree a");
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
  const into = link.dataset.into ?? "node";
  event.preventDefault();
  void load(link.getAttribute("href"), into).then((page) => {
    if (!page) return;
    const target = document.getElementById(into);
    target.scrollIntoView({ block: "nearest" });
    const row = link.closest("li, tr") ?? link;
    scrollBy(0, Math.max(0, row.getBoundingClientRect().bottom - target.getBoundingClientRect().top)); // the panel covers no row that it is about
  });
});

/** Close a node's numbers, which stand over the tree. */
document.addEventListener("click", (event) => {
  if (event.target.dataset?.close === undefined) return;
  document.getElementById("node").replaceChildren();
  for (const link of document.querySelectorAll("main > .card .on-path a")) link.focus(); // in the tree or the list, whichever is seen
  mark([]);
});

/** A picture as a PNG file with twice its pixels, which is drawn here; its SVG is linked beside it. */
document.addEventListener("click", async (event) => {
  const button = event.target.closest("[data-png]");
  if (!button) return;
  const image = Object.assign(new Image(), { src: button.parentElement.querySelector("a[download$='.svg']").href });
  await image.decode();
  const canvas = Object.assign(document.createElement("canvas"), { width: 2 * image.naturalWidth, height: 2 * image.naturalHeight });
  canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
  Object.assign(document.createElement("a"), { href: canvas.toDataURL("image/png"), download: `${button.dataset.png}.png` }).click();
});

/** Buttons that need scripts: one copies the address of a link or of this page, or a text, and one prints. */
document.addEventListener("click", async (event) => {
  const button = event.target.closest("[data-copy], [data-print]");
  if (!button) return;
  if (button.dataset.print !== undefined) return window.print();
  const shown = document.getElementById(button.dataset.copy);
  const said = button.parentElement.querySelector("[role='status']");
  await navigator.clipboard.writeText(shown?.href ?? shown?.textContent ?? location.href).then(
    () => { said.textContent = "Copied."; },
    () => { said.textContent = "Your browser does not allow copying: mark it and copy it."; },
  );
});

/** On paper nothing is folded up but cells of which nothing is known. */
const unfolded = new Set();
addEventListener("beforeprint", () => {
  for (const each of document.querySelectorAll("main .card details:not([open], .untold)")) {
    each.open = true;
    unfolded.add(each);
  }
});
addEventListener("afterprint", () => {
  for (const each of unfolded) each.open = false;
  unfolded.clear();
});

document.addEventListener("submit", (event) => {
  const form = event.target;
  const into = event.submitter?.dataset.into ?? form.dataset.into;
  if (!into) return;
  event.preventDefault();
  void send(form, into, event.submitter).then((page) => {
    const fields = form.id !== "controls" && into === "trial" && page?.querySelector("#controls .grid");
    if (fields) setControls(fields);
  });
});

/** Let the controls of a trial be those of other settings. */
function setControls(fields) {
  const place = document.querySelector("#controls .grid");
  place.replaceChildren(...fields.childNodes);
  prepare(place);
}

document.addEventListener("change", (event) => {
  const form = event.target.form;
  if (form?.dataset.atOnce === undefined) return;
  if (event.target.name === "estimator") { // another one has other parameters
    setControls(form.querySelector(`[data-estimator="${event.target.value}"]`).content.cloneNode(true));
    form.elements.estimator.focus();
  }
  void send(form, form.dataset.into, null);
});

function send(form, into, submitter) {
  const url = submitter?.getAttribute("formaction") ?? form.getAttribute("action");
  const data = new FormData(form, submitter);
  if (form.method === "get") return load(`${url}?${new URLSearchParams(data)}`, into);
  const plain = form.enctype !== "multipart/form-data";
  return load(url, into, { method: "POST", body: plain ? new URLSearchParams(data) : data });
}

/** Show what needs scripts; a slider beside each number on a logarithmic scale. */
function prepare(part) {
  for (const button of part.querySelectorAll("[data-print], [data-copy], [data-png]")) {
    button.hidden = button.dataset.copy !== undefined && !navigator.clipboard; // none without TLS
  }
  for (const number of part.querySelectorAll("input[data-scale='log']")) {
    const slider = Object.assign(document.createElement("input"), { type: "range", min: -3, max: 4, step: 0.25 });
    slider.setAttribute("aria-label", "The same on a logarithmic scale");
    const follow = () => {
      const value = Number(number.value.replace("inf", "Infinity"));
      slider.value = Math.log10(Math.min(Math.max(value, 1e-3), 1e4));
    };
    follow();
    slider.addEventListener("input", () => {
      number.value = Number((10 ** slider.value).toPrecision(3));
      slider.setAttribute("aria-valuetext", number.value);
    });
    number.addEventListener("input", follow);
    number.after(slider);
  }
}

/** Mark the fields of the form before an answer that it says are wrong, and no other. */
function markInvalid(part) {
  const problem = part.querySelector("[data-invalid]");
  const wrong = problem?.dataset.invalid.split(" ") ?? [];
  for (const field of part.previousElementSibling?.elements ?? []) field.toggleAttribute("aria-invalid", false);
  for (const name of wrong) part.previousElementSibling.elements[name].setAttribute("aria-invalid", "true");
  if (problem) requestAnimationFrame(() => problem.focus());
}

/** Mark the nodes of the drawn tree that lead to a prediction. */
function markPath(part) {
  const path = part.querySelector("[data-path]")?.dataset.path.split(" ");
  if (!path) return;
  document.getElementById("node")?.replaceChildren(); // what was selected before is no longer marked
  mark(path);
}

function mark(nodes) {
  for (const node of document.querySelectorAll("main > .card :is(.tree .node, .cells [data-node])")) {
    node.classList.toggle("on-path", nodes.includes(node.dataset.node));
  }
}

/** Fetch what changes while reports come in, unless somebody is reading in it by keyboard. */
async function refresh() {
  const old = document.querySelector("[data-refresh]");
  if (!old || document.hidden || old.contains(document.activeElement)) return;
  const response = await fetch(old.dataset.refresh).catch(() => null);
  const banner = document.getElementById("connection");
  banner.hidden = response?.ok ?? false;
  if (!response?.ok) {
    const why = response ? `The curator answers ${response.status}` : "The curator does not answer";
    banner.textContent = `${why}. The page shows its answer of ${lastSeen.toLocaleTimeString()} and asks again every few seconds.`;
    return;
  }
  lastSeen = new Date();
  const page = parser.parseFromString(await response.text(), "text/html");
  const fresh = page.getElementById(old.id);
  const sameSession = fresh.dataset.visitor === old.dataset.visitor;
  if (!sameSession || fresh.dataset.shape !== old.dataset.shape) { // the rest of the page has other parts now
    if (!sameSession || !document.activeElement?.matches("input, select, textarea")) location.reload();
    return;
  }
  for (const each of fresh.querySelectorAll("details")) each.open = old.querySelector(`#${each.id}`)?.open ?? false;
  for (const each of fresh.querySelectorAll("input")) {
    const typed = old.querySelector(`[name="${each.name}"]`);
    if (typed && typed.value !== typed.defaultValue) each.value = typed.value;
  }
  if (fresh.innerHTML !== old.innerHTML) old.replaceWith(fresh);
  for (const each of document.querySelectorAll("[data-all-answers]")) each.textContent = fresh.dataset.answers;
}

/** A link of somebody's own machine brings the token behind the hash, which browsers send to nobody. */
function fillTokenIn() {
  const field = document.querySelector("input[type='password'][name='token']");
  if (!field || location.hash.length < 2) return;
  field.value = decodeURIComponent(location.hash.slice(1));
  history.replaceState(null, "", location.pathname + location.search);
  field.form.querySelector("button").focus();
}

/** Whoever signs out, on whichever page, leaves no draft of a task and no file of it here (`wizard.js`). */
function discardDrafts(event) {
  event.preventDefault();
  const deleting = indexedDB.deleteDatabase("privet-wizard");
  for (const over of ["onsuccess", "onerror", "onblocked"]) deleting[over] = () => event.target.submit();
}

document.querySelector("header form[action$='/sign-out']")?.addEventListener("submit", discardDrafts);
fillTokenIn();
prepare(document);
setInterval(refresh, EVERY_MS);
