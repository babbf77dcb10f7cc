"""Public models as arrays say what scikit-learn's fitted models say."""

from collections.abc import Callable
from dataclasses import replace
from functools import cache, partial

import numpy as np
import pytest

from privet.learning.core import public_model
from privet.learning.core.public_model import BaseModel, Trees, mixture
from privet.learning.drift.candidates import as_arrays, candidates
from privet.learning.drift.stacking import quietly
from privet.protocol.errors import InvalidRequest
from privet.protocol.features import Range

from ..examples import LABELS, public_rows

TOLERANCE = 1e-5
"""Leaf values are kept in single precision."""


Predict = Callable[[np.ndarray], np.ndarray]


@cache
def fitted_pairs(name: str, absent: bool = False) -> list[tuple[Predict, BaseModel]]:
    """scikit-learn's own predictions of every candidate, and its arrays; ``absent``: class 1."""
    label = LABELS[name]
    slots = 0 if isinstance(label, Range) else label.slots
    public = public_rows(label, 150, seed=1, columns=3)
    X, y = public.X.astype(np.float32).astype(float), public.y
    if absent:
        X, y = X[y != 1], y[y != 1]
    members = candidates(len(X), 3, slots)
    with quietly():
        fitted = [(member, member.make(20).fit(X, y)) for member in members]
    return [
        (partial(member.predict, model), as_arrays(member, model, slots))
        for member, model in fitted
    ]


@pytest.mark.parametrize("name", LABELS)
def test_arrays_predict_what_scikit_learn_predicts(name: str) -> None:
    """Forests, sharp ones, boosting and linear models, for two classes, three, and numbers."""
    X = np.random.default_rng(2).random((500, 3)).astype(np.float32).astype(float)
    for predict, arrays in fitted_pairs(name):
        np.testing.assert_allclose(arrays.predict(X), predict(X), atol=TOLERANCE)


def test_a_class_never_seen_has_no_probability() -> None:
    """A model fitted without one of three classes gives it probability 0."""
    X = np.random.default_rng(3).random((50, 3)).astype(np.float32).astype(float)
    for predict, arrays in fitted_pairs("three", absent=True):
        found = arrays.predict(X)
        np.testing.assert_allclose(found[:, 1], 0.0, atol=1e-12)
        np.testing.assert_allclose(found[:, [0, 2]], predict(X), atol=TOLERANCE)


@pytest.mark.parametrize("name", LABELS)
def test_a_mixture_is_the_weighted_sum(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of all rows at once, of none, and in blocks."""
    models = [arrays for _, arrays in fitted_pairs(name)]
    weights = np.random.default_rng(4).dirichlet(np.ones(len(models)))
    whole = mixture("all", models, weights.tolist())
    X = np.random.default_rng(5).random((100, 3))
    parts = sum(w * m.predict(X) for w, m in zip(weights, models, strict=True))
    np.testing.assert_allclose(whole.predict(X), parts, atol=TOLERANCE)
    assert whole.predict(X[:0]).shape == (0, parts.shape[1])
    at_once = whole.predict(X)
    monkeypatch.setattr(public_model, "BLOCK", 13)  # several threads
    np.testing.assert_allclose(whole.predict(X), at_once, rtol=1e-12)


@pytest.mark.parametrize("name", LABELS)
def test_compiled_trees_predict_the_same_to_the_last_bit(name: str) -> None:
    """At thresholds, beside them, at odd numbers and at missing ones."""
    trees = [part for _, model in fitted_pairs(name) for part in model.components]
    for part in trees:
        if isinstance(part, Trees):
            at = np.tile(part.threshold[:200], 3)
            beside = [np.nextafter(at, np.float32(end)) for end in (-np.inf, np.inf)]
            odd = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1e38], dtype=np.float32)
            values = np.concatenate([at, *beside, np.tile(odd, 20)])
            X = np.random.default_rng(6).choice(values, size=(3000, 3))
            np.testing.assert_array_equal(part.compiled(3).predict(X), part.predict(X))


def test_a_tree_with_a_column_or_node_that_is_not_there_is_not_compiled() -> None:
    """Compiled code would read beside the arrays, or never arrive."""
    [part] = fitted_pairs("binary")[0][1].components
    assert isinstance(part, Trees)
    part.compiled(3)
    with pytest.raises(InvalidRequest, match="too many"):
        part.compiled(2)
    second = int(part.roots[1])
    for side in ("left", "right"):
        for node in (0, second):
            nodes = getattr(part, side).copy()
            nodes[0] = node
            with pytest.raises(InvalidRequest, match="too many"):
                replace(part, **{side: nodes}).compiled(3)


@pytest.mark.parametrize(
    "spoil",
    [{"link": "exp"}, {"kind": "magic"}, {"arrays": {"offset": {"dtype": "|O", "shape": [1]}}}],
)
def test_a_damaged_document_is_refused(spoil: dict[str, object]) -> None:
    """Unknown links, kinds and array types are errors, and objects are never unpickled."""
    document = fitted_pairs("binary")[0][1].to_document()
    document["components"][0] |= spoil
    with pytest.raises((KeyError, ValueError)):
        BaseModel.from_document(document)
