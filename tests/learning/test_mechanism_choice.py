"""The comparison of mechanisms, and the choice of auto."""

from io import BytesIO

import numpy as np
import pytest

from privet.learning.mechanism_choice import best_known_variance, choose, compare, count_variance
from privet.protocol.errors import InvalidTask
from privet.protocol.mechanisms import MECHANISMS, SubsetSelection, create_mechanism
from privet.protocol.mechanisms.base import Counts


@pytest.mark.parametrize(
    ("epsilon", "cells", "slots"),
    [
        (0.001, 1, 2),
        (0.001, 16, 1),
        (0.25, 1, 2),
        (0.25, 256, 2),
        (1.0, 32, 2),
        (4.0, 16, 1),
        (4.0, 100, 3),
        (8.0, 1, 2),
        (8.0, 256, 2),
    ],
)
def test_compare_ranks_all(epsilon: float, cells: int, slots: int) -> None:
    """Every mechanism has a row, the least variance first, none below the bound, one chosen."""
    rows = compare(epsilon, cells, slots)
    assert {row.name for row in rows} == set(MECHANISMS)
    variances = [row.variance for row in rows]
    assert variances == sorted(variances)
    assert all(row.ratio >= 1 - 1e-9 and row.log_ratio <= epsilon for row in rows)
    (chosen,) = (row for row in rows if row.chosen)
    assert chosen.variance <= variances[0] * (1 + 1e-6)


def test_rows_say_what_the_mechanisms_say() -> None:
    """A row's figures are those of the mechanism that its parameters build."""
    for row in compare(1.0, 32, 2):
        mechanism = create_mechanism(row.name, 1.0, 32, 2, row.parameters)
        even = np.ones((32, 2))
        assert row.report_bytes == mechanism.report_bytes
        assert row.sum_size == mechanism.sum_size
        assert row.log_ratio == mechanism.log_ratio()
        assert row.variance == mechanism.variance(65, even)[3, 1] / 65
        source = BytesIO(bytes(10**5))
        mechanism.privatize(5, source.read)
        assert row.random_bytes == source.tell()


def test_influence_of_one_report() -> None:
    """The two influences are the extremes over one entry and over one label's total."""
    (row,) = (row for row in compare(1.0, 4, 2) if row.name == "oue")
    mechanism = create_mechanism("oue", 1.0, 4, 2)
    one, label = np.zeros((4, 2)), np.zeros((4, 2))
    one[2, 1] = label[:, 1] = 1
    assert row.influence == pytest.approx(max(map(abs, mechanism.influence(one))))
    assert row.label_influence == pytest.approx(max(map(abs, mechanism.influence(label))))


def test_auto_takes_the_least_variance() -> None:
    """Without a limit on its size the best known variance is chosen, to 1e-6."""
    for epsilon in (0.5, 1.0, 4.0):
        mechanism = choose(epsilon, 100, 2)
        best = best_known_variance(epsilon, 201)
        assert count_variance(mechanism) == pytest.approx(best, rel=1e-6)


def test_auto_keeps_to_the_limit() -> None:
    """Under a limit the chosen report fits, and no fitting one has less variance."""
    for limit in (2, 16, 64):
        rows = compare(1.0, 256, 2, max_report_bytes=limit)
        (chosen,) = (row for row in rows if row.chosen)
        fitting = [row for row in rows if row.fits]
        assert all(row.report_bytes <= limit for row in fitting)
        assert chosen == fitting[0]
    assert choose(1.0, 256, 2, max_report_bytes=16).name == "projective"


def test_auto_breaks_ties_by_length() -> None:
    """Where a set of one is best, the set and the index are the same report."""
    mechanism = choose(8.0, 4, 2)
    assert mechanism.report_bytes == 1
    assert mechanism == SubsetSelection.create(8.0, 4, 2)


def test_nothing_fits() -> None:
    """If no report is short enough the error names the shortest; compare just chooses none."""
    with pytest.raises(InvalidTask, match="allow 2 bytes"):
        choose(1.0, 256, 2, max_report_bytes=1)
    assert not any(row.chosen or row.fits for row in compare(1.0, 256, 2, max_report_bytes=1))


def test_a_mechanism_can_be_added_at_run_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """One entry in MECHANISMS is all that building, comparing and choosing need."""

    class Perfect(SubsetSelection):
        name = "perfect"

        def variance(self, n: int, counts: Counts) -> Counts:
            return 0 * super().variance(n, counts)

    monkeypatch.setitem(MECHANISMS, "perfect", Perfect)
    assert create_mechanism("perfect", 1.0, 4, 2, {"k": 3}).parameters() == {"k": 3}
    assert choose(1.0, 4, 2).name == "perfect"
    assert [row.name for row in compare(1.0, 4, 2) if row.chosen] == ["perfect"]
