"""Public labels that say nothing, and some that say more: ``drift`` beside ``weighted``.

Random laws of 2, 5 or 8 classes in five columns, 200 public records of four kinds, and reports of
300 to 4 000 holders in the default cells. Accuracy and squared error of the probabilities are those
under the law, on 4 000 new points. The kept rows "with" and "difference" are of a member of
``drift``'s average that had not the public model's shape.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.special import softmax

from baselines.trees import ask
from privet.learning.core.counts import QuestionCounts
from privet.learning.core.growth import GrowthSpec
from privet.learning.core.model import Model
from privet.learning.core.public_data import PublicData
from privet.learning.methods import GROWERS, fit
from privet.learning.public_model.distilled import distilled_depth
from privet.protocol.features import Classes
from reproduce.contestants import Scored
from reproduce.datasets import Floats

COLUMNS, PUBLIC_ROWS, POINTS = 5, 200, 4000
COLLECTIONS = ((300, 2.0), (4000, 0.5), (4000, 2.0))
"""Holders and their epsilon: few reports, much noise, and more than enough."""
KINDS = ("useless", "faithful", "rarer", "changed")
"""Public labels: of equal probability everywhere; by the law; by the law with other odds of its
classes; or by the law, but in two fifths of the space with the next class."""
LAWS = 1000
"""First seed of the laws."""


@dataclass(frozen=True)
class Law:
    """Holders' class probabilities at encoded points, from linear terms and waves."""

    slope: Floats
    height: Floats
    waves: Floats
    phase: Floats
    level: Floats

    @classmethod
    def drawn(cls, classes: int, rng: np.random.Generator) -> "Law":
        shape = COLUMNS, classes
        return cls(
            rng.normal(0.0, 2.0, shape),
            rng.normal(0.0, 1.0, shape),
            rng.uniform(1.0, 6.0, shape),
            rng.uniform(0.0, 6.28, shape),
            rng.normal(0.0, 0.7, classes),
        )

    def __call__(self, X: Floats) -> Floats:
        waves = self.height * np.sin(X[:, :, None] * self.waves + self.phase)
        logits = (X - 0.5) @ self.slope + waves.sum(axis=1) + self.level
        return np.asarray(softmax(logits, axis=1))


def of_public(kind: str, p: Floats, X: Floats, rng: np.random.Generator) -> Floats:
    """The probabilities ``(rows, classes)`` by which public labels are drawn."""
    if kind == "useless":
        return np.full_like(p, 1.0 / p.shape[1])
    if kind == "rarer":
        weighted = p * np.exp(rng.normal(0.0, 1.0, p.shape[1]))
        return np.asarray(weighted / weighted.sum(axis=1, keepdims=True))
    if kind == "changed":
        return np.where(X[:, :1] > 0.6, np.roll(p, 1, axis=1), p)
    return p


def drawn(p: Floats, rng: np.random.Generator) -> Floats:
    """A class for each row."""
    above = rng.random(len(p))[:, None] > p.cumsum(axis=1)
    return np.asarray(above.sum(axis=1).clip(max=p.shape[1] - 1), dtype=np.float64)


@dataclass(frozen=True)
class Shapes:
    """A kind of public records about a number of classes."""

    kind: str
    classes: int


class Compared:
    """``drift`` and ``weighted`` on the same reports."""

    private = False  # one call has all budgets, since the public model takes the time

    def __call__(self, shapes: Shapes, _epsilon: float, seed: int) -> Iterator[Scored]:
        rng, slots = np.random.default_rng([LAWS + seed, shapes.classes]), shapes.classes
        law = Law.drawn(slots, rng)
        X, points = rng.random((PUBLIC_ROWS, COLUMNS)), rng.random((POINTS, COLUMNS))
        y = drawn(of_public(shapes.kind, law(X), X, rng), rng)
        label = Classes(name="y", classes=tuple(map(str, range(slots))))
        public, truth = PublicData(X, y), law(points)
        for holders, epsilon in COLLECTIONS:
            question = collected(public, law, label, holders, epsilon, rng)
            models = {
                "without": fit("drift", label, public, [question]),
                "weighted": fit("weighted", label, public, [question]),
            }
            scores = {name: scored(model, points, truth) for name, model in models.items()}
            place = {"reports": f"{holders} at ε = {epsilon:g}"}
            for name, (accuracy, brier) in scores.items():
                yield name, dict(place), {"score": accuracy, "brier": brier}


def collected(
    public: PublicData,
    law: Law,
    label: Classes,
    holders: int,
    epsilon: float,
    rng: np.random.Generator,
) -> QuestionCounts:
    """Reports of holders at uniform points, in the default grower's cells at its default depth."""
    depth = distilled_depth(holders, epsilon)
    grow = GROWERS["distilled"]
    tree = grow(public.X, public.y, GrowthSpec(depth=depth), classes=label.slots)
    X = rng.random((holders, COLUMNS))
    return ask("subset", epsilon, label, tree, X, drawn(law(X), rng), rng)


def scored(model: Model, points: Floats, truth: Floats) -> list[float]:
    """Expected accuracy, and mean squared distance of the probabilities from the truth."""
    values = model.predict(points).values
    right = truth[np.arange(len(truth)), values.argmax(axis=1)]
    return [float(right.mean()), float(((values - truth) ** 2).sum(axis=1).mean())]
