"""The detection power of a collection, in closed form from the mechanism's variances.

The share of a class, or the mean of a number, differs between holders and public records by delta.
``privet insight`` detects it with power

    power = Phi((delta - critical) / sd),

sd being the standard deviation of the estimated difference, and critical what the test asks for
after its correction for several tests, at one look or at every look (``looks``).
"""

from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import ceil, sqrt
from typing import TypeVar

import numpy as np

from privet.protocol.errors import InvalidRequest
from privet.protocol.features import Classes
from privet.protocol.label_scale import LabelScale
from privet.protocol.mechanisms.base import Mechanism
from privet.protocol.task import Task

from ..core.contrasts import contrast_variance
from ..core.counts import rounding_variance
from ..core.looks import Looks, critical_difference, factor_at
from ..core.overall import best
from ..core.public_data import Floats, PublicData
from ..core.trees import cell_sums, locate
from ..findings.selection import selection_factor
from .populations import Population

N = TypeVar("N", int, float)
Factors = dict[tuple[bytes, bytes], float]
"""``selection_factor`` by a tree's features and thresholds, on which alone it depends here."""
HOLDERS = (*(first * 10**zeros for zeros in range(8) for first in range(10, 100)), 10**9)
MOST_EPSILON = 16.0
EPSILONS = tuple(step / 100.0 for step in range(1, int(100 * MOST_EPSILON) + 1))
"""Search grids: holder counts with two significant digits, epsilon in steps of 0.01."""


@dataclass(frozen=True)
class Difference:
    """A difference to detect, with the variances of both estimates.

    It is one of ``tests``, and ``largest`` is the greatest that there can be: from the public
    figure to the farther end of all that is possible, of a class the one that is farthest.
    """

    reported: float
    public: float
    tests: int
    largest: float
    looks: Looks

    @cached_property
    def critical(self) -> float:
        """The least estimated difference that is detected."""
        progress = 1.0 if self.looks == "many" else None
        return critical_difference(self.reported, self.public, self.tests, progress)

    def power(self, delta: float) -> float:
        """The probability of detecting a difference of ``delta``."""
        from scipy.special import ndtr  # slow to import

        return float(ndtr((delta - self.critical) / sqrt(self.reported + self.public)))

    def smallest(self, power: float) -> float | None:
        """The difference that is detected with probability ``power``; None above ``largest``."""
        from scipy.special import ndtri  # slow to import

        delta = self.critical + float(ndtri(power)) * sqrt(self.reported + self.public)
        return delta if delta < self.largest else None


@dataclass(frozen=True)
class Detection:
    """The smallest detectable differences: ``overall``, and in a ``cell`` of median noise.

    ``half_width`` is that of the widest overall 95 % interval, and ``variance`` its figure's noise
    times the number of holders. The tree has ``cells``.
    """

    overall: Difference
    cell: Difference
    half_width: float
    variance: float
    cells: int


