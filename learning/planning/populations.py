"""Biased public samples simulated from unbiased ones.

In each scenario, which a sentence names, the holders' records are reference points x with weights,
and their labels follow a law given x. Where public records are ``SCARCE`` or ``TILTED``, the law is
the public model f of all of them, and the public data are some of them. Where the holders are
others, the public data are all there, and the holders' law is f changed in a known way.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ..core.public_data import Floats, PublicData
from ..core.public_model import BaseModel
from ..figures.scores import LEAST_SHARE
from ..task_building.build import TaskBuilder

MOST_POINTS = 4000
RARER = 4.5
"""Volunteer bias: odds ratio by which public records under-represent the rarest class."""
HIGHER = 0.5
"""Volunteers' numbers are lower than the holders' by this many standard deviations."""
TILT = 4.0
"""Tilted: one end of the first principal component is e^4 times likelier than the other."""
CHANGED = 0.3
"""Changed: fraction of the population, at one end of that component, with other labels."""
FEW = 0.25
"""Scarce and tilted: fraction of public records kept."""

SCARCE = "Your file has a quarter of its records."
TILTED = "Your file has a quarter of its records, and most are from people of one kind."
RAREST = "the rarest answer"
RARE = f"People give {RAREST} more often: its odds are 4.5 times as high."
LOWER = "People's numbers are higher, by half a standard deviation."
OTHERS = (
    "Three people in ten, of one kind, answer differently from those of that kind in your file."
)
DRAWS = 5
"""Collections simulated per gain."""


@dataclass(frozen=True, eq=False)
class Population:
    """Points ``(points, columns)`` with ``weights``, ``(points,)``, that add up to 1.

    ``truth``, ``(points, S)``, are class probabilities, or means of a number (S = 1).
    """

    points: Floats
    weights: Floats
    truth: Floats

    @classmethod
    def fair(cls, points: Floats, truth: Floats) -> "Population":
        """A population that the public model describes."""
        return cls(points, np.full(len(points), 1.0 / len(points)), truth)

    @classmethod
    def of(cls, public: PublicData, classes: int) -> "Population":
        """Public records with their own labels, at most ``MOST_POINTS`` at equal distances;
        ``classes`` is 0 for a number."""
        some = slice(None, None, -(-len(public) // MOST_POINTS))
        labels = public.y[some]
        truth = np.eye(classes)[labels.astype(np.int64)] if classes else labels[:, None]
        found = cls.fair(public.X[some], truth)
        return found if public.prevalence is None else found.with_odds(public.odds_ratio)

    def with_odds(self, ratio: Floats | float) -> "Population":
        """Holders of whom ``ratio`` times as many are in each class, ``(classes,)``."""
        joint = self.truth * ratio
        density = self.weights * joint.sum(axis=1)
        truth = joint / joint.sum(axis=1, keepdims=True)
        return Population(self.points, density / density.sum(), truth)

    def volunteers(self, spread: float) -> "Population":
        """Holders of whom the public records are volunteers; ``spread`` is a number's deviation."""
        if self.truth.shape[1] == 1:
            return replace(self, truth=self.truth + HIGHER * spread)
        rarest = np.arange(self.truth.shape[1]) == self.truth.sum(axis=0).argmin()
        return self.with_odds(np.where(rarest, RARER, 1.0))

    def changed(self) -> "Population":
        """Holders of whom a part has the next class, or a number mirrored at the mean."""
        other = np.roll(self.truth, 1, axis=1)
        if self.truth.shape[1] == 1:
            other = 2.0 * self.truth.mean() - self.truth
        moved = place_of(self.points) > 1.0 - CHANGED
        return replace(self, truth=np.where(moved[:, None], other, self.truth))

    def draw(
        self, holders: int, errors: Floats, rng: np.random.Generator
    ) -> tuple[Floats, Floats, NDArray[np.int64]]:
        """Rows and labels of ``holders``, and how many have each; means are off by ``errors``."""
        copies = rng.multinomial(holders, self.weights)
        slots = self.truth.shape[1]
        if slots == 1:
            return self.points, self.truth[:, 0] + rng.choice(errors, len(copies)), copies
        truth = np.clip(self.truth, 0.0, None)
        drawn = rng.multinomial(copies, truth / truth.sum(axis=1, keepdims=True))
        labels = np.tile(np.arange(slots, dtype=np.float64), len(copies))
        return np.repeat(self.points, slots, axis=0), labels, drawn.ravel()

    def losses(self, predicted: Floats) -> tuple[float, float]:
        """Expected error and log loss of predictions ``(points, S)``.

        For numbers twice the squared error, less what no model can explain.
        """
        if self.truth.shape[1] == 1:
            squared = float(self.weights @ (predicted[:, 0] - self.truth[:, 0]) ** 2)
            return squared, squared
        right = self.truth[np.arange(len(predicted)), predicted.argmax(axis=1)]
        log_loss = -(self.truth * np.log(predicted.clip(min=LEAST_SHARE))).sum(axis=1)
        return float(self.weights @ (1.0 - right)), float(self.weights @ log_loss)


@dataclass(frozen=True, eq=False)
class Scenario:
    """The tasks that a curator makes of public records, its model of these, and the holders."""

    tasks: TaskBuilder
    base: BaseModel
    population: Population


def few_rows(
    X: Floats, least: int, rng: np.random.Generator
) -> Iterator[tuple[str, NDArray[np.intp]]]:
    """The public rows kept where they are scarce, and where they are tilted."""
    size = min(max(least, round(FEW * len(X))), len(X))
    for name, tilt in ((SCARCE, 0.0), (TILTED, TILT)):
        chance = np.exp(tilt * place_of(X))
        yield name, rng.choice(len(X), size, replace=False, p=chance / chance.sum())


def place_of(X: Floats) -> Floats:
    """The ranks of rows along their first principal component, from 0 to 1."""
    from sklearn.utils.extmath import randomized_svd  # slow to import

    score, _, _ = randomized_svd(X - X.mean(axis=0), 1, random_state=0)
    return np.asarray(score[:, 0].argsort().argsort() / len(X))
