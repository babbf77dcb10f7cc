"""All classes have moved alike: what all cells say together."""

from dataclasses import replace

import numpy as np
import pytest

from privet.learning.core.counts import QuestionCounts
from privet.learning.drift.label_shift import label_shift
from privet.learning.drift.likelihood import (
    KnownMasses,
    cell_masses,
    contrasts_of,
    overall_of,
)
from privet.learning.drift.prior import Expected, Prior
from privet.learning.drift.shift import average_posterior, averaged
from privet.protocol.partition import Partition

from ..examples import complete, reports

CELLS, CLASSES, HOLDERS = 8, 5, 20_000
ODDS = np.array([2.0, 1.0, 1.0, 0.5, 0.25])
PRIOR = Prior.default(numeric=False)


def populations(seed: int, odds: np.ndarray) -> tuple[Expected, np.ndarray]:
    """Public shares of cells, and true ones where all classes' odds have moved alike."""
    q = np.random.default_rng(seed).dirichlet(np.ones(CLASSES), CELLS)
    p = q * odds
    p /= p.sum(axis=1, keepdims=True)
    return Expected.classes(q, np.full(CELLS, 500.0), 400), p


def asked(
    seed: int, p: np.ndarray, epsilon: float, alone: float = 0.0
) -> tuple[QuestionCounts, QuestionCounts | None]:
    """Reports of holders of whom cells and classes have parts in proportion to ``p``, a part of
    them of the label alone."""
    rng, beside = np.random.default_rng([seed, 1]), round(alone * HOLDERS)
    law = p / p.sum()
    question = reports(
        complete(3), rng.multinomial(HOLDERS - beside, law.ravel()).reshape(p.shape), epsilon, seed
    )
    if not beside:
        return question, None
    whole = rng.multinomial(beside, law.sum(axis=0))[None]
    return question, reports(Partition.root(2), whole, epsilon, seed + 99, mechanism="grr")


def mean_gain(odds: np.ndarray, alone: float, cells: float = 0.0) -> tuple[float, float]:
    """By what the member lowers the squared error in 12 collections, with its standard error."""
    gains = []
    for seed in range(12):
        expected, p = populations(seed, odds)
        if cells:
            p = p * np.exp(np.random.default_rng([seed, 2]).normal(0.0, cells, p.shape))
            p /= p.sum(axis=1, keepdims=True)
        question, beside = asked(seed, p, 1.0, alone)
        _, average = averaged(question, expected, beside)
        free = average.posterior.mean(average.posterior.shares)
        free = free / free.sum(axis=1, keepdims=True)
        gains.append(((free - p) ** 2).sum() - ((average.shares - p) ** 2).sum())
    return float(np.mean(gains)), float(np.std(gains, ddof=1) / np.sqrt(12))


@pytest.mark.quick("0.2")
@pytest.mark.parametrize("alone", [0.0, 0.2])
def test_classes_that_all_moved_alike_are_followed(alone: float) -> None:
    """Five classes with other odds: by more than three standard errors better in 12 collections."""
    gain, error = mean_gain(ODDS, alone)
    assert gain > 3.0 * error


@pytest.mark.quick("0.7")
@pytest.mark.parametrize("cells", [0.0, 0.7])
def test_where_classes_did_not_move_alike_it_costs_nothing(cells: float) -> None:
    """No shift, and cells that each moved otherwise: at most .02 of squared error over 8 cells."""
    gain, error = mean_gain(np.ones(CLASSES), 0.0, cells)
    assert gain > -0.02 - 2.0 * error


@pytest.mark.quick("0.5-80")
@pytest.mark.parametrize(("epsilon", "collections"), [(0.5, 80), (1.0, 150)])
def test_a_rare_class_leaves_cells_empty(epsilon: float, collections: int) -> None:
    """A class has 54 times the odds among public records: by more than three standard errors
    better than where masses count for nothing; in 80 collections at the smaller ε by six."""
    gain, error = gain_by_masses(np.array([0.982, 0.018]), 0.0, epsilon, collections)
    assert gain > 3.0 * error


@pytest.mark.quick("1.0")
@pytest.mark.parametrize("epsilon", [0.5, 1.0])
def test_masses_that_differ_by_columns_are_no_sign_of_other_odds(epsilon: float) -> None:
    """Classes' odds are those of the public records, masses e^N(0, .3) times as large: worse by no
    more than two standard errors in 60 collections, one false alarm in 40 sets of seeds."""
    gain, error = gain_by_masses(np.ones(2), 0.3, epsilon, 60)
    assert gain > -2.0 * error


