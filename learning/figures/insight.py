"""The differences between reports and public records.

Of n holders whose record fits the task, V_ks is the debiased count of slot s in cell k and
U_k = sum_s V_ks. Of m public records, h_ks are the exact counts. A weighted sum of counts over n,

    A_w = sum_ks w_ks V_ks / n,    Var A_w = (w' Cov(V) w + A_w^2 Var n) / n^2,

is a class's share among those who reported, less 1 / S (w = 1 in its slot, less 1 / S, so that the
S shares add up to 1), or the distance of their mean label from the public one (w = what each slot
stands for, less that). Shares are then projected on the simplex. An interval is about those who
reported, so it has the mechanism's noise and, for a number, what rounding it to a level and
clipping it around its centre hide. Whether the populations behind both data differ is
another question, with the chance of who was asked in both: n and m records are binomial with a
share p, and a mean has the variance of the public labels over each number. p (1 - p) of n holders
is the larger of those at both shares, since a few who are alike do not show that all are.

In each cell two things may differ: its mass, U_k / n against m_k / m, and its labels, V_ks / U_k
against h_ks / m_k. Where the populations agree in a share p, the public count is binomial with p,
which reports give up to a standard error: the two-sided mid-p-value is averaged over it. For labels
that error also has what growing cells on these very labels adds, (s - 1) p (1 - p) / m_k, with the
factor s of ``selection``. The mean of a number is compared by a normal law, with the public
variance s p (1 - p) / (m_k + 1) on the scale [0, 1].

Numbers clipped around centres differ only by what no spread of ``clipping.SPREADS`` explains.

No difference is never said without the least one that would have been seen (``power``).

Two-sided p-values of all cells are selected by Benjamini and Hochberg (1995), which keeps the
expected part of false ones among the differences listed below ``FALSE_DISCOVERY_RATE``. Where R of
C comparisons are listed, their intervals miss with probability 0.05 R / C each, so that of those
listed one in twenty misses in expectation (Benjamini and Yekutieli 2005, "False Discovery
Rate-Adjusted Multiple Confidence Intervals for Selected Parameters").
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import sqrt

import numpy as np

from privet.protocol.errors import InvalidRequest
from privet.protocol.features import Classes, Label, Range

from ..core.amounts import amount, figure, percent, tells_nothing
from ..core.contrasts import contrast_variance
from ..core.counts import Estimate, Interval, QuestionCounts, misfit_share, public_counts
from ..core.looks import (
    LEVEL,
    Looks,
    factor_at,
)
from ..core.model import Model
from ..core.overall import joined, joined_with_noise, joint, of_shares, without_label_question
from ..core.public_data import Floats, PublicData
from ..core.ratio import project_on_simplex
from ..core.trees import locate
from .clipping import (
    AS_PUBLIC,
    AtSpread,
    all_clipped,
    beyond_spreads,
    in_cells,
    public_distances,
    whole_means,
)
from .impossible import Impossible, impossible
from .power import (
    POWER,
    Clipping,
    Difference,
    ShareDifference,
    binomial_variance,
    in_a_cell,
    mean_p,
    share_p,
    smoothed_shares,
)

FALSE_DISCOVERY_RATE = 0.05
LIKELY = f"would have shown {10 * POWER:.0f} times in 10"
"""The words for the least difference that is detected with it."""
FEWEST_ROWS_TO_COMPARE = 10
"""Fewer public records show neither how numbers are spread nor that a cell has fewer holders."""


@dataclass(frozen=True)
class Comparison:
    """One figure of the holders with its 95 % interval, and the public records' value.

    ``p_value`` tests that both populations are alike. Every difference of ``seen_from`` or more
    would have been detected with the probability ``POWER``; None if no difference would.
    """

    name: str
    reported: float
    low: float
    high: float
    public: float
    p_value: float
    seen_from: float | None


@dataclass(frozen=True)
class CellDifference:
    """A cell whose mass (``name`` None), or whose share of ``name``, differs from public data.

    ``low`` to ``high`` is an interval of ``reported``; of those listed one in twenty misses.
    """

    cell: int
    name: str | None
    reported: float
    low: float
    high: float
    public: float
    p_value: float


@dataclass(frozen=True)
class _Compared:
    """A candidate for a ``CellDifference``; ``value``, ``error`` and ``public`` are on [0, 1].

    0 stands for ``low`` and 1 for ``low`` + ``width``.
    """

    cell: int
    name: str | None
    value: float
    error: float
    public: float
    p_value: float
    low: float = 0.0
    width: float = 1.0

    def difference(self, factor: float) -> CellDifference:
        """The difference with an interval of ``factor`` standard errors to each side."""
        half = factor * self.error
        ends = np.clip([self.value, self.value - half, self.value + half], 0.0, 1.0)
        reported, low, high = (self.low + self.width * ends).tolist()
        public = self.low + self.width * self.public
        return CellDifference(self.cell, self.name, reported, low, high, public, self.p_value)


@dataclass(frozen=True)
class Insight:
    """Comparison of ``reports`` reports with ``public_records`` records, and their effect on a
    model.

    ``misfits`` is the share of the reports whose record did not fit the task; the rest describes
    those whose record did.
    ``overall`` has one entry per class, or one for the mean label. ``differences`` are the cells
    that differ significantly, most significant first. In half of the cells every difference
    of ``seen_in_a_cell`` or more would have been listed with the probability ``POWER``, were it the
    only one; None if none would. ``moved`` is the mean absolute change of the
    model's values by the reports, over its cells by mass, in shares or in the label's units;
    ``relabelled`` is the number of the ``cells`` in which they changed the likeliest class, None
    for a numeric label. ``looks`` says at how many looks intervals and differences hold.
    With ``impossible`` reports, which cannot all be honest, every interval is all that there can
    be, and no difference is listed. ``gathered`` says of strata what ``misfits`` does, if whoever
    asks has named the columns.
    """

    reports: int
    misfits: Interval
    public_records: int
    cells: int
    overall: tuple[Comparison, ...]
    differences: tuple[CellDifference, ...]
    seen_in_a_cell: float | None
    moved: float
    relabelled: int | None
    sentence: str
    looks: Looks
    impossible: Impossible | None = None
    gathered: str = ""


def insight(
    label: Label, public: PublicData, questions: Sequence[QuestionCounts], model: Model
) -> Insight:
    """Compare the reports with the public records, and the model with that of public data only.

    Raises ``InvalidRequest`` without reports to a question about the label on the model's cells.
    """
    question = question_about(model, questions)
    _, alone = without_label_question(questions)
    if question is None:
        raise InvalidRequest(
            "There are no reports about the label in this model's cells: wait for holders, or fit "
            "a model of a task that asks for the label."
        )
    false = impossible(questions)
    public_by_cell = public_counts(label, public, question.partition, question.scale)
    overall = _overall(label, public, question, model, alone)
    misfits = (misfit_share(questions) or Estimate(0.0, 1.0)).interval(0.0, 1.0)
    at_spreads: Sequence[AtSpread] = ()
    if isinstance(label, Range) and question.centred:
        _, at_spreads = public_distances(label, public, question)
    differences = cell_differences(label, question, public_by_cell, model.selection, at_spreads)
    in_cell = in_a_cell(
        label,
        question.noise,
        question.plausible.sum(axis=1),
        public_by_cell,
        model.selection,
        question.scale_of(label) if isinstance(label, Range) else None,
        question.progress,
        at_spreads,
    ).smallest()
    if isinstance(label, Range) and question.centred:
        differences = _whole(label, public, question, differences)
    before = model.without_reports().values
    mass = np.maximum(question.counts.sum(axis=1), 0.0)
    change = np.abs(model.values - before).max(axis=1)
    moved = float((mass * change).sum() / max(mass.sum(), 1e-300))
    relabelled = None
    if isinstance(label, Classes):
        relabelled = int((model.values.argmax(axis=1) != before.argmax(axis=1)).sum())
    effect = _effect(label, moved, relabelled, question.partition.cells)
    sentence = f"{_comparison(label, overall, differences, in_cell)} {effect}"
    if false is not None:
        least, most = model.label.bounds
        overall = tuple(
            replace(row, low=least, high=most, p_value=1.0, seen_from=None) for row in overall
        )
        misfits, in_cell = replace(misfits, low=0.0, high=1.0), None
        differences, sentence = (), false.sentence
    return Insight(
        question.n + (0 if alone is None else alone.n),
        misfits,
        len(public),
        question.partition.cells,
        overall,
        differences,
        in_cell,
        moved,
        relabelled,
        sentence,
        question.looks,
        false,
    )


def overall_shares(
    label: Classes, public: PublicData, questions: Sequence[QuestionCounts]
) -> tuple[Comparison, ...]:
    """The share of each class, which needs no model; empty without reports about the label."""
    _, alone = without_label_question(questions)
    for question in questions:
        if question.n and question is not alone and question.mechanism.slots == label.slots:
            return _overall(label, public, question, None, alone)
    return ()


def question_about(model: Model, questions: Sequence[QuestionCounts]) -> QuestionCounts | None:
    """The question about the label in the model's own cells, if anybody has answered it.

    That about a number has a ``scale``, as ``QuestionCounts.mean`` needs for what rounding adds.
    """
    tree, label = model.partition, model.label
    for question in questions:
        same = all(
            np.array_equal(getattr(question.partition, name), getattr(tree, name))
            for name in ("feature", "threshold", "left", "right")
        )
        if same and question.n and question.mechanism.slots == label.slots:
            if isinstance(label, Range):
                return replace(question, scale=question.scale_of(label))
            return question
    return None


def _overall(
    label: Label,
    public: PublicData,
    question: QuestionCounts,
    model: Model | None,
    alone: QuestionCounts | None,
) -> tuple[Comparison, ...]:
    """Each class's share, or the mean label, with the test that the populations are alike.

    Of all holders: of those asked for the cell, and of those asked for the label ``alone``.
    """
    m, weights = len(public), dict(figure_weights(label, question))
    n = question.holders + (0.0 if alone is None else alone.holders)
    if isinstance(label, Classes):
        part = 1.0 / label.slots
        centred = [
            joined_with_noise(
                question.mean(of_class - part), question.holders, alone, of_class[0] - part
            )
            for of_class in weights.values()
        ]
        reported = [replace(share, value=part + share.value) for share, _ in centred]
        intervals = on_simplex(reported)
        hits = np.bincount(public.y.astype(np.int64), minlength=label.slots).astype(np.float64)
        expected = (hits / m).tolist()
        shares = np.array([share.value for share in reported])
        sampled = binomial_variance(shares, hits / m) / n
        noise = np.array([share.variance for share in reported])
        p_values = share_p(question.progress, hits, m, shares, np.sqrt(noise + sampled)).tolist()
        tests = tests_of(label)
        seen = [
            ShareDifference(
                of_class, m, of_shares(by_spread), n, tests, question.progress
            ).smallest()
            for of_class, (_, by_spread) in zip(hits.tolist(), centred, strict=True)
        ]
    elif model is None:
        raise InvalidRequest("The mean of a number needs a model: fit one.")
    else:
        on_scale = as_reported(label, public, question)
        expected, alike = [float(public.y.mean())], float(on_scale.mean())
        distance = question.mean(weights[label.name] - alike)
        intervals = [_mean_of_all(label, public, question, model.values[:, 0], alone)]
        ends = np.array([label.low, label.high]) - expected[0]
        distance = joined(distance, question.holders, alone, ends)
        spread = float(on_scale.var())
        if m < FEWEST_ROWS_TO_COMPARE:  # these may be alike by chance: the largest there can be
            spread = (alike - label.low) * (label.high - alike)
        of_reports = distance.variance + spread / n
        beyond: Floats | float = distance.value
        clipping = None
        if question.centred:
            distances, at_spreads = public_distances(label, public, question)
            clipped = float(at_spreads[AS_PUBLIC].clipped(float(distances.mean())))
            beyond = beyond_spreads(at_spreads, clipped, beyond)
            radius = question.scale_of(label).width / 2.0
            clipping = Clipping(at_spreads, at_spreads, clipped, radius)
        largest = max(expected[0] - label.low, label.high - expected[0])
        variances = of_reports, spread / m
        seen = [Difference(*variances, 1, largest, question.progress, clipping).smallest()]
        p_values = [float(mean_p(question.progress, beyond, *variances))]
    figures = zip(weights, intervals, expected, p_values, seen, strict=True)
    return tuple(Comparison(name, of.value, of.low, of.high, *rest) for name, of, *rest in figures)


def _mean_of_all(
    label: Range,
    public: PublicData,
    question: QuestionCounts,
    values: Floats,
    alone: QuestionCounts | None,
) -> Interval:
    """The mean label of all holders with its 95 % interval, given the cells' ``values``."""
    alike = float(as_reported(label, public, question).mean())
    distance = question.mean(dict(figure_weights(label, question))[label.name] - alike)
    clipped = replace(distance, value=alike + distance.value)
    mass = question.plausible.sum(axis=1)
    return unclipped_mean(label, public, question, values, clipped, mass, alone)


