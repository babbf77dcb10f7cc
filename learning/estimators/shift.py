"""How the holders' shares differ from expected ones: a Gaussian shift on the tree.

**Contrasts.** Of n holders whose record fits, a part w is in a cell, and a part p of these in a
slot. From the debiased counts V per slot and their sum U, and for any reference shares r,

    R = V - r U,    E R = n w (p - r),    Cov R = noise of R + n w [p (1 - 2 r) + r^2] I.       (1)

A wrong mass w therefore scales a difference and makes none. Two rounds: the first has r = q, the
expected shares, the second the first one's posterior means, so that p = r in the sampling variance
n w r (1 - r), and in the masses.

**Shift.** For classes theta is a shift of log-odds, for numbers a twelfth of a scale's width:

    p = q e^theta / (1 - q + q e^theta),    or    p = q + theta / 12,                           (2)
    theta = slope * z + tree,    slope ~ N(0, b^2),    tree as in ``tree_smoothing``.           (3)

z is logit q (for numbers 12 (mean - average) / width) less its mean. The unit of theta is half a
standard deviation of the label in both: at q = 1/2 one is 1/2 and p' = 1/4, and a scale around a
centre is six of them wide. The root's step is what moves everywhere, the slope makes expected
shares flatter, steeper or reversed, further steps are equal on average over a path. The deviations
(root, slope, path) are integrated over ``GRID`` by evidence.

**Within a cell** expected shares q(x) differ too. To first order around q, (2) and (3) make of it

    p(x) = p + p (1 - p) / (q (1 - q)) (1 + slope) (q(x) - q),                                  (4)

and for numbers p + (1 + slope) (q(x) - q). The factor is kept within 0 and 1.

**Noise between cells.** Counts and misfits of ``subset`` and ``grr`` add up to the reports, so
counts of different cells have the covariance -c. Contrasts of one slot have then -c a a',
a = 1 - S r, off the diagonal: with D the diagonal plus c a^2 their precision is
D^-1 + gamma D^-1 a a' D^-1, one rank more.

**Posterior.** (2) is linearised at the current theta until that stays (Gauss and Newton); then all
is normal, and linear in the cells, but for the two additions of rank one. Each slot has deviations
and evidence of its own, so that one class may move alone; two slots mirror each other.

**Intervals** are those of the reports alone: what holds for every shift cannot lean on a prior.
"""

from dataclasses import dataclass, replace
from itertools import product

import numpy as np
from scipy.special import log_ndtr

from privet.protocol.partition import Partition

from ..counts import Z95, QuestionCounts, sampling_covariance
from ..model import SlotEstimates
from ..public_data import Floats
from ..trees import node_depth
from .ratio import fieller_interval, moments, project_on_simplex
from .tree_smoothing import smooth

NO_SHIFT = (0.02, 0.0, 0.02)
"""(root, slope, path) of "no shift": 0.02 of log-odds is half a point of probability."""
GRID = (NO_SHIFT, *product((0.6, 3.0), (0.0, 1.0), (0.1, 0.3, 1.0, 2.0)))
"""Deviations in log-odds, by reasoning: 0.6 turns 25 % into 38 %, and 3.0 reaches classes that
public data lack; a slope of deviation 1 reaches both none and twice the expected one; single cells
from nearly equal to unlike."""
PER_THETA = 1.0 / 12.0
"""In widths of a number's scale."""
LARGE, LARGE_SHIFTS = 3.0, 0.05
"""One shift in twenty has this deviation at the root. Were it one in two, reports that say nothing
would cost .0014 of Brier score (ADR 0113)."""
NO_SHIFT_OF_CLASSES, NO_SHIFT_OF_NUMBERS = 0.5, 0.9
"""Classes: as likely as not. Numbers: nine to one, since a squared error has no bound."""
LEAST_EXPECTED = 0.01
"""Spread evenly over the classes, it is mixed into q: nothing that public data lack is excluded."""
LEAST_SPREAD = 0.02
"""Least p (1 - p) in (1), that of p = .02: a share that is taken to be 0 still varies."""
LEAST_SHARE = 1e-3
"""Least p in the sampling covariance of counts, so that it has an inverse."""
ROUNDS = 2
"""The second has references near the truth, so what is left of errors in masses is second order."""
NEWTON_STEPS = 12
LONGEST_STEP = 1.5
"""In log-odds, so that linearising at a rare share does not overshoot."""
CONVERGED = 1e-3


