"""The holders' shares: two rounds of contrasts and posterior, and what is stated of the result."""

import numpy as np

from ..counts import QuestionCounts
from ..model import SlotEstimates
from ..public_data import Floats
from ..ratio import fieller_interval, project_on_simplex
from .influence import influence
from .likelihood import cell_masses, contrasts_of
from .posterior import Posterior, shift_posterior
from .prior import Expected, Prior

ROUNDS = 2
"""The second has references near the truth, so what is left of errors in masses is second order."""


def estimate_shift(
    question: QuestionCounts,
    expected: Expected,
    prior: Prior | None = None,
    rounds: int = ROUNDS,
) -> SlotEstimates:
    """The holders' shares: posterior means, and for the true shares the reports' 95 % intervals."""
    prior = Prior.default(numeric=expected.numeric) if prior is None else prior
    shares = expected.q
    for _ in range(rounds):
        contrasts = contrasts_of(question, shares, cell_masses(question, shares, expected))
        posterior = shift_posterior(question.partition, contrasts, expected, prior)
        shares = mean_shares(posterior, numeric=expected.numeric)
    holders = question.plausible.sum(axis=1, keepdims=True)
    low, high = fieller_interval(question.counts, question.noise, holders, question.factor)
    unmoved = posterior.variance / np.maximum(posterior.prior_variance, 1e-12)
    return SlotEstimates(
        shares=shares,
        standard_error=(high - low) / (2.0 * question.factor),
        low=low,
        high=high,
        public_share=np.clip(posterior.mean(unmoved).mean(axis=1), 0.0, 1.0),
        influence=np.minimum(influence(question, contrasts, posterior), 1.0),
        base_slope=slope_within(
            expected, shares, (posterior.weights * posterior.slope).sum(axis=0)
        ),
    )


def mean_shares(posterior: Posterior, *, numeric: bool) -> Floats:
    """Posterior mean shares, ``(cells, slots)``, on the simplex."""
    shares = posterior.mean(posterior.shares)
    if numeric:  # not between 0 and 1 by themselves
        return project_on_simplex(shares)
    return np.asarray(shares / shares.sum(axis=1, keepdims=True))


def slope_within(expected: Expected, shares: Floats, slope: Floats) -> Floats:
    """The factor of (4), ``(cells, slots)``, for posterior mean ``shares`` and ``slope``."""
    q, link = expected.q, np.ones_like(shares)
    if not expected.numeric:
        link = shares * (1.0 - shares) / (q * (1.0 - q))
    return np.asarray(np.clip((1.0 + slope) * link, 0.0, 1.0))
