"""A figure of the holders: the mean of weights over counts, and all that is asked of it.

Of n holders whose record fits the task, V_ks is the debiased count of slot s in cell k. For weights
w_ks and any c

    A = c + sum_ks (w_ks - c) V_ks / n,
    Var A = ((w - c)' Cov(V) (w - c) + (A - c)^2 Var n) / n^2                                  (1)

is a class's share (w = 1 in its slot), the mean label (w = what each slot stands for), or a mass (w
= 1 in a cell, or below a node). The share or mean within a cell or below a node is the ratio of two
of these, with the variance of (1) for w less the ratio, over the mass squared. Where all cells are
looked at together (``masses``, ``cells``), Var n and half a step of the counts are left out.
``Reports`` makes figures of the counts of one or two questions (``joint``).

An **interval** is about those who reported, so it has the mechanism's noise and, for a number, what
rounding it to a level hides. Whether two populations differ is another question, with the chance of
who was asked: of n holders a figure has the variance of one holder's over n besides (``sampled``).

Two figures are compared by the normal law of both (``looks.p_of_equal_means``). A share is compared
with public records by the binomial law of their count (``PublicShare``): where the populations
agree in a share p, that count is binomial with p, which reports give up to a standard error. At one
look the one-sided mid-p-value is averaged over it and doubled (``power``); at every look the test
is that of ``looks.p_of_equal_shares``.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from privet.protocol.features import Label

from ..core.amounts import amount, percent, thousands
from ..core.counts import (
    Estimate,
    Interval,
    QuestionCounts,
    rounding_variance,
    without_label_question,
)
from ..core.labels import ClassLabel, NumberLabel, kind_of
from ..core.looks import LEVEL, MEANING, factor_at, of_both, p_of_equal_means
from ..core.public_data import Floats
from ..core.ratio import contrast_variance, project_on_simplex
from .joint import Noise, joined, of_shares
from .power import Difference, ShareDifference, binomial_variance, share_p

SIDES = np.array([0.0, -1.0, 1.0])
"""A value and its interval's ends, in half widths."""
LEAST_MASS = 2.0
"""Standard errors above 0 that the reported holders of a cell need, for a share of them to be
compared with that of another wave."""


@dataclass(frozen=True, eq=False)
class Figure:
    """A figure, or an array of figures, with the ``variance`` of noise and what else is unsure.

    ``spread`` is the variance of one holder's figure, 0 of a part of those who reported, and
    ``holders`` their number. ``progress`` is
    that of the reports, or 1 of what has one look, such as public records; None is for one look.
    ``noise`` gives the variance of a share by the spread where holders are others. ``given``
    figures do not vary from one collection to the next: those of public records. ``name``, the
    number of ``reports`` and the interval that is ``stated``, if another, are for ``explain``.
    """

    value: Floats
    variance: Floats
    spread: Floats | float
    holders: Floats | float
    progress: float | None
    bounds: tuple[Floats | float, Floats | float]
    noise: Noise | None = field(default=None, kw_only=True)
    given: bool = field(default=False, kw_only=True)
    name: str = field(default="", kw_only=True)
    reports: int = field(default=0, kw_only=True)
    stated: Interval | None = field(default=None, kw_only=True)

    @property
    def sampled(self) -> Floats:
        """The variance with the chance of who was asked."""
        return np.asarray(self.variance + self.spread / self.holders)

    @property
    def drawn(self) -> "Figure":
        """The same as an estimate of those of whom the holders are drawn."""
        return replace(self, variance=self.sampled, spread=0.0)

    @property
    def estimate(self) -> Estimate:
        """The value with its variance and factor, of one figure."""
        return Estimate(float(self.value), float(self.variance), factor_at(self.progress))

    def interval(self) -> Interval:
        """The 95 % interval of one figure, at all looks or at one."""
        low, high = map(float, self.bounds)
        return self.estimate.interval(low, high)

    def explain(self) -> str:
        """Three lines on how one figure came about: its counts, its noise, its looks."""
        is_share = self.bounds == (0.0, 1.0)
        text, unit, scale = (percent, " points", 100.0) if is_share else (amount, "", 1.0)
        what = f"the share of {self.name}" if is_share else f"the mean {self.name}"
        of, holders = self.stated or self.interval(), thousands(round(float(self.holders)))
        errors = [scale * float(v) ** 0.5 for v in (self.variance, self.spread / self.holders)]
        noise, chance = (f"{amount(float(f'{error:.2g}'))}{unit}" for error in errors)
        looks = MEANING["once" if self.progress is None else "many"]
        return (
            f"Counts: {what} is {text(of.value)} among the {holders} holders whose record fits, by "
            f"{thousands(self.reports)} reports.\n"
            f"Noise: perturbing reports leaves a standard error of {noise}; the chance of who was "
            f"asked adds {chance} to what is said of others.\n"
            f"Looks: the 95 % interval, {text(of.low)} to {text(of.high)}, reaches "
            f"{factor_at(self.progress):.2f} standard errors to each side; such intervals "
            f"{looks}."
        )

    def half_width(self, level: float = LEVEL) -> Floats:
        """Half of an interval that misses with probability ``level``."""
        return np.asarray(factor_at(self.progress, level) * np.sqrt(self.variance))

    def ends(self, at: tuple[int, int], level: float) -> Floats:
        """One of many figures and its interval that misses with ``level``, within its bounds."""
        low, high = (np.broadcast_to(end, self.value.shape)[at] for end in self.bounds)
        return np.asarray(np.clip(self.value[at] + self.half_width(level)[at] * SIDES, low, high))

    def p_value(self, reported: "Figure") -> Floats:
        """The p-values of ``reported`` figures, if both populations are alike."""
        progress = of_both(reported.progress, self.progress)
        difference = np.asarray(reported.value - self.value)
        return p_of_equal_means(difference, (reported.sampled, self.sampled), progress)

    def to_detect(self, reported: "Figure", tests: int) -> Difference:
        """The differences of ``reported`` from this figure that one of ``tests`` detects."""
        low, high = map(float, self.bounds)
        largest = high - low
        if self.given:
            largest = max(float(self.value) - low, high - float(self.value))

        def variances(difference: float) -> tuple[float, float]:
            return reported.moved(difference), float(self.sampled)

        progress = of_both(reported.progress, self.progress)
        return Difference.there(variances, tests, largest, progress, given=self.given)

    def moved(self, difference: float) -> float:
        """``sampled`` where a share is by a ``difference`` further up or down, the larger."""
        if self.noise is None:
            return float(self.sampled)
        ends = np.clip(self.value + np.array([0.0, -difference, difference]), 0.0, 1.0)
        spread = ends * (1.0 - ends)
        noise, more = self.noise(spread), (spread.max() - spread[0]) / self.holders
        return float(self.sampled + (noise.max() - noise[0]) + more)


