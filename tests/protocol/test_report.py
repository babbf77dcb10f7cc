import contextlib
import os
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from privet.protocol import wire
from privet.protocol.errors import InvalidReport, MalformedReport, TaskMismatch
from privet.protocol.report import REPORT_ID_BYTES, Report, make_report
from privet.protocol.task import Task
from tests.keeping import keeps
from tests.protocol.examples import RECORD, make_task, question
from tests.strategies import records, tasks

TASK = make_task()


@given(st.data())
def test_every_honest_report_survives_and_is_accepted(data: st.DataObject) -> None:
    """What make_report draws for any record of any task is read back equal, and checks out."""
    task = data.draw(tasks())
    report = make_report(task, data.draw(records(task)), os.urandom)
    assert Report.unpack(report.pack()) == report
    whole = len(report.pack())
    assert whole <= task.longest_report
    assert whole == task.longest_report or task.allocation == "one"
    report.check(task)


def chosen(task: Task, draw: int) -> int:
    """The question of a report whose holder draws this number after the report's id."""
    stream = iter([bytes(REPORT_ID_BYTES), draw.to_bytes(8, "big")])
    report = make_report(task, RECORD, lambda n: next(stream, bytes(n)))
    return report.answers[0][0]


def test_the_questions_of_one_are_drawn_evenly() -> None:
    """The first eight random bytes after the id choose the question, in equal shares."""
    asked = [question(asks=asks) for asks in ("label", "cell")]
    task = make_task(questions=asked, allocation="one")
    assert [chosen(task, d) for d in (0, 2**63 - 1, 2**63, 2**64 - 1)] == [0, 0, 1, 1]


@keeps(
    "privacy: the device draws its question by the task's parts",
    in_="protocol/report.py",
    instead_of="sum(place >= up_to for up_to in accumulate(task.asked_parts))",
    plant="min(place, len(task.questions) - 1)",
)
@pytest.mark.parametrize(
    ("parts", "at"),
    [((3, 1), 3 * 2**62), ((1, 3), 2**62), ((2**16, 1), 2**64 * 2**16 // 65537 + 1)],
)
def test_the_questions_of_one_are_drawn_by_their_parts(parts: tuple[int, ...], at: int) -> None:
    """The first draw that chooses the second question is where the first one's part ends."""
    asked = [question(asks=asks) for asks in ("label", "cell")]
    task = make_task(questions=asked, allocation="one", parts=parts)
    assert task.asked_share(1) == parts[1] / sum(parts)
    assert [chosen(task, draw) for draw in (0, at - 1, at, 2**64 - 1)] == [0, 0, 1, 1]


def report_fields(**changes: Any) -> dict[str, Any]:
    report = make_report(TASK, RECORD, lambda n: bytes(range(1, n + 1)))
    return {
        "version": wire.VERSION,
        "task": report.task,
        "id": report.id,
        "answers": [list(answer) for answer in report.answers],
        **changes,
    }


# those of tests/vectors/messages/reports.json are refused as well
BAD_REPORTS: dict[str, dict[str, Any]] = {
    "truth as version": {"version": True},
    "a long id": {"id": bytes(17)},
    "a short task id": {"task": bytes(31)},
    "text as task id": {"task": "x" * 32},
    "answers that are a map": {"answers": {"0": b""}},
    "an answer with more": {"answers": [[0, b"x", b"y"]]},
    "text as payload": {"answers": [[0, "x"]]},
    "a fraction as question": {"answers": [[0.0, b"x"]]},
    "a negative question": {"answers": [[-1, b"x"]]},
    "a question beyond the limit": {"answers": [[64, b"x"]]},
    "questions out of order": {"answers": [[1, b"x"], [0, b"x"]]},
    "too many answers": {"answers": [[q, b""] for q in range(65)]},
}


@pytest.mark.parametrize("changes", BAD_REPORTS.values(), ids=BAD_REPORTS.keys())
def test_what_is_no_report_is_malformed(changes: dict[str, Any]) -> None:
    """Every other shape, type or order is MalformedReport; nothing is converted."""
    with pytest.raises(MalformedReport, match=r"\w"):
        Report.unpack(wire.pack(report_fields(**changes)))


@given(st.data())
def test_a_damaged_report_is_refused_or_another_report(data: st.DataObject) -> None:
    """Flipping any byte never yields the same report, and never an unforeseen error."""
    report = make_report(TASK, RECORD, lambda n: bytes(range(1, n + 1)))
    damaged = bytearray(report.pack())
    damaged[data.draw(st.integers(0, len(damaged) - 1))] ^= data.draw(st.integers(1, 255))
    with contextlib.suppress(InvalidReport, TaskMismatch):
        other = Report.unpack(bytes(damaged))
        assert other != report
        other.check(TASK)
