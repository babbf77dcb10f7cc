"""What the holders' reports say that the public records did not.

Of n holders whose record fits the task, V_ks is the debiased count of slot s in cell k and
U_k = sum_s V_ks. Of m public records, h_ks are the exact counts. A weighted sum of counts over n,

    A_w = sum_ks w_ks V_ks / n,    Var A_w = (w' Cov(V) w + A_w^2 Var n) / n^2,

is a class's share among those who reported (w = 1 in its slot), or the distance of their mean label
from the public one (w = what each slot stands for, less that). Its interval is about them, so it
has the mechanism's noise and nothing else. Whether the populations behind both data differ is
another question, with the chance of who was asked in both: a share p has p (1 - p) (1 / n + 1 / m)
more variance.

In each cell two things may differ: its mass, U_k / n against m_k / m, and its labels, by the
contrast R = V - q U with the public share q in the cell, smoothed by one record of the public
average, so that E R = 0 where they agree,

    Var R = Var(noise of R) + n w (p (1 - 2 q) + q^2) + (n w)^2 q (1 - q) / (m_k + 1).

Two-sided p-values of all cells are cut off by Benjamini and Hochberg (1995): of the differences
listed, at most ``FALSE_DISCOVERY_RATE`` are false on average.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil

import numpy as np
from scipy.special import ndtr

from privet.protocol.errors import InvalidRequest
from privet.protocol.features import Classes, Range

from .counts import (
    Z95,
    Estimate,
    Interval,
    Label,
    QuestionCounts,
    misfit_share,
    public_counts,
    sampling_covariance,
)
from .estimators.ratio import moments
from .model import Model
from .public_data import Floats, PublicData

FALSE_DISCOVERY_RATE = 0.05
REFERENCE = 100_000
"""Holders for whom a variance is stated before there are any."""


@dataclass(frozen=True)
class Comparison:
    """One figure of the holders with its 95 % interval, and the same of the public records.

    ``p_value`` is that of "both populations are alike".
    """

    name: str
    reported: float
    low: float
    high: float
    public: float
    p_value: float


@dataclass(frozen=True)
class CellDifference:
    """A cell whose mass (``name`` None), or whose share of ``name``, differs from public data."""

    cell: int
    name: str | None
    reported: float
    low: float
    high: float
    public: float
    p_value: float


@dataclass(frozen=True)
class Insight:
    """Comparison of ``reports`` reports with ``public_records`` records, and their effect on a
    model.

    ``misfits`` is the share of the reports whose record did not fit the task; all else is about the
    others.
    ``overall`` has one entry per class, or one for the mean label. ``differences`` are the cells
    that differ significantly, most significant first. ``moved`` is the mean absolute change of the
    model's values by the reports, over its cells by mass, in shares or in the label's units;
    ``relabelled`` is the number of the ``cells`` in which they changed the likeliest class, None
    for a numeric label.
    """

    reports: int
    misfits: Interval
    public_records: int
    cells: int
    overall: tuple[Comparison, ...]
    differences: tuple[CellDifference, ...]
    moved: float
    relabelled: int | None
    sentence: str


def insight(
    label: Label, public: PublicData, questions: Sequence[QuestionCounts], model: Model
) -> Insight:
    """Compare the reports with the public records, and the model with that of public data alone.

    Raises ``InvalidRequest`` without reports to a question about the label on the model's cells.
    """
    question = question_about(model, questions)
    if question is None:
        raise InvalidRequest(
            "There are no reports about the label in this model's cells: wait for holders, or fit "
            "a model of a task that asks for the label."
        )
    known = public_counts(label, public, question.partition, question.scale)
    overall = _overall(label, public, question)
    misfits = (misfit_share(questions) or Estimate(0.0, 1.0)).interval(0.0, 1.0)
    found = [*_masses(question, known), *_labels(label, question, known)]
    differences = _discoveries(found, tests=len(found))
    before = values_without_reports(label, public, model)
    mass = np.maximum(question.counts.sum(axis=1), 0.0)
    change = np.abs(model.values - before).max(axis=1)
    moved = float((mass * change).sum() / max(mass.sum(), 1e-300))
    relabelled = None
    if isinstance(label, Classes):
        relabelled = int((model.values.argmax(axis=1) != before.argmax(axis=1)).sum())
    return Insight(
        question.n,
        misfits,
        len(public),
        question.partition.cells,
        overall,
        differences,
        moved,
        relabelled,
        _sentence(label, overall, differences, moved, relabelled, question.partition.cells),
    )


def reports_for(label: Label, question: QuestionCounts, half_width: float) -> int:
    """Reports with which every overall figure has a 95 % interval of at most ± ``half_width``.

    In shares, or in the label's units. A variance falls as 1 / n, and is that of the reports so
    far, or without any of ``REFERENCE`` holders spread evenly.
    """
    variances = []
    for _, weights in figure_weights(label, question):
        if question.n:
            centre = 0.0 if isinstance(label, Classes) else question.mean(weights).value
            variances.append(question.n * question.mean(weights - centre).variance)
        else:
            even = np.full(weights.shape, REFERENCE / weights.size)
            centred = weights - weights.mean()
            noise = question.mechanism.linear_variance(centred, REFERENCE, even)
            variances.append(noise / REFERENCE)
    return ceil(Z95**2 * max(variances) / half_width**2)


def question_about(model: Model, questions: Sequence[QuestionCounts]) -> QuestionCounts | None:
    """The question about the label in the model's own cells, if anybody has answered it."""
    tree = model.partition
    for question in questions:
        same = all(
            np.array_equal(getattr(question.partition, name), getattr(tree, name))
            for name in ("feature", "threshold", "left", "right")
        )
        if same and question.n and question.mechanism.slots == model.label.slots:
            return question
    return None


