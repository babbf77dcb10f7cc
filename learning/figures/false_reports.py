"""The effect of false reports on a model: the worst that a search over refits finds.

k false reports can move a value by more than k times as far as one, since they also change how much
the reports count against the public model. So k typical reports are replaced in the sums by false
ones, and values are estimated again. Tried are k copies of one payload that speaks for one slot of
one cell, where that can be expected to matter most, and for each slot payloads that speak for it
all over the tree. A payload is the strongest of several honest draws. What is found is the worst of
what was tried, and no bound.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import cast

import numpy as np

from privet.protocol.mechanisms.base import Sums, as_row

from ..core.counts import QuestionCounts
from ..core.model import Model
from ..core.public_data import Floats

TARGETS = 8
"""Pairs of a cell and a slot that are tried."""
DRAWS = 32
"""Payloads of which the strongest is taken, or which are spread over the tree."""

Estimate = Callable[[Sequence[QuestionCounts]], Model]


def worst_found(
    model: Model, questions: Sequence[QuestionCounts], estimate: Estimate, k: int
) -> float:
    """The most by which ``k`` false reports moved a value of the model, in the values' units.

    ``model`` is that of ``questions``, and ``estimate`` gives the values of others like them. Where
    no other report is left, the result is the distance of the least and the greatest value there
    can be.
    """
    rng, moved = np.random.default_rng(0), 0.0
    if k >= model.n:
        return model.widest
    for place, question in enumerate(questions):
        typical = question.sums * (1.0 - k / max(question.n, 1))
        for report in _attacks(question, rng) if k < question.n else ():
            others = [*questions]
            # fractions as they are: rounded, the few reports of a small stratum would all stay
            others[place] = replace(question, sums=cast("Sums", typical + k * report))
            moved = max(moved, float(np.abs(estimate(others).values - model.values).max()))
    return moved


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
