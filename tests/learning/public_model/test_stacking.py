"""The stacked public model: good with few rows, never confused by odd ones."""

from collections import Counter

import numpy as np
import pytest
from sklearn.ensemble import ExtraTreesClassifier

from privet.learning.core.public_model import Trees, apply_link
from privet.learning.core.trees import locate
from privet.learning.public_model import stacking
from privet.learning.public_model.candidates import Candidate, candidates
from privet.learning.public_model.knowledge import (
    POINTS,
    Knowledge,
    public_knowledge,
    reference_points,
)
from privet.learning.public_model.stacking import (
    FOLDS,
    Weights,
    constant,
    out_of_fold,
    simplex_least_squares,
    stack_weights,
    stacked,
    tree_counts,
    weights_for,
)
from tests.curator.small_models import SHARED_TREES

from ..examples import BINARY, NUMBER, complete, public_rows


def test_a_linear_truth_gives_linear_models_their_weight() -> None:
    """With many rows of a smooth truth, linear models have over 0.4.

    With 30 rows no candidate has a weight of 0.4. Labels that do not vary give weights, too.
    """
    rng = np.random.default_rng(0)
    X = rng.random((1500, 4))
    y = (rng.random(1500) < 1 / (1 + np.exp(-8 * (X @ [1, -1, 1, -1])))).astype(float)
    members = candidates(1500, 4, 2)
    weights = stack_weights(members, X, y, 2).of_members
    linear = np.array([m.name.startswith("linear") for m in members])
    assert weights.sum() == pytest.approx(1.0)
    assert weights[linear].sum() > 0.4
    assert stack_weights(members, X[:30], y[:30], 2).of_members.max() < 0.4
    constant_label = stack_weights(candidates(40, 4, 0), X[:40], np.full(40, 3.0), 0).of_members
    assert constant_label.sum() == pytest.approx(1.0)
    assert (constant_label >= 0.0).all()


@pytest.mark.parametrize("rare", [False, True])
def test_labels_without_noise_tell_models_apart_in_few_rows(rare: bool) -> None:
    """One model is right up to .05, the others up to .4 of what labels differ by; rows are 200.

    It has nearly all weight, also of a class of 5 %. Where half of every label's variance is noise
    that no model knows, it has less, but the most.
    """
    rng = np.random.default_rng(0)
    true = (rng.random(200) < (0.05 if rare else 0.5)).astype(np.float64)
    spread = true.std()
    errors = rng.normal(0.0, 0.4 * spread, (4, 200))
    errors[0] /= 8.0
    predicted = np.stack([1.0 - true - errors, true + errors], axis=-1)
    members = candidates(200, 4, 0)[3::-1]  # the last and the last but two memorise
    sure = weights_for(members, predicted, true, 2)
    assert sure[0] > 0.85
    numbers = (true + errors)[:, :, None]
    noisy = weights_for(members, numbers, true + rng.normal(0.0, spread, 200), 0)
    assert max(noisy[1:]) < noisy[0] < weights_for(members, numbers, true, 0)[0]


