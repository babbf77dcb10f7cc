"""Batches: columns in, columns out, and what no reader takes."""

import random
from dataclasses import replace
from functools import partial

import msgpack
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from privet.protocol.batch import Admission, Batch
from privet.protocol.errors import MalformedReport, PrivetError, TooLarge, WrongQuestions
from privet.protocol.report import Report, make_report
from tests.protocol.examples import batch_of
from tests.protocol.vectors import CENTRED, CLASSIFY, first_record

CENTRED_REPORTS, REPORTS = (
    [make_report(task, first_record(task), random.Random(i).randbytes) for i in range(4)]
    for task in (CENTRED, CLASSIFY)
)


def test_a_batch_is_valid_row_by_row() -> None:
    """As ``Report.check`` says of each report alone, whichever of its answers is impossible."""
    batch = batch_of(CENTRED_REPORTS)
    payloads = batch.payloads.copy()
    payloads[1, 0] = payloads[2, -1] = 255
    spoiled = Batch(batch.questions, batch.ids, payloads)
    alone = []
    for report, row in zip(CENTRED_REPORTS, payloads, strict=True):
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


def test_rows_are_taken_by_mask_and_by_position() -> None:
    """All columns alike, in the order asked for."""
    batch = batch_of(REPORTS)
    some = batch.take(np.array([2, 0]))
    assert some.ids.tolist() == batch.ids[[2, 0]].tolist()
    assert some.payloads.tolist() == batch.payloads[[2, 0]].tolist()
    assert len(batch.take(np.array([True, False, True, True]))) == 3


def test_more_rows_than_allowed_are_too_large() -> None:
    """Exactly as many reports, or invitations, as allowed are read."""
    batch = batch_of(REPORTS)
    assert len(Batch.unpack(batch.pack(), CLASSIFY, max_reports=4)) == 4
    with pytest.raises(TooLarge, match="at most 3"):
        Batch.unpack(batch.pack(), CLASSIFY, max_reports=3)
    packed = Admission.of(bytes(16), [bytes([i]) * 32 for i in range(4)]).pack()
    assert len(Admission.unpack(packed, max_invitations=4)) == 4
    with pytest.raises(TooLarge, match="at most 3"):
        Admission.unpack(packed, max_invitations=3)


@pytest.mark.parametrize("said", [False, None, 1, "true", b"\x01"])
def test_a_relay_says_that_all_came_in_time_or_nothing(said: object) -> None:
    """One word for the whole message, which is true or not there."""
    batch, asked = batch_of(CENTRED_REPORTS[:2]), Admission.of(bytes(16), [bytes(32)])
    assert not Batch.unpack(batch.pack(), CENTRED).in_time
    assert Batch.unpack(replace(batch, in_time=True).pack(), CENTRED).in_time
    assert not Admission.unpack(asked.pack()).in_time
    assert Admission.unpack(replace(asked, in_time=True).pack()).in_time
    for packed, unpack in (
        (batch.pack(), partial(Batch.unpack, task=CENTRED)),
        (asked.pack(), Admission.unpack),
    ):
        wrong = msgpack.packb({**msgpack.unpackb(packed), "in_time": said})
        with pytest.raises(MalformedReport, match="in_time"):
            unpack(wrong)


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
    packed = bytearray(batch_of(CENTRED_REPORTS[:2]).pack())
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
