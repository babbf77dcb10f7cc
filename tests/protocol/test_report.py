import contextlib
import copy
import os
from typing import Any

import msgpack
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from privet.protocol import wire
from privet.protocol.errors import InvalidReport, MalformedReport, TaskMismatch, WrongQuestions
from privet.protocol.mechanisms.base import RandomBytes
from privet.protocol.partition import Tree
from privet.protocol.report import REPORT_ID_BYTES, Receipt, Report, make_report
from privet.protocol.task import Question, Task
from tests.protocol.examples import CLASSES, RANGE, RECORD, SPLITS, make_task
from tests.strategies import records, tasks

TASK = make_task()


@settings(max_examples=50)
@given(st.data())
def test_every_honest_report_survives_and_is_accepted(data: st.DataObject) -> None:
    """What make_report draws for any record of any task is read back equal, and checks out."""
    task = data.draw(tasks())
    report = make_report(task, data.draw(records(task)), os.urandom)
    assert Report.unpack(report.pack()) == report
    assert Report.from_json(report.to_json()) == report
    whole = len(report.pack())
    assert whole <= task.longest_report
    assert whole == task.longest_report or task.allocation == "one"
    report.check(task)


def counted() -> tuple[list[int], RandomBytes]:
    """A source of zeros, and the list of the sizes that are asked of it."""
    asked: list[int] = []

    def randomness(size: int) -> bytes:
        asked.append(size)
        return bytes(size)

    return asked, randomness


def test_randomness_and_length_do_not_depend_on_the_record() -> None:
    """Very different records, and misfits, draw the same bytes and give reports of one length."""
    for label in (CLASSES, RANGE):
        for allocation in ("all", "one"):
            task = two_questions(label=label, allocation=allocation)
            traces = set()
            for age, work, income in [(0, "farm", 0), (99, "shop", 1e9), (41, None, "500")]:
                answer = "no" if age else "yes"
                record = {
                    "age": age,
                    "work": work,
                    label.name: income if label is RANGE else answer,
                }
                for each in (record, {**record, "age": "old"}, {**record, "more": 1}, {}):
                    asked, randomness = counted()
                    report = make_report(task, each, randomness)
                    traces.add((tuple(asked), len(report.pack())))
            assert len(traces) == 1


def test_the_questions_of_one_are_drawn_evenly() -> None:
    """The first eight random bytes after the id choose the question, in equal shares."""
    task = two_questions(allocation="one")

    def first_question(draw: int) -> int:
        stream = iter([bytes(REPORT_ID_BYTES), draw.to_bytes(8, "big")])
        report = make_report(task, RECORD, lambda n: next(stream, bytes(n)))
        return report.answers[0][0]

    assert [first_question(d) for d in (0, 2**63 - 1, 2**63, 2**64 - 1)] == [0, 0, 1, 1]


def two_questions(**changes: Any) -> Task:
    """The example's tree asked about twice: (cell, label), and the cell alone."""
    ask = [
        Question(partition=0, mechanism="subset", epsilon=1.0, asks=a) for a in ("label", "cell")
    ]
    return make_task(partitions=(Tree.of(SPLITS),), questions=tuple(ask), **changes)


def report_fields(**changes: Any) -> dict[str, Any]:
    report = make_report(TASK, RECORD, lambda n: bytes(range(1, n + 1)))
    return {
        "version": 1,
        "task": report.task,
        "id": report.id,
        "answers": [list(answer) for answer in report.answers],
        **changes,
    }


# those of tests/vectors/messages/reports.json are refused as well
BAD_REPORTS: dict[str, dict[str, Any]] = {
    "no version": {"version": None},
    "truth as version": {"version": True},
    "text as version": {"version": "1"},
    "a long id": {"id": bytes(17)},
    "a short task id": {"task": bytes(31)},
    "text as task id": {"task": "x" * 32},
    "a list as task id": {"task": list(range(32))},
    "answers that are a map": {"answers": {"0": b""}},
    "answers that are text": {"answers": "no"},
    "an answer that is a number": {"answers": [7]},
    "an answer without a payload": {"answers": [[0]]},
    "an answer with more": {"answers": [[0, b"x", b"y"]]},
    "text as payload": {"answers": [[0, "x"]]},
    "a list as payload": {"answers": [[0, [1, 2]]]},
    "text as question": {"answers": [["0", b"x"]]},
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


def test_only_canonical_bytes_are_a_report() -> None:
    """Another key order, a wider number or a repeated key is refused."""
    fields = report_fields()
    canonical = wire.pack(fields)
    assert Report.unpack(canonical).pack() == canonical
    for other in (
        msgpack.packb(fields),
        canonical.replace(b"\xa7version\x01", b"\xa7version\xcc\x01"),
        b"\x85" + canonical[1:] + b"\xa7version\x01",
    ):
        assert other != canonical
        with pytest.raises(MalformedReport, match=r"canonical|a key twice"):
            Report.unpack(other)


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


JSON_FAULTS: list[Any] = [
    None,
    [],
    "report",
    {},
    {"task": None},
    {"task": "zz" * 32},
    {"task": " ".join(["00"] * 32)},
    {"id": 5},
    {"id": "00"},
    {"answers": None},
    {"answers": [[0, "not base64!"]]},
    {"answers": [[0, "ü"]]},
    {"answers": [[True, "AA=="]]},
    {"answers": [["0", "AA=="]]},
    {"answers": {"0": "AA=="}},
    {"version": 1.0},
    {"version": None},
    {"surprise": 1},
]


@pytest.mark.parametrize("changes", JSON_FAULTS, ids=repr)
def test_json_by_hand_is_held_to_the_same_form(changes: Any) -> None:
    """A JSON body that is not a report is MalformedReport, whatever JSON it is."""
    good = make_report(TASK, RECORD, os.urandom).to_json()
    body = {**good, **changes} if isinstance(changes, dict) and changes else changes
    with pytest.raises(MalformedReport):
        Report.from_json(body)


def test_reading_json_leaves_the_callers_fields_alone() -> None:
    """Parsing copies: the same JSON can be read twice."""
    fields = make_report(TASK, RECORD, os.urandom).to_json()
    before = copy.deepcopy(fields)
    assert Report.from_json(fields) == Report.from_json(fields)
    assert fields == before


def test_answers_to_other_questions_are_refused() -> None:
    """Under both allocations: too few, too many, and what is not asked."""
    both, one = two_questions(), two_questions(allocation="one")
    report = make_report(both, RECORD, os.urandom)
    for task, answers in [
        (both, report.answers[:1]),
        (both, report.answers[1:]),
        (both, (*report.answers, (2, b""))),
        (one, report.answers),
        (one, ((2, b""),)),
    ]:
        with pytest.raises(WrongQuestions):
            Report(task=bytes.fromhex(task.id), id=report.id, answers=answers).check(task)


def test_a_receipt_names_its_report() -> None:
    """The id is 32 lower-case hexadecimal digits and `counted` is a truth value."""
    receipt = Receipt(report="0" * 32, counted=True)
    assert Receipt.model_validate_json(receipt.model_dump_json()) == receipt
    for fields in ({"report": "xyz", "counted": True}, {"report": "0" * 32, "counted": 1}):
        with pytest.raises(ValueError, match=r"report|counted"):
            Receipt.model_validate(fields)