def test_a_few_rows_of_many_columns_leave_forests_a_part_for_other_holders(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The default is closer to the labels of holders unlike 131 public rows than without memory.

    28 columns are functions of four that six groups of people differ in; holders are more of the
    last groups and vary more. The loss is half the Brier score.
    """
    rng = np.random.default_rng(17)
    seen, centres = rng.normal(size=(4, 28)), 2.0 * rng.normal(size=(6, 4))

    def drawn(people: int, spread: float, last: float) -> tuple[np.ndarray, np.ndarray]:
        chance = np.exp(last * np.arange(6) / 5)
        group = rng.choice(6, people, p=chance / chance.sum())
        z = centres[group] + (1.0 + 0.3 * spread) * rng.normal(size=(people, 4))
        X = np.tanh(z @ seen / 2.0) + 0.5 * (1.0 + 0.5 * spread) * rng.normal(size=(people, 28))
        return X, (group % 3).astype(float)

    X, y = drawn(131, 0.0, 0.0)
    others, label = drawn(3000, 1.0, 2.0)
    low, width = X.min(axis=0), np.ptp(X, axis=0)
    X, others = ((some - low) / width for some in (X, others.clip(low, low + width)))
    members = candidates(131, 28, 3)
    with stacking.quietly():
        predicted = out_of_fold(members, X, y, 3)
    losses = []
    for memory in (stacking.MEMORY, 0.0):
        monkeypatch.setattr(stacking, "MEMORY", memory)
        weights = Weights(weights_for(members, predicted, y, 3), 0.0)
        p = stacked(X, y, 3, weights).predict(others)
        losses.append(((p - np.eye(3)[label.astype(int)]) ** 2).sum(axis=1).mean() / 2.0)
    assert losses[0] < 0.99 * losses[1]


def test_weights_are_those_of_ridge_regression_on_the_simplex() -> None:
    """Where no weight is 0 the gradient is the same for all: 2 P'(P w - t) + 2 pull (w - even)."""
    rng = np.random.default_rng(1)
    target = rng.random(60)
    predicted = target[:, None] + rng.normal(0.0, 0.3, (60, 3))
    weights = simplex_least_squares(predicted, target, 0.7)
    assert weights.min() > 0.0
    assert weights.sum() == pytest.approx(1.0)
    gradient = predicted.T @ (predicted @ weights - target) + 0.7 * (weights - 1.0 / 3.0)
    np.testing.assert_allclose(gradient, gradient.mean(), atol=1e-4)


@pytest.mark.parametrize("rows", [1, 4, 12, 60])
def test_odd_public_data_still_give_a_model(rows: int) -> None:
    """From one row on predictions are probabilities, also of a class that not every fold has."""
    public, slots = public_rows(BINARY, rows, seed=2), 3 if rows == 60 else 2
    public.y[0] = slots - 1
    found = stacked(public.X, public.y, slots).predict(np.random.default_rng(3).random((20, 2)))
    assert ((found >= 0) & (found <= 1)).all()
    np.testing.assert_allclose(found.sum(axis=1), 1.0, atol=1e-5)


def test_equal_data_give_the_same_model_object() -> None:
    """Growing and fitting ask for the same model; it is fitted once; other data, another model."""
    public = public_rows(NUMBER, 9, seed=5)
    first = public_knowledge(public.X, public.y, 0)
    assert public_knowledge(public.X.copy(), public.y.copy(), 0) is first
    assert public_knowledge(public.X, public.y + 1.0, 0) is not first
    public.y[-1] += 1.0
    assert public_knowledge(public.X, public.y, 0) is not first


def test_reference_points_are_drawn_like_public_rows_and_are_none() -> None:
    """Every coordinate was seen in its column, and the same rows give the same points.

    With one column they are public rows. Of POINTS rows they are these, and none is counted as the
    model's own.
    """
    X = np.random.default_rng(6).random((50, 3))
    points = reference_points(X)
    assert points.shape == (POINTS, 3)
    for column in range(3):
        assert set(points[:, column]) <= set(X[:, column])
    for same in (X, np.asfortranarray(X)):
        np.testing.assert_array_equal(points, reference_points(same))
    assert not {row.tobytes() for row in X} & {row.tobytes() for row in points}
    one_column = reference_points(X[:, :1])  # of which no new row can be drawn
    assert (len(one_column), set(one_column[:, 0])) == (POINTS, set(X[:, 0]))
    many = np.random.default_rng(6).random((POINTS, 2))
    known = Knowledge.of(constant(many[:, 0], 2, 0), many)
    assert known.training_rows == 0
    np.testing.assert_array_equal(np.sort(known.points, axis=0), np.sort(many, axis=0))


def test_as_many_points_are_public_rows_as_rows_repeat() -> None:
    """Of 100 rows 40 occur once, so 60 of 100 points are public rows, all of them equally often."""
    X = np.random.default_rng(6).random((100, 3))
    X[70:] = X[40:70]
    times = Counter(row.tobytes() for row in reference_points(X))
    assert times.total() == POINTS
    assert {times[row.tobytes()] for row in X[:40]} == {48}
    assert {times[row.tobytes()] for row in X[40:]} == {96}
    X[:, 2] = 0.0
    same = X.copy()
    same[70:, 2] = -0.0
    np.testing.assert_array_equal(reference_points(same), reference_points(X))


def test_points_have_the_margins_and_the_dependence_of_public_rows() -> None:
    """Two columns that hardly differ, one with two values, one that is constant.

    With columns drawn apart the correlation is 0, and first and third agree for half.
    """
    rng = np.random.default_rng(6)
    first = rng.exponential(size=400)
    X = np.column_stack([first, first + 0.1 * rng.random(400), first > 1.0, np.ones(400)])
    drawn = reference_points(X)
    np.testing.assert_allclose(drawn[:, :2].mean(axis=0), X[:, :2].mean(axis=0), rtol=0.1)
    assert abs(drawn[:, 2].mean() - X[:, 2].mean()) < 0.03
    assert np.corrcoef(drawn[:, 0], drawn[:, 1])[0, 1] > 0.99
    assert (drawn[:, 2] == (drawn[:, 0] > 1.0)).mean() > 0.8
    assert (drawn[:, 3] == 1.0).all()


def test_with_more_columns_than_rows_points_take_columns_of_two_rows() -> None:
    """Each point has its columns from two rows, fewer than 26 of 30 from one on average."""
    X = np.random.default_rng(6).random((20, 30))
    drawn = reference_points(X)[:180]
    same = (drawn[:, None, :] == X[None]).sum(axis=2)
    assert (np.sort(same, axis=1)[:, -2:].sum(axis=1) == 30).all()
    assert same.max(axis=1).mean() < 26.0


def test_cell_means_are_the_models_means_at_the_points() -> None:
    """Means per cell equal a plain average; an empty cell has its nearest ancestor's mean."""
    public = public_rows(NUMBER, 40, seed=7)
    squeezed = public.X * [0.5, 1.0]
    known = public_knowledge(squeezed, public.y, 0)
    tree = complete(2)
    means, counts = known.cell_means(tree)
    np.testing.assert_array_equal(known.points[: known.training_rows], squeezed)
    cells, scores = (
        locate(tree, known.points[known.training_rows :]),
        known.scores[known.training_rows :],
    )
    np.testing.assert_array_equal(counts, np.bincount(cells, minlength=4))
    for cell in np.unique(cells):
        assert means[cell, 0] == pytest.approx(scores[cells == cell].mean())
    np.testing.assert_array_equal(counts[2:], 0)
    np.testing.assert_allclose(means[2:, 0], scores.mean())


def spots(rows: int, classes: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows around one random point per class, and their classes."""
    rng = np.random.default_rng(seed)
    y = np.arange(rows) % classes
    X = rng.random((classes, 3))[y] + 0.1 * rng.normal(size=(rows, 3))
    return X.clip(0, 1).astype(np.float32).astype(float), y.astype(float)


@pytest.mark.parametrize(
    ("slots", "most"), [(0, 130), (2, 130), (3, 400), (30, 400), (60, 200), (200, 100)]
)
def test_the_forests_of_a_stack_share_their_trees(
    slots: int, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In proportion to weights: 200 times their weight, of many classes 400 in all, above 30
    classes fewer, 100 at least."""
    for name, trees in (("FOREST_TREES", 200), ("SHARED_TREES", 400), ("FEWEST_SHARED_TREES", 100)):
        monkeypatch.setattr(stacking, name, trees)
    members = candidates(100, 3, slots)
    quick = ["boosting"] * (slots <= 2) + ["gentle boosting"] * (slots <= 5)
    assert [member.name for member in members if "boosting" in member.name] == quick
    forests = np.array([member.forest for member in members])
    weights = np.full(len(members), 0.1)
    weights[forests] = np.array([0.1, 0.0, 0.3, 0.25, 0.0])[: forests.sum()]
    shared = np.array(tree_counts(members, weights, slots))[forests]
    np.testing.assert_allclose(shared, most * weights[forests] / 0.65, atol=1.0)


def test_each_tree_of_a_forest_sees_a_sample_of_many_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Trees that are limited to 100 of 1000 rows have at most 100 leaves."""
    monkeypatch.setattr(stacking, "ROWS_PER_TREE", 100)
    rng = np.random.default_rng(9)
    X, y = rng.random((1000, 2)), rng.integers(2, size=1000).astype(float)
    forest = np.array([member.name == "forest" for member in candidates(1000, 2, 2)]) * 1.0

    def most_leaves(rows: int) -> int:
        part = stacked(X[:rows], y[:rows], 2, Weights(forest, 0.0), trees=5).components[0]
        assert isinstance(part, Trees)
        tree_of = np.searchsorted(part.roots, np.flatnonzero(part.left < 0), "right")
        return int(np.bincount(tree_of).max())

    assert 20 < most_leaves(1000) <= 100
    assert 0 < most_leaves(90) <= 90


def test_a_stack_of_many_classes_has_the_trees_it_was_given() -> None:
    """Twelve classes share SHARED_TREES, and are told apart."""
    X, y = spots(240, 12, seed=8)
    model = stacked(X, y, 12)
    trees = sum(len(part.roots) for part in model.components if isinstance(part, Trees))
    assert abs(trees - SHARED_TREES) <= len(model.components)
    assert (model.predict(X).argmax(axis=1) == y).mean() > 0.8


def test_a_sharp_forest_is_fitted_once_for_both_its_forms() -> None:
    """Each fold fits a maker once; sharp probabilities are a softmax of the plain ones."""
    X, y = spots(60, 3, seed=9)
    fits = []

    def make(trees: int) -> ExtraTreesClassifier:
        fits.append(trees)
        return ExtraTreesClassifier(trees, random_state=0)

    members = [
        Candidate("plain", make, forest=True),
        Candidate("sharp", make, True, sharpness=16.0),
    ]
    plain, sharp = out_of_fold(members, X, y, 3)
    assert len(fits) == FOLDS
    np.testing.assert_allclose(sharp, apply_link("softmax", 16.0 * plain))