@dataclass(frozen=True, eq=False)
class PublicShare:
    """Shares of public records: ``hits`` of ``rows`` of them, or about ``share`` in small cells.

    Cells were grown on these records, as if they were ``selection`` times fewer (``selection``).
    """

    hits: Floats | float
    rows: Floats | float
    selection: float = 1.0
    smoothed: Floats | None = None

    @property
    def value(self) -> Floats:
        """The share of the records."""
        return np.asarray(self.hits / self.rows) if self.smoothed is None else self.smoothed

    def p_value(self, reported: Figure) -> Floats:
        """The p-values of ``reported`` shares, if both populations are alike."""
        sampled = binomial_variance(reported.value, self.value)
        error = np.sqrt(reported.variance + sampled / reported.holders)
        hits = np.asarray(self.hits)
        return share_p(reported.progress, hits, self.rows, reported.value, error, self.selection)

    def to_detect(self, reported: Figure, tests: int) -> ShareDifference:
        """The differences of a ``reported`` share from this one that one of ``tests`` detects."""
        here = float(reported.variance)
        return ShareDifference(
            float(self.hits),
            float(self.rows),
            of_shares(reported.noise or partial(np.full_like, fill_value=here)),
            float(reported.holders),
            tests,
            reported.progress,
            self.selection,
        )


