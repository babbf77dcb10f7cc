"""The shift of the holders' shares from expected ones: a Gaussian process on the tree.

**Contrasts** (``likelihood``). Of n holders whose record fits, a part w is in a cell, and a part p
of these in a slot. From the debiased counts V per slot and their sum U, and for any reference
shares r,

    R = V - r U,    E R = n w (p - r),
    Cov R = noise of R + n w [diag(p) - p r' - r p' + r r'].                                    (1)

A wrong mass w therefore scales a difference and makes none. Slots are looked at one by one, so only
the diagonal is used, n w [p (1 - 2 r) + r^2]. Two rounds: the first has r = q, the expected shares,
the second the first one's result, so that p = r in the sampling variance n w r (1 - r), and in the
masses.

**Shift** (``prior``). For classes theta is a shift of log-odds, for numbers a twelfth of a scale's
width:

    p = q e^theta / (1 - q + q e^theta),    or    p = q + theta / 12,                           (2)
    theta = slope * z + tree,    slope ~ N(0, b^2),    tree as in ``tree_smoothing``.           (3)

z is logit q (for numbers 12 (mean - average) / width) less its mean. The unit of theta is half a
standard deviation of the label in both: at q = 1/2 one is 1/2 and p' = 1/4, and a scale around a
centre is six of them wide. The root's step moves all cells, the slope makes expected shares
flatter, steeper or reversed, and the further steps of a path have equal variances. b is such that
slope * z deviates as far as a root's step may: cells that the public model tells well apart are
not likely to be known apart much worse. The deviations (root, slope, path) are integrated over
``prior.GRID``, weighted by evidence.

**Within a cell** expected shares q(x) differ too. To first order around q, (2) and (3) make of it

    p(x) = p + p (1 - p) / (q (1 - q)) (1 + slope) (q(x) - q),                                  (4)

and for numbers p + (1 + slope) (q(x) - q). The factor is kept within 0 and 1. Where the curator
states the classes' prevalence, (2) starts from q as such holders would have it, and (4) from the
public model's own q.

**Noise between cells.** Counts and misfits of ``subset`` and ``grr`` add up to the reports, so
counts of different cells have the covariance -c. Contrasts of one slot have then -c a a',
a = 1 - S r, off the diagonal: with D the diagonal plus c a^2 their precision is
D^-1 + gamma D^-1 a a' D^-1, one rank more.

**Posterior** (``posterior``). (2) is linearised at the current theta until that stays (Gauss and
Newton); then all is normal, and linear in the cells, but for the two additions of rank one. Each
slot has deviations and evidence of its own, so that one class may move alone; two slots mirror each
other. The share is the mean over the priors of (2) at each one's mode.

**Average** (``average``). For classes there is one more member, in which only their odds have
moved, alike in all cells.

**Intervals** are those of the reports only: what holds for every shift cannot lean on a prior.
"""

import numpy as np

from ..core.counts import QuestionCounts
from ..core.model import SlotEstimates
from ..core.public_data import Floats
from ..core.ratio import fieller_interval
from .average import Average, average_posterior
from .likelihood import Contrasts, cell_masses, contrasts_of, overall_of
from .prior import Expected, Prior
from .waves import History, passed_on

ROUNDS = 2
"""The second has references near the truth, so what is left of errors in masses is second order."""


def estimate_shift(
    question: QuestionCounts,
    expected: Expected,
    prior: Prior | None = None,
    rounds: int = ROUNDS,
    alone: QuestionCounts | None = None,
    history: History | None = None,
) -> SlotEstimates:
    """The holders' shares: the model average, and for the true ones the reports' 95 % intervals.

    ``alone`` is the question about the label alone, where some holders answered it; ``history``
    what earlier waves of a panel say.
    """
    _, average = averaged(question, expected, prior, rounds, alone, history)
    shares = average.shares
    holders = question.plausible.sum(axis=1, keepdims=True)
    low, high = fieller_interval(question.counts, question.noise, holders, question.factor)
    unmoved = average.posterior.unmoved
    if average.label is not None:
        unmoved = unmoved + average.moved * (average.label.unmoved - unmoved)
    return SlotEstimates(
        shares=shares,
        standard_error=(high - low) / (2.0 * question.factor),
        low=low,
        high=high,
        public_share=np.clip(unmoved.mean(axis=1), 0.0, 1.0),
        base_slope=slope_within(expected, average),
    )


def shift_shares(question: QuestionCounts, expected: Expected) -> Floats:
    """Only the shares of the model average, ``(cells, slots)``."""
    return averaged(question, expected)[1].shares


def history_with(
    history: History | None,
    question: QuestionCounts,
    expected: Expected,
    alone: QuestionCounts | None = None,
) -> History:
    """The history for the next wave: ``history`` and one more wave."""
    contrasts, average = averaged(question, expected, alone=alone, history=history)
    theta, weights = average.posterior.theta, average.posterior.weights
    return passed_on(history, contrasts, average.shares, theta, weights, expected)


def averaged(
    question: QuestionCounts,
    expected: Expected,
    prior: Prior | None = None,
    rounds: int = ROUNDS,
    alone: QuestionCounts | None = None,
    history: History | None = None,
) -> tuple[Contrasts, Average]:
    """The contrasts, and the model average; arguments as of ``estimate_shift``."""
    prior = Prior.default(numeric=expected.numeric) if prior is None else prior
    shares = expected.q
    for left in reversed(range(rounds)):
        masses = cell_masses(question, shares, expected)
        overall = overall_of(alone, question, shares, masses)
        contrasts = contrasts_of(question, shares, masses.mean, overall, masses.known)
        before = None if left else history  # references need not lean on it, and it takes time
        average = average_posterior(question.partition, contrasts, expected, prior, before)
        shares = average.shares
    return contrasts, average


def slope_within(expected: Expected, average: Average) -> Floats:
    """The factor of (4), ``(cells, slots)``."""
    q, shares, link = expected.of_public, average.shares, np.ones_like(expected.q)
    if not expected.numeric:
        link = shares * (1.0 - shares) / (q * (1.0 - q))
    found = (average.posterior.weights * average.posterior.slope).sum(axis=0)
    slope = 1.0 + (1.0 - average.moved) * found
    return np.asarray(np.clip(slope * link, 0.0, 1.0))