def _overall(label: Label, public: PublicData, question: QuestionCounts) -> tuple[Comparison, ...]:
    """Each class's share, or the mean label, with the test that the populations are alike."""
    n, m = question.holders, len(public)
    rows = []
    for name, weights in figure_weights(label, question):
        if isinstance(label, Classes):
            expected = float((public.y == label.classes.index(name)).mean())
            found = question.mean(weights)
            pooled = min(max((n * found.value + m * expected) / (n + m), 0.0), 1.0)
            spread = pooled * (1.0 - pooled)
            least, most = 0.0, 1.0
        else:
            expected, spread = float(public.y.mean()), float(public.y.var())
            distance = question.mean(weights - expected)
            found = Estimate(expected + distance.value, distance.variance)
            least, most = label.low, label.high
        error = np.sqrt(max(found.variance + spread * (1 / n + 1 / m), 1e-300))
        p_value = float(2.0 * ndtr(-abs(found.value - expected) / error))
        interval = found.interval(least, most)
        row = (interval.value, interval.low, interval.high, expected, p_value)
        rows.append(Comparison(name, *row))
    return tuple(rows)


def figure_weights(label: Label, question: QuestionCounts) -> list[tuple[str, Floats]]:
    """What each count stands for, ``(cells, slots)``, by the name of the figure."""
    shape = question.counts.shape
    if isinstance(label, Classes):
        return [
            (name, np.broadcast_to(np.eye(label.slots)[slot], shape).copy())
            for slot, name in enumerate(label.classes)
        ]
    scale = question.scale_of(label)
    low = np.broadcast_to(scale.low, shape[0])
    return [(label.name, np.stack([low, low + scale.width], axis=1))]


def _masses(question: QuestionCounts, known: Floats) -> list[CellDifference]:
    """Compare every cell's share of the holders with its share of the public records."""
    n, m = question.holders, known.sum()
    reported, public = question.counts.sum(axis=1) / n, known.sum(axis=1) / m
    noise = np.maximum(question.noise.sum(axis=(1, 2)), 0.0) / n**2
    pooled = np.clip((n * reported + m * public) / (n + m), 1.0 / (n + m), 1.0)
    error = np.sqrt(noise + pooled * (1.0 - pooled) * (1.0 / n + 1.0 / m))
    p = 2.0 * ndtr(-np.abs(reported - public) / np.maximum(error, 1e-300))
    half = Z95 * np.sqrt(noise)
    columns = np.stack(
        [*np.clip([reported, reported - half, reported + half], 0.0, 1.0), public, p]
    )
    return [CellDifference(cell, None, *row) for cell, row in enumerate(columns.T.tolist())]


