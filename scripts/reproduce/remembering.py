"""Public models that remember their rows: by a part of all weights, or only at the rows.

Scored is the public model, alone and corrected by reports, with no weight set aside for models that
memorise, with a quarter for few rows as earlier versions had, and as it is; and every candidate by
itself. The loss is the Brier score of the last class, or the squared error over the variance.
"""

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from sklearn import datasets

from privet.learning.core.public_data import PublicData, class_count
from privet.learning.core.public_model import BaseModel, mixture
from privet.learning.drift.candidates import as_arrays, candidates
from privet.learning.drift.own_rows import agreement, remembered
from privet.learning.drift.stacking import (
    LEAST_WEIGHT,
    MEMORY,
    MEMORY_ROWS,
    PULL,
    out_of_fold,
    quietly,
    simplex_least_squares,
    target_of,
    weights_for,
)
from privet.learning.methods import fit
from privet.learning.simulation import simulate_counts
from privet.learning.task_building.build import build_encoded
from privet.learning.task_building.settings import TaskSettings
from privet.protocol.features import Classes, Numeric, Range
from scripts.reproduce.contestants import Scored
from scripts.reproduce.datasets import Floats, Split, take

TREES = 100
NONE, QUARTER, NOW, ALONE = "none", "a quarter", "as it is", "the best candidate"
SERIES = (
    *(f"{name}, no reports" for name in (NONE, QUARTER, NOW)),
    ALONE,
    *(f"{name}, reports" for name in (NONE, QUARTER, NOW)),
)
SHIPPED: dict[str, Callable[..., tuple[Floats, Floats]]] = {
    "breast cancer": datasets.load_breast_cancer,
    "wine": datasets.load_wine,
    "progression": datasets.load_diabetes,
}
"""Sets that scikit-learn ships, none of which had part in choosing what is compared."""
PUBLIC_PART = 0.2


def shipped(_folder: Path, seed: int, *, name: str) -> Split:
    """A shuffled set, a fifth of it public and another one for tests."""
    X, y = SHIPPED[name](return_X_y=True)
    order = np.random.default_rng([seed, 41]).permutation(len(y))
    rows = round(PUBLIC_PART * len(y))
    some = X[order[:rows]]
    low, width = some.min(axis=0), np.ptp(some, axis=0)
    every = PublicData(
        np.clip((X[order] - low) / np.where(width > 0.0, width, 1.0), 0.0, 1.0),
        y[order].astype(float),
    )
    public, test, private = np.split(np.arange(len(y)), [rows, 2 * rows])
    label: Classes | Range = Range(name="label", low=float(y.min()), high=float(y.max()))
    if name != "progression":
        label = Classes(name="label", classes=tuple(map(str, np.unique(y))))
    return Split(take(every, public), take(every, private), take(every, test), label)


def remember(split: Split, epsilon: float, seed: int) -> Iterator[Scored]:
    """The loss of each public model, alone and with reports, and of each candidate."""
    slots, public = class_count(split.label), split.public
    X = public.X.astype(np.float32).astype(np.float64)
    members, target = candidates(len(X), X.shape[1], slots), target_of(public.y, slots)
    with quietly():
        predicted = out_of_fold(members, X, public.y, slots)
        models = [as_arrays(one, one.make(TREES).fit(X, public.y), slots) for one in members]
    remembers = np.array([member.remembers for member in members])
    columns = predicted.reshape(len(members), -1).T
    stacked = simplex_least_squares(columns, target.ravel(), PULL / len(X))
    part = MEMORY * MEMORY_ROWS / (MEMORY_ROWS + len(X))
    quarter = (1.0 - part) * stacked + part * remembers / remembers.sum()
    now = weights_for(members, predicted, public.y, slots)
    compared = {}
    for name, weights in ((NONE, stacked), (QUARTER, quarter), (NOW, now)):
        kept = np.where(weights < LEAST_WEIGHT, 0.0, weights)
        compared[name] = mixture(name, models, (kept / kept.sum()).tolist())
    r = agreement(X, target, np.tensordot(now, predicted, axes=1))
    if (own := remembered(X, target, compared[NOW], r)) is not None:
        stack = compared[NOW]
        compared[NOW] = BaseModel(NOW, (*stack.components, own), (*stack.weights, 1.0))
    for member, model in zip(members, models, strict=True):
        yield ALONE, {"member": member.name}, {"score": loss(model.predict(split.test.X), split)}
    for name, model in compared.items():
        yield f"{name}, no reports", {}, {"score": loss(model.predict(split.test.X), split)}
        values = with_reports(model, split, epsilon, seed)
        yield f"{name}, reports", {}, {"score": loss(values, split)}


def with_reports(base: BaseModel, split: Split, epsilon: float, seed: int) -> Floats:
    """Predictions at the test rows of the default that starts from ``base``."""
    names = [f"x{place}" for place in range(split.public.X.shape[1])]
    settings = TaskSettings(
        name="simulation", label=split.label.name, epsilon=epsilon, holders=len(split.private)
    )
    features = tuple(Numeric(name=name, low=0.0, high=1.0) for name in names)
    task = build_encoded(settings, features, split.label, split.public, base)
    reports = simulate_counts(
        task, split.private.X, split.private.y, np.random.default_rng([seed, 41])
    )
    model = fit("drift", split.label, split.public, reports, base)
    return model.predict(split.test.X).values


def loss(values: Floats, split: Split) -> float:
    """The Brier score of the last class, or a number's squared error over its variance."""
    if isinstance(split.label, Range):
        y = split.test.y
        return float(((values[:, 0] - y) ** 2).mean() / y.var())
    chance = split.chance
    if chance is None:
        chance = (split.test.y == split.label.slots - 1).astype(float)
    return float(((values[:, -1] - chance) ** 2 + chance * (1.0 - chance)).mean())
