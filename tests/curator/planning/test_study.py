"""The planner's trials are honest: who judges never played."""

import numpy as np
import pytest

from privet.curator.partitioning import GROWERS
from privet.curator.planning.foreknowledge import Foreknowledge
from privet.curator.planning.losses import row_losses
from privet.curator.planning.outlook import Choice
from privet.curator.planning.rotations import Part, deal, spread
from privet.curator.planning.study import Study
from privet.curator.public_data import PublicData
from privet.curator.public_model.stacking import stacked
from privet.protocol.errors import InvalidPublicData
from privet.protocol.features import Classes, Range

CLASSES = Classes(name="y", classes=("a", "b"))
RANGE = Range(name="y", low=0.0, high=2.0)


def public(rows: int = 300, seed: int = 0) -> PublicData:
    rng = np.random.default_rng(seed)
    X = rng.random((rows, 2))
    return PublicData(X, (rng.random(rows) < 0.1 + 0.8 * (X[:, 0] > 0.5)).astype(float))


def test_every_row_judges_once_and_never_plays_as_well():
    """In each rotation the three parts are disjoint and make up all rows; each row judges once."""
    y = np.random.default_rng(1).integers(0, 2, 103).astype(float)
    rotations = deal(y, seed=4)
    judges = np.concatenate([rotation.judges for rotation in rotations])
    np.testing.assert_array_equal(np.sort(judges), np.arange(103))
    for r in rotations:
        everyone = np.concatenate([r.known, r.people, r.judges])
        np.testing.assert_array_equal(np.sort(everyone), np.arange(103))


def test_parts_have_like_labels():
    """A rare class is dealt evenly, so that every part has its share."""
    y = np.r_[np.ones(10), np.zeros(90)]
    for rotation in deal(y, seed=0):
        assert y[rotation.judges].sum() == 2
        assert y[rotation.known].sum() == 4


def test_judges_labels_change_nothing_but_the_judgement(monkeypatch):
    """Turning one rotation's judges' labels around leaves its partition and model as they were."""
    data = public()
    study = Study.of(CLASSES, data, "averaged", 0)
    rotation = study.rotations[0]
    y = data.y.copy()
    y[rotation.judges] = 1.0 - y[rotation.judges]
    other = PublicData(data.X, y)
    before = Foreknowledge(other, 2, study.rotations)
    turned = Study(CLASSES, other, "averaged", 0, study.rotations, before)
    choice = Choice("cart", 3, "subset")
    question, again = (s._collect(0, choice, 5000, 1.0) for s in (study, turned))
    np.testing.assert_array_equal(question.partition.threshold, again.partition.threshold)
    np.testing.assert_array_equal(question.sums, again.sums)
    loss, other = (s.losses(choice, 5000, 1.0).loss[rotation.judges] for s in (study, turned))
    np.testing.assert_array_equal(loss, 1.0 - other)


