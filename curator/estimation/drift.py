"""The default estimator: a public model with a private correction per cell.

The public model f_Q predicts; reports only show how the holders differ from it. In cell
l the expected shares are q_l, f_Q's mean there, and the true ones

    p_l = q_l + a_l theta_l,    a_l = 4 q_l (1 - q_l) for classes, 1 for a numeric label.

For classes 4 theta is a shift of log-odds to first order: a rare class that becomes twice as common
is the same shift everywhere, and cells where f_Q is certain change on strong evidence only. Reports
enter as contrasts against q_l (``contrasts``), which do not depend on the cells' masses. theta has
the prior N(0, s^2) on each leaf of a pruning; it is averaged over prunings (``tree_averaging``) and
over the widths s of ``WIDTHS``, the first of which is "no drift", by evidence.

For classes there is an alternative ("rival") to f_Q: the cells' values by ``averaged``, from public
counts and reports. With the log odds r of the rival against f_Q by the reports, its weight is
max(0, tanh(r / 2)). The prediction is f_Q(x) + a_l theta_l at a record x of cell l.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from privet.curator.estimation.averaged import posterior_of_counts
from privet.curator.estimation.contrasts import Contrasts, cell_masses
from privet.curator.estimation.counts import Label, QuestionCounts, public_counts
from privet.curator.estimation.estimator import Estimator, Parameter
from privet.curator.estimation.model import Model, to_model
from privet.curator.estimation.tree_averaging import SPLIT, Posterior, average, blend, mix
from privet.curator.public_data import Floats, PublicData
from privet.curator.public_model.base import BaseModel
from privet.curator.public_model.knowledge import public_knowledge
from privet.protocol.features import Classes, Range

WIDTHS = {0.003: 0.9, 0.03: 0.06, 0.1: 0.025, 0.2: 0.01, 0.4: 0.004, 0.8: 0.001}
"""Prior deviations s of theta and their probabilities. Nine tenths on no drift: with equal
probabilities noise moved predictions on the diabetes set (docs/accuracy.md, "What was tried")."""
INTERVAL_WIDTHS = {0.003: 0.0, 0.03: 0.0, 0.1: 0.3, 0.2: 0.4, 0.4: 0.3, 0.8: 0.0}
"""The same for errors and intervals, without "no drift", which would state a certainty that f_Q
does not have. Set by hand so that they cover (``python -m scripts.reproduce.coverage``)."""
CENTRED_INTERVAL_WIDTHS = {0.003: 0.0, 0.03: 0.2, 0.1: 0.3, 0.2: 0.3, 0.4: 0.2, 0.8: 0.0}
"""The same for numbers around centres, from which most cells differ by less; see there."""
LEAST_SCALE = 0.01
"""Least a, that of q = .0025, so that theta is defined where f_Q excludes a class; such a class
moves slowly. Set by hand."""


def fit_drift(
    label: Label,
    public: PublicData,
    questions: Sequence[QuestionCounts],
    *,
    split: float,
    plain: bool,
    base: BaseModel | None = None,
) -> Model:
    """f_Q plus an averaged correction per cell; with ``plain`` a tree that needs no f_Q.

    ``base`` is f_Q; without it, the stacked public model of the public records.
    """
    (question,) = questions
    slots = label.slots if isinstance(label, Classes) else 0
    known = public_knowledge(public.X, public.y, slots, base)
    means, points = known.cell_means(question.partition)
    q = expected_shares(label, means, question)
    mass = cell_masses(question, q, points, len(public))
    contrasts = Contrasts(question, q, mass, scales(label, q))
    posterior, variance = posterior_of_theta(label, public, contrasts, split)
    return to_model(
        label,
        question,
        contrasts.estimates(posterior, variance),
        base=None if plain else known.model,
        base_values=None if plain else expected_values(label, means, question, q),
    )


def expected_shares(label: Label, means: Floats, question: QuestionCounts) -> Floats:
    """q: the public model's cell means as shares of slots, ``(cells, slots)``."""
    if isinstance(label, Range):
        t = question.scale_of(label).to_unit(np.arange(len(means)), means[:, 0])
        return np.stack([1.0 - t, t], axis=1)
    return np.asarray(means / means.sum(axis=1, keepdims=True))


