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
 * @property {boolean} [restored] whether a code to keep brought it, so that more may have been answered than is known
 */

const span = ({ waves }) => [waves[0][0], waves.at(-1)[1]];

/**
 * @param {import("./task.js").Task} task
 * @returns {boolean} whether it is a panel's own document, which takes no reports
 */
export const isPanel = ({ panel, opens, closes }) => panel !== undefined && `${[opens, closes]}` === `${span(panel)}`;

/**
 * @param {import("./task.js").Panel} panel
 * @param {{closes: number | null}} wave its task, or an answer to it
 * @returns {number} its number, from 0
 */
export const numberOf = ({ waves }, { closes }) => waves.findIndex(([, end]) => end === closes);

/**
 * @param {import("./task.js").Task} task
 * @param {number} epsilon of one answer
 * @param {number} [now] Unix time in seconds
 * @returns {number} what all answers cost together, of a person who comes now, or before the first wave
 */
export const lifetimeOf = ({ panel }, epsilon, now = 0) => (panel?.mode === "repeat" ? coming(panel, now).length * epsilon : epsilon);

/** The numbers of the waves that have not closed, from 0. */
const coming = ({ waves }, now) => [...waves.keys()].filter((wave) => now < waves[wave][1]);

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
  const numbers = coming(task.panel, now);
  const wave = mode === "rotate" ? numbers[below(numbers.length, random)] : null;
  return { task: await panelIdOf(task), wave, lifetime: lifetimeOf(task, epsilon, now), closes: (waves[wave] ?? span(task.panel))[1], bytes: new Uint8Array() };
}

/**
 * @param {Member} member
 * @param {Task} task of its panel
 * @param {number} epsilon of one answer
 * @param {number} now Unix time in seconds
 * @returns {number[]} the numbers of the waves to answer: the one that was drawn, or those that have not closed, else the
 *   last one, without those that had closed when the person came, for which nothing is kept, whatever the clock says since
 */
export function turnsOf({ wave, lifetime }, { panel }, epsilon, now) {
  const first = firstOf(lifetime, panel, epsilon);
  const next = coming(panel, now).filter((each) => each >= first);
  return wave === null ? (next.length > 0 ? next : [panel.waves.length - 1]) : [wave];
}

/** The number of the first wave that the lifetime of a person who answers all of them covers. */
const firstOf = (lifetime, { waves }, epsilon) => waves.length - Math.round(lifetime / epsilon);

/**
 * @param {Member} member
 * @param {Task} task of its panel
 * @param {number} epsilon of one answer
 * @param {number[]} answered numbers of waves
 * @returns {import("./code.js").Part}
 */
export const partOf = ({ wave, lifetime }, { panel }, epsilon, answered) => ({ wave, first: wave === null ? firstOf(lifetime, panel, epsilon) : 0, answered });

/**
 * @param {import("./code.js").Part} part
 * @param {Task} task of its panel
 * @param {number} epsilon of one answer
 * @returns {Promise<Member>}
 */
export async function memberFrom({ wave, first }, task, epsilon) {
  const { waves } = task.panel;
  const lifetime = wave === null ? (waves.length - first) * epsilon : epsilon;
  return { task: await panelIdOf(task), wave, lifetime, closes: (waves[wave] ?? span(task.panel))[1], bytes: new Uint8Array(), restored: true };
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