def mean_would_tell(label: Range, public: PublicData, questions: Sequence[QuestionCounts]) -> bool:
    """True if the reports tell the mean, as a model of them would: by the public cells' means."""
    _, alone = without_label_question(questions)
    for asked in questions:
        if asked.n and asked is not alone and asked.mechanism.slots == label.slots:
            question = replace(asked, scale=asked.scale_of(label))
            values = public_means(label, public, question)
            of = _mean_of_all(label, public, question, values, alone)
            return not tells_nothing(of.low, of.high, label.low, label.high)
    return False


def public_means(label: Range, public: PublicData, question: QuestionCounts) -> Floats:
    """The mean of the public labels in each cell, ``(cells,)``, clipped as reported ones are."""
    scale = question.scale_of(label)
    counts = public_counts(label, public, question.partition, scale)
    return np.asarray(scale.low + scale.width * smoothed_shares(counts)[:, 1])


def tests_of(label: Label) -> int:
    """The number of independent overall figures: of two classes the second mirrors the first."""
    return label.slots if isinstance(label, Classes) and label.slots > 2 else 1


def on_simplex(shares: Sequence[Estimate]) -> list[Interval]:
    """Shares of classes that add up to 1, none of them negative, with their 95 % intervals.

    The nearest such point to the estimates; an interval that does not hold its share reaches to it.
    """
    points = project_on_simplex(np.array([[share.value for share in shares]]))[0].tolist()
    intervals = [share.interval(0.0, 1.0) for share in shares]
    return [
        Interval(point, min(point, of.low), max(point, of.high))
        for point, of in zip(points, intervals, strict=True)
    ]


