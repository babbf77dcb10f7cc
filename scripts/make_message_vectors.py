"""Write tests/vectors: good and bad messages and signatures that every implementation agrees on.

``messages/`` has

``tasks.json``    canonical bytes <-> id and fields; and bytes that are no task
``reports.json``  canonical bytes <-> id and answers; and bytes that are no report to that task
``batches.json``  bytes <-> the reports in it; and bytes that are no batch for that task
``admissions.json``  bytes <-> an id and invitations; and bytes that are no admission
``answers.json``  a task, a record and fixed randomness -> encoded columns, cells, the report

and ``signatures.json`` what a curator's key signs, and what a pinned key refuses: a good case has
the ``secret`` key, the ``task``'s id, the public ``key`` and the ``header`` that follow; a bad one
has a header that a holder who pinned ``key`` must refuse.

Every case has ``success``; a bad message names its problem type. The fields of good tasks, and the
records and seeds of answers, are read from the files themselves: to add a case, write these there.
Run ``python -m scripts.make_message_vectors`` after a change that is meant to change bytes, and no
other time.
"""

import hashlib
import json
import math
import textwrap
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import msgpack
import numpy as np
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from privet.protocol import wire
from privet.protocol.batch import Admission, Batch
from privet.protocol.calls import SIGNATURE_HEADER
from privet.protocol.conditions import conditions_at
from privet.protocol.errors import PrivetError, problem_of
from privet.protocol.features import encode_record
from privet.protocol.mechanisms.base import as_row
from privet.protocol.report import Receipt, Report, make_report
from privet.protocol.signature import Signature, signed_message
from privet.protocol.task import Task
from scripts.make_vectors import wrapped
from scripts.pages import fill

VECTORS = Path(__file__).parent.parent / "tests" / "vectors"
FOLDER, SIGNATURES = VECTORS / "messages", VECTORS / "signatures.json"
PAGE = Path(__file__).parent.parent / "docs" / "protocol.md"


def written(file: str) -> list[dict[str, Any]]:
    """The good cases of a file as it is now."""
    cases = json.loads((FOLDER / file).read_text(encoding="utf-8"))
    return [case for case in cases if case.get("success", True)]


_tasks = {case["id"]: Task.checked(case["fields"]) for case in written("tasks.json")}
TASKS = {case["name"]: _tasks[case["id"]] for case in written("tasks.json")}
CLASSIFY = TASKS["classes, one question"]
REGRESS = TASKS["a number, one of three questions, text beyond ASCII"]
CENTRED = TASKS["a number around a centre per cell"]
INTRODUCED = TASKS["who asks, in two languages"]
BY_PARTS = TASKS["the label alone of a fifth of the holders"]
DISCLOSING = TASKS["age and ward disclosed, classes"]
SMALL = TASKS["the example of the page"]
ANSWERS = [(_tasks[case["task"]], case["record"], case["seed"]) for case in written("answers.json")]


class Stream:
    """Randomness that anybody can repeat: SHA-256 of a seed and a counter, one after another."""

    def __init__(self, seed: str) -> None:
        self.seed, self.block, self.rest = seed, 0, b""

    def __call__(self, n: int) -> bytes:
        while len(self.rest) < n:
            self.rest += hashlib.sha256(f"{self.seed}/{self.block}".encode()).digest()
            self.block += 1
        drawn, self.rest = self.rest[:n], self.rest[n:]
        return drawn


def first_record(task: Task) -> dict[str, Any]:
    """The record of the first answer to a task."""
    return next(record for answered, record, _ in ANSWERS if answered == task)


def damaged(packed: bytes) -> dict[str, bytes]:
    """Unreadable messages, by name."""
    return {
        "empty": b"",
        "not a map": wire.pack([1]),
        "truncated": packed[:-1],
        "a byte too many": packed + b"\x00",
    }


