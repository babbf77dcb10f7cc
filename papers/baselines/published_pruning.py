"""LPCT-prune with the constants of its authors' code, which are not those of the printed text.

For an ancestor a levels above its cell, k = p_0 - a, with n_P holders, n_Q public records and its
sums U_P, V_P (private) and U_Q, V_Q (public), let

    c_Q = log n_Q + k + 1,   c_P = log(n_P + n_Q) + k + 1,
    u = 2^(a + 1) (2 log(2 n_P) + ε 2^(-k/2) √c_P)² n_P / (c_P ε²).

Public data alone have the statistic |V_Q / U_Q - 1/2| √(U_Q / c_Q). Private data count only where
U_P and V_P are positive and either U_P >= u or V_P > U_P; V_P is then cut at U_P. With v = U_P in
the first case and u in the second, both data together are

    η = (V_P + λ V_Q) / (U_P + λ U_Q),   λ = v (V_Q / U_Q - 1/2) / (V_P - U_P / 2),

with the statistic |η - 1/2| (U_P + λ U_Q) / √(c_P (v + λ² U_Q)); λ is 0 where the leads differ in
sign. The larger statistic decides; without public records it is 0. A cell takes its first ancestor
whose statistic reaches 1, or else the one with the largest. One question has all of ε, and there is
no second one.

The code also stores a λ with an ancestor that several cells share, which changes cells that were
decided before. That is left out here.
"""

import numpy as np

from privet.learning.core.counts import QuestionCounts
from privet.learning.core.trees import ancestors, node_sums

from .base import Floats


def published_shares(
    question: QuestionCounts, counts_q: Floats, epsilon: float, depth: int, least_depth: int
) -> Floats:
    """Each cell's share of the second class, ``(cells,)``.

    ``counts_q`` are public counts ``(cells, 2)``, ``depth`` is p_0, and cells climb no higher than
    ``depth - least_depth`` levels.
    """
    tree = question.partition
    private, public = node_sums(tree, question.counts), node_sums(tree, counts_q)
    at_depth = np.stack([ancestors(tree, k) for k in range(tree.depth + 1)])
    cell_depth = tree.node_depth[tree.leaves]
    n_p, n_q = question.holders, counts_q.sum()
    share, best = np.full(tree.cells, 0.5), np.full(tree.cells, -1.0)
    for levels in range(max(depth - least_depth, 0) + 1):
        node = at_depth[np.maximum(cell_depth - levels, 0), np.arange(tree.cells)]
        k = depth - levels
        c_p = np.log(n_p + n_q) + k + 1
        c_q = np.log(n_q) + k + 1
        spread = 2 * np.log(2 * n_p) + epsilon * 2 ** (-k / 2) * np.sqrt(c_p)
        u = 2 ** (levels + 1) * spread**2 * n_p / (c_p * epsilon**2)
        value, statistic = decided(private[node], public[node], u, c_p, c_q)
        better = (best < 1) & (cell_depth >= levels) & (statistic > best)
        share[better], best[better] = value[better], statistic[better]
    return share


def decided(
    private: Floats, public: Floats, u: float, c_p: float, c_q: float
) -> tuple[Floats, Floats]:
    """Shares and statistics at nodes with counts ``(nodes, 2)``, each ``(nodes,)``."""
    U_p, U_q = private.sum(axis=1), public.sum(axis=1)
    lead_q = np.where(U_q > 0, public[:, 1] / np.maximum(U_q, 1) - 0.5, 0.0)
    statistic_q = np.abs(lead_q) * np.sqrt(U_q / c_q)
    over = private[:, 1] > U_p
    usable = (U_q > 0) & (U_p > 0) & (private[:, 1] > 0) & (over | (u <= U_p))
    size = np.where(usable, U_p, 1.0)
    V_p = np.where(usable, np.minimum(private[:, 1], U_p), 0.5)
    v = np.where(over, u, size)
    lead_p = V_p / size - 0.5
    with np.errstate(divide="ignore", invalid="ignore"):
        weight = np.where(lead_p * lead_q > 0, v / size * lead_q / lead_p, 0.0)
    mass = size + weight * U_q
    eta = (V_p + weight * public[:, 1]) / mass
    statistic = np.abs(eta - 0.5) * mass / np.sqrt(c_p * (v + weight**2 * U_q))
    joint = usable & (statistic >= statistic_q)
    return np.where(joint, eta, lead_q + 0.5), np.where(joint, statistic, statistic_q)
