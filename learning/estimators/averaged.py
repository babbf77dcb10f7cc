"""The published tree alone: public counts, corrected by reports.

Public counts are smoothed over the tree around the label's overall shares, by the same Gaussian
shift that then takes the reports to differ from them (``shift``): posterior drift (LPCT, Ma and
Yang, 2024), with the slope for how strong public data's signal is among the holders.
"""

from collections.abc import Sequence

import numpy as np

from privet.protocol.features import Classes

from ..counts import Label, QuestionCounts, public_counts
from ..model import Model, to_model
from ..public_data import Floats, PublicData
from .estimator import Estimator
from .shift import (
    ROUNDS,
    Expected,
    contrasts_of_public,
    estimate_shift,
    mean_shares,
    posterior,
)


def fit_averaged(label: Label, public: PublicData, questions: Sequence[QuestionCounts]) -> Model:
    """Posterior mean shares per cell, from public counts and reports."""
    (question,) = questions
    counts_q = public_counts(label, public, question.partition, question.scale)
    rows, points = len(public), counts_q.sum(axis=1)
    shares = np.tile((counts_q.sum(axis=0) + 1.0) / (rows + counts_q.shape[1]), (len(counts_q), 1))
    overall = _expected(label, shares, points, rows)
    for _ in range(ROUNDS):
        contrasts = contrasts_of_public(counts_q, shares)
        shift = posterior(question.partition, contrasts, overall)
        shares = mean_shares(shift, numeric=overall.numeric)
    expected = _expected(label, shares, points, rows)
    return to_model(label, question, estimate_shift(question, expected))


def _expected(label: Label, shares: Floats, points: Floats, rows: int) -> Expected:
    if isinstance(label, Classes):
        return Expected.classes(shares, points, rows)
    return Expected.numbers(shares[:, 1], shares[:, 1], points, rows)


AVERAGED = Estimator(
    "averaged", "Public counts on the tree plus a private correction.", fit_averaged
)
