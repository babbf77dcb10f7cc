"""Privacy amplification by shuffling: a certified bound on the central guarantee.

n holders' reports R_1, ..., R_n arrive in random order. Let x and x' be two answers of one holder,
p the greatest likelihood ratio of a report between any two answers, and b the total variation
between the reports of x and of x'. With a = b / (p - 1), and Q, Q' the normalized positive parts
of R_x - R_x' and R_x' - R_x, there is an L so that

    R_x  = p a Q + a Q' + c L,      R_x' = a Q + p a Q' + c L,      c = 1 - (p + 1) a,
    R_y >= a Q + a Q' + (c / p) L =: M       for the answers y of all others.

So every other report is drawn from the same M with some probability: a privacy blanket (Balle,
Bell, Gascón and Nissim 2019, "The Privacy Blanket of the Shuffle Model", section 5). The others'
remaining draws may be given away, and then the hockey-stick divergence between the two shuffled
batches is

    delta(ε) <= E[(V_1 + ... + V_n)_+] / n,      V = (p - 1)(1 + e^ε)/2 D - (e^ε - 1) Y,

with independent (D, Y): (1, (p+1)/2) and (-1, (p+1)/2) with probability a each, (0, p) with
probability c / p, else (0, 0). The best M is the greatest (Su, Cheng and Wang 2025,
"Decomposition-Based Optimal Bounds for Privacy Amplification via Shuffling", arXiv 2504.07414); for
frequency oracles this one is as great in Q and Q', which is what counts where n is large. The
decomposition into Q and Q' alone (Feldman, McMillan and Talwar 2023, "Stronger Privacy
Amplification by Shuffling", arXiv 2208.04591) is not used: its general theorem has an erratum.

(.)_+ is convex, so the bound stays one where (D, Y) is spread out without changing its mean. Y is
made 0 or p, with probability 1/p for p whatever D is. Then it grows with a, so an upper bound on b
will do, and (p - 1) / (p + 1) is one for every mechanism. Let C be the number of D that are not 0,
binomial (n, 2 a). Given C, half of them are +1 at random, and the number of Y that are p is a sum
of independent trials, of which a binomial number of the same mean is a further spread
(Hoeffding 1956).

*Numbers.* The three binomials are taken in steps of a small part of their standard deviations. A
step has at most the mass of the geometric progression that touches the log-concave probabilities
inside it, and stands for its worst end. The first and the last step, of negligible mass, reach to
0 and n. ``SLACK`` covers rounding.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .task import Task

Floats = NDArray[np.float64]

FINE = 16
"""Steps per standard deviation."""
NEGLIGIBLE = 1e-6
"""The part of delta that the first and the last steps may cost, at most."""
SLACK = 1.0 + 1e-6
"""Covers rounding: of a logarithm it is 1e-16 times the distance from the mean, 1e-9 for 1e12."""
CLOSE = 1e-5
"""Relative width of the interval in which the search for epsilon ends."""
MOST_REPORTS, LEAST_DELTA, GREATEST_RATIO = 10**12, 1e-100, 1e20
"""More reports count as this number; above that ratio nothing is proved beyond the local
guarantee."""
TINY, FLAT = 1e-300, 1e-15
"""Smallest probability and slope, in place of 0."""
REMAINDERS = np.array(
    [
        0.0,
        *(
            math.lgamma(k + 1) - (k + 0.5) * math.log(k) + k - 0.5 * math.log(2 * math.pi)
            for k in range(1, 16)
        ),
    ]
)
"""``_remainder`` of 0, ..., 15."""


@dataclass(frozen=True)
class Randomizer:
    """The properties of a report that the bound needs; upper bounds will do.

    ``ratio`` is the greatest likelihood ratio between two answers, and ``variation`` the greatest
    total variation between their reports.
    """

    ratio: float
    variation: float = 1.0

    @classmethod
    def of(cls, ratio: Fraction, variation: Fraction) -> "Randomizer":
        """The same as floats, rounded up."""
        if ratio > GREATEST_RATIO:
            return cls(math.inf)
        return cls(*(math.nextafter(float(value), math.inf) for value in (ratio, variation)))

    @property
    def epsilon(self) -> float:
        """The local guarantee."""
        return math.log(self.ratio)

    @property
    def a(self) -> float:
        """The least probability with which another report is from Q, or from Q'."""
        return min(self.variation / (self.ratio - 1.0), 1.0 / (self.ratio + 1.0))


