"""Intervals cover the cells' true shares as often as they state."""

from itertools import product

import numpy as np
import pytest
from scipy.special import expit

from privet.learning.core.counts import QuestionCounts
from privet.learning.core.trees import boxes, locate
from privet.learning.methods import fit
from privet.protocol.mechanisms.subset import SubsetSelection
from privet.protocol.partition import Partition

from .examples import BINARY, REPORTS_ALONE, complete, linear_model, public_rows, reports

RUNS = 60
PUBLIC = public_rows(BINARY, 10, seed=0)


@pytest.mark.quick("200-1.0", "50-0.5")
@pytest.mark.parametrize(("per_cell", "epsilon"), [(2000, 4.0), (200, 1.0), (50, 0.5)])
def test_intervals_of_counts_cover_the_true_shares(per_cell: int, epsilon: float) -> None:
    """960 intervals, over runs with new truth each, cover 95 %.

    They miss 0.915, by 5 standard errors of 0.007, with probability below 1e-6. Those of shifts are
    in ``tests/learning/drift``.
    """
    tree, covered = complete(4), []
    centres = (boxes(tree)[0] + boxes(tree)[1])[tree.leaves] / 2
    for run in range(RUNS):
        rng = np.random.default_rng(run)
        quarters = (centres > 0.5).astype(int).T
        shift = 0.1 * rng.standard_normal((2, 2))[*quarters]
        p = np.clip(0.2 + 0.6 * centres[:, 0] + shift, 0.02, 0.98)
        ones = rng.binomial(per_cell, p)
        question = reports(tree, np.stack([per_cell - ones, ones], axis=1), epsilon, run)
        model = fit("weighted", BINARY, PUBLIC, [question], **REPORTS_ALONE)
        covered.append((model.low[:, 1] <= p) & (p <= model.high[:, 1]))
    assert np.mean(covered) > 0.915


def test_the_interval_at_a_record_covers_its_cells_share() -> None:
    """480 intervals of cells within which the public model and the truth differ by up to a half.

    They miss 0.9, by 5 standard errors of 0.01, with probability below 1e-6. The records' own
    probabilities differ within a cell, and are in its interval in far fewer cases.
    """
    tree = complete(4)
    grid = np.stack(np.meshgrid(*[(np.arange(40) + 0.5) / 40] * 2), axis=-1).reshape(-1, 2)
    base = linear_model([[0, 5], [0, 5]], [0, -5])
    cells, covered, of_records = locate(tree, grid), [], []
    for run in range(RUNS // 2):
        rng = np.random.default_rng(run)
        p = expit(5.0 * (grid.sum(axis=1) - 1.0) + rng.normal())
        share = np.bincount(cells, p) / np.bincount(cells)
        ones = rng.binomial(2000, share)
        question = reports(tree, np.stack([2000 - ones, ones], axis=1), 4.0, run)
        model = fit("drift", BINARY, PUBLIC, [question], base)
        found = model.predict(grid)
        low, high = (found.of_cells(ends)[:, 1] for ends in (model.low, model.high))
        covered.append((low <= share[cells]) & (share[cells] <= high))
        of_records.append((low <= p) & (p <= high))
    assert np.mean(covered) > 0.9
    assert np.mean(of_records) < 0.8


@pytest.mark.parametrize(("n", "yes"), [(5, 1), (10, 5)])
def test_intervals_of_a_few_reports_cover(n: int, yes: int) -> None:
    """Over all that noise can do, .93 or more of the share's, and of the misfits', who are none.

    By a normal law they were .90 and .85 of the share's, and .915 of the misfits' among five.
    """
    mechanism = SubsetSelection.create(4.0, 1, 2)
    p, q = float(mechanism.p), float(mechanism.q)
    chances: dict[tuple[int, ...], float] = {(0, 0, 0): 1.0}
    for own in [0] * (n - yes) + [1] * yes:
        further: dict[tuple[int, ...], float] = {}
        for sent, seen in product(chances, range(3)):
            after = tuple(number + (place == seen) for place, number in enumerate(sent))
            chance = chances[sent] * (p if seen == own else q)
            further[after] = further.get(after, 0.0) + chance
        chances = further
    held = np.zeros(2)
    for sent, chance in chances.items():
        question = QuestionCounts(Partition.root(1), mechanism, np.array(sent), n)
        less = question.mean(np.array([[-0.5, 0.5]])).interval(-0.5, 0.5)
        unfit = question.misfits.interval(0.0, n)
        held += chance * np.array([less.low <= yes / n - 0.5 <= less.high, unfit.low <= 0.0])
    assert held.min() > 0.93


def test_holders_who_agree_are_no_proof() -> None:
    """Of all who would answer, ten who say the same leave a quarter open, whatever the estimator
    (``weighted`` had no doubt)."""
    question = reports(complete(0), np.array([[0, 10]]), 60.0, 0)
    for name, parameters in (("weighted", REPORTS_ALONE), ("drift", {})):
        model = fit(name, BINARY, PUBLIC, [question], **parameters)
        assert 0.7 < model.low[0, 1] < 0.75
        assert model.high[0, 1] == 1.0
