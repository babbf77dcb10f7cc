"""Tasks of versions 2 and 3, as programs of that time published them."""

from pathlib import Path
from typing import Any

import pytest

from privet.protocol import wire
from privet.protocol.batch import Admission, Batch
from privet.protocol.errors import InvalidTask, MalformedReport
from privet.protocol.report import Report, make_report
from privet.protocol.task import Task
from privet.protocol.task_head import TASK_BOUNDS, TaskHead
from tests.protocol.examples import RECORD, batch_of, counted, make_task
from tests.protocol.vectors import TASKS

PAST = sorted((Path(__file__).parents[1] / "past" / "spools").glob("*.task"))
STATED = {2: (1, 2, 1), 3: (3, 3, 3), 4: (4, 4, 4)}
"""The versions of a report, a batch and an admission, by the task's."""


@pytest.mark.parametrize("file", PAST, ids=lambda file: file.stem)
def test_published_documents_keep_their_bytes_and_ids(file: Path) -> None:
    """They are of versions 2 and 3, and a report to each is one that its curator counted."""
    document = file.read_bytes()
    task = Task.parse(document)
    assert task.canonical == document
    assert task.version == wire.unpack(document, TASK_BOUNDS)["version"] < wire.VERSION
    assert TaskHead.read(task.id, document) == task.head
    make_report(task, RECORD, counted()[1]).check(task)


@pytest.mark.parametrize("version", STATED)
def test_messages_about_a_task_state_what_those_of_its_version_did(version: int) -> None:
    """So a curator of that time takes them, and any other version is malformed."""
    task = make_task(version=version)
    report = make_report(task, RECORD, counted()[1])
    batch, admission = batch_of([report]), Admission.of(bytes(16), [bytes(32)])
    packed = (report.pack(), batch.pack(version), admission.pack(version))
    bounds = wire.Bounds(2**10, 16, 16, 64, 64, 2**10)
    assert tuple(wire.unpack(each, bounds)["version"] for each in packed) == STATED[version]
    Report.unpack(packed[0]).check(task)
    Batch.unpack(packed[1], task)
    Admission.unpack(packed[2])
    other = make_task(version=next(each for each in STATED if each != version))
    fields = wire.unpack(make_report(other, RECORD, counted()[1]).pack(), bounds)
    with pytest.raises(MalformedReport, match="this task's have version"):
        Report.unpack(wire.pack({**fields, "task": bytes.fromhex(task.id)})).check(task)
    with pytest.raises(MalformedReport, match="send version"):
        Batch.unpack(batch.pack(other.version), task)


def test_version_2_has_its_own_names_in_its_bytes() -> None:
    """Read as today's, and told by an id that today's names would not give."""
    task = TASKS["version 2, which has its own names"]
    assert task.disclosed
    fields = wire.unpack(task.canonical, TASK_BOUNDS)
    assert fields.keys() >= {"shown", "crowds"}
    assert Task.parse(task.canonical, task.id) == task
    assert task.id != Task.checked({**task.model_dump(), "version": 3}).id


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"version": 1}, r"version is 1 and this program reads 2, 3 and 4"),
        ({"version": 5}, "version is 5"),
        ({"version": [4]}, "version is"),
        (
            {"version": 2, "questions": [{"partition": 0, "mechanism": "oue", "epsilon": 1.0}]},
            "of version 2 and asks by 'oue', a mechanism that later versions have no more",
        ),
        ({"version": 3, "smallest_batch": "all"}, "version 3 cannot have smallest_batch 'all'"),
    ],
)
def test_what_cannot_be_read_is_named(changes: dict[str, Any], fault: str) -> None:
    """And lists know it by its head, so that it can be deleted."""
    whole = {**wire.unpack(make_task().canonical, TASK_BOUNDS), **changes}
    with pytest.raises(InvalidTask, match=fault) as caught:
        Task.checked(whole)
    if "smallest_batch" not in changes:
        for question in whole["questions"]:
            question.setdefault("parameters", {})
        head = TaskHead.read("0" * 64, wire.pack(whole))
        assert head.unread == caught.value.detail