def as_reported(label: Range, public: PublicData, question: QuestionCounts) -> Floats:
    """The public labels, ``(rows,)``, clipped as reported ones are."""
    scale, cells = question.scale_of(label), locate(question.partition, public.X)
    return np.asarray(scale.low[cells] + scale.width * scale.to_unit(cells, public.y))


def unclipped_mean(
    label: Range,
    public: PublicData,
    question: QuestionCounts,
    values: Floats,
    clipped: Estimate,
    mass: Floats,
    alone: QuestionCounts | None = None,
) -> Interval:
    """The mean of labels whose clipped mean is ``clipped``, with its 95 % interval.

    Joined with that of holders asked for the label ``alone``, whose numbers are not clipped.

    ``mass``, ``(cells,)``, are holders whom it is of, up to a factor. What clipping took is that of
    the cells' labels about a model's ``values``, if they are spread as the public ones; the
    interval reaches to that at each of ``clipping.SPREADS`` of these. Where it took much, noise and
    the public rows' own error weigh more, and where it may have taken all, an end is the label's.
    """
    ends, holders = np.array([label.low, label.high]), question.holders
    if not question.centred:
        return joined(clipped, holders, alone, ends).interval(label.low, label.high)
    return unclipped_by(
        unclipping(label, public, question, values, mass), label, clipped, holders, alone
    )


