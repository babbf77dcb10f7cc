"""Public models as plain arrays; private reports correct their predictions.

Every model is a weighted sum of components: sums of trees or linear maps, followed by a link, or an
ONNX graph that an admin uploaded. Components consist of arrays only: nothing is pickled, and any
language can read them. Columns are read in single precision, as scikit-learn's trees do; thresholds
are single-precision numbers, so "at most the threshold" has one meaning everywhere.
"""

import base64
import os
import zlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, fields
from functools import cached_property, lru_cache
from hashlib import sha256
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from privet.protocol.errors import InvalidRequest

from .public_data import Floats, Single
from .trees import Traversal

if TYPE_CHECKING:
    from .onnx import OnnxSession

Link = Literal["identity", "softmax"]
Int32 = NDArray[np.int32]
BLOCK = 1 << 16
"""Rows that a thread takes at a time."""


@dataclass(frozen=True, eq=False)
class Component(ABC):
    """A part of a public model: a ``link`` that is applied to raw scores, and arrays."""

    kind: ClassVar[str]
    copies: ClassVar[int]
    """Memory in use after a prediction, as a multiple of the arrays' size."""
    link: Link

    @property
    @abstractmethod
    def width(self) -> int:
        """S, the number of values per row."""

    @property
    def arrays(self) -> dict[str, NDArray[Any]]:
        """All arrays by name; with the link they are the component."""
        return {field.name: getattr(self, field.name) for field in fields(self)[1:]}

    @abstractmethod
    def predict(self, X: Single) -> Floats:
        """Predictions for single-precision rows ``(rows, columns)``, shape ``(rows, S)``."""


@dataclass(frozen=True, eq=False)
class Trees(Component):
    """A sum of binary trees: a row goes left where its column is at most the threshold.

    Parallel arrays over the nodes of all trees; ``left`` is -1 at leaves; ``roots`` holds each
    tree's first node; ``value`` has shape ``(nodes, S)``; ``offset``, ``(S,)``, is added. Raises
    ``InvalidRequest`` for a node that is not after its parent, in its tree, or has no column.
    """

    kind: ClassVar[str] = "trees"
    copies: ClassVar[int] = 2
    feature: Int32
    threshold: Single
    left: Int32
    right: Int32
    value: Single
    roots: Int32
    offset: Floats

    def __post_init__(self) -> None:
        ends = np.append(self.roots[1:], len(self.left))
        inner = self.left >= 0
        first, last = np.minimum(self.left, self.right), np.maximum(self.left, self.right)
        here = (np.arange(len(self.left)) < first) & (last < np.repeat(ends, ends - self.roots))
        if not (here & (self.feature >= 0))[inner].all():
            raise _damaged()

    def predict(self, X: Single) -> Floats:
        if X.shape[1] < self._columns:
            raise _damaged()
        return apply_link(self.link, self._traversal.sums(X) + self.offset)

    @cached_property
    def _columns(self) -> int:
        """The least number of columns that rows must have."""
        return int(self.feature[self.left >= 0].max(initial=-1)) + 1

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
        return len(self.offset)


@dataclass(frozen=True, eq=False)
class Linear(Component):
    """A linear map ``X @ coefficients + intercept``: shapes ``(columns, S)`` and ``(S,)``."""

    kind: ClassVar[str] = "linear"
    copies: ClassVar[int] = 2
    coefficients: Floats
    intercept: Floats

    def predict(self, X: Single) -> Floats:
        return apply_link(self.link, X.astype(np.float64) @ self.coefficients + self.intercept)

    @property
    def width(self) -> int:
        return len(self.intercept)


