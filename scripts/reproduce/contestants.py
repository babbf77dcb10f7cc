"""The methods of the papers' experiments with their grids, by name.

A method is a function of a split, ε and a seed that yields (published name, parameters, score):
the score is accuracy, or mean squared error for numbers. ``Tuned`` makes one from an estimator and
a grid. Reported is the point whose mean over the replications is best: the papers choose with the
test data in hand, which no user can.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import numpy as np

from privet.baselines import (
    APHISTRegressor,
    DeconvolutionRegressor,
    LPCTClassifier,
    LPCTPruneClassifier,
    LPDTClassifier,
    LPDTRegressor,
    NonPrivateTreeClassifier,
    NonPrivateTreeRegressor,
    PGLMClassifier,
    PHISTClassifier,
    PHISTRegressor,
    PSGDClassifier,
    SemiPrivateClassifier,
)
from privet.baselines.histogram import MAX_COLUMNS
from privet.curator.trees import locate
from privet.protocol.features import Range
from privet.protocol.partition import Partition
from scripts.reproduce.datasets import Floats, Split
from scripts.reproduce.methods import DEPTHS, WEIGHTS

Point = dict[str, float | str]
Scored = tuple[str, Point, float]
Method = Callable[[Split, float, int], Iterator[Scored]]

RATES = tuple(10.0**k for k in range(-5, 1))
BANDWIDTHS = (None, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0)
"""In the features' unit, up to kernels far wider than the cube, and the default."""
LARGEST_ARRAY = 2**22
"""Places of a histogram above which a grid's point is left out; the papers ran out of memory."""
LARGEST_WARM_START = 10**7
"""Public rows times weights, above which a grid's point is left out; the papers had an hour."""


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
        grid = self.grid(split) if callable(self.grid) else self.grid
        for values in product(*grid.values()):
            point = dict(zip(grid, values, strict=True))
            budget = {"epsilon": epsilon} if self.private else {}
            model = self.estimator(**budget, **self.settings, **point, random_state=seed)
            yield self.name, point, score(fitted(model, split), split)


@dataclass(frozen=True)
class Lpct:
    """LPCT over depths, stopping rules and λ; its limits λ = 0 and infinity under their names."""

    name: str
    partition: str
    depths: Sequence[int]
    min_leaves: Sequence[int]

    def __call__(self, split: Split, epsilon: float, seed: int) -> Iterator[Scored]:
        for depth, min_leaf in product(self.depths, self.min_leaves):
            model = LPCTClassifier(
                epsilon,
                partition=self.partition,
                depth=depth,
                min_leaf=min_leaf,
                random_state=seed,
            )
            model = fitted(model, split)
            right = right_in_cells(model.question_.partition, split)
            for weight in (0.0, *WEIGHTS, np.inf):
                name = {0.0: f"{self.name}-P", np.inf: f"{self.name}-Q"}.get(weight, self.name)
                point: Point = {"depth": depth, "min_leaf": min_leaf, "weight": weight}
                label = model.with_weight(weight).model_.values.argmax(axis=1)
                yield name, point, float(right[np.arange(len(label)), label].sum())


def right_in_cells(partition: Partition, split: Split) -> Floats:
    """What labelling a cell 0 or 1 adds to the accuracy, ``(cells, 2)``: one pass for every λ."""
    cells, n = locate(partition, split.test.X), len(split.test)
    ones = split.test.y if split.chance is None else split.chance
    parts = (np.bincount(cells, part / n, minlength=partition.cells) for part in (1.0 - ones, ones))
    return np.stack(list(parts), axis=1)


def fitted(model: Any, split: Split) -> Any:
    """``model`` on a split, whose features lie in [0, 1] already."""
    if isinstance(split.label, Range) and "label_range" in model.get_params():
        model.set_params(label_range=(split.label.low, split.label.high))
    public = (split.public.X, split.public.y)
    return model.fit(split.private.X, split.private.y, public, (0.0, 1.0))


def score(model: Any, split: Split) -> float:
    """Accuracy, in expectation where the law of the labels is known; or mean squared error."""
    predicted = model.predict(split.test.X)
    if isinstance(split.label, Range):
        return float(((predicted - split.test.y) ** 2).mean())
    if split.chance is not None:
        return float(np.where(predicted == 1, split.chance, 1.0 - split.chance).mean())
    return float((predicted == split.test.y).mean())


