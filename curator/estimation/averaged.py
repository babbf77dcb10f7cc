"""Bayesian averaging over all prunings of the published tree, from cell counts alone.

Each class's share of a cell deviates by g from an even split, with a normal prior of the variance
of a uniform share; public records show ``kappa * g``, blurred by ``rho`` (posterior drift: the same
sign, another strength). How strong and how blurred is left to the evidence.
"""

from collections.abc import Sequence
from dataclasses import replace
from itertools import product

import numpy as np

from privet.curator.estimation.cells import SlotEstimates, to_model
from privet.curator.estimation.contrasts import Contrasts
from privet.curator.estimation.counts import Label, QuestionCounts, public_counts
from privet.curator.estimation.level_contrasts import LevelContrasts, contrasts_of
from privet.curator.estimation.level_prunings import average
from privet.curator.estimation.levels import nested, reports_of
from privet.curator.estimation.model import Model
from privet.curator.estimation.prunings import Information, Posterior, mix
from privet.curator.estimation.ratio import Z95, project_on_simplex
from privet.curator.public_data import Floats, PublicData

STRENGTHS = (0.0, 0.5, 1.0, 1.5)
BLURS = (0.02, 0.1, 0.3)
WIDTHS = (1.0,)
CENTRED_WIDTHS = (1.0, 0.3)
"""Prior deviations of g in parts of a uniform share's; numbers stray less from centres."""


def fit_averaged(
    label: Label, public: PublicData, evidence: Sequence[QuestionCounts], *, split: float
) -> Model:
    """Posterior mean shares per cell; ``split`` is the prior probability that a node is divided.

    Several questions must ask about nested levels of one tree; the finest has the model's cells.
    """
    questions = nested("averaged", evidence)
    question = questions[0]
    known = public_counts(label, public, question.partition, question.scale)
    q = np.full(known.shape, 1.0 / known.shape[1])
    points = known.sum(axis=1)
    private = contrasts_of(questions, q, np.ones_like(q), points, len(public))
    widths = CENTRED_WIDTHS if question.centred else WIDTHS
    slots = slot_estimates(private, posterior_of_counts(private, known, split, widths))
    return to_model(
        label,
        question,
        slots,
        estimator="averaged",
        parameters={"split": split},
        n=reports_of(questions),
    )


def posterior_of_counts(
    private: Contrasts | LevelContrasts,
    known: Floats,
    split: float,
    widths: Sequence[float] = WIDTHS,
) -> Posterior:
    """The posterior of each slot's deviation from an even share, ``(cells, slots)``.

    ``known`` are the public counts, ``(cells, slots)``; ``private`` are contrasts of scale 1
    against any shares. The log evidence is the reports', given the public counts.
    """
    slots = known.shape[1]
    uniform = np.sqrt((slots - 1.0) / (slots**2 * (slots + 1.0)))
    reported, ranges = from_even(private), private.node_ranges()
    tree = private.tree
    before, after = [], []
    for strength, blur, width in product(STRENGTHS, BLURS, widths):
        public, deviation = shown_by(known, strength, blur), width * uniform
        before.append(average(tree, public, deviation, split).log_evidence)
        after.append(average(tree, public.joined(reported), deviation, split, ranges))
    found = mix(after, [0.0] * len(after))
    public_alone = float(np.logaddexp.reduce(before))
    return replace(found, log_evidence=found.log_evidence - public_alone)


def from_even(private: Contrasts | LevelContrasts) -> Information:
    """What reports say of g, where p = 1 / slots + g, from contrasts of scale 1 against q."""
    return private.information().shifted(private.q - 1.0 / private.q.shape[1])


def shown_by(known: Floats, strength: float, blur: float) -> Information:
    """What public counts say of g if their own deviation is ``strength * g``, blurred."""
    slots = known.shape[1]
    even = 1.0 / slots
    rows = known.sum(axis=1, keepdims=True)
    there = np.broadcast_to(rows > 0.0, known.shape)
    shown = np.where(there, known / np.maximum(rows, 1e-12), even) - even
    variance = even * (1.0 - even) / np.maximum(rows, 1e-12) + blur**2
    precision = np.where(there, 1.0 / variance, 0.0)
    independent = (slots - 1.0) / slots
    fit = np.where(there, np.log(variance) + shown**2 * precision, 0.0)
    return Information(
        strength**2 * precision,
        strength * shown * precision,
        -0.5 * independent * float(fit.sum()),
        independent,
    )


def slot_estimates(
    contrasts: Contrasts | LevelContrasts, posterior: Posterior, variance: Floats | None = None
) -> SlotEstimates:
    """Shares ``q + scale * theta`` with the posterior's standard errors and 95 % intervals.

    The derivative of a posterior mean by another cell's H is their posterior covariance. Within
    prunings that is ``reach``; between them it is at most the product of both deviations, and the
    weights of prunings answer to all slots, of which ``(slots - 1) / slots`` is not said twice.
    ``variance`` of theta, if given, is what errors and intervals are made from instead.
    """
    q, scale = contrasts.q, contrasts.scale
    between = np.sqrt(np.maximum(posterior.variance - posterior.within, 0.0))
    slots = q.shape[1]
    moved = (slots - 1.0) / slots * contrasts.range_of(between).sum()
    reach = posterior.reach + between * moved
    raw = q + scale * posterior.mean
    error = scale * np.sqrt(posterior.variance if variance is None else variance)
    shares = project_on_simplex(raw)
    return SlotEstimates(
        shares=shares,
        standard_error=np.minimum(error, 0.5),
        low=np.clip(raw - Z95 * error, 0.0, 1.0),
        high=np.clip(raw + Z95 * error, 0.0, 1.0),
        public_share=1.0 - np.clip(posterior.data_share.mean(axis=1), 0.0, 1.0),
        influence=np.minimum(scale * reach, 1.0),
    )
