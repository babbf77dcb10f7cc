"""How good each method is on one split: Privet, the papers' methods, public models."""

from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from privet.curator.estimation import Model, QuestionCounts, fit
from privet.curator.estimation.counts import public_counts
from privet.curator.partitioning import GROWERS
from privet.curator.partitioning.distilled import distilled_depth
from privet.curator.public_data import PublicData
from privet.curator.public_model.knowledge import public_knowledge, residual_centring
from privet.curator.trees import locate
from privet.protocol.features import Classes, Range
from privet.protocol.label_scale import LabelScale
from privet.protocol.mechanisms import create_mechanism
from privet.protocol.partition import Partition
from scripts.reproduce.datasets import Floats, Split

Score = tuple[str, float]
"""A method and its accuracy, or its mean squared error for numbers."""

CART_DEPTHS = (1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16)
WEIGHTS = (0.1, 0.5, 1, 2, 5, 10, 50, 100, 200, 300, 400, 500, 750, 1000, 1250, 1500, 2000)
PUBLIC_MODELS: dict[str, tuple[Any, Any]] = {
    "public forest": (RandomForestClassifier, RandomForestRegressor),
    "public extra trees": (ExtraTreesClassifier, ExtraTreesRegressor),
    "public boosting": (HistGradientBoostingClassifier, HistGradientBoostingRegressor),
    "public linear": (lambda **_: LogisticRegression(max_iter=5000), lambda **_: Ridge()),
    "public tree": (DecisionTreeClassifier, DecisionTreeRegressor),
}


def privet(split: Split, epsilon: float, rng: np.random.Generator) -> Iterator[Score]:
    """The defaults, with nothing chosen by hand: distilled cells, subset selection, drift."""
    numeric = isinstance(split.label, Range)
    depth = distilled_depth(len(split.private), epsilon, centred=numeric)
    partition = GROWERS["distilled"](
        split.public.X, split.public.y, depth=depth, classes=slots_of(split), min_leaf=1
    )
    question = ask(split, partition, "subset", epsilon, rng, centred(split, partition))
    model = fit("drift", split.label, split.public, [question])
    cells = locate(partition, split.test.X)
    scores = public_scores(split, split.test.X)
    yield "drift", score(split, model.predict_from(cells, scores).values)
    yield "drift, plain tree", score(split, model.predict_from(cells, None).values)
    averaged = fit("averaged", split.label, split.public, [question])
    yield "averaged", score(split, averaged.predict_from(cells, None).values)
    yield "public stack", score(split, scores)


def papers(split: Split, epsilon: float, rng: np.random.Generator) -> Iterator[Score]:
    """LPCT on CART partitions with Laplace noise, or LPDT; one score per point of the grid."""
    for depth in CART_DEPTHS:
        partition = cart(split.public, depth, slots_of(split))
        if isinstance(split.label, Range):
            question = ask(split, partition, "randomized_response", epsilon, rng)
            model = fit("ratio", split.label, split.public, [question])
            yield f"LPDT|{depth}", score(split, values_at(model, partition, split.test.X))
            continue
        question = ask(split, partition, "laplace", epsilon, rng)
        known = public_counts(split.label, split.public, partition)
        cells = locate(partition, split.test.X)
        for weight in WEIGHTS:
            labels = (question.counts + weight * known).argmax(axis=1)
            yield f"LPCT|{depth}|{weight}", float((labels[cells] == split.test.y).mean())


def pruned(split: Split, epsilon: float, rng: np.random.Generator) -> Iterator[Score]:
    """LPCT-prune on CART partitions with Laplace noise, both forms, half the budget each."""
    d, n, rows = split.public.X.shape[1], len(split.private), len(split.public)
    deep = int(d / (2 + 2 * d) * np.log2(n * epsilon**2 + rows ** ((2 + 2 * d) / d)))
    shallow = max(1, int(d / (2 + 2 * d) * np.log2(max(n * epsilon**2, 2.0))))
    partitions = [cart(split.public, depth, 2) for depth in (max(deep, 1), shallow)]
    question = [ask(split, tree, "laplace", epsilon / 2, rng) for tree in partitions]
    for constants in ("calibrated", "paper"):
        model = fit("pruned", split.label, split.public, question, constants=constants)
        values = values_at(model, model.partition, split.test.X)
        yield f"LPCT-prune, {constants}", score(split, values)


