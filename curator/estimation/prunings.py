"""Bayesian averaging over all prunings of a tree, in time linear in its size.

A pruning is a subtree with the same root; its leaves are the cells on which a quantity g is taken
to be constant. Each node that is not a leaf of the full tree goes on splitting with probability
``split``; a constant g on a node has the prior N(0, s^2). The reports enter through information
per cell (J, H): the likelihood of g is exp(H g - J g^2 / 2). Both add up over a node's cells, so a
node's evidence as one constant cell is

    const(v) = -1/2 ln(1 + J s^2) + 1/2 H^2 s^2 / (1 + J s^2)

and the evidence of all prunings below it is, at a node with children l and r,

    E(v) = logaddexp(ln(1 - split) + const(v), ln(split) + E(l) + E(r)).

One pass up gives E, one pass down the mixture "stopped at ancestor a" for every cell. Several
quantities with one tree (the classes of a label) share its evidence; several priors are averaged
by theirs. This is context-tree weighting (Willems, Shtarkov and Tjalkens, 1995) with normal cells.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from privet.curator.public_data import Floats
from privet.curator.trees import node_sums
from privet.protocol.partition import LEAF, Index, Partition


@dataclass(frozen=True, eq=False)
class Inner:
    """What is known of a quantity's mean over whole nodes, weighed by ``weights`` (nodes, slots).

    ``J``, ``H`` and ``ranges``, the most one report can change in H, are ``(nodes, slots)`` and
    0 at cells; weights are positive and add up over a node's cells.
    """

    tree: Partition
    J: Floats
    H: Floats
    ranges: Floats
    weights: Floats

    def part(self, child: Index, parent: Index) -> Floats:
        """What each child's mean counts for in its parent's, ``(children, slots)``."""
        return np.asarray(self.weights[child] / self.weights[parent])

    def node_means(self, values: Floats) -> Floats:
        """The means over all nodes of values per cell: ``(cells, slots)`` to ``(nodes, slots)``."""
        sums = node_sums(self.tree, self.weights[self.tree.leaves] * values)
        return np.asarray(sums / self.weights)


@dataclass(frozen=True, eq=False)
class Information:
    """What is known of a quantity, per cell and slot: ``J`` and ``H``, each ``(cells, slots)``.

    ``log_scale`` is what else the likelihood depends on when several are compared.
    ``independent`` is the part of a sum over slots that is not said twice: (slots - 1) / slots
    for shares, which add up to one. ``inner`` is what is known of whole nodes besides; only
    ``level_prunings.average`` can use it.
    """

    J: Floats
    H: Floats
    log_scale: float = 0.0
    independent: float = 1.0
    inner: Inner | None = None

    def joined(self, other: "Information") -> "Information":
        """What both say together, being independent."""
        return replace(
            self,
            J=self.J + other.J,
            H=self.H + other.H,
            log_scale=self.log_scale + other.log_scale,
            inner=self.inner or other.inner,
        )

    def shifted(self, by: Floats) -> "Information":
        """The same of the quantity plus ``by``, ``(cells, slots)``.

        With g = x + c the log-likelihood H x - J x^2 / 2 is one of g.
        """
        log_scale = self.log_scale - self.independent * _constant(self.J, self.H, by)
        inner = self.inner
        if inner is not None:
            means = inner.node_means(by)
            log_scale -= self.independent * _constant(inner.J, inner.H, means)
            inner = replace(inner, H=inner.H + inner.J * means)
        return replace(self, H=self.H + self.J * by, log_scale=log_scale, inner=inner)


def _constant(J: Floats, H: Floats, c: Floats) -> float:
    return float((H * c + 0.5 * J * c**2).sum())


@dataclass(frozen=True, eq=False)
class Posterior:
    """A quantity after the reports, per cell and slot, each ``(cells, slots)``.

    ``within`` is the part of the variance within prunings and priors, the rest is between them;
    ``data_share`` is how much of the mean came from the information rather than the prior;
    ``reach`` is the same mixture of what one report can move, where node ranges were given.
    """

    mean: Floats
    variance: Floats
    within: Floats
    data_share: Floats
    reach: Floats
    log_evidence: float


def average(
    tree: Partition,
    information: Information,
    deviation: float,
    split: float,
    node_ranges: Floats | None = None,
) -> Posterior:
    """The posterior of g under the prior deviation s and the given probability of splitting.

    ``node_ranges``, ``(nodes, slots)``, is the most one report can change a node's H.
    """
    J, H = node_sums(tree, information.J), node_sums(tree, information.H)
    shrink = deviation**2 / (1.0 + J * deviation**2)
    mean = H * shrink
    const = information.independent * 0.5 * (mean * H - np.log1p(J * deviation**2)).sum(axis=1)
    stop, evidence = _pass_up(tree, const, split)
    ranges = np.zeros_like(J) if node_ranges is None else node_ranges
    parts = np.stack([mean, shrink + mean**2, shrink, J * shrink, ranges * shrink])
    down = _pass_down(tree, parts, stop)[:, tree.leaves]
    variance = np.maximum(down[1] - down[0] ** 2, 0.0)
    return Posterior(down[0], variance, down[2], down[3], down[4], evidence + information.log_scale)


def mix(posteriors: Sequence[Posterior], log_prior: Sequence[float] | Floats) -> Posterior:
    """Several posteriors of one quantity, averaged by evidence and prior."""
    evidence = np.array([p.log_evidence for p in posteriors]) + np.array(log_prior)
    total = float(np.logaddexp.reduce(evidence))
    return replace(blend(posteriors, np.exp(evidence - total)), log_evidence=total)


def blend(posteriors: Sequence[Posterior], weights: Sequence[float] | Floats) -> Posterior:
    """Several posteriors of one quantity, averaged by weights that add up to 1."""
    weights = np.asarray(weights)

    def averaged(arrays: Sequence[Floats]) -> Floats:
        return np.asarray(np.einsum("m,mks->ks", weights, np.stack(arrays)))

    mean = averaged([p.mean for p in posteriors])
    second = averaged([p.variance + p.mean**2 for p in posteriors])
    return Posterior(
        mean,
        np.maximum(second - mean**2, 0.0),
        averaged([p.within for p in posteriors]),
        averaged([p.data_share for p in posteriors]),
        averaged([p.reach for p in posteriors]),
        float(weights @ [p.log_evidence for p in posteriors]),
    )


def _pass_up(tree: Partition, const: Floats, split: float) -> tuple[Floats, float]:
    """Probability of stopping at each node given that it is reached, and the root's evidence."""
    evidence, stop = const.copy(), np.ones(tree.nodes)
    for nodes in reversed(tree.levels):
        inner, left, right = families(tree, nodes)
        below = evidence[left] + evidence[right]
        stopping = np.log1p(-split) + const[inner]
        evidence[inner] = np.logaddexp(stopping, np.log(split) + below)
        stop[inner] = np.exp(stopping - evidence[inner])
    return stop, float(evidence[0])


def _pass_down(tree: Partition, parts: Floats, stop: Floats) -> Floats:
    """For each node the mixture of its ancestors' ``parts``, by where the pruning stops."""
    total, reached = np.zeros_like(parts), np.zeros(tree.nodes)
    reached[0] = 1.0
    for nodes in tree.levels:
        total[:, nodes] += (reached[nodes] * stop[nodes])[None, :, None] * parts[:, nodes]
        inner, left, right = families(tree, nodes)
        for child in (left, right):
            reached[child] = reached[inner] * (1.0 - stop[inner])
            total[:, child] = total[:, inner]
    return total


def families(tree: Partition, nodes: Index) -> tuple[Index, Index, Index]:
    """The divided ones of ``nodes``, their left and their right children."""
    divided = np.asarray(nodes[tree.left[nodes] != LEAF])
    return divided, tree.left[divided], tree.right[divided]
