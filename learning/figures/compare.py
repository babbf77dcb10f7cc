"""Comparisons: reports with public records, and one wave of a panel with another.

Either way figures of all holders and of every cell are made of counts (``figure``), each is tested
against what is known of it, those that differ are selected among all (``select``), and intervals
are as wide as the selection needs. Public records are known with the chance of who is in them, and
cells were grown on them (``selection``); an earlier wave is as unsure as the later one.

Of public records a cell's mass, U_k / n against m_k / m, and its labels, V_ks / U_k against h_ks /
m_k, are compared. The mean of a number is compared by a normal law, with the public variance
s p (1 - p) / (m_k + 1) on the scale [0, 1], s being the factor of ``selection``. Waves are
compared with the one before and with the first, in a panel of W waves (2 (W - 1) - 1) times, those
to come included. Holders who answer several waves make differences surer than is said.

No difference is never said without the least one that would have been seen (``power``). Of
numbers around centres only the mean of those asked for the label alone is compared: what their
cells count is clipped, and serves predictions (ADR 0134).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

import numpy as np
from numpy.polynomial import Polynomial

from privet.protocol.errors import InvalidRequest
from privet.protocol.features import Classes, Label, Range
from privet.protocol.results import Comparison, Distribution, RegisterFigure

from ..core.amounts import tells_nothing
from ..core.counts import (
    Estimate,
    Interval,
    QuestionCounts,
    misfit_share,
    public_counts,
    without_label_question,
)
from ..core.labels import ClassLabel, kind_of
from ..core.looks import LEVEL, Looks, critical_difference, of_both
from ..core.model import Model, question_about
from ..core.public_data import Floats, PublicData
from ..core.ratio import contrast_variance, moments
from .distribution import distribution, withheld
from .false_reports import PART, if_false
from .figure import Figure, PublicShare, Reports, intervals_of
from .impossible import Impossible, impossible
from .power import Difference, ShareDifference, binomial_variance, smoothed_shares
from .results import (
    CellDifference,
    Group,
    Line,
    OverTime,
    WaveChange,
    WaveFigure,
)
from .select import Place, discoveries
from .sentences import (
    YOUR_FILE,
    around_centres,
    change_in_words,
    comparison,
    in_doubt,
    in_groups,
    in_register,
    moved_in_words,
    over_waves,
    verdict,
)
from .weighting import weighted

CELLS = 9
"""Cells of which the median is taken; of more it takes longer."""
FEWEST_ROWS_TO_COMPARE = 10
"""Fewer public records show neither how numbers are spread nor that a cell has fewer holders."""


@dataclass(frozen=True)
class Insight:
    """Comparison of ``reports`` reports with ``public_records`` records, and the effect of the
    ``model_reports`` that a model was fitted to.

    ``misfits`` is the share of the reports whose record did not fit the task; the rest describes
    those whose record did.
    ``overall`` has one entry per class, or one for the mean label. ``differences`` are the cells
    that differ significantly, most significant first. In half of the cells every difference
    of ``seen_in_a_cell`` or more would have been listed with the probability ``POWER``, were it the
    only one; None if none would. ``moved`` is the mean absolute change of the
    model's values by the reports, over its cells by mass, in shares or in the label's units, 0
    without a model; ``relabelled`` is the number of the ``cells`` in which they changed the
    likeliest class, None for a numeric label. The ``sentence`` begins with the ``headline``.
    ``looks`` says at how many looks intervals and differences hold.
    With ``impossible`` reports, which cannot all be honest, every interval is all that there can
    be, and no difference is listed. ``gathered`` says of strata what ``misfits`` does, if whoever
    asks has named the columns. With a register ``weighted`` are the figures of all its people
    (``weighting``), in words ``of_register``. ``figures`` are those of ``overall``, which explain
    themselves. A number of which several levels were asked has a ``distribution``. ``if_false``
    says what a part of the answers could do, were they false. ``groups`` are the finest of which
    the reports tell enough (``groups.divide_people``), if whoever asks has added them.
    """

    reports: int
    model_reports: int
    misfits: Interval
    public_records: int
    cells: int
    overall: tuple[Comparison, ...]
    differences: tuple[CellDifference, ...]
    seen_in_a_cell: float | None
    moved: float
    relabelled: int | None
    headline: str
    sentence: str
    looks: Looks
    weighted: tuple[RegisterFigure, ...] = ()
    of_register: str = ""
    impossible: Impossible | None = None
    gathered: str = ""
    distribution: Distribution | None = None
    if_false: str = ""
    groups: tuple[Group, ...] = ()
    figures: tuple[Figure, ...] = field(default=(), repr=False, compare=False)


def insight(
    label: Label,
    public: PublicData,
    questions: Sequence[QuestionCounts],
    model: Model,
    file: str = YOUR_FILE,
) -> Insight:
    """Compare the reports with the public records, and the model with that of public data only.

    The sentence calls the public records by the name of their ``file``.
    Raises ``InvalidRequest`` without reports to a question about the label on the model's cells,
    and where every number is around a centre.
    """
    question = question_about(model, questions, centred=True)
    if question is None:
        raise InvalidRequest(
            "There are no reports about the label in this model's cells: wait for holders, or fit "
            "a model of a task that asks for the label."
        )
    kind, (_, alone) = kind_of(label), without_label_question(questions)
    unstated = around_centres(alone=alone is not None) if question.centred else ""
    of_cells = Reports(kind, question, alone)
    reports = Reports.of(label, questions) if unstated else of_cells
    if reports is None:
        raise InvalidRequest(unstated)
    found = _of_all_holders(public, questions, reports, of_cells.n, file)
    differences, seen_in_a_cell = tuple[CellDifference, ...](), None
    if not unstated and found.impossible is None:
        public_by_cell = public_counts(label, public, question.partition)
        differences = cell_differences(reports, public_by_cell, model.selection)
        seen_in_a_cell = in_a_cell(reports, public_by_cell, model.selection).smallest()
    before = model.without_reports().values
    mass = np.maximum(question.counts.sum(axis=1), 0.0)
    changed = np.abs(model.values - before).max(axis=1)
    moved = float((mass * changed).sum() / max(mass.sum(), 1e-300))
    relabelled = None
    if kind.is_share:
        relabelled = int((model.values.argmax(axis=1) != before.argmax(axis=1)).sum())
    cells, sentence = question.partition.cells, found.sentence
    if found.impossible is None:
        groups = unstated or in_groups(label, cells, differences, seen_in_a_cell)
        effect = moved_in_words(label, moved, relabelled, cells, (model.n, of_cells.n))
        sentence = comparison(label, found.headline, groups, effect)
    return replace(
        found,
        model_reports=model.n,
        cells=cells,
        differences=differences,
        seen_in_a_cell=seen_in_a_cell,
        moved=moved,
        relabelled=relabelled,
        sentence=sentence,
    )


def figures_alone(label: Label, questions: Sequence[QuestionCounts]) -> Insight:
    """The figures of all holders of a task without features, which has neither cells nor models.

    Raises ``InvalidRequest`` without reports.
    """
    reports = Reports.of(label, questions)
    if reports is None:
        raise InvalidRequest("Nobody has answered yet: wait for holders.")
    found = _of_all_holders(PublicData.none(), questions, reports, reports.n)
    bins = distribution(reports)
    if bins is not None and found.impossible is not None:
        bins = withheld(bins)
    return replace(found, distribution=bins)


def _of_all_holders(
    public: PublicData,
    questions: Sequence[QuestionCounts],
    reports: Reports,
    answers: int,
    file: str = YOUR_FILE,
) -> Insight:
    """The comparison without cells and without a model: the figures of all who gave ``answers``,
    which the ``reports`` state. Where these cannot all be honest, all that there can be."""
    kind, label = reports.kind, reports.kind.label
    figures, overall = _overall(public, reports)
    misfits = (misfit_share(questions) or Estimate(0.0, 1.0)).interval(0.0, 1.0)
    people, doubt, false = tuple[RegisterFigure, ...](), "", impossible(questions)
    if false is None:
        headline = verdict(label, overall, answers, 0, file)
        people = weighted(kind, questions, public.register)
        # if not all state figures, of those who do
        part = PART if answers == reports.n else PART * answers / reports.n
        doubt = _doubt(label, reports, overall, part)
    else:
        headline, (least, most) = false.sentence, kind.bounds
        overall = tuple(
            replace(row, low=least, high=most, p_value=1.0, seen_from=None) for row in overall
        )
        misfits, figures = replace(misfits, low=0.0, high=1.0), ()
    return Insight(
        reports=answers,
        model_reports=0,
        misfits=misfits,
        public_records=len(public),
        cells=1,
        overall=overall,
        differences=(),
        seen_in_a_cell=None,
        moved=0.0,
        relabelled=None,
        headline=headline,
        sentence=headline,
        looks=reports.question.looks,
        weighted=people,
        of_register=in_register(label, people),
        impossible=false,
        if_false=doubt,
        figures=figures,
    )


def overall_shares(
    label: Classes, public: PublicData, questions: Sequence[QuestionCounts]
) -> tuple[Comparison, ...]:
    """The share of each class, which needs no model; empty without reports about the label."""
    reports = Reports.of(label, questions)
    return () if reports is None else _overall(public, reports)[1]


def shares_in_doubt(
    label: Classes, questions: Sequence[QuestionCounts], overall: Sequence[Comparison]
) -> str:
    """``Insight.if_false`` of the ``overall_shares``; empty without any."""
    reports = Reports.of(label, questions)
    if reports is None or not overall:
        return ""
    return _doubt(label, reports, overall)


def _doubt(
    label: Label, reports: Reports, overall: Sequence[Comparison], part: float = PART
) -> str:
    """The sentence on the ends of ``overall`` figures if ``PART`` of all answers were false, which
    is this ``part`` of the ``reports``."""
    return in_doubt(label, overall, if_false(reports, overall, part), PART)


def contradicted(prevalence: Floats, reports: Reports) -> list[tuple[int, Interval]]:
    """The classes whose stated share reports contradict, with their shares by the reports.

    Where the holders are drawn from a population with the ``prevalence``, ``(classes,)``, there is
    any at any look (``QuestionCounts.looks``) in at most 5 % of collections.
    """
    level, found = LEVEL / reports.kind.tests, []
    for place, (share, stated) in enumerate(zip(reports.overall(0.0), prevalence, strict=True)):
        off = replace(share, spread=stated * (1.0 - stated)).drawn.half_width(level)
        if abs(share.value - stated) > off:
            found.append((place, share.interval()))
    return found


def mean_would_tell(label: Range, public: PublicData, questions: Sequence[QuestionCounts]) -> bool:
    """True if the reports tell the mean, as a model of them would: by the public cells' means."""
    reports = Reports.of(label, questions)
    if reports is None:
        return False
    of = reports.overall(float(public.y.mean()) if len(public) else None)[0].interval()
    return not tells_nothing(of.low, of.high, label.low, label.high)


