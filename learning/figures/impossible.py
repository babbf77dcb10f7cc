"""Reports that cannot all be honest: a lower bound on how many of them are false.

Of h honest reports, whatever their records, the unbiased numbers N of holders per category are a
point of the simplex {N >= 0, sum N = h} plus noise of known variance: ``Frequencies``, with v the
variance of each. Two statistics are tested.

**Each number.** N_c is at least 0, so z_c = N_c / sqrt(v_c) is not far below 0. For a mechanism
that supports categories, a number below 0 has lighter tails than a normal one of variance h q (1 -
q), if q <= 1/2 (Hoeffding, 1963, equation 2.2), however few the reports.

**All together.** Q = sum_c (N_c - M_c)^2 / v_c, with M the nearest point of the simplex, is at
most what the truth in place of M would give, a chi-squared variable, whatever the truth is. (The
second moment of the numbers, less what a population could explain.) Left out where a number's
normal law is in doubt: v_c below ``LEAST_VARIANCE`` squares of the most that one report adds.

Each is compared with the bound of ``looks`` for its dimensions m: mixing over means of variance
x v gives the martingale (1 + x)^(-m/2) exp(x Q / (2 + 2 x)), so by Ville's inequality

    Q <= (1 + 1 / x) (m log(1 + x) + 2 log(1 / alpha))                                         (1)

holds at every look ever with probability 1 - alpha. ``FALSE_ALARMS`` is divided evenly: half for
the numbers, a quarter for Q of each stratum, a quarter for Q of all strata together.

**How many.** One false report adds at least -a to a number and a vector of length at most l to all.
So of n reports L are false at least, where L is the least with

    N_c + L a >= -bound,    sqrt(Q) - L l / sqrt(n v) <= bound,

strata added up. All bounds hold at once with probability 1 - ``FALSE_ALARMS``, so the largest
does.

**Events of payloads.** Of n honest payloads, whatever the records, the number in an event that has
at most the probability u for any category is above n x, x > u, with probability at most

    exp(-n (x log(x / u) + (1 - x) log((1 - x) / (1 - u))))                                    (2)

(Chernoff). Where ``EventCounts`` are kept, of all ways together and of each, the excess is false.
Another ``FALSE_ALARMS`` is divided over both, the ways, the events, and the m-th time that counts
were added to, by 6 / (pi m)^2, so it holds at every look.

False reports that look like honest ones of some population are not seen, however many.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, log, log1p, pi, sqrt
from operator import attrgetter

import numpy as np

from privet.protocol.mechanisms.base import Frequencies

from ..core.amounts import thousands
from ..core.counts import EventCounts, QuestionCounts
from ..core.public_data import Floats

FALSE_ALARMS = 1e-3
"""Largest probability of an alarm ever among honest reports, by sums; and the same by events."""
LEAST_VARIANCE = 10.0
STEPS = 50
"""Halvings of a part of the reports."""


@dataclass(frozen=True)
class Impossible:
    """At least ``least`` of ``n`` reports are false."""

    least: int
    n: int

    @property
    def sentence(self) -> str:
        """The least number of false reports, and what follows, in words."""
        return (
            f"These reports cannot all be honest: at least {thousands(self.least)} of "
            f"{thousands(self.n)} are false. What they say of the holders is withheld, and a model "
            "fitted from them may be wrong anywhere."
        )


def impossible(questions: Sequence[QuestionCounts]) -> Impossible | None:
    """A lower bound on the false reports; None if honest people may have sent them all.

    Questions are tested at a level that holds for all of them together.
    """
    answered = [question for question in questions if question.n]
    found = []
    for question in answered:
        level = FALSE_ALARMS / len(answered)
        least = max(least_false(question, level), least_by_events(question, level))
        found.append(Impossible(min(least, question.n), question.n))
    most = max(found, key=attrgetter("least"), default=None)
    return most if most is not None and most.least > 0 else None


def least_false(question: QuestionCounts, level: float = FALSE_ALARMS) -> int:
    """A lower bound on the false among the reports to one question; too large with ``level``."""
    strata = question.mechanism.frequencies(question.sums, question.n)
    slots = question.mechanism.slots
    numbers = sum(len(part.values) for parts in strata for part in parts) + slots + 1
    tested = sum(map(len, strata))
    progress = 1.0 if question.progress is None else question.progress
    of_strata, squares, longest, dimensions = 0, 0.0, 0.0, 0
    for parts in strata:
        found, length = [0], 0.0
        for part in parts:
            if not part.n:
                continue
            relative = progress * part.n * len(strata) / question.n
            factor = sqrt(bound(1, relative, level / 2.0 / numbers))
            lowest = factor * sqrt(part.n * part.other) + float(part.values.min())
            found.append(ceil(lowest / part.least))
            m, distance = _distance(part)
            if m:
                of_report = part.length / sqrt(part.n * min(part.own, part.other))
                most = bound(m, relative, level / 4.0 / tested)
                found.append(ceil((sqrt(distance) - sqrt(most)) / of_report))
                squares, dimensions = squares + distance, dimensions + m
                length += of_report**2
        of_strata += max(found)
        longest = max(longest, sqrt(length))
    found = [of_strata, _least_by_totals(question, sqrt(bound(1, progress, level / 2.0 / numbers)))]
    if dimensions:
        most = bound(dimensions, progress, level / 4.0)
        found.append(ceil((sqrt(squares) - sqrt(most)) / longest))
    return max(found)


def least_by_events(question: QuestionCounts, level: float = FALSE_ALARMS) -> int:
    """A lower bound on the false among the payloads whose events are kept."""
    bounds = question.mechanism.event_bounds()
    ways: dict[str, list[EventCounts]] = {}
    for each in question.events:
        ways.setdefault(each.way, []).append(each)
    if not ways or not len(bounds):
        return 0
    of_each = level / 2.0 / (len(ways) * (len(ways) + 1))
    found = [_excess(question.events, bounds, level / 2.0)]
    return max(found + [_excess(of_way, bounds, of_each) for of_way in ways.values()])


def _excess(counted: Sequence[EventCounts], bounds: Floats, level: float) -> int:
    """The most by which a count is above what chance gives at all times with this ``level``."""
    n, m = sum(each.n for each in counted), sum(each.closings for each in counted)
    counts = np.sum([each.counts for each in counted], axis=0)
    per_report = log(len(bounds) * (pi * m) ** 2 / 6.0 / level) / n
    u = np.clip(bounds, 1e-12, 1.0 - 1e-12)
    low, high = u, np.ones_like(u)
    for _ in range(STEPS):
        x = (low + high) / 2.0
        rest = np.maximum(1.0 - x, 1e-300)
        enough = x * np.log(x / u) + rest * np.log(rest / (1.0 - u)) >= per_report
        low, high = np.where(enough, low, x), np.where(enough, x, high)
    return max(ceil(float((counts - n * high).max())), 0)


def bound(dimensions: int, progress: float, level: float) -> float:
    """The right side of (1), ``progress`` being the part of the planned reports that is in.

    x is about where that is least at the planned end.
    """
    evidence = log(1.0 / level)
    x = 2.0 * (sqrt(evidence / dimensions) + evidence / dimensions) * progress
    return (1.0 + 1.0 / x) * (dimensions * log1p(x) + 2.0 * evidence)


def _distance(part: Frequencies) -> tuple[int, float]:
    """The dimensions of Q and its value; 0 of both where a number's normal law is in doubt."""
    values, n, m = part.values, part.n, len(part.values)
    if n < LEAST_VARIANCE * part.kurtosis or m < 2:
        return 0, 0.0
    likely = np.maximum(values, 0.0)
    likely *= n / max(float(likely.sum()), n)
    variance = n * part.other + likely * (part.own - part.other)
    rest = values - _nearest(values, variance, float(n))
    # numbers that add up to n vary in m - 1 directions, in each by m / (m - 1) as much
    return m - 1, float((rest**2 / variance).sum()) * (m - 1) / m