def unclipped_by(
    of: "Unclipping",
    label: Range,
    clipped: Estimate,
    holders: float,
    alone: QuestionCounts | None = None,
) -> Interval:
    """As ``unclipped_mean`` says, by the change ``of`` clipped means that are of ``holders``."""
    ends = np.array([label.low, label.high])
    around = clipped.interval(-np.inf, np.inf)
    below = of.all_clipped(of.middle - around.low)
    above = of.all_clipped(around.high - of.middle)
    means = [
        replace(
            clipped, value=clipped.value + spread.lost, variance=spread.variance(clipped.variance)
        )
        for spread in of.spreads
    ]
    if alone is not None and alone.n:
        lower, higher = of.reach(clipped.variance, clipped.factor)
        error = max(lower, higher) / clipped.factor
        if below or above:  # which says nothing of the mean
            error = 1e6 * label.span
        how = joint(replace(means[AS_PUBLIC], variance=error**2), holders, alone, ends)
        means, below, above = [how.of(mean) for mean in means], False, False
    found = [mean.interval(label.low, label.high) for mean in means]
    return Interval(
        found[AS_PUBLIC].value,
        label.low if below else min(each.low for each in found),
        label.high if above else max(each.high for each in found),
    )


@dataclass(frozen=True)
class SpreadLoss:
    """The part of labels' mean that a clipped one ``lost``, at one spread.

    An error of the clipped mean counts ``slope`` times, and ``error`` is the variance that the
    public rows' own adds.
    """

    lost: float
    slope: float
    error: float

    def variance(self, clipped: float) -> float:
        """The mean's variance by that of the clipped one."""
        return self.slope**2 * clipped + self.error


