"""Methods of experiments, and their scoring.

A method is a function of a split, ε and a seed that yields (published name, parameters, scores):
``score`` is accuracy, or mean squared error for numbers. ``Tuned`` makes one from an estimator and
a grid. Reported is the point whose mean over the replications is best: the papers choose with the
test data in hand, which no user can.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from baselines import LPCTClassifier
from baselines.base import Baseline
from baselines.trees import in_cube
from privet.learning.core.trees import locate
from privet.protocol.features import Range
from privet.protocol.partition import Partition
from reproduce.datasets import Floats, Split

LEAST_PROBABILITY = 0.001
"""Smallest probability in log loss, so that one record of which a model was certain does not decide
it."""
Point = dict[str, float | str]
Scores = dict[str, float]
Scored = tuple[str, Point, Scores]
Method = Callable[[Any, float, int], Iterator[Scored]]

FULL_GRID_DEPTH = 12
"""Above it only trees that stop where records run out: a full grid would have more cells than most
sets have records."""
DEPTHS = (1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16)
WEIGHTS = (0.1, 0.5, 1, 2, 5, 10, 50, 100, 200, 300, 400, 500, 750, 1000, 1250, 1500, 2000)


@dataclass(frozen=True)
class Tuned:
    """An estimator at every point of its grid; a function of the split may give the grid.

    ``private``: whether the estimator takes an epsilon.
    """

    name: str
    estimator: Callable[..., Any]
    grid: Mapping[str, Sequence[Any]] | Callable[[Split], Mapping[str, Sequence[Any]]] = field(
        default_factory=dict
    )
    settings: Mapping[str, Any] = field(default_factory=dict)
    private: bool = True

    def __call__(self, split: Split, epsilon: float, seed: int) -> Iterator[Scored]:
        for point in self.points(split):
            model = self.build(point, epsilon, seed)
            yield self.name, point, scores(fitted(model, split), split)

    def points(self, split: Split) -> list[dict[str, Any]]:
        """The points of the grid."""
        grid = self.grid(split) if callable(self.grid) else self.grid
        return [dict(zip(grid, values, strict=True)) for values in product(*grid.values())]

    def build(self, point: Mapping[str, Any], epsilon: float, seed: int) -> Any:
        """The estimator at a point."""
        budget = {"epsilon": epsilon} if self.private else {}
        return self.estimator(**budget, **self.settings, **point, random_state=seed)

    def middle(self, split: Split, epsilon: float, seed: int) -> Any:
        """The estimator in the middle of the grid; None where no point fits the split."""
        points = self.points(split)
        return self.build(points[len(points) // 2], epsilon, seed) if points else None


class LPCTCounts(LPCTClassifier):
    """LPCT's counts alone: ``labels_at`` needs no model."""

    def _estimate(self) -> None:
        pass


