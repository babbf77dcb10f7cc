/** The answer page: `<privet-answer>` for one task, with the page's title, language, invitation and way back. */

import "./privet-answer.js";

const setting = (name) => document.querySelector(`meta[name="privet-${name}"]`).content;
const form = document.createElement("privet-answer");
const preview = setting("task").endsWith("/preview"); // at a relay, for whoever asks: the task stands behind the hash
form.setAttribute("task", setting("task"));
form.setAttribute("curator-key", setting("curator-key"));
form.setAttribute(preview ? "preview" : "invitation", decoded(location.hash.slice(1))); // which browsers send to nobody
form.setAttribute("level", "1");

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
document.querySelector("main").append(form);

/** Text that stands in an address; as it is, if it is damaged. */
function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
