/** The next wave of a panel as a calendar file (RFC 5545). */

const LONGEST = 75; // octets of a line (section 3.1)
const ESCAPED = { "\\": "\\\\", ";": "\\;", ",": "\\,", "\n": "\\n" };
const CONTROLS = /[\0-\t\v-\x1f\x7f]/g; // no text has any (section 3.1), but for line ends

/**
 * @typedef {object} Reminder
 * @property {string} id of the wave, the same in every file about it, so that a calendar has it once
 * @property {string} title
 * @property {string} text
 * @property {string} url where to come back
 * @property {number} opens Unix time in seconds
 * @property {number} closes
 */

/**
 * @param {Reminder} reminder
 * @param {number} now Unix time in seconds
 * @returns {string} a file with one event, which keeps nobody busy and reminds when it begins
 */
export function calendar({ id, title, text, url, opens, closes }, now) {
  const lines = [
    "BEGIN:VCALENDAR", "VERSION:2.0", "PRODID:-//Privet//answer page//EN",
    "BEGIN:VEVENT", `UID:${id}@${new URL(url).hostname}`, `DTSTAMP:${utc(now)}`, `DTSTART:${utc(opens)}`, `DTEND:${utc(closes)}`,
    `SUMMARY:${escaped(title)}`, `DESCRIPTION:${escaped(text)}`, `URL:${url}`, "TRANSP:TRANSPARENT",
    "BEGIN:VALARM", "ACTION:DISPLAY", "TRIGGER:PT0S", `DESCRIPTION:${escaped(title)}`, "END:VALARM",
    "END:VEVENT", "END:VCALENDAR",
  ];
  return lines.map((line) => `${folded(line)}\r\n`).join("");
}

const utc = (seconds) => new Date(1000 * seconds).toISOString().replace(/[-:]|\.\d+/g, "");
const escaped = (text) => text.replace(/\r\n?/g, "\n").replace(CONTROLS, " ").replace(/[\\;,\n]/g, (sign) => ESCAPED[sign]);

/** A line in pieces of at most 75 octets, between characters. */
function folded(line) {
  let size = 0;
  return [...line].map((sign) => {
    const more = new TextEncoder().encode(sign).length;
    const fits = size + more <= LONGEST;
    size = fits ? size + more : 1 + more; // with the space that a continued line begins with
    return fits ? sign : `\r\n ${sign}`;
  }).join("");
}