def detection(
    task: Task,
    holders: float,
    looks: Looks,
    *,
    public: PublicData,
    records: int,
    population: Population,
    variance: float,
    factors: Factors,
) -> Detection:
    """The detectable differences with ``holders`` answers and ``records`` public records.

    ``population`` has the law of labels, ``public`` the rows that cells were grown on, whose labels
    have a ``variance``. ``factors`` keeps what was measured.
    """
    place, label = asking(task), task.label
    mechanism, tree = task.mechanisms[place], task.tree_of(place)
    n = holders * task.asked_share(place)
    cells, m = locate(tree, population.points), records
    times = population.weights * len(cells)
    points = np.bincount(cells, times, tree.cells) + 0.5
    w = points / points.sum()
    sums = cell_sums(cells, population.truth * times[:, None], tree.cells)
    q = (sums + 0.5 * population.truth.mean(axis=0)) / points[:, None]
    grown = tree.feature.tobytes(), tree.threshold.tobytes()
    if grown not in factors:
        factors[grown] = selection_factor(label, public, tree, q)
    if isinstance(label, Classes):
        width, span, tests = 1.0, 1.0, tree.cells * (1 + label.slots)
        q /= q.sum(axis=1, keepdims=True)
        down = q
        units = [np.broadcast_to(row, q.shape) for row in np.eye(label.slots)]
        spread = (w @ q) * (1.0 - w @ q)
    else:
        scale = task.label_scales[place] or LabelScale.of(label, tree.cells)
        width, span, tests = scale.width, label.span, 2 * tree.cells
        down = q[:, :1] - label.low
        t = scale.to_unit(np.arange(tree.cells), q[:, 0])
        q = np.stack([1.0 - t, t], axis=1)
        low = np.broadcast_to(scale.low, tree.cells)
        units = [np.stack([low, low + width], axis=1) - public.y.mean()]
        spread = np.array([variance])
    counts, size = n * w[:, None] * q, n * w[:, None]
    noise = _noise(mechanism, units, n, counts, rounded=not isinstance(label, Classes))
    if (alone := label_question(task)) is not None:
        part, of_label = task.asked_share(alone), np.eye(label.slots)
        means = w @ q
        if not isinstance(label, Classes):
            of_label = np.array([[label.low, label.high]]) - public.y.mean()
            above = float(w @ (low + width * q[:, 1]) - label.low) / span
            means = np.array([1.0 - above, above])
        v_a = _noise(
            task.mechanisms[alone],
            of_label[:, None],
            part * holders,
            part * holders * means[None],
            rounded=not isinstance(label, Classes),
        )
        variances = zip(v_a.tolist(), noise.tolist(), (spread / holders).tolist(), strict=True)
        noise = np.array([best(a, b, part, s)[1] for a, b, s in variances])
    reported = noise + spread / holders
    worst = int(reported.argmax())
    in_cell = contrast_variance(mechanism.slot_covariance(ceil(n), counts), q)
    in_cell = (width / size) ** 2 * (np.maximum(in_cell, 0.0) + size * q * (1.0 - q))
    of_rows = width**2 * factors[grown] * q * (1.0 - q) / (m * w + 1.0)[:, None]
    total = in_cell + of_rows
    middle = int(np.argsort(total.max(axis=1))[tree.cells // 2])
    of_middle = middle, int(total[middle].argmax())
    factor = factor_at(None if looks == "once" else 1.0)
    of_all, of_one = (float(np.maximum(of, span - of).max()) for of in (w @ down, down[middle]))
    return Detection(
        Difference(float(reported[worst]), float(spread[worst] / m), len(units), of_all, looks),
        Difference(float(in_cell[of_middle]), float(of_rows[of_middle]), tests, of_one, looks),
        factor * sqrt(float(noise.max())),
        float(noise.max()) * holders,
        tree.cells,
    )


def _noise(
    mechanism: Mechanism,
    units: Sequence[Floats] | Floats,
    n: float,
    counts: Floats,
    *,
    rounded: bool,
) -> Floats:
    """The variances of means of ``units`` by the mechanism's noise, and by rounding numbers."""
    noise = np.array([mechanism.linear_variance(unit, ceil(n), counts) for unit in units])
    if rounded:
        noise += [rounding_variance(mechanism, unit, counts) for unit in units]
    return noise / n**2


def least(
    enough: Callable[[N], bool], chosen: Callable[[N], object], values: Sequence[N]
) -> N | None:
    """The least of the rising ``values`` that is ``enough``, or None.

    Trees get deeper with more reports, and their overall figures noisier; a mechanism's parameters,
    of which there are few, are the best on average over its counts and not for these figures. So
    more is enough wherever less is only while what is ``chosen`` stays the same.
    """
    start = 0
    while start < len(values):
        end = _end_of_run(chosen, values, start)
        if enough(values[end - 1]):
            return values[bisect_left(values, True, start, end, key=enough)]
        start = end
    return None


def _end_of_run(chosen: Callable[[N], object], values: Sequence[N], start: int) -> int:
    """The first place after ``start`` where something else is chosen, which does not come back."""
    first, step = chosen(values[start]), 1
    while start + step < len(values) and chosen(values[start + step]) == first:
        step *= 2
    end = min(start + step, len(values))
    return bisect_left(
        values, True, start + step // 2, end, key=lambda value: chosen(value) != first
    )


def label_question(task: Task) -> int | None:
    """The question that asks some holders for the label alone, beside one about the cell."""
    if len(task.questions) == 2 and task.parts and task.tree_of(1).cells == 1:
        return 1
    return None


def asking(task: Task) -> int:
    """The first question that asks for the label; raises ``InvalidRequest`` without one."""
    asked = [question.asks for question in task.questions]
    if "label" not in asked:
        raise InvalidRequest("No question asks for the label: plan a task with one that does.")
    return asked.index("label")
