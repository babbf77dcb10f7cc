"""A model's document, predictions and limits."""

import json

import numpy as np
import pytest

from privet.learning.estimators import Model, fit
from privet.learning.public_model.base import BaseModel, Linear
from privet.protocol.errors import InvalidRequest
from privet.protocol.features import Classes, Range
from tests.learning.estimators.examples import (
    BINARY,
    NUMBER,
    THREE,
    complete,
    public_rows,
    reports,
)

LABELS: dict[str, Classes | Range] = {"binary": BINARY, "three": THREE, "number": NUMBER}


def fitted(label: Classes | Range) -> Model:
    truth = np.random.default_rng(1).integers(10, 90, size=(8, label.slots))
    question = reports(complete(3), truth, 2.0, seed=2, regression=isinstance(label, Range))
    return fit("weighted", label, public_rows(label, 60, seed=3), [question], weight=2.0)


def with_base(model: Model) -> Model:
    """The same model on top of a linear public one."""
    width = model.values.shape[1]
    rng = np.random.default_rng(4)
    linear = Linear(
        "softmax" if width > 1 else "identity", rng.normal(size=(2, width)), np.ones(width)
    )
    base = BaseModel("linear", (linear,), (1.0,))
    tables = {"base_values": 0.4, "base_slope": 0.7}
    added = {name: np.full_like(model.values, value) for name, value in tables.items()}
    return Model(**{**vars(model), "base": base, **added})


@pytest.mark.parametrize("label", LABELS)
@pytest.mark.parametrize("based", [False, True])
def test_document_round_trip_keeps_predictions(label: str, based: bool) -> None:
    """A model that went through JSON predicts exactly the same."""
    model = with_base(fitted(LABELS[label])) if based else fitted(LABELS[label])
    again = Model.from_document(json.loads(json.dumps(model.to_document())))
    X = np.random.default_rng(5).random((200, 2))
    before, after = model.predict(X), again.predict(X)
    for name in ("values", "low", "high", "cells"):
        np.testing.assert_array_equal(getattr(before, name), getattr(after, name))
    np.testing.assert_array_equal(before.labels(model.label), after.labels(again.label))
    expected = ("weighted", {"weight": 2.0, "counts": "automatic"}, model.n)
    assert (again.estimator, again.parameters, again.n) == expected
    np.testing.assert_array_equal(again.influence_of(3), model.influence_of(3))


@pytest.mark.parametrize("name", LABELS)
@pytest.mark.parametrize("based", [False, True])
def test_predictions_are_possible_values_within_their_intervals(name: str, based: bool) -> None:
    """Probabilities add up to 1, numbers stay in the published range, intervals hold the value."""
    label = LABELS[name]
    model = with_base(fitted(label)) if based else fitted(label)
    found = model.predict(np.random.default_rng(6).random((300, 2)))
    least, most = (label.low, label.high) if isinstance(label, Range) else (0.0, 1.0)
    for array in (found.values, found.low, found.high):
        assert (array >= least).all()
        assert (array <= most).all()
    assert (found.low <= found.values).all()
    assert (found.values <= found.high).all()
    if isinstance(label, Classes):
        np.testing.assert_allclose(found.values.sum(axis=1), 1.0)


@pytest.mark.parametrize("based", [False, True])
def test_labels_name_the_likeliest_class(based: bool) -> None:
    """Classes are named, the first of equals; numbers are numbers."""
    model = with_base(fitted(THREE)) if based else fitted(THREE)
    found = model.predict(np.random.default_rng(8).random((200, 2)))
    likeliest = [THREE.classes[place] for place in found.values.argmax(axis=1)]
    assert found.labels(THREE).tolist() == likeliest
    number = with_base(fitted(NUMBER)).predict(np.random.default_rng(8).random((20, 2)))
    np.testing.assert_array_equal(number.labels(NUMBER), number.values[:, 0])


@pytest.mark.parametrize("spoil", [{"format": "other"}, {"values": "x"}, {"label": {}}])
def test_a_damaged_document_is_refused(spoil: dict[str, object]) -> None:
    """A document that is no model is an InvalidRequest, not another error."""
    document = fitted(BINARY).to_document() | spoil
    with pytest.raises(InvalidRequest, match="export"):
        Model.from_document(document)
    del document["values"]
    with pytest.raises(InvalidRequest):
        Model.from_document(document)
