"""The reported shares below a node of a tree, or in a cell, beside the public records there."""

from bisect import bisect_left
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from privet.protocol.features import Label
from privet.protocol.partition import Partition

from ..core.amounts import tells_nothing
from ..core.counts import Estimate, Interval, QuestionCounts, public_counts, rounding_of_cells
from ..core.labels import kind_of
from ..core.looks import factor_at
from ..core.public_data import Floats, PublicData
from ..core.ratio import contrast_variance, fieller_interval, project_on_simplex
from ..core.trees import ancestors, node_sums
from .compare import beside_public
from .figure import Figure, PublicShare, Reports, intervals_of, mass_of
from .impossible import impossible
from .power import binomial_variance, smoothed_shares
from .precision import HOLDERS


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


class BelowNodes:
    """The reports to ``question`` below the nodes of its tree, beside the public records there.

    The root has the figures of everybody, so those asked for the label ``alone`` count.
    """

    def __init__(
        self,
        label: Label,
        public: PublicData,
        question: QuestionCounts,
        alone: QuestionCounts | None = None,
    ) -> None:
        self.kind, self.public = kind_of(label), public
        self.question, self.alone = question, alone
        asked = [question] if alone is None else [question, alone]
        self.are_false = impossible(asked) is not None
        """True if the reports cannot all be honest."""
        self.public_by_cell = public_counts(label, public, question.partition)

    def shares(self, node: int) -> NodeShares:
        """The figures below a ``node``.

        The interval of a share is all that is possible where the mass is not distinguished from
        zero, and where reports cannot all be honest.
        """
        kind, below = self.kind, below_node(self.question, node)
        there = self.public_by_cell[below]
        records = there.sum()
        mass = _mass(self.question, below.astype(np.float64), false=self.are_false)
        share = Share("", mass, float(records / self.public_by_cell.sum()))
        figures = None if self.are_false else self._within(below)
        if figures is not None and below.all():
            reports = Reports(kind, self.question, self.alone)
            figures, _ = beside_public(self.public, reports)
        if figures is None:
            reported = [Interval(kind.middle, *kind.bounds)] * len(kind.names)
        else:
            reported = intervals_of(kind, figures)
        expected: list[float | None] = [None] * len(kind.names)
        if records:
            expected = list((kind.ends @ (there.sum(axis=0) / records)).tolist())
        return NodeShares(share, tuple(map(Share, kind.names, reported, expected)))

    def p_values(self, node: int, selection: float) -> list[float]:
        """The p-values of the reports' figures below a ``node``, if both populations are alike
        there.

        As those of cells (``compare``): public labels vary by ``selection`` times as much as those
        of rows drawn there, since the tree was grown on them. 1 where either data have nobody.
        """
        kind, below = self.kind, below_node(self.question, node)
        figures, hits = self._within(below), self.public_by_cell[below].sum(axis=0)
        rows = hits.sum()
        if figures is None or not rows or self.are_false:
            return [1.0] * len(kind.names)
        if kind.is_share:
            shares = zip(figures, hits, strict=True)
            return [
                float(PublicShare(of, rows, selection).p_value(figure)) for figure, of in shares
            ]
        (figure,), (low, _) = figures, kind.bounds
        (mean,) = kind.ends @ hits / rows
        here, there = ((np.asarray(at) - low) / kind.span for at in (figure.value, mean))
        spread = kind.span**2 * binomial_variance(here, there)
        of_public = selection * spread
        known = Figure(mean, 0.0 * mean, of_public, rows + 1.0, 1.0, kind.bounds, given=True)
        return [float(known.p_value(replace(figure, spread=spread)))]

    def _within(self, below: NDArray[np.bool_]) -> list[Figure] | None:
        return Reports(self.kind, self.question).within(below.astype(np.float64))