def changed(fields: dict[str, Any], changes: dict[str, dict[str, Any]]) -> dict[str, bytes]:
    """Messages with some of ``fields`` changed, by name."""
    return {name: wire.pack({**fields, **change}) for name, change in changes.items()}


def without_each(fields: dict[str, Any]) -> dict[str, bytes]:
    """Messages without one of ``fields``, by name."""
    return {
        f"no {left_out}": wire.pack({name: fields[name] for name in fields if name != left_out})
        for left_out in fields
    }


def good_task(name: str, task: Task) -> dict[str, Any]:
    """Bytes and fields of one and the same task."""
    return {
        "name": name,
        "success": True,
        "bytes": task.canonical.hex(),
        "id": task.id,
        "fields": task.model_dump(mode="json"),
        **({} if task.panel is None else in_panel(task)),
    }


def in_panel(task: Task) -> dict[str, Any]:
    """The ids of a task's panel and of all its waves, and what it costs one holder in all."""
    waves = [wave.id for wave in task.waves]
    return {"panel": task.whole_panel.id, "waves": waves, "lifetime": task.lifetime}


def bad_tasks() -> list[dict[str, Any]]:
    """Messages that every reader must refuse, by name."""
    whole = CLASSIFY.model_dump()
    question, tree = whole["questions"][0], whole["partitions"][0]
    changes: dict[str, dict[str, Any]] = {
        "another version": {"version": 2},
        "unknown field": {"surprise": 1},
        "a default spelled out": {"invited": False},
        "a first edition spelled out": {"edition": 1},
        "empty name": {"name": ""},
        "unknown mechanism": {"questions": [{**question, "mechanism": "truth"}]},
        "epsilon zero": {"questions": [{**question, "epsilon": 0.0}]},
        "a question about no partition": {"questions": [{**question, "partition": 1}]},
        "a smuggled parameter": {"questions": [{**question, "parameters": {"epsilon": 9.0}}]},
        "a cycle": {"partitions": [{**tree, "left": [0, 3, 5, -1, -1, -1, -1]}]},
        "a split on no column": {"partitions": [{**tree, "feature": [4, 1, 0, -1, -1, -1, -1]}]},
        "a leaf on no column": {"partitions": [{**tree, "feature": [0, 1, 0, 5000, -1, -1, -1]}]},
        "a leaf that names a column": {
            "partitions": [{**tree, "feature": [0, 1, 0, 1, -1, -1, -1]}]
        },
        "text as number": {"features": [{**whole["features"][0], "low": "20"}]},
        "a range upside down": {"features": [{**whole["features"][0], "low": 99.0}]},
        "a control character in a name": {"name": "Do you\x1b[8m agree?"},
        "a control character in a description": {"description": "First\n\u202esecond"},
        "a class written backwards": {"label": {**whole["label"], "classes": ["no", "\u202eyes"]}},
        "one class": {"label": {**whole["label"], "classes": ["no"]}},
        "closes before it opens": {"closes": 1},
        **badly_introduced(),
        **bad_panels(),
        "an integer where a float belongs": {"features": [{**whole["features"][0], "low": 20}]},
    }
    raw = {
        **damaged(CLASSIFY.canonical),
        "a default left out": wire.pack({k: v for k, v in whole.items() if k != "allocation"}),
        "a wide number": CLASSIFY.canonical.replace(b"\xa7version\x03", b"\xa7version\xcc\x03"),
        **changed(whole, changes),
        **badly_centred(),
        **badly_disclosed(),
        **bad_parts(),
    }
    asked = {"not the task asked for": CLASSIFY.canonical}
    parse_asked = partial(Task.parse, expected_id=REGRESS.id)
    return bad("invalid-task", raw, Task.parse) + bad(
        "task-mismatch", asked, parse_asked, asked=REGRESS.id
    )