@dataclass(frozen=True)
class Unclipping:
    """The change of a clipped mean into the mean of labels, at each of ``clipping.SPREADS``.

    Clipped means are within ``radius`` of the ``middle``.
    """

    spreads: tuple[SpreadLoss, ...]
    middle: float
    radius: float

    def reach(self, clipped: float, factor: float) -> tuple[float, float]:
        """The distances down and up from the mean at the public spread to the ends of an interval
        of ``factor`` standard errors to each side, by the ``clipped`` mean's variance."""
        return reach([(of.lost, of.variance(clipped)) for of in self.spreads], factor)

    def all_clipped(self, distance: float) -> bool:
        """True if a clipped mean that far from the middle may be of labels that all were."""
        return bool(all_clipped(distance, 2.0 * self.radius))


def reach(means: Sequence[tuple[float, float]], factor: float) -> tuple[float, float]:
    """The distances down and up from the mean at the public spread to the ends of intervals of
    means with variances, one at each spread."""
    public, _ = means[AS_PUBLIC]
    return (
        max(public - mean + factor * sqrt(variance) for mean, variance in means),
        max(mean - public + factor * sqrt(variance) for mean, variance in means),
    )


@dataclass(frozen=True, eq=False)
class CellUnclippings:
    """The changes of every cell's clipped mean, as in ``SpreadLoss``, ``(SPREADS, cells)``.

    ``errors`` are standard errors, and those of all cells are in common.
    """

    lost: Floats
    slopes: Floats
    errors: Floats
    middle: Floats
    radius: float

    def of(self, mass: Floats) -> Unclipping:
        """The change of the mean of holders of a ``mass``, ``(cells,)``, up to a factor."""
        weights = mass / mass.sum()
        means = np.stack([self.lost, self.slopes, self.errors], axis=1) @ weights
        spreads = [SpreadLoss(lost, slope, error**2) for lost, slope, error in means.tolist()]
        return Unclipping(tuple(spreads), float(weights @ self.middle), self.radius)


def unclippings(
    label: Range, public: PublicData, question: QuestionCounts, values: Floats
) -> CellUnclippings:
    """The changes of cells whose labels lie about a model's ``values``."""
    scale, cells = question.scale_of(label), np.arange(len(values), dtype=np.int32)
    middle = np.broadcast_to(scale.low + scale.width / 2.0, values.shape)
    r, at_spreads = values - middle, in_cells(label, public, question, cells)
    slopes, errors = np.transpose([spread.unsure(r) for spread in at_spreads], (1, 0, 2))
    lost = np.array([spread.whole(r) - r for spread in at_spreads])
    return CellUnclippings(lost, slopes, errors, middle, scale.width / 2.0)


