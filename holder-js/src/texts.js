/** What is said to people, in the reader's language. */

import { best, preferred } from "./translation.js";

/** A catalogue per language, as its `lang` attribute has it; only the chosen one is loaded. */
const CATALOGUES = {
  en: () => import("./text-en.js"),
  de: () => import("./text-de.js"),
  es: () => import("./text-es.js"),
  "zh-Hans": () => import("./text-zh.js"),
};

/** The languages that the page itself speaks. */
export const SPOKEN = Object.keys(CATALOGUES);

/** Numbers with a sign between thousands, and perhaps the other one before decimals. */
const GROUPED = /^[+-]?[1-9]\d{0,2}([.,])\d{3}(\1\d{3})*((?!\1)[.,]\d*)?$/;

/**
 * @param {readonly string[]} [wanted] the reader's languages
 * @returns {Promise<Texts>}
 */
export async function textsFor(wanted = preferred()) {
  const language = best(wanted, SPOKEN) ?? "en";
  return new Texts(language, (await CATALOGUES[language]()).default, regional(language, wanted));
}

/** The wanted form of a language, as a region writes its numbers and dates; itself if there is none. */
function regional(language, wanted) {
  const own = wanted.find((tag) => best([tag], [language]) !== undefined);
  try {
    return Intl.getCanonicalLocales(own)[0] ?? language;
  } catch {
    return language; // for a tag that is none
  }
}

/** Where the reader is. */
function isMidnight(seconds) {
  const date = new Date(1000 * seconds);
  return date.getHours() + date.getMinutes() + date.getSeconds() === 0;
}

/** One language's texts, numbers and dates. */
export class Texts {
  /**
   * @param {string} language
   * @param {Record<string, string>} catalogue
   * @param {string} region whose numbers and dates they are, as a language's tag
   */
  constructor(language, catalogue, region) {
    this.language = language;
    this.region = region;
    this.catalogue = catalogue;
  }

  /**
   * @param {string} key
   * @param {Record<string, string | number>} [values] for the names in braces
   */
  say(key, values = {}) {
    return this.catalogue[key].replace(/\{(\w+)\}/g, (_, name) => String(values[name]));
  }

  /**
   * @param {number} value
   * @param {boolean} [isGrouped] with signs between thousands from five digits on, so that years have none; to be read only
   */
  number(value, isGrouped = false) {
    const plain = Math.abs(value) < 1e14 && (value === 0 || Math.abs(value) >= 1e-6);
    if (!plain) return String(value);
    return new Intl.NumberFormat(this.region, { maximumSignificantDigits: 15, useGrouping: isGrouped && "min2" }).format(value);
  }

  /**
   * @param {string[]} items
   * @param {"conjunction" | "disjunction"} [type]
   */
  list(items, type = "conjunction") {
    return new Intl.ListFormat(this.language, { type }).format(items);
  }

  /**
   * @param {number} share
   * @param {number} [digits] after the decimal sign, at most
   */
  percent(share, digits = 1) {
    return new Intl.NumberFormat(this.region, { style: "percent", maximumFractionDigits: digits }).format(share);
  }

  /** @param {number} seconds Unix time; without a time of day where that is midnight */
  date(seconds) {
    return new Intl.DateTimeFormat(this.region, { dateStyle: "long", timeStyle: isMidnight(seconds) ? undefined : "short" }).format(1000 * seconds);
  }

  /** @param {number} seconds Unix time at which something ends; at midnight the day before, which is its last */
  end(seconds) {
    return this.date(isMidnight(seconds) ? new Date(1000 * seconds).setDate(new Date(1000 * seconds).getDate() - 1) / 1000 : seconds);
  }

  /**
   * The number that somebody typed, with the signs of this language or of another: `1.234,5`,
   * `1,234.5`, `12,5`, full-width digits, spaces or apostrophes between thousands.
   * @param {string} typed
   * @returns {string[]} as the protocol reads it, or what is no number as it is; both numbers where the other
   *   language's sign may be either, as in `1,125` where decimals follow a point
   */
  typedNumbers(typed) {
    const text = typed.normalize("NFKC").trim().replace(/(\d)['’\s](?=\d{3})/g, "$1").replace("−", "-");
    const decimal = text.replace(/^([+-]?\d*),(\d*)$/, "$1.$2");
    const [, sign] = text.match(GROUPED) ?? [];
    if (!sign) return [decimal];
    const whole = text.replaceAll(sign, "").replace(",", ".");
    if (text.match(/[.,]/g).length > 1) return [whole];
    return sign === this.decimalSign ? [decimal] : [whole, decimal];
  }

  get decimalSign() {
    return this.number(1.5)[1];
  }
}