def bad_parts() -> dict[str, bytes]:
    """Tasks with parts that nobody can answer by, by name."""
    changes: dict[str, dict[str, Any]] = {
        "parts where all answer all": {"allocation": "all"},
        "a part too few": {"parts": [5]},
        "a part too many": {"parts": [4, 1, 1]},
        "a part of nobody": {"parts": [4, 0]},
        "a part above 2^16": {"parts": [4, 2**16 + 1]},
        "a part that is no integer": {"parts": [4, 1.0]},
        "truth as a part": {"parts": [4, True]},
        "no parts, spelled out": {"parts": []},
    }
    return changed(BY_PARTS.model_dump(), changes)


def bad_panels() -> dict[str, dict[str, Any]]:
    """Changes that make a task of a panel that is none, by name."""
    waves = [[100, 200], [300, 400], [500, 600]]
    rotating = {"mode": "rotate", "waves": waves}
    panels: dict[str, dict[str, Any]] = {
        "a panel of one wave": {"mode": "rotate", "waves": [[100, 600]]},
        "a panel without waves": {"mode": "rotate", "waves": []},
        "a wave that closes before it opens": {"mode": "rotate", "waves": [[100, 90], [300, 600]]},
        "overlapping waves": {"mode": "rotate", "waves": [[100, 301], [300, 400], [500, 600]]},
        "waves out of order": {"mode": "rotate", "waves": waves[::-1]},
        "a wave of three dates": {"mode": "rotate", "waves": [[100, 200, 250], [300, 600]]},
        "a wave without an end": {"mode": "rotate", "waves": [[100, None], [300, 600]]},
        "an unknown mode": {"mode": "once", "waves": waves},
        "a panel without a mode": {"waves": waves},
        "a panel with its lifetime": {**rotating, "lifetime": 1.0},
        "too many waves": {
            "mode": "rotate",
            "waves": [*[[100 + 5 * n, 105 + 5 * n] for n in range(64)], [550, 600]],
        },
    }
    span = {"opens": 100, "closes": 600}
    return {
        **{name: {**span, "panel": each} for name, each in panels.items()},
        "dates of neither a panel nor a wave": {"opens": 100, "closes": 400, "panel": rotating},
        "a panel without dates": {"opens": None, "closes": None, "panel": rotating},
        "an invited panel": {**span, "panel": rotating, "invited": True},
        "no panel, spelled out": {"panel": None},
    }


def badly_introduced() -> dict[str, dict[str, Any]]:
    """Invalid changes to the asker, to questions and to translations, by name."""
    whole = INTRODUCED.model_dump()
    (age, work), label = whole["features"], whole["label"]
    asker, texts = whole["asker"], [("no", "nein")]
    german = {"language": "de", "texts": texts}
    return {
        "an asker without contact": {"asker": {k: asker[k] for k in ("name", "purpose", "link")}},
        "an asker's link that is a script": {"asker": {**asker, "link": "javascript:alert(1)"}},
        "an asker's link with a space": {"asker": {**asker, "link": "https://a.example/ b"}},
        "an asker's name written backwards": {"asker": {**asker, "name": "\u202eFraud"}},
        "an absent asker spelled out": {"asker": None},
        "an empty prompt": {"features": [{**age, "prompt": ""}, work]},
        "a prompt of two lines": {"features": [age, {**work, "prompt": "What\nwork?"}]},
        "a prompt too long": {"label": {**label, "prompt": "?" * 1_001}},
        "an absent prompt spelled out": {"label": {**label, "prompt": None}},
        "help below a question, too long": {"label": {**label, "description": "?" * 1_001}},
        "a unit of a text": {"features": [age, {**work, "unit": "years"}]},
        "a language that is none": {"language": "English"},
        "no translations spelled out": {"translations": []},
        "two translations into one language": {"translations": [german, german]},
        "a translation into the task's own language": {"language": "de", "translations": [german]},
        "a text translated twice": {"translations": [{**german, "texts": texts * 2}]},
        "a control character in a translation": {
            "translations": [{**german, "texts": [("no", "n\x1bein")]}]
        },
        "a translation into three texts": {
            "translations": [{**german, "texts": [("no", "nein", "ne")]}]
        },
    }


