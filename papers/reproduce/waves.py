"""Panels in simulation: earlier waves' help, equal lifetimes compared, and changes that are listed.

The people of a panel that rotates answer one wave each. Cells and holders' shares are made; reports
are simulated exactly.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache

import numpy as np

from baselines.memoized import Memoized, Values, best_hashes
from privet.learning.core.counts import QuestionCounts
from privet.learning.drift.prior import Expected
from privet.learning.drift.shift import averaged
from privet.learning.drift.waves import History, passed_on
from privet.learning.figures.compare import over_time
from privet.learning.figures.results import OverTime
from privet.learning.simulation import simulate_sums
from privet.protocol.features import Classes
from privet.protocol.mechanisms import Mechanism, create_mechanism
from privet.protocol.partition import LEAF, Partition
from reproduce.contestants import Scored
from reproduce.datasets import Floats

PEOPLE, MANY, PUBLIC_ROWS = 20_000, 200_000, 320
CELLS = 32
DRIFTS = ("none", "slow", "sudden")
WAVES = (2, 5, 20)
KINDS = ("classes", "numbers")
OF = ("cells", "cells, wave of the jump", "all holders")
ALONE, SMOOTHED = "alone", "with earlier waves"
FRESH, ROTATED = "fresh", "rotating"
PER_VALUE, ONE_VALUE, HISTORIES = "every value", "one value", "whole histories"
MEMOIZED = tuple(
    f"{name}, {of}" for of in (ONE_VALUE, PER_VALUE, HISTORIES) for name in ("L-GRR", "LOLOHA")
)
"""Lifetimes that have epsilon: that of a record that never changes; the sum over all values, as in
the papers; or, as of rotation, all reports whatever changes when."""
PARTS = 0.5
"""The epsilon of one memoized report, over that of its permanent answer."""
EVERY, LAST = "at five looks a wave", "when a wave has closed"
LABEL = Classes(name="ill", classes=("no", "yes"))
LOOKS = 5
CHANGING = 4
"""One cell in so many changes where changes are listed."""


@dataclass(frozen=True)
class Panel:
    """``waves`` of people whose answers ``drift``.

    ``kind`` is the label's; ``categories`` are those of a record, where lifetimes are compared.
    """

    waves: int
    drift: str
    kind: str = "classes"
    categories: int = 2

    def __str__(self) -> str:
        return f"{self.waves:2} waves, {self.drift}"

    @property
    def jump(self) -> int:
        """The wave of a sudden drift, from 0."""
        return self.waves // 2

    def rng(self, epsilon: float, seed: int) -> np.random.Generator:
        """Draws of a replication."""
        names = DRIFTS.index(self.drift), KINDS.index(self.kind), self.categories
        return np.random.default_rng([seed, self.waves, *names, int(100 * epsilon)])

    def shifts(self, rng: np.random.Generator) -> Iterator[Floats]:
        """theta of all cells, wave by wave."""
        theta = rng.normal(0.0, 0.6) + rng.normal(0.0, 0.3, CELLS)
        for wave in range(self.waves):
            if self.drift == "slow" and wave:
                theta = theta + 0.05 + rng.normal(0.0, 0.05, CELLS)
            if self.drift == "sudden" and wave == self.jump:
                theta = theta + 0.8 + rng.normal(0.0, 0.3, CELLS)
            yield theta


def halves(cells: int = CELLS) -> Partition:
    """A tree that halves one column again and again."""
    inner = cells - 1
    feature = np.concatenate([np.zeros(inner, int), np.full(cells, LEAF)])
    place = np.arange(inner)
    left, right = (np.concatenate([2 * place + k, np.full(cells, LEAF)]) for k in (1, 2))
    depth = np.floor(np.log2(place + 1))
    threshold = (2 * (place + 1 - 2**depth) + 1) / 2 ** (depth + 1)
    return Partition.build(1, feature, np.append(threshold, np.zeros(cells)), left, right)


def asked(
    tree: Partition, mechanism: Mechanism, law: Floats, people: int, rng: np.random.Generator
) -> QuestionCounts:
    """The reports of people drawn from a law of cells and classes."""
    counts = rng.multinomial(people, law.ravel()).reshape(law.shape)
    return QuestionCounts(tree, mechanism, simulate_sums(mechanism, counts, rng), people)


def earlier_waves(of: Panel, epsilon: float, seed: int) -> Iterator[Scored]:
    """Squared errors, in points: the mean over all waves but the first."""
    rng, tree = of.rng(epsilon, seed), halves()
    mechanism = create_mechanism("subset", epsilon, CELLS, 2)
    mass = rng.dirichlet(np.full(CELLS, 5.0))
    q = np.clip(rng.beta(2.0, 2.0, CELLS), 0.05, 0.95)
    points = np.full(CELLS, PUBLIC_ROWS / CELLS)
    if of.kind == "numbers":
        q = 0.2 + 0.6 * q
        expected = Expected.numbers(q, q, points, PUBLIC_ROWS)
    else:
        expected = Expected.classes(np.stack([1.0 - q, q], axis=1), points, PUBLIC_ROWS)
    history: History | None = None
    errors: dict[str, list[Floats]] = {ALONE: [], SMOOTHED: []}
    for theta in of.shifts(rng):
        share = np.clip(expected.shares(np.stack([-theta, theta], axis=1))[0][:, 1], 0.01, 0.99)
        law = np.stack([mass * (1.0 - share), mass * share], axis=1)
        question = asked(tree, mechanism, law, PEOPLE // of.waves, rng)
        for name, before in ((ALONE, None), (SMOOTHED, history)):
            if name == ALONE or before is not None:
                contrasts, average = averaged(question, expected, history=before)
            errors[name].append(100.0 * (average.shares[:, 1] - share))
        shaped = average.posterior
        history = passed_on(
            history, contrasts, average.shares, shaped.theta, shaped.weights, expected
        )
    for name, each in errors.items():
        off = np.array(each)
        found = (
            (off[1:] ** 2 @ mass).mean(),
            off[of.jump] ** 2 @ mass,
            ((off[1:] @ mass) ** 2).mean(),
        )
        for part, score in zip(OF, found, strict=True):
            yield name, {"panel": str(of), "of": part}, {"score": float(score)}


def equal_lifetimes(of: Panel, epsilon: float, seed: int) -> Iterator[Scored]:
    """Root mean squared errors of the categories' shares and of their changes since the wave
    before, in points, at a lifetime of ``epsilon``.

    A record is one of the categories: an even number of cells, and yes or no. Of those who say no,
    one in a hundred changes to yes with each wave of a slow drift, and one in five at a sudden one.
    """
    rng, k = of.rng(epsilon, seed), of.categories
    records = [rng.integers(k // 2, size=PEOPLE) * 2 + (rng.random(PEOPLE) < 0.3)]
    for wave in range(1, of.waves):
        now = records[-1].copy()
        part = {"none": 0.0, "slow": 0.01, "sudden": 0.2 if wave == of.jump else 0.0}[of.drift]
        now += (now % 2 == 0) & (rng.random(PEOPLE) < part)
        records.append(now)
    of_people = np.array(records)
    truth = np.array([np.bincount(each, minlength=k) for each in records]) / PEOPLE
    found = {
        FRESH: by_privet(of_people, k, epsilon / of.waves, None, rng),
        ROTATED: by_privet(of_people, k, epsilon, rng.permutation(PEOPLE) % of.waves, rng),
    }
    for name, memoized in memoized_at(epsilon, of.waves, k).items():
        found[name] = memoized.shares(of_people, rng)
    for name, shares in found.items():
        off = 100.0 * (shares - truth)
        scores = {"score": rms(off), "changes": rms(np.diff(off, axis=0))}
        yield name, {"panel": str(of)}, scores


@cache
def memoized_at(epsilon: float, waves: int, k: int) -> dict[str, Memoized]:
    """L-GRR and LOLOHA with a lifetime of epsilon, by what it is of."""
    each, of_hashes = epsilon / min(waves, k), epsilon / min(waves, 2)
    found = {
        f"L-GRR, {ONE_VALUE}": Memoized(k, epsilon, PARTS * epsilon),
        f"L-GRR, {PER_VALUE}": Memoized(k, each, PARTS * each),
        f"LOLOHA, {ONE_VALUE}": Memoized(
            k, epsilon, PARTS * epsilon, best_hashes(epsilon, PARTS * epsilon)
        ),
        f"LOLOHA, {PER_VALUE}": Memoized(k, of_hashes, PARTS * of_hashes, 2),
        f"LOLOHA, {HISTORIES}": of_histories(Memoized(k, 1.0, 0.5, 2), epsilon, waves),
    }
    if k == 2:
        found[f"L-GRR, {HISTORIES}"] = of_histories(Memoized(k, 1.0, 0.5), epsilon, waves)
    return found


def of_histories(one: Memoized, epsilon: float, waves: int) -> Memoized:
    """The most accurate of two answers whose reports of whole histories have this epsilon."""
    tried = []
    for part in np.linspace(0.05, 0.95, 19):
        low, high = 0.0, 2.0 * epsilon
        for _ in range(30):
            middle = (low + high) / 2.0
            spent = replace(one, permanent=middle, first=part * middle).whole_history(waves)
            low, high = (low, middle) if spent > epsilon else (middle, high)
        tried.append(replace(one, permanent=low, first=part * low))
    return max(tried, key=lambda each: each.first)


def rms(values: Floats) -> float:
    """The root mean square."""
    return float(np.sqrt((values**2).mean()))


def by_privet(
    records: Values, k: int, epsilon: float, turns: Values | None, rng: np.random.Generator
) -> Floats:
    """Estimated shares of the categories in each wave, by everybody, or those whose turn it is."""
    mechanism = create_mechanism("subset", epsilon, k // 2, 2)
    tree, found = halves(k // 2), []
    for wave, values in enumerate(records):
        who = values if turns is None else values[turns == wave]
        counts = np.bincount(who, minlength=k).reshape(-1, 2)
        sums = simulate_sums(mechanism, counts, rng)
        question = QuestionCounts(tree, mechanism, sums, len(who))
        found.append(question.counts.ravel() / len(who))
    return np.array(found)


def listed_changes(of: Panel, epsilon: float, seed: int) -> Iterator[Scored]:
    """Parts of all changes that were listed at any look: that are false, and whose interval misses;
    and of the true ones, of cells since the first wave, those found in the end.

    One cell in four changes, and with it all holders together.
    """
    rng, tree = of.rng(epsilon, seed), halves(CELLS // 2)
    cells, people = CELLS // 2, MANY // of.waves
    mechanism = create_mechanism("subset", epsilon, cells, 2)
    changes = np.arange(cells) % CHANGING == 0
    start, mass = rng.uniform(0.2, 0.5, cells), rng.dirichlet(np.full(cells, 5.0))
    shares = []
    for wave in range(of.waves):
        slow = 0.04 * wave if of.drift == "slow" else 0.0
        sudden = 0.4 if of.drift == "sudden" and wave >= of.jump else 0.0
        shares.append(np.where(changes, np.minimum(start + slow + sudden, 0.95), start))
    truth = np.array([[mass @ each, *each] for each in shares])
    waves: dict[str, dict[int, list[QuestionCounts]]] = {EVERY: {}, LAST: {}}
    ever: dict[str, dict[tuple[int, int, int], list[bool]]] = {EVERY: {}, LAST: {}}
    last: dict[str, OverTime] = {}
    for number, share in enumerate(shares, 1):
        law = np.stack([mass * (1.0 - share), mass * share], axis=1)
        counts, sums, n = np.zeros(law.shape, int), np.zeros(mechanism.sum_size, int), 0
        for until in np.linspace(0, people, LOOKS + 1)[1:].astype(int):
            more = rng.multinomial(until - n, law.ravel()).reshape(law.shape)
            counts, sums, n = counts + more, sums + simulate_sums(mechanism, more, rng), int(until)
            question = QuestionCounts(tree, mechanism, sums, n, planned=people)
            waves[EVERY][number] = [question]
            names = [EVERY]
            if n == people:
                waves[LAST][number] = [replace(question, planned=None)]
                names.append(LAST)
            for name in names:
                last[name] = over_time(LABEL, waves[name], of.waves)
                for each in last[name].changes:
                    place = 0 if each.cell is None else each.cell + 1
                    true = truth[each.wave - 1, place] - truth[each.since - 1, place]
                    held = ever[name].setdefault((each.since, each.wave, place), [])
                    held.append(each.low <= true <= each.high)
    for name, listed in ever.items():
        false = [truth[since - 1, place] == truth[wave - 1, place] for since, wave, place in listed]
        missed = [not all(held) for held in listed.values()]
        true = {1 + cell for cell in np.flatnonzero(changes)} if of.drift != "none" else set()
        ends = {
            each.cell + 1
            for each in last[name].changes
            if each.cell is not None and (each.since, each.wave) == (1, of.waves)
        }
        yield (
            name,
            {"panel": str(of)},
            {
                "score": sum(false) / max(len(listed), 1),
                "missed": sum(missed) / max(len(listed), 1),
                "listed": float(len(listed)),
                "found": len(ends & true) / len(true) if true else float("nan"),
            },
        )