def unclipping(
    label: Range, public: PublicData, question: QuestionCounts, values: Floats, mass: Floats
) -> Unclipping:
    """The change for all holders, or those of a ``mass``, as in ``unclipped_mean``."""
    return unclippings(label, public, question, values).of(mass)


def figure_weights(label: Label, question: QuestionCounts) -> list[tuple[str, Floats]]:
    """Names of figures with the value that each count stands for, ``(cells, slots)``."""
    shape = question.counts.shape
    if isinstance(label, Classes):
        return [
            (name, np.broadcast_to(np.eye(label.slots)[slot], shape).copy())
            for slot, name in enumerate(label.classes)
        ]
    scale = question.scale_of(label)
    low = np.broadcast_to(scale.low, shape[0])
    return [(label.name, np.stack([low, low + scale.width], axis=1))]


def cell_differences(
    label: Label,
    question: QuestionCounts,
    public_by_cell: Floats,
    selection: float,
    at_spreads: Sequence[AtSpread] = (),
) -> tuple[CellDifference, ...]:
    """The cells whose mass or labels differ from the public counts', the surest first.

    Of those listed, ``FALSE_DISCOVERY_RATE`` are false in expectation. Of numbers that were
    clipped around centres none could come ``at_spreads`` of another width.
    """
    masses = _masses(question, public_by_cell)
    labels = _labels(label, question, public_by_cell, selection, at_spreads)
    listed = _discoveries([*masses, *labels])
    missed = LEVEL * len(listed) / (len(masses) + len(labels))
    return tuple(row.difference(factor_at(question.progress, missed)) for row in listed)


def _whole(
    label: Range,
    public: PublicData,
    question: QuestionCounts,
    differences: Sequence[CellDifference],
) -> tuple[CellDifference, ...]:
    """``differences`` whose means are those of labels as they were before clipping."""
    of_labels = [row for row in differences if row.name is not None]
    figures = np.array([(row.reported, row.low, row.high) for row in of_labels]).reshape(-1, 3).T
    cells = np.array([row.cell for row in of_labels], dtype=np.int32)
    whole = np.transpose(whole_means(label, public, question, cells, *figures)).tolist()
    means = {
        row: replace(row, reported=mean, low=low, high=high)
        for row, (mean, low, high) in zip(of_labels, whole, strict=True)
    }
    return tuple(means.get(row, row) for row in differences)


def _masses(question: QuestionCounts, public_by_cell: Floats) -> list[_Compared]:
    """Compare every cell's share of the holders with its share of the public records."""
    n, rows = question.holders, public_by_cell.sum(axis=1)
    reported, public = question.counts.sum(axis=1) / n, rows / rows.sum()
    noise = np.maximum(question.noise.sum(axis=(1, 2)), 0.0) / n**2
    error = np.sqrt(noise + binomial_variance(reported, public) / n)
    p = share_p(question.progress, rows, rows.sum(), reported, error)
    p[(reported < public) & (rows < FEWEST_ROWS_TO_COMPARE)] = 1.0
    columns = np.stack([reported, np.sqrt(noise), public, p]).T.tolist()
    return [_Compared(cell, None, *figures) for cell, figures in enumerate(columns)]


