"""A public model as plain arrays: what predictions start from before private reports correct them.

Strategy: every model that can be chosen is a weighted sum of components, and every component is a
sum of trees or a linear map, followed by a link. Their arrays are all there is: nothing is
pickled, any language can read them, and the numpy code below is the definition of what they mean.
Columns are read in single precision, as scikit-learn's trees do; thresholds are single-precision
numbers, so "at most the threshold" has one meaning everywhere.
"""

import base64
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from curator.estimation.evidence import Floats

Link = Literal["identity", "softmax"]
Single = NDArray[np.float32]
Int32 = NDArray[np.int32]
ROWS_AT_ONCE = 1 << 14


@dataclass(frozen=True, eq=False)
class Trees:
    """A sum of binary trees: a row goes left where its column is at most the threshold.

    Parallel arrays over the nodes of all trees; ``left`` is -1 at leaves; ``roots`` holds each
    tree's first node; ``value`` has shape ``(nodes, S)``; ``offset``, ``(S,)``, is added.
    """

    kind: ClassVar[str] = "trees"
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
        total = np.tile(self.offset, (len(X), 1))
        for root in self.roots:
            total += self.value[self._leaf(X, int(root))]
        return apply_link(self.link, total)

    def _leaf(self, X: Single, root: int) -> Int32:
        node = np.full(len(X), root, dtype=np.int32)
        active = np.arange(len(X)) if self.left[root] >= 0 else np.empty(0, dtype=np.int64)
        while active.size:
            at = node[active]
            goes_left = X[active, self.feature[at]] <= self.threshold[at]
            node[active] = np.where(goes_left, self.left[at], self.right[at])
            active = active[self.left[node[active]] >= 0]
        return node

    @property
    def arrays(self) -> dict[str, NDArray[Any]]:
        """All arrays by name."""
        names = ("feature", "threshold", "left", "right", "value", "roots", "offset")
        return {name: getattr(self, name) for name in names}


@dataclass(frozen=True, eq=False)
class Linear:
    """A linear map ``X @ coefficients + intercept``: shapes ``(columns, S)`` and ``(S,)``."""

    kind: ClassVar[str] = "linear"
    link: Link
    coefficients: Floats
    intercept: Floats

    def predict(self, X: Single) -> Floats:
        """The linked map for single-precision rows ``(rows, columns)``, shape ``(rows, S)``."""
        return apply_link(self.link, X.astype(np.float64) @ self.coefficients + self.intercept)

    @property
    def arrays(self) -> dict[str, NDArray[Any]]:
        """All arrays by name."""
        return {"coefficients": self.coefficients, "intercept": self.intercept}


Component = Trees | Linear
KINDS: dict[str, type[Trees] | type[Linear]] = {"trees": Trees, "linear": Linear}


@dataclass(frozen=True, eq=False)
class BaseModel:
    """A weighted sum of components, named for its reader."""

    name: str
    components: tuple[Component, ...]
    weights: tuple[float, ...]
    _kept: dict[str, Any] = field(default_factory=dict, init=False, repr=False)

    def predict(self, X: Floats) -> Floats:
        """Predictions for encoded rows ``(rows, columns)``, shape ``(rows, S)``.

        onnxruntime evaluates them, in single precision; ``define`` says what they mean.
        """
        if not len(X):
            return np.zeros((0, self.width))
        chunks = np.array_split(X, -(-len(X) // ROWS_AT_ONCE))
        run = self._session(X.shape[1]).run
        said = [run(None, {"X": chunk.astype(np.float32)})[0] for chunk in chunks]
        return np.concatenate(said).astype(np.float64)

    def define(self, X: Floats) -> Floats:
        """The same predictions by plain numpy, slow and obvious."""
        single = X.astype(np.float32)
        parts = [w * c.predict(single) for w, c in zip(self.weights, self.components, strict=True)]
        return np.asarray(np.sum(parts, axis=0))

    @property
    def width(self) -> int:
        """S, the number of values per row."""
        first = self.components[0]
        return len(first.offset if isinstance(first, Trees) else first.intercept)

    def _session(self, columns: int) -> Any:
        if "session" not in self._kept:
            from onnxruntime import InferenceSession

            from curator.estimation.public.graph import base_graph  # it imports this file

            self._kept["session"] = InferenceSession(
                base_graph(self, columns, self.width), providers=["CPUExecutionProvider"]
            )
        return self._kept["session"]

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
    if dtype.str not in ("<f4", "<f8", "<i4"):
        raise ValueError(f"unexpected array type {dtype.str!r}")
    data = zlib.decompress(base64.b64decode(packed["zlib"]))
    return np.frombuffer(data, dtype=dtype).reshape(packed["shape"])
