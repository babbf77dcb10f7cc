"""A model's document, predictions and limits."""

import json
from dataclasses import replace

import numpy as np
import pytest

from privet.learning.core.model import FittedModel, Model
from privet.learning.methods import fit
from privet.protocol.errors import InvalidRequest
from privet.protocol.features import Classes, Range
from privet.protocol.label_scale import Centring, LabelScale

from ..examples import BINARY, LABELS, NUMBER, THREE, complete, public_rows, reports


def fitted(label: Classes | Range, *, based: bool = False) -> Model:
    """A model of counts alone, or one that is ``based`` on a public model."""
    truth = np.random.default_rng(1).integers(10, 90, size=(8, label.slots))
    question = reports(complete(3), truth, 2.0, seed=2, regression=isinstance(label, Range))
    if isinstance(label, Range):
        centring = Centring(centres=(1.0,) * 8, radius=1.5)
        question = replace(question, scale=LabelScale.of(label, 8, centring))
    public = public_rows(label, 60, seed=3)
    if based:
        return fit("drift", label, public, [question])
    return fit("weighted", label, public, [question], weight=2.0)


@pytest.mark.parametrize("label", LABELS)
@pytest.mark.parametrize("based", [False, True])
def test_document_round_trip_keeps_predictions(label: str, based: bool) -> None:
    """A model that went through JSON predicts exactly the same."""
    model = fitted(LABELS[label], based=based)
    again = Model.from_document(json.loads(json.dumps(model.to_document())))
    X = np.random.default_rng(5).random((200, 2))
    before, after = model.predict(X), again.predict(X)
    for name in ("values", "cells"):
        np.testing.assert_array_equal(getattr(before, name), getattr(after, name))
    np.testing.assert_array_equal(before.labels(model.label), after.labels(again.label))
    for name in ("estimator", "parameters", "n", "facts", "span"):
        assert getattr(again, name) == getattr(model, name)
    for name in ("low", "high"):
        np.testing.assert_array_equal(getattr(again, name), getattr(model, name))
    held = [FittedModel("task", 1, 0.0, fitted_model).nbytes for fitted_model in (model, again)]
    assert held[0] == held[1] > (10**3 if based else 10**2)  # bytes, of a stack or a table


def test_a_stored_model_may_have_an_influence() -> None:
    """Models of earlier versions keep one in their documents, and are read without it."""
    model = fitted(THREE, based=False)
    document = model.to_document()
    assert "influence" not in document
    again = Model.from_document({**document, "influence": model.values.tolist()})
    assert again.to_document() == document


@pytest.mark.parametrize("name", LABELS)
@pytest.mark.parametrize("based", [False, True])
def test_values_are_possible_and_in_their_cells_intervals(name: str, based: bool) -> None:
    """Probabilities add up to 1, numbers stay in the published range, intervals hold the cell's."""
    label = LABELS[name]
    model = fitted(label, based=based)
    found = model.predict(np.random.default_rng(6).random((300, 2)))
    least, most = (label.low, label.high) if isinstance(label, Range) else (0.0, 1.0)
    for array in (found.values, model.low, model.high):
        assert (array >= least).all()
        assert (array <= most).all()
    assert (model.low <= model.values).all()
    assert (model.values <= model.high).all()
    if isinstance(label, Classes):
        np.testing.assert_allclose(found.values.sum(axis=1), 1.0)
    assert (model.standard_error > 0.0).all()
    assert ((model.public_share >= 0.0) & (model.public_share <= 1.0)).all()


@pytest.mark.parametrize("based", [False, True])
def test_labels_name_the_likeliest_class(based: bool) -> None:
    """Classes are named, the first of equals; numbers are numbers."""
    model = fitted(THREE, based=based)
    found = model.predict(np.random.default_rng(8).random((200, 2)))
    likeliest = [THREE.classes[place] for place in found.values.argmax(axis=1)]
    assert found.labels(THREE).tolist() == likeliest
    number = fitted(NUMBER, based=based).predict(np.random.default_rng(8).random((20, 2)))
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


def test_older_documents_have_no_span() -> None:
    """They were of numbers on the whole range."""
    document = fitted(NUMBER).to_document()
    assert document.pop("span") == 3.0
    assert Model.from_document(document).span is None


def test_ranges_are_those_of_the_predictions_in_each_cell() -> None:
    """Every prediction lies within its cell's range, and both ends are some record's.

    A cell without records has none, and so has a model that predicts the same all over a cell.
    """
    model, X = fitted(BINARY, based=True), np.random.default_rng(7).random((300, 2))
    X = X[X[:, 0] < 0.75]
    found, ranges = model.predict(X), model.ranges(X)
    assert ranges is not None
    for cell in range(8):
        inside = found.values[found.cells == cell]
        for ends, of in zip(ranges, (np.min, np.max), strict=True):
            expected = of(inside, axis=0) if len(inside) else np.full(2, np.nan)
            np.testing.assert_array_equal(ends[cell], expected)
    assert np.isnan(ranges[0]).any()
    assert (ranges[1] - ranges[0] > 0.01).any()
    assert fitted(BINARY).ranges(X) is None
