"""Public prior, private correction: the default estimator.

The stacked public model f_Q says what to expect; private reports say only how the population
differs from it. In cell l the expected shares are q_l, f_Q's mean there. The true ones are
q_l + a_l theta with a_l = 4 q_l (1 - q_l): theta is a shift of log-odds, so a rare class that
becomes twice as common is one shift everywhere, and cells where f_Q is sure are moved only by
strong evidence. (For a numeric label a_l = 1.) theta is averaged over all prunings under normal
priors of several widths, one of them "no drift at all", weighed by the evidence. For classes, one
more hypothesis is that cells are as ``averaged`` sees them, from public counts and reports alone;
it is used as far as reports favour it over f_Q. The prediction is f_Q(x) plus the correction of
x's cell.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from privet.curator.estimation.averaged import posterior_of_counts, slot_estimates
from privet.curator.estimation.cells import to_model
from privet.curator.estimation.contrasts import Contrasts
from privet.curator.estimation.counts import Label, QuestionCounts, public_counts
from privet.curator.estimation.level_contrasts import LevelContrasts, contrasts_of
from privet.curator.estimation.level_prunings import average
from privet.curator.estimation.levels import nested, reports_of
from privet.curator.estimation.model import Model
from privet.curator.estimation.prunings import Posterior, blend, mix
from privet.curator.public_data import Floats, PublicData
from privet.curator.public_model.base import BaseModel
from privet.curator.public_model.knowledge import public_knowledge
from privet.protocol.features import Classes, Range

WIDTHS = {0.003: 0.9, 0.03: 0.06, 0.1: 0.025, 0.2: 0.01, 0.4: 0.004, 0.8: 0.001}
"""Prior deviations of theta and their prior probabilities; the first is as good as no drift."""
DOUBTS = {0.003: 0.0, 0.03: 0.0, 0.1: 0.3, 0.2: 0.4, 0.4: 0.3, 0.8: 0.0}
"""The same for standard errors and intervals, which must not trust the public model blindly."""
CENTRED_DOUBTS = {0.003: 0.0, 0.03: 0.2, 0.1: 0.3, 0.2: 0.3, 0.4: 0.2, 0.8: 0.0}
"""The same for numbers told around centres, from which most cells stray by less."""
LEAST_SCALE = 0.01


def fit_drift(
    label: Label,
    public: PublicData,
    evidence: Sequence[QuestionCounts],
    *,
    split: float,
    plain: bool,
    base: BaseModel | None = None,
) -> Model:
    """f_Q plus an averaged correction per cell; with ``plain`` a tree that needs no f_Q.

    ``base`` replaces the stacked public model by another of the caller's. Several questions must
    ask about nested levels of one tree; the finest has the model's cells.
    """
    questions = nested("drift", evidence)
    question = questions[0]
    slots = label.slots if isinstance(label, Classes) else 0
    known = public_knowledge(public.X, public.y, slots, base)
    means, points = known.cell_means(question.partition)
    q = expected_shares(label, means, question)
    contrasts = contrasts_of(questions, q, scales(label, q), points, len(public))
    doubts = CENTRED_DOUBTS if question.centred else DOUBTS
    posterior, variance = posterior_of_theta(label, public, contrasts, split, doubts)
    return to_model(
        label,
        question,
        slot_estimates(contrasts, posterior, variance),
        estimator="drift",
        parameters={"split": split, "plain": plain},
        n=reports_of(questions),
        base=None if plain else known.model,
        base_values=None if plain else expected_values(label, means, question, q),
    )


def expected_shares(label: Label, means: Floats, question: QuestionCounts) -> Floats:
    """The public model's cell means as shares of slots, ``(cells, slots)``.

    A number outside what its cell can tell is taken as the nearer end.
    """
    if isinstance(label, Range):
        t = question.scale_of(label).to_unit(np.arange(len(means)), means[:, 0])
        return np.stack([1.0 - t, t], axis=1)
    return np.asarray(means / means.sum(axis=1, keepdims=True))


def expected_values(label: Label, means: Floats, question: QuestionCounts, q: Floats) -> Floats:
    """What ``q`` stands for, so that a cell's value less this is its correction alone."""
    return question.scale_of(label).from_unit(q[:, 1:]) if isinstance(label, Range) else means


