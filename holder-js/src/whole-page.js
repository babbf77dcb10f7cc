/** A page that is `<privet-answer page>` and nothing else: its title, language, invitation and the browser's way back. */

/** @param {import("./element.js").PrivetAnswer} form */
export function takePage(form) {
  const isPreview = form.getAttribute("task")?.endsWith("/preview"); // at a relay, for whoever asks: the task stands behind the hash
  const given = decoded(location.hash.slice(1)); // which browsers send to nobody
  if (isPreview || given) form.setAttribute(isPreview ? "preview" : "invitation", given);
  let isChecking = false;
  form.addEventListener("privet-step", ({ detail: { step, title, language } }) => {
    [document.title, document.documentElement.lang] = [title, language];
    if (step === "check") history.pushState(null, ""); // so that the browser's own way back leads to the questions
    if (step === "questions" && isChecking) history.back();
    isChecking = step === "check";
  });
  addEventListener("popstate", () => {
    isChecking = false;
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