@dataclass(frozen=True)
class Lpct:
    """LPCT over depths, leaf sizes and λ; its limits λ = 0 and infinity under their names."""

    name: str
    partition: str
    depths: Sequence[int]
    min_leaves: Sequence[int]
    mechanism: str = "laplace"
    weights: Sequence[float] = WEIGHTS
    beyond: str = "edge"

    def __call__(self, split: Split, epsilon: float, seed: int) -> Iterator[Scored]:
        for depth, min_leaf in product(self.depths, self.min_leaves):
            if min_leaf == 0 and depth > FULL_GRID_DEPTH:
                continue
            model = fitted(self.build(depth, min_leaf, epsilon, seed, LPCTCounts), split)
            inside = in_cube(split.test.X) | (self.beyond == "edge")
            right = right_in_cells(model.question_.partition, split, inside)
            beyond = right_in_cells(model.question_.partition, split, ~inside)[:, 0].sum()
            for weight in (0.0, *self.weights, np.inf):
                name = {0.0: f"{self.name}-P", np.inf: f"{self.name}-Q"}.get(weight, self.name)
                point: Point = {"depth": depth, "min_leaf": min_leaf, "weight": weight}
                label = model.labels_at(weight)
                yield (
                    name,
                    point,
                    {"score": float(right[np.arange(len(label)), label].sum() + beyond)},
                )

    def build(
        self,
        depth: int,
        min_leaf: int,
        epsilon: float,
        seed: int,
        estimator: type[LPCTClassifier] = LPCTClassifier,
    ) -> LPCTClassifier:
        """The estimator at a point."""
        return estimator(
            epsilon,
            partition=self.partition,
            depth=depth,
            min_leaf=min_leaf,
            mechanism=self.mechanism,
            beyond=self.beyond,
            random_state=seed,
        )

    def middle(self, split: Split, epsilon: float, seed: int) -> LPCTClassifier:  # noqa: ARG002
        """The estimator in the middle of the grid."""
        depth = self.depths[len(self.depths) // 2]
        return self.build(depth, self.min_leaves[-1], epsilon, seed)


@dataclass(frozen=True)
class Timed:
    """Seconds of processor time to fit ``method`` once and predict, in the middle of its grid."""

    name: str
    method: Any

    def __call__(self, split: Split, epsilon: float, seed: int) -> Iterator[Scored]:
        model = self.method.middle(split, epsilon, seed)
        if model is not None:
            started = time.process_time()
            fitted(model, split).predict(split.test.X)
            yield self.name, {}, {"seconds": time.process_time() - started}


@dataclass(frozen=True)
class Costs:
    """Milliseconds of processor time to fit once and to predict, and the numbers that are kept."""

    name: str
    estimator: Callable[..., Any]
    stored: Callable[[Any], int]

    def __call__(self, split: Split, epsilon: float, seed: int) -> Iterator[Scored]:
        started = time.process_time()
        model = fitted(self.estimator(epsilon, random_state=seed), split)
        fitted_at = time.process_time()
        model.predict(split.test.X)
        costs = {
            "training": 1000.0 * (fitted_at - started),
            "testing": 1000.0 * (time.process_time() - fitted_at),
            "space": float(self.stored(model)),
        }
        for cost, value in costs.items():
            yield f"{self.name}, {cost}", {}, {"score": value}


def right_in_cells(partition: Partition, split: Split, of: NDArray[np.bool_]) -> Floats:
    """The accuracy gained by labelling a cell 0 or 1 for the test rows ``of``, ``(cells, 2)``: one
    pass for every λ."""
    cells, n = locate(partition, split.test.X[of]), len(split.test)
    ones = (split.test.y if split.chance is None else split.chance)[of]
    parts = (np.bincount(cells, part / n, minlength=partition.cells) for part in (1.0 - ones, ones))
    return np.stack(list(parts), axis=1)


def fitted(model: Any, split: Split) -> Any:
    """``model`` on a split, whose features lie in [0, 1] already: baselines are told so."""
    if isinstance(split.label, Range) and "label_range" in model.get_params():
        model.set_params(label_range=(split.label.low, split.label.high))
    public = (split.public.X, split.public.y)
    declared = {"feature_range": (0.0, 1.0)} if isinstance(model, Baseline) else {}
    return model.fit(split.private.X, split.private.y, public=public, **declared)


def scores(model: Any, split: Split) -> Scores:
    """The scores of a model at the test rows."""
    return value_scores(values_of(model, split.test.X), split)


def values_of(model: Any, X: Floats) -> Floats:
    """Probabilities ``(rows, classes)`` or means ``(rows, 1)``."""
    if hasattr(model, "predict_proba"):
        return np.asarray(model.predict_proba(X))
    return np.asarray(model.predict(X))[:, None]


def value_scores(values: Floats, split: Split) -> Scores:
    """Scores of a model's values at the test rows.

    ``score`` is mean squared error, or accuracy, in expectation where the law of the labels is
    known. Brier score (half the squared distance from the label) and log loss are there too where
    it is not; where all classes' probabilities are known, ``brier`` is the mean squared distance
    from them.
    """
    if isinstance(split.label, Range):
        return {"score": float(((values[:, 0] - split.test.y) ** 2).mean())}
    if split.chance is not None and split.chance.ndim == 2:
        right = split.chance[np.arange(len(values)), values.argmax(axis=1)]
        distance = ((values - split.chance) ** 2).sum(axis=1)
        return {"score": float(right.mean()), "brier": float(distance.mean())}
    if split.chance is not None:
        ones = values.argmax(axis=1) == 1
        return {"score": float(np.where(ones, split.chance, 1.0 - split.chance).mean())}
    label = split.test.y.astype(np.int64)
    of_label = values[np.arange(len(label)), label]
    distance = ((values - np.eye(values.shape[1])[label]) ** 2).sum(axis=1)
    return {
        "score": float((values.argmax(axis=1) == label).mean()),
        "brier": float(distance.mean() / 2.0),
        "log_loss": float(-np.log(of_label.clip(min=LEAST_PROBABILITY)).mean()),
    }