def badly_centred() -> dict[str, bytes]:
    """Tasks with an invalid centring, by name."""
    whole = CENTRED.model_dump()
    centring = whole["questions"][0]["centring"]
    first = centring["centres"][:-1]
    questions: dict[str, dict[str, Any]] = {
        "fewer centres than cells": {"centring": {**centring, "centres": first}},
        "a centre outside the range": {"centring": {**centring, "centres": [*first, 1000.1]}},
        "a centre that is no number": {"centring": {**centring, "centres": [*first, math.nan]}},
        "a radius of zero": {"centring": {**centring, "radius": 0.0}},
        "a radius beyond the range": {"centring": {**centring, "radius": 1001.6}},
        "a radius lost in rounding": {"centring": {**centring, "radius": 1e-14}},
        "centres without a radius": {"centring": {"centres": centring["centres"]}},
        "centres for the cell alone": {"asks": "cell"},
        "a centring spelled out as absent": {"centring": None},
    }
    changes: dict[str, dict[str, Any]] = {
        name: {"questions": [{**whole["questions"][0], **change}]}
        for name, change in questions.items()
    }
    return changed(
        whole, {**changes, "centres for classes": {"label": CLASSIFY.label.model_dump()}}
    )


def badly_disclosed() -> dict[str, bytes]:
    """Invalid tasks with disclosed columns, by name."""
    whole = DISCLOSING.model_dump()
    (question,), group_sizes = whole["questions"], whole["group_sizes"]
    centring = {"centres": [0.0] * 7, "radius": 1.0}
    changes: dict[str, dict[str, Any]] = {
        "the label disclosed": {"disclosed": ["age", "answer"]},
        "an unknown column disclosed": {"disclosed": ["age", "ward", "pay"]},
        "a column disclosed twice": {"disclosed": ["age", "ward", "age"]},
        "no column disclosed, spelled out": {"disclosed": [], "group_sizes": []},
        "absent columns spelled out": {"disclosed": None},
        "a group size too few": {"group_sizes": group_sizes[:-1]},
        "a group size too many": {"group_sizes": [*group_sizes, 20]},
        "group sizes of fewer columns": {"disclosed": ["age"]},
        "a group size below zero": {"group_sizes": [*group_sizes[:-1], -1]},
        "a group size that is no integer": {"group_sizes": [*group_sizes[:-1], 20.0]},
        "a group size beyond all people": {"group_sizes": [*group_sizes[:-1], 2**53]},
        "disclosed columns and two questions": {"questions": [question] * 2},
        "disclosed columns and the cell alone": {"questions": [{**question, "asks": "cell"}]},
        "disclosed columns and no partition": {"questions": [{**question, "partition": 1}]},
        "disclosed columns and centres for classes": {
            "questions": [{**question, "centring": centring}]
        },
        "a panel that repeats and discloses": {
            "opens": 100,
            "closes": 600,
            "panel": {"mode": "repeat", "waves": [[100, 200], [300, 600]]},
        },
        "parameters for all cells": {"questions": [{**question, "parameters": {"k": 7}}]},
    }
    left_out = {
        k: v for k, v in without_each(whole).items() if k in ("no disclosed", "no group_sizes")
    }
    return changed(whole, changes) | left_out


def good_report(name: str, task: Task, seed: str) -> dict[str, Any]:
    """The bytes of a report, its id and its answers."""
    report = make_report(task, first_record(task), Stream(seed))
    return {
        "name": name,
        "success": True,
        "task": task.id,
        "bytes": report.pack().hex(),
        "id": report.id.hex(),
        "answers": [[q, payload.hex()] for q, payload in report.answers],
    }


