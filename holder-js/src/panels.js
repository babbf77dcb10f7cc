/**
 * A person's part in a panel (docs/holder.md, "Panels"): the wave that this device drew, and the epsilon that is
 * kept for it.
 *
 * The draw depends on the panel's dates and this device's clock alone, and stays once it is kept.
 */

import { Problem } from "./problem.js";
import { platformRandom } from "./report.js";
import { MAX, idOf, packTask } from "./task.js";

/** @typedef {import("./http.js").Task} Task */

/**
 * @typedef {object} Member what a store keeps of a panel
 * @property {string} task the panel's id
 * @property {number | null} wave the number of the wave that this device drew, from 0; null if all are answered
 * @property {number} lifetime the epsilon that all answers cost together, at most
 * @property {number} closes the end of the last wave that this person answers, Unix time in seconds
 * @property {Uint8Array} bytes empty
 */

const span = ({ waves }) => [waves[0][0], waves.at(-1)[1]];

/**
 * @param {import("./task.js").Task} task
 * @returns {boolean} whether it is a panel's own document, which takes no reports
 */
export const isPanel = ({ panel, opens, closes }) => panel !== undefined && `${[opens, closes]}` === `${span(panel)}`;

/**
 * @param {import("./task.js").Task} task
 * @param {number} epsilon of one answer
 * @returns {number} what all answers of one person cost
 */
export const lifetimeOf = ({ panel }, epsilon) => (panel?.mode === "repeat" ? panel.waves.length * epsilon : epsilon);

/**
 * @param {Task} task of a panel
 * @returns {Promise<string>} the panel's id
 */
export async function panelIdOf(task) {
  return isPanel(task) ? task.id : idOf(packTask(withDates(task, span(task.panel))));
}

/**
 * @param {Task} task of a panel
 * @param {number} wave its number, from 0
 * @returns {Promise<Task>} the wave's task, at its own address
 */
export async function waveTask(task, wave) {
  const dated = withDates(task, task.panel.waves[wave]);
  const id = await idOf(packTask(dated));
  return { ...dated, id, url: task.url.replace(task.id, id) };
}

const withDates = (task, [opens, closes]) => ({ ...task, opens, closes });

/**
 * @param {Task} task of a panel
 * @param {number} epsilon of one answer
 * @param {number} now Unix time in seconds
 * @param {(size: number) => Uint8Array} [random]
 * @returns {Promise<Member>} a person's part who comes to the panel now
 * @throws {Problem} `task-not-open` after its last wave; `refused` where that is more than three years away
 */
export async function drawMember(task, epsilon, now, random = platformRandom) {
  const { mode, waves } = task.panel;
  const coming = waves.map((_, wave) => wave).filter((wave) => now < waves[wave][1]);
  if (coming.length === 0) throw new Problem("task-not-open", "Its last wave has closed: nothing was drawn.", "late");
  if (span(task.panel)[1] - now > MAX.panelSeconds) throw new Problem("refused", "Its last wave is more than three years away.");
  const wave = mode === "rotate" ? coming[below(coming.length, random)] : null;
  return { task: await panelIdOf(task), wave, lifetime: lifetimeOf(task, epsilon), closes: (waves[wave] ?? span(task.panel))[1], bytes: new Uint8Array() };
}

/**
 * @param {Member} member
 * @param {Task} task of its panel
 * @param {number} now Unix time in seconds
 * @returns {number} the number of the wave to answer: the one that was drawn, or the one that is open or comes next
 */
export function turnOf({ wave }, { panel: { waves } }, now) {
  const coming = waves.findIndex(([, closes]) => now < closes);
  return wave ?? (coming < 0 ? waves.length - 1 : coming);
}

/**
 * @param {Member[]} members
 * @param {Map<string, number>} spent epsilon by panel
 * @param {number} now Unix time in seconds
 * @returns {number} the epsilon that is kept for later waves
 */
export function reserved(members, spent, now) {
  const open = members.filter(({ closes }) => now < closes);
  return open.reduce((sum, { task, lifetime }) => sum + Math.max(lifetime - (spent.get(task) ?? 0), 0), 0);
}

/** A number below `count`, each as likely. */
function below(count, random) {
  const end = 2 ** 32 - (2 ** 32 % count);
  for (;;) {
    const drawn = new DataView(random(4).slice().buffer).getUint32(0);
    if (drawn < end) return drawn % count;
  }
}
