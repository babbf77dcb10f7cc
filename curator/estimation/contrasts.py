"""Contrasts: unbiased deviations of each cell's shares from expected ones, whatever its mass.

Of n holders a share w is in a cell, and of these a share p in a slot. From the debiased counts V
per slot and their sum U, and for expected shares q, the contrast is

    R = V - q U,    E R = n w (p - q),    Var R = Var(noise of R) + n w q (1 - q).

With p - q = a theta and b = n w a, the likelihood of theta is exp(H theta - J theta^2 / 2),

    J = b^2 / Var R,    H = b R / Var R.

The mass w only sets the scale: an error in it weakens or strengthens a correction but never
reverses its sign. It combines the public share s and the reported one u by precision
(``cell_masses``):

    w = s + (v_s + d s) / (v_s + d s + v_u) (u - s),

v_s = s / rows and v_u their variances, d s the variance of a population that differs from the
public one in proportion to its cells, d estimated by moments. u = q C^-1 N / (n q C^-1 q) is the
generalised least-squares estimate from the cell's counts N with covariance C: it is uncorrelated
with the contrasts, so noise cannot change a mass and a contrast together and look like a
difference.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from privet.curator.estimation.counts import QuestionCounts, sampling_covariance
from privet.curator.estimation.model import SlotEstimates
from privet.curator.estimation.ratio import Z95, moments, project_on_simplex
from privet.curator.estimation.tree_averaging import Information, Posterior
from privet.curator.public_data import Floats
from privet.curator.trees import node_sums
from privet.protocol.partition import Partition

LEAST_SPREAD = 0.02
"""Least q (1 - q) in Var R, that of q = .02: a share expected to be 0 still varies. By hand."""
LEAST_MASS = 0.1
"""A cell keeps at least this part of its public share, lest b be 0 or negative. By hand."""
LEAST_SHARE = 1e-3
"""Least q in the sampling part of C, so that C has an inverse."""


@dataclass(frozen=True, eq=False)
class Contrasts:
    """The contrasts of one question against expected shares ``q``, ``(cells, slots)``.

    ``mass``, ``(cells,)``, is w; ``scale``, ``(cells, slots)``, is a.
    """

    question: QuestionCounts
    q: Floats
    mass: Floats
    scale: Floats

    @property
    def tree(self) -> Partition:
        """The question's tree."""
        return self.question.partition

    @property
    def independent(self) -> float:
        """(slots - 1) / slots: contrasts add up to 0 over a cell's slots."""
        slots = self.q.shape[1]
        return float((slots - 1.0) / slots)

    @cached_property
    def values(self) -> Floats:
        """R, ``(cells, slots)``."""
        counts = self.question.counts
        return np.asarray(counts - self.q * counts.sum(axis=1, keepdims=True))

    @cached_property
    def variance(self) -> Floats:
        """Var R, ``(cells, slots)``."""
        own, with_mass, of_mass = moments(self.question.noise)
        noise = own - 2.0 * self.q * with_mass + self.q**2 * of_mass[:, None]
        spread = np.maximum(self.q * (1.0 - self.q), LEAST_SPREAD)
        holders = self.question.holders_per_record * self.question.n * self.mass[:, None]
        return np.asarray(np.maximum(noise, 0.0) + np.maximum(holders * spread, 1e-9))

    @property
    def _slope(self) -> Floats:
        return self.question.n * self.mass[:, None] * self.scale

    def information(self) -> Information:
        """The reports' likelihood of theta."""
        weight = self._slope / self.variance
        J, H = weight * self._slope, weight * self.values
        return Information(J, H, self.node_influence(), independent=self.independent)

    def node_influence(self) -> Floats:
        """Maximum change of the sum of H over a node's cells from replacing one report.

        Shape ``(nodes, slots)``: the sum of the cells' maxima, and at most the bound on all cells
        together.
        """
        slots = self.q.shape[1]
        in_one = self.derivative @ self.question.count_influence
        of_all = [self.question.total_influence(self.derivative[:, slot]) for slot in range(slots)]
        return np.asarray(np.minimum(node_sums(self.tree, in_one), of_all))

    @cached_property
    def derivative(self) -> Floats:
        """Absolute derivatives of each H by its cell's counts, ``(cells, slots, slots)``."""
        by_counts = np.abs(np.eye(self.q.shape[1]) - self.q[:, :, None])
        return np.asarray((self._slope / self.variance)[:, :, None] * by_counts)

    def total_influence(self, weights: Floats) -> float:
        """Maximum change of the sum of ``weights * |H|`` from replacing one report.

        ``weights``, ``(cells, slots)``, are not negative; what the slots share counts once. With
        the difference of two posterior means of theta as weights this bounds the change of the log
        odds of the two, since the derivative of a log evidence by H is the posterior mean.
        """
        of_counts = np.einsum("ks,kst->kt", weights, self.derivative)
        return self.independent * self.question.total_influence(of_counts)

    def estimates(self, posterior: Posterior, variance: Floats | None = None) -> SlotEstimates:
        """Shares q + a theta with standard errors, 95 % intervals and influence.

        ``variance`` of theta, if given, is what errors and intervals are made from instead.

        The influence of one report is bounded to first order: the derivative of a posterior mean by
        H of another cell is their posterior covariance. Within prunings and priors,
        ``Posterior.influence`` adds up what the cells of a node can change; between them a
        covariance is at most the product of two standard deviations (Cauchy and Schwarz). The worst
        cases of all cells are added, although no single report attains them. Ignored: second-order
        terms, and the effect on masses and variances.
        """
        between = np.sqrt(posterior.between)
        influence = posterior.influence + between * self.total_influence(between)
        raw = self.q + self.scale * posterior.mean
        error = self.scale * np.sqrt(posterior.variance if variance is None else variance)
        return SlotEstimates(
            shares=project_on_simplex(raw),
            standard_error=np.minimum(error, 0.5),
            low=np.clip(raw - Z95 * error, 0.0, 1.0),
            high=np.clip(raw + Z95 * error, 0.0, 1.0),
            public_share=1.0 - np.clip(posterior.data_share.mean(axis=1), 0.0, 1.0),
            influence=np.minimum(self.scale * influence, 1.0),
        )


