"""The default estimator, and averaging from counts alone: what they must never and always do."""

import numpy as np
import pytest

from privet.learning.estimators import DEFAULT_ESTIMATOR, ESTIMATORS, Model, QuestionCounts, fit
from privet.learning.partitions import GROWERS
from privet.learning.public_data import PublicData
from privet.learning.public_model.base import BaseModel, Linear
from privet.learning.trees import locate
from privet.protocol.features import Classes, Range
from privet.protocol.mechanisms import create_mechanism
from privet.protocol.partition import Partition
from tests.learning.estimators.examples import (
    BINARY,
    NUMBER,
    THREE,
    complete,
    public_rows,
    reports,
)

LABELS: dict[str, Classes | Range] = {"binary": BINARY, "three": THREE, "number": NUMBER}


def grown(label: Classes | Range, public: PublicData, depth: int) -> Partition:
    return GROWERS["distilled"](
        public.X,
        public.y,
        depth=depth,
        classes=label.slots if isinstance(label, Classes) else 0,
        min_leaf=1,
        rng=np.random.default_rng(0),
    )


def population(
    tree: Partition, X: np.ndarray, p: np.ndarray, epsilon: float, seed: int
) -> QuestionCounts:
    """Reports of holders at X with class probabilities p, ``(rows, slots)``."""
    rng = np.random.default_rng(seed)
    slots = p.shape[1]
    y = (rng.random(len(X))[:, None] > np.cumsum(p, axis=1)).sum(axis=1).clip(max=slots - 1)
    counts = np.bincount(locate(tree, X) * slots + y, minlength=tree.cells * slots)
    return reports(tree, counts.reshape(tree.cells, slots), epsilon, seed)


def test_drift_is_the_default() -> None:
    """What is used when nobody chooses is in the catalogue."""
    assert DEFAULT_ESTIMATOR == "drift"
    assert DEFAULT_ESTIMATOR in ESTIMATORS


@pytest.mark.parametrize("name", LABELS)
@pytest.mark.parametrize("estimator", ["drift", "averaged"])
def test_every_label_gets_possible_values(name: str, estimator: str) -> None:
    """Two classes, three, and numbers: values, errors, shares and influence are all possible."""
    label = LABELS[name]
    public = public_rows(label, 60, seed=1)
    tree = grown(label, public, 3)
    truth = np.random.default_rng(2).integers(50, 300, size=(tree.cells, label.slots))
    question = reports(tree, truth, 1.0, seed=3, regression=isinstance(label, Range))
    model = fit(estimator, label, public, [question])
    found = model.predict(np.random.default_rng(4).random((200, 2)))
    least, most = (label.low, label.high) if isinstance(label, Range) else (0.0, 1.0)
    for array in (model.values, model.low, model.high, found.values, found.low, found.high):
        assert ((array >= least - 1e-12) & (array <= most + 1e-12)).all()
    assert (model.standard_error > 0).all()
    assert ((model.public_share >= 0) & (model.public_share <= 1)).all()
    assert (model.influence > 0).all()
    if isinstance(label, Classes):
        np.testing.assert_allclose(model.values.sum(axis=1), 1.0)


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


def test_reports_of_another_population_overrule_the_public_model() -> None:
    """Where holders are the opposite of the public, and many, they are followed."""
    public = public_rows(BINARY, 200, seed=7)
    tree = grown(BINARY, public, 5)
    X = np.random.default_rng(8).random((400_000, 2))
    p = 0.8 - 0.6 * X[:, 0]
    question = population(tree, X, np.stack([1 - p, p], axis=1), 2.0, seed=9)
    for estimator in ("drift", "averaged"):
        model = fit(estimator, BINARY, public, [question])
        right = (model.predict(X).values[:, 1] > 0.5) == (p > 0.5)
        assert right.mean() > 0.85
    assert fit("drift", BINARY, public, [question]).public_share.mean() < 0.3


def test_a_cell_that_moves_far_takes_all_its_records_along() -> None:
    """A correction of the cell's mean alone would leave records that f_Q is sure of where they are.

    f_Q falls from .95 to .05 within the one cell, four fifths of whose holders have the label.
    """
    public = public_rows(BINARY, 200, seed=23)
    steep = Linear("softmax", np.array([[0.0, -6.0], [0.0, 0.0]]), np.array([0.0, 3.0]))
    own = BaseModel("steep", (steep,), (1.0,))
    question = reports(complete(0), np.array([[20_000, 80_000]]), 4.0, seed=24)
    model = fit("drift", BINARY, public, [question], base=own)
    assert model.base_slope is not None
    assert 0.0 < model.base_slope[0, 1] < 1.0
    p = model.predict(np.array([[0.05, 0.5], [0.5, 0.5], [0.95, 0.5]])).values[:, 1]
    assert p[0] > p[1] > p[2] > 0.5