@dataclass(frozen=True, eq=False)
class Reports:
    """The reports about a label: of those asked for the cell, and of those asked for it ``alone``.

    Their figures are made here, each from its counts.
    """

    kind: ClassLabel | NumberLabel
    question: QuestionCounts
    alone: QuestionCounts | None = None

    @classmethod
    def of(cls, label: Label, questions: Sequence[QuestionCounts]) -> "Reports | None":
        """The reports to the first question about the label that has any; None without.

        Of numbers around centres those who were asked for the label alone.
        """
        about, alone = without_label_question([each for each in questions if not each.centred])
        for question in about:
            if question.n and question.mechanism.slots > 1:
                kind = kind_of(label)
                return cls(kind, kind.scaled(question), alone)
        return None

    @property
    def n(self) -> int:
        """The number of reports."""
        return self.question.n + (0 if self.alone is None else self.alone.n)

    @property
    def holders(self) -> float:
        """The number of holders whose record fits the task."""
        if self.alone is None or not self.alone.n:
            return self.question.holders
        return self.question.holders + self.alone.holders

    def overall(self, about: float | None = None, about_alone: float | None = None) -> list[Figure]:
        """The figures of all holders, one for each name of the label's kind.

        c of (1) is ``about``, by default the mean of plausible counts, about which a figure lacks
        the noise of misfits; ``about_alone`` is that of those asked for the label alone, where a
        distance from two points is wanted.
        """
        question, kind, found = self.question, self.kind, []
        at = question.plausible / question.holders
        for name, weights, ends in zip(kind.names, kind.weights(question), kind.ends, strict=True):
            c = float((at * weights).sum()) if about is None else about
            rest = question.mean(weights - c)
            other = ends - (c if about_alone is None else about_alone)
            one, noise = joined(rest, question.holders, self.alone, other)
            value, spread = c + one.value, 0.0
            if kind.is_share:
                share = min(max(value, 0.0), 1.0)
                spread = share * (1.0 - share)
            else:  # of labels as rounded to levels, which ``mean`` has
                spread = float((at * weights**2).sum() - c**2)
                spread -= rounding_variance(question.mechanism, weights, at)
            by_spread = noise if kind.is_share else None
            found.append(
                Figure(
                    np.asarray(value),
                    np.asarray(one.variance),
                    max(spread, 0.0),
                    self.holders,
                    question.progress,
                    kind.bounds,
                    noise=by_spread,
                    name=name,
                    reports=self.n,
                )
            )
        return found

    def masses(self) -> Figure:
        """The parts of the holders in the cells, ``(cells, 1)``."""
        question, n = self.question, self.question.holders
        value = question.counts.sum(axis=1, keepdims=True) / n
        noise = np.maximum(question.noise.sum(axis=(1, 2)), 0.0)[:, None] / n**2
        return Figure(value, noise, 0.0, n, question.progress, (0.0, 1.0))

    def cells(self) -> Figure:
        """The figures within the cells, ``(cells, figures)``, as of one holder each or more."""
        question, kind = self.question, self.kind
        mass = np.maximum(question.counts.sum(axis=1), 1.0)[:, None]
        share = question.counts / mass
        t = np.clip(share, 0.0, 1.0)
        noise = np.maximum(contrast_variance(question.noise, t), 0.0) / mass**2
        value, unit = kind.of_shares(question, share)
        width, (low, _) = value.shape[1], kind.scale_of(question)
        variance, spread = unit**2 * noise[:, -width:], unit**2 * (t * (1.0 - t))[:, -width:]
        bounds = low[:, None], low[:, None] + unit
        return Figure(value, variance, spread, mass, question.progress, bounds)

    @property
    def known_cells(self) -> NDArray[np.bool_]:
        """True for the cells whose mass is ``LEAST_MASS`` standard errors above 0."""
        mass, noise = self.question.counts.sum(axis=1), self.question.noise.sum(axis=(1, 2))
        error = np.sqrt(np.maximum(noise, 0.0) + np.maximum(mass, 1.0))
        return np.asarray(mass > LEAST_MASS * error)

    def within(self, inside: Floats) -> list[Figure] | None:
        """The figures of the holders in the cells that are ``inside``; None where they may be none,
        by the interval of their mass."""
        question, kind, mass = self.question, self.kind, mass_of(self.question, inside)
        if mass.value <= mass.half_width():
            return None
        found = []
        for weights in kind.weights(question):
            value = question.mean(inside[:, None] * weights).value / mass.value
            contrast = question.mean(inside[:, None] * (weights - value))
            variance = contrast.variance / mass.value**2
            holders = question.holders * mass.value
            of = Figure(np.asarray(value), variance, 0.0, holders, question.progress, kind.bounds)
            found.append(of)
        return found


def mass_of(question: QuestionCounts, inside: Floats) -> Figure:
    """The part of the holders in the cells that are ``inside``, ``(cells,)`` of 0 and 1."""
    of = question.mean(np.repeat(inside[:, None], question.counts.shape[1], axis=1))
    value, variance = np.asarray(of.value), np.asarray(of.variance)
    return Figure(value, variance, 0.0, question.holders, question.progress, (0.0, 1.0))


def intervals_of(kind: ClassLabel | NumberLabel, figures: Sequence[Figure]) -> list[Interval]:
    """A label's figures with their 95 % intervals: a number's, or shares that add up to 1."""
    return on_simplex(figures) if kind.is_share else [of.interval() for of in figures]


def on_simplex(shares: Sequence[Figure]) -> list[Interval]:
    """Shares of classes that add up to 1, none of them negative, with their 95 % intervals.

    The nearest such point to the estimates; an interval that does not hold its share reaches to it.
    """
    points = project_on_simplex(np.array([[share.value for share in shares]]))[0].tolist()
    intervals = [share.interval() for share in shares]
    return [
        Interval(point, min(point, of.low), max(point, of.high))
        for point, of in zip(points, intervals, strict=True)
    ]
