"""A fitted model: a value per cell, with its interval and public share."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import TypeAdapter, ValidationError

from privet.protocol.errors import InvalidRequest
from privet.protocol.features import Classes, Label, Range
from privet.protocol.partition import Index, Partition, Tree

from .counts import QuestionCounts
from .labels import kind_of
from .public_data import Floats
from .public_model import BaseModel
from .trees import locate

Value = float | int | str | bool
FORMAT = "privet-model-1"
CELL_ARRAYS = ("values", "standard_error", "low", "high", "public_share")
OPTIONAL_ARRAYS = ("base_values", "base_slope", "values_without_reports", "public_base_values")

_LABEL: TypeAdapter[Label] = TypeAdapter(Label)


@dataclass(frozen=True, eq=False)
class Predictions:
    """A model's predictions for ``rows`` records, computed when they are first asked for.

    ``values`` has shape ``(rows, S)``: class probabilities, or for a numeric label (S = 1) its mean
    in the label's units. ``cells`` has shape ``(rows,)``; ``scores``, ``(rows, S)``, are the public
    model's, or None if the predictions do not use it.
    """

    model: "Model"
    cells: Index
    scores: Floats | None

    @cached_property
    def values(self) -> Floats:
        """Probabilities or means, clipped to their bounds and normalised."""
        values = self.of_cells(self.model.values)
        if self.scores is None or self.model.base_values is None:
            return values
        within = self.scores - self.of_cells(self.model.base_values)
        if self.model.base_slope is not None:
            within *= self.of_cells(self.model.base_slope)
        values += within
        np.clip(values, *self.model.label.bounds, out=values)
        if isinstance(self.model.label, Classes):
            values /= np.maximum(values.sum(axis=1, keepdims=True), 1e-300)
        return values

    def of_cells(self, table: Floats) -> Floats:
        """The entries ``(rows, S)`` of a table of cells, ``(K, S)``, for the rows' cells."""
        return table.take(self.cells, axis=0)

    def as_columns(self) -> dict[str, list[Any]]:
        """All that is said of each row, in JSON's types."""
        model = self.model
        tables = {
            "cell_value": model.values,
            "cell_low": model.low,
            "cell_high": model.high,
        }
        return {
            "label": self.labels(model.label).tolist(),
            "values": self.values.tolist(),
            **{name: self.of_cells(table).tolist() for name, table in tables.items()},
            "cell": self.cells.tolist(),
        }

    def labels(self, label: Label) -> NDArray[Any]:
        """The most probable class of each row by name (the first of equals), or the mean label."""
        if isinstance(label, Range):
            return np.asarray(self.values[:, 0])
        names: NDArray[Any] = np.array(label.classes)
        if self.scores is None:
            return np.asarray(names[self.model.values.argmax(axis=1)].take(self.cells))
        return np.asarray(names[self.values.argmax(axis=1)])


