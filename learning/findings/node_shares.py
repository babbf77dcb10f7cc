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

from ..core.contrasts import contrast_variance
from ..core.counts import Estimate, Interval, QuestionCounts, public_counts
from ..core.model import Model
from ..core.public_data import Floats, PublicData
from ..core.trees import ancestors, node_depth
from .impossible import impossible
from .insight import figure_weights, on_simplex, smoothed_shares, unclipped_mean
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


def untold_cells(label: Label, question: QuestionCounts) -> NDArray[np.bool_]:
    """True for the cells of which the reports tell nothing, whatever model is made of them.

    Their mass is not distinguished from zero, or the interval of each share, or of the mean, is all
    that is possible.
    """
    mass, holders = question.counts.sum(axis=1), question.holders
    of_mass = np.maximum(question.noise.sum(axis=(1, 2)), 0.0)
    of_mass += (mass / holders) ** 2 * question.misfits.variance
    unseen = mass <= question.factor * np.sqrt(of_mass)
    shares = question.counts / np.where(unseen, 1.0, mass)[:, None]
    size = np.where(unseen, 1.0, mass)[:, None]
    variance = np.maximum(contrast_variance(question.noise, shares), 0.0) / size**2
    low, width, least, most = np.zeros_like(size), 1.0, 0.0, 1.0
    if isinstance(label, Range):
        scale = question.scale_of(label)
        low, width, least, most = scale.low, scale.width, label.low, label.high
        low = np.broadcast_to(low, len(mass))[:, None]
        inside = np.clip(shares, 0.0, 1.0)
        variance += inside * (1.0 - inside) / size  # rounding varies as a sample does
        shares, variance = shares[:, 1:], variance[:, 1:]
    values = np.clip(low + width * shares, least, most)
    half = question.factor * width * np.sqrt(variance)
    whole = (values - half <= least) & (values + half >= most)
    return np.asarray(unseen | whole.all(axis=1))


def _ratio(question: QuestionCounts, mass: Estimate, inside: Floats, weights: Floats) -> Estimate:
    """The weights' mean below the node, over the mass there."""
    value = question.mean(inside * weights).value / mass.value
    contrast = question.mean(inside * (weights - value))
    return Estimate(value, contrast.variance / mass.value**2, mass.factor)