@dataclass(frozen=True, eq=False)
class Contrasts:
    """(1) of one data set: ``values`` R, ``variance`` D and ``reference`` r, ``(cells, slots)``.

    ``size``, ``(cells, 1)``, is n w; ``common`` is c.
    """

    reference: Floats
    values: Floats
    variance: Floats
    size: Floats
    common: float = 0.0

    @property
    def direction(self) -> Floats:
        """a, ``(cells, slots)``."""
        return np.asarray(1.0 - self.reference.shape[1] * self.reference)

    @property
    def common_precision(self) -> Floats:
        """gamma, ``(slots,)``."""
        explained = (self.direction**2 / self.variance).sum(axis=0)
        return np.asarray(self.common / np.maximum(1.0 - self.common * explained, 0.05))


@dataclass(frozen=True, eq=False)
class Expected:
    """What is known of shares before the reports: ``q``, and z, ``(cells, slots)``, of ``slope``.

    ``points``, ``(cells,)``, are public reference points per cell, standing for ``rows`` records.
    """

    q: Floats
    slope: Floats
    points: Floats
    rows: int
    numeric: bool

    @classmethod
    def classes(cls, shares: Floats, points: Floats, rows: int) -> "Expected":
        """Expected class probabilities ``(cells, classes)``."""
        least = LEAST_EXPECTED / shares.shape[1]
        q = (1.0 - LEAST_EXPECTED) * shares / shares.sum(axis=1, keepdims=True) + least
        return cls(q, np.log(q / (1.0 - q)), points, rows, numeric=False)

    @classmethod
    def numbers(cls, t: Floats, position: Floats, points: Floats, rows: int) -> "Expected":
        """Expected means ``t`` on the cells' scales; ``position`` in widths from any origin."""
        slope = np.stack([-position, position], axis=1) / PER_THETA
        return cls(np.stack([1.0 - t, t], axis=1), slope, points, rows, numeric=True)

    def shares(self, theta: Floats) -> tuple[Floats, Floats]:
        """p and its derivative by theta: (2)."""
        if self.numeric:
            return self.q + PER_THETA * theta, np.full_like(theta, PER_THETA)
        odds = np.exp(np.clip(theta, -30.0, 30.0))
        below = 1.0 - self.q + self.q * odds
        return self.q * odds / below, self.q * (1.0 - self.q) * odds / below**2


@dataclass(frozen=True, eq=False)
class Shift:
    """theta after the data under each prior of ``GRID``, arrays ``(priors, cells, slots)``.

    ``shares`` are p at the mode ``theta`` and ``derivative`` theirs; ``prior_variance`` and
    ``variance`` are theta's before and after; ``log_evidence`` has shape ``(priors, slots)``.
    The posterior covariance is that of the tree with information ``J``, and a vector times itself
    for the slope and, subtracted, for the noise between cells: ``by_slope``, ``by_noise``.
    ``slope``, ``(priors, slots)``, is the slope's mean.
    """

    theta: Floats
    shares: Floats
    derivative: Floats
    prior_variance: Floats
    variance: Floats
    log_evidence: Floats
    J: Floats
    by_slope: Floats
    by_noise: Floats
    slope: Floats


def estimate_shift(question: QuestionCounts, expected: Expected) -> SlotEstimates:
    """The holders' shares: posterior means, and for the true shares the reports' 95 % intervals."""
    shares = expected.q
    for _ in range(ROUNDS):
        contrasts = contrasts_of(question, shares, cell_masses(question, shares, expected))
        shift = posterior(question.partition, contrasts, expected)
        shares = mean_shares(shift, numeric=expected.numeric)
    return to_estimates(question, expected, contrasts, shift, shares)


def posterior(tree: Partition, contrasts: Contrasts, expected: Expected) -> Shift:
    """theta under each prior, and how well each prior predicts the contrasts."""
    steps, slope_variance = prior_variances(tree)
    slope = expected.slope - np.average(expected.slope, axis=0, weights=contrasts.size[:, 0] + 1e-9)
    theta = np.zeros((len(steps), *expected.q.shape))
    for _ in range(NEWTON_STEPS):
        found = _normal(tree, contrasts, expected, theta, slope, steps, slope_variance)
        step = np.clip(found.theta - theta, -LONGEST_STEP, LONGEST_STEP)
        theta = theta + step
        if np.abs(step).max() < CONVERGED:
            break
    shares, derivative = expected.shares(theta)
    return replace(found, theta=theta, shares=shares, derivative=derivative)