@lru_cache(maxsize=4096)
def central_epsilon(randomizer: Randomizer, reports: int, delta: float) -> float:
    """The smallest ε we can prove for ``reports`` shuffled reports at ``delta``.

    At most the local epsilon, which stands where shuffling adds nothing that we can prove. Falls
    with ``reports`` and grows with the local epsilon, up to a factor of 1.001 from the steps.
    ValueError for a delta outside ``LEAST_DELTA``..1.
    """
    if not LEAST_DELTA <= delta < 1.0:
        raise ValueError(f"delta is {delta!r}: give a number from {LEAST_DELTA} to below 1")
    if reports < 2 or not 1.0 < randomizer.ratio < GREATEST_RATIO:
        return randomizer.epsilon
    batch = Batch(randomizer, min(reports, MOST_REPORTS), delta)
    low = high = randomizer.epsilon
    if batch.delta(0.0) <= delta:
        return 0.0
    if batch.delta(high) > delta:
        return high
    while batch.delta(low) <= delta:
        low, high = low / 2.0, low
    while high - low > CLOSE * high:
        middle = math.sqrt(low * high)
        low, high = (low, middle) if batch.delta(middle) <= delta else (middle, high)
    return high


def randomizers_of(task: Task) -> tuple[Randomizer, ...]:
    """The randomizers that shuffling amplifies: one for a whole report, or one per question.

    Reports that answer different questions do not hide one another.
    """
    ratios = [mechanism.worst_ratio() for mechanism in task.mechanisms]
    variations = [mechanism.variation for mechanism in task.mechanisms]
    if task.allocation == "one":
        return tuple(map(Randomizer.of, ratios, variations))
    one = Fraction(1)
    same = math.prod((one - min(variation, one) for variation in variations), start=one)
    return (Randomizer.of(math.prod(ratios, start=one), one - same),)


def epsilon_of_batch(task: Task, reports: int, delta: float) -> float:
    """The ε of (ε, delta) for a holder of ``task`` in a shuffled batch of ``reports``.

    With disclosed columns, ``reports`` counts only reports of the same stratum. It holds against
    those who see only the shuffled batch and know the others' answers, as long as the reports are
    of honest holders. Raises ``ValueError`` for a delta that is too small.
    """
    of_each = (central_epsilon(each, reports, delta) for each in randomizers_of(task))
    return min(max(of_each), task.log_ratio)


def keeps_epsilon(task: Task, reports: int, epsilon: float, delta: float) -> bool:
    """True if ``epsilon_of_batch`` is at most ``epsilon``, but for its tolerance, at a tenth of
    the time: one delta is worked out where a search takes twenty."""
    if epsilon >= task.log_ratio:
        return True
    below = epsilon * (1.0 - CLOSE)
    return all(
        epsilon >= each.epsilon
        or (
            reports >= 2
            and each.ratio < GREATEST_RATIO
            and Batch(each, min(reports, MOST_REPORTS), delta).delta(below) <= delta
        )
        for each in randomizers_of(task)
    )


class Batch:
    """Shuffled reports: tables from which delta follows for any ε, for deltas from ``least`` on."""

    def __init__(self, randomizer: Randomizer, reports: int, least: float) -> None:
        self.ratio, self.n = randomizer.ratio, float(reports)
        p, a, n = self.ratio, randomizer.a, self.n
        spread = 2.0 * math.log(p) - math.log(NEGLIGIBLE * least)
        C = steps_of(n, np.array([[2.0 * a]]), spread)
        fewest, most = C.first.T, C.last.T
        self.mass = C.mass[0]
        # Y and its chance to be p are least where C is, and D varies most where C is greatest
        others = max(0.0, (1.0 - (p + 1.0) * a) / (p * (1.0 - 2.0 * a)))
        chance = (fewest * (p + 1.0) / (2.0 * p) + (n - fewest) * others) / n
        self.Y = steps_of(n, np.maximum(chance, TINY), spread)
        self.step, self.excess = excess_of(most, spread)

    def delta(self, epsilon: float) -> float:
        """An upper bound on the delta with which ``epsilon`` holds."""
        gain = (self.ratio - 1.0) * (1.0 + math.exp(epsilon))
        at = math.expm1(epsilon) * self.ratio / gain * self.Y.first / self.step
        below = np.minimum(at, self.excess.shape[1] - 2).astype(np.int64)
        part = np.minimum(at - below, 1.0)
        rows = np.arange(len(self.excess))[:, np.newaxis]
        # the excess is convex in its threshold, so a chord is above it
        excess = (1.0 - part) * self.excess[rows, below] + part * self.excess[rows, below + 1]
        return SLACK * gain / self.n * float(self.mass @ (self.Y.mass * excess).sum(axis=1))


class Steps(NamedTuple):
    """Rows of steps that cover 0..n: the ``first`` and ``last`` number and the mass at most."""

    first: Floats
    last: Floats
    mass: Floats


def steps_of(n: float, chance: Floats, spread: float) -> Steps:
    """Steps of binomials (n, chance), chance of shape ``(rows, 1)``.

    Outside the first and the last step, which reach to 0 and n, is at most e^-spread on each side.
    """
    mean, deviation = n * chance, np.sqrt(n * chance * (1.0 - chance))
    width = np.maximum(1.0, np.floor(deviation / FINE))
    reach = spread / 3.0 + np.sqrt((spread / 3.0) ** 2 + 2.0 * spread * deviation**2)  # Bernstein
    count = math.ceil(float((2.0 * reach / width).max())) + 2
    start = np.maximum(0.0, np.floor(mean - reach))
    first = np.minimum(start + width * np.arange(count), n + 1.0)
    last = np.minimum(first + width - 1.0, n)
    beyond = last[:, -1:] + 1.0
    mass = [
        _tail(start - 1.0, n, chance, down=True),
        _mass(first, last, n, chance),
        _tail(beyond, n, chance, down=False),
    ]
    return Steps(
        np.hstack([np.zeros_like(start), np.minimum(first, n), np.minimum(beyond, n)]),
        np.hstack([np.maximum(start - 1.0, 0.0), last, np.full_like(beyond, n)]),
        np.hstack(mass),
    )


