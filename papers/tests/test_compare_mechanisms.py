"""The comparison of mechanisms, and its tables in the documents."""

from fractions import Fraction
from io import BytesIO

import numpy as np
import pytest

from privet.protocol.mechanisms.exact import exp_below
from privet.protocol.mechanisms.projective import ProjectiveResponse, space_variance
from reproduce.compare_mechanisms import (
    COMPARED,
    PAGE,
    TABLES,
    best_known_variance,
    compare,
)


@pytest.mark.parametrize("name", TABLES)
def test_tables_are_fresh(name: str) -> None:
    """The tables are what reproduce/compare_mechanisms.py writes today."""
    page = PAGE.read_text()
    assert f"<!-- table {name} -->\n{TABLES[name]()}<!-- end -->\n" in page


@pytest.mark.parametrize(
    ("epsilon", "cells"), [(0.001, 1), (0.001, 16), (0.25, 256), (1.0, 32), (4.0, 100), (8.0, 4)]
)
def test_subset_has_the_least_variance(epsilon: float, cells: int) -> None:
    """The default's is the best known bound, to 1e-6; no mechanism's is below the bound."""
    rows = {row.name: row for row in compare(epsilon, cells)}
    assert set(rows) == set(COMPARED)
    assert all(row.ratio >= 1 - 1e-9 for row in rows.values())
    assert rows["subset"].ratio <= 1 + 1e-6


@pytest.mark.parametrize("m", [64, 100, 512, 4096])
@pytest.mark.parametrize("epsilon", [0.25, 0.5, 1.0, 2.0, 4.0, 8.0])
def test_projective_is_near_the_best_known(epsilon: float, m: int) -> None:
    """From 64 categories on its variance is within 12 % of it."""
    space = ProjectiveResponse.create(epsilon, 1, m).space
    variance = float(space_variance(space, exp_below(Fraction(epsilon)), m))
    assert variance <= 1.12 * best_known_variance(epsilon, m)


def test_rows_have_the_figures_of_their_mechanisms() -> None:
    """Each figure of a row is that of the mechanism of its name."""
    for row in compare(1.0, 32):
        mechanism = COMPARED[row.name].create(1.0, 32, 2)
        even = np.ones((32, 2))
        assert row.report_bytes == mechanism.report_bytes
        assert row.sum_size == mechanism.sum_size
        assert row.variance == mechanism.variance(65, even)[3, 1] / 65
        source = BytesIO(bytes(10**5))
        mechanism.privatize(5, source.read)
        assert row.random_bytes == source.tell()
        entries = np.eye(64)[4:6].reshape(2, 32, 2)
        by_entry = [abs(end) for entry in entries for end in mechanism.influence(entry)]
        assert row.influence == pytest.approx(max(by_entry))
        of_label = mechanism.influence(entries[1].sum(axis=0) * np.ones((32, 1)))
        assert row.label_influence == pytest.approx(max(map(abs, of_label)))