def prior_variances(tree: Partition) -> tuple[Floats, Floats]:
    """The variances of all steps, ``(priors, nodes)``, and of the slope, ``(priors, 1)``."""
    root, slope, path = (np.array(column)[:, None] ** 2 for column in zip(*GRID, strict=True))
    depth = node_depth(tree)
    mean_depth = max(float(depth[tree.leaves].mean()), 1.0)
    return np.where(depth == 0, root, path / mean_depth), slope


def _normal(
    tree: Partition,
    contrasts: Contrasts,
    expected: Expected,
    theta: Floats,
    z: Floats,
    steps: Floats,
    slope_variance: Floats,
) -> Shift:
    """The posterior with (2) linearised at ``theta``."""
    R, D, a, size = contrasts.values, contrasts.variance, contrasts.direction, contrasts.size
    gamma = contrasts.common_precision
    p, derivative = expected.shares(theta)
    b = size * derivative
    e = R - size * (p - contrasts.reference) + b * theta
    u, h = a * b / D, (a * e / D).sum(axis=1)
    J, H = b**2 / D, b * e / D
    # the tree, for slope and noise between cells as well
    smoothed = smooth(tree, steps, J, np.stack([H, J * z, u]))
    (mean, Cz, Cu), variance = smoothed.means, smoothed.variance
    evidence = smoothed.log_evidence - 0.5 * (e**2 / D).sum(axis=1) - 0.5 * gamma * h**2
    # the slope: integrated with its own information J_z, H_z
    y = z - Cz
    J_z, H_z = (z * J * y).sum(axis=1), (y * H).sum(axis=1)
    of_slope = slope_variance / (1.0 + slope_variance * J_z)
    slope = of_slope * H_z
    mean = mean + y * slope[:, None]
    variance = variance + y**2 * of_slope[:, None]
    evidence += 0.5 * (of_slope * H_z**2 - np.log1p(slope_variance * J_z))
    slope_u = of_slope * (y * u).sum(axis=1)
    Cu = Cu + y * slope_u[:, None]
    # noise between cells: one more observation, h of u' theta with precision gamma
    r, expected_h = (u * Cu).sum(axis=1), (u * mean).sum(axis=1)
    gain = gamma / (1.0 + gamma * r)
    mean = mean + Cu * (gain * (h - expected_h))[:, None]
    slope = slope + slope_u * gain * (h - expected_h)
    variance = variance - Cu**2 * gain[:, None]
    evidence -= 0.5 * np.log1p(gamma * r)
    evidence += 0.5 * gain * (gamma * r * h**2 + 2.0 * h * expected_h - expected_h**2)
    return Shift(
        theta=mean,
        shares=p,
        derivative=derivative,
        prior_variance=_sums_down(tree, steps) + slope_variance[:, :, None] * z**2,
        variance=np.maximum(variance, 0.0),
        log_evidence=evidence,
        J=J,
        by_slope=y * np.sqrt(of_slope)[:, None],
        by_noise=Cu * np.sqrt(gain)[:, None],
        slope=slope,
    )


def _sums_down(tree: Partition, steps: Floats) -> Floats:
    """Sums of ``steps`` from the root to each cell, ``(priors, cells, 1)``."""
    total = steps.copy()
    for nodes in tree.levels[1:]:
        total[:, nodes] += total[:, tree.parent[nodes]]
    return total[:, tree.leaves, None]


def contrasts_of(question: QuestionCounts, reference: Floats, mass: Floats) -> Contrasts:
    """Contrasts of reports with ``reference``, ``(cells, slots)``, at masses ``(cells,)``."""
    (cells, slots), counts, n = reference.shape, question.counts, question.n
    own, with_mass, of_mass = moments(question.noise)
    noise = own - 2.0 * reference * with_mass + reference**2 * of_mass[:, None]
    common, pairs = 0.0, cells * (cells - 1) * slots**2
    if n > 0 and pairs > 0:
        of_total = question.mechanism.linear_variance(np.ones_like(counts), n, question.plausible)
        common = max((float(of_mass.sum()) - of_total) / pairs, 0.0)
    size = question.holders * mass[:, None]
    spread = np.maximum(reference * (1.0 - reference), LEAST_SPREAD)
    sampling = size * spread
    a = 1.0 - slots * reference
    return Contrasts(
        reference,
        counts - reference * counts.sum(axis=1, keepdims=True),
        np.maximum(noise, 0.0) + common * a**2 + np.maximum(sampling, 1e-9),
        size,
        common,
    )


