/**
 * `node vectors.js FOLDER` holds the modules to the published vectors and prints how many cases of
 * each file they reproduce; the first that they do not is an error.
 */

import assert from "node:assert/strict";
import { createHash, webcrypto } from "node:crypto";
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";

import { encodeRecord } from "../../holder-js/src/features.js";
import { decode, encode } from "../../holder-js/src/msgpack.js";
import { locate } from "../../holder-js/src/partition.js";
import { isPanel, lifetimeOf, panelIdOf, waveTask } from "../../holder-js/src/panels.js";
import { epsilonOf } from "../../holder-js/src/holder.js";
import { OpenedRecord, fromHex } from "../../holder-js/src/report.js";
import { createStratifiedMechanism, disclosureOf } from "../../holder-js/src/strata.js";
import { isSigned } from "../../holder-js/src/signature.js";
import { hex, idOf, packTask, readTask } from "../../holder-js/src/task.js";

globalThis.crypto ??= webcrypto; // global from Node 20 on

const folder = process.argv[2];
const load = (...path) => JSON.parse(readFileSync(join(folder, ...path), "utf8"));
const counts = {};
const tasks = new Map();

for (const file of readdirSync(join(folder, "mechanisms"))) {
  const { mechanism, vectors } = load("mechanisms", file);
  counts[file] = vectors.reduce((sum, vector) => sum + checkMechanism(mechanism, vector), 0);
}
counts["tasks.json"] = await each("tasks.json", checkTask);
counts["reports.json"] = await each("reports.json", checkReport);
counts["batches.json"] = await each("batches.json", checkBatch);
counts["answers.json"] = await each("answers.json", checkAnswer);
counts["values.json"] = load("values.json").reduce((sum, group) => sum + checkValues(group), 0);
counts["signatures.json"] = await checkSignatures(load("signatures.json"));
console.log(JSON.stringify(counts));

async function checkSignatures(cases) {
  for (const { task, header, key, success, name } of cases) {
    assert.equal(await isSigned(task, header, key), success, name);
  }
  return cases.length;
}

async function each(file, check) {
  let count = 0;
  for (const entry of load("messages", file)) count += await check(entry);
  return count;
}

function checkMechanism(mechanism, vector) {
  const { defaults = true, parameters, levels, report_bytes: reportBytes, reports } = vector;
  const built = createStratifiedMechanism({ ...vector, mechanism, parameters: defaults ? {} : parameters });
  assert.deepEqual(built.parameters, parameters);
  assert.equal(built.levels, levels);
  assert.equal(built.reportBytes, reportBytes);
  for (const [name, expected] of Object.entries(vector.integers)) {
    const found = built.integers[name];
    if (Array.isArray(expected) && expected.length === 2) {
      assert.deepEqual([found[0], found.at(-1)].map(String), expected);
    } else {
      assert.deepEqual(Array.isArray(found) ? found.map(String) : String(found), expected);
    }
  }
  for (const { category, randomness, payload } of reports) {
    const drawn = Buffer.from(randomness, "hex");
    const words = Array.from({ length: built.words }, (_, i) => drawn.readBigUInt64LE(8 * i));
    assert.equal(drawn.length, 8 * built.words);
    assert.equal(hex(built.privatize(category, words)), payload);
  }
  return reports.length;
}

async function checkTask({ success, bytes, id, fields, name, problem, asked, panel, waves, lifetime }) {
  if (!success) {
    await assert.rejects(readTask(fromHex(bytes), asked), { type: problem }, name);
    return 1;
  }
  const task = await readTask(fromHex(bytes), id);
  assert.equal(await idOf(fromHex(bytes)), id);
  assert.equal(hex(encode(decode(fromHex(bytes)))), bytes);
  assert.equal(hex(packTask(fields)), bytes);
  const { mechanisms, strata, id: _, ...read } = task;
  assert.deepEqual(read, fields);
  tasks.set(id, task);
  if (panel !== undefined) {
    const placed = { ...task, url: `https://curator.example/v1/tasks/${id}` };
    const tasksOfWaves = await Promise.all(waves.map((_, wave) => waveTask(placed, wave)));
    assert.deepEqual(tasksOfWaves.map((each) => each.id), waves);
    assert.deepEqual(tasksOfWaves.map(({ url }) => url.slice(-64)), waves);
    assert.deepEqual([await panelIdOf(placed), isPanel(task)], [panel, panel === id]);
    assert.equal(lifetimeOf(task, epsilonOf(task)), lifetime);
  }
  return 1;
}

