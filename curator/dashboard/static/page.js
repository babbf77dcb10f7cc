/**
 * Every link and form of the dashboard leads to a page. Those with `data-into` put the part of that
 * page with this id into the page that is open instead.
 */

const EVERY_MS = 5_000;
const parser = new DOMParser();
const latest = new Map();

/** Fetch a page and put its part `into` here, or the problem that it states. */
async function load(url, into, options = {}) {
  const target = document.getElementById(into);
  latest.get(into)?.abort();
  const abort = new AbortController();
  latest.set(into, abort);
  target.setAttribute("aria-busy", "true");
  try {
    const response = await fetch(url, { ...options, signal: abort.signal });
    if (response.redirected) {
      location.href = response.url;
      return null;
    }
    const page = parser.parseFromString(await response.text(), "text/html");
    const part = page.getElementById(into);
    target.replaceChildren(...(part ? part.childNodes : [page.getElementById("problem")]));
    prepare(target);
    return page;
  } catch (error) {
    if (error.name === "AbortError") return null;
    target.replaceChildren("The curator does not answer. Try again.");
    return null;
  } finally {
    if (latest.get(into) === abort) target.removeAttribute("aria-busy");
  }
}

document.addEventListener("click", (event) => {
  const link = event.target.closest("a[data-into], .tree a");
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
  const into = link.dataset.into ?? "node";
  event.preventDefault();
  void load(link.getAttribute("href"), into).then((page) => {
    if (page) document.getElementById(into).scrollIntoView({ block: "nearest" });
  });
});

document.addEventListener("submit", (event) => {
  const form = event.target;
  const into = event.submitter?.dataset.into ?? form.dataset.into;
  if (!into) return;
  event.preventDefault();
  void send(form, into, event.submitter);
});

document.addEventListener("change", (event) => {
  const form = event.target.form;
  if (form?.dataset.atOnce === undefined) return;
  void send(form, form.dataset.into, null).then((page) => {
    const renewed = page?.getElementById(form.id);
    if (!renewed || event.target.name !== "estimator") return;
    form.replaceChildren(...renewed.childNodes); // another estimator has other parameters
    prepare(form);
    form.elements.estimator.focus();
  });
});

function send(form, into, submitter) {
  const url = submitter?.getAttribute("formaction") ?? form.getAttribute("action");
  const data = new FormData(form);
  if (form.method === "get") return load(`${url}?${new URLSearchParams(data)}`, into);
  const plain = form.enctype !== "multipart/form-data";
  return load(url, into, { method: "POST", body: plain ? new URLSearchParams(data) : data });
}

/** A slider beside each number on a logarithmic scale. */
function prepare(part) {
  for (const number of part.querySelectorAll("input[data-scale='log']")) {
    const slider = Object.assign(document.createElement("input"), { type: "range", min: -3, max: 4, step: 0.25 });
    slider.setAttribute("aria-label", "The same on a logarithmic scale");
    slider.value = Math.log10(Math.max(Number(number.value), 1e-3));
    slider.addEventListener("input", () => {
      number.value = Number((10 ** slider.value).toPrecision(3));
      slider.setAttribute("aria-valuetext", number.value);
    });
    number.addEventListener("input", () => {
      slider.value = Math.log10(Math.max(Number(number.value), 1e-3));
    });
    number.after(slider);
  }
}

/** Fetch what changes while reports come in, unless somebody is reading in it by keyboard. */
async function refresh() {
  const old = document.querySelector("[data-refresh]");
  if (!old || document.hidden || old.contains(document.activeElement)) return;
  const response = await fetch(old.dataset.refresh).catch(() => null);
  if (!response?.ok) return;
  const page = parser.parseFromString(await response.text(), "text/html");
  const fresh = page.getElementById(old.id);
  if (fresh.dataset.visitor !== old.dataset.visitor) {
    location.reload(); // the session has ended, or another began
    return;
  }
  const open = [...old.querySelectorAll("details")].map((each) => each.open);
  fresh.querySelectorAll("details").forEach((each, place) => {
    each.open = open[place] ?? false;
  });
  if (fresh.innerHTML !== old.innerHTML) old.replaceWith(fresh);
}

prepare(document);
setInterval(refresh, EVERY_MS);
