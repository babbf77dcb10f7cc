"""Public models as arrays say what scikit-learn's fitted models say."""

from collections.abc import Callable
from dataclasses import replace
from functools import cache, partial

import numpy as np
import pytest

from privet.learning.core import public_model
from privet.learning.core.public_model import BaseModel, Linear, Trees, apply_link, mixture
from privet.learning.public_model.candidates import as_arrays, candidates
from privet.learning.public_model.stacking import quietly
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
def test_sums_of_trees_are_those_of_following_pointers(name: str) -> None:
    """At thresholds, beside them, at odd numbers and at missing ones, which go right."""
    rng = np.random.default_rng(6)
    for part in (part for _, model in fitted_pairs(name) for part in model.components):
        if isinstance(part, Trees):
            at = part.threshold[:200]
            beside = [np.nextafter(at, np.float32(end)) for end in (-np.inf, np.inf)]
            odd = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1e38], dtype=np.float32)
            X = rng.choice(np.concatenate([at, *beside, np.tile(odd, 10)]), size=(40, 3))
            sums = np.array([followed(part, x) for x in X])
            expected = apply_link(part.link, sums + part.offset)
            np.testing.assert_allclose(part.predict(X), expected, rtol=1e-12, atol=1e-12)


def followed(part: Trees, x: np.ndarray) -> np.ndarray:
    """The sum of the values of the leaves at which a row arrives."""
    total = np.zeros(part.width)
    for root in part.roots:
        node = root
        while part.left[node] >= 0:
            is_left = x[part.feature[node]] <= part.threshold[node]
            node = part.left[node] if is_left else part.right[node]
        total += part.value[node]
    return total


def test_a_tree_with_a_column_or_node_that_is_not_there_is_refused() -> None:
    """Traversal would never arrive, or read another row; so also where a model is read."""
    model = fitted_pairs("binary")[0][1]
    [part] = model.components
    assert isinstance(part, Trees)
    with pytest.raises(InvalidRequest, match="too many"):
        part.predict(np.zeros((1, 2), dtype=np.float32))
    inner = int(np.flatnonzero(part.left >= 0)[0])
    feature = part.feature.copy()
    feature[inner] = -1
    with pytest.raises(InvalidRequest, match="too many"):
        replace(part, feature=feature)
    document, other = model.to_document(), model.to_document()
    for side in ("left", "right"):
        for node in (0, int(part.roots[1]), len(part.left), -1 if side == "right" else 0):
            nodes = getattr(part, side).copy()
            nodes[inner] = node
            with pytest.raises(InvalidRequest, match="too many"):
                replace(part, **{side: nodes})
            spoiled = Linear("identity", nodes[:, None], nodes)  # to pack it
            packed = BaseModel("", (spoiled,), (1.0,)).to_document()["components"][0]["arrays"]
            document["components"][0]["arrays"][side] = packed["intercept"]
            with pytest.raises(InvalidRequest, match="too many"):
                BaseModel.from_document(document)
        document = model.to_document()
    assert other == document


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
