"""A Gaussian prior on a tree: every node's value is its parent's plus a normal step.

With x_root ~ N(0, t_root) and x_child = x_parent + N(0, t_child), and the likelihood
exp(H x - J x^2 / 2) for each cell, one pass up and one down give the posterior exactly, in time
linear in the tree. A node v that collects (J_v, H_v) from below sends its parent

    J_v / (1 + t_v J_v),    H_v / (1 + t_v J_v),                                                (6)

and leaves the factor exp(t_v H_v^2 / (2 (1 + t_v J_v))) / sqrt(1 + t_v J_v) in the evidence. Going
down, with m and V the parent's posterior mean and variance (0 and 0 above the root),

    m_v = (m + t_v H_v) / (1 + t_v J_v),    V_v = t_v / (1 + t_v J_v) + V / (1 + t_v J_v)^2     (7)

(multiscale smoothing: Chou, Willsky and Benveniste, 1994).
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from privet.protocol.partition import LEAF, Index, Partition

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
    by_level, cells, level, inner = _layout(tree)
    t = steps.T[by_level][:, None, :, None]
    values = np.zeros((tree.nodes, 1 + len(H), *J.shape[::2]))  # of J, then of each H
    values[cells, 0], values[cells, 1:] = J.transpose(1, 0, 2), H.transpose(2, 0, 1, 3)
    shrink = np.empty((tree.nodes, 1, *J.shape[::2]))
    sent = values[:0]
    for here, above in zip(reversed(level), reversed(inner), strict=True):
        collected = values[here]
        collected[above] += sent[: len(above)]
        collected[above] += sent[len(above) :]
        shrink[here] = 1.0 / (1.0 + t[here] * collected[:, :1])
        sent = collected * shrink[here]
    t_shrink = t * shrink
    log_evidence = 0.5 * (values[:, 1] ** 2 * t_shrink[:, 0] + np.log(shrink[:, 0])).sum(axis=0)
    values *= t_shrink
    values[:, 0] = t_shrink[:, 0]  # of the variance, then of each mean
    for parents, above, here in zip(level, inner, level[1:], strict=False):
        received = np.tile(values[parents][above], (2, 1, 1, 1)) * shrink[here]
        received[:, 0] *= shrink[here, 0]
        values[here] += received
    variance, means = values[cells, 0], values[cells, 1:]
    return Smoothed(
        np.ascontiguousarray(means.transpose(1, 2, 0, 3)),
        np.ascontiguousarray(variance.transpose(1, 0, 2)),
        log_evidence,
    )


@lru_cache(maxsize=8)  # Newton steps ask for one tree many times
def _layout(tree: Partition) -> tuple[Index, Index, list[slice], list[Index]]:
    """The nodes by level; where the cells and each level are among them; each level's inner nodes.

    The level below them are their left children and then their right ones.
    """
    by_level = np.concatenate(tree.levels)
    ends = np.cumsum([len(nodes) for nodes in tree.levels]).tolist()
    level = [slice(end - len(nodes), end) for nodes, end in zip(tree.levels, ends, strict=True)]
    inner = [np.flatnonzero(tree.left[nodes] != LEAF).astype(np.int32) for nodes in tree.levels]
    return by_level, np.argsort(by_level)[tree.leaves].astype(np.int32), level, inner
