"""Influence of one report on an average share, to first order.

A report changes the contrasts R, and these H = b e / D and, by the noise between cells, u' theta.
Within a prior theta changes by C dH, C being the posterior covariance; the entry of C between two
cells is at most the product of their posterior deviations. Between priors the derivative of a mean
is its covariance with that of the log evidence, at most the product of their deviations (Cauchy and
Schwarz). In a label shift of classes x changes with all counts, also through the reported masses
where masses follow. The part of that member
(``average``) changes with differences of log evidences.
Left out: second order, and how reports change other masses, variances and references.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from ..core.counts import QuestionCounts
from ..core.public_data import Floats
from .average import Average
from .label_shift import LabelShift
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
    of_alone = _of_alone(contrasts, average, alone)
    return np.maximum(_of_cells(question, contrasts, average), of_alone)


@dataclass(frozen=True, eq=False)
class _Member:
    """The bound ``moved``, ``(cells, slots)``, for a member's ``shares``; and ``gain``, the
    derivative of its log evidence by what reports tell."""

    shares: Floats
    moved: Floats
    gain: Floats


def _on_simplex(posterior: Posterior, moved: Floats, gain: Floats) -> _Member:
    """The member of one posterior, whose shares are ``moved`` before they are made to add up to 1:
    then what others gain a share loses, in proportion."""
    shares = posterior.mean(posterior.shares)
    total = shares.sum(axis=1, keepdims=True)
    part = np.clip(shares / total, 0.0, 1.0)
    moved = (part * moved.sum(axis=1, keepdims=True) + (1.0 - 2.0 * part) * moved) / total
    return _Member(shares / total, moved, gain)


def _of_average(
    average: Average,
    shaped: _Member,
    label: _Member | None,
    summed: Callable[[Floats], float],
) -> Floats:
    """The bound for the average: members change, and so do their parts with their log odds.

    ``summed`` bounds by how much a value changes whose derivative is given.
    """
    if label is None:
        return shaped.moved
    part = average.moved
    bound = (1.0 - part) * shaped.moved + part * label.moved
    of_odds = summed(label.gain - shaped.gain)
    if average.label_odds + of_odds > 0.0:  # or else this member has no part before or after
        bound += np.abs(label.shares - shaped.shares) * (1.0 - part**2) / 2.0 * of_odds
    return np.asarray(bound)


def _of_alone(contrasts: Contrasts, average: Average, alone: QuestionCounts | None) -> Floats:
    """The bound for a report about the label alone."""
    if alone is None or contrasts.overall is None:
        return np.zeros_like(average.shares)
    change = contrasts.overall.unit * alone.count_influence / alone.holders
    slots = len(change)

    def summed(gain: Floats) -> float:
        return float(np.abs(gain) @ change)

    def member(posterior: Posterior) -> _Member:
        gain = (slots - 1) / slots * (posterior.weights * posterior.surprise).sum(axis=0)
        return _on_simplex(posterior, _by_overall(posterior, change), gain)

    label = None
    if (found := average.label) is not None:
        of_x = np.abs(found.by_share) @ change
        moved = _of_label(found, of_x, found.surprise, summed)
        label = _Member(found.shares, moved, found.weights @ found.surprise)
    return _of_average(average, member(average.posterior), label, summed)


def _of_label(
    label: LabelShift, of_x: Floats, gains: Floats, summed: Callable[[Floats], float]
) -> Floats:
    """The bound for the mean shares of the label shift, ``(cells, slots)``.

    x changes by ``of_x``, ``(k, slots)``; ``gains``, one by component, are as in ``_Member``, and
    ``summed`` as of ``_of_average``.
    """
    p = label.each  # of which x_t changes p_s by p_s ([s = t] - p_t)
    within = p * ((1.0 - 2.0 * p) * of_x[:, None, :] + (p @ of_x[:, :, None]))
    within = np.tensordot(label.weights, within, 1)
    for i, j in combinations(range(len(p)), 2):
        of_odds = label.weights[i] * label.weights[j] * summed(gains[i] - gains[j])
        within = within + np.abs(p[i] - p[j]) * of_odds
    return np.asarray(within)


def _by_overall(posterior: Posterior, change: Floats) -> Floats:
    """The bound for the mean shares of one posterior, ``(cells, slots)``."""
    within = posterior.mean(posterior.derivative * np.abs(posterior.of_overall))
    by_share = posterior.deviation(
        np.broadcast_to(posterior.surprise[:, None], posterior.shares.shape)
    )
    return np.asarray((within + posterior.deviation(posterior.shares) * by_share) * change)


def _of_cells(question: QuestionCounts, contrasts: Contrasts, average: Average) -> Floats:
    """The bound for a report about the cell."""
    change = ContrastChange(question, contrasts.reference)
    slots = contrasts.reference.shape[1]
    free = (slots - 1) / slots

    def summed(gain: Floats) -> float:  # by contrasts, and by counts through reported masses
        by_R, by_V = np.abs(gain)
        return float(change.summed(by_R).sum()) + question.total_influence(by_V)

    def member(posterior: Posterior) -> _Member:
        means = contrasts.size * posterior.shares
        gain = free * posterior.mean(_by_contrasts(contrasts, means))
        moved = _of_posterior(contrasts, change, posterior)
        return _on_simplex(posterior, moved, np.stack([gain, np.zeros_like(gain)]))

    label = None
    if (found := average.label) is not None:
        by = np.abs(found.by_counts)
        of_x = np.array([[question.total_influence(one) for one in each] for each in by])
        gains = np.stack([free * _by_contrasts(contrasts, found.means), found.by_masses], axis=1)
        moved = _of_label(found, of_x, gains, summed)
        label = _Member(found.shares, moved, np.tensordot(found.weights, gains, 1))
    return _of_average(average, member(average.posterior), label, summed)


def _of_posterior(contrasts: Contrasts, change: "ContrastChange", posterior: Posterior) -> Floats:
    """The bound for the mean shares of one posterior, ``(cells, slots)``."""
    D, a, gamma = contrasts.variance, contrasts.direction, contrasts.common_precision
    of_noise = gamma * change.summed(np.abs(a / D))
    of_theta = _of_theta(contrasts, change, posterior, of_noise)
    within = posterior.mean(posterior.derivative * of_theta)
    by_R = posterior.deviation(_by_contrasts(contrasts, contrasts.size * posterior.shares))
    return np.asarray(within + posterior.deviation(posterior.shares) * change.summed(by_R))


def _by_contrasts(contrasts: Contrasts, means: Floats) -> Floats:
    """The derivative of each prior's log evidence by the contrasts, ``(priors, cells, slots)``.

    Up to what is equal for all priors; ``means`` are those of contrasts, plus n w r.
    """
    D, a, gamma = contrasts.variance, contrasts.direction, contrasts.common_precision
    by_R = means / D
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
