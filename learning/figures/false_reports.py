"""The effect of false reports: on figures of all holders exactly, on a model by a search.

**A figure.** With weights w, n holders by the counts V of all reports, and k of these false, the
honest ones have the figure t only if

    sum (w - t) V = n (A - t)

is a sum that k reports can give, at most k times the most that one adds to it and at least k times
the least (``Mechanism.influence``). ``if_false`` gives the ends of these t for the ends of A's
interval. Where a part of the holders was asked for the label alone, all false reports are where
they move the figure of both parts further.

**A model.** k false reports can move a value by more than k times as far as one, since they also
change how much the reports count against the public model. So k typical reports are replaced in the
sums by false ones, and values are estimated again. Tried are k copies of one payload that speaks
for one slot of one cell, where that can be expected to matter most, and for each slot payloads that
speak for it all over the tree. A payload is the strongest of several honest draws. What is found is
the worst of what was tried, and no bound.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import ceil
from typing import cast

import numpy as np

from privet.protocol.mechanisms.base import Sums, as_row
from privet.protocol.results import Comparison

from ..core.counts import Interval, QuestionCounts
from ..core.model import Model
from ..core.public_data import Floats
from .figure import Reports
from .joint import joint

TARGETS = 8
"""Pairs of a cell and a slot that are tried."""
DRAWS = 32
"""Payloads of which the strongest is taken, or which are spread over the tree."""
PART = 0.01
"""The part of the reports of which figures say what it could do."""
STEPS = 40
"""Halvings of the range of a figure."""

Estimate = Callable[[Sequence[QuestionCounts]], Model]


def if_false(
    reports: Reports, stated: Sequence[Comparison], part: float = PART
) -> tuple[Interval, ...]:
    """The ends of each figure ``stated`` if up to that ``part`` of all reports are false, whatever
    they say: with 95 % confidence the figure of the honest ones is between them."""
    k, kind = ceil(part * reports.n), reports.kind
    rows = zip(kind.weights(reports.question), kind.ends, stated, strict=True)
    found = []
    for weights, ends, row in rows:
        sides = []
        for end, sign in ((row.low, 1.0), (row.high, -1.0)):
            moved = [
                share * _moved(asked, of, k, sign * end, (kind.bounds, sign))
                for asked, of, share in _parts(reports, weights, ends, row.reported)
            ]
            sides.append(end - sign * max(moved))
        low, high = np.clip(sides, *kind.bounds).tolist()
        found.append(Interval(row.reported, low, high))
    return tuple(found)


def _parts(
    reports: Reports, weights: Floats, ends: Floats, value: float
) -> list[tuple[QuestionCounts, Floats, float]]:
    """The questions that a figure is of, each with the weights and its part of the figure."""
    question, alone = reports.question, reports.alone
    if alone is None or not alone.n:
        return [(question, weights, 1.0)]
    rest = question.mean(weights - value)
    u = joint(rest, question.holders, alone, ends - value).part
    return [(question, weights, 1.0 - u), (alone, ends[None], u)]


def _moved(
    asked: QuestionCounts,
    weights: Floats,
    k: int,
    end: float,
    scale: tuple[tuple[float, float], float],
) -> float:
    """The most by which ``k`` false reports can have raised the figure, times ``sign``, to ``end``;
    ``scale`` is the figure's bounds and the sign."""
    bounds, sign = scale
    least = min(sign * each for each in bounds)
    if k >= asked.n:
        return end - least
    low, high = least, end
    for _ in range(STEPS):
        t = (low + high) / 2.0
        _, most = asked.mechanism.influence(sign * weights - t)
        low, high = (low, t) if asked.holders * (end - t) <= k * most else (t, high)
    return end - low


def worst_found(
    model: Model, questions: Sequence[QuestionCounts], estimate: Estimate, *numbers: int
) -> list[float]:
    """The most by which that many false reports moved a value of the model, for each of
    ``numbers``, in the values' units.

    ``model`` is that of ``questions``, and ``estimate`` gives the values of others like them. Where
    no other report is left, the result is the distance of the least and the greatest value there
    can be.
    """
    rng, moved = np.random.default_rng(0), {k: 0.0 for k in numbers if k < model.n}
    for place, question in enumerate(questions):
        some = [k for k in moved if k < question.n]
        for report in _attacks(question, rng) if some else ():
            for k in some:
                typical = question.sums * (1.0 - k / max(question.n, 1))
                others = [*questions]
                # fractions as they are: rounded, the few reports of a small stratum would all stay
                others[place] = replace(question, sums=cast("Sums", typical + k * report))
                distance = float(np.abs(estimate(others).values - model.values).max())
                moved[k] = max(moved[k], distance)
    return [moved.get(k, model.widest) for k in numbers]


def _attacks(question: QuestionCounts, rng: np.random.Generator) -> list[Floats]:
    """The mean contribution of a false report to the sums, one array for each attack."""
    mass = question.plausible.sum(axis=1)
    shares = question.plausible / np.maximum(mass, 1e-300)[:, None]
    noise = np.sqrt(np.maximum(question.noise.sum(axis=(1, 2)), 0.0))
    easiest = ((1.0 - shares) / (mass + noise)[:, None]).ravel().argsort()[::-1]
    attacks = []
    for target in easiest[:TARGETS]:
        cell, slot = divmod(int(target), shares.shape[1])
        drawn = [_payload(question, cell, slot, rng) for _ in range(DRAWS)]
        counts = [question.mechanism.estimate(sums, 1)[cell] for sums in drawn]
        strength = [count[slot] - shares[cell, slot] * count.sum() for count in counts]
        attacks.append(drawn[int(np.argmax(strength))].astype(np.float64))
    for slot in range(shares.shape[1]):
        cells = rng.choice(len(mass), DRAWS, p=mass / mass.sum())
        attacks.append(np.mean([_payload(question, int(c), slot, rng) for c in cells], axis=0))
    return attacks


def _payload(question: QuestionCounts, cell: int, slot: int, rng: np.random.Generator) -> Sums:
    """The contribution of one honest report of the slot's extreme level to the sums,
    ``(sum_size,)``."""
    mechanism = question.mechanism
    level = slot * (mechanism.levels - 1) // max(mechanism.slots - 1, 1)
    payload = mechanism.privatize(cell * mechanism.levels + level, rng.bytes)
    return mechanism.accumulate(as_row(payload))