def bad_reports() -> list[dict[str, Any]]:
    """Reports of holders of ``CLASSIFY`` that every curator must refuse, by name."""
    report = make_report(CLASSIFY, first_record(CLASSIFY), Stream("bad reports"))
    ((_, payload),) = report.answers
    fields = {
        "version": wire.VERSION,
        "task": report.task,
        "id": report.id,
        "answers": [[0, payload]],
    }
    packed = wire.pack(fields)
    malformed: dict[str, dict[str, Any]] = {
        "another version": {"version": 2},
        "unknown field": {"surprise": 1},
        "short id": {"id": report.id[:-1]},
        "text as id": {"id": "0123456789abcdef"},
        "no answers": {"answers": []},
        "truth as question": {"answers": [[False, payload]]},
        "a question twice": {"answers": [[0, payload], [0, payload]]},
    }
    wrong: dict[str, dict[str, dict[str, Any]]] = {
        "task-mismatch": {"another task": {"task": bytes.fromhex(REGRESS.id)}},
        "wrong-questions": {
            "a question that is not asked": {"answers": [[1, payload]]},
            "a question too many": {"answers": [[0, payload], [1, payload]]},
        },
        "wrong-payload": {
            "a payload too short": {"answers": [[0, b""]]},
            "a payload too long": {"answers": [[0, payload + b"\x00"]]},
            "an impossible payload": {"answers": [[0, b"\xff" * len(payload)]]},
        },
    }
    shuffled = {"keys out of order": b"\x84" + packed[-9:] + packed[1:-9]}
    raw = {"malformed-report": damaged(packed) | shuffled | changed(fields, malformed)}
    raw |= {problem: changed(fields, changes) for problem, changes in wrong.items()}
    return [case for problem, data in raw.items() for case in bad_for(CLASSIFY, problem, data)]


def bad_disclosing_reports() -> list[dict[str, Any]]:
    """Reports of holders of ``DISCLOSING`` that every curator must refuse."""
    report = make_report(DISCLOSING, first_record(DISCLOSING), Stream("bad shown reports"))
    ((_, payload),) = report.answers
    payloads = {
        "a stratum that does not exist": bytes([len(DISCLOSING.group_sizes)]) + payload[1:],
        "a payload without its stratum": payload[1:],
        "a stratum alone": payload[:1],
        "a hidden answer that is impossible": payload[:1] + b"\xff" * len(payload[1:]),
    }
    fields = {"version": wire.VERSION, "task": report.task, "id": report.id}
    answers = {name: {"answers": [[0, wrong]]} for name, wrong in payloads.items()}
    return bad_for(DISCLOSING, "wrong-payload", changed(fields, answers))


def batch_fields(task: Task, seed: str) -> dict[str, Any]:
    """Fields of a batch of three reports to a task, without ``question``."""
    reports = [make_report(task, first_record(task), Stream(f"{seed} {i}")) for i in range(3)]
    return {
        "version": wire.VERSION,
        "ids": b"".join(report.id for report in reports),
        "payloads": b"".join(payload for report in reports for _, payload in report.answers),
    }


def good_batch(name: str, task: Task, data: bytes) -> dict[str, Any]:
    """The bytes of a batch and the reports in it."""
    batch = Batch.unpack(data, task)
    return {
        "name": name,
        "success": True,
        "task": task.id,
        "bytes": data.hex(),
        "canonical": batch.pack() == data,
        "admissions": [admission_id.hex() for admission_id in batch.admissions],
        "reports": [
            {
                "id": batch.ids[row].tobytes().hex(),
                "answers": [
                    [q, rows[row].tobytes().hex()] for q, rows in batch.payloads_by_question(task)
                ],
            }
            for row in range(len(batch))
        ],
    }


