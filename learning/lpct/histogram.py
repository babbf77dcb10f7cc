"""Private histograms: Berrett and Butucea (2019), and adjusted as by Györfi and Kroll (2022).

Half of the holders report their cell, half their labelled cell; both questions are on the same
grid, and each holder answers one (allocation ``one``). The classifier is the sign of

    T_n(cell) = V / n_1 - U / (2 n_0),

V the count of label 1 among n_1 reports, U the count among n_0. The regression form divides them.

The label question is the service's own: (cell, label), with any mechanism. As published, a holder
sends Y on the cell with noise of its own; with ``laplace`` that is a quarter of V's variance here,
8 / epsilon^2 instead of 32 / epsilon^2.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from privet.protocol.errors import InvalidRequest
from privet.protocol.features import Label, Range

from ..core.counts import QuestionCounts
from ..core.estimator import Estimator, Parameter
from ..core.model import Model, to_model
from ..core.public_data import PublicData
from ..core.ratio import share_estimates


def fit_histogram(
    label: Label,
    _public: PublicData,
    questions: Sequence[QuestionCounts],
    *,
    threshold: float,
) -> Model:
    """The histogram; with a positive ``threshold`` the adjusted one. Public data is not used.

    The adjusted one predicts 0 (the first class) where a cell's mass has fewer standard errors than
    ``threshold``; where 0 is not on a numeric label's scale, the nearest number that is.
    """
    if (
        len(questions) != 2
        or [question.mechanism.slots for question in questions] != [1, 2]
        or questions[0].partition.cells != questions[1].partition.cells
        or (questions[0].n == 0) != (questions[1].n == 0)
    ):
        raise InvalidRequest(
            "A histogram needs two questions on one partition, the first asking the cell and the "
            "second the label, with reports to both: create the task with allocation one."
        )
    masses, labelled = questions
    n = masses.n + labelled.n
    # each half stands for all holders
    to_all_u, to_all_v = n / max(masses.n, 1), n / max(labelled.n, 1)
    u, v = to_all_u * masses.counts[:, 0], to_all_v * labelled.counts[:, 1]
    var_u = to_all_u**2 * masses.total_covariance[:, 0, 0]
    var_v = to_all_v**2 * labelled.total_covariance[:, 1, 1]
    slots = np.array([[1.0, -1.0], [0.0, 1.0]])  # of U and V
    covariance = np.einsum("st,kt,rt->ksr", slots, np.stack([var_u, var_v], axis=1), slots)
    counts = np.stack([u - v, v], axis=1)
    factor = max(masses.factor, labelled.factor)
    estimates = share_estimates(counts, covariance, np.zeros(len(u)), factor)
    if threshold > 0.0:
        small = u < threshold * np.sqrt(np.maximum(var_u, 0.0))
        t = np.zeros(len(u))
        if isinstance(label, Range):
            t = labelled.scale_of(label).to_unit(np.arange(len(t)), t)
        shares = np.where(small[:, None], np.stack([1.0 - t, t], axis=1), estimates.shares)
        estimates = replace(estimates, shares=shares)
    return to_model(label, labelled, estimates, n=n)


HISTOGRAM = Estimator(
    "histogram",
    "Half the holders report their cell, half their labelled cell (Berrett and Butucea); with a "
    "threshold adjusted (Györfi and Kroll).",
    fit_histogram,
    {
        "threshold": Parameter(
            0.0,
            "Threshold in standard errors: a cell with less mass predicts 0; 0 turns it off.",
            low=0.0,
            high=1e6,
        )
    },
    max_classes=2,
    one_question=False,
    asks=("cell", "label"),
)
