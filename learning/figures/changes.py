"""Changes between the waves of a panel, from their reports alone.

Of two waves a figure has the estimates u and v, with variances s and t of noise and of who
answered. By ``looks`` the evidence against one mean in common is the product of both waves', which
is least where

    log E = (u - v)^2 / (2 (s (1 + 1 / x) + t (1 + 1 / y))) - (log(1 + x) + log(1 + y)) / 2,    (1)

x and y being what each wave's progress gives; for one look it is a normal p-value. 1 / E are
selected by Benjamini and Hochberg's rule among all comparisons of all waves, those to come
included: each with the wave before it and with the first one, of all holders and of every cell. So
of the changes listed at a look, whichever one stops at, ``FALSE_DISCOVERY_RATE`` are false in
expectation (Wang and Ramdas, 2022); of all that were ever listed that is only measured. Where R of
C are listed the interval of each is where (1) stays below log(C / (0.05 R)), so that one in twenty
misses (Xu, Wang and Ramdas, 2022). Numbers around centres are compared clipped: u - v is less by
all that labels of one mean could be apart if they spread differently, each at one of
``clipping.SPREADS``, and an interval reaches to the changes of means at every two of these. So
are the lines of cells that changed: of S figures in K the intervals are those of level 0.05 S / K.
Holders who answer several waves make differences surer than (1) says.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from math import hypot, sqrt
from statistics import NormalDist

import numpy as np

from privet.protocol.features import Classes, Label, Range

from ..core.amounts import amount, percent
from ..core.contrasts import contrast_variance
from ..core.counts import Estimate, Interval, QuestionCounts, rounding_variance
from ..core.looks import LEVEL, NARROWEST, factor_at
from ..core.overall import Noise, joined_with_noise, without_label_question
from ..core.public_data import Floats, PublicData
from .clipping import (
    AtSpread,
    all_clipped,
    apart_by_spread,
    public_distances,
    seen_between_waves,
    whole_means,
)
from .insight import (
    FALSE_DISCOVERY_RATE,
    figure_weights,
    on_simplex,
    public_means,
    seen_in_words,
    unclipped_mean,
)
from .power import ERRORS_BELOW, ROUNDS

LEAST_MASS = 2.0
"""Standard errors above 0 that the reported holders of a cell need, for a share of them to be
compared."""


AROUND = np.linspace(0.0, 2.0 * np.pi, 97)
"""Places on the ellipse of two waves' clipped means, both means' furthest among them."""


@dataclass(frozen=True)
class WaveFigure:
    """A figure in one wave, with its interval.

    Of those of whom the holders who answered are drawn, so it covers noise and who answered.
    """

    wave: int
    reports: int
    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Line:
    """The share of a class, or the mean label, wave by wave, of all holders or in a cell."""

    name: str
    figures: tuple[WaveFigure, ...]
    cell: int | None = None


@dataclass(frozen=True)
class WaveChange:
    """A change of ``name`` beyond chance, in a cell or of all holders, between two waves."""

    since: int
    wave: int
    cell: int | None
    name: str
    before: float
    after: float
    low: float
    """The change lies between this and ``high``."""
    high: float
    p_value: float
    sentence: str


@dataclass(frozen=True)
class OverTime:
    """The waves of a panel beside each other."""

    lines: tuple[Line, ...]
    changes: tuple[WaveChange, ...]
    comparisons: int
    sentence: str
    in_cells: tuple[Line, ...] = ()
    """Lines of the cells that changed, the surest change first."""


@dataclass(frozen=True, eq=False)
class _Figures:
    """Estimates of one wave with their variances, ``(figures,)``, NaN where there is none.

    Those of all holders depend by ``noise`` on the variance of one's figure, and by ``holders``.
    """

    value: Floats
    variance: Floats
    progress: float | None
    clipped: "_Clipped | None" = None
    noise: Sequence[Noise] = ()
    holders: float = 0.0


@dataclass(frozen=True, eq=False)
class _Clipped:
    """The distances of the clipped means of numbers from their centres, ``(figures,)``."""

    distance: Floats
    at_spreads: Sequence[AtSpread]
    radius: float

    @property
    def apart(self) -> Floats:
        """The most that two of them may be apart though labels have one mean."""
        return apart_by_spread(self.at_spreads, self.distance)

    def moved(self, slot: int, by: Floats) -> Floats:
        """The means of labels at each of the spreads, ``(spreads, len(by))``, whose clipped ones
        are ``by`` further than this; infinite where labels may all be clipped."""
        at = self.distance[slot] + by
        means = np.array([spread.whole(at) for spread in self.at_spreads])
        return np.where(all_clipped(np.abs(at), 2.0 * self.radius), np.sign(at) * np.inf, means)


def over_time(
    label: Label,
    waves: Mapping[int, Sequence[QuestionCounts]],
    planned: int,
    public: PublicData | None = None,
) -> OverTime:
    """The waves that have reports, by number from 1, of a panel of ``planned`` waves.

    By the ``public`` records changes of numbers around centres allow for what clipping hides.
    """
    asked = {number: without_label_question(each) for number, each in sorted(waves.items())}
    asked = {
        number: (about, alone)
        for number, (about, alone) in asked.items()
        if len(about) == 1 and about[0].n and about[0].mechanism.slots > 1
    }
    if not asked:
        return OverTime((), (), 0, "No wave has reports about the label yet.")
    ((some,), _) = next(iter(asked.values()))
    at_spreads: Sequence[AtSpread] = ()
    if public is not None and isinstance(label, Range) and some.centred:
        _, at_spreads = public_distances(label, public, some)
    figures = {
        number: [
            _overall(label, question, alone, at_spreads),
            *_cells(label, question, at_spreads),
        ]
        for number, ((question,), alone) in asked.items()
    }
    comparisons = comparisons_of(label, some.partition.cells, planned)
    names = _names(label, some)
    centred = public if at_spreads else None
    lines = _lines(label, asked, centred)
    changes = _changes(label, figures, lines, names, comparisons)
    in_cells = _lines_in_cells(label, asked, figures, names, changes, centred)
    seen = _seen_from(label, figures, comparisons)
    sentence = _sentence(label, lines, changes, seen)
    sentence += _as_reported(label, some, allowed=bool(at_spreads))
    return OverTime(lines, changes, comparisons, sentence, in_cells)


def comparisons_of(label: Label, cells: int, waves: int) -> int:
    """Comparisons in a panel of so many waves: each with the one before it and with the first."""
    figures = label.slots if isinstance(label, Classes) and label.slots > 2 else 1
    return (2 * (waves - 1) - 1) * figures * (1 + cells)


def _names(label: Label, question: QuestionCounts) -> list[str]:
    """The figures that are compared: of two classes the first one mirrors the second."""
    names = [name for name, _ in figure_weights(label, question)]
    return names[1:] if len(names) == 2 else names


def _estimates(
    label: Label, question: QuestionCounts, alone: QuestionCounts | None
) -> list[tuple[Estimate, Noise]]:
    """Figures of all holders, with the variance of noise and of who answered, and the noise."""
    weights = figure_weights(label, question)
    if isinstance(label, Classes):
        units = np.eye(len(weights))
    else:
        units = np.array([[label.low, label.high]])
    holders, found = _all_holders(question, alone), []
    for (_, each), unit in zip(weights, units, strict=True):
        middle = _middle(question, each)
        one, noise = joined_with_noise(
            question.mean(each - middle), question.holders, alone, unit - middle
        )
        if isinstance(label, Classes):
            value = min(max(middle + one.value, 0.0), 1.0)
            spread = value * (1.0 - value)
        else:
            at = question.plausible / question.holders
            spread = float((at * each**2).sum() - middle**2)  # of labels as rounded to levels
            spread -= rounding_variance(question.mechanism, each, at)  # which ``mean`` has
            spread = max(spread, 0.0)
        variance = one.variance + spread / holders
        figure = Estimate(middle + one.value, variance, one.factor)
        found.append((figure, noise))
    return found


def _all_holders(question: QuestionCounts, alone: QuestionCounts | None) -> float:
    return question.holders + (0.0 if alone is None or not alone.n else alone.holders)


def _middle(question: QuestionCounts, weights: Floats) -> float:
    """The mean of ``weights`` by plausible counts: about it a figure lacks the noise of misfits."""
    return float((question.plausible * weights).sum()) / question.holders


def _overall(
    label: Label,
    question: QuestionCounts,
    alone: QuestionCounts | None,
    at_spreads: Sequence[AtSpread],
) -> _Figures:
    found = _estimates(label, question, alone)
    found = found[1:] if len(found) == 2 else found
    values, variances = np.array([(each.value, each.variance) for each, _ in found]).T
    clipped = None
    if at_spreads and isinstance(label, Range):
        t = question.plausible[:, 1].sum() / question.plausible.sum()
        clipped = _clipped(label, question, np.array([t]), at_spreads)
    noise, holders = [noise for _, noise in found], _all_holders(question, alone)
    return _Figures(values, variances, question.progress, clipped, noise, holders)


def _clipped(
    label: Range, question: QuestionCounts, t: Floats, at_spreads: Sequence[AtSpread]
) -> _Clipped:
    """The distances of figures that are ``t`` of the way through their scales."""
    width = question.scale_of(label).width
    return _Clipped(width * (np.clip(t, 0.0, 1.0) - 0.5), at_spreads, width / 2.0)


def _cells(
    label: Label, question: QuestionCounts, at_spreads: Sequence[AtSpread]
) -> list[_Figures]:
    """The shares, or the mean label, of every cell."""
    mass = question.counts.sum(axis=1)
    of_mass = np.sqrt(np.maximum(question.noise.sum(axis=(1, 2)), 0.0) + np.maximum(mass, 1.0))
    known = mass > LEAST_MASS * of_mass
    safe = np.where(known, mass, 1.0)[:, None]
    share = question.counts / safe
    t = np.clip(share, 0.0, 1.0)
    noise = np.maximum(contrast_variance(question.noise, t), 0.0) / safe**2
    variance = noise + np.maximum(t * (1.0 - t), 1.0 / safe) / safe
    if isinstance(label, Classes):
        first = 1 if label.slots == 2 else 0
        share, variance = share[:, first:], variance[:, first:]
    else:
        scale = question.scale_of(label)
        low = np.broadcast_to(scale.low, len(mass))[:, None]
        share, variance = low + scale.width * share[:, 1:], scale.width**2 * variance[:, 1:]
    share = np.where(known[:, None], share, np.nan)
    clipped: list[_Clipped | None] = [None] * len(mass)
    if at_spreads and isinstance(label, Range):
        clipped = [_clipped(label, question, each[1:], at_spreads) for each in t]
    columns = zip(share, variance, clipped, strict=True)
    return [_Figures(of, noise, question.progress, how) for of, noise, how in columns]


def _within(label: Label, value: float) -> float:
    return float(np.clip(value, *label.bounds))


def _changes(
    label: Label,
    figures: Mapping[int, Sequence[_Figures]],
    lines: Sequence[Line],
    names: Sequence[str],
    comparisons: int,
) -> tuple[WaveChange, ...]:
    """The changes that are listed, the surest first, between the values that lines show."""
    numbers, in_parts = list(figures), isinstance(label, Classes)
    lowest, highest = label.bounds
    of_all = {(line.name, each.wave): each.value for line in lines for each in line.figures}
    pairs = [(numbers[0], wave) for wave in numbers[1:]]
    pairs += pairwise(numbers[1:])
    found = [
        (p, since, wave, place, slot)
        for since, wave in pairs
        for place, (one, other) in enumerate(zip(figures[since], figures[wave], strict=True))
        for slot, p in enumerate(_p_values(one, other).tolist())
        if not np.isnan(p)
    ]
    found.sort()
    ranks = range(len(found), 0, -1)
    listed = next(
        (rank for rank in ranks if found[rank - 1][0] <= FALSE_DISCOVERY_RATE * rank / comparisons),
        0,
    )
    changes = []
    for p, since, wave, place, slot in found[:listed]:
        one, other = figures[since][place], figures[wave][place]
        half = _half_width(one, other, LEVEL * listed / comparisons)[slot]
        if place == 0:
            before, after = (of_all[names[slot], number] for number in (since, wave))
        else:
            before, after = (_within(label, each.value[slot]) for each in (one, other))
        cell, raw = None if place == 0 else place - 1, other.value[slot] - one.value[slot]
        sign, size = float(np.sign(raw)), float(abs(raw))
        apart = sign * (after - before)  # the ends reach to it, but not past 0
        least, most = size - half, size + half
        if one.clipped is not None and other.clipped is not None:
            least, most = _of_means(one, other, slot, half, sign)
        nearer, further = max(min(least, apart), 0.0), max(most, apart)
        further = min(further, highest - lowest)
        low, high = sorted((sign * nearer, sign * further))
        said = _said(names[slot], (since, before), (wave, after), (low, high), in_parts=in_parts)
        changes.append(
            WaveChange(since, wave, cell, names[slot], before, after, low, high, p, said)
        )
    return tuple(changes)


def _of_means(
    one: _Figures, other: _Figures, slot: int, half: float, sign: float
) -> tuple[float, float]:
    """The least and the most by which means changed whose clipped ones did, up if ``sign`` is 1.

    ``half`` is to each side of the change of the clipped ones: at all pairs of clipped means that
    are no further from the reported ones than it allows, which form an ellipse.
    """
    if one.clipped is None or other.clipped is None:
        return 0.0, 0.0
    variances = np.array([_variance_of_wave(each)[slot] for each in (one, other)])
    before, after = half * np.sqrt(variances / variances.sum())
    means = one.clipped.moved(slot, before * np.cos(AROUND))
    with np.errstate(invalid="ignore"):
        changes = sign * (other.clipped.moved(slot, after * np.sin(AROUND)) - means[:, None])
    if np.isnan(changes).any():  # both may be anything on one side
        return -np.inf, np.inf
    return float(changes.min()), float(changes.max())


def _beyond(one: _Figures, other: _Figures) -> Floats:
    """The distances of figures, less what a different spread of numbers explains."""
    apart: Floats | float = 0.0
    if one.clipped is not None and other.clipped is not None:
        apart = np.maximum(one.clipped.apart, other.clipped.apart)
    return np.asarray(np.maximum(np.abs(other.value - one.value) - apart, 0.0))


def _variance(one: _Figures, other: _Figures) -> tuple[Floats, float]:
    """The denominator of (1) over 2, and what is taken off; of one look plain variances."""
    variance, off = _variance_of_wave(one) + _variance_of_wave(other), 0.0
    for each in (one, other):
        if each.progress is not None:
            off += float(np.log1p(NARROWEST * each.progress)) / 2.0
    return variance, off


def _variance_of_wave(of: _Figures) -> Floats:
    """One wave's part of the denominator."""
    if of.progress is None:
        return of.variance
    return np.asarray(of.variance * (1.0 + 1.0 / (NARROWEST * of.progress)))