@dataclass(frozen=True, eq=False)
class Model:
    """An immutable snapshot that predicts.

    For K cells and S values per cell (the classes' probabilities; S = 1 for the mean of a numeric
    label, in its units):

    - ``values``, ``standard_error``, ``low``, ``high``: ``(K, S)``, the shares of classes among a
      cell's holders, or their mean label, with the ends of a 95 % interval;
    - ``public_share``: ``(K,)``, the fraction of the value that came from public data;
    - ``n``: how many reports it was fitted from, used or not; ``facts``: what else the estimator
      states;
    - ``optimism``: by how many reports each score of its cells is too good, since it was fitted to
      them, and the variance of that (``figures.scores``); None where it was not computed;
    - ``span``: maximum difference of two values of a cell, of numbers that were reported relative
      to a centre, whose intervals are all that is possible; None for others;
    - ``values_without_reports``: ``(K, S)``, what the same estimator gives without any report; None
      in documents of earlier versions;
    - ``selection``: by how many times the variance of cells' public shares exceeds the binomial one
      (``selection.selection_factor``);
    - ``base``: a public model f, if any, with its means per cell ``base_values``, ``(K, S)``: the
      prediction is ``values + base_slope * (f(x) - base_values)``; a ``base_slope``, ``(K, S)``,
      of None is 1;
    - ``public_base``, ``public_base_values``: the same without reports, where ``base`` was learned
      from some (``cell_learners``).
    """

    label: Label
    partition: Partition
    values: Floats
    standard_error: Floats
    low: Floats
    high: Floats
    public_share: Floats
    n: int
    estimator: str = ""
    parameters: Mapping[str, Value] = field(default_factory=dict)
    base: BaseModel | None = None
    base_values: Floats | None = None
    base_slope: Floats | None = None
    values_without_reports: Floats | None = None
    public_base: BaseModel | None = None
    public_base_values: Floats | None = None
    selection: float = 1.0
    facts: Mapping[str, Value] = field(default_factory=dict)
    span: float | None = None
    optimism: Mapping[str, tuple[float, float]] | None = None

    @property
    def states_cells(self) -> bool:
        """False of numbers that were reported relative to a centre: its cells are predictions."""
        return self.span is None

    def predict(self, X: Floats) -> Predictions:
        """Predictions for encoded rows ``(rows, columns)``."""
        scores = None if self.base is None else self.base.predict(X)
        return self.predict_from(locate(self.partition, X), scores)

    def predict_from(self, cells: Index, scores: Floats | None) -> Predictions:
        """Predictions for rows in these ``cells`` with the public model's ``scores``, if any."""
        return Predictions(self, cells, None if self.base_values is None else scores)

    def ranges(self, X: Floats) -> tuple[Floats, Floats] | None:
        """Least and greatest prediction for the encoded rows ``X`` in each cell, ``(K, S)`` each.

        NaN in a cell without rows; None if predictions do not differ within cells.
        """
        if self.base_values is None:
            return None
        predictions = self.predict(X)
        least, most = (np.full(self.values.shape, end) for end in (np.inf, -np.inf))
        np.minimum.at(least, predictions.cells, predictions.values)
        np.maximum.at(most, predictions.cells, predictions.values)
        empty = ~np.isfinite(least)
        return np.where(empty, np.nan, least), np.where(empty, np.nan, most)

    def without_reports(self) -> "Model":
        """The same estimator's model of no reports; only its values matter.

        Raises ``InvalidRequest`` for a document of an earlier version.
        """
        if self.values_without_reports is None:
            raise InvalidRequest(
                "This model was fitted by an earlier version, which did not keep what it would be "
                "without reports: fit again."
            )
        public = replace(self, values=self.values_without_reports, base_slope=None, n=0)
        if self.public_base is None:
            return public
        return replace(public, base=self.public_base, base_values=self.public_base_values)

    def to_document(self) -> dict[str, Any]:
        """The model as JSON values; ``from_document`` gives back one that predicts the same."""
        arrays = ((name, getattr(self, name)) for name in OPTIONAL_ARRAYS)
        return {
            "format": FORMAT,
            "label": self.label.model_dump(mode="json"),
            "partition": Tree.of(self.partition).model_dump(mode="json"),
            **{name: getattr(self, name).tolist() for name in CELL_ARRAYS},
            "estimator": self.estimator,
            "parameters": dict(self.parameters),
            "n": self.n,
            "base": None if self.base is None else self.base.to_document(),
            "public_base": None if self.public_base is None else self.public_base.to_document(),
            **{name: None if array is None else array.tolist() for name, array in arrays},
            "facts": dict(self.facts),
            "selection": self.selection,
            "span": self.span,
            "optimism": None if self.optimism is None else dict(self.optimism),
        }

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> "Model":
        """The model of a document; raises ``InvalidRequest`` for anything else."""
        if document.get("format") != FORMAT:
            raise InvalidRequest(f"The document is not a {FORMAT}: export the model again.")
        try:
            base, public, span = (document.get(key) for key in ("base", "public_base", "span"))
            optimism = document.get("optimism")
            arrays = {name: document[name] for name in CELL_ARRAYS}
            arrays |= {name: document.get(name) for name in OPTIONAL_ARRAYS if document.get(name)}
            return cls(
                label=_LABEL.validate_python(document["label"]),
                partition=Tree.model_validate(document["partition"]).partition(),
                **{name: np.array(array, dtype=np.float64) for name, array in arrays.items()},
                estimator=str(document["estimator"]),
                parameters=dict(document["parameters"]),
                n=int(document["n"]),
                base=None if base is None else BaseModel.from_document(base),
                public_base=None if public is None else BaseModel.from_document(public),
                facts=dict(document["facts"]),
                selection=float(document.get("selection", 1.0)),
                span=None if span is None else float(span),
                optimism=None if optimism is None else _pairs(optimism),
            )
        except (KeyError, TypeError, ValueError, ValidationError) as error:
            raise InvalidRequest(
                f"The model document is damaged ({error}): export it again."
            ) from error

    @property
    def widest(self) -> float:
        """The greatest distance of two values of a cell."""
        return self.label.span if self.span is None else self.span


