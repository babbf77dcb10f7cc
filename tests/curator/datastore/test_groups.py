"""What a group of reports adds up to, whichever of them are chosen."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from privet.curator.collection.task_cache import CachedTask
from privet.curator.datastore.reports import Addition, QuestionSums, checksum_text, unpacked_sums
from privet.protocol.report import Report
from privet.protocol.task import Task
from tests.curator.datastore.made import group, report, slow_checksum, task, total
from tests.keeping import keeps

ALL = task("all", questions=2)
ONE = task("one", questions=3, allocation="one")


def flat(made: Task, addition: Addition) -> tuple[int, str, list[tuple[list[int], int]]]:
    """An addition in plain values, zeros for questions that nobody answered."""
    sums = []
    for question, mechanism in enumerate(made.mechanisms):
        own = addition.sums.get(question)
        zeros = [0] * mechanism.sum_size
        sums.append((zeros, 0) if own is None else (own.vector.tolist(), own.n))
    return addition.reports, checksum_text(addition.checksum), sums


def expected(made: Task, reports: list[Report]) -> tuple[int, str, list[tuple[list[int], int]]]:
    """The same, one report at a time."""
    return len(reports), slow_checksum([own.id for own in reports]), total(made, reports)


@keeps(
    "deployment: a refused report is no part of its group's total",
    in_="curator/datastore/reports.py",
    instead_of="total.minus(self.only(~chosen).add_up())",
    plant="total",
)
@pytest.mark.parametrize("made", [ALL, ONE], ids=["all", "one"])
@given(rows=st.lists(st.tuples(st.integers(0, 2), st.booleans()), min_size=1, max_size=8))
def test_the_chosen_reports_are_added_up(made: Task, rows: list[tuple[int, bool]]) -> None:
    """With a total worked out in advance and without, and as a group of their own."""
    reports = [report(made, question=question) for question, _ in rows]
    chosen = np.array([picked for _, picked in rows])
    picked = [own for own, (_, is_picked) in zip(reports, rows, strict=True) if is_picked]
    whole = group(CachedTask(made), reports)
    prepared = replace(whole, total=whole.add_up())
    assert flat(made, whole.add_up()) == expected(made, reports)
    for own in (whole, prepared):
        assert flat(made, own.add_up(chosen)) == expected(made, picked)
    part = whole.only(chosen)
    assert part.fingerprints.tolist() == whole.fingerprints[chosen].tolist()
    assert flat(made, part.add_up()) == expected(made, picked)


@given(st.lists(st.integers(-(2**63) + 1, 2**63 - 1), max_size=5), st.sampled_from([0, 7, 15, 31]))
def test_sums_are_packed_as_narrow_as_they_fit(numbers: list[int], shift: int) -> None:
    """They come back as they were, at the ends of each width too."""
    vector = np.array([*numbers, 2**shift - 1, -(2**shift)], dtype=np.int64)
    n, packed, width = QuestionSums(vector, 3).packed()
    back = unpacked_sums(n, packed, width)
    assert (back.n, back.vector.tolist()) == (3, vector.tolist())
    assert len(packed) == width * len(vector)
    if not numbers:
        assert width == {0: 1, 7: 2, 15: 4, 31: 8}[shift]
