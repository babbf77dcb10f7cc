"""Private histograms: Berrett and Butucea (2019), and adjusted as by Györfi and Kroll (2022).

Half of the holders report their cell, half their labelled cell; both questions are on the same
grid, and each holder answers one (allocation ``one``). The classifier is the sign of

    T_n(cell) = V / n_1 - U / (2 n_0),

V the labelled count among n_1 reports, U the count among n_0. The regression form divides them.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from privet.curator.estimation.cells import to_model
from privet.curator.estimation.contrasts import unit_ranges
from privet.curator.estimation.counts import Label, QuestionCounts
from privet.curator.estimation.estimator import two_classes
from privet.curator.estimation.model import Model
from privet.curator.estimation.weighted import Ratio
from privet.curator.public_data import Floats, PublicData
from privet.protocol.errors import InvalidRequest
from privet.protocol.features import Range


def fit_histogram(label: Label, _public: PublicData, evidence: Sequence[QuestionCounts]) -> Model:
    """The plain histogram; public data is not used."""
    ratio, cells = halves("histogram", label, evidence)
    reports = sum(question.n for question in evidence)
    return to_model(
        label, cells, ratio.estimates(), estimator="histogram", parameters={}, n=reports
    )


def fit_adjusted_histogram(
    label: Label, _public: PublicData, evidence: Sequence[QuestionCounts], *, threshold: float
) -> Model:
    """A histogram that says 0 (the first class) where a cell's mass is not clear of its noise.

    ``threshold`` is how many standard errors the mass must have. A scale on which 0 does not lie
    has its nearest number said.
    """
    ratio, cells = halves("adjusted_histogram", label, evidence)
    slots = ratio.estimates()
    mass, noise = ratio.counts.sum(axis=1), ratio.covariance.sum(axis=(1, 2))
    small = mass < threshold * np.sqrt(np.maximum(noise, 0.0))
    shares = np.where(small[:, None], zero_shares(label, cells), slots.shares)
    return to_model(
        label,
        cells,
        replace(slots, shares=shares),
        estimator="adjusted_histogram",
        parameters={"threshold": threshold},
        n=sum(question.n for question in evidence),
    )


def zero_shares(label: Label, question: QuestionCounts) -> Floats:
    """The shares that stand for 0 in each cell, ``(cells, 2)``."""
    zeros = np.zeros(question.partition.cells)
    if isinstance(label, Range):
        t = question.scale_of(label).to_unit(np.arange(len(zeros)), zeros)
    else:
        t = zeros
    return np.stack([1.0 - t, t], axis=1)


def halves(
    name: str, label: Label, evidence: Sequence[QuestionCounts]
) -> tuple[Ratio, QuestionCounts]:
    """Counts of both halves as if each were the whole, and the question that names the cells."""
    if not isinstance(label, Range):
        two_classes(name, label)
    if (
        len(evidence) != 2
        or [question.mechanism.slots for question in evidence] != [1, 2]
        or evidence[0].partition.cells != evidence[1].partition.cells
        or 0 in (evidence[0].n, evidence[1].n)
    ):
        raise InvalidRequest(
            f"{name} needs two questions on one partition, the first asking the cell and the "
            "second the label, with reports to both: create the task with allocation one."
        )
    masses, labelled = evidence
    n = masses.n + labelled.n
    u, v = n / masses.n * masses.counts[:, 0], n / labelled.n * labelled.counts[:, 1]
    counts = np.stack([u - v, v], axis=1)
    var_u = (n / masses.n) ** 2 * masses.total_covariance[:, 0, 0]
    var_v = (n / labelled.n) ** 2 * labelled.total_covariance[:, 1, 1]
    covariance = np.stack(
        [np.stack([var_u + var_v, -var_v], axis=1), np.stack([-var_v, var_v], axis=1)], axis=1
    )
    ranges = np.array(
        [n / masses.n * unit_ranges(masses)[0], n / labelled.n * unit_ranges(labelled)[1]]
    )
    return Ratio(counts, covariance, np.zeros(len(u)), _moved(u, v, ranges)), labelled


def _moved(u: Floats, v: Floats, ranges: Floats) -> Floats:
    """The most one report, to either question, can move V / U, to first order."""
    mass = np.maximum(u, 1e-300)
    value = np.clip(v / mass, 0.0, 1.0)
    moved = np.maximum(value * ranges[0], ranges[1]) / mass
    return np.repeat(np.minimum(moved, 1.0)[:, None], 2, axis=1)
