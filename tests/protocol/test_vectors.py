import hashlib
from collections.abc import Callable
from typing import Any

import pytest

from privet.protocol.batch import Admission, Batch
from privet.protocol.errors import PrivetError, problem_of
from privet.protocol.mechanisms import MECHANISMS
from privet.protocol.report import Report
from privet.protocol.task import Task
from tests.keeping import keeps
from tests.protocol.vectors import TASKS, cases


def named(case: dict[str, Any]) -> str:
    return str(case.get("name", case.get("seed")))


BYTES = {case["id"]: bytes.fromhex(case["bytes"]) for case in cases("tasks.json")}


@pytest.mark.parametrize("case", cases("tasks.json"), ids=named)
def test_tasks_are_read_and_written(case: dict[str, Any]) -> None:
    """Bytes give the fields and the id; the fields give the bytes."""
    data = bytes.fromhex(case["bytes"])
    task = Task.parse(data, case["id"])
    assert task.model_dump(mode="json") == case["fields"]
    assert Task.checked(case["fields"]).canonical == data
    assert hashlib.sha256(data).hexdigest() == case["id"]
    assert [wave.id for wave in task.waves] == case.get("waves", [])
    assert task.whole_panel.id == case.get("panel", task.id)
    assert task.lifetime == case.get("lifetime", task.epsilon)


@pytest.mark.parametrize("case", cases("reports.json"), ids=named)
def test_reports_are_read_and_written(case: dict[str, Any]) -> None:
    """Bytes give the fields, which give the bytes; and the report is one for its task."""
    report = Report.unpack(bytes.fromhex(case["bytes"]))
    answers = [[question, payload.hex()] for question, payload in report.answers]
    assert (report.task.hex(), report.id.hex(), answers) == (
        case["task"],
        case["id"],
        case["answers"],
    )
    assert report.pack().hex() == case["bytes"]
    report.check(Task.parse(BYTES[case["task"]]))


@pytest.mark.parametrize("case", cases("batches.json"), ids=named)
def test_batches_are_read_and_written(case: dict[str, Any]) -> None:
    """Bytes give the reports in them, which give the bytes back if these were canonical."""
    data, task = bytes.fromhex(case["bytes"]), Task.parse(BYTES[case["task"]])
    batch = Batch.unpack(data, task)
    assert batch.valid(task).all()
    for row, report in enumerate(case["reports"]):
        answers = [
            [q, payloads[row].tobytes().hex()] for q, payloads in batch.payloads_by_question(task)
        ]
        assert batch.ids[row].tobytes().hex() == report["id"]
        assert answers == report["answers"]
    assert len(batch) == len(case["reports"])
    assert [own.hex() for own in batch.admissions] == case["admissions"]
    assert (batch.pack(task.version) == data) is case["canonical"]


@pytest.mark.parametrize("case", cases("admissions.json"), ids=named)
def test_admissions_are_read_and_written(case: dict[str, Any]) -> None:
    """Bytes give the id and the invitations, which give the bytes back."""
    admission = Admission.unpack(bytes.fromhex(case["bytes"]))
    assert admission.id.hex() == case["id"]
    assert [digest.hex() for digest in admission.digests] == case["invitations"]
    assert admission.pack(case["task_version"]).hex() == case["bytes"]


READERS: dict[str, Callable[[dict[str, Any], bytes], object]] = {
    "tasks": lambda case, data: Task.parse(data, case.get("asked")),
    "reports": lambda case, data: Report.unpack(data).check(Task.parse(BYTES[case["task"]])),
    "batches": lambda case, data: Batch.unpack(data, Task.parse(BYTES[case["task"]])),
    "admissions": lambda _, data: Admission.unpack(data),
}


@keeps(
    "privacy: disclosed: one question only",
    in_="protocol/task.py",
    instead_of='first.asks != "label" or len(others) > 1 or (others and self.allocation != "one")',
    plant="False",
)
@keeps(
    "privacy: disclosed: both questions say the same stratum",
    in_="protocol/task.py",
    instead_of='other.asks != "label" or self.partitions[other.partition] != upper',
    plant='other.asks != "label"',
)
@pytest.mark.parametrize("kind", READERS)
def test_bad_messages_are_refused_for_the_published_reason(kind: str) -> None:
    """Reading each, or holding it against its task, fails with the problem type it names."""
    bad = cases(f"{kind}.json", success=False)
    assert bad
    for case, data in ((case, bytes.fromhex(case["bytes"])) for case in bad):
        with pytest.raises(PrivetError) as caught:
            READERS[kind](case, data)
        assert problem_of(caught.value).name == case["problem"], case["name"]


def test_every_mechanism_is_answered() -> None:
    """For classes and for a number."""
    for label in ("classes", "a number"):
        task = TASKS[f"every mechanism for {label}"]
        assert {question.mechanism for question in task.questions} == set(MECHANISMS)