def bins_that_fit(windows: bool) -> Callable[[Split], Mapping[str, Sequence[Any]]]:
    """1/h from 1 to 6, as far as the histogram fits into memory."""

    def grid(split: Split) -> Mapping[str, Sequence[Any]]:
        d = split.public.X.shape[1]
        fits = [k for k in range(1, 7) if (2 * k + 1 if windows else k) ** d <= LARGEST_ARRAY]
        return {"bins": fits if d <= MAX_COLUMNS else []}

    return grid


def units(split: Split) -> Mapping[str, Sequence[Any]]:
    """d/2, d and 2d hidden units, and the rates; none where the warm start takes too long."""
    n, d = split.public.X.shape
    hidden = [h for h in (max(1, d // 2), d, 2 * d) if n * h * d <= LARGEST_WARM_START]
    return {"hidden": hidden, "learning_rate": RATES}


LPDT_GRID = {"depth": tuple(range(1, 9)), "min_leaf": (1, 10, 40)}
METHODS: dict[str, Method] = {
    "LPCT": Lpct("LPCT", "max_edge", range(1, 9), (0, 1)),
    "LPCT-R": Lpct("LPCT-R", "random", range(1, 9), (0, 1)),
    "LPCT max-edge": Lpct("LPCT max-edge", "max_edge", DEPTHS, (1,)),
    "LPCT CART": Lpct("LPCT CART", "cart", DEPTHS, (1,)),
    "LPCT-prune": Tuned("LPCT-prune", LPCTPruneClassifier, {"constants": ("calibrated", "paper")}),
    "LPCT-prune p0": Tuned(
        "LPCT-prune",
        LPCTPruneClassifier,
        {"constants": ("calibrated", "paper"), "depth": tuple(range(1, 9))},
        {"fallback": False},
    ),
    "LPCT-prune max-edge": Tuned(
        "LPCT-prune max-edge", LPCTPruneClassifier, {"min_leaf": (1, 5)}, {"partition": "max_edge"}
    ),
    "LPCT-prune CART": Tuned(
        "LPCT-prune CART", LPCTPruneClassifier, {"min_leaf": (1, 5)}, {"partition": "cart"}
    ),
    "CT-W": Tuned(
        "CT-W",
        NonPrivateTreeClassifier,
        {"max_depth": range(1, 17)},
        {"rows": "all"},
        private=False,
    ),
    "CT-Q": Tuned(
        "CT-Q",
        NonPrivateTreeClassifier,
        {"max_depth": range(1, 17)},
        {"rows": "public"},
        private=False,
    ),
    "PHIST": Tuned("PHIST", PHISTClassifier, bins_that_fit(windows=True)),
    "PHIST cubes": Tuned(
        "PHIST cubes", PHISTClassifier, bins_that_fit(windows=False), {"windows": False}
    ),
    "LPDT": Tuned(
        "LPDT", LPDTClassifier, {"depth": DEPTHS, "min_leaf": (1,)}, {"partition": "cart"}
    ),
    "PGLM": Tuned("PGLM", PGLMClassifier),
    "PSGD-L": Tuned("PSGD-L", PSGDClassifier, {"learning_rate": RATES}),
    "PSGD-N": Tuned("PSGD-N", PSGDClassifier, units),
    "DT": Tuned(
        "DT",
        NonPrivateTreeRegressor,
        {"max_depth": (None, *range(1, 13))},
        {"rows": "private"},
        private=False,
    ),
    "LPDT-M": Tuned("LPDT-M", LPDTRegressor, LPDT_GRID, {"partition": "max_edge"}),
    "LPDT-V": Tuned("LPDT-V", LPDTRegressor, LPDT_GRID, {"partition": "cart"}),
    "LPDT leaves": Tuned(
        "LPDT-M",
        LPDTRegressor,
        {"depth": tuple(range(2, 9)), "min_leaf": tuple(range(15, 136, 20))},
    ),
    "PHIST for numbers": Tuned("PHIST", PHISTRegressor, bins_that_fit(windows=False)),
    "APHIST": Tuned("APHIST", APHISTRegressor, bins_that_fit(windows=False)),
    "DECONV": Tuned("DECONV", DeconvolutionRegressor, {"bandwidth": BANDWIDTHS}),
    "semi-private thresholds": Tuned(
        "semi-private learner",
        SemiPrivateClassifier,
        settings={"hypotheses": "thresholds", "public_records": 10**6},
    ),
}
