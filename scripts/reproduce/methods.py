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
from privet.curator.partitioning import GROWERS, lpct_depth
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

DEPTHS = (1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16)
DESIGN_DEPTHS = tuple(range(1, 11))
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
    """LPCT with Laplace noise, or LPDT, on the papers' cells; one score per point of the grid."""
    for depth in DEPTHS if split.chance is None else DESIGN_DEPTHS:
        partition = papers_cells(split, depth)
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
            yield f"LPCT|{depth}|{weight}", score(split, np.eye(2)[labels[cells]])


def pruned(split: Split, epsilon: float, rng: np.random.Generator) -> Iterator[Score]:
    """LPCT-prune with Laplace noise, both forms: two trees, half of the budget each."""
    d, n = split.public.X.shape[1], len(split.private)
    deep = lpct_depth(n, epsilon, columns=d, public_rows=len(split.public))
    shallow = max(1, int(d / (2 + 2 * d) * np.log2(max(n * epsilon**2, 2.0))))
    partitions = [papers_cells(split, depth) for depth in (deep, shallow)]
    question = [ask(split, tree, "laplace", epsilon / 2, rng) for tree in partitions]
    for constants in ("calibrated", "paper"):
        model = fit("pruned", split.label, split.public, question, constants=constants)
        values = values_at(model, model.partition, split.test.X)
        yield f"LPCT-prune, {constants}", score(split, values)


def max_edge(split: Split, epsilon: float, rng: np.random.Generator) -> Iterator[Score]:
    """Privet's ``averaged`` on the cells of LPCT's Algorithm 1, for a design."""
    d, n = split.public.X.shape[1], len(split.private)
    depth = lpct_depth(n, epsilon, columns=d, public_rows=len(split.public))
    partition = papers_cells(split, depth)
    question = ask(split, partition, "subset", epsilon, rng)
    model = fit("averaged", split.label, split.public, [question])
    yield "averaged, max-edge cells", score(split, values_at(model, partition, split.test.X))


def without_reports(split: Split) -> Iterator[Score]:
    """Public models with scikit-learn's defaults, and a tree that sees every record."""
    regression = isinstance(split.label, Range)
    for name, values in public_models(split):
        yield name, score(split, values)
    every_x = np.vstack([split.public.X, split.private.X])
    every_y = np.concatenate([split.public.y, split.private.y])
    tree = (DecisionTreeRegressor if regression else DecisionTreeClassifier)(random_state=0)
    yield "non-private tree", score(split, _values(tree.fit(every_x, every_y), split.test.X))


def public_models(split: Split) -> Iterator[tuple[str, Floats]]:
    """Each public model's predictions for the test rows."""
    for name in PUBLIC_MODELS:
        fitted = _fitted(name, _Rows(split.public), isinstance(split.label, Range))
        yield name, _values(fitted, split.test.X)


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
    labels = values.argmax(axis=1)
    if split.chance is not None:
        return float(np.where(labels == 1, split.chance, 1.0 - split.chance).mean())
    return float((labels == split.test.y).mean())


def slots_of(split: Split) -> int:
    """Number of classes; 0 for numbers."""
    return split.label.slots if isinstance(split.label, Classes) else 0


def public_scores(split: Split, X: Floats) -> Floats:
    """The stacked public model's predictions."""
    return public_knowledge(split.public.X, split.public.y, slots_of(split)).model.predict(X)


def values_at(model: Model, partition: Partition, X: Floats) -> Floats:
    """A plain model's values at rows."""
    return model.predict_from(locate(partition, X), None).values


def papers_cells(split: Split, depth: int) -> Partition:
    """LPCT's own partition for a design, CART for a set; kept, as splits share public rows."""
    grower = "cart" if split.chance is None else "max_edge"
    return _grown(grower, _Rows(split.public), depth, slots_of(split))


class _Rows:
    """Public data that is equal to itself only if its arrays are the same, for caching."""

    def __init__(self, public: PublicData) -> None:
        self.public = public

    def __hash__(self) -> int:
        return hash((id(self.public.X), id(self.public.y)))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Rows) and other.public.X is self.public.X


@cache
def _grown(grower: str, rows: _Rows, depth: int, classes: int) -> Partition:
    return GROWERS[grower](
        rows.public.X,
        rows.public.y,
        depth=depth,
        classes=classes,
        criterion="gini" if classes else "variance",
        min_leaf=1 if grower == "cart" else 0,
        rng=np.random.default_rng(0),
    )


@cache
def _fitted(name: str, rows: _Rows, regression: bool) -> Any:
    model = PUBLIC_MODELS[name][regression](random_state=0)
    return model.fit(rows.public.X, rows.public.y)


def _values(fitted: Any, X: Floats) -> Floats:
    if hasattr(fitted, "predict_proba"):
        return np.asarray(fitted.predict_proba(X))
    return np.asarray(fitted.predict(X))[:, None]