def scales(label: Label, q: Floats) -> Floats:
    """The unit a of a deviation: the slope of a share by its log-odds, times 4; 1 for numbers."""
    if isinstance(label, Range):
        return np.ones_like(q)
    return np.maximum(4.0 * q * (1.0 - q), LEAST_SCALE)


def posterior_of_theta(
    label: Label,
    public: PublicData,
    contrasts: Contrasts | LevelContrasts,
    split: float,
    doubts: Mapping[float, float],
) -> tuple[Posterior, Floats]:
    """The posterior of theta, ``(cells, slots)``, over all hypotheses.

    With it comes the mean squared error of its mean under the doubtful prior, ``(cells, slots)``:
    where reports say little, an estimate stays with the public model, and its interval is wide.
    """
    drifts = posteriors_of_drift(contrasts, split)
    with np.errstate(divide="ignore"):
        trusting, doubtful = (np.log(list(prior.values())) for prior in (WIDTHS, doubts))
    found, doubt = mix(drifts, trusting), mix(drifts, doubtful)
    if isinstance(label, Classes):
        known = public_counts(label, public, contrasts.tree)
        counts = as_theta(contrasts, known, split)
        odds, apart = counts.log_evidence - found.log_evidence, counts.mean - found.mean
        distrust, swayed = distrusted(odds), reach_of_distrust(contrasts, odds, apart)
        found, doubt = (blend([p, counts], [1.0 - distrust, distrust]) for p in (found, doubt))
        found = replace(found, reach=found.reach + swayed)
    return found, doubt.variance + (doubt.mean - found.mean) ** 2


def distrusted(log_odds: float) -> float:
    """How far f_Q gives way to public counts when reports favour these by ``log_odds``.

    The probability 1 / (1 + exp(-log_odds)), rescaled so that reports that favour neither, as
    when there are none, leave f_Q as it is.
    """
    return max(0.0, float(np.tanh(log_odds / 2.0)))


def reach_of_distrust(
    contrasts: Contrasts | LevelContrasts, log_odds: float, apart: Floats
) -> Floats:
    """What one report can move theta by moving ``distrusted``, ``(cells, slots)``.

    ``apart`` is how far both means are from each other. A mixture whose weight d is a posterior
    probability has the slope d (1 - d) by the log odds, which its variance between the two accounts
    for. Here the slope is (1 - d^2) / 2, so (1 - d)^2 / 2 is left, once the odds are near even.
    """
    slots = apart.shape[1]
    moved = (slots - 1.0) / slots * float(contrasts.range_of(apart).sum())
    if log_odds + moved <= 0.0:
        return np.zeros_like(apart)
    return np.asarray(0.5 * (1.0 - distrusted(log_odds)) ** 2 * moved * np.abs(apart))


def posteriors_of_drift(contrasts: Contrasts | LevelContrasts, split: float) -> list[Posterior]:
    """The posterior of theta under each of the prior widths."""
    information, ranges = contrasts.information(), contrasts.node_ranges()
    return [average(contrasts.tree, information, width, split, ranges) for width in WIDTHS]


def as_theta(contrasts: Contrasts | LevelContrasts, known: Floats, split: float) -> Posterior:
    """The posterior of ``averaged``, in units of theta."""
    one = np.ones_like(contrasts.scale)
    of_counts = posterior_of_counts(replace(contrasts, scale=one), known, split)
    a, slots = contrasts.scale, contrasts.q.shape[1]
    return replace(
        of_counts,
        mean=(of_counts.mean + 1.0 / slots - contrasts.q) / a,
        variance=of_counts.variance / a**2,
        within=of_counts.within / a**2,
        reach=of_counts.reach / a,
    )