def good_batches() -> list[dict[str, Any]]:
    """Batches that every reader takes, by name."""
    one = batch_fields(CLASSIFY, "batch")
    admitted = {**one, "admissions": Stream("first")(16) + Stream("second")(16)}
    record = first_record(REGRESS)
    drawn = [make_report(REGRESS, record, Stream(f"one question {i}")) for i in range(20)]
    second = [report for report in drawn if report.answers[0][0] == 1]
    some = Batch(
        (1,),
        np.array([list(report.id) for report in second], dtype=np.uint8),
        np.array([list(report.answers[0][1]) for report in second], dtype=np.uint8),
    )
    backwards = msgpack.packb(dict(sorted({**one, "question": 0}.items(), reverse=True)))
    return [
        good_batch("the only question, named", CLASSIFY, wire.pack({**one, "question": 0})),
        good_batch("the only question, not named", CLASSIFY, wire.pack(one)),
        good_batch("keys in another order", CLASSIFY, backwards),
        good_batch("three reports of two admissions", CLASSIFY, wire.pack(admitted)),
        good_batch("all of three questions", CENTRED, wire.pack(batch_fields(CENTRED, "three"))),
        good_batch("one of three questions", REGRESS, some.pack()),
        good_batch("in strata", DISCLOSING, wire.pack(batch_fields(DISCLOSING, "shown"))),
    ]