def expected_values(label: Label, means: Floats, question: QuestionCounts, q: Floats) -> Floats:
    """The values of shares ``q``; a cell's value minus this is its correction.

    For a mean outside its cell's scale it is the nearer end of the scale.
    """
    return question.scale_of(label).from_unit(q[:, 1:]) if isinstance(label, Range) else means


def scales(label: Label, q: Floats) -> Floats:
    """a, ``(cells, slots)``."""
    if isinstance(label, Range):
        return np.ones_like(q)
    return np.maximum(4.0 * q * (1.0 - q), LEAST_SCALE)


def posterior_of_theta(
    label: Label, public: PublicData, contrasts: Contrasts, split: float
) -> tuple[Posterior, Floats]:
    """The posterior of theta, and the variance for errors and intervals, ``(cells, slots)``.

    That is the mean squared error of the posterior's mean under the prior ``INTERVAL_WIDTHS``:
    where reports carry little information an estimate stays with the public model, and its
    interval is wide.
    """
    tree, information = contrasts.tree, contrasts.information()
    posteriors = [average(tree, information, width, split) for width in WIDTHS]
    for_intervals = CENTRED_INTERVAL_WIDTHS if contrasts.question.centred else INTERVAL_WIDTHS
    found, wide = (mixed_by(posteriors, prior) for prior in (WIDTHS, for_intervals))
    if isinstance(label, Classes):
        rival = rival_of_theta(contrasts, public_counts(label, public, tree), split)
        weight = weight_of_rival(rival.log_evidence - found.log_evidence)
        steeper = excess_slope(contrasts, found, rival)
        found, wide = (blend([p, rival], [1.0 - weight, weight]) for p in (found, wide))
        found = replace(found, between=found.between + steeper)
    return found, wide.variance + (wide.mean - found.mean) ** 2


def mixed_by(posteriors: Sequence[Posterior], prior: Mapping[float, float]) -> Posterior:
    """One posterior per width of ``prior``, mixed by its probabilities and their evidence."""
    with np.errstate(divide="ignore"):
        return mix(posteriors, np.log(list(prior.values())))


def rival_of_theta(contrasts: Contrasts, known: Floats, split: float) -> Posterior:
    """The posterior of ``averaged``, g = p - 1/S, in units of theta = (p - q) / a."""
    a, q = contrasts.scale, contrasts.q
    of_g = posterior_of_counts(replace(contrasts, scale=np.ones_like(a)), known, split)
    return replace(
        of_g,
        mean=(of_g.mean + 1.0 / q.shape[1] - q) / a,
        variance=of_g.variance / a**2,
        between=of_g.between / a**2,
        influence=of_g.influence / a,
    )


def weight_of_rival(log_odds: float) -> float:
    """max(0, tanh(r / 2)) for the log odds r of the rival.

    The probability 1 / (1 + e^-r), rescaled so that reports that favour neither, as when there are
    none, leave f_Q as it is.
    """
    return max(0.0, float(np.tanh(log_odds / 2.0)))


def excess_slope(contrasts: Contrasts, found: Posterior, rival: Posterior) -> Floats:
    """Excess of a report's influence through the rival's weight over a mixture's, as a variance.

    A weight d that is a posterior probability has the slope d (1 - d) by the log odds, which the
    variance between both posteriors stands for. ``weight_of_rival`` has (1 - d^2) / 2, so
    (1 - d)^2 / 2 is missing, where one report can lift the odds above even.
    """
    apart = rival.mean - found.mean
    log_odds = rival.log_evidence - found.log_evidence
    if log_odds + contrasts.total_influence(np.abs(apart)) <= 0.0:
        return np.zeros_like(apart)
    return np.asarray(0.5 * (1.0 - weight_of_rival(log_odds)) ** 2 * apart**2)


DRIFT = Estimator(
    "drift",
    "Public model plus a private correction, averaged over prunings; the default.",
    fit_drift,
    {
        "split": SPLIT,
        "plain": Parameter(False, "Give a tree that predicts without the public model."),
    },
    takes_base=True,
)
