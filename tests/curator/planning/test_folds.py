"""Who plays which part, and the public models of each fold."""

import numpy as np
import pytest

from privet.curator.planning.folds import FoldModels, Part, make_folds, spread
from privet.curator.public_data import PublicData
from privet.curator.public_model.stacking import stacked
from privet.protocol.errors import InvalidPublicData
from privet.protocol.features import Classes, Range

CLASSES = Classes(name="y", classes=("a", "b"))


def public(rows: int = 300, seed: int = 0) -> PublicData:
    rng = np.random.default_rng(seed)
    X = rng.random((rows, 2))
    return PublicData(X, (rng.random(rows) < 0.1 + 0.8 * (X[:, 0] > 0.5)).astype(float))


def test_every_row_is_tested_once_and_never_in_two_parts() -> None:
    """In each fold the three parts are disjoint and make up all rows; each row is tested once."""
    folds = make_folds(CLASSES, public(103), seed=4)
    tested = np.concatenate([fold.test for fold in folds])
    np.testing.assert_array_equal(np.sort(tested), np.arange(103))
    for fold in folds:
        everyone = np.concatenate([fold.known, fold.holders, fold.test])
        np.testing.assert_array_equal(np.sort(everyone), np.arange(103))


def test_parts_have_like_labels() -> None:
    """A rare class is dealt evenly, so that every part has its share."""
    data = PublicData(np.zeros((100, 1)), np.r_[np.ones(10), np.zeros(90)])
    for fold in make_folds(CLASSES, data, seed=0):
        assert data.y[fold.test].sum() == 2
        assert data.y[fold.known].sum() == 4


@pytest.mark.parametrize(("holders", "records"), [(7, 20), (20, 20), (53, 20), (10**9, 3)])
def test_people_are_used_as_evenly_as_possible(holders: int, records: int) -> None:
    """Every record stands for the same number of holders, give or take one."""
    copies = spread(holders, records, np.random.default_rng(0))
    assert copies.sum() == holders
    assert set(copies.tolist()) <= {holders // records, holders // records + 1}


def test_public_models_are_the_curators_own_stack() -> None:
    """The public model of a part is nearly the stack that a fit would start from."""
    data = public(100)
    models = FoldModels(data, 2, make_folds(CLASSES, data, 0))
    most = models.rows(0, Part.MOST)
    expected = stacked(most.X, most.y, 2)
    weights = models.model(0, Part.MOST).weights
    assert sum(weights) == pytest.approx(1.0) == sum(expected.weights)
    assert len(models.rows(0, Part.HALF)) == len(models.rows(0, Part.KNOWN)) / 2
    fresh = public(2000, 2)
    wrong = [
        (model.predict(fresh.X).argmax(axis=1) != fresh.y).mean()
        for model in (models.model(0, Part.MOST), expected)
    ]
    assert abs(wrong[0] - wrong[1]) < 0.05
    assert models.model(0, Part.KNOWN) is models.model(0, Part.KNOWN)


def test_too_few_records_are_refused() -> None:
    """Fewer records than parts can be made of are refused with what to do."""
    with pytest.raises(InvalidPublicData, match="at least 20"):
        make_folds(Range(name="y", low=0.0, high=1.0), public(19), 0)
    rare = PublicData(np.zeros((100, 1)), np.r_[np.ones(4), np.zeros(96)])
    with pytest.raises(InvalidPublicData, match="two classes"):
        make_folds(CLASSES, rare, 0)
