"""The comparison of mechanisms, and the choice of auto."""

from fractions import Fraction
from io import BytesIO

import numpy as np
import pytest

from privet.learning.task_building.mechanism_comparison import (
    best_known_variance,
    choose,
    compare_mechanisms,
    count_variance,
)
from privet.protocol.errors import InvalidTask
from privet.protocol.mechanisms import MECHANISMS, SubsetSelection, create_mechanism
from privet.protocol.mechanisms.exact import exp_below
from privet.protocol.mechanisms.projective import ProjectiveResponse, space_variance


@pytest.mark.parametrize(
    ("epsilon", "cells", "slots"),
    [(0.001, 1, 2), (0.001, 16, 1), (0.25, 256, 2), (1.0, 32, 2), (4.0, 100, 3), (8.0, 1, 2)],
)
def test_compare_ranks_all(epsilon: float, cells: int, slots: int) -> None:
    """Every mechanism has a row, the least variance first, none below the bound, one chosen."""
    rows = compare_mechanisms(epsilon, cells, slots)
    assert {row.name for row in rows} == set(MECHANISMS)
    variances = [row.variance for row in rows]
    assert variances == sorted(variances)
    assert all(row.ratio >= 1 - 1e-9 and row.log_ratio <= epsilon for row in rows)
    (chosen,) = (row for row in rows if row.chosen)
    assert chosen.variance <= variances[0] * (1 + 1e-6)


@pytest.mark.parametrize("m", [64, 100, 512, 4096])
@pytest.mark.parametrize("epsilon", [0.25, 0.5, 1.0, 2.0, 4.0, 8.0])
def test_projective_is_near_the_best_known(epsilon: float, m: int) -> None:
    """From 64 categories on its variance is within 12 % of it."""
    space = ProjectiveResponse.create(epsilon, 1, m).space
    variance = float(space_variance(space, exp_below(Fraction(epsilon)), m))
    assert variance <= 1.12 * best_known_variance(epsilon, m)


def test_rows_say_what_the_mechanisms_say() -> None:
    """A row's figures are those of the mechanism that its parameters build."""
    for row in compare_mechanisms(1.0, 32, 2):
        mechanism = create_mechanism(row.name, 1.0, 32, 2, row.parameters)
        even = np.ones((32, 2))
        assert row.report_bytes == mechanism.report_bytes
        assert row.sum_size == mechanism.sum_size
        assert row.log_ratio == mechanism.log_ratio()
        assert row.variance == mechanism.variance(65, even)[3, 1] / 65
        source = BytesIO(bytes(10**5))
        mechanism.privatize(5, source.read)
        assert row.random_bytes == source.tell()
        entries = np.eye(64)[4:6].reshape(2, 32, 2)
        by_entry = [abs(end) for entry in entries for end in mechanism.influence(entry)]
        assert row.influence == pytest.approx(max(by_entry))
        of_label = mechanism.influence(entries[1].sum(axis=0) * np.ones((32, 1)))
        assert row.label_influence == pytest.approx(max(map(abs, of_label)))


def test_auto_takes_the_least_variance_within_the_limit() -> None:
    """Without a limit the best known variance, to 1e-6; of equals the shortest report.

    If no report is short enough the error names the shortest, and compare chooses none.
    """
    for epsilon in (0.5, 1.0, 4.0):
        best = best_known_variance(epsilon, 201)
        assert count_variance(choose(epsilon, 100, 2)) == pytest.approx(best, rel=1e-6)
    assert choose(8.0, 4, 2) == SubsetSelection.create(8.0, 4, 2)  # a set of one, or an index
    for limit in (2, 16, 64):
        rows = compare_mechanisms(1.0, 256, 2, max_report_bytes=limit)
        fitting = [row for row in rows if row.fits]
        assert all(row.report_bytes <= limit for row in fitting)
        assert [row for row in rows if row.chosen] == fitting[:1]
    assert choose(1.0, 256, 2, max_report_bytes=16).name == "projective"
    with pytest.raises(InvalidTask, match="allow 2 bytes"):
        choose(1.0, 256, 2, max_report_bytes=1)
    assert not any(
        row.chosen or row.fits for row in compare_mechanisms(1.0, 256, 2, max_report_bytes=1)
    )