@pytest.mark.parametrize(("holders", "records"), [(7, 20), (20, 20), (53, 20), (10**9, 3)])
def test_people_are_used_as_evenly_as_possible(holders, records):
    """Every record stands for the same number of holders, give or take one."""
    copies = spread(holders, records, np.random.default_rng(0))
    assert copies.sum() == holders
    assert set(copies.tolist()) <= {holders // records, holders // records + 1}


@pytest.mark.parametrize("grower", ["max_edge", "cart"])
def test_trials_find_what_reports_teach(grower):
    """With a truthful mechanism the trial's loss nears the best possible, which is 0.1 here.

    300 judges: the standard error of the mean loss is 0.017; at 1e-6 it stays within 4.9 of them.
    """
    study = Study.of(CLASSES, public(), "private", 0)
    losses = study.losses(Choice(grower, 1, "subset"), 10**6, 8.0)
    assert abs(losses.loss.mean() - 0.1) < 4.9 * 0.0174
    assert study.losses(Choice(grower, 1, "subset"), 10, 0.05).loss.mean() > losses.loss.mean()


def test_trials_are_reproducible():
    """The same seed and arguments give the same losses, in whatever order they are asked for."""
    first, again = (Study.of(CLASSES, public(), "averaged", 3) for _ in range(2))
    a, b = Choice("cart", 2, "subset"), Choice("max_edge", 2, "laplace")
    one = [first.losses(c, 1000, 1.0).strict for c in (a, b)]
    two = [again.losses(c, 1000, 1.0).strict for c in (b, a)]
    np.testing.assert_array_equal(one, two[::-1])


@pytest.mark.parametrize("estimator", ["averaged", "drift"])
def test_numbers_are_judged_by_squared_error(estimator):
    """For a numeric label the loss is the squared error, and reports lower it."""
    rng = np.random.default_rng(5)
    X = rng.random((200, 2))
    data = PublicData(X, 2 * X[:, 0])
    study = Study.of(RANGE, data, estimator, 0)
    losses = study.losses(Choice("cart", 3, "subset"), 10**6, 4.0)
    assert losses.loss.mean() < 0.2 * data.y.var()


def test_numbers_are_centred_as_a_task_would_have_them():
    """Around the public model in its own cells, on the whole range elsewhere or where told so."""
    data = PublicData(public(60).X, 2 * public(60).X[:, 0])
    usual, never = (Study.of(RANGE, data, "drift", 0, centred=c) for c in (None, False))
    distilled, other = (Choice(grower, 2, "subset") for grower in ("distilled", "cart"))
    assert usual._collect(0, distilled, 1000, 2.0).scale.width < RANGE.high - RANGE.low
    assert usual._collect(0, other, 1000, 2.0).scale is None
    assert never._collect(0, distilled, 1000, 2.0).scale is None


def test_trials_say_how_few_people_play():
    """60 records deal 24 people; 2400 holders are a hundred of each, and 12 are all different."""
    study = Study.of(CLASSES, public(60), "averaged", 0)
    choice = Choice("cart", 1, "subset")
    assert study._collect(0, choice, 2400, 2.0).holders_per_record == 100.0
    assert study._collect(0, choice, 12, 2.0).holders_per_record == 1.0


def test_losses_of_classes():
    """The loss counts wrong classes; the strict loss is Brier's score."""
    values = np.array([[0.8, 0.2], [0.4, 0.6]])
    loss, strict = row_losses(CLASSES, values, np.array([0.0, 0.0]))
    np.testing.assert_allclose(loss, [0, 1])
    np.testing.assert_allclose(strict, [0.08, 0.72])


def test_public_models_are_the_curators_own_stack():
    """With as many trees the public model of a part is the stack that a fit would start from."""
    data = public(100)
    before = Foreknowledge(data, 2, deal(data.y, 0))
    most = before.rows(0, Part.MOST)
    expected = stacked(most.X, most.y, 2)
    weights = before.model(0, Part.MOST).weights
    assert sum(weights) == pytest.approx(1.0) == sum(expected.weights)
    assert len(before.rows(0, Part.HALF)) == len(before.rows(0, Part.KNOWN)) / 2
    fresh = public(2000, 2)
    lost = [
        row_losses(CLASSES, model.predict(fresh.X), fresh.y)[0].mean()
        for model in (before.model(0, Part.MOST), expected)
    ]
    assert abs(lost[0] - lost[1]) < 0.05


def test_public_models_are_fitted_once():
    """Trials of all choices share one public model per rotation and part."""
    study = Study.of(CLASSES, public(60), "drift", 0)
    for depth in (1, 2):
        study.losses(Choice("distilled", depth, "subset"), 100, 1.0)
    assert study.before.model(0, Part.KNOWN) is study.before.model(0, Part.KNOWN)
    assert set(study.before._models) == {(number, Part.KNOWN) for number in range(5)}


def test_every_grower_can_be_tried():
    """A study grows with every grower there is."""
    study = Study.of(CLASSES, public(60), "averaged", 0)
    for grower in GROWERS:
        assert 1 <= study.partition(0, grower, 2).cells <= 4


def test_too_few_records_are_refused():
    """Fewer records than parts can be made of are refused with what to do."""
    with pytest.raises(InvalidPublicData, match="at least 20"):
        Study.of(CLASSES, public(19), "averaged", 0)
    rare = PublicData(np.zeros((100, 1)), np.r_[np.ones(4), np.zeros(96)])
    with pytest.raises(InvalidPublicData, match="two classes"):
        Study.of(CLASSES, rare, "averaged", 0)