def beside_public(
    public: PublicData,
    reports: Reports,
    records: Floats | float = 1.0,
) -> tuple[list[Figure], Sequence[PublicShare | Figure]]:
    """Each class's share, or the mean label, and the public records' own.

    A public row stands for so many ``records``, in each class if they differ.
    """
    kind, m = reports.kind, len(public) * float(np.mean(records))
    if isinstance(kind, ClassLabel):
        hits = (kind.hits(public) * records).tolist()
        return reports.overall(kind.middle), [PublicShare(of, sum(hits)) for of in hits]
    mean, spread, (low, high) = public.y.mean(), float(public.y.var()), kind.bounds
    if m < FEWEST_ROWS_TO_COMPARE:  # these may be alike by chance: the largest there can be
        spread = float((mean - low) * (high - mean))
    (of_all,) = reports.overall(float(mean))
    theirs = Figure(mean, 0.0 * mean, spread, m, 1.0, kind.bounds, given=True)
    return [replace(of_all, spread=spread)], [theirs]


def _overall(
    public: PublicData, reports: Reports
) -> tuple[tuple[Figure, ...], tuple[Comparison, ...]]:
    """Each class's share, or the mean label, with the test that the populations are alike, where
    there are public records."""
    kind = reports.kind
    tested: list[tuple[float | None, float, float | None]]
    if len(public):
        figures, known = beside_public(public, reports)
        rows = zip(kind.public_figures(public).tolist(), known, figures, strict=True)
        tested = [
            (of, float(there.p_value(here)), there.to_detect(here, kind.tests).smallest())
            for of, there, here in rows
        ]
    else:
        figures = reports.overall(kind.middle if kind.is_share else None)
        tested = [(None, 1.0, None)] * len(figures)
    stated = list(zip(figures, intervals_of(kind, figures), tested, strict=True))
    return tuple(replace(figure, stated=of) for figure, of, _ in stated), tuple(
        Comparison(figure.name, of.value, of.low, of.high, *beside) for figure, of, beside in stated
    )


