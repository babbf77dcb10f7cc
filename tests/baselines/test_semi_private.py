"""The semi-private learner: covers, the law of the choice by enumeration, and the bounds."""

import itertools
from collections import Counter

import numpy as np
import pytest
from scipy.stats import chisquare

from privet.baselines import SemiPrivateClassifier
from privet.baselines.base import Floats, Integers
from privet.baselines.semi_private import (
    SmallTree,
    cuts_of,
    draw_tree,
    excess_error,
    least_public_records,
    log_growth,
    sample_sizes,
    stumps,
)


def records(n: int, columns: int, seed: int = 0) -> tuple[Floats, Integers]:
    rng = np.random.default_rng(seed)
    return rng.integers(4, size=(n, columns)) / 3.0, rng.integers(2, size=n)


@pytest.mark.parametrize("both_ways", [True, False])
def test_the_cover_labels_the_public_records_in_every_way_once(both_ways: bool) -> None:
    """All dichotomies of stumps (or thresholds) with any cut, each by one hypothesis."""
    known, _ = records(6, 2)
    every = set()
    for column, cut in itertools.product(range(2), np.linspace(-0.1, 1.1, 200)):
        labels = known[:, column] >= cut
        every.add(tuple(labels))
        if both_ways:
            every.add(tuple(~labels))
    cover = stumps(known, both_ways=both_ways)
    labelings = [tuple(cover.tree(i).labels(known) == 1) for i in range(len(cover))]
    assert len(labelings) == len(set(labelings))
    assert set(labelings) == every
    assert len(cover) <= np.exp(log_growth("stumps", 2, 6)) + 1e-9


def test_mistakes_are_counted() -> None:
    """Against each hypothesis's own labels, private records at the cuts' sides included."""
    known, _ = records(8, 3)
    X, y = records(50, 3, seed=1)
    cover = stumps(known, both_ways=True)
    expected = [(cover.tree(i).labels(X) != y).sum() for i in range(len(cover))]
    assert cover.mistakes(X, y).tolist() == expected


def test_privacy_by_enumeration() -> None:
    """One record replaced changes no hypothesis's probability by more than e^ε."""
    known, _ = records(6, 2)
    X, y = records(5, 2, seed=2)
    cover = stumps(known, both_ways=True)
    epsilon = 1.3

    def law(X: Floats, y: Integers) -> Floats:
        weights = np.exp(-epsilon * cover.mistakes(X, y) / 2)
        return np.asarray(weights / weights.sum())

    worst = 0.0
    for point in itertools.product(np.unique(known), repeat=2):
        for label in (0, 1):
            other_X, other_y = X.copy(), y.copy()
            other_X[0], other_y[0] = point, label
            worst = max(worst, np.abs(np.log(law(X, y) / law(other_X, other_y))).max())
    assert 0 < worst <= epsilon


def test_trees_are_drawn_by_the_exponential_mechanism() -> None:
    """4 000 draws against the law enumerated over all trees; chi-squared, false alarms 1e-4."""
    known = np.array([[0.0], [1.0 / 3]])
    X, y = records(12, 1, seed=3)
    epsilon = 1.0
    cuts = cuts_of(known[:, 0])
    weights: Counter[tuple[int, ...]] = Counter()
    points = np.array([[0.0], [1.0]])
    for splits in itertools.product(cuts, repeat=3):
        for leaves in itertools.product((0, 1), repeat=4):
            tree = SmallTree((0, 0, 0), splits, leaves)
            mistakes = (tree.labels(X) != y).sum()
            weights[tuple(tree.labels(points))] += np.exp(-epsilon * mistakes / 2)
    rng = np.random.default_rng(4)
    drawn = Counter(tuple(draw_tree(X, y, known, epsilon, rng).labels(points)) for _ in range(4000))
    total = sum(weights.values())
    expected = [4000 * weight / total for weight in weights.values()]
    assert chisquare([drawn[key] for key in weights], expected).pvalue > 1e-4


@pytest.mark.parametrize(
    ("hypotheses", "columns"), [("thresholds", 1), ("stumps", 3), ("trees", 3)]
)
def test_learns_its_class(hypotheses: str, columns: int) -> None:
    """With many private records the error is that of the class's best, as the bound says."""
    rng = np.random.default_rng(5)
    X = rng.random((50_000, columns))
    y = X[:, 0] >= 0.3
    if hypotheses == "trees":
        y ^= X[:, 1] >= 0.6
    y ^= rng.random(len(X)) < 0.1
    model = SemiPrivateClassifier(1.0, hypotheses=hypotheses, random_state=0)
    model.fit(X[200:], y[200:], public=(X[:200], None))
    bound = excess_error(200, 49_800, 1.0, hypotheses=hypotheses, columns=columns)
    assert 1 - model.score(X, y) <= 0.1 + bound.total
    assert model.score(X, y) > 0.87


def test_bounds_shrink_and_sample_sizes_suffice() -> None:
    """α falls with either number of records, and the numbers of records give the α asked for."""
    public, private = sample_sizes(0.1, 0.5, hypotheses="stumps", columns=4)
    bound = excess_error(public, private, 0.5, hypotheses="stumps", columns=4)
    assert bound.total <= 0.1
    assert excess_error(public - 1, private, 0.5, columns=4).cover > 0.05
    assert excess_error(public, private - 1, 0.5, columns=4).choice > 0.05
    # α halves: public records about double, private ones about quadruple (Theorem 3.1)
    more = sample_sizes(0.05, 0.5, hypotheses="stumps", columns=4)
    assert 2 < more[0] / public < 2.5
    assert 3 < more[1] / private < 4.5
    # Theorem 4.1's proof: 100 n_pub α > 1/16
    assert 100 * least_public_records(0.1) * 0.1 == pytest.approx(1 / 16)
    with pytest.raises(ValueError, match="between 0 and 1"):
        sample_sizes(1.5, 1.0)