def _p_values(one: _Figures, other: _Figures) -> Floats:
    from scipy.special import erfc  # slow to import

    variance, off = _variance(one, other)
    distance = _beyond(one, other) ** 2 / variance
    if one.progress is None:
        return np.asarray(erfc(np.sqrt(distance / 2.0)))
    return np.asarray(np.exp(-np.maximum(distance / 2.0 - off, 0.0)))


def _half_width(one: _Figures, other: _Figures, level: float) -> Floats:
    variance, off = _variance(one, other)
    if one.progress is None:
        return np.asarray(-NormalDist().inv_cdf(level / 2.0) * np.sqrt(variance))
    return np.asarray(np.sqrt(2.0 * variance * (off - np.log(level))))


def _seen_from(
    label: Label, figures: Mapping[int, Sequence[_Figures]], comparisons: int
) -> list[float | None]:
    """The least change of each figure of all holders, from the first wave to the last, that would
    have been listed with the probability ``POWER``, were it the only one; None if none would."""
    numbers, (lowest, highest) = list(figures), label.bounds
    one, other = figures[numbers[0]][0], figures[numbers[-1]][0]
    least = np.zeros_like(one.value)
    for _ in range(ROUNDS):  # variances depend on where shares are
        ends = np.clip(other.value + np.array([[0.0], [-1.0], [1.0]]) * least, 0.0, 1.0)
        spread = ends * (1.0 - ends) if isinstance(label, Classes) else np.zeros_like(ends)
        more = [
            (noise(of).max() - noise(of)[0]) + (of.max() - of[0]) / other.holders
            for noise, of in zip(other.noise, spread.T, strict=True)
        ]
        moved = replace(other, variance=other.variance + np.array(more))
        least = _half_width(one, moved, FALSE_DISCOVERY_RATE / comparisons)
        least += ERRORS_BELOW * np.sqrt(one.variance + moved.variance)
    if one.clipped is not None:
        at, distance = one.clipped.at_spreads, float(one.clipped.distance[0])
        return [seen_between_waves(at, distance, float(least[0]), highest - lowest)]
    return [each if each < highest - lowest else None for each in least.tolist()]


