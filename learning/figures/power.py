"""The least differences between holders and public records that tests detect.

Stated the public records, a test detects estimates that differ from theirs by more than is
critical. A difference of delta is then detected with power

    power = Phi((delta - critical) / sd),

sd being the standard deviation of the reports' estimate where holders are then. Up and down differ
for shares, and the least difference is the larger. ``insight`` says the one that is detected with
the probability ``POWER`` beside every list without differences, and a plan (``planning.detection``)
says it for the reports to expect.

Shares of classes are tested by the binomial law of the public count, averaged over what reports
leave open (``share_p``), and means by a normal law (``looks.p_of_equal_means``).
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from math import inf, sqrt

import numpy as np

from ..core.looks import LEVEL, Progresses, critical_difference, p_of_equal_shares
from ..core.public_data import Floats

POWER = 0.8
TARGET = 0.05
"""The difference that is looked for where nobody wishes another, as a part of the range."""
ERRORS_BELOW = 0.8416212335729143
"""Standard normal quantile of ``POWER``."""
STEPS = np.linspace(0.0, 1.0, 81) ** 2
"""Parts of the way from a share to 0 or 1 at which a test is tried."""
ROUNDS = 8
"""Rounds in which the least difference and the noise there are found from each other."""
NODES = np.linspace(-6.0, 6.0, 97)
"""Values of a standard normal variable over which p-values are averaged, also the rarest."""
WEIGHTS = np.exp(-(NODES**2) / 2.0) / np.exp(-(NODES**2) / 2.0).sum()


@dataclass(frozen=True)
class Difference:
    """A difference of two estimates to detect by the normal law, with the ``variances`` of both.

    It is one of ``tests``, and ``largest`` is the greatest that there can be. The test is at the
    ``progress`` of both, or in one look if that is None. The second estimate is ``given``, as
    public records are, or varies from one collection to the next, as an earlier wave does.
    """

    variances: tuple[float, float]
    tests: int
    largest: float
    progress: Progresses
    given: bool = True

    @classmethod
    def there(
        cls,
        variances: Callable[[float], tuple[float, float]],
        tests: int,
        largest: float,
        progress: Progresses,
        *,
        given: bool = True,
    ) -> "Difference":
        """With the variances where holders are who differ by the least that is detected, as these
        depend on each other: ``variances`` gives those at a difference."""
        least = 0.0
        for _ in range(ROUNDS):
            found = cls(variances(least), tests, largest, progress, given)
            least = found.critical + ERRORS_BELOW * found.error
        return found

    @property
    def error(self) -> float:
        """The standard deviation of the estimated difference, stated what is ``given``."""
        return sqrt(self.variances[0] if self.given else sum(self.variances))

    @cached_property
    def critical(self) -> float:
        """The least estimated difference that is detected."""
        return float(critical_difference(self.variances, self.progress, LEVEL / self.tests))

    def power(self, delta: float) -> float:
        """The probability of detecting a difference of ``delta``."""
        from scipy.special import ndtr  # slow to import

        return float(ndtr((delta - self.critical) / self.error))

    def smallest(self, power: float = POWER) -> float | None:
        """The difference that is detected with probability ``power``; None above ``largest``."""
        delta = self.critical + errors_below(power) * self.error
        return delta if delta < self.largest else None


@dataclass(frozen=True, eq=False)
class _Way:
    """A share's way from the public one to 0 or 1: ``away`` by steps, with the reports' ``errors``
    there; from ``critical`` on an estimate is detected, or nowhere if that is None."""

    away: Floats
    errors: Floats
    critical: float | None

    @property
    def room(self) -> float:
        return float(self.away[-1])

    def error(self, delta: float) -> float:
        return float(np.interp(delta, self.away, self.errors))

    def smallest(self, below: float) -> float:
        """The least difference, ``below`` errors of which leave what is critical; all there is
        room for where none is detected."""
        if self.critical is None:
            return self.room
        least = self.critical
        for _ in range(ROUNDS):  # errors depend on where the holders are
            least = self.critical + below * self.error(least)
        return min(least, self.room)


@dataclass(frozen=True)
class ShareDifference:
    """A difference to detect of a share, from ``hits`` of ``rows`` public records.

    It is one of ``tests``. ``noise`` is its variance for given ``holders``, by the share. Cells
    were grown on the records as by ``selection``.
    """

    hits: float
    rows: float
    noise: Callable[[Floats], Floats]
    holders: float
    tests: int
    progress: float | None
    selection: float = 1.0

    @property
    def public(self) -> float:
        """The public records' share."""
        return self.hits / self.rows if self.rows else 0.5

    def variance(self, shares: Floats | float) -> Floats:
        """The variance of the estimated difference, stated the public records, at ``shares``."""
        at = np.asarray(shares, dtype=np.float64)
        sampled = binomial_variance(at, np.asarray(self.public)) / self.holders
        return np.asarray(np.maximum(self.noise(at), 0.0) + sampled)

    @cached_property
    def _ways(self) -> tuple[_Way, ...]:
        return self._way(0.0), self._way(1.0)

    def _way(self, end: float) -> _Way:
        away = abs(end - self.public) * STEPS
        shares = self.public + np.sign(end - self.public) * away
        errors, hits = np.sqrt(self.variance(shares)), np.full_like(shares, self.hits)
        p = share_p(self.progress, hits, np.float64(self.rows), shares, errors, self.selection)
        level = LEVEL / self.tests
        unseen = np.flatnonzero(p > level)
        last = int(unseen[-1]) if unseen.size else 0
        if last == len(STEPS) - 1:
            return _Way(away, errors, None)
        # between two steps the root of -log p, which is about the number of errors, is linear
        below, above = np.sqrt(-np.log(np.clip(p[last : last + 2], 1e-300, 1.0)))
        part = float((sqrt(-np.log(level)) - below) / max(above - below, 1e-300))
        return _Way(away, errors, float(np.interp(last + part, range(len(away)), away)))

    def power(self, delta: float) -> float:
        """The probability of detecting a difference of ``delta``, up or down; 0 without room."""
        from scipy.special import ndtr  # slow to import

        return min(
            (
                0.0
                if way.critical is None
                else float(ndtr((delta - way.critical) / way.error(delta)))
                for way in self._ways
                if delta <= way.room
            ),
            default=0.0,
        )

    def smallest(self, power: float = POWER) -> float | None:
        """The least difference of which every greater one that is possible is detected with
        probability ``power``; None if none is, or none is possible."""
        below = errors_below(power)
        least = max(way.smallest(below) for way in self._ways)
        return least if least < max(way.room for way in self._ways) else None


