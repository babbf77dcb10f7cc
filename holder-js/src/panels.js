/**
 * A person's part in a panel (docs/holder.md, "Panels"): the wave that this device drew, and the epsilon that is
 * kept for it, once the person agreed to take part.
 *
 * The draw depends on the panel's dates and this device's clock alone, and stays, since a turn that is known is a kept one.
 */

import { platformRandom } from "./report.js";
import { idOf, packTask } from "./task.js";

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

/** The same task with other dates of its panel, at its own address. */
async function dated(task, [opens, closes]) {
  const id = await idOf(packTask({ ...task, opens, closes }));
  return { ...task, opens, closes, id, url: task.url.replace(task.id, id) };
}

/**
 * @param {Task} task of a panel
 * @param {number} wave its number, from 0
 * @returns {Promise<Task>} the wave's task
 */
export const waveTask = (task, wave) => dated(task, task.panel.waves[wave]);

/**
 * @param {Task} task of a panel
 * @returns {Promise<Task>} the panel's own document
 */
export const wholePanel = (task) => dated(task, span(task.panel));

/**
 * @param {Task} task of a panel
 * @returns {Promise<string>} the panel's id
 */
export const panelIdOf = async (task) => (await wholePanel(task)).id;

/**
 * @param {Task} task of a panel
 * @param {number} epsilon of one answer
 * @param {number} now Unix time in seconds
 * @param {(size: number) => Uint8Array} [random]
 * @returns {Promise<Member>} a person's part who comes to the panel now, which has a wave that has not closed
 */
export async function drawMember(task, epsilon, now, random = platformRandom) {
  const { mode, waves } = task.panel;
  const coming = waves.map((_, wave) => wave).filter((wave) => now < waves[wave][1]);
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
  const next = waves.findIndex(([, closes]) => now < closes);
  return wave ?? (next < 0 ? waves.length - 1 : next);
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