def gain_by_masses(
    odds: np.ndarray, tilt: float, epsilon: float, collections: int
) -> tuple[float, float]:
    """By what masses as evidence lower the squared error, with its standard error."""
    gains = []
    for seed in range(collections):
        rng = np.random.default_rng([seed, 3])
        yes = 1.0 / (1.0 + np.exp(rng.normal(0.0, 1.5, CELLS)))
        q = np.stack([1.0 - yes, yes], axis=1)
        expected = Expected.classes(q, np.full(CELLS, 500.0), 400)
        joint = expected.q * odds * np.exp(rng.normal(0.0, tilt, (CELLS, 1)))
        p = joint / joint.sum(axis=1, keepdims=True)
        question, _ = asked(seed, joint, epsilon)
        contrasts, average = averaged(question, expected)
        free = average_posterior(
            question.partition, replace(contrasts, known=None), expected, PRIOR
        )
        gains.append(float(((free.shares - p) ** 2).sum() - ((average.shares - p) ** 2).sum()))
    return float(np.mean(gains)), float(np.std(gains, ddof=1) / np.sqrt(len(gains)))


def test_masses_follow_within_strata() -> None:
    """By the odds within a stratum, whose mass is known."""
    known = KnownMasses(
        public=np.array([0.1, 0.3, 0.2, 0.4]),
        sampling=np.full(4, 1e-3),
        reported=np.full(4, 0.25),
        noise=np.full(4, 1e-3),
        weights=np.ones((4, 2)),
        stratum=np.array([0, 0, 1, 1]),
        of_stratum=np.array([0.7, 0.3]),
    )
    p = np.array([[0.5, 0.5], [0.9, 0.1], [0.2, 0.8], [0.6, 0.4]])
    mass, shares = known.followed(np.array([[3.0], [1.0], [1.0], [2.0]]), p)
    np.testing.assert_allclose(mass[:, 0], [0.35, 0.35, 0.06, 0.24])
    np.testing.assert_allclose(shares, [[0.7, 0.3], [0.7, 0.3], [0.52, 0.48], [0.52, 0.48]])


@pytest.mark.parametrize("alone", [0.0, 0.3])
@pytest.mark.parametrize("follow", [False, True])
def test_evidence_and_mode_are_those_of_a_grid(alone: float, follow: bool) -> None:
    """Of two classes, by quadrature over the difference of x, with which alone shares change, and
    masses where they follow."""
    q = np.tile([[0.8, 0.2], [0.4, 0.6], [0.55, 0.45], [0.9, 0.1]], (2, 1))
    p = q * [1.0, 1.5]
    question, beside = asked(3, p if follow else p / p.sum(axis=1, keepdims=True), 2.0, alone)
    expected = Expected.classes(q, np.full(8, 500.0), 400)
    masses = cell_masses(question, expected.q, expected)
    overall = overall_of(beside, question, expected.q, masses)
    known = masses.known if follow else None
    contrasts = contrasts_of(question, expected.q, masses.mean, overall, known)
    found = label_shift(contrasts, expected)
    x = np.linspace(-12.0, 12.0, 4801)
    yes = 1.0 / (1.0 + np.exp(-(np.log(expected.q[:, 1] / expected.q[:, 0])[:, None] + x)))
    shares = np.stack([1.0 - yes, yes], axis=1)  # (cells, classes, points)

    def misfit_at(mass: np.ndarray) -> np.ndarray:
        left = contrasts.values[:, :, None] - contrasts.holders * mass * (
            shares - contrasts.reference[:, :, None]
        )
        off = (contrasts.direction / contrasts.variance)[:, :, None]
        misfit = (left**2 / contrasts.variance[:, :, None]).sum(axis=(0, 1))
        misfit += (contrasts.common_precision[:, None] * (off * left).sum(axis=0) ** 2).sum(axis=0)
        if overall is not None:
            beyond = overall.share[:, None] - (mass * shares).sum(axis=0)
            misfit += (beyond**2 / overall.variance[:, None]).sum(axis=0)
        return np.asarray(misfit)

    laws = [np.exp(-0.25 * misfit_at(contrasts.mass[:, :, None]))]
    if known is not None:
        odds = expected.q[:, :1] + expected.q[:, 1:] * np.exp(x)
        mass = known.public[:, None] * odds
        mass = mass / mass.sum(axis=0)
        seen = (known.weights[:, :, None] * contrasts.holders * mass[:, None] * shares).sum(axis=1)
        variance = known.noise[:, None] + seen**2 / (known.public[:, None] * 400)
        left = known.reported[:, None] - seen
        beside_masses = -0.5 * (left**2 / variance + np.log(variance)).sum(axis=0)
        laws.append(np.exp(-0.25 * misfit_at(mass[:, None]) + beside_masses - known.free_evidence))
    total, mean = 0.0, np.zeros_like(expected.q)
    for likelihood in laws:
        before = total
        for deviation, weight in ((0.6, 0.95), (3.0, 0.05)):
            v = 2.0 * deviation**2  # of a difference
            law = weight / len(laws) * likelihood * np.exp(-(x**2) / (2.0 * v))
            law = law / np.sqrt(2.0 * np.pi * v)
            total += np.trapezoid(law, x)
            mean += np.trapezoid(law * shares, x, axis=2)
    if follow:
        assert total - before > 0.5 * total  # or else the other two alone are tested
    assert found.log_evidence == pytest.approx(np.log(total), abs=0.1)
    np.testing.assert_allclose(found.shares, mean / total, atol=0.01)
