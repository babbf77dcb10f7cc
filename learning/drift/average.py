"""The model average: the posterior, and for classes a member in which only their odds have moved.

The shares of the posterior are the mean over the priors of (1) at each one's mode. All priors start
from the expected shares of cells, and any cell and class may move by itself. Where public records
are right but for how many there are of each class, as where they are enriched, few numbers say all:
those of ``label_shift``. With the evidence of this member and of the posterior for all slots, of
which S - 1 are free,

    B = log evidence of the member - (S - 1) / S * sum over slots of log evidence,             (13)

at even odds the member's probability is sigma(B). Its part of the average is what reports added to
its prior probability, of what they could add:

    part = max(2 sigma(B) - 1, 0) = max(tanh(B / 2), 0),                                       (14)

so that the public model is followed until reports speak against it.
"""

from dataclasses import dataclass

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

    ``label`` is the other member, of classes alone, and ``moved`` its part, at least 0 and below 1.
    """

    shares: Floats
    posterior: Posterior
    label: LabelShift | None = None
    moved: float = 0.0


def average_posterior(
    tree: Partition,
    contrasts: Contrasts,
    expected: Expected,
    prior: Prior,
    history: History | None = None,
) -> Average:
    """The average of both; arguments as of ``shift_posterior``.

    A label shift knows nothing of earlier waves; the posterior's evidence is that after these.
    """
    posterior = shift_posterior(tree, contrasts, expected, prior, history)
    shares = posterior.mean(posterior.shares)
    if expected.numeric:  # not between 0 and 1 by themselves
        return Average(project_on_simplex(shares), posterior)
    shares = shares / shares.sum(axis=1, keepdims=True)
    label, slots = label_shift(contrasts, expected), shares.shape[1]
    of_posterior = (slots - 1) / slots * float(posterior.total_evidence.sum())
    moved = max(float(np.tanh((label.log_evidence - of_posterior) / 2.0)), 0.0)
    return Average(shares + moved * (label.shares - shares), posterior, label, moved)