def _mass(first: Floats, last: Floats, n: float | Floats, chance: Floats) -> Floats:
    """At least the binomial probability of first..last, 0 where that is empty.

    The probabilities are log-concave, so the geometric progression through the middle one and the
    next is nowhere below them.
    """
    size = last - first + 1.0
    middle = np.clip(np.floor((first + last) / 2.0), 0.0, n)
    slope = np.log(np.maximum(n - middle, 0.5) * chance / ((middle + 1.0) * (1.0 - chance)))
    slope = np.where((size > 1.0) & (np.abs(slope) > FLAT), slope, FLAT)
    progression = np.exp(slope * (first - middle)) * np.expm1(slope * size) / np.expm1(slope)
    return np.where(size > 0.0, np.exp(log_pmf(middle, n, chance)) * progression, 0.0)


def _tail(start: Floats, n: float | Floats, chance: Floats, *, down: bool) -> Floats:
    """At least the probability of ``start`` and all below, or above, it; 0 outside of 0..n."""
    k = np.clip(start, 0.0, n)
    odds = chance / (1.0 - chance)
    ratio = k / ((n - k + 1.0) * odds) if down else (n - k) * odds / (k + 1.0)
    falls = ratio < 1.0
    total = np.exp(log_pmf(k, n, chance)) / np.where(falls, 1.0 - ratio, 1.0)
    return np.where((start >= 0.0) & (start <= n), np.where(falls, total, 1.0), 0.0)


def excess_of(c: Floats, spread: float) -> tuple[Floats, Floats]:
    """The step, and at least E(A - c/2 - t)_+ at t = 0, step, ... for A binomial (c, 1/2).

    ``c`` and the steps have shape ``(rows, 1)``. At most e^-spread lies above the last t.
    """
    step = np.maximum(1.0, np.floor(np.sqrt(c) / 2.0 / FINE))
    count = math.ceil(float((np.sqrt(spread * c / 2.0) / step).max())) + 2  # Hoeffding
    t = step * np.arange(count)
    first = np.minimum(np.ceil(c / 2.0) + t, c + 1.0)
    last = np.minimum(first + step - 1.0, c)
    half = np.full_like(c, 0.5)
    # where probabilities fall, a step has its mean below the middle
    mass, mean = _mass(first, last, c, half), (first + last - c) / 2.0
    end = first[:, -1:]
    mass[:, -1:] = _tail(end, c, half, down=False)
    mean[:, -1:] = end - c / 2.0 + np.maximum(c - end, 0.0) / (2.0 * end + 1.0 - c)
    total, moment = (np.cumsum(x[:, ::-1], axis=1)[:, ::-1] for x in (mass, mass * mean))
    return step, moment - t * total


def log_pmf(k: Floats, n: float | Floats, chance: Floats) -> Floats:
    """ln of the binomial probability of k, for 0 <= k <= n.

    Its error does not grow with n as that of differences of log-gammas does (Loader 2000, "Fast and
    Accurate Computation of Binomial Probabilities").
    """
    inner = np.clip(k, 0.5, np.maximum(n - 0.5, 0.5))
    rest = np.maximum(n - inner, 0.5)
    log = _remainder(np.asarray(n, dtype=np.float64)) - _remainder(inner) - _remainder(rest)
    log = log - _deviance(inner, n * chance) - _deviance(rest, n * (1.0 - chance))
    log = log - 0.5 * np.log(2.0 * np.pi * inner * rest / np.maximum(n, 1.0))
    edges = np.where(k <= 0.0, n * np.log1p(-chance), n * np.log(chance))
    return np.asarray(np.where((k <= 0.0) | (k >= n), edges, log))


def _deviance(x: Floats, mean: Floats) -> Floats:
    """x ln(x / mean) - x + mean."""
    mean = np.maximum(mean, TINY)
    part = (x - mean) / mean
    return np.asarray(mean * ((1.0 + part) * np.log1p(part) - part))


def _remainder(x: Floats) -> Floats:
    """ln x! less Stirling's formula, (x + 1/2) ln x - x + ln(2 pi) / 2."""
    small = REMAINDERS[np.minimum(x, len(REMAINDERS) - 1.0).astype(np.int64)]
    square = 1.0 / np.maximum(x, 1.0) ** 2
    series = (1 / 12 - (1 / 360 - (1 / 1260 - square / 1680) * square) * square) / np.maximum(
        x, 1.0
    )
    return np.where(x < len(REMAINDERS), small, series)