def _labels(label: Label, question: QuestionCounts, known: Floats) -> list[CellDifference]:
    """Compare every cell's class shares, or its mean label, with the public ones."""
    rows = known.sum(axis=1)
    average = known.sum(axis=0) / known.sum()
    q = (known + average) / (rows + 1.0)[:, None]
    mass = np.maximum(question.counts.sum(axis=1), 0.0)
    R = question.counts - q * question.counts.sum(axis=1, keepdims=True)
    own, with_mass, of_mass = moments(question.noise)
    noise = np.maximum(own - 2.0 * q * with_mass + q**2 * of_mass[:, None], 0.0)
    own, with_mass, of_mass = moments(sampling_covariance(question.plausible))
    sampling = np.maximum(own - 2.0 * q * with_mass + q**2 * of_mass[:, None], 0.0)
    spread = mass[:, None] ** 2 * q * (1.0 - q) / (rows + 1.0)[:, None]
    p = 2.0 * ndtr(-np.abs(R) / np.sqrt(np.maximum(noise + sampling + spread, 1e-300)))
    with np.errstate(divide="ignore", invalid="ignore"):
        share, error = q + R / mass[:, None], np.sqrt(noise) / mass[:, None]
    names: tuple[str, ...] = label.classes if isinstance(label, Classes) else ("", label.name)
    if isinstance(label, Range):
        scale = question.scale_of(label)
        low, width = np.broadcast_to(scale.low, len(mass)), scale.width
    found = []
    for cell, slot in np.ndindex(*p.shape):
        if mass[cell] <= 0.0 or not names[slot]:
            continue
        value, half = share[cell, slot], Z95 * error[cell, slot]
        ends = np.append(np.clip([value, value - half, value + half], 0.0, 1.0), q[cell, slot])
        if isinstance(label, Range):
            ends = low[cell] + width * ends
        reported, least, most, public = ends.tolist()
        p_value = float(p[cell, slot])
        found.append(CellDifference(cell, names[slot], reported, least, most, public, p_value))
    return found


def _discoveries(found: Sequence[CellDifference], tests: int) -> tuple[CellDifference, ...]:
    """Benjamini and Hochberg (1995): up to the last p_(i) <= i FDR / tests."""
    ordered = sorted(found, key=lambda difference: difference.p_value)
    passing = [
        place
        for place, difference in enumerate(ordered, start=1)
        if difference.p_value <= place * FALSE_DISCOVERY_RATE / tests
    ]
    return tuple(ordered[: max(passing, default=0)])


def values_without_reports(label: Label, public: PublicData, model: Model) -> Floats:
    """The model's values without any report, ``(cells, S)``: its public model's means, or the
    public records' shares or means, smoothed by one record of the average."""
    if model.base_values is not None:
        return model.base_values
    known = public_counts(label, public, model.partition)
    q = (known + known.sum(axis=0) / known.sum()) / (known.sum(axis=1) + 1.0)[:, None]
    if isinstance(label, Range):
        return np.asarray(label.low + (label.high - label.low) * q[:, 1:])
    return np.asarray(q)


def _sentence(
    label: Label,
    overall: Sequence[Comparison],
    differences: Sequence[CellDifference],
    moved: float,
    relabelled: int | None,
    cells: int,
) -> str:
    """Whether the public records resemble the holders, and whether the reports mattered."""
    surest = min(overall, key=lambda row: row.p_value)
    differs = surest.p_value * len(overall) <= FALSE_DISCOVERY_RATE
    if isinstance(label, Classes):
        shown, unit = "{:.0%}".format, f"{100 * moved:.1f} points"
        subject, group = f"{label.name} is {surest.name} for", "of"
    else:
        shown, unit = "{:.4g}".format, f"{moved:.3g}"
        subject, group = f"the mean {label.name} is", "among"
    interval = f"{shown(surest.reported)} [{shown(surest.low)}, {shown(surest.high)}]"
    if differs:
        first = (
            f"The holders differ from the public records: {subject} {interval} {group} holders and "
            f"{shown(surest.public)} {group} public records"
        )
    elif differences:
        first = "Overall the holders resemble the public records, but some cells differ"
    else:
        first = "Nothing shows that the holders differ from the public records"
    changed = ""
    if relabelled is not None:
        changed = f" and changed the likeliest class in {relabelled} of {cells} cells"
    return f"{first}. The reports moved predictions by {unit} on average{changed}."