def _nearest(values: Floats, variance: Floats, n: float) -> Floats:
    """The nearest numbers by ``variance`` that are not negative and add up to ``n`` at most."""
    positive = np.maximum(values, 0.0)
    if positive.sum() <= n:
        return positive
    order = np.argsort(-values / variance)
    over = (np.cumsum(values[order]) - n) / np.cumsum(variance[order])
    kept = int(np.count_nonzero(values[order] > over * variance[order]))
    return np.asarray(np.maximum(values - over[kept - 1] * variance, 0.0))


def _least_by_totals(question: QuestionCounts, factor: float) -> int:
    """A lower bound from the number of all holders, and of those in each slot, over all cells."""
    mechanism, n = question.mechanism, question.n
    found = [0]
    for slot in range(-1, mechanism.slots):
        weights = np.zeros_like(question.counts)
        weights[:, slot if slot >= 0 else slice(None)] = 1.0
        total = float((weights * question.counts).sum())
        error = factor * sqrt(max(mechanism.linear_variance(weights, n, question.plausible), 0.0))
        least, most = mechanism.influence(weights)
        # a sum may leave 0 or n by rounding alone
        if total < -error - 1e-6 * n:
            found.append(ceil((total + error) / least))
        if total > n + error + 1e-6 * n and most > 1.0:
            found.append(ceil((total - n - error) / (most - 1.0)))
    return max(found)
