"""Statements that hold at every look: by enumeration, and in collections looked at often."""

import numpy as np
import pytest
from scipy.stats import binom, norm

from privet.learning.core.counts import QuestionCounts
from privet.learning.core.labels import kind_of
from privet.learning.core.looks import (
    NARROWEST,
    ONE_LOOK,
    factor_at,
    p_of_equal_means,
    p_of_equal_shares,
    reports_until,
)
from privet.learning.core.ratio import fieller_interval
from privet.learning.figures.compare import cell_differences
from privet.learning.figures.figure import Reports
from privet.learning.simulation import simulate_sums
from privet.protocol.features import Classes
from privet.protocol.mechanisms import SubsetSelection

from ..examples import complete

LABEL = Classes(name="y", classes=("no", "yes"))
PLANNED, ROWS, RUNS = 5_000, 400, 120
PROGRESS = np.geomspace(0.01, 2.0, 40)
MOST_FALSE = int(binom.ppf(1 - 1e-5, RUNS, 0.05))
"""Of ``RUNS``, more have a false statement with a probability of 1 in 100 000 if 5 % is true."""


def test_intervals_are_narrowest_at_the_planned_end() -> None:
    """There 1.55 times as wide as for one look, and below 1.6 times from half of it to four."""
    progress = np.geomspace(0.01, 100.0, 1_001)
    factors = np.array([factor_at(some) for some in progress])
    assert progress[factors.argmin()] == pytest.approx(1.0, rel=0.01)
    near = (progress >= 0.5) & (progress <= 4.0)
    assert factors.min() / ONE_LOOK == pytest.approx(1.549, abs=1e-3)
    assert factors[near].max() < 1.6 * ONE_LOOK
    assert norm.ppf(0.975) == ONE_LOOK


@pytest.mark.parametrize("planned", [None, 100, 10_000, 10_000_000])
@pytest.mark.parametrize("precision", [3.0, 500.0, 80_000.0])
def test_reports_are_enough_and_no_more(planned: int | None, precision: float) -> None:
    """The next smaller number is not enough."""
    n = reports_until(precision, planned)
    enough = [
        k / (ONE_LOOK if planned is None else factor_at(k / planned)) ** 2 >= precision
        for k in (n - 1, n, 10 * n)
    ]
    assert enough == [False, True, True]


@pytest.mark.parametrize("rows", [1, 20, 300])
@pytest.mark.parametrize("p", [0.002, 0.3, 0.5, 1.0])
def test_evidence_is_not_too_large_in_expectation(rows: int, p: float) -> None:
    """Summed over all that public rows can show, where reports say that the share is p for sure.

    The rows' evidence against p is 1 in expectation, and the reports' is what mixing costs.
    """
    hits = np.arange(rows + 1.0)
    share, error = np.full(hits.shape, p), np.full(hits.shape, 1e-9)
    law = binom.pmf(hits, rows, p)
    for progress in (0.1, 1.0):
        p_values = p_of_equal_shares(hits, rows, share, error, progress)
        against = (law > 0.0) & (p_values > 0.0) & (p_values < 1.0)
        expected = (law[against] / p_values[against]).sum()
        assert expected <= (1.0 + NARROWEST * progress) ** -0.5 * (1.0 + 1e-6)


def test_means_that_differ_are_told_apart() -> None:
    """Beyond doubt at twelve standard deviations, not at one; never where they are equal."""
    p_values = p_of_equal_means(np.array([0.0, 1.0, 12.0]), (0.5, 0.5), (1.0, 1.0))
    assert p_values[0] == p_values[1] == 1.0
    assert p_values[2] < 1e-12


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [0.5, 8.0])
def test_statements_hold_at_all_looks_together(epsilon: float) -> None:
    """40 looks at everybody being alike: the overall share, a cell's, and nothing listed.

    Each fails in at most 5 % of collections at any of its looks. With intervals for one look it is
    more than a quarter, so the test can fail.
    """
    often, once = (count_false(epsilon, planned) for planned in (PLANNED, None))
    assert max(often) <= MOST_FALSE
    assert min(once) > MOST_FALSE


def count_false(epsilon: float, planned: int | None) -> list[int]:
    """In how many of ``RUNS`` the overall share, the first cell's, and the list were ever false."""
    tree = complete(2)
    mechanism = SubsetSelection.create(epsilon, tree.cells, LABEL.slots)
    false = np.zeros((RUNS, 3), dtype=bool)
    for run in range(RUNS):
        rng = np.random.default_rng([run, int(2 * epsilon)])
        mass, share = rng.dirichlet(np.full(tree.cells, 3.0)), rng.uniform(0.1, 0.9, tree.cells)
        law = np.stack([mass * (1.0 - share), mass * share], axis=1)
        public = rng.multinomial(ROWS, law.ravel()).reshape(law.shape).astype(float)
        counts, sums, n = np.zeros(law.shape, np.int64), np.zeros(mechanism.sum_size, np.int64), 0
        for until in (PLANNED * PROGRESS).astype(int):
            arrived = rng.multinomial(until - n, law.ravel()).reshape(law.shape)
            counts, sums, n = counts + arrived, sums + simulate_sums(mechanism, arrived, rng), until
            question = QuestionCounts(tree, mechanism, sums, n, planned=planned)
            overall = question.mean(np.tile([0.0, 1.0], (tree.cells, 1))).interval(0.0, 1.0)
            holders = question.plausible.sum(axis=1, keepdims=True)
            low, high = fieller_interval(question.counts, question.noise, holders, question.factor)
            false[run] |= (
                not overall.low <= counts[:, 1].sum() / n <= overall.high,
                not low[0, 1] <= share[0] <= high[0, 1],
                bool(cell_differences(Reports(kind_of(LABEL), question), public, 1.0)),
            )
    return [int(column.sum()) for column in false.T]
