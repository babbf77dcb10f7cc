"""The reported shares below one node of a tree, beside the public records there.

With the weights w = 1 in the node's cells and W = sum w V / n its reported mass, the share of slot
s below the node is p = W_s / W, where W_s counts only s. To first order

    Var p = Var(W_s - p W) / W^2,

where p is held fixed on the right: the noise of all cells together, with their covariances.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from privet.protocol.features import Classes, Label, Range

from ..core.amounts import tells_nothing
from ..core.contrasts import contrast_variance
from ..core.counts import (
    Estimate,
    Interval,
    QuestionCounts,
    public_counts,
    rounding_of_cells,
)
from ..core.model import Model
from ..core.public_data import Floats, PublicData
from ..core.ratio import project_on_simplex
from ..core.trees import ancestors, node_depth
from .impossible import impossible
from .insight import (
    figure_weights,
    on_simplex,
    unclipped_by,
    unclipped_mean,
    unclippings,
)
from .power import smoothed_shares
from .precision import Precision, allowing_for_clipping


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
    tree = question.partition
    below = ancestors(tree, int(node_depth(tree)[node])) == node  # of each cell
    inside = np.broadcast_to(below[:, None], question.counts.shape).astype(np.float64)
    public_by_cell = public_counts(label, public, tree)
    records = public_by_cell[below].sum()
    mass = question.mean(inside)
    false = impossible([question]) is not None
    reported_mass = mass.interval(0.0, 1.0)
    if false:
        reported_mass = replace(reported_mass, low=0.0, high=1.0)
    share = Share("", reported_mass, float(records / public_by_cell.sum()))
    least, most = label.bounds
    weights = dict(figure_weights(label, question))
    if false or mass.value <= mass.factor * np.sqrt(mass.variance):
        middle = 1.0 / label.slots if isinstance(label, Classes) else (least + most) / 2.0
        reported = [Interval(middle, least, most)] * len(weights)
    else:
        ratios = [_ratio(question, mass, inside, of_figure) for of_figure in weights.values()]
        if isinstance(label, Classes):
            reported = on_simplex(ratios)
        else:
            holders, values = question.plausible.sum(axis=1) * below, model.values[:, 0]
            reported = [unclipped_mean(label, public, question, values, ratios[0], holders)]
    rows = []
    for slot, name in enumerate(weights):
        expected = None
        if records and isinstance(label, Classes):
            expected = float(public_by_cell[below, slot].sum() / records)
        elif records:
            expected = least + (most - least) * float(public_by_cell[below, 1].sum() / records)
        rows.append(Share(name, reported[slot], expected))
    return NodeShares(share, tuple(rows))


def node_masses(question: QuestionCounts) -> list[tuple[float, float]]:
    """The 95 % interval of the part of the holders below each node, as ``node_shares`` has it."""
    tree, found = question.partition, []
    false, depths = impossible([question]) is not None, node_depth(question.partition)
    for node, depth in enumerate(depths.tolist()):
        below = ancestors(tree, int(depth)) == node
        inside = np.broadcast_to(below[:, None], question.counts.shape).astype(np.float64)
        mass = question.mean(inside).interval(0.0, 1.0)
        found.append((0.0, 1.0) if false else (mass.low, mass.high))
    return found


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
    variance = np.maximum(contrast_variance(question.noise, t), 0.0) / mass**2
    if isinstance(label, Range):
        variance += t * (1.0 - t) / mass  # rounding varies as a sample does
        variance *= question.scale_of(label).width ** 2
    widest = variance.max(axis=1)
    places = np.arange(len(mass)) if cells is None else np.flatnonzero(cells)
    middle = int(places[np.argsort(widest[places])[(len(places) - 1) // 2]])
    precision = Precision(question.n * float(widest[middle]), label.span)
    if isinstance(label, Range) and question.centred:
        of_cell = (np.arange(len(mass)) == middle).astype(np.float64)
        precision = allowing_for_clipping(precision, label, public, question, of_cell)
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
    if isinstance(label, Classes):
        half = question.factor * np.sqrt(np.maximum(variance, 0.0)) / size[:, None]
        inside, points = np.clip(shares, 0.0, 1.0), project_on_simplex(shares)
        low, high = np.minimum(points, inside - half), np.maximum(points, inside + half)
        return np.asarray(unseen | ((low <= 0.0) & (high >= 1.0)).all(axis=1))
    of_sums = variance[:, 1]
    if question.scale is not None:
        of_sums = of_sums + rounding_of_cells(question.mechanism, question.plausible)
    scale = question.scale_of(label)
    values = scale.low + scale.width * shares[:, 1]
    errors = (scale.width / size) ** 2 * np.maximum(of_sums, 0.0)
    changes = unclippings(label, public, question, model.values[:, 0]) if question.centred else None
    untold = np.array(unseen)
    for cell in np.flatnonzero(~unseen).tolist():
        clipped = Estimate(float(values[cell]), float(errors[cell]), question.factor)
        of_cell = clipped.interval(label.low, label.high)
        if changes is not None:
            this = (np.arange(len(mass)) == cell).astype(np.float64)
            of_cell = unclipped_by(changes.of(this), label, clipped, question.holders)
        untold[cell] = tells_nothing(of_cell.low, of_cell.high, label.low, label.high)
    return untold


def _ratio(question: QuestionCounts, mass: Estimate, inside: Floats, weights: Floats) -> Estimate:
    """The weights' mean below the node, over the mass there."""
    value = question.mean(inside * weights).value / mass.value
    contrast = question.mean(inside * (weights - value))
    return Estimate(value, contrast.variance / mass.value**2, mass.factor)
