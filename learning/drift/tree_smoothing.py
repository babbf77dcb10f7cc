"""A Gaussian prior on a tree: every node's value is its parent's plus a normal step.

With x_root ~ N(0, t_root) and x_child = x_parent + N(0, t_child), and the likelihood
exp(H x - J x^2 / 2) for each cell, one pass up and one down give the posterior exactly, in time
linear in the tree. A node v that collects (J_v, H_v) from below sends its parent

    J_v / (1 + t_v J_v),    H_v / (1 + t_v J_v),

and leaves the factor exp(t_v H_v^2 / (2 (1 + t_v J_v))) / sqrt(1 + t_v J_v) in the evidence. Going
down, with m and V the parent's posterior mean and variance (0 and 0 above the root),

    m_v = (m + t_v H_v) / (1 + t_v J_v),    V_v = t_v / (1 + t_v J_v) + V / (1 + t_v J_v)^2

(multiscale smoothing: Chou, Willsky and Benveniste, 1994).
"""

from dataclasses import dataclass

import numpy as np

from privet.protocol.partition import LEAF, Partition

from ..core.public_data import Floats


@dataclass(frozen=True, eq=False)
class Smoothed:
    """``means`` = C @ H, for the posterior covariance C, with H ``(..., cells, slots)``;
    ``variance``, the diagonal of C, and ``log_evidence``, of the first H, per slot."""

    means: Floats
    variance: Floats
    log_evidence: Floats


def smooth(tree: Partition, steps: Floats, J: Floats, H: Floats) -> Smoothed:
    """The posterior of every cell for several priors and several H at once.

    ``steps``, ``(priors, nodes)``, are the variances t; ``J`` has shape ``(priors, cells, slots)``
    and ``H`` ``(several, priors, cells, slots)``.
    """
    priors, _, slots = J.shape
    J_of = np.zeros((priors, tree.nodes, slots))
    H_of = np.zeros((len(H), priors, tree.nodes, slots))
    J_of[:, tree.leaves], H_of[:, :, tree.leaves] = J, H
    t, shrink = steps[:, :, None], np.empty_like(J_of)
    for nodes in reversed(tree.levels):
        inner = nodes[tree.left[nodes] != LEAF]
        for child in (tree.left[inner], tree.right[inner]):
            J_of[:, inner] += J_of[:, child] * shrink[:, child]
            H_of[:, :, inner] += H_of[:, :, child] * shrink[:, child]
        shrink[:, nodes] = 1.0 / (1.0 + t[:, nodes] * J_of[:, nodes])
    log_evidence = 0.5 * (t * H_of[0] ** 2 * shrink + np.log(shrink)).sum(axis=1)
    means, variance = t * H_of * shrink, t * shrink
    for nodes in tree.levels[1:]:
        above, kept = tree.parent[nodes], shrink[:, nodes]
        means[:, :, nodes] += means[:, :, above] * kept
        variance[:, nodes] += variance[:, above] * kept**2
    return Smoothed(means[:, :, tree.leaves], variance[:, tree.leaves], log_evidence)
