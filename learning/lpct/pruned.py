"""LPCT-prune (Ma and Yang, 2024, Algorithm 2), in both its printed and a calibrated form.

For each cell it climbs from depth p0 until the signal at the cell's ancestor exceeds its noise, and
uses that ancestor's private, public or weighted average. If private data dominates public data, the
answers to a second, shallower question are used instead. Both questions are asked at once, each
with half of the budget, so that no holder is contacted twice.

With D = V - (U - V) the lead of class 1 over a node, every statistic v is |D| over a noise level.
In the notation of A.2: u is the private noise level, U_Q the public one, and
(D_P + λ D_Q)^2 / (u + λ^2 U_Q) is greatest at λ = u D_Q / (U_Q D_P) if both leads agree, else at
an end. The forms differ in the level below which noise dominates (``Search.node``), in u and the
bound on v (``Search.levels``), and in when private data dominates (``Search.dominates``); why is in
docs/adr/0101-algorithm-2-in-two-forms.md.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from privet.protocol.errors import InvalidRequest
from privet.protocol.features import Classes, Label
from privet.protocol.partition import Index

from ..core.counts import QuestionCounts, public_counts
from ..core.estimator import Estimator, Parameter
from ..core.model import Model, SlotEstimates, to_model
from ..core.public_data import Floats, PublicData
from ..core.ratio import share_estimates
from ..core.trees import ancestors, node_sums
from .weighted import fit_weighted


@dataclass(frozen=True, eq=False)
class PrunedNode:
    """Sums over the ancestors at one depth, one entry per cell.

    ``lead`` is D and ``size`` is U, of private (P) and public (Q) data; ``noise`` is the
    variance of D_P by the mechanism, ``floor`` the mass under which noise dominates.
    """

    lead_p: Floats
    size_p: Floats
    lead_q: Floats
    size_q: Floats
    noise: Floats
    floor: Floats


@dataclass(frozen=True, eq=False)
class Choice:
    """The choice at one depth per cell: signal v, weights of both data, is private stronger."""

    signal: Floats
    weight_p: Floats
    weight_q: Floats
    private: NDArray[np.bool_]


def fit_pruned(
    label: Label, public: PublicData, questions: Sequence[QuestionCounts], *, constants: str
) -> Model:
    """Prune the first question's tree; fall back on the second question if private data dominates.

    ``constants`` is ``paper`` (Algorithm 2 as printed) or ``calibrated``. With one question only
    there is nothing to fall back on, which the model's facts say, and cells that find no clear
    signal use their strongest.
    """
    if len(questions) not in (1, 2) or any(question.mechanism.slots != 2 for question in questions):
        raise InvalidRequest(
            "pruned needs the deep question and its fallback, both about the label: create the "
            "task with two questions."
        )
    deep = questions[0]
    counts_q = public_counts(label, public, deep.partition)
    nodes, weight_p, weight_q, dominated = Search(deep, counts_q, constants == "paper").run()
    if dominated and len(questions) == 2:
        reports_alone = fit_weighted(label, public, questions[1:], weight=0.0, counts="unbiased")
        return replace(reports_alone, facts={"fallback": True})
    slots = pruned_shares(deep, counts_q, nodes, weight_p, weight_q)
    fallback = False if len(questions) == 2 else "none, since the task has one question"
    return replace(to_model(label, deep, slots), facts={"fallback": fallback})


def pruned_shares(
    deep: QuestionCounts, counts_q: Floats, nodes: Index, weight_p: Floats, weight_q: Floats
) -> SlotEstimates:
    """Each cell's shares at its chosen ancestor, from weighted counts."""
    tree = deep.partition
    private, public = node_sums(tree, deep.counts)[nodes], node_sums(tree, counts_q)[nodes]
    noise = weight_p[:, None, None] ** 2 * node_sums(tree, deep.noise)[nodes]
    sampled = node_sums(tree, deep.plausible)[nodes]
    counts = weight_p[:, None] * private + weight_q[:, None] * public
    holders = weight_p**2 * sampled.sum(axis=1) + weight_q**2 * public.sum(axis=1)
    mass = np.maximum(counts.sum(axis=1), 1e-300)
    share = np.clip(weight_q * public.sum(axis=1) / mass, 0.0, 1.0)
    return share_estimates(counts, noise, share, deep.factor, holders[:, None])


