"""LPCT's weighted average of private and public counts (Ma and Yang, 2024, eq. 8), and its limits.

In a cell let V be the number of holders with label 1 and U that of all, from the reports (P,
debiased) and the public data (Q). The estimate is

    eta = (V_P + lambda V_Q) / (U_P + lambda U_Q)                                          (eq. 8)

for every class, V being the count of the class. For a numeric label V is the sum of t, the label on
[0, 1]. lambda = 0 uses the reports only (eq. 7), and with unbiased counts of a number LPDT's
regression tree (Ma et al., 2023, eq. 5); lambda = infinity uses the public records only (eq. 4 on
public data). ``ratio`` handles cells whose mass is not positive.
"""

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from privet.protocol.features import Label, Range

from ..core.counts import QuestionCounts, public_counts
from ..core.estimator import Estimator, Parameter
from ..core.model import Model, to_model
from ..core.public_data import PublicData
from ..core.ratio import share_estimates, shares

HEAVIEST = 1e12
"""A larger weight counts as infinite; variances take the square of a weight."""


def fit_weighted(
    label: Label,
    public: PublicData,
    questions: Sequence[QuestionCounts],
    *,
    weight: float,
    counts: str,
) -> Model:
    """Eq. 8 with lambda = ``weight``, which may be infinite.

    With lambda > 0 the interval is for the share in that weighted mixture of both populations.
    ``counts`` says whether negative private counts are taken as 0: never (``unbiased``, eq. 8 as
    printed), always (``clipped``), or for numbers, where it lowers the squared error
    (``automatic``; "Consistent counts" in ``docs/accuracy.md``). Intervals come from unbiased
    counts all the same.
    """
    (question,) = questions
    if weight > HEAVIEST:
        return public_alone(label, public, question)
    counts_q = public_counts(label, public, question.partition, question.scale)
    clips = counts == "clipped" or (counts == "automatic" and isinstance(label, Range))
    unbiased = question.counts + weight * counts_q
    used = np.maximum(question.counts, 0.0) + weight * counts_q if clips else unbiased
    holders = (question.plausible + weight**2 * counts_q).sum(axis=1, keepdims=True)
    mass = np.maximum(used.sum(axis=1), 1e-300)
    public_share = np.clip(weight * counts_q.sum(axis=1) / mass, 0.0, 1.0)
    noise, factor = question.noise, question.factor
    slots = share_estimates(unbiased, noise, public_share, factor, holders)
    return to_model(label, question, replace(slots, shares=shares(used, noise, holders)))


def public_alone(label: Label, public: PublicData, question: QuestionCounts) -> Model:
    """Eq. 4 on the public data, the limit of eq. 8 for an infinite lambda.

    Public labels count as they are, also where holders report numbers relative to centres.
    """
    question = replace(question, scale=None)
    counts_q = public_counts(label, public, question.partition)
    every = np.ones(question.partition.cells)
    exact, records = np.zeros_like(question.noise), counts_q.sum(axis=1, keepdims=True)
    estimates = share_estimates(counts_q, exact, every, holders=records)
    return to_model(label, question, estimates)


WEIGHTED = Estimator(
    "weighted",
    "Private and public counts with a fixed weight (LPCT, eq. 8).",
    fit_weighted,
    {
        "weight": Parameter(
            1.0,
            "λ: 0 uses the answers only, and inf (without end) the file only.",
            low=0.0,
        ),
        "counts": Parameter(
            "automatic",
            "Randomness may take a group's count below zero: kept (unbiased), or raised to 0 "
            "(clipped); automatic raises those of numeric labels alone.",
            choices=("automatic", "unbiased", "clipped"),
        ),
    },
    without_reports={"weight": math.inf},
)
