/** A task's texts in the reader's language, where its asker has translated them. */

const primary = (tag) => tag.toLowerCase().split("-")[0];

/**
 * @param {readonly string[]} wanted tags, the most wanted first
 * @param {string[]} available
 * @returns {string | undefined} the first available one that is wanted, else one of the same language
 */
export function best(wanted, available) {
  const found = wanted.map(
    (tag) =>
      available.find((each) => each.toLowerCase() === tag.toLowerCase()) ??
      available.find((each) => primary(each) === primary(tag)),
  );
  return found.find((each) => each !== undefined);
}

/** @returns {readonly string[]} the reader's languages, as the browser has them */
export const preferred = () => globalThis.navigator?.languages ?? [];

/**
 * A task's own texts for a reader.
 * @param {Pick<import("./task.js").Task, "language" | "translations">} task
 * @param {readonly string[]} wanted the reader's languages
 * @returns {(text: string) => {text: string, lang: string}} the text in the wanted language where
 *   there is a translation, and the language it is in, "" where the task does not say
 */
export function translator({ language = "", translations = [] }, wanted) {
  const chosen = best(wanted, [language, ...translations.map((each) => each.language)].filter(Boolean));
  const translation = translations.find((each) => each.language === chosen);
  const texts = new Map(translation?.texts);
  return (text) => (texts.has(text) ? { text: texts.get(text), lang: chosen } : { text, lang: language });
}

/** @param {string} name of a column, for people */
export function capitalized(name) {
  const words = name.replaceAll("_", " ").trim() || name;
  return words[0].toUpperCase() + words.slice(1);
}
