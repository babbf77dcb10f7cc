"""theta after the reports: normal under each prior of the mixture, which evidence weighs.

With (2) linearised at theta, b = n w p', e = R - n w (p - r) + b theta and D as in ``likelihood``,
contrasts are e = b theta + noise. The tree alone has then the likelihood of ``tree_smoothing``,
J = b^2 / D and H = b e / D, the posterior covariance C and the mean C H. Two updates follow.

*Slope.* theta gains slope * z. With y = z - C J z, the part of z that the tree does not follow, the
slope has the information J_z = z' J y and H_z = y' H, the posterior variance
v = b^2 / (1 + b^2 J_z) and the mean v H_z; C gains v y y'.

*Noise between cells.* Its precision gamma D^-1 a a' D^-1 is that of one more observation, of u'
theta with u = a b / D, whose value is h = a' D^-1 e. With r = u' C u and the gain
g = gamma / (1 + gamma r), the mean gains g C u (h - u' mean), and C loses g C u u' C.
"""

from dataclasses import dataclass, replace

import numpy as np

from privet.protocol.partition import Partition

from ..public_data import Floats
from .likelihood import Contrasts
from .prior import Expected, Prior
from .tree_smoothing import Smoothed, smooth

NEWTON_STEPS = 12
"""More than are needed: steps stop once they are below ``CONVERGED``."""
LONGEST_STEP = 1.5
"""In log-odds, so that linearising at a rare share does not overshoot."""
CONVERGED = 1e-3
"""In log-odds: a fortieth of a point of probability."""


@dataclass(frozen=True, eq=False)
class Posterior:
    """theta after the data under each prior of the mixture, arrays ``(priors, cells, slots)``.

    ``shares`` are p at the mode ``theta`` and ``derivative`` theirs; ``prior_variance`` and
    ``variance`` are theta's before and after; ``log_evidence``, and ``weights``, the priors'
    posterior probabilities, have shape ``(priors, slots)``, as has ``slope``, the slope's mean.
    The posterior covariance is that of the tree with steps of variance ``steps`` and information
    ``J``, plus a vector times itself for the slope, less one for the noise between cells:
    ``by_slope``, ``by_noise``.
    """

    theta: Floats
    shares: Floats
    derivative: Floats
    prior_variance: Floats
    variance: Floats
    log_evidence: Floats
    weights: Floats
    steps: Floats
    J: Floats
    by_slope: Floats
    by_noise: Floats
    slope: Floats

    def mean(self, values: Floats) -> Floats:
        """The mean of ``values``, ``(priors, cells, slots)``, over the priors."""
        return np.asarray(np.einsum("gs,gks->ks", self.weights, values))

    def deviation(self, values: Floats) -> Floats:
        """The standard deviation of ``values`` between the priors, ``(cells, slots)``."""
        return np.sqrt(self.mean((values - self.mean(values)) ** 2))


def shift_posterior(
    tree: Partition, contrasts: Contrasts, expected: Expected, prior: Prior
) -> Posterior:
    """theta under each prior, and how well each prior predicts the contrasts."""
    steps, slope_variance = prior.variances(tree)
    z = expected.slope - np.average(expected.slope, axis=0, weights=contrasts.size[:, 0] + 1e-9)
    theta = np.zeros((len(steps), *expected.q.shape))
    for _ in range(NEWTON_STEPS):
        normal = _linearised(tree, contrasts, expected, theta, z, steps, slope_variance)
        step = np.clip(normal.theta - theta, -LONGEST_STEP, LONGEST_STEP)
        theta = theta + step
        if np.abs(step).max() < CONVERGED:
            break
    shares, derivative = expected.shares(theta)
    return replace(
        normal,
        theta=theta,
        shares=shares,
        derivative=derivative,
        weights=_weights(prior.probabilities, normal.log_evidence),
    )


