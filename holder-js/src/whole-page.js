/** A page that is `<privet-answer page>` and nothing else: its title, language, invitation and the browser's way back. */

/** @param {import("./element.js").PrivetAnswer} form */
export function takePage(form) {
  const isPreview = form.getAttribute("task")?.endsWith("/preview"); // at a relay, for whoever asks: the task stands behind the hash
  const given = decoded(location.hash.slice(1)); // which browsers send to nobody
  const language = new URLSearchParams(location.search).get("language");
  if (language) form.setAttribute("language", language);
  if (isPreview || given) form.setAttribute(isPreview ? "preview" : "invitation", given);
  let isInside = false; // past the first screen, from where the browser's way back leads through the others
  form.addEventListener("privet-step", ({ detail: { step, title, language } }) => {
    [document.title, document.documentElement.lang] = [title, language];
    const chosen = form.getAttribute("language"); // by the address, or by the reader: the address keeps it
    if (chosen) history.replaceState(history.state, "", `?${new URLSearchParams({ language: chosen })}${location.hash}`);
    if (step === "questions" && !isInside) history.pushState(null, "");
    if (step === "start" && isInside) history.back();
    isInside = step === "questions" || step === "check";
  });
  addEventListener("popstate", () => {
    if (!isInside) return;
    isInside = false; // so that coming to the start does not lead back once more
    form.back();
  });
}

/** Text that stands in an address; as it is, if it is damaged. */
function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