def contrasts_of_public(known: Floats, reference: Floats) -> Contrasts:
    """Contrasts of public records, whose counts ``(cells, slots)`` have no noise."""
    size = known.sum(axis=1, keepdims=True)
    spread = np.maximum(reference * (1.0 - reference), LEAST_SPREAD)
    variance = np.maximum(size * spread, 1e-9)
    return Contrasts(reference, known - reference * size, variance, size)


def cell_masses(question: QuestionCounts, shares: Floats, expected: Expected) -> Floats:
    """Each cell's share w of the holders, ``(cells,)``, positive, adding up to 1.

    The public share s and the reported one u, of variances v_s and v_u, are joined by precision,

        w ~ N(s + (v_s + d s) / (v_s + d s + v_u) (u - s), 1 / (1 / (v_s + d s) + 1 / v_u)),

    cut at 0, d being what they differ by beyond two standard deviations of chance, in proportion to
    s. u = p C^-1 V / (n p C^-1 p), the generalised least-squares estimate for shares p and the
    covariance C of counts, is uncorrelated with the contrasts at r = p, so noise cannot move a
    mass and a contrast together and pass for a shift.
    """
    public = (expected.points + 0.5) / (expected.points + 0.5).sum()  # Jeffreys' prior
    if question.n == 0:
        return np.asarray(public)
    reported, noise = reported_masses(question, shares, public)
    sampling = public / max(min(expected.rows, expected.points.sum()), 1.0)
    excess = float(((reported - public) ** 2 - noise - sampling).sum())
    chance = float(np.sqrt(2.0 * ((noise + sampling) ** 2).sum()))
    own = sampling + max(excess - 2.0 * chance, 0.0) * public
    mean = public + own / (own + noise) * (reported - public)
    deviation = np.sqrt(own * noise / (own + noise))
    mass = _positive_part(mean, np.maximum(deviation, 1e-12))
    return np.asarray(mass / mass.sum())


def reported_masses(
    question: QuestionCounts, shares: Floats, public: Floats
) -> tuple[Floats, Floats]:
    """The reported masses u with their variances, each ``(cells,)``, if the ``shares`` are right.

    ``public``, ``(cells,)``, are the masses at which sampling variances are evaluated.
    """
    at_least = question.holders * public[:, None] * np.maximum(shares, LEAST_SHARE)
    covariance = question.noise + sampling_covariance(at_least)
    weights = np.linalg.solve(covariance, shares[:, :, None])[:, :, 0]
    precision = (weights * shares).sum(axis=1)
    estimate = (weights * question.counts).sum(axis=1) / precision
    return estimate / question.holders, 1.0 / (precision * question.holders**2)


def _positive_part(mean: Floats, deviation: Floats) -> Floats:
    """Means of normals given that they are positive."""
    x = np.maximum(mean / deviation, -30.0)
    return np.asarray(deviation * (x + np.exp(-0.5 * x**2 - log_ndtr(x)) / np.sqrt(2.0 * np.pi)))


def prior_probabilities(*, numeric: bool) -> Floats:
    """Of each prior in ``GRID``."""
    no_shift = NO_SHIFT_OF_NUMBERS if numeric else NO_SHIFT_OF_CLASSES
    large = np.array([root == LARGE for root, *_ in GRID[1:]])
    of_large = LARGE_SHIFTS / max(large.sum(), 1)
    others = np.where(large, of_large, (1.0 - LARGE_SHIFTS) / (~large).sum())
    return np.array([no_shift, *(1.0 - no_shift) * others])


def weights_of(shift: Shift, prior: Floats) -> Floats:
    """Posterior probabilities of the priors in ``GRID`` for each slot, ``(priors, slots)``."""
    with np.errstate(divide="ignore"):
        odds = np.log(prior)[:, None] + shift.log_evidence
    weights = np.exp(odds - odds.max(axis=0))
    return np.asarray(weights / weights.sum(axis=0))


