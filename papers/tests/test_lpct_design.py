"""LPCT's synthetic design."""

from typing import Any

import numpy as np
import pytest

from privet.learning.methods import fit
from privet.learning.simulation import simulate_counts
from privet.learning.task_building.build import build_task
from privet.learning.task_building.settings import TaskSettings
from reproduce.lpct_design import draw, eta, fine_grid


def bayes_accuracy() -> float:
    """The best accuracy possible under P."""
    _, chance = fine_grid()
    return float(np.maximum(chance, 1.0 - chance).mean())


def test_the_design_is_the_papers() -> None:
    """Bayes accuracy is the authors' .7861, probabilities lie in [0.1, 0.9], Q agrees with P."""
    assert bayes_accuracy() == pytest.approx(0.7861, abs=5e-5)
    X = np.random.default_rng(0).random((10_000, 2))
    assert eta(X).min() >= 0.1
    assert eta(X).max() <= 0.9
    np.testing.assert_array_equal(np.sign(eta(X) - 0.5), np.sign(eta(X, 5.0) - 0.5))


def test_labels_follow_eta() -> None:
    """Labels are drawn from eta: the mean residual is within 4.9 standard errors at 1e-6."""
    data = draw(50_000, 1.0, np.random.default_rng(1))
    residual = data.y - eta(data.X)
    assert abs(residual.mean()) < 4.9 * residual.std() / np.sqrt(len(residual))


@pytest.mark.parametrize(
    ("estimator", "grower"),
    [("weighted", "max_edge"), pytest.param("drift", "distilled", marks=pytest.mark.slow)],
)
def test_a_billion_holders_nearly_reach_the_best_possible(estimator: str, grower: str) -> None:
    """10**9 holders at depth 8 come within two points of Bayes, far above public records alone."""
    data, rng = draw(100, 0.5, np.random.default_rng(0)), np.random.default_rng(1)
    columns = {"x1": data.X[:, 0], "x2": data.X[:, 1], "y": data.y}
    unit = {"low": 0.0, "high": 1.0}
    settings = {"name": "design", "label": "y", "classes": ("0", "1"), "epsilon": 1.0, "depth": 8}
    settings |= {"features": {"x1": unit, "x2": unit}, "grower": grower, "min_leaf": 0}
    task, public = build_task(TaskSettings.model_validate(settings), columns)
    points, chance = fine_grid()
    X, y = np.tile(points, (2, 1)), np.repeat([0.0, 1.0], len(points))
    weights = np.concatenate([1.0 - chance, chance]) / len(points)
    counts = simulate_counts(task, X, y, rng, copies=rng.multinomial(10**9, weights))
    methods: list[tuple[str, dict[str, Any]]] = [(estimator, {}), ("weighted", {"weight": np.inf})]
    reached, public_alone = (
        weights[
            fit(name, task.label, public, counts, **given).predict(X).values.argmax(axis=1) == y
        ].sum()
        for name, given in methods
    )
    assert bayes_accuracy() - 0.02 < reached <= bayes_accuracy() + 1e-9
    assert public_alone < reached - 0.05