def least_beside(rows: int, progress: float | None) -> float:
    """The least difference from a share of one half of ``rows`` public records that endless reports
    detect, of which nothing but the records is uncertain."""
    endless = ShareDifference(rows / 2.0, float(rows), np.zeros_like, inf, 1, progress)
    return endless.smallest() or 0.5


def errors_below(power: float) -> float:
    """Standard errors below a difference, at which it is critical if detected with ``power``."""
    from scipy.special import ndtri  # slow to import

    return ERRORS_BELOW if power == POWER else float(ndtri(power))


def binomial_variance(reported: Floats, public: Floats) -> Floats:
    """The variance p (1 - p) of one record, if p is either share: a few alike do not show 0."""
    t = np.clip(reported, 0.0, 1.0)
    return np.asarray(np.maximum(t * (1.0 - t), public * (1.0 - public)))


def share_p(
    progress: float | None,
    hits: Floats,
    rows: Floats | float,
    share: Floats,
    error: Floats,
    selection: float = 1.0,
) -> Floats:
    """P-values of ``hits`` among ``rows`` public records, and the holders' share up to ``error``.

    Cells grown on these records make them as few as ``selection`` times fewer would be.
    """
    if progress is not None:
        fewer = hits / selection, rows / selection
        return p_of_equal_shares(*fewer, share, error, progress)
    least = np.minimum(error, 0.5)  # a share of 0 up to an error does not show that all are alike
    t = np.clip(share, least, 1.0 - least)
    grown = (selection - 1.0) * t * (1.0 - t) / np.maximum(rows, 1.0)
    return _binomial_p(hits, rows, share, np.sqrt(error**2 + grown))


def _binomial_p(hits: Floats, rows: Floats | float, share: Floats, error: Floats) -> Floats:
    """Two-sided mid-p-values of ``hits`` among ``rows`` public records with the holders' share.

    That is known up to an ``error``, over which the binomial law is averaged.
    """
    from scipy.special import bdtr, gammaln, xlog1py, xlogy  # slow to import

    shares = np.clip(share[..., None] + error[..., None] * NODES, 0.0, 1.0)
    h, m = (np.rint(counts)[..., None].astype(np.int64) for counts in (hits, rows))
    chosen = gammaln(m + 1.0) - gammaln(h + 1.0) - gammaln(m - h + 1.0)
    exactly = np.exp(chosen + xlogy(h, shares) + xlog1py(m - h, -shares))
    below = (bdtr(h, m, shares) - exactly / 2.0) @ WEIGHTS
    return np.asarray(np.minimum(2.0 * np.minimum(below, 1.0 - below), 1.0))


def smoothed_shares(public_by_cell: Floats) -> Floats:
    """Shares of slots per cell, ``(cells, slots)``, smoothed by one record of the average."""
    average = public_by_cell.sum(axis=0) / public_by_cell.sum()
    return np.asarray((public_by_cell + average) / (public_by_cell.sum(axis=1) + 1.0)[:, None])