def bad_batches() -> list[dict[str, Any]]:
    """Messages of a relay that every reader must refuse, by name."""
    one = batch_fields(CLASSIFY, "batch")
    malformed: dict[str, dict[str, Any]] = {
        "another version": {"version": 2},
        "truth as version": {"version": True},
        "a real number as version": {"version": float(wire.VERSION)},
        "unknown column": {"surprise": b""},
        "ids as text": {"ids": "0123456789abcdef"},
        "half an id": {"ids": one["ids"][:-8]},
        "an id too few": {"ids": one["ids"][:-16]},
        "a payload too few": {"payloads": one["payloads"][: len(one["payloads"]) // 3]},
        "a payload byte too many": {"payloads": one["payloads"] + b"\x00"},
        "payloads as a list": {"payloads": [1]},
        "no reports": {"ids": b"", "payloads": b""},
        "truth as question": {"question": False},
        "a question below zero": {"question": -1},
        "nil as question": {"question": None},
        "an invitation for each report": {"invitations": bytes(96)},
        "half an admission": {"admissions": bytes(8)},
        "no admission": {"admissions": b""},
        "an admission twice": {"admissions": bytes(32)},
        "more admissions than reports": {"admissions": bytes(range(64))},
        "nil as admissions": {"admissions": None},
    }
    wrong: dict[str, tuple[Task, dict[str, Any]]] = {
        "a question that is not asked": (CLASSIFY, {**one, "question": 1}),
        "a huge question": (CLASSIFY, {**one, "question": 2**63}),
        "one question where all are asked": (
            CENTRED,
            {**batch_fields(CENTRED, "3"), "question": 0},
        ),
        "no question where each answers one": (REGRESS, batch_fields(REGRESS, "batch")),
    }
    packed = wire.pack(one)
    twice = {"a key twice": b"\x84" + packed[1:] + b"\xa7version\x03"}
    raw = damaged(packed) | twice | changed(one, malformed) | without_each(one)
    cases = [("malformed-report", CLASSIFY, raw)]
    cases += [
        ("wrong-questions", task, {name: wire.pack(fields)})
        for name, (task, fields) in wrong.items()
    ]
    return [
        case
        for kind, task, data in cases
        for case in bad(kind, data, partial(Batch.unpack, task=task), task=task.id)
    ]


def admissions() -> list[dict[str, Any]]:
    admission_id = Stream("admission")(16)
    digests = sorted(hashlib.sha256(f"invitation {i}".encode()).digest() for i in range(3))
    fields = {"version": wire.VERSION, "id": admission_id, "invitations": b"".join(digests)}
    packed = wire.pack(fields)
    changes: dict[str, dict[str, Any]] = {
        "another version": {"version": 2},
        "truth as version": {"version": True},
        "unknown field": {"ids": b""},
        "a short id": {"id": admission_id[:15]},
        "an id as text": {"id": "0123456789abcdef"},
        "no invitations": {"invitations": b""},
        "half an invitation": {"invitations": digests[0][:16]},
        "descending": {"invitations": digests[2] + digests[0]},
        "an invitation twice": {"invitations": digests[0] * 2},
        "invitations as a list": {"invitations": digests},
    }
    twice = {"a key twice": b"\x84" + packed[1:] + b"\xa7version\x03"}
    raw = damaged(packed) | twice | changed(fields, changes) | without_each(fields)
    del raw["not a map"]
    return [
        {
            "name": f"{count} invitations",
            "success": True,
            "bytes": Admission.of(admission_id, digests[:count]).pack().hex(),
            "id": admission_id.hex(),
            "invitations": [digest.hex() for digest in digests[:count]],
        }
        for count in (1, 3)
    ] + bad("malformed-report", raw, Admission.unpack)


def bad(
    kind: str, raw: dict[str, bytes], read: Callable[[bytes], object], **more: str
) -> list[dict[str, Any]]:
    """Cases that must fail with a problem type, by name; fails itself if one does not."""
    cases = []
    for name, data in raw.items():
        try:
            read(data)
        except PrivetError as error:
            problem = problem_of(error).name
            if problem != kind:
                raise AssertionError(f"{name}: {problem} instead of {kind}") from error
        else:
            raise AssertionError(f"{name}: accepted")
        case = {"name": name, "success": False, "bytes": data.hex(), "problem": kind}
        cases.append({**case, **more})
    return cases


def bad_for(task: Task, kind: str, raw: dict[str, bytes]) -> list[dict[str, Any]]:
    """Reports that a curator must refuse of the holders of a task."""
    return bad(kind, raw, lambda data: Report.unpack(data).check(task), task=task.id)


def answer(task: Task, record: dict[str, Any], seed: str) -> dict[str, Any]:
    """One record all the way to its report; what it is encoded to only if it fits."""
    x, y, faults, replaced = encode_record(task.features, task.label, record)
    cells = [tree.locate_one(x) for tree in task.trees]
    strata = task.strata
    encoded = {"columns": x.tolist(), "label": y, "cells": cells}
    return {
        "task": task.id,
        "record": record,
        "fits": not faults,
        **({} if faults else encoded),
        **(
            {}
            if strata is None
            else {"stratum": stratum_view(task, int(strata.of_cell[cells[0]]), replaced)}
        ),
        "seed": seed,
        "report": make_report(task, record, Stream(seed)).pack().hex(),
    }


def stratum_view(task: Task, stratum: int, replaced: tuple[str, ...]) -> dict[str, Any]:
    """A stratum, its conditions, and for which features in them another value counts."""
    assert task.strata is not None
    node = int(task.strata.nodes[stratum])
    conditions = conditions_at(task.tree_of(0), task.columns, node)
    names = dict.fromkeys(each.feature.name for each in conditions)
    return {
        "cell": stratum,
        "conditions": [[each.feature.name, each.relation, each.value] for each in conditions],
        "replaced": [name for name in names if name in replaced],
    }


def build() -> dict[str, Any]:
    """The contents of every file, by name."""
    return {
        "tasks.json": [*(good_task(name, task) for name, task in TASKS.items()), *bad_tasks()],
        "reports.json": [
            good_report("an answer to all questions", CLASSIFY, "report 1"),
            good_report("an answer to one question", REGRESS, "report 2"),
            good_report("an answer in a stratum", DISCLOSING, "report 3"),
            *bad_reports(),
            *bad_disclosing_reports(),
        ],
        "batches.json": [*good_batches(), *bad_batches()],
        "admissions.json": admissions(),
        "answers.json": [answer(*case) for case in ANSWERS],
    }


def signatures() -> list[dict[str, Any]]:
    """The header that a curator sends with a task, and those that a holder must refuse."""
    task, other = (hashlib.sha256(f"task {i}".encode()).hexdigest() for i in range(2))
    secrets = [hashlib.sha256(f"curator {i}".encode()).digest() for i in range(2)]
    ours, theirs = (Ed25519PrivateKey.from_private_bytes(secret) for secret in secrets)
    key = ours.public_key().public_bytes_raw()
    message = signed_message(task)
    good = Signature(key, ours.sign(message)).header
    flipped = bytes([good.encode()[-1] ^ 1]).decode()
    headers = {
        "another task's": Signature(key, ours.sign(signed_message(other))).header,
        "another key's": Signature(
            theirs.public_key().public_bytes_raw(), theirs.sign(message)
        ).header,
        "another key's, under the pinned one": Signature(key, theirs.sign(message)).header,
        "without the prefix": Signature(key, ours.sign(bytes.fromhex(task))).header,
        "of the id as text": Signature(key, ours.sign(message[:-32] + task.encode())).header,
        "one digit changed": good[:-1] + flipped,
        "cut short": good[:-2],
        "another algorithm": good.replace("ed25519", "ed448"),
        "empty": "",
    }
    case = {"task": task, "key": key.hex()}
    return [
        {"name": "good", "success": True, **case, "secret": secrets[0].hex(), "header": good},
        *({"name": n, "success": False, **case, "header": h} for n, h in headers.items()),
    ]


def example() -> str:
    """The page's example: a task, a report to it, its receipt and a batch, byte by byte."""
    record = first_record(SMALL)
    case = answer(SMALL, record, "example")
    report = Report.unpack(bytes.fromhex(case["report"]))
    drawn = Stream("example")(32)
    ((_, payload),) = report.answers
    secret = Ed25519PrivateKey.from_private_bytes(hashlib.sha256(b"secret").digest())
    signature = Signature(
        secret.public_key().public_bytes_raw(), secret.sign(signed_message(SMALL.id))
    )
    admission = Admission.of(Stream("admission")(16), [hashlib.sha256(b"invitation").digest()])
    batch = Batch((0,), as_row(report.id), as_row(payload), (admission.id,))
    receipt = Receipt(report=report.id.hex(), counted=True)
    lines = [
        "task, as JSON",
        *textwrap.wrap(
            json.dumps(SMALL.model_dump(mode="json")),
            100,
            initial_indent="  ",
            subsequent_indent="  ",
        ),
        "task, canonical bytes",
        *wrapped("", SMALL.canonical.hex()),
        "id",
        f"  {SMALL.id}",
        "header of the signed task, where the secret key is the SHA-256 of `secret`",
        f"  {SIGNATURE_HEADER}: ed25519 {signature.key.hex()}",
        f"    {signature.value.hex()}",
        f"record {json.dumps(record)}: columns {case['columns']}, cell {case['cells'][0]},"
        f" level {case['label']:g}, category 3",
        "random bytes: id; 8 for the level, not used; one word of grr",
        *(f"  {drawn[a:b].hex()}" for a, b in ((0, 16), (16, 24), (24, 32))),
        "payload: what grr makes of category 3 and that word",
        f"  {payload.hex()}",
        "report",
        *wrapped("", case["report"]),
        "receipt",
        f"  {receipt.model_dump_json()}",
        "admission of a holder with the invitation `invitation`",
        *wrapped("", admission.pack().hex()),
        "batch of this report, whose holder was admitted so",
        *wrapped("", batch.pack().hex()),
    ]
    return "\n".join(["```", *lines, "```"])


def main() -> None:
    """Write the files and the page's example."""
    fill(PAGE, {"example": example()})
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name, cases in build().items():
        text = json.dumps(cases, indent=1, ensure_ascii=False)
        (FOLDER / name).write_text(text + "\n", encoding="utf-8")
    SIGNATURES.write_text(json.dumps(signatures(), indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