def cell_differences(
    reports: Reports, public_by_cell: Floats, selection: float
) -> tuple[CellDifference, ...]:
    """The cells whose mass or labels differ from the public counts', the surest first.

    ``selection`` is by how much more public labels vary since cells were grown on them.
    """
    question, rows = reports.question, public_by_cell.sum(axis=1, keepdims=True)
    masses, labels = reports.masses(), _labels(reports, public_by_cell, selection)
    groups = ((masses, PublicShare(rows, rows.sum())), labels)
    of_masses, of_labels = (known.p_value(reported) for reported, known in groups)
    few = (masses.value < groups[0][1].value) & (rows < FEWEST_ROWS_TO_COMPARE)
    of_masses[few], of_labels[question.counts.sum(axis=1) <= 1.0] = 1.0, np.nan
    listed, level = discoveries((of_masses, of_labels))
    found = []
    for group, at, p in listed:
        reported, known = groups[group]
        name = (None, reports.kind.names[at[1]])[group]
        value, low, high = reported.ends(at, level).tolist()
        found.append(CellDifference(at[0], name, value, low, high, float(known.value[at]), p))
    return tuple(found)


def _labels(
    reports: Reports, public_by_cell: Floats, selection: float
) -> tuple[Figure, PublicShare | Figure]:
    """Every cell's class shares, or its mean label, and what public records say of it."""
    rows, q = public_by_cell.sum(axis=1)[:, None], smoothed_shares(public_by_cell)
    figures, kind = reports.cells(), reports.kind
    if kind.is_share:
        return figures, PublicShare(public_by_cell, rows, selection, smoothed=q)
    value, unit = kind.of_shares(reports.question, q)
    t = reports.question.counts[:, 1:] / figures.holders
    spread = unit**2 * binomial_variance(t, q[:, 1:])
    error = selection * spread
    known = Figure(value, 0.0 * value, error, rows + 1.0, 1.0, kind.bounds, given=True)
    return replace(figures, spread=spread).drawn, known  # rounding varies as a sample does


