"""theta after the reports: normal under each prior of the mixture, which evidence weighs.

Each slot has deviations and evidence of its own, so that one class may move alone; of two slots
each mirrors the other. With (1) linearised at theta, b = n w p' and D the variances of (4), the
contrasts (3) are

    e = R - n w (p - r) + b theta = b theta + noise,    J = b^2 / D,    H = b e / D.            (8)

J and H are the likelihood of ``tree_smoothing``, whose posterior covariance is C and its mean C H.
This is repeated at the new theta until that stays (Gauss and Newton). Two updates follow.

*Slope.* theta gains slope * z. With y = z - C J z, the part of z that the tree does not follow,

    J_z = z' J y,    H_z = y' H,    v = b^2 / (1 + b^2 J_z),    slope = v H_z                   (9)

are its information and its posterior variance and mean; C gains v y y'.

*Noise between cells.* The precision gamma D^-1 a a' D^-1 of (4) is that of one more observation, of
u' theta with u = a b / D, whose value is h = a' D^-1 e. With r = u' C u and the gain
g = gamma / (1 + gamma r),

    the mean gains g C u (h - u' mean), and C loses g C u u' C.                                (10)

*The label alone.* Holders asked for it give the share sum w p of all up to a variance v: one more
observation of the same form, of u' theta with u = w p' and the value
h = share - sum w p + u' theta, with precision gamma = 1 / v.

*Earlier waves.* They add v to J, and H, of the tree (``waves``), and the priors are repeated for
each sequence of steps in time. What all cells share takes off k v v': C gains
k C v v' C / (1 - k v' C v), and the same goes for all that C multiplies.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from privet.protocol.partition import Partition

from ..core.public_data import Floats
from .likelihood import Contrasts
from .prior import Expected, Prior
from .tree_smoothing import smooth
from .waves import History, Past, loosened, past_evidence

NEWTON_STEPS = 12
"""More than are needed: steps stop once they are below ``CONVERGED``."""
LONGEST_STEP = 1.5
"""Largest step in log-odds, so that linearising at a rare share does not overshoot."""
CONVERGED = 1e-3
"""Tolerance in log-odds: a fortieth of a point of probability."""


@dataclass(frozen=True, eq=False)
class Posterior:
    """theta after the data under each prior of the mixture, arrays ``(priors, cells, slots)``.

    ``shares`` are p at the mode ``theta``; ``prior_variance`` and ``variance`` are theta's before
    and after; ``log_evidence``, and ``weights``, the priors' posterior probabilities, have shape
    ``(priors, slots)``, as has ``slope``, the slope's mean; ``total_evidence``, ``(slots,)``, is
    the logarithm of the evidence of all.
    """

    theta: Floats
    shares: Floats
    prior_variance: Floats
    variance: Floats
    log_evidence: Floats
    weights: Floats
    total_evidence: Floats
    slope: Floats

    def mean(self, values: Floats) -> Floats:
        """The mean of ``values``, ``(priors, cells, slots)``, over the priors."""
        return np.asarray(np.einsum("gs,gks->ks", self.weights, values))


def shift_posterior(
    tree: Partition,
    contrasts: Contrasts,
    expected: Expected,
    prior: Prior,
    history: History | None = None,
) -> Posterior:
    """theta under each prior, and how well each prior predicts the contrasts.

    With the ``history`` of earlier waves under each prior for each step of each of its sequences.
    """
    from scipy.special import logsumexp, softmax  # slow to import

    weights = contrasts.size[:, 0] + 1e-9
    z = expected.slope - np.average(expected.slope, axis=0, weights=weights)
    steps, slope_variance = prior.variances(tree, np.average(z**2, axis=0, weights=weights))
    with np.errstate(divide="ignore"):
        log_prior = np.log(prior.probabilities)[:, None]
    past = None
    if history is not None:
        count, odds = len(steps), history.odds_arriving
        times = len(odds)
        past = history.arriving(expected).repeated(count)
        steps, slope_variance = np.tile(steps, (times, 1)), np.tile(slope_variance, (times, 1))
        every = np.tile(log_prior, (times, 1))
        alone = every + past_evidence(tree, steps, slope_variance, z, past)
        known = logsumexp(alone.reshape(times, count, -1), axis=1)
        log_prior = every + np.repeat(odds - known, count, axis=0)
    theta = np.zeros((len(steps), *expected.q.shape))
    for _ in range(NEWTON_STEPS):
        normal = _linearised(tree, contrasts, expected, theta, z, steps, slope_variance, past)
        step = np.clip(normal.theta - theta, -LONGEST_STEP, LONGEST_STEP)
        theta = theta + step
        if np.abs(step).max() < CONVERGED:
            break
    shares, _ = expected.shares(theta)
    odds = log_prior + normal.log_evidence
    return Posterior(
        theta=theta,
        shares=shares,
        prior_variance=_sums_down(tree, steps) + slope_variance[:, None] * z**2,
        variance=normal.variance,
        log_evidence=normal.log_evidence,
        weights=softmax(odds, axis=0),
        total_evidence=logsumexp(odds, axis=0),
        slope=normal.slope,
    )


class _Normal(NamedTuple):
    """The law of a linearised theta under each prior; fields as of ``Posterior``."""

    theta: Floats
    variance: Floats
    log_evidence: Floats
    slope: Floats


def _linearised(
    tree: Partition,
    contrasts: Contrasts,
    expected: Expected,
    theta: Floats,
    z: Floats,
    steps: Floats,
    slope_variance: Floats,
    past: Past | None = None,
) -> _Normal:
    """The posterior with (1) linearised at ``theta``."""
    R, D, a, size = contrasts.values, contrasts.variance, contrasts.direction, contrasts.size
    p, derivative = expected.shares(theta)
    b = size * derivative
    e = R - size * (p - contrasts.reference) + b * theta
    J, H, gamma = b**2 / D, b * e / D, contrasts.common_precision
    u, h = a * b / D, (a * e / D).sum(axis=1)
    of_all = contrasts.mass * derivative
    M_z, others = J * z, [u, of_all]
    if past is not None:
        J, H, M_z = J + past.v, H + past.H, M_z + past.times(z)
        others.append(past.v)
    smoothed = smooth(tree, steps, J, np.stack([H, M_z, *others]))
    if past is not None:
        smoothed = loosened(smoothed, past)
    mean, C_M_z, C_u, C_all = smoothed.means[:4]
    # the slope: theta varies along z
    y = z - C_M_z
    J_z, H_z = _over_cells(M_z, y), _over_cells(y, H)
    v = slope_variance / (1.0 + slope_variance * J_z)
    slope, slope_with_u = v * H_z, v * _over_cells(y, u)
    mean = mean + y * slope[:, None]
    C_u = C_u + y * slope_with_u[:, None]
    # noise between cells: u' theta is observed as h, with precision gamma
    r, expected_h = _over_cells(u, C_u), _over_cells(u, mean)
    gain = gamma / (1.0 + gamma * r)
    surprise = gain * (h - expected_h)
    log_evidence = smoothed.log_evidence - 0.5 * (e**2 / D).sum(axis=1) - 0.5 * gamma * h**2
    log_evidence += 0.5 * (v * H_z**2 - np.log1p(slope_variance * J_z) - np.log1p(gamma * r))
    log_evidence += 0.5 * gain * (gamma * r * h**2 + 2.0 * h * expected_h - expected_h**2)
    variance = smoothed.variance + y**2 * v[:, None] - C_u**2 * gain[:, None]
    mean, slope = mean + C_u * surprise[:, None], slope + slope_with_u * surprise
    # the label alone: of_all' theta is observed
    slope_with_all = v * _over_cells(y, of_all)
    u_C_all = _over_cells(C_u, of_all)
    C_all = C_all + y * slope_with_all[:, None] - C_u * (gain * u_C_all)[:, None]
    slope_with_all = slope_with_all - slope_with_u * gain * u_C_all
    gain_all, off = np.zeros_like(gain), np.zeros_like(gain)
    if contrasts.overall is not None:
        r_all = _over_cells(of_all, C_all)
        gain_all = 1.0 / (contrasts.overall.variance + r_all)
        off = contrasts.overall.share - (contrasts.mass * p).sum(axis=1)
        off = off + _over_cells(of_all, theta - mean)
        log_evidence -= 0.5 * (np.log1p(r_all / contrasts.overall.variance) + gain_all * off**2)
        variance = variance - C_all**2 * gain_all[:, None]
    return _Normal(
        theta=mean + C_all * (gain_all * off)[:, None],
        variance=np.maximum(variance, 0.0),
        log_evidence=log_evidence,
        slope=slope + slope_with_all * gain_all * off,
    )


def _over_cells(one: Floats, other: Floats) -> Floats:
    """Inner products, ``(priors, slots)``, in half the time of a product's sum."""
    return np.asarray(np.einsum("gks,gks->gs", one, other))


def _sums_down(tree: Partition, steps: Floats) -> Floats:
    """Sums of ``steps`` from the root to each cell, ``(priors, cells, 1)``."""
    total = steps.copy()
    for nodes in tree.levels[1:]:
        total[:, nodes] += total[:, tree.parent[nodes]]
    return total[:, tree.leaves, None]