def figures_in_cells(label: Label, public: PublicData, partition: Partition) -> Floats:
    """The public records' figures in each cell, ``(cells, figures)``: NaN where there are none."""
    counts = public_counts(label, public, partition)
    records = counts.sum(axis=1, keepdims=True)
    there = counts / np.where(records > 0.0, records, np.nan)
    return np.asarray(there @ kind_of(label).ends.T)


def node_masses(question: QuestionCounts) -> list[Interval]:
    """The part of the holders below each node, as ``BelowNodes`` has it."""
    tree, false = question.partition, impossible([question]) is not None
    found = [Interval(1.0, 0.0, 1.0)] * tree.nodes
    for depth, nodes in enumerate(tree.levels):
        node_of_cell = ancestors(tree, depth)
        for node in nodes.tolist():
            found[node] = _mass(question, (node_of_cell == node).astype(np.float64), false=false)
    return found


def consistent_masses(question: QuestionCounts) -> list[Interval]:
    """``node_masses`` of which none is negative and siblings add up to their parent.

    The cells' parts are the nearest such point to the estimates within each stratum's part, and
    those of the cells below a node are added up ("norm-sub": Wang et al., NDSS 2020). Each
    interval is that of ``node_masses``, and reaches to its part.
    """
    tree, parts = question.partition, question.counts.sum(axis=1) / question.holders
    stratum = question.mechanism.stratum_of_cell
    for place, mass in enumerate(question.stratum_mass.tolist()):
        at = np.flatnonzero(stratum == place)
        parts[at] = mass * project_on_simplex(parts[None, at] / mass)[0]
    _, *sums = node_sums(tree, parts).tolist()
    return [
        Interval(part, min(part, of.low), max(part, of.high))
        for part, of in zip([1.0, *sums], node_masses(question), strict=True)
    ]


def below_node(question: QuestionCounts, node: int) -> NDArray[np.bool_]:
    """True for the cells below a node, ``(cells,)``."""
    tree = question.partition
    return np.asarray(ancestors(tree, int(tree.node_depth[node])) == node)


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
) -> int:
    """Reports with which half of the ``cells`` have a share or mean known to ± ``half_width``.

    From the reports only, with holders spread over the cells as public records are; ``half_width``
    is a part of all that is possible. Of every cell without ``cells``. By the noise of the reports
    so far, of which there are some, that of a cell's mass included: intervals are Fieller's, of a
    mass that noise makes smaller by a standard error.
    """
    records = public_counts(label, public, question.partition, question.scale)
    t, kind = smoothed_shares(records), kind_of(label)
    mass = records.sum(axis=1, keepdims=True) + 1.0
    mass *= question.holders / mass.sum()
    places = slice(None) if cells is None else cells
    t, mass, noise = t[places], mass[places], question.noise[places]
    of_mass = np.sqrt(np.maximum(noise.sum(axis=(1, 2)), 0.0))[:, None]
    unit = kind.of_shares(question, smoothed_shares(records))[1] / label.span

    def known(n: int) -> bool:
        times = n / question.n
        factor = factor_at(None if question.planned is None else n / question.planned)
        rounding = 0.0 if kind.is_share else times * mass  # which varies as a sample does
        less = np.maximum(times * mass - np.sqrt(times) * of_mass, 0.0)
        low, high = fieller_interval(less * t, times * noise, rounding, factor)
        halves = np.sort(unit * (high - low).max(axis=1) / 2.0)
        return bool(halves[(len(halves) - 1) // 2] <= half_width)

    return HOLDERS[min(bisect_left(HOLDERS, True, key=known), len(HOLDERS) - 1)]


def untold_cells(label: Label, question: QuestionCounts) -> NDArray[np.bool_]:
    """True for the cells of which the reports tell nothing: where ``BelowNodes`` gives all that is
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
    untold = np.array(unseen)
    for cell in np.flatnonzero(~unseen).tolist():
        reported = Estimate(float(values[cell, 0]), float(errors[cell]), question.factor)
        of_cell = reported.interval(*kind.bounds)
        untold[cell] = tells_nothing(of_cell.low, of_cell.high, *kind.bounds)
    return untold
