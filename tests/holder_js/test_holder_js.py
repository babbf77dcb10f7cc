"""A holder in JavaScript, written from the pages of the protocol alone.

It reproduces the published vectors and answers a curator, so these pages suffice for a holder in
any language.
"""

import json
import subprocess
from email.utils import formatdate
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy.stats import mannwhitneyu

from privet.client import WrongClock
from privet.client.clocks import check_clocks, check_dates, in_utc
from privet.client.disclosures import disclosed_bits, splits_of
from privet.protocol import limits
from privet.protocol.errors import TaskNotOpen
from privet.protocol.mechanisms import MECHANISMS
from privet.protocol.panel import Mode
from privet.protocol.task import Task
from scripts import make_message_vectors, make_vectors
from tests import strategies
from tests.client.test_account import halves
from tests.client.test_departure import FAR, MISFIT, NEAR, chain
from tests.client.test_ledger import DAY, NOW
from tests.client.test_panels import JANUARY, JULY, MARCH, WAVES, panel
from tests.holder_js.node import NODE, evaluated
from tests.keeping import keeps
from tests.protocol.examples import RECORD, make_task
from tests.protocol.test_conditions import bound
from tests.protocol.vectors import TASKS
from tests.stat_checks import ALPHA

HERE = Path(__file__).parent
VECTORS = HERE.parent / "vectors"

pytestmark = pytest.mark.needs("node")