def _linearised(
    tree: Partition,
    contrasts: Contrasts,
    expected: Expected,
    theta: Floats,
    z: Floats,
    steps: Floats,
    slope_variance: Floats,
) -> Posterior:
    """The posterior with (2) linearised at ``theta``; its ``weights`` are not yet known."""
    R, D, a, size = contrasts.values, contrasts.variance, contrasts.direction, contrasts.size
    p, derivative = expected.shares(theta)
    b = size * derivative
    e = R - size * (p - contrasts.reference) + b * theta
    u, h, gamma = a * b / D, (a * e / D).sum(axis=1), contrasts.common_precision
    J, H = b**2 / D, b * e / D
    smoothed = smooth(tree, steps, J, np.stack([H, J * z, u]))
    normal = _Normal(smoothed, 0.5 * (e**2 / D).sum(axis=1), gamma * h**2)
    by_slope = normal.integrate_slope(z, J, H, u, slope_variance)
    by_noise = normal.observe(u, h, gamma)
    return Posterior(
        theta=normal.mean,
        shares=p,
        derivative=derivative,
        prior_variance=_sums_down(tree, steps) + slope_variance[:, :, None] * z**2,
        variance=np.maximum(normal.variance, 0.0),
        log_evidence=normal.log_evidence,
        weights=np.empty(0),
        steps=steps,
        J=J,
        by_slope=by_slope,
        by_noise=by_noise,
        slope=normal.slope,
    )


class _Normal:
    """A normal posterior in the making: the tree's, and then its two updates of rank one."""

    def __init__(self, smoothed: Smoothed, misfit: Floats, common: Floats) -> None:
        self.mean, self.of_slope, self.of_common = smoothed.means  # C H, C J z and C u
        self.variance = smoothed.variance
        self.log_evidence = smoothed.log_evidence - misfit - 0.5 * common

    def integrate_slope(
        self, z: Floats, J: Floats, H: Floats, u: Floats, prior_variance: Floats
    ) -> Floats:
        """Let theta vary along z; returns the square root of what C gains."""
        y = z - self.of_slope
        J_z, H_z = (z * J * y).sum(axis=1), (y * H).sum(axis=1)
        v = prior_variance / (1.0 + prior_variance * J_z)
        self.slope = v * H_z
        self.mean = self.mean + y * self.slope[:, None]
        self.variance = self.variance + y**2 * v[:, None]
        self.log_evidence += 0.5 * (v * H_z**2 - np.log1p(prior_variance * J_z))
        self.slope_with_common = v * (y * u).sum(axis=1)
        self.of_common = self.of_common + y * self.slope_with_common[:, None]
        return np.asarray(y * np.sqrt(v)[:, None])

    def observe(self, u: Floats, h: Floats, gamma: Floats) -> Floats:
        """Observe u' theta as ``h`` with precision ``gamma``; returns the root of what C loses."""
        Cu = self.of_common
        r, expected_h = (u * Cu).sum(axis=1), (u * self.mean).sum(axis=1)
        gain = gamma / (1.0 + gamma * r)
        self.mean = self.mean + Cu * (gain * (h - expected_h))[:, None]
        self.slope = self.slope + self.slope_with_common * gain * (h - expected_h)
        self.variance = self.variance - Cu**2 * gain[:, None]
        self.log_evidence -= 0.5 * np.log1p(gamma * r)
        self.log_evidence += 0.5 * gain * (gamma * r * h**2 + 2.0 * h * expected_h - expected_h**2)
        return np.asarray(Cu * np.sqrt(gain)[:, None])


def _sums_down(tree: Partition, steps: Floats) -> Floats:
    """Sums of ``steps`` from the root to each cell, ``(priors, cells, 1)``."""
    total = steps.copy()
    for nodes in tree.levels[1:]:
        total[:, nodes] += total[:, tree.parent[nodes]]
    return total[:, tree.leaves, None]


def _weights(prior: Floats, log_evidence: Floats) -> Floats:
    """Posterior probabilities of the priors for each slot, ``(priors, slots)``."""
    with np.errstate(divide="ignore"):
        odds = np.log(prior)[:, None] + log_evidence
    weights = np.exp(odds - odds.max(axis=0))
    return np.asarray(weights / weights.sum(axis=0))
