"""The holders' shares: two rounds of contrasts and average, and what is stated of the result."""

import numpy as np

from ..counts import QuestionCounts
from ..model import SlotEstimates
from ..public_data import Floats
from ..ratio import fieller_interval
from .average import Average, average_posterior
from .influence import influence
from .likelihood import Contrasts, cell_masses, contrasts_of
from .prior import Expected, Prior

ROUNDS = 2
"""The second has references near the truth, so what is left of errors in masses is second order."""


def estimate_shift(
    question: QuestionCounts,
    expected: Expected,
    prior: Prior | None = None,
    rounds: int = ROUNDS,
) -> SlotEstimates:
    """The holders' shares: the model average, and for the true ones the reports' 95 % intervals."""
    contrasts, average = _averaged(question, expected, prior, rounds)
    shares = average.shares
    posterior = average.shaped
    holders = question.plausible.sum(axis=1, keepdims=True)
    low, high = fieller_interval(question.counts, question.noise, holders, question.factor)
    unmoved = posterior.variance / np.maximum(posterior.prior_variance, 1e-12)
    return SlotEstimates(
        shares=shares,
        standard_error=(high - low) / (2.0 * question.factor),
        low=low,
        high=high,
        public_share=np.clip(posterior.mean(unmoved).mean(axis=1), 0.0, 1.0) * (1.0 - average.flat),
        influence=np.minimum(influence(question, contrasts, average), 1.0),
        base_slope=slope_within(expected, average),
    )


def shift_shares(question: QuestionCounts, expected: Expected) -> Floats:
    """The model average's shares alone, ``(cells, slots)``."""
    return _averaged(question, expected, None, ROUNDS)[1].shares


def _averaged(
    question: QuestionCounts, expected: Expected, prior: Prior | None, rounds: int
) -> tuple[Contrasts, Average]:
    prior = Prior.default(numeric=expected.numeric) if prior is None else prior
    shares = expected.q
    for _ in range(rounds):
        contrasts = contrasts_of(question, shares, cell_masses(question, shares, expected))
        average = average_posterior(question.partition, contrasts, expected, prior)
        shares = average.shares
    return contrasts, average


def slope_within(expected: Expected, average: Average) -> Floats:
    """The factor of (4), ``(cells, slots)``, which is 0 without the public model's shape."""
    q, shares, link = expected.q, average.shares, np.ones_like(expected.q)
    if not expected.numeric:
        link = shares * (1.0 - shares) / (q * (1.0 - q))
    slope = 1.0 + (average.shaped.weights * average.shaped.slope).sum(axis=0)
    return np.asarray(np.clip((1.0 - average.flat) * slope * link, 0.0, 1.0))
