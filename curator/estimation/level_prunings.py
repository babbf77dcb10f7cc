"""Averaging over prunings where inner nodes have information of their own.

Reports about a coarse level say something of the mean of a quantity over a whole node. In a
pruning that divides the node, the halves are then no longer independent, and the recursion of
``prunings`` does not hold as it stands. Here every node passes up the evidence of what lies below
it together with the mean and variance of its own mean, and passes down what the rest of the tree
says of it: message passing on a tree (Pearl, 1988) whose messages are normal. That is exact for
any one pruning, and where own information lies just above the cells; elsewhere a mixture of
prunings is replaced by the normal law with its mean and variance.
"""

from dataclasses import dataclass

import numpy as np

from privet.curator.estimation import prunings
from privet.curator.estimation.prunings import Information, Inner, Posterior, families
from privet.curator.public_data import Floats
from privet.protocol.partition import LEAF, Index, Partition


def average(
    tree: Partition,
    information: Information,
    deviation: float,
    split: float,
    node_ranges: Floats | None = None,
) -> Posterior:
    """``prunings.average``, with information about inner nodes too.

    ``node_ranges``, ``(nodes, slots)``, is the most one report can change in the sum of H over a
    node's cells and the inner nodes below it, its own included.
    """
    inner = information.inner
    if inner is None:
        return prunings.average(tree, information, deviation, split, node_ranges)
    below = _Below.of(tree, information, inner, node_ranges)
    laws = _Laws(information.independent, deviation**2, split)
    up = _pass_up(tree, inner, below, laws)
    down = _pass_down(tree, inner, below, laws, up)[:, tree.leaves]
    variance = np.maximum(down[1] - down[0] ** 2, 0.0)
    evidence = float(up.evidence[0]) + information.log_scale
    return Posterior(down[0], variance, down[2], down[3], down[4], evidence)


@dataclass(frozen=True, eq=False)
class _Below:
    """What is known within each node if the quantity is constant on it, each (nodes, slots)."""

    J: Floats
    H: Floats
    ranges: Floats

    @classmethod
    def of(
        cls, tree: Partition, information: Information, inner: Inner, ranges: Floats | None
    ) -> "_Below":
        J, H = inner.J.copy(), inner.H.copy()
        J[tree.leaves], H[tree.leaves] = information.J, information.H
        for nodes in reversed(tree.levels):
            v, left, right = families(tree, nodes)
            J[v] += J[left] + J[right]
            H[v] += H[left] + H[right]
        return cls(J, H, np.zeros_like(J) if ranges is None else ranges)


@dataclass(frozen=True)
class _Laws:
    independent: float
    prior: float
    split: float

    def stop(self, stopping: Floats, splitting: Floats) -> tuple[Floats, Floats]:
        """QuestionCounts of both together, and the probability of stopping."""
        stopping, splitting = np.log1p(-self.split) + stopping, np.log(self.split) + splitting
        evidence = np.logaddexp(stopping, splitting)
        return evidence, np.exp(stopping - evidence)

    def evidence(self, J: Floats, H: Floats, mean: Floats | float, variance: Floats) -> Floats:
        """ln of the integral of exp(H x - J x^2 / 2) over N(mean, variance), over all slots."""
        spread = 1.0 + J * variance
        exponent = (variance * H**2 + 2.0 * H * mean - J * np.square(mean)) / spread
        return np.asarray(self.independent * 0.5 * (exponent - np.log(spread)).sum(axis=1))


@dataclass(frozen=True, eq=False)
class _Up:
    """Per node: evidence from below, and the law of the node's mean given what lies below.

    ``range`` is the most that one report can move that mean, the weights of prunings held fixed.
    """

    evidence: Floats
    mean: Floats
    variance: Floats
    range: Floats

    def halves(self, inner: Inner, v: Index, children: tuple[Index, Index]) -> tuple[Floats, ...]:
        """Mean, variance and range of divided nodes' means, before their own information."""
        parts = [inner.part(child, v) for child in children]
        mean = sum(p * self.mean[c] for p, c in zip(parts, children, strict=True))
        variance = sum(p**2 * self.variance[c] for p, c in zip(parts, children, strict=True))
        range_ = sum(p * self.range[c] for p, c in zip(parts, children, strict=True))
        return np.asarray(mean), np.asarray(variance), np.asarray(range_)


