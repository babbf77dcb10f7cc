"""The model average: posteriors with the public model's shape, and two further members.

All priors of ``posterior`` start from the expected shares of cells, and any cell and class may move
by itself. Where public labels say nothing expected shares are noise, which a few reports shift but
do not flatten. So one more member takes all cells to be alike, with their mean expected share, and
the reports alone on the tree make them differ. Where public records are right but for how many
there are of each class, as where they are enriched, few numbers say all: that is the other one
(``label_shift``). With the evidence of a member and of the posterior for all slots, of which S - 1
are free,

    B = log evidence of the member - (S - 1) / S * sum over slots of log evidence,

at even odds the member's probability is sigma(B). Its part of the average is what reports added to
its prior probability, of what they could add:

    part = max(2 sigma(B) - 1, 0) = max(tanh(B / 2), 0),

so that the public model is followed until reports speak against it. The label shift has its part
beside the posterior; the member without shape has its part of all, with B against the better of the
two. Both are of classes only: numbers around centres have expected means that are far apart, and
their reports show only what is near.
"""

from dataclasses import dataclass, replace

import numpy as np

from privet.protocol.partition import Partition

from ..core.public_data import Floats
from ..core.ratio import project_on_simplex
from .label_shift import LabelShift, label_shift
from .likelihood import Contrasts
from .posterior import Posterior, shift_posterior
from .prior import Expected, Prior
from .waves import History


@dataclass(frozen=True, eq=False)
class Average:
    """The mean ``shares``, ``(cells, slots)``, on the simplex, and the members behind them.

    ``label`` and ``shapeless`` are None where these members have no part; ``label_odds`` and
    ``log_odds`` are their B, ``moved`` and ``flat`` their parts.
    """

    shares: Floats
    shaped: Posterior
    shapeless: Posterior | None
    log_odds: float
    label: LabelShift | None
    label_odds: float

    @property
    def flat(self) -> float:
        return _part(self.log_odds)

    @property
    def moved(self) -> float:
        return _part(self.label_odds)


def _part(log_odds: float) -> float:
    return max(float(np.tanh(log_odds / 2.0)), 0.0)


def average_posterior(
    tree: Partition,
    contrasts: Contrasts,
    expected: Expected,
    prior: Prior,
    history: History | None = None,
) -> Average:
    """The average of all members; arguments as of ``shift_posterior``.

    A label shift knows nothing of earlier waves; of the others the evidence is that after these.
    """
    shaped = shift_posterior(tree, contrasts, expected, prior, history)
    shares = _shares(shaped, expected)
    average = Average(shares, shaped, None, 0.0, None, 0.0)
    free = (shares.shape[1] - 1) / shares.shape[1]
    of_shaped = free * float(shaped.total_evidence.sum())
    if prior.label_shift:
        label = label_shift(contrasts, expected)
        average = replace(average, label=label, label_odds=label.log_evidence - of_shaped)
        shares = shares + average.moved * (label.shares - shares)
    if prior.shapeless is not None:
        alike = expected.without_shape(contrasts.size[:, 0] + 1e-9)
        shapeless = shift_posterior(tree, contrasts, alike, Prior((prior.shapeless,), 1.0), history)
        of_shapeless = free * float(shapeless.total_evidence.sum())
        log_odds = of_shapeless - of_shaped - max(average.label_odds, 0.0)
        average = replace(average, shapeless=shapeless, log_odds=log_odds)
        of_reports = _shares(shapeless, expected)
        shares = shares + average.flat * (of_reports - shares)
    return replace(average, shares=shares)


def _shares(posterior: Posterior, expected: Expected) -> Floats:
    """The mean over the priors of their shares at the mode, ``(cells, slots)``, on the simplex."""
    shares = posterior.mean(posterior.shares)
    if expected.numeric:  # not between 0 and 1 by themselves
        return project_on_simplex(shares)
    return np.asarray(shares / shares.sum(axis=1, keepdims=True))