def _lines(
    label: Label,
    asked: Mapping[int, tuple[Sequence[QuestionCounts], QuestionCounts | None]],
    public: PublicData | None,
) -> tuple[Line, ...]:
    """Figures of all holders; with ``public`` records the means of labels before clipping."""
    figures: dict[str, list[WaveFigure]] = {}
    for number, ((question,), alone) in asked.items():
        found = [figure for figure, _ in _estimates(label, question, alone)]
        if isinstance(label, Classes):
            intervals = on_simplex(found)
        elif public is not None:
            intervals = [_whole_mean(label, public, question, alone)]
        else:
            intervals = [each.interval(label.low, label.high) for each in found]
        reports = question.n + (0 if alone is None else alone.n)
        names = [name for name, _ in figure_weights(label, question)]
        for name, each in zip(names, intervals, strict=True):
            of_wave = WaveFigure(number, reports, each.value, each.low, each.high)
            figures.setdefault(name, []).append(of_wave)
    return tuple(Line(name, tuple(each)) for name, each in figures.items())


def _whole_mean(
    label: Range, public: PublicData, question: QuestionCounts, alone: QuestionCounts | None
) -> Interval:
    """The mean of labels before clipping, if cells differ as public records do."""
    ((_, weights),) = figure_weights(label, question)
    middle, mass = _middle(question, weights), question.plausible.sum(axis=1)
    clipped = question.mean(weights - middle)
    clipped = replace(clipped, value=middle + clipped.value)
    scale, values = question.scale_of(label), public_means(label, public, question)
    moved = values + clipped.value - float(mass @ values) / float(mass.sum())
    values = np.clip(moved, scale.low, scale.low + scale.width)
    found = unclipped_mean(label, public, question, values, clipped, mass, alone)
    at = question.plausible / question.holders
    who = float((at * weights**2).sum() - middle**2)
    who /= _all_holders(question, alone)
    error = clipped.factor * sqrt(max(who, 0.0))
    return Interval(
        found.value,
        max(found.value - hypot(found.value - found.low, error), label.low),
        min(found.value + hypot(found.high - found.value, error), label.high),
    )