def _labels(
    label: Label,
    question: QuestionCounts,
    public_by_cell: Floats,
    selection: float,
    at_spreads: Sequence[AtSpread],
) -> list[_Compared]:
    """Compare every cell's class shares, or its mean label, with the public ones.

    ``selection`` is by how much more these vary since cells were grown on them.
    """
    rows, q = public_by_cell.sum(axis=1), smoothed_shares(public_by_cell)
    mass = np.maximum(question.counts.sum(axis=1, keepdims=True), 1.0)
    share = question.counts / mass
    t = np.clip(share, 0.0, 1.0)
    error = np.sqrt(np.maximum(contrast_variance(question.noise, t), 0.0)) / mass
    sampled = np.sqrt(error**2 + binomial_variance(t, q) / mass)
    if isinstance(label, Classes):
        p = share_p(question.progress, public_by_cell, rows[:, None], share, sampled, selection)
    else:
        grown = selection * binomial_variance(t, q) / (rows + 1.0)[:, None]
        off = share - q
        if at_spreads:
            width = question.scale_of(label).width
            clipped, of_numbers = width * (q[:, 1] - 0.5), width * off[:, 1]
            off[:, 1] = beyond_spreads(at_spreads, clipped, of_numbers) / width
        p = mean_p(question.progress, off, sampled**2, grown)
    names: tuple[str, ...] = label.classes if isinstance(label, Classes) else ("", label.name)
    low, width = np.zeros(len(mass)), 1.0
    if isinstance(label, Range):
        scale = question.scale_of(label)
        low, width = np.broadcast_to(scale.low, len(mass)), scale.width
        error = sampled  # rounding varies as a sample does
    figures = np.stack(np.broadcast_arrays(share, error, q, p, low[:, None], width), -1).tolist()
    return [
        _Compared(cell, names[slot], *figures[cell][slot])
        for cell, slot in np.ndindex(*p.shape)
        if mass[cell, 0] > 1.0 and names[slot]
    ]


def _discoveries(compared: Sequence[_Compared]) -> list[_Compared]:
    """Benjamini and Hochberg (1995): up to the last p_(i) <= i FDR / tests."""
    ordered = sorted(compared, key=lambda difference: difference.p_value)
    passing = [
        place
        for place, difference in enumerate(ordered, start=1)
        if difference.p_value <= place * FALSE_DISCOVERY_RATE / len(compared)
    ]
    return ordered[: max(passing, default=0)]


def _comparison(
    label: Label,
    overall: Sequence[Comparison],
    differences: Sequence[CellDifference],
    in_cell: float | None,
) -> str:
    """Sentences on where holders and public records differ, or from where on that would show."""
    surest = min(overall[-tests_of(label) :], key=lambda row: row.p_value)
    is_share = isinstance(label, Classes)
    subject = f"{label.name} is {surest.name} for" if is_share else f"the mean {label.name} is"
    group = "of" if is_share else "among"
    stated = figure(surest.reported, surest.low, surest.high, is_share=is_share)
    expected = percent(surest.public) if is_share else amount(surest.public)
    figures = f"{subject} {stated} {group} holders and {expected} {group} public records"
    if surest.p_value * tests_of(label) <= FALSE_DISCOVERY_RATE:
        first = f"The holders differ from the public records: {figures}."
    else:
        first = (
            f"Overall figures do not distinguish holders from public records: {figures}; "
            f"{seen_in_words(label, [row.seen_from for row in overall])}."
        )
    if differences:
        one = len(differences) == 1
        return f"{first} {len(differences)} difference{' ' if one else 's '}in cells " + (
            "is listed." if one else "are listed."
        )
    if in_cell is None:
        return f"{first} In no cell is a difference sure."
    return (
        f"{first} In no cell is a difference sure: in half of the cells "
        f"{seen_in_words(label, [in_cell])}."
    )


def seen_in_words(label: Label, seen: Sequence[float | None], what: str = "difference") -> str:
    """The least difference that was to show in every figure, as a part of a sentence.

    ``seen`` are the figures' own; None where none would have.
    """
    least = None if None in seen else max(each for each in seen if each is not None)
    if least is None:
        return f"no {what}, however large, {LIKELY}"
    size = amount(float(f"{least:.3g}"))
    if isinstance(label, Classes):
        size = f"{amount(float(f'{max(100.0 * least, 0.1):.2g}'))} points"
    return f"a {what} of {size} or more {LIKELY}"


def _effect(label: Label, moved: float, relabelled: int | None, cells: int) -> str:
    """A sentence on how far reports moved predictions."""
    unit = (
        f"{100 * moved:.1f} points" if isinstance(label, Classes) else amount(float(f"{moved:.3g}"))
    )
    changed = ""
    if relabelled is not None:
        changed = f" and changed the likeliest class in {relabelled or 'none'} of {cells} cells"
    return f"The reports moved predictions by {unit} on average{changed}."