def run(script: str, *arguments: str, given: str = "") -> str:
    """What a script prints."""
    command = [NODE, "--unhandled-rejections=strict", str(HERE / script), *arguments]
    done = subprocess.run(
        command, input=given, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_limits_are_those_of_the_protocol() -> None:
    """Else a task that one holder answers is refused by another."""
    printed = evaluated(
        'import { MAX } from "./task.js"; import { MAX_TABLE_ENTRIES } from "./mechanisms.js";'
        'import { MAX_SUMS } from "./strata.js";'
        "console.log(JSON.stringify({ ...MAX, tables: MAX_TABLE_ENTRIES, sums: MAX_SUMS }));"
    )
    names = {
        "cells": limits.MAX_CELLS,
        "nodes": limits.MAX_NODES,
        "columns": limits.MAX_COLUMNS,
        "questions": limits.MAX_QUESTIONS,
        "classes": limits.MAX_CLASSES,
        "levels": limits.MAX_LEVELS,
        "parameters": limits.MAX_PARAMETERS,
        "part": limits.MAX_PART,
        "name": limits.MAX_NAME_LENGTH,
        "category": limits.MAX_CATEGORY_LENGTH,
        "description": limits.MAX_DESCRIPTION_LENGTH,
        "translations": limits.MAX_TRANSLATIONS,
        "waves": limits.MAX_WAVES,
        "panelSeconds": limits.MAX_PANEL_SECONDS,
        "taskBytes": limits.MAX_TASK_BYTES,
        "items": limits.MAX_TASK_ITEMS,
        "randomBytes": limits.MAX_RANDOM_BYTES,
        "reportBytes": limits.MAX_REPORT_BYTES,
        "tables": limits.MAX_TABLE_ENTRIES,
        "sums": limits.MAX_SUMS,
    }
    assert printed.items() >= names.items()


def test_every_vector_is_reproduced() -> None:
    """Payloads of all mechanisms, tasks both ways and the bad ones, reports, batches, answers."""
    counts = json.loads(run("vectors.js", str(VECTORS)))
    for name in MECHANISMS:
        vectors = json.loads((VECTORS / "mechanisms" / f"{name}.json").read_text())["vectors"]
        assert counts.pop(f"{name}.json") == sum(len(vector["reports"]) for vector in vectors)
    for name in ("tasks.json", "answers.json"):
        assert counts.pop(name) == len(json.loads((VECTORS / "messages" / name).read_text()))
    for name in ("reports.json", "batches.json"):
        cases = json.loads((VECTORS / "messages" / name).read_text())
        readable = [c for c in cases if c["success"] and c["name"] != "keys in another order"]
        assert counts.pop(name) == len(readable)
    assert counts.pop("signatures.json") == len(
        json.loads((VECTORS / "signatures.json").read_text())
    )
    groups = json.loads((VECTORS / "values.json").read_text())
    assert counts.pop("values.json") == sum(len(group["reads"]) for group in groups)
    assert counts == {}


def test_its_stores_keep_the_table_of_cases(tmp_path: Path) -> None:
    """The one that `tests/client/test_ledger.py` holds the Python ledgers to; a file is its owner's
    alone, and nothing lies beside it."""
    table = VECTORS / "ledger.json"
    cases = json.loads(table.read_text())
    assert json.loads(run("ledger.js", str(table), str(tmp_path))) == len(cases)
    files = [*tmp_path.iterdir()]
    assert {path.name for path in files} <= {f"{number}.json" for number in range(len(cases))}
    assert {path.stat().st_mode & 0o777 for path in files} == {0o600}


BOUNDS = """
import { readFileSync } from "node:fs";
import { disclosureOf } from "./strata.js";
import { textsFor } from "./texts.js";
const texts = await textsFor(["en"]);
const said = ([low, high, cut, column]) => {
  const task = {
    features: [{ name: "n", low, high }],
    partitions: [{ feature: [0], threshold: [cut], left: [1], right: [2] }],
    questions: [{ partition: 0 }],
    strata: { nodes: [1, 2] },
    group_sizes: [1, 1],
  };
  const { conditions } = disclosureOf(task, { columns: [column], replaced: [] });
  return conditions.map(([name, sign, value]) => `${name} ${sign} ${texts.number(value)}`).join();
};
console.log(JSON.stringify(JSON.parse(readFileSync(0, "utf8")).map(said)));
"""


def test_numbers_are_told_in_the_same_digits() -> None:
    """On the page in English as in Python: cuts of any size, ties, whole numbers and noise."""
    chance = Random(1)
    given: list[tuple[float, float, float, float]] = []
    for _ in range(5000):
        a, b = (chance.randrange(10 ** chance.randrange(1, 17)) for _ in range(2))
        low, width = chance.choice([-a, 0, a, a / 1024]), (b + 1) / chance.choice([1, 64])
        cut = chance.choice([chance.random(), chance.randrange(1, 4097) / 4096, 1 / width])
        given.append((low, low + width, min(cut, 1.0), float(chance.randrange(2))))
    expected = [
        "" if low == high else str(bound(low, high, cut, left=column < cut))
        for low, high, cut, column in given
    ]
    assert evaluated(BOUNDS, json.dumps(given)) == expected
    assert {text.split()[1] for text in expected if text} == {"<", "<=", ">", ">="}


CHECKS = """
import { webcrypto } from "node:crypto";
import { readFileSync } from "node:fs";
import { MemoryStore, answer } from "../index.js";
globalThis.crypto ??= webcrypto; // global from Node 20 on
const { task, id, isKept, options } = JSON.parse(readFileSync(0, "utf8"));
const calls = [];
const http = async (url, { method = "GET" }) => {
  calls.push(method);
  const receipt = JSON.stringify({ report: "00", counted: true });
  const body = method === "GET" ? Buffer.from(task, "hex") : receipt;
  return new Response(body, { headers: { "Content-Type": "application/vnd.privet.task+msgpack" } });
};
const [store, url] = [new MemoryStore(), `https://curator.example/v1/tasks/${id}`];
const report = { id: "00", bytes: new Uint8Array(1), epsilon: 1, drawn: 2e9 };
const kept = { task: id, url, ...report, state: "drawn" };
if (isKept) await store.keep(kept);
const sent = answer(url, {}, { http, store, ...options });
const ended = await sent.then(({ state }) => state, ({ type }) => type);
console.log(JSON.stringify([ended, calls]));
"""
SMALL, DISCLOSING = make_message_vectors.SMALL, make_message_vectors.DISCLOSING


@pytest.mark.parametrize(
    ("task", "is_kept", "options", "ends"),
    [
        (SMALL, True, {}, ["counted", ["POST"]]),
        (SMALL, True, {"curatorKey": "0" * 64}, ["refused", ["GET"]]),
        (SMALL.model_copy(update={"invited": True}), False, {}, ["refused", ["GET"]]),
        (DISCLOSING, False, {"smallestGroup": 10**6}, ["refused", ["GET"]]),
    ],
)
def test_what_the_other_holder_refuses_is_refused(
    task: Task, is_kept: bool, options: dict[str, Any], ends: list[Any]
) -> None:
    """A kept answer without the pinned key's signature; the uninvited, and who is in few people."""
    given = {"task": task.canonical.hex(), "id": task.id, "isKept": is_kept, "options": options}
    assert evaluated(CHECKS, json.dumps(given)) == ends


FAULTS_ON_THE_WAY = """
import { webcrypto } from "node:crypto";
import { readFileSync } from "node:fs";
import { MemoryStore, answer } from "../index.js";
import { IndexedDBStore } from "./indexeddb-store.js";
globalThis.crypto ??= webcrypto; // global from Node 20 on
const { task, id, record } = JSON.parse(readFileSync(0, "utf8"));
const url = `https://curator.example/v1/tasks/${id}`;
const ended = (sent) => sent.then(({ state }) => state, ({ type, why }) => `${type} ${why}`);
const [ends, store] = [[], new MemoryStore()];
let pages = 0; // that the network's login page takes
const posts = [];
const http = async (address, { method, body }) => {
  if (method === "POST") posts.push(Buffer.from(body).toString("hex"));
  const isPage = method === "POST" && pages-- > 0;
  const page = { headers: { "Content-Type": "text/html; charset=utf-8" } };
  if (isPage) return new Response("<html>", page);
  if (address.endsWith("/status")) return Response.json({ phase: "open" });
  const receipt = JSON.stringify({ report: (await store.find(id))?.id, counted: true });
  const headers = { "Content-Type": "application/vnd.privet.task+msgpack" };
  return new Response(method === "GET" ? Buffer.from(task, "hex") : receipt, { headers });
};
const options = { http, store, sleep: async () => {} };
pages = 6;
ends.push(await ended(answer(url, record, options)), (await store.find(id)).state);
pages = 2;
ends.push(await ended(answer(url, record, options)), posts.length, new Set(posts).size);
const near = url.replace("https://curator.example", "http://192.168.1.5:8100");
ends.push(await ended(answer(near, record, options)));
const waits = [];
globalThis.indexedDB = { open: () => ({}) };
const timer = setTimeout;
globalThis.setTimeout = (work, wait) => { waits.push(wait); return timer(work, 0); };
ends.push(await ended(new IndexedDBStore().rows()), waits);
Object.defineProperty(globalThis, "crypto", { value: {} });
for (const each of [url, near]) {
  ends.push(await answer(each, record, options).catch(({ message }) => message));
}
console.log(JSON.stringify(ends));
"""


def test_what_is_in_the_way_is_said() -> None:
    """A login page takes six tries, and is over after the second of the next; plain http on a
    network; a storage that never answers; a page without Web Crypto."""
    record = make_message_vectors.first_record(SMALL)
    given = {"task": SMALL.canonical.hex(), "id": SMALL.id, "record": record}
    assert evaluated(FAULTS_ON_THE_WAY, json.dumps(given)) == [
        *("unreachable login-page", "drawn", "counted", 6 + 3, 1),
        *("invalid-request plain-http", "ledger-failed undefined", [10_000]),
        "There is no Web Crypto here: use https.",
        f"http://192.168.1.5:8100/v1/tasks/{SMALL.id} is plain http: use https.",
    ]


PHASES = """
import { webcrypto } from "node:crypto";
import { readFileSync } from "node:fs";
import { MemoryStore, answer } from "../index.js";
globalThis.crypto ??= webcrypto; // global from Node 20 on
const { task, id, record, phases } = JSON.parse(readFileSync(0, "utf8"));
const url = `https://curator.example/v1/tasks/${id}`;
const ends = [];
for (const phase of phases) {
  const [store, calls] = [new MemoryStore(), []];
  const http = async (address, { method }) => {
    calls.push(method);
    const status = phase === null ? new Response("", { status: 500 }) : Response.json({ phase });
    if (address.endsWith("/status")) return status;
    const receipt = JSON.stringify({ report: (await store.find(id))?.id, counted: true });
    const headers = { "Content-Type": "application/vnd.privet.task+msgpack" };
    return new Response(method === "GET" ? Buffer.from(task, "hex") : receipt, { headers });
  };
  const sent = answer(url, record, { http, store });
  const end = await sent.then(({ state }) => state, ({ type, why }) => `${type} ${why}`);
  ends.push([end, calls.join(" "), (await store.answers()).length]);
}
console.log(JSON.stringify(ends));
"""


def test_nothing_is_drawn_for_a_task_that_takes_no_answers() -> None:
    """As by the other holder; a server that does not say keeps nobody from answering."""
    phases = ["full", "closed", "open", None]
    record = make_message_vectors.first_record(SMALL)
    given = {"task": SMALL.canonical.hex(), "id": SMALL.id, "record": record, "phases": phases}
    assert evaluated(PHASES, json.dumps(given)) == [
        ["quota-reached undefined", "GET GET", 0],
        ["task-not-open closed", "GET GET", 0],
        ["counted", "GET GET POST", 1],
        ["counted", "GET GET POST", 1],
    ]


OPENS = """
import { webcrypto } from "node:crypto";
import { readFileSync } from "node:fs";
import { MemoryStore, answer, loadTask, validate } from "../index.js";
globalThis.crypto ??= webcrypto; // global from Node 20 on
const { task, id, cases } = JSON.parse(readFileSync(0, "utf8"));
const url = `https://curator.example/v1/tasks/${id}`;
const loud = [];
console.error = (text) => void loud.push(text);
async function tried({ record, validated = false, ...options }) {
  const [store, calls] = [new MemoryStore(), []];
  const http = async (_, { method, body }) => {
    calls.push([method, body?.length ?? 0]);
    const receipt = JSON.stringify({ report: (await store.find(id))?.id, counted: true });
    const headers = { "Content-Type": "application/vnd.privet.task+msgpack" };
    return new Response(method === "GET" ? Buffer.from(task, "hex") : receipt, { headers });
  };
  const read = await loadTask(url, { http: async (...given) => http(...given) });
  calls.pop();
  let findings = null;
  try {
    ({ findings } = validate(read, record));
    const ready = validated ? validate(read, record) : record;
    return [(await answer(url, ready, { http, store, ...options })).state, calls, findings];
  } catch ({ type }) {
    const sent = answer(url, record, { http, store, ...options });
    return [await sent.then(({ state }) => state, (problem) => problem.type), calls, findings];
  }
}
console.log(JSON.stringify([await Promise.all(cases.map(tried)), loud.length]));
"""
ODD: list[Any] = [
    {},
    {"age": 67},
    {**RECORD, "answer": "yess"},
    {**RECORD, "age": "many"},
    {**RECORD, "age": ["x"]},
    {**RECORD, "work": {"a": None}, "age": None},
    None,
    "text",
]
"""Records that do not fit."""


def opened(*cases: dict[str, Any]) -> Any:
    """How ``answer`` ended for each case, its calls and the findings; how often it was loud."""
    task = make_task()
    given = {"task": task.canonical.hex(), "id": task.id, "cases": cases}
    return evaluated(OPENS, json.dumps(given))


def test_a_value_is_answered_and_a_name_is_refused() -> None:
    """Whatever the values are: the same calls with as many bytes. An unknown name of a column, or
    of an option, sends nothing: it is the program's mistake, and would waste a collection."""
    validated: list[Any] = [{"record": record, "validated": True} for record in (RECORD, *ODD)]
    plain: list[Any] = [{"record": record} for record in (RECORD, *ODD)]
    (first, *others), loud = opened(*plain, *validated)
    assert (first[0], first[2], loud) == ("counted", [], 0)
    assert [call for call, _ in first[1]] == ["GET", "GET", "POST"]
    assert [each[:2] for each in others] == [first[:2]] * len(others)
    found = [each[2] for each in others]
    assert [len(each) for each in found[: len(ODD)]] == [2, 1, 1, 1, 1, 1, 3, 3]
    assert found[len(ODD)] == []
    names: list[Any] = [
        {"record": {**RECORD, "aeg": 67}},
        {"record": {"aeg": None}, "validated": True},
    ]
    (wrong, absent, option), _ = opened(*names, {"record": RECORD, "storee": 9})
    assert wrong == absent == ["invalid-record", [["GET", 0], ["GET", 0]], None]
    assert option == ["invalid-request", [], []]


def test_development_mode_says_loudly_what_does_not_fit() -> None:
    """On the console, once a page, and nowhere else."""
    unfit: dict[str, Any] = {"record": {}}
    assert opened({**unfit, "development": True}, {**unfit, "development": True})[1] == 1
    quiet = [{**unfit, "development": False}, {"record": RECORD, "development": True}]
    assert opened(*quiet)[1] == 0


TURNS = """
import { webcrypto } from "node:crypto";
import { readFileSync } from "node:fs";
import { MemoryStore, answer, loadTask, review, turn, validate } from "../index.js";
globalThis.crypto ??= webcrypto; // global from Node 20 on
const { tasks, url, record, at, word, last } = JSON.parse(readFileSync(0, "utf8"));
const [store, posts] = [new MemoryStore(), []];
let book = store;
const http = async (address, { method, body }) => {
  const id = address.match(/[0-9a-f]{64}/)[0];
  if (method === "POST" && book === store) posts.push(id);
  const report = (await book.answers()).find(({ task }) => task === id)?.id;
  const headers = { "Content-Type": "application/vnd.privet.task+msgpack" };
  return new Response(method === "GET" ? Buffer.from(tasks[id], "hex") : JSON.stringify({ report, counted: true }), { headers });
};
const random = (size) => (size === 4 ? Uint8Array.of(0, 0, 0, word) : crypto.getRandomValues(new Uint8Array(size)));
const ends = [];
for (const now of at) {
  const options = { http, store, random, now: () => now, sleep: async () => {} };
  ends.push(await answer(url, record, options).then(({ task }) => task, ({ type, why }) => `${type} ${why}`));
}
const whole = await loadTask(url, { http, now: () => at[0] });
const reviewed = [];
for (const [asked, now, given] of [[whole, at[2], record], [whole, at[0], {}], [await loadTask(url.replace(whole.id, last), { http }), at[2], {}]]) {
  const { record: ready, bytes } = await review(asked, given, { languages: ["en"] });
  const options = { http, store: new MemoryStore(), random, now: () => now, sleep: async () => {} };
  book = options.store;
  await turn(whole, { ...options, now: () => at[0] });
  const shown = Buffer.from(bytes).toString("hex");
  const sent = await answer(whole, ready, options).then((each) => [each.task, Buffer.from(each.bytes).toString("hex").replace(each.task, asked.id) === shown], ({ message }) => message);
  const again = await answer(whole, ready, options).then(({ task }) => task, ({ type }) => type);
  reviewed.push([sent, again, (await options.store.members()).length]);
}
const odd = await answer(whole, validate({ ...whole, panel: undefined, id: "0" }, record), { http, store: new MemoryStore(), now: () => at[0] }).catch(({ type }) => type);
const turned = await turn(whole, { http, store, now: () => at[0] });
const inYears = { ...whole.panel, waves: [whole.panel.waves[0], [whole.panel.waves[0][1], at[0] + 1096 * 86400 + 1]] };
const far = await turn({ ...whole, panel: inYears }, { store: new MemoryStore(), now: () => at[0] }).catch(({ type }) => type);
console.log(JSON.stringify({ ends, posts, odd, far, reviewed, turned: turned.id, members: await store.members() }));
"""  # noqa: E501


@pytest.mark.parametrize("mode", ["rotate", "repeat"])
def test_it_takes_its_turns_as_the_other_holder_does(mode: Mode) -> None:
    """In the wave that it drew and in no other, or in each once; told when its turn is; a record
    that was opened against the panel is opened again against the wave."""
    document = panel(mode, 0.5)
    tasks = {each.id: each.canonical.hex() for each in (document, *document.waves)}
    at = [JANUARY + 1, JANUARY + 1, MARCH + 1, MARCH + 2, JULY + 1]
    url = f"https://curator.example/v1/tasks/{document.id}"
    given = {"tasks": tasks, "url": url, "record": RECORD, "at": at, "word": 1}
    given["last"] = document.waves[2].id
    found = evaluated(TURNS, json.dumps(given))
    first, second, third = [wave.id for wave in document.waves]
    if mode == "rotate":
        early = "task-not-open not-yet-open"
        assert found["ends"] == [early, early, second, second, second]
        assert (found["posts"], found["turned"]) == ([second], second)
    else:
        assert found["ends"] == [first, first, second, second, third]
        assert (found["posts"], found["turned"]) == ([first, second, third], first)
    (member,) = found["members"]
    mine, closes = (1, WAVES[1][1]) if mode == "rotate" else (None, document.closes)
    expected = (document.id, mine, document.lifetime, closes)
    assert (member["task"], member["wave"], member["lifetime"], member["closes"]) == expected
    assert (found["odd"], found["far"]) == ("invalid-request", "refused")
    in_march, in_january, of_july = found["reviewed"]
    assert in_march == of_july == [[second, True], second, 1]
    if mode == "rotate":
        said = "Your turn is from 2027-03-16 08:00 UTC"
        assert (said in in_january[0], in_january[1:]) == (True, ["task-not-open", 1])
    else:
        assert in_january == [[first, True], first, 1]


LATE = """
import { webcrypto } from "node:crypto";
import { readFileSync } from "node:fs";
import { MemoryStore, answer } from "../index.js";
import { keptIn } from "./ledger.js";
globalThis.crypto ??= webcrypto; // global from Node 20 on
const { tasks, url, record, steps, caps } = JSON.parse(readFileSync(0, "utf8"));
const store = new MemoryStore({ caps });
const http = async (address, { method }) => {
  const id = address.match(/[0-9a-f]{64}/)[0];
  const report = (await store.answers()).find(({ task }) => task === id)?.id;
  if (tasks[id] === undefined) return new Response(JSON.stringify({ type: "task-not-found" }), { status: 404, headers: { "Content-Type": "application/problem+json" } });
  const headers = { "Content-Type": "application/vnd.privet.task+msgpack" };
  return new Response(method === "GET" ? Buffer.from(tasks[id], "hex") : JSON.stringify({ report, counted: true }), { headers });
};
const ends = [];
for (const { at, deleted } of steps) {
  for (const id of deleted) delete tasks[id];
  const end = await answer(url, record, { http, store, now: () => at, sleep: async () => {} }).then(({ task }) => task, ({ type, message }) => `${type} ${message}`);
  ends.push([end, keptIn(await store.rows(), at)]);
}
console.log(JSON.stringify(ends));
"""  # noqa: E501


def test_who_comes_late_keeps_what_is_still_asked() -> None:
    """Where holders repeat, and nothing is answered for which nothing is kept; deleted waves are
    passed over."""
    document = panel("repeat", 0.5)
    first, second, third = [wave.id for wave in document.waves]
    tasks = {each.id: each.canonical.hex() for each in (document, *document.waves)}
    url = f"https://curator.example/v1/tasks/{document.id}"
    given: dict[str, Any] = {"tasks": tasks, "url": url, "record": RECORD, "caps": {"year": 1.0}}
    given["steps"] = [{"at": at, "deleted": []} for at in (JANUARY, MARCH, JANUARY, JULY)]
    refused, in_march, back, in_july = evaluated(LATE, json.dumps(given))
    assert (refused[0].split()[0], refused[1]) == ("budget-spent", 0)
    assert (in_march, in_july) == ([second, 0.5], [third, 0])
    assert back == in_march  # and nothing of January
    given["caps"] = {}
    given["steps"] = [{"at": at, "deleted": [first]} for at in (JANUARY - 1, JANUARY, MARCH)]
    before, in_january, in_march = evaluated(LATE, json.dumps(given))
    for said in (before[0], in_january[0]):
        assert "Your turn is from 2027-03-16 08:00 UTC" in said
    assert (before[1], in_january[1], in_march) == (0, 0, [second, 0.5])


SHOWN = """
import { webcrypto } from "node:crypto";
import { readFileSync } from "node:fs";
import { MemoryStore, answer, loadTask, review, resend, status } from "../index.js";
globalThis.crypto ??= webcrypto; // global from Node 20 on
const { task, id, record } = JSON.parse(readFileSync(0, "utf8"));
const url = `https://relay.example/v1/tasks/${id}`;
const sent = [];
let fate = "held";
const http = async (address, { method, body }) => {
  if (method === "POST") sent.push(Buffer.from(body).toString("hex"));
  const report = sent.at(-1)?.match(/a26964c410(.{32})/)[1];
  const headers = { "Content-Type": "application/vnd.privet.task+msgpack" };
  if (address === url) return new Response(Buffer.from(task, "hex"), { headers });
  if (method === "POST") return new Response(JSON.stringify({ report, counted: false }), { status: 202 });
  return new Response(JSON.stringify({ report, state: fate, reason: fate === "lost" ? "too-few" : null }));
};
const store = new MemoryStore();
const options = { http, store, sleep: async () => {} };
const loaded = await loadTask(url, options);
const words = await Promise.all(["en", "de", "es", "zh-CN"].map((each) => review(loaded, record, { languages: [each] })));
const [shown] = words;
const states = [(await answer(loaded, shown.record, options)).state];
await answer(loaded, shown.record, { ...options, store: new MemoryStore() });
for (fate of ["held", "lost"]) states.push((await status(loaded, options)).state);
const [again] = await resend(options);
states.push(again.state, again.reason);
fate = "counted";
states.push((await resend(options))[0].state, (await resend(options)).length);
console.log(JSON.stringify({
  languages: words.map(({ language, sent, learn, goes }) => [language, sent[0], learn.many, goes]),
  findings: words.map(({ findings }) => findings.map(({ message }) => message)),
  shown: Buffer.from(shown.bytes).toString("hex"), sent, states,
}));
"""  # noqa: E501


@keeps(
    "threat-model: no report is sent for two people, though one record was shown",
    in_="holder-js/src/report.js",
    instead_of="this.#drawn = undefined;",
    plant="",
)
def test_what_was_shown_is_sent_and_only_once() -> None:
    """The very bytes of the review, in four languages; what is lost goes again byte for byte;
    another person's answer with the same record is a draw of its own."""
    task = make_task()
    record = {**RECORD, "age": "many"}
    given = {"task": task.canonical.hex(), "id": task.id, "record": record}
    found = evaluated(SHOWN, json.dumps(given))
    (first, other, again), states = found["sent"], found["states"]
    assert first == again == found["shown"] != other
    assert states == ["held", "held", "lost", "held", None, "counted", 0]
    assert [each[0] for each in found["languages"]] == ["en", "de", "es", "zh-Hans"]
    assert len({text for each in found["languages"] for text in each[1::2]}) == 8
    assert [len(each) for each in found["findings"]] == [1] * 4
    assert len({each[0] for each in found["findings"]}) == 4


REGIONS = """
import { textsFor } from "./texts.js";
const wanted = [["en-US"], ["en-GB", "de"], ["de-CH"], ["fr", "de-!!"], []];
const TYPED = ["1.500", "1,125", "0,125", "1,125.5"];
const texts = await Promise.all(wanted.map((each) => textsFor(each)));
const said = (each) => [each.language, each.date(15 * 86_400).slice(0, 10), each.number(1.5)];
const [, , , german, english] = texts;
const read = [1985, 12_345].flatMap((of) => [english, german].map((each) => each.number(of, true)));
const MIDNIGHT = new Date(2026, 11, 6) / 1000;
const days = [english.date(MIDNIGHT), english.end(MIDNIGHT), english.end(MIDNIGHT + 3600)];
const regions = texts.map((each) => [...said(each), ...TYPED.map((one) => each.typedNumbers(one))]);
console.log(JSON.stringify([...regions, read, days]));
"""


def test_dates_and_numbers_are_written_as_in_the_readers_region() -> None:
    """Of the language in which the page speaks; a tag that is none is no fault. What is only read
    has signs between thousands, a year none, as on the dashboard. What is typed with the region's
    decimal sign is one number; before three digits the other sign may be either. What ends at
    midnight has the day before as its last."""
    *regions, read, days = evaluated(REGIONS)
    assert days[:2] == ["December 6, 2026", "December 5, 2026"]
    assert days[2].startswith("December 6, 2026 at 1")
    assert read == ["1985", "1985", "12,345", "12.345"]
    assert regions == [
        ["en", "January 16", "1.5", ["1.500"], ["1125", "1.125"], ["0.125"], ["1125.5"]],
        ["en", "16 January", "1.5", ["1.500"], ["1125", "1.125"], ["0.125"], ["1125.5"]],
        ["de", "16. Januar", "1.5", ["1.500"], ["1125", "1.125"], ["0.125"], ["1125.5"]],
        ["de", "16. Januar", "1,5", ["1500", "1.500"], ["1.125"], ["0.125"], ["1125.5"]],
        ["en", "January 16", "1.5", ["1.500"], ["1125", "1.125"], ["0.125"], ["1125.5"]],
    ]


DRY = """
import { webcrypto } from "node:crypto";
import { readFileSync } from "node:fs";
import { loadTask } from "../index.js";
import { dryRun } from "../node.js";
globalThis.crypto ??= webcrypto; // global from Node 20 on
const { task, id, records, now } = JSON.parse(readFileSync(0, "utf8"));
const headers = { "Content-Type": "application/vnd.privet.task+msgpack" };
const http = async () => new Response(Buffer.from(task, "hex"), { headers });
const read = await loadTask(`https://curator.example/v1/tasks/${id}`, { http, now: () => now });
const outcome = (...given) => {
  try {
    return dryRun(read, ...given);
  } catch ({ type, why }) {
    return `${type} ${why ?? ""}`;
  }
};
console.log(JSON.stringify([
  outcome(records, { now: () => now }), outcome({}, { now: () => now, smallestGroup: 10 ** 9 }),
  outcome({ a: { odd: 1 } }, { now: () => now }),
  outcome({}, { now: () => now, invitation: "\\u00e9" }),
]));
"""


def test_a_dry_run_says_what_does_not_fit_by_person() -> None:
    """And the smallest group that a report would disclose; what refuses every report is thrown."""
    task = make_message_vectors.DISCLOSING
    record = make_message_vectors.first_record(task)
    records = {"fits": record, "odd": {**record, "age": "many"}, "none": {}}
    given = {"task": task.canonical.hex(), "id": task.id, "records": records, "now": 2e9}
    told, *refused = evaluated(DRY, json.dumps(given))
    assert set(told["findings"]) == {"odd", "none"}
    assert [each["field"] for each in told["findings"]["odd"]] == ["age"]
    assert told["smallestGroup"] in task.group_sizes
    assert refused == ["refused groups", "invalid-record ", "invalid-request invitation"]


STORES = """
import { webcrypto } from "node:crypto";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { answer, loadTask, MemoryStore, Problem, validate } from "../index.js";
import { FileStore } from "../node.js";
globalThis.crypto ??= webcrypto; // global from Node 20 on
const { task, id, path, epsilon } = JSON.parse(readFileSync(0, "utf8"));
const url = `https://curator.example/v1/tasks/${id}`;
const headers = { "Content-Type": "application/vnd.privet.task+msgpack" };
const http = async () => new Response(Buffer.from(task, "hex"), { headers });
const type = (work) => Promise.resolve().then(work).then(() => "done", ({ type, why }) => `${type} ${why ?? ""}`);
const kept = (number) => ({
  task: String(number), url, epsilon: 1, id: "00", bytes: Uint8Array.of(number), drawn: 2e9, state: "drawn",
});
const stores = [new FileStore(path), new FileStore(path)];
const ends = await Promise.all([...Array(12).keys()].map((n) => type(() => stores[n % 2].keep(kept(n)))));
const told = [ends.filter((each) => each === "done").length, (await stores[0].answers()).length];
const refused = [
  await type(() => answer(url, {}, { http })),
  await type(() => answer(url, {}, { http, store: new MemoryStore({ caps: { task: epsilon / 2 } }) })),
  await type(() => answer(url, {}, { http, store: new MemoryStore(), invitation: "\u00e9" })),
  await type(() => new MemoryStore({ caps: { yaer: 1 } })),
];
writeFileSync(`${path}.taken`, "");
refused.push(await type(() => new FileStore(path, { tries: 2 }).keep(kept(20))));
rmSync(`${path}.taken`);
writeFileSync(path, "{");
refused.push(await type(() => new FileStore(path).answers()));
console.log(JSON.stringify([told, refused, new Set(ends).size]));
"""  # noqa: E501


def test_stores_keep_to_the_caps_whoever_writes(tmp_path: Path) -> None:
    """Two at one file, for which a year has room for four; a damaged file is no empty one; without
    a store nothing is drawn; and caps and invitations that cannot be are refused."""
    task = make_task()
    given = {"task": task.canonical.hex(), "id": task.id, "epsilon": task.epsilon}
    given["path"] = str(tmp_path / "answers.json")
    told, refused, kinds = evaluated(STORES, json.dumps(given))
    assert (told, kinds) == ([4, 4], 2)
    assert refused == [
        "invalid-request ",
        "budget-spent task",
        "invalid-request invitation",
        "invalid-request ",
        "ledger-failed ",
        "ledger-failed ",
    ]


CLOCKS = """
import { webcrypto } from "node:crypto";
import { readFileSync } from "node:fs";
import { MemoryStore, answer, loadTask } from "../index.js";
globalThis.crypto ??= webcrypto; // global from Node 20 on
const cases = JSON.parse(readFileSync(0, "utf8"));
async function tried({ task, id, date, now, loaded = now }) {
  const store = new MemoryStore();
  const http = async (_, { method }) => {
    const receipt = JSON.stringify({ report: (await store.find(id))?.id, counted: true });
    const said = date === null ? {} : { Date: date };
    const headers = { "Content-Type": "application/vnd.privet.task+msgpack", ...said };
    return new Response(method === "GET" ? Buffer.from(task, "hex") : receipt, { headers });
  };
  const options = { http, store, sleep: async () => {} };
  const url = `https://curator.example/v1/tasks/${id}`;
  const given = loaded === now ? url : await loadTask(url, { ...options, now: () => loaded });
  const sent = answer(given, {}, { ...options, now: () => now });
  return sent.then(({ state }) => [state, ""], ({ type, message }) => [type, message]);
}
console.log(JSON.stringify(await Promise.all(cases.map(tried))));
"""


def test_wrong_clocks_are_named_as_by_the_other_holder() -> None:
    """Both clocks are said, nothing is drawn, and what is no date is no clock."""
    cases: list[dict[str, Any]] = []
    expected: list[str] = []
    for error in (-9000 * DAY, -3 * DAY, -DAY, 0.0, DAY, 3 * DAY):
        for dates in ({}, {"opens": int(NOW) + 60}, {"closes": int(NOW)}):
            task = make_task(**dates)
            given = {"task": task.canonical.hex(), "id": task.id, "now": NOW + error}
            cases.append({**given, "date": formatdate(NOW, usegmt=True)})
            try:
                check_clocks(NOW + error, -error)
                check_dates(task, NOW + error, -error)
                expected.append("counted")
            except WrongClock:
                expected.append("wrong-clock")
            except TaskNotOpen:
                expected.append("task-not-open")
    hostile = [{**cases[0], "now": NOW, "date": date} for date in (None, "", "yesterday")]
    outcomes = evaluated(CLOCKS, json.dumps([*cases, *hostile]))
    assert [kind for kind, _ in outcomes] == [*expected, *["counted"] * 3]
    assert set(expected) == {"counted", "wrong-clock", "task-not-open"}
    for case, (kind, said) in zip(cases, outcomes, strict=False):
        if kind != "counted":
            assert f"This device's clock says {in_utc(case['now'])}, the server's" in said
            assert in_utc(NOW) in said


def test_a_clock_that_is_set_while_a_page_is_open_is_named() -> None:
    """The task is asked for anew, with the server's time; not for a clock that only runs."""
    task = make_task()
    given = {"task": task.canonical.hex(), "id": task.id, "date": formatdate(NOW, usegmt=True)}
    set_to = {
        "ahead": NOW + 400 * DAY,
        "back": NOW - 3 * DAY,
        "an hour": NOW + 4000,
        "not": NOW + 1,
    }
    cases = [{**given, "loaded": NOW, "now": now} for now in set_to.values()]
    outcomes = dict(zip(set_to, evaluated(CLOCKS, json.dumps(cases)), strict=True))
    for name in ("ahead", "back"):
        assert outcomes[name][0] == "wrong-clock"
        assert in_utc(set_to[name]) in outcomes[name][1]
        assert f"the server's {in_utc(NOW)}" in outcomes[name][1]
    assert [outcomes[name][0] for name in ("an hour", "not")] == ["counted", "counted"]


SPLITS = """
import { webcrypto } from "node:crypto";
import { readFileSync } from "node:fs";
import { disclosedBits, splitsOf } from "./disclosures.js";
import { readTask } from "./task.js";
globalThis.crypto ??= webcrypto; // global from Node 20 on
const tasks = JSON.parse(readFileSync(0, "utf8")).map((hex) => Buffer.from(hex, "hex"));
const splits = await Promise.all(tasks.map(async (task) => splitsOf(await readTask(task))));
const sizes = (cuts) => Object.values(cuts).map(({ length }) => length).sort((a, b) => a - b);
const counts = splits.map((each) => each && [each.strata, sizes(each.cuts)]);
console.log(JSON.stringify([counts, disclosedBits(splits.filter(Boolean))]));
"""


def test_what_a_task_discloses_is_what_the_other_holder_counts() -> None:
    """Of every task of the vectors: its strata, the cuts through each column, and all bits."""
    tasks = [
        *TASKS.values(),
        *halves(),
        *(t.model_copy(update={"name": "a twin"}) for t in TASKS.values()),
    ]
    splits = [splits_of(task) for task in tasks]
    counts = [s and [s.strata, sorted(map(len, s.cuts.values()))] for s in splits]
    theirs, bits = evaluated(SPLITS, json.dumps([task.canonical.hex() for task in tasks]))
    assert theirs == counts
    assert bits == pytest.approx(disclosed_bits(s for s in splits if s is not None))
    assert bits > 2


@settings(max_examples=4, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data(), chance=st.randoms(use_true_random=False))
def test_any_question_and_any_record(data: st.DataObject, chance: Random) -> None:
    """Two implementations agree on what no vector shows: payloads, default parameters, reports."""
    tasks = data.draw(st.lists(strategies.tasks(), min_size=20, max_size=20, unique_by=id))
    records = [data.draw(strategies.records(task)) for task in tasks]
    answers = [
        make_message_vectors.answer(task, without_nan(record), str(seed))
        for seed, (task, record) in enumerate(zip(tasks, records, strict=True))
    ]
    good = [make_message_vectors.good_task("any", task) for task in tasks]
    written: dict[str, Any] = {"messages/tasks.json": good, "messages/answers.json": answers}
    written |= {"messages/reports.json": [], "messages/batches.json": [], "signatures.json": []}
    written["values.json"] = []
    for name in MECHANISMS:
        vectors = [any_vector(name, chance) for _ in range(6)]
        written[f"mechanisms/{name}.json"] = {"mechanism": name, "vectors": vectors}
    with TemporaryDirectory() as folder:
        for path, content in written.items():
            (Path(folder) / path).parent.mkdir(exist_ok=True)
            (Path(folder) / path).write_text(json.dumps(content))
        assert json.loads(run("vectors.js", folder))["answers.json"] == len(answers)


def without_nan(record: dict[str, Any]) -> dict[str, Any]:
    """JSON has no NaN; null is missing as well."""
    return {name: None if value != value else value for name, value in record.items()}


def any_vector(name: str, chance: Random) -> dict[str, Any]:
    """A question of any size and epsilon, perhaps with strata, and some reports."""
    slots = chance.choice([1, 2, 2, 3, 7])
    question: dict[str, Any] = {
        "epsilon": round(0.05 * 1280 ** chance.random(), chance.choice([2, 15])),
        "cells": chance.choice([2, 3, 5, 16, 33, 100, 257]),
        "slots": slots,
        "regression": slots > 1
        and (slots == 2 or name in {"subset", "projective", "grr"})
        and chance.random() < 0.5,
    }
    if slots > 1 and chance.random() < 0.5:
        drawn = [chance.randrange(5) for _ in range(question["cells"])]
        question["strata"] = [sorted(set(drawn)).index(each) for each in drawn]
    return make_vectors.answer_vector(name, question, 1)


def test_the_time_of_a_report_does_not_tell_the_record() -> None:
    """Near the root, far from it, a misfit, or one that takes long to read: the same times (false
    alarm: three in a million). Without the wait the last one is told apart."""
    task, tries = chain(1), 40
    asked = {
        "task": task.canonical.hex(),
        "id": task.id,
        "records": {"near": NEAR, "far": FAR, "misfit": MISFIT},
        "slow": {"record": "near", "seconds": 0.015},
        "tries": tries,
    }
    times = json.loads(run("observer.js", given=json.dumps(asked)))
    near = times.pop("near")
    for name, seen in times.items():
        assert len(seen["waiting"]) == tries
        assert mannwhitneyu(near["waiting"], seen["waiting"]).pvalue > ALPHA, name
    assert mannwhitneyu(near["atOnce"], times["slow"]["atOnce"]).pvalue < ALPHA