def _lines_in_cells(
    label: Label,
    asked: Mapping[int, tuple[Sequence[QuestionCounts], QuestionCounts | None]],
    figures: Mapping[int, Sequence[_Figures]],
    names: Sequence[str],
    changes: Sequence[WaveChange],
    public: PublicData | None,
) -> tuple[Line, ...]:
    """The lines of the cells that changed, with intervals of which one in twenty misses."""
    chosen = dict.fromkeys((each.cell, each.name) for each in changes if each.cell is not None)
    cells = len(next(iter(figures.values()))) - 1
    level, lines = LEVEL * len(chosen) / (cells * len(names)), []
    for cell, name in chosen:
        found = []
        for number, ((question,), _) in asked.items():
            of_cell, slot = figures[number][cell + 1], names.index(name)
            value = float(of_cell.value[slot])
            half = factor_at(of_cell.progress, level) * float(np.sqrt(of_cell.variance[slot]))
            if not np.isnan(value):
                ends = [_within(label, value + side) for side in (0.0, -half, half)]
                if public is not None and isinstance(label, Range):
                    only = np.array([cell], dtype=np.int32)
                    sides = np.array(ends)[:, None]
                    whole = whole_means(label, public, question, only, *sides)
                    ends = np.concatenate(whole).tolist()
                found.append(WaveFigure(number, question.n, *ends))
        lines.append(Line(name, tuple(found), cell))
    return tuple(lines)


