"""Influence of one report on an average share, to first order.

A report changes the contrasts R, and these H = b e / D and, by the noise between cells, u' theta.
Within a prior theta changes by C dH, C being the posterior covariance; the entry of C between two
cells is at most the product of their posterior deviations. Between priors the derivative of a mean
is its covariance with that of the log evidence, at most the product of their deviations (Cauchy and
Schwarz). The part of the member without the public model's shape (``average``) changes with the
difference of log evidences. Left out: second order, and how reports change masses, variances and
references.
"""

import numpy as np

from ..core.counts import QuestionCounts
from ..core.public_data import Floats
from .average import Average
from .likelihood import Contrasts
from .posterior import Posterior
from .tree_smoothing import smooth

LEAST_WEIGHT = 1e-3
"""Priors with less posterior weight get only the looser of two bounds, which is quicker."""


def influence(
    question: QuestionCounts,
    contrasts: Contrasts,
    average: Average,
    alone: QuestionCounts | None = None,
) -> Floats:
    """The bound for each mean share, ``(cells, slots)``: of a report to either question."""
    of_alone = _of_alone(average, alone)
    return np.maximum(_of_cells(question, contrasts, average), of_alone)


def _of_alone(average: Average, alone: QuestionCounts | None) -> Floats:
    """The bound for a report about the label alone."""
    if alone is None or alone.n == 0:
        return np.zeros_like(average.shares)
    change, part = alone.count_influence / alone.holders, average.flat
    moved = (1.0 - part) * _by_overall(average.shaped, change)
    if average.shapeless is None:
        return moved
    shaped, shapeless, slots = average.shaped, average.shapeless, len(change)
    moved += part * _by_overall(shapeless, change)
    gain = (shapeless.weights * shapeless.surprise).sum(axis=0)
    gain = gain - (shaped.weights * shaped.surprise).sum(axis=0)
    of_odds = (slots - 1) / slots * float((np.abs(gain) * change).sum())
    apart = np.abs(shapeless.mean(shapeless.shares) - shaped.mean(shaped.shares))
    return np.asarray(moved + apart * (1.0 - part**2) / 2.0 * of_odds)


def _by_overall(posterior: Posterior, change: Floats) -> Floats:
    """The bound for the mean shares of one posterior, ``(cells, slots)``."""
    within = posterior.mean(posterior.derivative * np.abs(posterior.of_overall))
    by_share = posterior.deviation(
        np.broadcast_to(posterior.surprise[:, None], posterior.shares.shape)
    )
    return np.asarray((within + posterior.deviation(posterior.shares) * by_share) * change)


def _of_cells(question: QuestionCounts, contrasts: Contrasts, average: Average) -> Floats:
    """The bound for a report about the cell."""
    change, part = ContrastChange(question, contrasts.reference), average.flat
    shaped = average.shaped
    of_shaped = _of_posterior(contrasts, change, shaped)
    if average.shapeless is None:
        return of_shaped
    shapeless, slots = average.shapeless, contrasts.reference.shape[1]
    moved = (1.0 - part) * of_shaped
    moved += part * _of_posterior(contrasts, change, shapeless)
    gain = shapeless.mean(_by_contrasts(contrasts, shapeless))
    gain -= shaped.mean(_by_contrasts(contrasts, shaped))
    of_odds = (slots - 1) / slots * float(change.summed(np.abs(gain)).sum())
    if average.log_odds + of_odds > 0.0:  # or else this member has no part before or after
        apart = np.abs(shapeless.mean(shapeless.shares) - shaped.mean(shaped.shares))
        moved += apart * (1.0 - part**2) / 2.0 * of_odds
    return np.asarray(moved)


def _of_posterior(contrasts: Contrasts, change: "ContrastChange", posterior: Posterior) -> Floats:
    """The bound for the mean shares of one posterior, ``(cells, slots)``."""
    D, a, gamma = contrasts.variance, contrasts.direction, contrasts.common_precision
    of_noise = gamma * change.summed(np.abs(a / D))
    of_theta = _of_theta(contrasts, change, posterior, of_noise)
    within = posterior.mean(posterior.derivative * of_theta)
    by_R = posterior.deviation(_by_contrasts(contrasts, posterior))
    return np.asarray(within + posterior.deviation(posterior.shares) * change.summed(by_R))


def _by_contrasts(contrasts: Contrasts, posterior: Posterior) -> Floats:
    """The derivative of each prior's log evidence by the contrasts, ``(priors, cells, slots)``.

    Up to what is equal for all priors.
    """
    D, a, gamma = contrasts.variance, contrasts.direction, contrasts.common_precision
    by_R = contrasts.size * posterior.shares / D
    return np.asarray(by_R + gamma * (a / D) * (a * by_R).sum(axis=1, keepdims=True))


class ContrastChange:
    """The influence of one report on contrasts with shares ``reference``."""

    def __init__(self, question: QuestionCounts, reference: Floats) -> None:
        self.question = question
        slots = reference.shape[1]
        self.by_counts = np.abs(np.eye(slots) - reference[:, :, None])
        """|dR_s / dV_t|, ``(cells, slots, slots)``."""

    @property
    def single(self) -> Floats:
        """Maximum change of each contrast, ``(cells, slots)``."""
        return np.asarray(self.by_counts @ self.question.count_influence)

    def summed(self, weights: Floats) -> Floats:
        """Maximum of the sum over cells of ``weights * |change|``, per slot, ``(slots,)``."""
        return np.array(
            [
                self.question.total_influence(weights[:, s, None] * self.by_counts[:, s])
                for s in range(weights.shape[1])
            ]
        )


def _of_theta(
    contrasts: Contrasts, change: ContrastChange, posterior: Posterior, of_noise: Floats
) -> Floats:
    """The most that theta changes by within each prior, ``(priors, cells, slots)``."""
    b_D = contrasts.size * posterior.derivative / contrasts.variance
    b_a_D = np.abs(b_D * contrasts.direction)
    of_H = b_D * change.single + b_a_D * of_noise
    tree = change.question.partition
    moved = smooth(tree, posterior.steps, posterior.J, of_H[None]).means[0]
    vectors = (
        posterior.by_slope,
        posterior.by_past,
        posterior.by_noise,
        posterior.by_overall,
    )
    for vector in map(np.abs, vectors):
        moved = moved + vector * (vector * of_H).sum(axis=1, keepdims=True)
    deviation = np.sqrt(posterior.variance)
    for g in np.flatnonzero((posterior.weights > LEAST_WEIGHT).any(axis=1)):
        joint = change.summed(deviation[g] * b_D[g])
        joint = joint + (deviation[g] * b_a_D[g]).sum(axis=0) * of_noise
        moved[g] = np.minimum(moved[g], deviation[g] * joint)
    return np.asarray(moved)
