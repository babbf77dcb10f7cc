"""A public model as plain arrays: what predictions start from before private reports correct them.

Strategy: every model is a weighted sum of components. Those that can be chosen are sums of trees or
linear maps, followed by a link; a model that was brought along is an ONNX graph. Their arrays are
all there is: nothing is pickled and any language can read them. Columns are read in single
precision, as scikit-learn's trees do; thresholds are single-precision numbers, so "at most the
threshold" has one meaning everywhere.
"""

import base64
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from privet.curator.public_data import Floats
from privet.curator.trees import Traversal

Link = Literal["identity", "softmax"]
Single = NDArray[np.float32]
Int32 = NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class Trees:
    """A sum of binary trees: a row goes left where its column is at most the threshold.

    Parallel arrays over the nodes of all trees; ``left`` is -1 at leaves; ``roots`` holds each
    tree's first node; ``value`` has shape ``(nodes, S)``; ``offset``, ``(S,)``, is added.
    """

    kind: ClassVar[str] = "trees"
    copies: ClassVar[int] = 2
    link: Link
    feature: Int32
    threshold: Single
    left: Int32
    right: Int32
    value: Single
    roots: Int32
    offset: Floats

    def predict(self, X: Single) -> Floats:
        """The linked sum for single-precision rows ``(rows, columns)``, shape ``(rows, S)``."""
        return apply_link(self.link, self._traversal.sums(X) + self.offset)

    @cached_property
    def _traversal(self) -> Traversal:
        return Traversal.of(
            np.less_equal,
            self.roots,
            self.feature,
            self.threshold,
            self.left,
            self.right,
            answer=self.value,
        )

    @property
    def width(self) -> int:
        """S, the number of values per row."""
        return len(self.offset)

    @property
    def arrays(self) -> dict[str, NDArray[Any]]:
        """All arrays by name."""
        names = ("feature", "threshold", "left", "right", "value", "roots", "offset")
        return {name: getattr(self, name) for name in names}


@dataclass(frozen=True, eq=False)
class Linear:
    """A linear map ``X @ coefficients + intercept``: shapes ``(columns, S)`` and ``(S,)``."""

    kind: ClassVar[str] = "linear"
    copies: ClassVar[int] = 2
    link: Link
    coefficients: Floats
    intercept: Floats

    def predict(self, X: Single) -> Floats:
        """The linked map for single-precision rows ``(rows, columns)``, shape ``(rows, S)``."""
        return apply_link(self.link, X.astype(np.float64) @ self.coefficients + self.intercept)

    @property
    def width(self) -> int:
        """S, the number of values per row."""
        return len(self.intercept)

    @property
    def arrays(self) -> dict[str, NDArray[Any]]:
        """All arrays by name."""
        return {"coefficients": self.coefficients, "intercept": self.intercept}


class Component(Protocol):
    """A part of a public model; one that was brought along is ``onnx_model.OnnxModel``."""

    kind: ClassVar[str]
    copies: ClassVar[int]
    """How many times the memory of its arrays it takes when it has predicted."""

    @property
    def link(self) -> Link:
        """What is applied to its sum."""
        ...

    @property
    def width(self) -> int:
        """S, the number of values per row."""
        ...

    @property
    def arrays(self) -> dict[str, NDArray[Any]]:
        """All arrays by name, from which it can be made again."""
        ...

    def predict(self, X: Single, /) -> Floats:
        """Predictions for single-precision rows ``(rows, columns)``, shape ``(rows, S)``."""
        ...


@dataclass(frozen=True, eq=False)
class BaseModel:
    """A weighted sum of components, named for its reader."""

    name: str
    components: tuple[Component, ...]
    weights: tuple[float, ...]

    def predict(self, X: Floats) -> Floats:
        """Predictions for encoded rows ``(rows, columns)``, shape ``(rows, S)``."""
        single = X.astype(np.float32)
        total = np.zeros((len(X), self.width))
        for weight, component in zip(self.weights, self.components, strict=True):
            total += weight * component.predict(single)
        return total

    @property
    def width(self) -> int:
        """S, the number of values per row."""
        return self.components[0].width

    @property
    def nbytes(self) -> int:
        """About how much memory it takes: arrays, and their copies in the order of descent."""
        return sum(
            part.copies * array.nbytes for part in self.components for array in part.arrays.values()
        )

    def to_document(self) -> dict[str, Any]:
        """The model as JSON values; arrays are compressed and in base64."""
        return {
            "name": self.name,
            "weights": list(self.weights),
            "components": [
                {
                    "kind": component.kind,
                    "link": component.link,
                    "arrays": {name: _pack(a) for name, a in component.arrays.items()},
                }
                for component in self.components
            ],
        }

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> "BaseModel":
        """The model of a document; raises ``KeyError`` or ``ValueError`` if it is none."""
        return cls(
            name=str(document["name"]),
            weights=tuple(float(weight) for weight in document["weights"]),
            components=tuple(_read(component) for component in document["components"]),
        )


def mixture(name: str, models: Sequence[BaseModel], weights: Sequence[float]) -> BaseModel:
    """The weighted sum of several models as one; those of weight 0 are left out."""
    parts = [
        (weight * own, component)
        for model, weight in zip(models, weights, strict=True)
        for own, component in zip(model.weights, model.components, strict=True)
        if weight > 0.0
    ]
    return BaseModel(name, tuple(c for _, c in parts), tuple(w for w, _ in parts))


def apply_link(link: Link, raw: Floats) -> Floats:
    """Raw scores ``(rows, S)`` as predictions: as they are, or as probabilities by softmax."""
    if link == "identity":
        return raw
    raised = np.exp(raw - raw.max(axis=1, keepdims=True))
    return np.asarray(raised / raised.sum(axis=1, keepdims=True))


def _read(document: Mapping[str, Any]) -> Component:
    arrays = {name: _unpack(packed) for name, packed in document["arrays"].items()}
    if document["link"] not in ("identity", "softmax"):
        raise ValueError(f"unknown link {document['link']!r}")
    return _kinds()[document["kind"]](link=document["link"], **arrays)


def _kinds() -> dict[str, Callable[..., Component]]:
    from privet.curator.public_model.onnx_model import (
        OnnxModel,
    )  # it is a component of this module's

    return {kind.kind: kind for kind in (Trees, Linear, OnnxModel)}


def _pack(array: NDArray[Any]) -> dict[str, Any]:
    little = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<"))
    return {
        "dtype": little.dtype.str,
        "shape": list(little.shape),
        "zlib": base64.b64encode(zlib.compress(little.tobytes())).decode(),
    }


def _unpack(packed: Mapping[str, Any]) -> NDArray[Any]:
    dtype = np.dtype(packed["dtype"])
    if dtype.str not in ("<f4", "<f8", "<i4", "|u1"):
        raise ValueError(f"unexpected array type {dtype.str!r}")
    data = zlib.decompress(base64.b64decode(packed["zlib"]))
    return np.frombuffer(data, dtype=dtype).reshape(packed["shape"])