@dataclass(frozen=True, eq=False)
class OnnxModel(Component):
    """An ONNX graph from encoded columns ``(rows, columns)`` to scores ``(rows, S)``.

    ``model`` holds the bytes of its file; ``shape`` the number of columns and S, the number of
    classes, or 1 for a number. See ``onnx`` for what is checked before and while it runs.
    """

    kind: ClassVar[str] = "onnx"
    copies: ClassVar[int] = 10  # a session over a forest of 62 MB takes 510 MB
    model: NDArray[np.uint8]
    shape: Int32

    def predict(self, X: Single) -> Floats:
        """Probabilities or numbers for rows ``(rows, columns)``, shape ``(rows, S)``.

        Raises ``InvalidPublicData`` where the graph fails or its scores are not probabilities.
        """
        return self.session.predict(X, self.width)

    @property
    def width(self) -> int:
        return int(self.shape[1])

    @property
    def data(self) -> bytes:
        """The file's bytes."""
        return self.model.tobytes()

    @cached_property
    def session(self) -> "OnnxSession":
        """The graph, ready to run."""
        from .onnx import open_session  # slow, and seldom needed

        return open_session(self.data)

    def __reduce__(self) -> tuple[Any, ...]:  # a session cannot be pickled
        return OnnxModel, (self.link, self.model, self.shape)


KINDS: dict[str, Callable[..., Component]] = {
    kind.kind: kind for kind in (Trees, Linear, OnnxModel)
}


@dataclass(frozen=True, eq=False)
class BaseModel:
    """A weighted sum of components; ``name`` is shown to people."""

    name: str
    components: tuple[Component, ...]
    weights: tuple[float, ...]

    def predict(self, X: Floats) -> Floats:
        """Predictions for encoded rows ``(rows, columns)``, shape ``(rows, S)``.

        A block of many rows is one thread's, of as many as there are processors.
        """
        if len(X) <= BLOCK:
            return self._sum(X)
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            blocks = (X[start : start + BLOCK] for start in range(0, len(X), BLOCK))
            return np.concatenate(list(pool.map(self._sum, blocks)))

    def _sum(self, X: Floats) -> Floats:
        single, total = X.astype(np.float32), np.zeros((len(X), self.width))
        for weight, component in zip(self.weights, self.components, strict=True):
            total += weight * component.predict(single)
        return total

    @property
    def width(self) -> int:
        """S, the number of values per row."""
        return self.components[0].width

    @property
    def nbytes(self) -> int:
        """Approximate bytes of memory, including what a prediction caches."""
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
        """The model of a document.

        Raises ``KeyError`` or ``ValueError`` if it is none, ``InvalidRequest`` for damaged trees.
        """
        return cls(
            name=str(document["name"]),
            weights=tuple(float(weight) for weight in document["weights"]),
            components=tuple(_read(component) for component in document["components"]),
        )


@lru_cache(maxsize=4)
def from_onnx(data: bytes, columns: int, slots: int) -> BaseModel:
    """The public model of an ONNX file; ``slots`` is the number of classes, or 0 for a number.

    The last few are kept, so that equal bytes share one session.
    """
    shape = np.array([columns, max(slots, 1)], dtype=np.int32)
    component = OnnxModel("identity", np.frombuffer(data, dtype=np.uint8), shape)
    return BaseModel(f"uploaded ONNX, SHA-256 {sha256(data).hexdigest()}", (component,), (1.0,))


def mixture(name: str, models: Sequence[BaseModel], weights: Sequence[float]) -> BaseModel:
    """The weighted sum of several models as one; those of weight 0 are left out."""
    parts = [
        (weight * inner_weight, component)
        for model, weight in zip(models, weights, strict=True)
        for inner_weight, component in zip(model.weights, model.components, strict=True)
        if weight > 0.0
    ]
    return BaseModel(name, tuple(c for _, c in parts), tuple(w for w, _ in parts))


def apply_link(link: Link, raw: Floats) -> Floats:
    """Raw scores ``(rows, S)`` as predictions: as they are, or as probabilities by softmax."""
    from scipy.special import softmax  # slow to import

    return raw if link == "identity" else np.asarray(softmax(raw, axis=1))


def _damaged() -> InvalidRequest:
    return InvalidRequest("The public model is damaged: a tree has a column or node too many.")


def _read(document: Mapping[str, Any]) -> Component:
    arrays = {name: _unpack(packed) for name, packed in document["arrays"].items()}
    if document["link"] not in ("identity", "softmax"):
        raise ValueError(f"unknown link {document['link']!r}")
    return KINDS[document["kind"]](link=document["link"], **arrays)


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
