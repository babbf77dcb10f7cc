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

Every case has ``success``; a bad message names its problem type. The fields of good tasks, the
records and seeds of answers, and bad messages as they are, are read from the files themselves: to
add a case, write these there (``tests/protocol/test_vectors.py`` reads every message). Run
``python -m scripts.make_message_vectors`` after a change that is meant to change bytes, and no
other time.
"""

import hashlib
import json
import textwrap
from pathlib import Path
from typing import Any

import msgpack
import numpy as np
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from privet.protocol import wire
from privet.protocol.batch import Admission, Batch
from privet.protocol.calls import SIGNATURE_HEADER
from privet.protocol.conditions import conditions_at
from privet.protocol.earlier import stated_version
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


def written(file: str, *, success: bool = True) -> list[dict[str, Any]]:
    """The good or the bad cases of a file as it is now."""
    cases = json.loads((FOLDER / file).read_text(encoding="utf-8"))
    return [case for case in cases if case.get("success", True) is success]


_tasks = {case["id"]: Task.checked(case["fields"]) for case in written("tasks.json")}
TASKS = {case["name"]: _tasks[case["id"]] for case in written("tasks.json")}
CLASSIFY = TASKS["classes, one question"]
REGRESS = TASKS["a number, one of three questions, text beyond ASCII"]
CENTRED = TASKS["a number around a centre per cell"]
DISCLOSING = TASKS["age and ward disclosed, classes"]
DISCLOSING_BY_PARTS = TASKS["age and ward disclosed, the label alone of a third"]
ALONE = TASKS["no features, classes, all in one batch"]
EARLIER = [TASKS["version 3"], TASKS["version 2, which has its own names"]]
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


def batch_fields(task: Task, seed: str) -> dict[str, Any]:
    """Fields of a batch of three reports to a task, without ``question``."""
    reports = [make_report(task, first_record(task), Stream(f"{seed} {i}")) for i in range(3)]
    return {
        "version": stated_version(task.version, "batch"),
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
        "canonical": batch.pack(task.version) == data,
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
        *(
            good_batch(
                f"of a task of version {earlier.version}",
                earlier,
                wire.pack(batch_fields(earlier, "earlier")),
            )
            for earlier in EARLIER
        ),
    ]


def good_admissions() -> list[dict[str, Any]]:
    admission_id = Stream("admission")(16)
    digests = sorted(hashlib.sha256(f"invitation {i}".encode()).digest() for i in range(3))
    return [
        {
            "name": f"{count} invitations, version {version}",
            "success": True,
            "task_version": version,
            "bytes": Admission.of(admission_id, digests[:count]).pack(version).hex(),
            "id": admission_id.hex(),
            "invitations": [digest.hex() for digest in digests[:count]],
        }
        for version, count in ((4, 1), (4, 3), (3, 3), (2, 3))
    ]


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
    good = {
        "tasks.json": [good_task(name, task) for name, task in TASKS.items()],
        "reports.json": [
            good_report("an answer to all questions", CLASSIFY, "report 1"),
            good_report("an answer to one question", REGRESS, "report 2"),
            good_report("an answer in a stratum", DISCLOSING, "report 3"),
            good_report("an answer without features", ALONE, "report 4"),
            good_report("the label alone in a stratum", DISCLOSING_BY_PARTS, "report 8"),
            *(good_report(f"to a task of version {e.version}", e, "report 5") for e in EARLIER),
        ],
        "batches.json": good_batches(),
        "admissions.json": good_admissions(),
        "answers.json": [answer(*case) for case in ANSWERS],
    }
    return {name: [*cases, *written(name, success=False)] for name, cases in good.items()}


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
