/** What answering a task means, in plain words, before anything is answered. */

import { epsilonOf } from "./holder.js";
import { cellsOf } from "./partition.js";
import { CAPS } from "./ledger.js";

/**
 * @param {object} task
 * @param {string} host who gets the message
 * @returns {string[]} one paragraph each
 */
export function explain(task, host) {
  const { questions, allocation, features, label, invited } = task;
  const count = features.length + 1;
  const answers = allocation === "all" ? questions.length : 1;
  const what = answers === 1 ? "one of" : `in each of ${answers} questions one of`;
  const cells = questions.map(({ partition }) => cellsOf(task.partitions[partition]));
  const asked = questions.some(({ asks }) => asks === "label") ? `, together with “${label.name}”` : "";
  return [
    `You fill in ${count} fields. They stay on this device: they are neither sent nor stored.`,
    `From them this page finds ${what} ${[...new Set(cells)].join(" or ")} groups of similar people${asked}, ` +
      "and turns that into a message with a known amount of chance.",
    `Only that message goes to ${host}, with the task's id and a random number${invited ? ", and your invitation" : ""}. ` +
      "As with any web page, the server sees your network address, and when you loaded and answered the task.",
    `You can answer once. It costs epsilon ${epsilonOf(task)} of the ${CAPS.year} that this page lets you spend in a year.`,
  ];
}

/**
 * @param {object} task
 * @returns {string} what the message can tell, whoever reads it
 */
export function meaning(task) {
  const epsilon = epsilonOf(task);
  return (
    `Whatever the message is, any other answers could have led to it, at most ${odds(epsilon)} times less often. ` +
    "Who thinks two possible answers of yours equally likely can be at most " +
    `${surest(epsilon)} sure after reading it, whatever else they know.`
  );
}

/** e^epsilon, in words. */
const odds = (epsilon) => (epsilon < 700 ? Number(Math.exp(epsilon).toPrecision(3)).toString() : "more than 10^300");

/** What even odds become at most, rounded up. */
const surest = (epsilon) => `${Math.ceil(1000 / (1 + Math.exp(-epsilon))) / 10}%`;
