"""The default estimator, and averaging from counts alone: what they must never and always do."""

import numpy as np

from privet.learning.core.counts import QuestionCounts
from privet.learning.core.growth import GrowthSpec
from privet.learning.core.public_data import PublicData, class_count
from privet.learning.core.trees import locate
from privet.learning.methods import GROWERS, fit
from privet.protocol.features import Classes, Range
from privet.protocol.partition import Partition

from ..examples import BINARY, THREE, complete, linear_model, public_rows, reports


def grown(label: Classes | Range, public: PublicData, depth: int) -> Partition:
    grow, classes = GROWERS["distilled"], class_count(label)
    return grow(public.X, public.y, GrowthSpec(depth=depth, min_leaf=1), classes=classes)


def population(
    tree: Partition, X: np.ndarray, p: np.ndarray, epsilon: float, seed: int
) -> QuestionCounts:
    """Reports of holders at X with class probabilities p, ``(rows, slots)``."""
    rng = np.random.default_rng(seed)
    slots = p.shape[1]
    y = (rng.random(len(X))[:, None] > np.cumsum(p, axis=1)).sum(axis=1).clip(max=slots - 1)
    counts = np.bincount(locate(tree, X) * slots + y, minlength=tree.cells * slots)
    return reports(tree, counts.reshape(tree.cells, slots), epsilon, seed)


def test_reports_that_say_nothing_leave_the_public_model() -> None:
    """At a tiny budget noise costs next to nothing.

    A posterior mean moves under pure noise by what its variance falls: here .0002, squared. As
    multiples of chi-squares of one degree, the mean of ten squares is above .0005 once in 300
    trials; the seeds are fixed.
    """
    public = public_rows(BINARY, 80, seed=5)
    tree = grown(BINARY, public, 4)
    X = np.random.default_rng(6).random((3000, 2))
    squared = []
    for seed in range(10):
        question = population(tree, X, np.full((3000, 2), 0.5), 0.05, seed)
        model = fit("drift", BINARY, public, [question])
        assert model.base is not None
        squared.append(((model.predict(X).values - model.base.predict(X)) ** 2).mean())
        assert (model.public_share > 0.9).all()
    assert np.mean(squared) < 0.0005


def test_a_cell_that_moves_far_takes_all_its_records_along() -> None:
    """A correction of the cell's mean alone would leave records that f_Q is sure of where they are.

    f_Q falls from .95 to .05 within the one cell, four fifths of whose holders have the label.
    """
    public = public_rows(BINARY, 200, seed=23)
    own = linear_model([[0, -6], [0, 0]], [0, 3])
    question = reports(complete(0), np.array([[20_000, 80_000]]), 4.0, seed=24)
    model = fit("drift", BINARY, public, [question], base=own)
    assert model.base_slope is not None
    assert 0.0 < model.base_slope[0, 1] < 1.0
    p = model.predict(np.array([[0.05, 0.5], [0.5, 0.5], [0.95, 0.5]])).values[:, 1]
    assert p[0] > p[1] > p[2] > 0.5


def test_a_public_model_that_reports_call_flat_is_flattened_within_cells() -> None:
    """Where no cell follows f_Q, records within cells do not either."""
    public, tree = public_rows(BINARY, 200, seed=25), complete(4)
    question = reports(tree, np.tile([2000, 6000], (16, 1)), 4.0, seed=26)
    model = fit("drift", BINARY, public, [question], base=linear_model([[0, 4], [0, 4]], [0, -4]))
    assert model.base_slope is not None
    assert (model.base_slope < 0.2).all()


def test_a_public_model_that_reports_speak_against_gives_way_to_counts() -> None:
    """Where f_Q is noise, drift predicts nearly what it does from a constant.

    Cells' shares are .15 and .85 in a chessboard that f_Q = 1/2 + small noise knows nothing of.
    """
    public, tree = public_rows(BINARY, 200, seed=20), complete(4)
    rng = np.random.default_rng(21)
    own = linear_model(rng.normal(0.0, 0.02, size=(2, 2)), np.zeros(2))
    ones = np.where(np.arange(tree.cells) % 2, 850, 150)
    question = reports(tree, np.stack([1000 - ones, ones], axis=1), 2.0, seed=22)
    drift = fit("drift", BINARY, public, [question], base=own)
    half = linear_model(np.zeros((2, 2)), np.zeros(2))
    from_constant = fit("drift", BINARY, public, [question], base=half)
    right = np.stack([1000 - ones, ones], axis=1) / 1000
    np.testing.assert_allclose(drift.values, from_constant.values, atol=0.05)
    assert ((drift.values > 0.5) == (right > 0.5)).all()


def test_no_reports_give_the_public_model() -> None:
    """Before the first report the model predicts what the public model predicts."""
    public = public_rows(THREE, 60, seed=10)
    tree = grown(THREE, public, 3)
    nothing = reports(tree, np.zeros((tree.cells, 3)), 1.0, seed=0)
    model = fit("drift", THREE, public, [nothing])
    X = np.random.default_rng(11).random((100, 2))
    assert model.base is not None
    np.testing.assert_allclose(model.predict(X).values, model.base.predict(X), atol=1e-6)
    np.testing.assert_allclose(model.public_share, 1.0)


def test_a_plain_tree_gives_each_cell_one_value() -> None:
    """With ``plain`` the model has no public model."""
    public = public_rows(BINARY, 60, seed=12)
    tree = grown(BINARY, public, 3)
    question = reports(tree, np.full((tree.cells, 2), 100), 1.0, seed=13)
    plain = fit("drift", BINARY, public, [question], plain=True)
    assert plain.base is None
    full = fit("drift", BINARY, public, [question])
    np.testing.assert_array_equal(plain.values, full.values)
    X = np.random.default_rng(14).random((50, 2))
    predicted = plain.predict(X).values
    np.testing.assert_array_equal(predicted, plain.values[locate(tree, X)])
    assert not np.allclose(full.predict(X).values, predicted)