class Search:
    """Algorithm 2's loop over depths, all cells at once."""

    def __init__(self, deep: QuestionCounts, counts_q: Floats, as_printed: bool) -> None:
        self.tree = deep.partition
        self.as_printed = as_printed
        self.n, self.rows = deep.holders, float(counts_q.sum())
        self.counts, self.counts_q = deep.counts, counts_q
        sign = np.array([-1.0, 1.0])
        self.lead_noise = np.einsum("i,kij,j->k", sign, deep.noise, sign)
        self.mass_noise = deep.noise.sum(axis=(1, 2))
        columns, epsilon = self.tree.columns, 2.0 * deep.mechanism.epsilon
        information = max(self.n * epsilon**2, 1.0)
        self.shallow = int(columns / (2 + 2 * columns) * np.log2(information))

    def run(self) -> tuple[Index, Floats, Floats, bool]:
        """For each cell its node and the weights there; and whether private data dominates."""
        cells = self.tree.cells
        node, best = self.tree.leaves.copy(), np.full(cells, -np.inf)
        weight_p, weight_q = np.zeros(cells), np.ones(cells)
        done, dominated = np.zeros(cells, dtype=bool), False
        for depth in range(self.tree.depth, 0, -1):
            at = ancestors(self.tree, depth)
            choice = self.choose(self.node(at))
            better = ~done & (choice.signal > best)
            node[better], best[better] = at[better], choice.signal[better]
            weight_p[better], weight_q[better] = choice.weight_p[better], choice.weight_q[better]
            if depth <= self.shallow:
                dominated = dominated or self.dominates(choice, done, at)
            done |= choice.signal >= 1.0
        return node, weight_p, weight_q, dominated

    def node(self, at: Index) -> PrunedNode:
        """Sums over the given nodes."""
        private = node_sums(self.tree, self.counts)[at]
        public = node_sums(self.tree, self.counts_q)[at]
        # Printed: 2^(p0-k) 8 n / eps^2, eps the whole budget. Laplace noise at eps / 2 has a
        # variance of 128 n / eps^2 per cell, so this is a 16th of it, for whatever mechanism.
        # Calibrated: noise dominates where its variance is above that of the labels themselves.
        noise = node_sums(self.tree, self.lead_noise)[at]
        mass_noise = node_sums(self.tree, self.mass_noise)[at]
        floor = mass_noise / 16.0 if self.as_printed else noise
        return PrunedNode(
            lead_p=private[:, 1] - private[:, 0],
            size_p=private.sum(axis=1),
            lead_q=public[:, 1] - public[:, 0],
            size_q=public.sum(axis=1),
            noise=noise,
            floor=floor,
        )

    def choose(self, node: PrunedNode) -> Choice:
        """Signals and weights at one depth: the better data where noise dominates, else both."""
        noisy = node.floor >= node.size_p
        u, bound = self.levels(node, noisy)
        z_p = np.abs(node.lead_p) / np.sqrt(np.maximum(u, 1e-300))
        z_q = np.abs(node.lead_q) / np.sqrt(np.maximum(node.size_q, 1e-300))
        agree = ~noisy & (node.lead_p * node.lead_q > 0.0)
        private = z_p >= z_q
        weight = best_weight(u, node.lead_p, node.lead_q, node.size_q)
        return Choice(
            signal=np.where(agree, np.hypot(z_p, z_q), np.maximum(z_p, z_q)) / bound,
            weight_p=np.where(agree | private, 1.0, 0.0),
            weight_q=np.where(agree, weight, np.where(private, 0.0, 1.0)),
            private=noisy & private,
        )

    def levels(self, node: PrunedNode, noisy: NDArray[np.bool_]) -> tuple[Floats, float]:
        """The private noise level u in units of U_Q's, and the bound that |D| / noise must pass.

        As printed, v = |D| / (2 sqrt(4 u log(n_P + n_Q))) with u = 2^(p0-k) 8 n_P / eps^2 where
        noise dominates and 8 U_P elsewhere. Calibrated, u is the variance of D_P, as U_Q is that
        of D_Q, and the bound is passed without any signal by one node in all, at most, on average.
        """
        if self.as_printed:
            u = np.where(noisy, node.floor, 8.0 * np.maximum(node.size_p, 1.0))
            return u, 4.0 * np.sqrt(np.log(self.n + self.rows))
        u = node.noise + np.clip(node.size_p, 1.0, self.n)
        return u, float(np.sqrt(2.0 * np.log(max(self.tree.nodes, 2))))

    def dominates(self, choice: Choice, done: NDArray[np.bool_], at: Index) -> bool:
        """True if private data dominates at a depth that is already shallow.

        As printed, one cell suffices. Calibrated, without any signal each node would prefer either
        data with equal chance, so the nodes' private signals together must be clear of noise, at
        one in a hundred, and above the public ones.
        """
        waiting = ~done & choice.private
        if self.as_printed or not waiting.any():
            return bool(waiting.any())
        nodes = np.unique(at)
        first = np.searchsorted(np.sort(at), nodes)
        cells = np.argsort(at, kind="stable")[first]
        node = self.node(at[cells])
        z_p = node.lead_p**2 / (node.noise + np.clip(node.size_p, 1.0, self.n))
        z_q = node.lead_q**2 / np.maximum(node.size_q, 1.0)
        from scipy.stats import chi2  # takes a second to import

        clear = chi2.isf(0.01, len(cells))
        return bool(z_p.sum() > max(clear, z_q.sum()))


def best_weight(u: Floats, lead_p: Floats, lead_q: Floats, size_q: Floats) -> Floats:
    """λ of A.2: where (D_P + λ D_Q)^2 / (u + λ^2 U_Q) is greatest, for leads that agree."""
    with np.errstate(divide="ignore", invalid="ignore"):
        weight = u * lead_q / (size_q * lead_p)
    return np.where(np.isfinite(weight), np.abs(weight), 0.0)


PRUNED = Estimator(
    "pruned",
    "LPCT-prune: each cell climbs to the ancestor with a clear signal (Algorithm 2).",
    fit_pruned,
    {
        "constants": Parameter(
            "calibrated",
            "Algorithm 2 as printed, or calibrated: both data's statistics follow the same law.",
            choices=("calibrated", "paper"),
        )
    },
    labels=(Classes,),
    max_classes=2,
    one_question=False,
)