def mean_shares(shift: Shift, *, numeric: bool) -> Floats:
    """Posterior mean shares, ``(cells, slots)``, on the simplex."""
    weights = weights_of(shift, prior_probabilities(numeric=numeric))
    shares = _mixed(weights, shift.shares)
    if numeric:  # not between 0 and 1 by themselves
        return project_on_simplex(shares)
    return np.asarray(shares / shares.sum(axis=1, keepdims=True))


def to_estimates(
    question: QuestionCounts, expected: Expected, contrasts: Contrasts, shift: Shift, shares: Floats
) -> SlotEstimates:
    """``shares`` with intervals, public share and influence."""
    weights = weights_of(shift, prior_probabilities(numeric=expected.numeric))
    holders = question.plausible.sum(axis=1, keepdims=True)
    low, high = fieller_interval(question.counts, question.noise, holders)
    unmoved = shift.variance / np.maximum(shift.prior_variance, 1e-12)
    return SlotEstimates(
        shares=shares,
        standard_error=(high - low) / (2.0 * Z95),
        low=low,
        high=high,
        public_share=np.clip(_mixed(weights, unmoved).mean(axis=1), 0.0, 1.0),
        influence=np.minimum(influence(question, contrasts, shift, weights), 1.0),
        base_slope=slope_within(expected, shares, (weights * shift.slope).sum(axis=0)),
    )


def slope_within(expected: Expected, shares: Floats, slope: Floats) -> Floats:
    """The factor of (4), ``(cells, slots)``, for posterior mean ``shares`` and ``slope``."""
    q, link = expected.q, np.ones_like(shares)
    if not expected.numeric:
        link = shares * (1.0 - shares) / (q * (1.0 - q))
    return np.asarray(np.clip((1.0 + slope) * link, 0.0, 1.0))


def influence(
    question: QuestionCounts, contrasts: Contrasts, shift: Shift, weights: Floats
) -> Floats:
    """A bound to first order on what replacing one report can change a mean share by.

    Within a prior of ``GRID`` theta changes by C dH, C being the posterior covariance; between
    priors the derivative of a mean is its covariance with that of the log evidence, at most the
    product of their deviations (Cauchy and Schwarz). Left out: second order, and how reports
    change masses, variances and references.
    """
    r, D, slots = contrasts.reference, contrasts.variance, contrasts.reference.shape[1]
    by_counts = np.abs(np.eye(slots) - r[:, :, None])  # of R_s by the count of t
    of_one = by_counts @ question.count_influence
    a_D, gamma = contrasts.direction / D, contrasts.common_precision

    def together(of_contrasts: Floats) -> Floats:
        """The most that a report changes sums over cells by, per slot, and no two cells alike."""
        return np.array(
            [
                question.total_influence(of_contrasts[:, s, None] * by_counts[:, s])
                for s in range(slots)
            ]
        )

    of_noise = gamma * together(np.abs(a_D))
    b_D = contrasts.size * shift.derivative / D
    most = b_D * of_one + np.abs(b_D * contrasts.direction) * of_noise
    C = smooth(
        question.partition, prior_variances(question.partition)[0], shift.J, most[None]
    ).means[0]
    for each in (shift.by_slope, shift.by_noise):
        C = C + np.abs(each) * (np.abs(each) * most).sum(axis=1, keepdims=True)
    deviation = np.sqrt(shift.variance)
    for g in np.flatnonzero((weights > 1e-3).any(axis=1)):
        joint = together(deviation[g] * b_D[g])
        joint = joint + (deviation[g] * np.abs(b_D[g] * contrasts.direction)).sum(axis=0) * of_noise
        C[g] = np.minimum(C[g], deviation[g] * joint)
    within = _mixed(weights, shift.derivative * C)
    by_R = contrasts.size * shift.shares / D
    by_R = by_R + gamma * a_D * (contrasts.direction * by_R).sum(axis=1, keepdims=True)
    apart_p, apart_R = (
        np.sqrt(_mixed(weights, (each - _mixed(weights, each)) ** 2))
        for each in (shift.shares, by_R)
    )
    return np.asarray(within + apart_p * together(apart_R))


def _mixed(weights: Floats, values: Floats) -> Floats:
    """The mean over the priors of ``GRID``."""
    return np.asarray(np.einsum("gs,gks->ks", weights, values))
