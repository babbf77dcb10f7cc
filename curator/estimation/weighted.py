"""LPCT's weighted average of private and public counts (Ma and Yang, 2024, eq. 8), and its ends."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from privet.curator.estimation.cells import SlotEstimates, to_model
from privet.curator.estimation.contrasts import unit_ranges
from privet.curator.estimation.counts import (
    Label,
    QuestionCounts,
    public_counts,
    sampling_covariance,
)
from privet.curator.estimation.estimator import only_question
from privet.curator.estimation.model import Model, Value
from privet.curator.estimation.ratio import fieller_interval, share_variance, shares
from privet.curator.public_data import Floats, PublicData
from privet.protocol.features import Range

TINY = 1e-300
LEAST_COUNT = 1.0
"""A public count's variance is taken to be that of at least this many records."""


def fit_weighted(
    label: Label,
    public: PublicData,
    evidence: Sequence[QuestionCounts],
    *,
    weight: float,
    counts: str,
) -> Model:
    """Cell shares of ``private + weight * public`` counts; ``weight`` is λ of eq. 8.

    With λ > 0 the interval is for the share in that weighted mixture of both populations.
    ``counts`` says whether negative private counts are taken as 0: never (``unbiased``, eq. 8 as
    printed), always (``clipped``), or for numbers, where it lowers the squared error
    (``automatic``). Intervals come from unbiased counts all the same.
    """
    question = only_question("weighted", evidence)
    known = public_counts(label, public, question.partition, question.scale)
    clips = counts == "clipped" or (counts == "automatic" and isinstance(label, Range))
    unbiased = question.counts + weight * known
    used = np.maximum(question.counts, 0.0) + weight * known if clips else unbiased
    covariance = question.total_covariance + weight**2 * sampling_covariance(known)
    mass = np.maximum(used.sum(axis=1), TINY)
    ratio = Ratio(
        counts=unbiased,
        covariance=covariance,
        public_share=np.clip(weight * known.sum(axis=1) / mass, 0.0, 1.0),
        influence=ratio_influence(question, used),
    )
    slots = replace(ratio.estimates(), shares=shares(used, covariance))
    parameters: dict[str, Value] = {"weight": weight, "counts": counts}
    return to_model(label, question, slots, estimator="weighted", parameters=parameters)


def fit_private(label: Label, _public: PublicData, evidence: Sequence[QuestionCounts]) -> Model:
    """The private counts alone: eq. 7, which is eq. 8 with λ = 0."""
    question = only_question("private", evidence)
    ratio = Ratio(
        counts=question.counts,
        covariance=question.total_covariance,
        public_share=np.zeros(question.partition.cells),
        influence=ratio_influence(question, question.counts),
    )
    return to_model(label, question, ratio.estimates(), estimator="private", parameters={})


def fit_public(label: Label, public: PublicData, evidence: Sequence[QuestionCounts]) -> Model:
    """The public counts alone: eq. 4 on public data, which is eq. 8 with λ = infinity.

    However holders tell a number, public labels count as they are. A cell whose few records agree
    is not certain for that: see ``LEAST_COUNT``.
    """
    question = replace(only_question("public", evidence), scale=None)
    known = public_counts(label, public, question.partition)
    ratio = Ratio(
        counts=known,
        covariance=sampling_covariance(np.maximum(known, LEAST_COUNT)),
        public_share=np.ones(question.partition.cells),
        influence=np.zeros_like(known),
    )
    return to_model(label, question, ratio.estimates(), estimator="public", parameters={})


def fit_ratio(label: Label, public: PublicData, evidence: Sequence[QuestionCounts]) -> Model:
    """LPDT's regression estimate (Ma et al., 2023, eq. 5): sums of labels over private masses."""
    return fit_private(label, public, evidence).renamed("ratio", {}, {})


@dataclass(frozen=True, eq=False)
class Ratio:
    """Counts ``(cells, slots)`` whose shares are the cells' values, and what is known of them."""

    counts: Floats
    covariance: Floats
    public_share: Floats
    influence: Floats

    def estimates(self) -> SlotEstimates:
        """The shares, with standard errors to first order and intervals after Fieller."""
        values = shares(self.counts, self.covariance)
        variance = share_variance(values, self.counts, self.covariance)
        low, high = fieller_interval(self.counts, self.covariance)
        error = np.minimum(np.sqrt(variance), 0.5)
        return SlotEstimates(values, error, low, high, self.public_share, self.influence)


def ratio_influence(question: QuestionCounts, counts: Floats) -> Floats:
    """The most one report can move each share ``A_s / B``, to first order, ``(cells, slots)``.

    It is bounded slot by slot: ``sum_t |e_s - v_s|_t range_t / B``, where ``range_t`` is what one
    report can change in the count of slot t of one cell; and by 1, the whole range of a share.
    """
    ranges = unit_ranges(question)
    mass = counts.sum(axis=1, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        values = np.where(mass > 0.0, np.clip(counts / mass, 0.0, 1.0), 1.0)
        moved = ((1.0 - 2.0 * values) * ranges + values * ranges.sum()) / mass
    return np.where(mass > 0.0, np.minimum(moved, 1.0), 1.0)