def test_a_public_model_that_reports_call_flat_is_flattened_within_cells() -> None:
    """Where no cell follows f_Q, records within cells do not either."""
    public, tree = public_rows(BINARY, 200, seed=25), complete(4)
    steep = Linear("softmax", np.array([[0.0, 4.0], [0.0, 4.0]]), np.array([0.0, -4.0]))
    question = reports(tree, np.tile([2000, 6000], (16, 1)), 4.0, seed=26)
    model = fit("drift", BINARY, public, [question], base=BaseModel("steep", (steep,), (1.0,)))
    assert model.base_slope is not None
    assert (model.base_slope < 0.2).all()


def test_a_public_model_that_reports_speak_against_gives_way_to_counts() -> None:
    """Where f_Q is noise, drift predicts nearly what ``averaged`` does; where right, it does not.

    Cells' shares are .15 and .85 in a chessboard that f_Q = 1/2 + small noise knows nothing of.
    """
    public, tree = public_rows(BINARY, 200, seed=20), complete(4)
    rng = np.random.default_rng(21)
    noise = rng.normal(0.0, 0.02, size=(2, 2))
    own = BaseModel("noise", (Linear("softmax", noise, np.zeros(2)),), (1.0,))
    ones = np.where(np.arange(tree.cells) % 2, 850, 150)
    question = reports(tree, np.stack([1000 - ones, ones], axis=1), 2.0, seed=22)
    drift = fit("drift", BINARY, public, [question], base=own)
    averaged = fit("averaged", BINARY, public, [question])
    np.testing.assert_allclose(drift.values, averaged.values, atol=0.05)
    right = np.stack([1000 - ones, ones], axis=1) / 1000
    assert ((drift.values > 0.5) == (right > 0.5)).all()


def test_no_reports_give_the_public_model() -> None:
    """Before the first report the model predicts what the public model predicts."""
    public = public_rows(THREE, 60, seed=10)
    tree = grown(THREE, public, 3)
    mechanism = create_mechanism("subset", 1.0, tree.cells, 3)
    nothing = QuestionCounts(tree, mechanism, np.zeros(mechanism.sum_size, dtype=np.int64), 0)
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


def test_a_model_of_ones_own_can_be_the_base() -> None:
    """Any model in array form can stand in for the stacked one."""
    public = public_rows(BINARY, 60, seed=14)
    own = BaseModel("mine", (Linear("identity", np.zeros((2, 2)), np.array([0.3, 0.7])),), (1.0,))
    question = reports(complete(2), np.full((4, 2), 5), 0.1, seed=15)
    model = fit("drift", BINARY, public, [question], base=own)
    assert model.base is own
    assert model.base_values is not None
    np.testing.assert_allclose(model.base_values, np.tile([0.3, 0.7], (4, 1)), atol=0.005)


def test_documents_of_drift_models_predict_the_same() -> None:
    """The public model travels inside the document."""
    public = public_rows(NUMBER, 60, seed=16)
    tree = grown(NUMBER, public, 3)
    question = reports(tree, np.full((tree.cells, 2), 100), 1.0, seed=17, regression=True)
    model = fit("drift", NUMBER, public, [question])
    again = Model.from_document(model.to_document())
    X = np.random.default_rng(18).random((300, 2))
    np.testing.assert_array_equal(again.predict(X).values, model.predict(X).values)


@pytest.mark.parametrize("estimator", ["drift", "averaged"])
def test_one_report_moves_a_value_no_further_than_stated(estimator: str) -> None:
    """One report more, of any kind, stays within `influence_of(1)`."""
    public = public_rows(BINARY, 100, seed=19)
    tree = complete(3)
    question = reports(tree, np.full((8, 2), 2000), 1.0, seed=20)
    model = fit(estimator, BINARY, public, [question])
    assert furthest_moved(estimator, public, question, model) <= 1.0


def furthest_moved(
    estimator: str,
    public: PublicData,
    question: QuestionCounts,
    model: Model,
    base: BaseModel | None = None,
) -> float:
    """The most that one report more changes a value, as a multiple of what the model states."""
    rng, mechanism, worst = np.random.default_rng(21), question.mechanism, 0.0
    for category in range(mechanism.cells * mechanism.slots):
        payload = np.frombuffer(mechanism.privatize(category, rng.bytes), dtype=np.uint8)
        sums = question.sums + mechanism.accumulate(payload[None, :])
        again = QuestionCounts(question.partition, mechanism, sums, question.n + 1)
        moved = np.abs(fit(estimator, BINARY, public, [again], base).values - model.values)
        worst = max(worst, float((moved / (model.influence_of(1) + 1e-6)).max()))
    return worst


@pytest.mark.parametrize("seed", range(4))
def test_one_report_that_tips_even_odds_is_counted_with(seed: int) -> None:
    """Where few reports weigh a poor public model against public counts, on either side of even."""
    public, tree, lean = public_rows(BINARY, 100, seed=19), complete(3), np.linspace(0.3, 0.7, 8)
    poor = BaseModel("poor", (Linear("identity", np.zeros((2, 2)), np.array([0.45, 0.55])),), (1,))
    counts = np.round(50 * np.stack([1.0 - lean, lean], axis=1))
    question = reports(tree, counts, 2.0, seed)
    model = fit("drift", BINARY, public, [question], base=poor)
    assert furthest_moved("drift", public, question, model, poor) <= 1.0