function checkReport({ success, bytes, ...expected }) {
  if (!success) return 0;
  const { version, task, id, answers } = decode(fromHex(bytes));
  const payloads = answers.map(([question, payload]) => [question, hex(payload)]);
  assert.deepEqual([hex(task), hex(id), payloads], [expected.task, expected.id, expected.answers]);
  assert.equal(hex(encode({ version, task, id, answers })), bytes);
  return 1;
}

function checkBatch({ success, name, bytes, task, reports, admissions }) {
  if (!success || name === "keys in another order") return 0; // which only readers of batches take
  const { version, ids, payloads, question, admissions: named } = decode(fromHex(bytes));
  assert.equal(version, tasks.get(task).version);
  assert.equal(hex(ids), reports.map(({ id }) => id).join(""));
  const sent = reports.flatMap(({ answers }) => answers.map(([, payload]) => payload));
  assert.equal(hex(payloads), sent.join(""));
  if (question !== undefined) assert.ok(reports.every(({ answers }) => answers[0][0] === question));
  assert.equal(named === undefined ? "" : hex(named), admissions.join(""));
  return 1;
}

function checkAnswer({ task: id, record, fits, columns, label, cells, stratum: told, seed, report }) {
  const task = tasks.get(id);
  const encoded = encodeRecord(task, record);
  assert.equal(encoded.faults.length === 0, fits, JSON.stringify(record));
  if (fits) {
    assert.deepEqual(encoded.columns, columns);
    assert.equal(encoded.label, label);
    assert.deepEqual(task.partitions.map((tree) => locate(tree, encoded.columns)), cells);
  }
  if (told !== undefined) {
    const { number, conditions, replaced } = disclosureOf(task, encoded);
    assert.deepEqual({ cell: number, conditions, replaced }, told, JSON.stringify(record));
  }
  assert.equal(hex(new OpenedRecord(task, record).draw(stream(seed)).bytes), report, seed);
  return 1;
}

/** Values of one feature, and as a label if no rule replaces what does not fit. */
function checkValues({ listed, low, high, missing = null, unknown = null, reads }) {
  const other = { kind: "numeric", name: "other", low: 0, high: 1, missing: 0 };
  for (const [value, read] of reads) {
    const what = JSON.stringify([listed ?? [low, high], value]);
    const field = { name: "x", missing, unknown, ...(listed ? { kind: "categorical", categories: listed } : { kind: "numeric", low, high }) };
    const asFeature = encodeRecord({ features: [field], label: { ...other, kind: "range" } }, { x: value, other: 0 });
    assert.equal(asFeature.faults.length === 0, read !== null, what);
    if (read !== null) assert.deepEqual(asFeature.columns, listed ? listed.map((name) => Number(name === read)) : [read / high], what);
    if (missing !== null || unknown !== null) continue;
    const label = { name: "x", ...(listed ? { kind: "classes", classes: listed } : { kind: "range", low, high }) };
    const asLabel = encodeRecord({ features: [other], label }, { x: value });
    assert.equal(asLabel.faults.length === 0, read !== null, what);
    if (read !== null) assert.equal(asLabel.label, listed ? listed.indexOf(read) : read, what);
  }
  return reads.length;
}

/** SHA-256(seed + "/0"), SHA-256(seed + "/1"), ... one after another. */
function stream(seed) {
  let rest = Buffer.alloc(0);
  let block = 0;
  return (size) => {
    while (rest.length < size) {
      const more = createHash("sha256").update(`${seed}/${block}`).digest();
      rest = Buffer.concat([rest, more]);
      block += 1;
    }
    const drawn = rest.subarray(0, size);
    rest = rest.subarray(size);
    return Uint8Array.from(drawn);
  };
}
