"""Partitions distilled from a public model."""

import numpy as np
import pytest

from privet.learning.core.public_data import PublicData, class_count
from privet.learning.core.trees import locate
from privet.learning.methods import fit
from privet.learning.public_model.distilled import distilled_depth
from privet.learning.public_model.knowledge import public_knowledge
from privet.learning.simulation import simulate_counts
from privet.learning.task_building.build import TaskBuilder
from privet.learning.task_building.settings import TaskSettings
from privet.protocol.features import Classes, Numeric, Range

from ..examples import EVERY_LABEL, linear_model, public_rows
from ..test_growers import grow


@EVERY_LABEL
def test_cells_explain_the_model_better_the_more_there_are(label: Classes | Range) -> None:
    """The model's variance within cells falls from one depth to the next, within the limit."""
    public = public_rows(label, 80, seed=1)
    classes = class_count(label)
    known = public_knowledge(public.X, public.y, classes)
    spread = []
    for depth in (0, 2, 4, 6):
        tree = grow("distilled", public.X, public.y, classes, depth, seed=2, base=known.model)
        assert tree.cells <= 2**depth
        means, _ = known.cell_means(tree)
        spread.append(((known.scores - means[locate(tree, known.points)]) ** 2).mean())
    assert spread == sorted(spread, reverse=True)
    assert spread[-1] < 0.1 * spread[0]


@pytest.mark.parametrize("centred", [False, True])
def test_depth_follows_what_reports_can_tell_apart(centred: bool) -> None:
    """More holders or budget never give fewer cells; the depth stays within its limits.

    Before rounding a margin of .35 between n / K holders is two standard errors.
    """
    epsilons, holders = (0.1, 1.0, 3.0, 4.0, 4.6, 6.0, 20.0), (0, 10**3, 10**6)
    depths = [[distilled_depth(n, e, centred=centred) for e in epsilons] for n in holders]
    assert (np.diff(depths, axis=0) >= 0).all()
    assert (np.diff(depths, axis=1) >= 0).all()
    assert min(min(row) for row in depths) == (2 if centred else 1)
    assert max(max(row) for row in depths) == 12
    assert distilled_depth(10_000, 2.0) == 4
    for n, epsilon in ((2_000, 1.0), (10_000, 8.0), (10**6, 0.5)):
        cells = 2.0 ** distilled_depth(n, epsilon)
        noise = 4.0 * np.exp(epsilon) / (np.exp(epsilon) - 1.0) ** 2
        error = np.sqrt(cells / n + cells**2 * noise / n)
        assert 0.35 / np.sqrt(2.0) <= 2.0 * error <= 0.35 * 2.0


@pytest.mark.parametrize(("moved", "most"), [(0.8, 0.2), (0.0, 0.1)])
def test_numbers_that_moved_are_followed_by_default(moved: float, most: float) -> None:
    """At epsilon 1 the default tree shows that 20 000 numbers rose by .8 of their deviation.

    Of five collections the mean squared error is less than a third of the shift's, and without a
    shift it stays small. Trees with eight times the cells show next to nothing: .57 of .64.
    """
    base = linear_model([[1.0], [0.0]], [0.0], "identity")
    features = tuple(Numeric(name=name, low=0.0, high=1.0) for name in ("a", "b"))
    label, errors = Range(name="y", low=-6.0, high=7.0), []
    for seed in range(5):
        rng = np.random.default_rng(seed)
        X = rng.random((20_400, 2))
        y = X[:, 0] + rng.standard_normal(len(X))
        public = PublicData(X[:400], y[:400])
        settings = TaskSettings(name="moved", label="y", epsilon=1.0, holders=20_000)
        task = TaskBuilder(features, label, public, base).task(settings)
        questions = simulate_counts(task, X[400:], y[400:] + moved, rng)
        found = fit("drift", label, public, questions, base).predict(X[:400]).values[:, 0]
        errors.append(((found - X[:400, 0] - moved) ** 2).mean())
    assert np.mean(errors) < most
