"""The reported shares below a node of a tree, or in a cell, beside the public records there."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from privet.protocol.features import Label

from ..core.amounts import tells_nothing
from ..core.contrasts import contrast_variance
from ..core.counts import Estimate, Interval, QuestionCounts, public_counts, rounding_of_cells
from ..core.labels import kind_of
from ..core.model import Model
from ..core.public_data import Floats, PublicData
from ..core.ratio import project_on_simplex
from ..core.trees import ancestors, node_depth
from .clipping import Clipping
from .figure import Reports, mass_of, on_simplex
from .impossible import impossible
from .power import smoothed_shares
from .precision import Precision, hidden_in_cells


@dataclass(frozen=True)
class Share:
    """A figure of the reports with its 95 % interval, and the same of the public records.

    ``name`` is a class or the numeric label; ``public`` is None without public records there.
    """

    name: str
    reported: Interval
    public: float | None


@dataclass(frozen=True)
class NodeShares:
    """The ``mass`` below a node, as a part of all, and each class's share or the mean there."""

    mass: Share
    rows: tuple[Share, ...]


def node_shares(
    label: Label, public: PublicData, question: QuestionCounts, model: Model, node: int
) -> NodeShares:
    """Compare the reports to ``question`` below a ``model``'s ``node`` with public records there.

    The interval of a share is all that is possible where the mass is not distinguished from zero,
    and where reports cannot all be honest.
    """
    kind, below = kind_of(label), below_node(question, node)
    inside, false = below.astype(np.float64), impossible([question]) is not None
    public_by_cell = public_counts(label, public, question.partition)
    records = public_by_cell[below].sum()
    mass = _mass(question, inside, false=false)
    share = Share("", mass, float(records / public_by_cell.sum()))
    figures = None if false else Reports(kind, question).within(inside)
    if figures is None:
        reported = [Interval(kind.middle, *kind.bounds)] * len(kind.names)
    elif kind.is_share:
        reported = on_simplex(figures)
    elif (clip := Clipping.of(public, question)) is None:
        reported = [figures[0].interval()]
    else:
        of_cells = clip.at(model.values[:, 0]).of(question.plausible.sum(axis=1) * below)
        reported = [of_cells.mean(figures[0].estimate)]
    expected: list[float | None] = [None] * len(kind.names)
    if records:
        there = public_by_cell[below].sum(axis=0) / records
        expected = list((kind.ends @ there).tolist())
    rows = map(Share, kind.names, reported, expected)
    return NodeShares(share, tuple(rows))


def node_masses(question: QuestionCounts) -> list[tuple[float, float]]:
    """The 95 % interval of the part of the holders below each node, as ``node_shares`` has it."""
    false, nodes = impossible([question]) is not None, range(question.partition.nodes)
    below = (below_node(question, node).astype(np.float64) for node in nodes)
    found = [_mass(question, inside, false=false) for inside in below]
    return [(mass.low, mass.high) for mass in found]


def below_node(question: QuestionCounts, node: int) -> NDArray[np.bool_]:
    """True for the cells below a node, ``(cells,)``."""
    tree = question.partition
    return np.asarray(ancestors(tree, int(node_depth(tree)[node])) == node)


def _mass(question: QuestionCounts, inside: Floats, *, false: bool) -> Interval:
    """The part of the holders in the cells that are ``inside``; anything of ``false`` reports."""
    mass = mass_of(question, inside).interval()
    return replace(mass, low=0.0, high=1.0) if false else mass


def reports_for_cells(
    label: Label,
    public: PublicData,
    question: QuestionCounts,
    half_width: float,
    cells: NDArray[np.bool_] | None = None,
) -> int | None:
    """Reports with which half of the ``cells`` have a share or mean known to ± ``half_width``.

    From the reports only, with holders spread over the cells as public records are; ``half_width``
    is a part of all that is possible. Of every cell without ``cells``; None before the first
    report, and where no number is enough.
    """
    if question.n == 0:
        return None
    records = public_counts(label, public, question.partition, question.scale)
    t = smoothed_shares(records)
    mass = records.sum(axis=1, keepdims=True) + 1.0
    mass *= question.holders / mass.sum()
    kind, variance = kind_of(label), contrast_variance(question.noise, t)
    variance = np.maximum(variance, 0.0) / mass**2
    if not kind.is_share:
        variance += t * (1.0 - t) / mass  # rounding varies as a sample does
    widest = kind.of_shares(question, t)[1] ** 2 * variance.max(axis=1)
    places = np.arange(len(mass)) if cells is None else np.flatnonzero(cells)
    middle = int(places[np.argsort(widest[places])[(len(places) - 1) // 2]])
    precision = Precision(question.n * float(widest[middle]), label.span)
    if (clip := Clipping.of(public, question)) is not None:
        of_cell = (np.arange(len(mass)) == middle).astype(np.float64)
        precision = replace(precision, hidden=hidden_in_cells(clip, question, of_cell))
    return precision.reports(half_width * label.span, question.planned)


def untold_cells(
    label: Label, public: PublicData, question: QuestionCounts, model: Model
) -> NDArray[np.bool_]:
    """True for the cells of which the reports tell nothing: where ``node_shares`` gives all that is
    possible, for all cells at once."""
    if impossible([question]) is not None:
        return np.ones(len(question.counts), dtype=np.bool_)
    mass, of_step = question.counts.sum(axis=1), (question.step / 2.0) ** 2
    of_mass = question.noise.sum(axis=(1, 2)) + of_step
    of_mass += (mass / question.holders) ** 2 * question.misfits.variance
    unseen = mass <= question.factor * np.sqrt(np.maximum(of_mass, 0.0))
    size = np.where(unseen, 1.0, mass)
    shares = question.counts / size[:, None]
    furthest = np.maximum(shares, 0.0) + np.maximum(1.0 - shares, 0.0)
    variance = contrast_variance(question.noise, shares) + of_step * furthest**2
    kind = kind_of(label)
    if kind.is_share:
        half = question.factor * np.sqrt(np.maximum(variance, 0.0)) / size[:, None]
        inside, points = np.clip(shares, 0.0, 1.0), project_on_simplex(shares)
        low, high = np.minimum(points, inside - half), np.maximum(points, inside + half)
        return np.asarray(unseen | ((low <= 0.0) & (high >= 1.0)).all(axis=1))
    of_sums = variance[:, 1]
    if question.scale is not None:
        of_sums = of_sums + rounding_of_cells(question.mechanism, question.plausible)
    values, width = kind.of_shares(question, shares)
    errors = (width / size) ** 2 * np.maximum(of_sums, 0.0)
    clip = Clipping.of(public, question)
    changes = None if clip is None else clip.at(model.values[:, 0])
    untold = np.array(unseen)
    for cell in np.flatnonzero(~unseen).tolist():
        reported = Estimate(float(values[cell, 0]), float(errors[cell]), question.factor)
        of_cell = reported.interval(*kind.bounds)
        if changes is not None:
            of_cell = changes.of((np.arange(len(mass)) == cell).astype(np.float64)).mean(reported)
        untold[cell] = tells_nothing(of_cell.low, of_cell.high, *kind.bounds)
    return untold