def question_about(
    model: Model, questions: Sequence[QuestionCounts], *, centred: bool = False
) -> QuestionCounts | None:
    """The question about the label in the model's own cells, if anybody has answered it.

    That about a number has a ``scale``, as ``QuestionCounts.mean`` needs for what rounding adds.
    None of numbers around centres, of whose cells nothing is stated, unless ``centred`` are asked
    for too.
    """
    for question in questions:
        same = all(
            np.array_equal(getattr(question.partition, name), getattr(model.partition, name))
            for name in ("feature", "threshold", "left", "right")
        )
        if same and question.n and question.mechanism.slots > 1:
            return (
                None if question.centred and not centred else kind_of(model.label).scaled(question)
            )
    return None


def _pairs(of: Mapping[str, Sequence[float]]) -> dict[str, tuple[float, float]]:
    return {str(name): (float(first), float(second)) for name, (first, second) in of.items()}


@dataclass(frozen=True, eq=False)
class SlotEstimates:
    """Shares of slots, the form in which estimators find every label, each ``(cells, slots)``.

    ``public_share`` has shape ``(cells,)``; ``base_slope`` is a model's, 1 if None.
    """

    shares: Floats
    standard_error: Floats
    low: Floats
    high: Floats
    public_share: Floats
    base_slope: Floats | None = None


def to_model(
    label: Label,
    question: QuestionCounts,
    slots: SlotEstimates,
    *,
    n: int | None = None,
    base: BaseModel | None = None,
    base_values: Floats | None = None,
) -> Model:
    """The model with these shares: class probabilities as they are, numbers in the label's units.

    Intervals are widened where needed to contain their share. Numbers lie within the label's range
    and, if the question has a centring, within its radius of their cell's centre; then counts do
    not bound the means of labels, and intervals are all that is possible.
    """
    low, high = slots.low.clip(max=slots.shares), slots.high.clip(min=slots.shares)
    values, error = slots.shares, slots.standard_error
    base_slope = None if base_values is None else slots.base_slope
    span = None
    if isinstance(label, Range):
        scale = question.scale_of(label)
        span = min(scale.width, label.span) if scale.centred else None
        values, low, high = (scale.from_unit(ends[:, 1:]) for ends in (values, low, high))
        error = scale.width * error[:, 1:]
        if scale.centred:
            low, high = (np.full_like(values, end) for end in label.bounds)
        base_slope = None if base_slope is None else base_slope[:, 1:]
    return Model(
        label=label,
        partition=question.partition,
        values=values,
        standard_error=error,
        low=low,
        high=high,
        public_share=slots.public_share,
        n=question.n if n is None else n,
        base=base,
        base_values=base_values,
        base_slope=base_slope,
        span=span,
    )


@dataclass(frozen=True, eq=False)
class FittedModel:
    """A numbered model of a task, and when it was fitted (Unix seconds)."""

    task: str
    number: int
    created: float
    model: Model

    @cached_property
    def nbytes(self) -> int:
        """Approximate bytes of memory it takes once it has predicted."""
        cells = sum(getattr(self.model, name).nbytes for name in CELL_ARRAYS)
        bases = self.model.base, self.model.public_base
        return int(cells) + sum(base.nbytes for base in bases if base is not None)

    def to_document(self) -> dict[str, Any]:
        """The model as it is exported in JSON."""
        return {
            "task": self.task,
            "number": self.number,
            "created": self.created,
            "model": self.model.to_document(),
        }