def without_reports(split: Split) -> Iterator[Score]:
    """Public models with scikit-learn's defaults, and a tree that sees every record."""
    regression = isinstance(split.label, Range)
    for name in PUBLIC_MODELS:
        said = _said(name, split.public, regression, split.test)
        yield name, score(split, said)
    every_x = np.vstack([split.public.X, split.private.X])
    every_y = np.concatenate([split.public.y, split.private.y])
    tree = (DecisionTreeRegressor if regression else DecisionTreeClassifier)(random_state=0)
    yield "non-private tree", score(split, _values(tree.fit(every_x, every_y), split.test.X))


def ask(
    split: Split,
    partition: Partition,
    mechanism: str,
    epsilon: float,
    rng: np.random.Generator,
    scale: LabelScale | None = None,
) -> QuestionCounts:
    """What the private rows' holders would report, simulated exactly.

    Numbers are reported on ``scale``, by default on the label's range.
    """
    regression = isinstance(split.label, Range)
    randomizer = create_mechanism(
        mechanism, epsilon, partition.cells, split.label.slots, regression=regression
    )
    cells = locate(partition, split.private.X).astype(np.int64)
    levels = levels_of(split, cells, scale, randomizer.levels, rng)
    index = cells * randomizer.levels + levels
    counts = np.bincount(index, minlength=partition.cells * randomizer.levels)
    sums = randomizer.simulate(counts.reshape(partition.cells, randomizer.levels), rng)
    return QuestionCounts(partition, randomizer, sums, len(split.private), scale=scale)


def centred(split: Split, partition: Partition) -> LabelScale | None:
    """The scale that a task with these cells has by default; None for classes."""
    if isinstance(split.label, Classes):
        return None
    known = public_knowledge(split.public.X, split.public.y, 0)
    means, _ = known.cell_means(partition)
    centring = residual_centring(split.label, split.public, partition, means[:, 0])
    return LabelScale.of(split.label, partition.cells, centring)


def levels_of(
    split: Split,
    cells: NDArray[np.int64],
    scale: LabelScale | None,
    levels: int,
    rng: np.random.Generator,
) -> NDArray[np.int64]:
    """Each holder's label as a level: its class, or its number rounded at random."""
    if isinstance(split.label, Classes):
        return split.private.y.astype(np.int64)
    scale = LabelScale.of(split.label, int(cells.max()) + 1) if scale is None else scale
    position = scale.to_unit(cells, split.private.y) * (levels - 1)
    below = np.minimum(np.floor(position), levels - 2)
    return (below + (rng.random(len(position)) < position - below)).astype(np.int64)


def score(split: Split, values: Floats) -> float:
    """Accuracy of the most probable class, or the mean squared error."""
    if isinstance(split.label, Range):
        return float(((values[:, 0] - split.test.y) ** 2).mean())
    return float((values.argmax(axis=1) == split.test.y).mean())


def slots_of(split: Split) -> int:
    """Number of classes; 0 for numbers."""
    return split.label.slots if isinstance(split.label, Classes) else 0


def public_scores(split: Split, X: Floats) -> Floats:
    """The stacked public model's predictions."""
    return public_knowledge(split.public.X, split.public.y, slots_of(split)).model.predict(X)


def values_at(model: Model, partition: Partition, X: Floats) -> Floats:
    """A plain model's values at rows."""
    return model.predict_from(locate(partition, X), None).values


def cart(public: PublicData, depth: int, classes: int) -> Partition:
    """A CART partition of the public rows; kept, since splits share their public data."""
    return _cart(_Rows(public), depth, classes)


class _Rows:
    """Public data that is equal to itself only if its arrays are the same, for caching."""

    def __init__(self, public: PublicData) -> None:
        self.public = public

    def __hash__(self) -> int:
        return hash((id(self.public.X), id(self.public.y)))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Rows) and other.public.X is self.public.X


@cache
def _cart(rows: _Rows, depth: int, classes: int) -> Partition:
    return GROWERS["cart"](
        rows.public.X,
        rows.public.y,
        depth=depth,
        classes=classes,
        criterion="gini" if classes else "variance",
        min_leaf=1,
        rng=np.random.default_rng(0),
    )


def _said(name: str, public: PublicData, regression: bool, test: PublicData) -> Floats:
    return _values(_fitted(name, _Rows(public), regression), test.X)


@cache
def _fitted(name: str, rows: _Rows, regression: bool) -> Any:
    model = PUBLIC_MODELS[name][regression](random_state=0)
    return model.fit(rows.public.X, rows.public.y)


def _values(fitted: Any, X: Floats) -> Floats:
    if hasattr(fitted, "predict_proba"):
        return np.asarray(fitted.predict_proba(X))
    return np.asarray(fitted.predict(X))[:, None]
