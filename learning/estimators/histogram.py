"""Private histograms: Berrett and Butucea (2019), and adjusted as by Györfi and Kroll (2022).

Half of the holders report their cell, half their labelled cell; both questions are on the same
grid, and each holder answers one (allocation ``one``). The classifier is the sign of

    T_n(cell) = V / n_1 - U / (2 n_0),

V the count of label 1 among n_1 reports, U the count among n_0. The regression form divides them.

The label question is the service's own: (cell, label), with any mechanism. As published, a holder
sends Y on the cell with noise of its own; with ``laplace`` that is a quarter of V's variance here,
8 / epsilon^2 instead of 32 / epsilon^2. ``privet.baselines`` has the published form.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from privet.protocol.errors import InvalidRequest
from privet.protocol.features import Range

from ..counts import Label, QuestionCounts
from ..model import Model, to_model
from ..public_data import Floats, PublicData
from .estimator import Estimator, Parameter
from .ratio import Ratio


def fit_histogram(label: Label, _public: PublicData, questions: Sequence[QuestionCounts]) -> Model:
    """The plain histogram; public data is not used."""
    ratio, labelled = combined_halves("histogram", questions)
    return to_model(label, labelled, ratio.estimates(), n=sum(each.n for each in questions))


def fit_adjusted_histogram(
    label: Label, _public: PublicData, questions: Sequence[QuestionCounts], *, threshold: float
) -> Model:
    """A histogram that predicts 0 (the first class) where a cell's mass is not clear of its noise.

    ``threshold`` is how many standard errors the mass must have. Where 0 is not on a numeric
    label's scale, the nearest number that is.
    """
    ratio, labelled = combined_halves("adjusted_histogram", questions)
    slots = ratio.estimates()
    mass, noise = ratio.counts.sum(axis=1), ratio.covariance.sum(axis=(1, 2))
    small = mass < threshold * np.sqrt(np.maximum(noise, 0.0))
    t = np.zeros(labelled.partition.cells)
    if isinstance(label, Range):
        t = labelled.scale_of(label).to_unit(np.arange(len(t)), t)
    shares = np.where(small[:, None], np.stack([1.0 - t, t], axis=1), slots.shares)
    slots = replace(slots, shares=shares)
    return to_model(label, labelled, slots, n=sum(each.n for each in questions))


def combined_halves(name: str, questions: Sequence[QuestionCounts]) -> tuple[Ratio, QuestionCounts]:
    """Both halves' counts, each scaled up to all holders, and the question about the label."""
    if (
        len(questions) != 2
        or [question.mechanism.slots for question in questions] != [1, 2]
        or questions[0].partition.cells != questions[1].partition.cells
        or 0 in (questions[0].n, questions[1].n)
    ):
        raise InvalidRequest(
            f"{name} needs two questions on one partition, the first asking the cell and the "
            "second the label, with reports to both: create the task with allocation one."
        )
    masses, labelled = questions
    n = masses.n + labelled.n
    u, v = n / masses.n * masses.counts[:, 0], n / labelled.n * labelled.counts[:, 1]
    var_u = (n / masses.n) ** 2 * masses.total_covariance[:, 0, 0]
    var_v = (n / labelled.n) ** 2 * labelled.total_covariance[:, 1, 1]
    covariance = np.stack(
        [np.stack([var_u + var_v, -var_v], axis=1), np.stack([-var_v, var_v], axis=1)], axis=1
    )
    of_u = n / masses.n * masses.count_influence[0]
    of_v = n / labelled.n * labelled.count_influence[1]
    influence = ratio_influence(u, v, of_u, of_v)
    ratio = Ratio(np.stack([u - v, v], axis=1), covariance, np.zeros(len(u)), influence)
    return ratio, labelled


def ratio_influence(u: Floats, v: Floats, of_u: float, of_v: float) -> Floats:
    """Maximum change of V / U from replacing one report to either question, to first order.

    ``of_u`` and ``of_v`` are the maximum changes of U and V. Shape ``(cells, 2)``, at most 1.
    """
    mass = np.maximum(u, 1e-300)
    value = np.clip(v / mass, 0.0, 1.0)
    change = np.maximum(value * of_u, of_v) / mass
    return np.repeat(np.minimum(change, 1.0)[:, None], 2, axis=1)


HISTOGRAM = Estimator(
    "histogram",
    "Half the holders report their cell, half their labelled cell (Berrett and Butucea).",
    fit_histogram,
    max_classes=2,
    one_question=False,
)
ADJUSTED_HISTOGRAM = Estimator(
    "adjusted_histogram",
    "The same, but a cell with too small a mass predicts 0 (Györfi and Kroll).",
    fit_adjusted_histogram,
    {
        "threshold": Parameter(
            1.0, "Standard errors a mass must have to be used.", low=0.0, high=1e6
        )
    },
    max_classes=2,
    one_question=False,
)
