"""Batches: columns in, columns out, and what no reader takes."""

from itertools import count

import msgpack
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from privet.protocol.batch import Admission, Batch
from privet.protocol.errors import MalformedReport, PrivetError, TooLarge, WrongQuestions
from privet.protocol.report import Report, make_report
from privet.protocol.task import Task
from scripts.make_message_vectors import CENTRED, CLASSIFY, REGRESS, Stream, first_record


def reports_of(task: Task, rows: int) -> list[Report]:
    """Reports that all answer the same questions."""
    record = first_record(task)
    drawn = (make_report(task, record, Stream(f"row {i}")) for i in count())
    return [
        r for r, _ in zip((r for r in drawn if r.answers[0][0] == 0), range(rows), strict=False)
    ]


def batch_of(task: Task, rows: int = 4) -> tuple[Batch, list[Report]]:
    """The reports in columns, and one by one."""
    reports = reports_of(task, rows)
    columns = [
        np.array([list(report.id) for report in reports], dtype=np.uint8),
        np.array([[*b"".join(p for _, p in r.answers)] for r in reports], dtype=np.uint8),
    ]
    ids, payloads = columns
    return Batch(tuple(q for q, _ in reports[0].answers), ids, payloads), reports


@pytest.mark.parametrize("task", [CLASSIFY, CENTRED, REGRESS], ids=lambda task: task.name[:10])
def test_a_batch_holds_what_its_reports_hold(task: Task) -> None:
    """Packed and read again, every row has the id and the answers of its report."""
    batch, reports = batch_of(task)
    again = Batch.unpack(batch.pack(), task)
    answers = again.payloads_by_question(task)
    for row, report in enumerate(reports):
        assert again.ids[row].tobytes() == report.id
        assert [(q, payloads[row].tobytes()) for q, payloads in answers] == list(report.answers)
    assert again.valid(task).all()
    assert again.admissions == ()
    assert all(payloads.flags.c_contiguous for _, payloads in answers)


def test_a_batch_is_valid_row_by_row() -> None:
    """As ``Report.check`` says of each report alone, whichever of its answers is impossible."""
    batch, reports = batch_of(CENTRED)
    payloads = batch.payloads.copy()
    payloads[1, 0] = payloads[2, -1] = 255
    spoiled = Batch(batch.questions, batch.ids, payloads)
    alone = []
    for report, row in zip(reports, payloads, strict=True):
        cut = iter(row.tobytes())
        answers = tuple((q, bytes(next(cut) for _ in payload)) for q, payload in report.answers)
        try:
            Report(task=report.task, id=report.id, answers=answers).check(CENTRED)
        except PrivetError:
            alone.append(False)
        else:
            alone.append(True)
    assert spoiled.valid(CENTRED).tolist() == alone
    assert not all(alone)


def test_the_single_question_of_a_task_need_not_be_named() -> None:
    """With and without ``question`` a batch answers question 0, under both allocations."""
    one = CLASSIFY.model_copy(update={"allocation": "one"})
    for task in (CLASSIFY, one):
        fields = msgpack.unpackb(batch_of(CLASSIFY)[0].pack())
        named = Batch.unpack(msgpack.packb({**fields, "question": 0}), task)
        del fields["question"]
        unnamed = Batch.unpack(msgpack.packb(fields), task)
        assert named.questions == unnamed.questions == (0,)


def test_rows_are_taken_by_mask_and_by_position() -> None:
    """All columns alike, in the order asked for."""
    batch, _ = batch_of(CLASSIFY)
    some = batch.take(np.array([2, 0]))
    assert some.ids.tolist() == batch.ids[[2, 0]].tolist()
    assert some.payloads.tolist() == batch.payloads[[2, 0]].tolist()
    assert len(batch.take(np.array([True, False, True, True]))) == 3


def test_more_rows_than_allowed_are_too_large() -> None:
    """Exactly as many reports, or invitations, as allowed are read."""
    batch, _ = batch_of(CLASSIFY)
    assert len(Batch.unpack(batch.pack(), CLASSIFY, max_reports=4)) == 4
    with pytest.raises(TooLarge, match="at most 3"):
        Batch.unpack(batch.pack(), CLASSIFY, max_reports=3)
    packed = Admission.of(bytes(16), [bytes([i]) * 32 for i in range(4)]).pack()
    assert len(Admission.unpack(packed, max_invitations=4)) == 4
    with pytest.raises(TooLarge, match="at most 3"):
        Admission.unpack(packed, max_invitations=3)


@pytest.mark.parametrize(
    "nested",
    [b"\x81" * 2000, b"\x91" * 2000, msgpack.packb({"version": {}}), b"\x81\xc4\x01v\x01"],
    ids=["maps in maps", "lists in lists", "a map as version", "binary as key"],
)
def test_whatever_else_is_sent_is_malformed(nested: bytes) -> None:
    """Without exhausting the stack or the memory."""
    with pytest.raises(MalformedReport):
        Batch.unpack(nested, CLASSIFY)
    with pytest.raises(MalformedReport):
        Admission.unpack(nested)


@given(st.data())
def test_damaged_bytes_are_refused_or_are_a_batch(data: st.DataObject) -> None:
    """Whatever is cut off or overwritten: a published error, or columns that belong together."""
    packed = bytearray(batch_of(CENTRED, 2)[0].pack())
    for at in data.draw(st.lists(st.integers(0, len(packed) - 1), min_size=1, max_size=4)):
        packed[at] = data.draw(st.integers(0, 255))
    cut = data.draw(st.integers(0, len(packed)))
    try:
        batch = Batch.unpack(bytes(packed[cut:] if cut < 5 else packed[:cut]), CENTRED)
    except (MalformedReport, WrongQuestions):
        return
    assert len(batch.ids) == len(batch.payloads) == len(batch.valid(CENTRED))


def test_a_million_rows_are_views_of_the_columns() -> None:
    """A single question's payloads are not copied once more."""
    rows = 1_000_000
    width = CLASSIFY.mechanisms[0].report_bytes
    zeros = np.zeros((rows, 16), np.uint8), np.zeros((rows, width), np.uint8)
    batch = Batch.unpack(Batch((0,), *zeros).pack(), CLASSIFY)
    ((_, payloads),) = batch.payloads_by_question(CLASSIFY)
    assert len(batch) == rows
    assert np.shares_memory(payloads, batch.payloads)
    assert not payloads.flags.writeable