def in_a_cell(
    reports: Reports, public_by_cell: Floats, selection: float
) -> Difference | ShareDifference:
    """The difference to detect in the median cell, as one of all cells' masses and labels.

    That is the cell of which the least difference is the median, of at most ``CELLS`` cells, from
    the least noisy one to the noisiest.
    """
    kind, question = reports.kind, reports.question
    noise, progress, (lowest, width) = question.noise, question.progress, kind.scale_of(question)
    tests = len(public_by_cell) * (1 + len(kind.names))
    rows, q = public_by_cell.sum(axis=1), smoothed_shares(public_by_cell)
    holders, spread = np.maximum(question.plausible.sum(axis=1), 1.0), q * (1.0 - q)
    of_contrast = np.maximum(contrast_variance(noise, q), 0.0) / holders[:, None] ** 2
    error = of_contrast + spread / holders[:, None] + selection * spread / (rows + 1.0)[:, None]
    by_noise = np.argsort(error.max(axis=1))
    places = np.linspace(0, len(by_noise) - 1, min(len(by_noise), CELLS)).round().astype(np.int64)
    coefficients = moments(noise)

    def to_detect(cell: int, slot: int) -> Difference | ShareDifference:
        n, m = float(holders[cell]), float(rows[cell])
        of_slot, with_mass, of_mass = (each[cell] / n**2 for each in coefficients)
        by_share = Polynomial([of_slot[slot], -2.0 * with_mass[slot], of_mass])
        if kind.is_share:
            hits = float(public_by_cell[cell, slot])
            return ShareDifference(hits, m, by_share, n, tests, progress, selection)
        mean, (low, high) = float(q[cell, 1]), kind.bounds
        value = float(lowest[cell]) + width * mean

        def variances(difference: float) -> tuple[float, float]:
            ends = np.clip(mean + np.array([-difference, difference]) / width, 0.0, 1.0)
            sampled = binomial_variance(ends, np.asarray(mean))
            reported = np.maximum(by_share(ends), 0.0) + sampled / n
            of_public = selection * float(sampled.max()) / (m + 1.0)
            return width**2 * float(reported.max()), width**2 * of_public

        largest = max(value - low, high - value)
        return Difference.there(variances, tests, largest, of_both(progress))

    of_cells = []
    for cell in by_noise[places].tolist():
        slots = {1}  # the place of a number
        if kind.is_share:  # a share that may rise further is noisier there
            rising = np.where(q[cell] <= 0.5, q[cell], -1.0)
            slots = {int(error[cell].argmax()), int(rising.argmax())}
        of_cells.append(max((to_detect(cell, slot) for slot in slots), key=_least))
    return sorted(of_cells, key=_least)[len(of_cells) // 2]


def _least(difference: Difference | ShareDifference) -> float:
    least = difference.smallest()
    return np.inf if least is None else least


@dataclass(frozen=True, eq=False)
class _Wave:
    """The figures of one wave: of ``all`` holders, by name, and ``every`` one that is compared.

    ``every`` has shape ``(1 + cells, figures)``, all holders first, NaN where a cell has too few.
    """

    number: int
    reports: Reports
    all: list[Figure]
    every: Figure

    @classmethod
    def of(cls, number: int, reports: Reports) -> "_Wave":
        kind, question = reports.kind, reports.question
        of_all = [figure.drawn for figure in reports.overall()]
        some = kind.independent
        overall = np.array([(figure.value, figure.variance) for figure in of_all[some]]).T
        if question.partition.cells == 1:  # all holders
            value, variance = overall[:, None]
            every = replace(
                of_all[0], value=value, variance=variance, holders=reports.holders, noise=None
            )
            return cls(number, reports, of_all, every)
        cells = reports.cells()
        _, unit = kind.of_shares(question, question.counts)
        of_cells = replace(cells, spread=np.maximum(cells.spread, unit**2 / cells.holders)).drawn
        value = np.where(reports.known_cells[:, None], of_cells.value, np.nan)
        every = replace(
            of_cells,
            value=np.vstack([overall[0], value[:, some]]),
            variance=np.vstack([overall[1], np.asarray(of_cells.variance)[:, some]]),
            holders=reports.holders,
            bounds=kind.bounds,
        )
        return cls(number, reports, of_all, every)


def over_time(
    label: Label, waves: Mapping[int, Sequence[QuestionCounts]], planned: int
) -> OverTime:
    """The waves that have reports, by number from 1, of a panel of ``planned`` waves.

    Of numbers around centres the means of those who were asked for the label alone.
    """
    kind, found, unstated = kind_of(label), {}, ""
    for number, questions in sorted(waves.items()):
        stating = [each for each in questions if not each.centred]
        if len(stating) < len(questions):
            unstated = around_centres(alone=bool(stating))
        about, alone = without_label_question(stating)
        if len(about) == 1 and about[0].n and about[0].mechanism.slots > 1:
            found[number] = Reports(kind, about[0], alone)
    if not found:
        answered = any(question.n for of_wave in waves.values() for question in of_wave)
        said = "No wave has answers to compare." if answered else "Nobody has answered yet."
        return OverTime((), (), 0, f"{said} {unstated}".rstrip())
    some = next(iter(found.values())).question
    of_waves = [_Wave.of(number, reports) for number, reports in found.items()]
    comparisons = comparisons_of(label, some.partition.cells, planned)
    lines = _lines(of_waves)
    changes = _changes(of_waves, lines, comparisons)
    in_cells = _lines_in_cells(of_waves, changes)
    some_names = kind.independent
    first, last = of_waves[0].all[some_names], of_waves[-1].all[some_names]
    seen = [
        one.to_detect(other, comparisons).smallest() for one, other in zip(first, last, strict=True)
    ]
    sentence = over_waves(label, (of_waves[0].number, of_waves[-1].number), changes, seen)
    return OverTime(lines, changes, comparisons, f"{sentence} {unstated}".rstrip(), in_cells)


def comparisons_of(label: Label, cells: int, waves: int) -> int:
    """Comparisons in a panel of so many waves: each with the one before it and with the first.

    A single cell has all holders, and no figure of its own.
    """
    return (2 * (waves - 1) - 1) * kind_of(label).tests * (1 + cells if cells > 1 else 1)


def _changes(
    waves: Sequence[_Wave], lines: Sequence[Line], comparisons: int
) -> tuple[WaveChange, ...]:
    """The changes that are listed, the surest first, between the values that lines show."""
    kind = waves[0].reports.kind
    names, (lowest, highest) = kind.names[kind.independent], kind.bounds
    of_all = {(line.name, each.wave): each.value for line in lines for each in line.figures}
    pairs = [(waves[0], wave) for wave in waves[1:]] + list(pairwise(waves[1:]))
    tables = [one.every.p_value(other.every) for one, other in pairs]
    listed, level = discoveries(tables, comparisons) if tables else ([], LEVEL)
    changes = []
    for pair, at, p in listed:
        (one, other), (place, name) = pairs[pair], (at[0], names[at[1]])
        if place == 0:
            before, after = (of_all[name, wave.number] for wave in (one, other))
        else:
            raw = (wave.every.value[at] for wave in (one, other))
            before, after = (float(np.clip(value, lowest, highest)) for value in raw)
        ends = _ends(one.every, other.every, at, level, after - before)
        cell = None if place == 0 else place - 1
        since, now = (one.number, before), (other.number, after)
        said = change_in_words(kind, name, since, now, ends)
        changes.append(
            WaveChange(one.number, other.number, cell, name, before, after, *ends, p, said)
        )
    return tuple(changes)


def _ends(one: Figure, other: Figure, at: Place, level: float, apart: float) -> tuple[float, float]:
    """The interval of a change, which reaches to the figures' values ``apart``, but not past 0."""
    first, second = float(one.variance[at]), float(other.variance[at])
    raw = float(other.value[at] - one.value[at])
    progress, sign = of_both(one.progress, other.progress), float(np.sign(raw))
    half = float(critical_difference((first, second), progress, level))
    least, most = abs(raw) - half, abs(raw) + half
    low, high = map(float, one.bounds)
    nearer, further = max(min(least, sign * apart), 0.0), min(max(most, sign * apart), high - low)
    ends = sorted((sign * nearer, sign * further))
    return ends[0], ends[1]


def _lines(waves: Sequence[_Wave]) -> tuple[Line, ...]:
    """Figures of all holders."""
    figures: dict[str, list[WaveFigure]] = {}
    for wave in waves:
        reports = wave.reports
        intervals = intervals_of(reports.kind, wave.all)
        for name, of in zip(reports.kind.names, intervals, strict=True):
            found = WaveFigure(wave.number, reports.n, of.value, of.low, of.high)
            figures.setdefault(name, []).append(found)
    return tuple(Line(name, tuple(each)) for name, each in figures.items())


def _lines_in_cells(waves: Sequence[_Wave], changes: Sequence[WaveChange]) -> tuple[Line, ...]:
    """The lines of the cells that changed, with intervals of which one in twenty misses."""
    chosen = dict.fromkeys((each.cell, each.name) for each in changes if each.cell is not None)
    if not chosen:
        return ()
    kind = waves[0].reports.kind
    names = kind.names[kind.independent]
    cells = len(waves[0].every.value) - 1
    level, lines = LEVEL * len(chosen) / (cells * len(names)), []
    for cell, name in chosen:
        at, found = (cell + 1, names.index(name)), []
        for wave in waves:
            question = wave.reports.question
            if not np.isnan(wave.every.value[at]):
                value, low, high = wave.every.ends(at, level).tolist()
                found.append(WaveFigure(wave.number, question.n, value, low, high))
        lines.append(Line(name, tuple(found), cell))
    return tuple(lines)