def _sentence(
    label: Label,
    lines: Sequence[Line],
    changes: Sequence[WaveChange],
    seen: Sequence[float | None],
) -> str:
    """A sentence on what changed of all holders from the first wave to the last, or on the change
    that would have been ``seen``."""
    first, last = lines[0].figures[0].wave, lines[0].figures[-1].wave
    if first == last:
        return "One wave has reports so far."
    since = [each for each in changes if (each.since, each.wave) == (first, last)]
    of_all = [each for each in since if each.cell is None]
    cells = len({each.cell for each in since} - {None})
    said = [each.sentence for each in of_all]
    if not said:
        would = seen_in_words(label, seen, "change")
        said = [f"No change of all holders since wave {first} is beyond chance; {would}."]
    if cells:
        one = "1 cell has" if cells == 1 else f"{cells} cells have"
        said.append(f"{one} changed since then beyond chance.")
    return " ".join(said)


def _as_reported(label: Label, question: QuestionCounts, *, allowed: bool) -> str:
    """A sentence that numbers were clipped around centres when they were reported, if so, and if
    changes allow for it."""
    if isinstance(label, Classes) or not question.centred:
        return ""
    radius = amount(float(f"{question.scale_of(label).width / 2.0:.3g}"))
    effect = (
        "what is said of changes allows for that, as long as they spread half to twice as far as "
        "public ones"
        if allowed
        else "so means can also change since answers spread otherwise, and by more than is said"
    )
    return (
        f" Answers are compared as they were reported: more than {radius} from what public records "
        f"say of their cell counts as {radius}{';' if allowed else ','} {effect}."
    )


def _said(
    name: str,
    since: tuple[int, float],
    now: tuple[int, float],
    change: tuple[float, float],
    *,
    in_parts: bool,
) -> str:
    """A change in words, of a share or a mean, by the numbers of two waves and their values."""
    (first, before), (wave, after) = since, now
    verb, (least, most) = "rose" if sum(change) > 0.0 else "fell", sorted(map(abs, change))
    if in_parts:
        least, most = (float(f"{100 * each:.2g}") for each in (least, most))
        return (
            f"The share of {name} {verb} from {percent(before)} in wave {first} to "
            f"{percent(after)} in wave {wave}, by between {amount(least)} and {amount(most)} "
            "points."
        )
    return (
        f"The mean {name} {verb} from {amount(before)} in wave {first} to {amount(after)} in wave "
        f"{wave}, by between {amount(least)} and {amount(most)}."
    )
