"""HistOfTree's manner: counts against brute force, ε by enumeration, a case it must learn."""

from typing import Any

import numpy as np
import pytest

from baselines import HistOfTreeClassifier, HistOfTreeRegressor
from baselines.base import Floats
from baselines.disclosed_columns import shares_in_leaf
from privet.learning.core.trees import locate


def checkerboard(n: int, seed: int = 0) -> tuple[Floats, Floats]:
    """Class 1 is likely where exactly one of the first two columns is large; the third is idle."""
    rng = np.random.default_rng(seed)
    X = rng.random((n, 3))
    odd = (X[:, 0] > 0.5) ^ (X[:, 1] > 0.5)
    return X, (rng.random(n) < np.where(odd, 0.9, 0.1)).astype(float)


def fitted(model: Any, X: Floats, y: Floats) -> Any:
    """On records that are public, too, so that the tree is the same for every seed."""
    return model.fit(X, y, public=(X[:200], y[:200]), feature_range=(0.0, 1.0))


@pytest.mark.parametrize(
    "mechanism",
    [
        *("subset", "grr"),
        *(
            pytest.param(name, marks=pytest.mark.slow)
            for name in ("randomized_response", "laplace")
        ),
    ],
)
def test_counts_are_unbiased_and_leaves_exact(mechanism: str) -> None:
    """Means over 60 collections against counting records one by one.

    All of 8 means lie within 5 standard errors; by chance one does not in 2e-5 of runs.
    """
    X, y = checkerboard(250)
    runs = [
        fitted(
            HistOfTreeClassifier(
                1.0, depth=1, disclosed=[0, 2], mechanism=mechanism, random_state=seed
            ),
            X,
            y,
        )
        for seed in range(60)
    ]
    first = runs[0]
    leaves = locate(first.tree_, X[:, [0, 2]])
    truth = np.zeros((2, 2, 2))
    for leaf, hidden, label in zip(leaves, X[:, 1], y, strict=True):
        truth[leaf, int(hidden > 0.5), int(label)] += 1
    counts = np.array([run.counts_ for run in runs])
    error = counts.std(axis=0) / np.sqrt(len(runs))
    assert counts.shape == (60, 2, 2, 2)
    assert (np.abs(counts.mean(axis=0) - truth) < 5 * error).all()


@pytest.mark.parametrize("bins", [1, 3])
@pytest.mark.parametrize("epsilon", [0.5, 3.0])
def test_epsilon_within_a_leaf(bins: int, epsilon: float) -> None:
    """The mechanism asks for hidden cell and label alone; its exact worst ratio is at most e^ε."""
    X, y = checkerboard(300)
    model = fitted(HistOfTreeClassifier(epsilon, depth=1, disclosed=[0], bins=bins), X, y)
    mechanism = model.mechanism_
    assert (mechanism.cells, mechanism.slots) == (bins**2, 2)
    assert epsilon - 1e-6 < mechanism.log_ratio() <= epsilon


def test_it_learns_what_needs_both_kinds_of_columns() -> None:
    """Neither the disclosed nor the hidden column says anything alone; all disclosed needs less
    ε."""
    X, y = checkerboard(20_000)
    X_test, y_test = checkerboard(5_000, seed=1)
    settings: dict[str, Any] = {"partition": "max_edge", "random_state": 0}
    half = fitted(HistOfTreeClassifier(2.0, depth=1, disclosed=[0], **settings), X, y)
    assert half.score(X_test, y_test) > 0.88  # Bayes .9
    shallow = fitted(HistOfTreeClassifier(2.0, depth=1, disclosed=[0], bins=1, **settings), X, y)
    assert shallow.score(X_test, y_test) < 0.6
    label_only = fitted(HistOfTreeClassifier(0.5, depth=3, **settings), X, y)
    assert label_only.score(X_test, y_test) > 0.88


def test_numbers() -> None:
    """The mean of a number in each cell, within its range."""
    X, y = checkerboard(20_000)
    model = HistOfTreeRegressor(4.0, depth=1, disclosed=[0], partition="max_edge", random_state=0)
    model.set_params(label_range=(10.0, 20.0))
    model.fit(X, 10.0 + 10.0 * y, public=(X[:200], 10.0 + 10.0 * y[:200]), feature_range=(0.0, 1.0))
    corners = np.array([[0.1, 0.1, 0.5], [0.1, 0.9, 0.5], [0.9, 0.1, 0.5], [0.9, 0.9, 0.5]])
    # standard errors are .1; five of them
    assert model.predict(corners) == pytest.approx([11.0, 19.0, 19.0, 11.0], abs=0.5)


def test_no_column_disclosed_is_one_leaf() -> None:
    X, y = checkerboard(300)
    model = fitted(HistOfTreeClassifier(1.0, disclosed=[]), X, y)
    assert model.tree_.cells == 1
    assert model.grid_.cells == 8


def test_a_cell_without_mass_has_its_leafs_shares() -> None:
    counts = np.array([[-3.0, 1.0], [30.0, 10.0]])
    # (27, 11) / 40 lacks .05 of adding up to 1: half each
    expected = np.array([[0.7, 0.3], [0.75, 0.25]])
    assert shares_in_leaf(counts, 40) == pytest.approx(expected)
    assert shares_in_leaf(np.zeros((1, 2)), 0) == pytest.approx(np.array([[0.5, 0.5]]))
