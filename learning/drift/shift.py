"""The shift of the holders' shares from expected ones: a Gaussian process on the tree.

**Average.** The shares of the posterior are the mean over the priors of (1) at each one's mode. All
priors start from the expected shares of cells, and any cell and class may move by itself. Where
public records are right but for how many there are of each class, as where they are enriched, few
numbers say all: those of ``label_shift``. With the evidence of this member and of the posterior for
all slots, of which S - 1 are free,

    B = log evidence of the member - (S - 1) / S * sum over slots of log evidence,             (13)

at even odds the member's probability is sigma(B). Its part of the average is what reports added to
its prior probability, of what they could add:

    part = max(2 sigma(B) - 1, 0) = max(tanh(B / 2), 0),                                       (14)

so that the public model is followed until reports speak against it.

**Rounds.** Contrasts are looked at in two rounds: the first has r = q, the expected shares, the
second the first one's result, so that p = r in the sampling variance of (3), and in the masses.

**Within a cell** expected shares q(x) differ, too. To first order around q, (1) and (2) make of it

    p(x) = p + k (q(x) - q),    k = (1 + (1 - part) slope) p (1 - p) / (q (1 - q)),            (15)

with the part of (14), and for numbers k = 1 + slope; it is kept within 0 and 1. Where the curator
states the classes' prevalence, (1) starts from q as such holders would have it, and (15) from the
public model's own q.

**Intervals** are those of the reports only: what holds for every shift cannot lean on a prior.
"""

from dataclasses import dataclass

import numpy as np

from privet.protocol.partition import Partition

from ..core.counts import QuestionCounts
from ..core.model import SlotEstimates
from ..core.public_data import Floats
from ..core.ratio import fieller_interval, project_on_simplex
from .label_shift import LabelShift, label_shift
from .likelihood import Contrasts, cell_masses, contrasts_of, overall_of
from .posterior import Posterior, shift_posterior
from .prior import Expected, Prior
from .waves import History, passed_on

ROUNDS = 2
"""The second has references near the truth, so what is left of errors in masses is second order."""


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


def averaged(
    question: QuestionCounts,
    expected: Expected,
    alone: QuestionCounts | None = None,
    history: History | None = None,
) -> tuple[Contrasts, Average]:
    """The contrasts of the last round, and the model average.

    ``alone`` is the question about the label alone, where some holders answered it; ``history``
    what earlier waves of a panel say.
    """
    prior, shares = Prior.default(numeric=expected.numeric), expected.q
    for left in reversed(range(ROUNDS)):
        masses = cell_masses(question, shares, expected)
        overall = overall_of(alone, question, shares, masses)
        contrasts = contrasts_of(question, shares, masses.mean, overall, masses.known)
        before = None if left else history  # references need not lean on it, and it takes time
        average = average_posterior(question.partition, contrasts, expected, prior, before)
        shares = average.shares
    return contrasts, average


def estimate_shift(
    question: QuestionCounts,
    expected: Expected,
    alone: QuestionCounts | None = None,
    history: History | None = None,
) -> SlotEstimates:
    """The holders' shares: the model average, and for the true ones the reports' 95 % intervals;
    arguments as of ``averaged``."""
    _, average = averaged(question, expected, alone, history)
    shares, posterior = average.shares, average.posterior
    holders = question.plausible.sum(axis=1, keepdims=True)
    low, high = fieller_interval(question.counts, question.noise, holders, question.factor)
    unmoved = posterior.mean(posterior.variance / np.maximum(posterior.prior_variance, 1e-12))
    if average.label is not None:
        unmoved = unmoved + average.moved * (average.label.unmoved - unmoved)
    q, link = expected.of_public, np.ones_like(shares)
    if not expected.numeric:
        link = shares * (1.0 - shares) / (q * (1.0 - q))
    slope = (posterior.weights * posterior.slope).sum(axis=0)
    return SlotEstimates(
        shares=shares,
        standard_error=(high - low) / (2.0 * question.factor),
        low=low,
        high=high,
        public_share=np.clip(unmoved.mean(axis=1), 0.0, 1.0),
        base_slope=np.clip((1.0 + (1.0 - average.moved) * slope) * link, 0.0, 1.0),
    )


def history_with(
    history: History | None,
    question: QuestionCounts,
    expected: Expected,
    alone: QuestionCounts | None = None,
) -> History:
    """The history for the next wave: ``history`` and one more wave."""
    contrasts, average = averaged(question, expected, alone, history)
    theta, weights = average.posterior.theta, average.posterior.weights
    return passed_on(history, contrasts, average.shares, theta, weights, expected)
