"""The model average: posteriors with the public model's shape, and one without.

All priors of ``posterior`` start from the expected shares of cells. Where public labels say nothing
these are noise, which a few reports shift but do not flatten. So one more member takes all cells to
be alike, with their mean expected share, and the reports alone on the tree make them differ. With
the evidence of both for all slots, of which S - 1 are free,

    B = (S - 1) / S * sum over slots of log(evidence without the shape / evidence with it),

at even odds its posterior probability is sigma(B). Its part of the average is what reports added to
its prior probability, of what they could add:

    flat = max(2 sigma(B) - 1, 0) = max(tanh(B / 2), 0),

so that the public model is followed until reports speak against it. Classes only: numbers around
centres have expected means that are far apart, and their reports show only what is near.
"""

from dataclasses import dataclass, replace

import numpy as np

from privet.protocol.partition import Partition

from ..core.public_data import Floats
from ..core.ratio import project_on_simplex
from .likelihood import Contrasts
from .posterior import Posterior, shift_posterior
from .prior import Expected, Prior
from .waves import History


@dataclass(frozen=True, eq=False)
class Average:
    """The mean ``shares``, ``(cells, slots)``, on the simplex, and the posteriors behind them.

    ``log_odds`` is B, and ``shapeless`` None, where the member without the public model's shape has
    no part; ``flat`` is its part.
    """

    shares: Floats
    shaped: Posterior
    shapeless: Posterior | None
    log_odds: float

    @property
    def flat(self) -> float:
        return max(float(np.tanh(self.log_odds / 2.0)), 0.0)


def average_posterior(
    tree: Partition,
    contrasts: Contrasts,
    expected: Expected,
    prior: Prior,
    history: History | None = None,
) -> Average:
    """The average of all members; arguments as of ``shift_posterior``."""
    shaped = shift_posterior(tree, contrasts, expected, prior, history)
    shares = mean_shares(shaped, numeric=expected.numeric)
    if prior.shapeless is None:
        return Average(shares, shaped, None, 0.0)
    slots = shares.shape[1]
    alike = expected.without_shape(contrasts.size[:, 0] + 1e-9)
    shapeless = shift_posterior(tree, contrasts, alike, Prior((prior.shapeless,), 1.0), history)
    gains = shapeless.total_evidence - shaped.total_evidence
    log_odds = (slots - 1) / slots * float(gains.sum())
    average = Average(shares, shaped, shapeless, log_odds)
    of_reports = mean_shares(shapeless, numeric=False)
    return replace(average, shares=shares + average.flat * (of_reports - shares))


def mean_shares(posterior: Posterior, *, numeric: bool) -> Floats:
    """The mean over the priors of their shares at the mode, ``(cells, slots)``, on the simplex."""
    shares = posterior.mean(posterior.shares)
    if numeric:  # not between 0 and 1 by themselves
        return project_on_simplex(shares)
    return np.asarray(shares / shares.sum(axis=1, keepdims=True))
