"""Levels of one tree from a task's settings to predictions, every holder simulated."""

import numpy as np
import pytest

from privet.curator.estimation.levels import embed
from privet.curator.publishing.build import build_task
from privet.curator.publishing.settings import TaskSettings
from privet.curator.sklearn_api import PrivateTreeClassifier, PrivateTreeRegressor

LEVELS = ({"depth": 1}, {"depth": 3})


def shares(seed: int, rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Features, and a share that grows with the first."""
    X = np.random.default_rng(seed).random((rows, 2))
    return X, 0.1 + 0.8 * X[:, 0]


@pytest.mark.parametrize("grower", ["distilled", "max_edge"])
def test_depths_of_one_grower_are_levels_of_one_tree(grower: str) -> None:
    """Questions that differ in depth alone have nested trees."""
    X, share = shares(0, 200)
    columns = {"a": X[:, 0], "b": X[:, 1], "y": (share > 0.5).astype(float)}
    settings = TaskSettings(name="t", label="y", epsilon=1.0, grower=grower, questions=LEVELS)
    task, _ = build_task(settings, columns)
    coarse, fine = task.trees[task.questions[0].partition], task.trees[task.questions[1].partition]
    node = embed(fine, coarse)
    assert fine.cells > coarse.cells
    assert len(np.unique(node)) == coarse.nodes


@pytest.mark.parametrize("estimator", ["averaged", "drift"])
@pytest.mark.parametrize("allocation", ["one", "all"])
def test_classes_are_learned_from_levels(estimator: str, allocation: str) -> None:
    """Public labels follow half the slope, and alone are wrong by 0.12; reports put it right."""
    X, share = shares(1, 20_000)
    rng = np.random.default_rng(2)
    y = rng.random(len(X)) < share
    X_public = X[:400]
    y_public = rng.random(400) < 0.25 + 0.5 * share[:400]
    tree = PrivateTreeClassifier(
        8.0, questions=LEVELS, allocation=allocation, estimator=estimator, random_state=0
    ).fit(X, y, public=(X_public, y_public))
    assert len(tree.task_.questions) == 2
    assert tree.model_.n == 20_000
    found = tree.predict_proba(X)[:, 1]
    assert np.abs(found - share).mean() < 0.09


@pytest.mark.parametrize("estimator", ["averaged", "drift"])
def test_numbers_are_learned_from_levels(estimator: str) -> None:
    """Public labels follow half the slope, and alone are wrong by 0.1; reports put it right."""
    X, mean = shares(3, 20_000)
    on_range = [{**level, "centred": False} for level in LEVELS]
    y = mean + 0.05 * np.random.default_rng(4).standard_normal(len(X))
    tree = PrivateTreeRegressor(
        8.0, questions=on_range, allocation="one", estimator=estimator, random_state=0
    ).fit(X, y, public=(X[:400], 0.25 + 0.5 * y[:400]))
    assert np.abs(tree.predict(X) - mean).mean() < 0.07
