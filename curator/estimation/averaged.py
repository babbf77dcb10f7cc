"""Bayesian averaging over all prunings of the published tree, from cell counts alone.

With S slots, cell l's share of a slot is p = 1/S + g, with the prior g ~ N(0, s^2) on each leaf of
a pruning, s^2 = (S - 1) / (S^2 (S + 1)) being the variance of a share that is uniform on the
simplex. Of the public records' U_Q in a cell the slot has a share h,

    h - 1/S ~ N(kappa g, (1/S) (1 - 1/S) / U_Q + rho^2):

posterior drift (LPCT, Ma and Yang, 2024), with the same sign, another strength kappa, and a blur
rho. Reports enter as contrasts (``contrasts``) against 1/S. The posterior of g is averaged over
prunings (``tree_averaging``) and over all pairs of kappa and rho by evidence.
"""

from collections.abc import Sequence
from dataclasses import replace
from itertools import product

import numpy as np

from privet.curator.estimation.contrasts import Contrasts, cell_masses
from privet.curator.estimation.counts import Label, QuestionCounts, public_counts
from privet.curator.estimation.estimator import Estimator
from privet.curator.estimation.model import Model, to_model
from privet.curator.estimation.tree_averaging import SPLIT, Information, Posterior, average, mix
from privet.curator.public_data import Floats, PublicData

STRENGTHS = (0.0, 0.5, 1.0, 1.5)
"""kappa: public data without any signal, with a weaker, an equal and a stronger one. By hand."""
BLURS = (0.02, 0.1, 0.3)
"""rho: public shares nearly right, off by a tenth, hardly a guide. By hand, never tuned."""
WIDTHS = (1.0,)
CENTRED_WIDTHS = (1.0, 0.3)
"""Prior deviations of g in units of s; numbers differ less from their cell's centre. By hand; the
coverage is measured by ``python -m scripts.reproduce.coverage``."""


def fit_averaged(
    label: Label, public: PublicData, questions: Sequence[QuestionCounts], *, split: float
) -> Model:
    """Posterior mean shares per cell; ``split`` is the prior probability that a node is split."""
    (question,) = questions
    known = public_counts(label, public, question.partition, question.scale)
    even = np.full(known.shape, 1.0 / known.shape[1])
    mass = cell_masses(question, even, known.sum(axis=1), len(public))
    private = Contrasts(question, even, mass, np.ones_like(even))
    widths = CENTRED_WIDTHS if question.centred else WIDTHS
    posterior = posterior_of_counts(private, known, split, widths)
    return to_model(label, question, private.estimates(posterior))


def posterior_of_counts(
    private: Contrasts, known: Floats, split: float, widths: Sequence[float] = WIDTHS
) -> Posterior:
    """The posterior of g, ``(cells, slots)``.

    ``known`` are the public counts, ``(cells, slots)``; ``private`` are contrasts of scale 1
    against any shares. The log evidence is the reports', given the public counts.
    """
    slots = known.shape[1]
    uniform = np.sqrt((slots - 1.0) / (slots**2 * (slots + 1.0)))
    reports, tree = information_from_reports(private), private.tree
    public_alone, posteriors = [], []
    for strength, blur, width in product(STRENGTHS, BLURS, widths):
        public, deviation = information_from_public(known, strength, blur), width * uniform
        public_alone.append(average(tree, public, deviation, split).log_evidence)
        posteriors.append(average(tree, public.joined(reports), deviation, split))
    posterior = mix(posteriors, [0.0] * len(posteriors))
    of_public = float(np.logaddexp.reduce(public_alone))
    return replace(posterior, log_evidence=posterior.log_evidence - of_public)


def information_from_reports(private: Contrasts) -> Information:
    """The reports' likelihood of g, from contrasts of scale 1 against any shares q."""
    return private.information().shifted(private.q - 1.0 / private.q.shape[1])


def information_from_public(known: Floats, strength: float, blur: float) -> Information:
    """The public counts' likelihood of g for one kappa and rho; flat in cells without records."""
    slots = known.shape[1]
    even = 1.0 / slots
    rows = known.sum(axis=1, keepdims=True)
    present = np.broadcast_to(rows > 0.0, known.shape)
    deviation = np.where(present, known / np.maximum(rows, 1e-12), even) - even
    variance = even * (1.0 - even) / np.maximum(rows, 1e-12) + blur**2
    precision = np.where(present, 1.0 / variance, 0.0)
    independent = (slots - 1.0) / slots
    constant = np.where(present, np.log(variance) + deviation**2 * precision, 0.0)
    return Information(
        J=strength**2 * precision,
        H=strength * deviation * precision,
        log_scale=-0.5 * independent * float(constant.sum()),
        independent=independent,
    )


AVERAGED = Estimator(
    "averaged",
    "Bayesian average over all prunings of the tree, from cell counts alone.",
    fit_averaged,
    {"split": SPLIT},
)