def _pass_up(tree: Partition, own: Inner, below: _Below, laws: _Laws) -> _Up:
    shrink = laws.prior / (1.0 + below.J * laws.prior)
    const = laws.evidence(below.J, below.H, 0.0, np.full_like(below.J, laws.prior))
    up = _Up(const.copy(), below.H * shrink, shrink.copy(), below.ranges * shrink)
    for nodes in reversed(tree.levels):
        v, left, right = families(tree, nodes)
        mean, variance, range_ = up.halves(own, v, (left, right))
        told = laws.evidence(own.J[v], own.H[v], mean, variance)
        up.evidence[v], stop = laws.stop(const[v], up.evidence[left] + up.evidence[right] + told)
        spread = 1.0 + own.J[v] * variance
        mean = (mean + variance * own.H[v]) / spread
        range_ = (range_ + variance * own.ranges[v]) / spread
        s = stop[:, None]
        between = s * (1.0 - s) * (up.mean[v] - mean) ** 2
        up.mean[v] = s * up.mean[v] + (1.0 - s) * mean
        up.variance[v] = s * up.variance[v] + (1.0 - s) * variance / spread + between
        up.range[v] = s * up.range[v] + (1.0 - s) * range_
    return up


def _pass_down(tree: Partition, own: Inner, below: _Below, laws: _Laws, up: _Up) -> Floats:
    """For each node the mixture of its ancestors' parts, by where the pruning stops.

    ``above`` is J, H and H's range of what the rest of the tree says of a node's mean.
    """
    above = np.zeros((3, *below.J.shape))
    total, reached = np.zeros((5, *below.J.shape)), np.zeros(tree.nodes)
    reached[0] = 1.0
    for nodes in tree.levels:
        J, H, ranges = (a[nodes] + above[i, nodes] for i, a in enumerate(_arrays(below)))
        shrink = laws.prior / (1.0 + J * laws.prior)
        mean = H * shrink
        parts = np.stack([mean, shrink + mean**2, shrink, J * shrink, ranges * shrink])
        v, left, right = families(tree, nodes)
        told = [a[v] + above[i, v] for i, a in enumerate(_arrays(own))]
        divided = tree.left[nodes] != LEAF
        stop = np.ones(len(nodes))
        const = laws.evidence(J[divided], H[divided], 0.0, np.full_like(told[0], laws.prior))
        seen = laws.evidence(told[0], told[1], *up.halves(own, v, (left, right))[:2])
        _, stop[divided] = laws.stop(const, up.evidence[left] + up.evidence[right] + seen)
        total[:, nodes] += (reached[nodes] * stop)[None, :, None] * parts
        for child, other in ((left, right), (right, left)):
            reached[child] = reached[v] * (1.0 - stop[divided])
            total[:, child] = total[:, v]
            above[:, child] = _message(own.part(child, v), own.part(other, v), told, up, other)
    return total


def _message(part: Floats, rest: Floats, told: list[Floats], up: _Up, other: Index) -> Floats:
    """J, H and H's range of what a parent that is ``told`` so much says of one child's mean.

    The parent's mean is ``part`` of this child's and ``rest`` of the ``other``'s.
    """
    J, H, range_ = told
    spread = 1.0 + J * rest**2 * up.variance[other]
    return (
        np.stack(
            [
                part**2 * J,
                part * (H - J * rest * up.mean[other]),
                part * (range_ + J * rest * up.range[other]),
            ]
        )
        / spread
    )


def _arrays(told: _Below | Inner) -> tuple[Floats, Floats, Floats]:
    return told.J, told.H, told.ranges
