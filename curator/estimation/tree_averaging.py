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

from privet.curator.estimation.estimator import Parameter
from privet.curator.public_data import Floats
from privet.curator.trees import node_sums
from privet.protocol.partition import LEAF, Index, Partition

SPLIT = Parameter(0.8, "Prior probability that a node of the tree is split.", low=0.01, high=0.99)
"""Set by hand: with it a path of three splits has the prior 1/2. Never tuned on private data."""


@dataclass(frozen=True, eq=False)
class Information:
    """Normal likelihood of a quantity per cell and slot: ``J`` and ``H``, each ``(cells, slots)``.

    ``influence``, ``(nodes, slots)``, is the maximum change of the sum of H over a node's cells
    from replacing one report; 0 for public data. ``log_scale`` is the constant of the
    log-likelihood, needed to compare several. ``independent`` is the part of a sum over slots that
    counts: (slots - 1) / slots for shares, which add up to one.
    """

    J: Floats
    H: Floats
    influence: Floats | float = 0.0
    log_scale: float = 0.0
    independent: float = 1.0

    def joined(self, other: "Information") -> "Information":
        """The product of two independent likelihoods."""
        return replace(
            self,
            J=self.J + other.J,
            H=self.H + other.H,
            influence=self.influence + other.influence,
            log_scale=self.log_scale + other.log_scale,
        )

    def shifted(self, c: Floats) -> "Information":
        """The same likelihood as one of g = x + c, with ``c`` of shape ``(cells, slots)``.

        H x - J x^2 / 2 = (H + J c) g - J g^2 / 2 - (H c + J c^2 / 2).
        """
        constant = self.independent * float((self.H * c + 0.5 * self.J * c**2).sum())
        return replace(self, H=self.H + self.J * c, log_scale=self.log_scale - constant)


@dataclass(frozen=True, eq=False)
class Posterior:
    """A quantity after the reports, per cell and slot, each ``(cells, slots)``.

    ``between`` is the part of the variance between prunings and priors, the rest is within them;
    ``data_share`` is how much of the mean came from the information rather than the prior;
    ``influence`` is the maximum change of the mean from replacing one report, to first order, with
    the weights of prunings and priors fixed.
    """

    mean: Floats
    variance: Floats
    between: Floats
    data_share: Floats
    influence: Floats
    log_evidence: float


def average(tree: Partition, information: Information, deviation: float, split: float) -> Posterior:
    """The posterior of g under the prior deviation s and the given probability of splitting."""
    J, H = node_sums(tree, information.J), node_sums(tree, information.H)
    shrink = deviation**2 / (1.0 + J * deviation**2)
    mean = H * shrink
    const = information.independent * 0.5 * (mean * H - np.log1p(J * deviation**2)).sum(axis=1)
    stop, evidence = _pass_up(tree, const, split)
    parts = np.stack([mean, mean**2, shrink, J * shrink, information.influence * shrink])
    mean, square, within, data_share, moved = _pass_down(tree, parts, stop)[:, tree.leaves]
    between = np.maximum(square - mean**2, 0.0)
    log_evidence = evidence + information.log_scale
    return Posterior(mean, within + between, between, data_share, moved, log_evidence)


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
    spread = np.maximum(averaged([p.mean**2 for p in posteriors]) - mean**2, 0.0)
    return Posterior(
        mean,
        averaged([p.variance for p in posteriors]) + spread,
        averaged([p.between for p in posteriors]) + spread,
        averaged([p.data_share for p in posteriors]),
        averaged([p.influence for p in posteriors]),
        float(weights @ [p.log_evidence for p in posteriors]),
    )


def _pass_up(tree: Partition, const: Floats, split: float) -> tuple[Floats, float]:
    """Probability of stopping at each node given that it is reached, and the root's evidence."""
    evidence, stop = const.copy(), np.ones(tree.nodes)
    for nodes in reversed(tree.levels):
        inner, left, right = _families(tree, nodes)
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
        inner, left, right = _families(tree, nodes)
        for child in (left, right):
            reached[child] = reached[inner] * (1.0 - stop[inner])
            total[:, child] = total[:, inner]
    return total


def _families(tree: Partition, nodes: Index) -> tuple[Index, Index, Index]:
    """The inner nodes among ``nodes``, their left and their right children."""
    divided = np.asarray(nodes[tree.left[nodes] != LEAF])
    return divided, tree.left[divided], tree.right[divided]