def cell_masses(question: QuestionCounts, q: Floats, points: Floats, rows: int) -> Floats:
    """Each cell's share w of the holders, ``(cells,)``, positive, adding up to 1.

    ``q``, ``(cells, slots)``, are the expected shares of slots; ``points``, ``(cells,)``, counts
    reference points per cell and ``rows`` is how many public records they stand for. d is the
    difference of reported and public shares beyond two standard deviations of sampling error.
    """
    public = (points + 0.5) / (points + 0.5).sum()  # 0.5: Jeffreys' prior on each cell
    if question.n == 0:
        return np.asarray(public)
    reported, noise = reported_masses(question, q, public)
    sampling = public / max(rows, 1)
    excess = float(((reported - public) ** 2 - noise - sampling).sum())
    chance = float(np.sqrt(2.0 * ((noise + sampling) ** 2).sum()))
    own = sampling + max(excess - 2.0 * chance, 0.0) * public
    mass = public + own / (own + noise) * (reported - public)
    mass = np.maximum(mass, LEAST_MASS * public)
    return np.asarray(mass / mass.sum())


def reported_masses(question: QuestionCounts, q: Floats, public: Floats) -> tuple[Floats, Floats]:
    """The reported masses u with their variances, each ``(cells,)``, if the shares q are right.

    ``public``, ``(cells,)``, are the masses at which sampling variances are evaluated.
    """
    expected = question.n * public[:, None] * np.maximum(q, LEAST_SHARE)
    covariance = question.noise + question.holders_per_record * sampling_covariance(expected)
    weights = np.linalg.solve(covariance, q[:, :, None])[:, :, 0]
    precision = (weights * q).sum(axis=1)
    estimate = (weights * question.counts).sum(axis=1) / precision
    return estimate / question.n, 1.0 / (precision * question.n**2)
