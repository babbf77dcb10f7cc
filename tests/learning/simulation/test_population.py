"""Simulated populations against holders who answer one by one."""

import os
from collections.abc import Sequence
from typing import Literal

import numpy as np
import pytest

from privet.learning.core.trees import locate
from privet.learning.simulation import simulate_counts
from privet.protocol.features import Classes, Numeric, Range
from privet.protocol.label_scale import Centring
from privet.protocol.partition import LEAF, Partition, Tree
from privet.protocol.report import make_report
from privet.protocol.task import Question, Task

TRUTHFUL = 50.0
"""At this epsilon a report differs from the truth with probability below 1e-18."""

SPLIT = Partition.build(1, [0, LEAF, LEAF], [0.5, 0, 0], [1, LEAF, LEAF], [2, LEAF, LEAF])
QUARTERS = Partition.build(
    1,
    [0, 0, 0, *[LEAF] * 4],
    [0.5, 0.25, 0.75, 0, 0, 0, 0],
    [1, 3, 5, *[LEAF] * 4],
    [2, 4, 6, *[LEAF] * 4],
)
CLASSES = Classes(name="y", classes=("a", "b", "c"))
RANGE = Range(name="y", low=-1.0, high=3.0)


def task(
    label: Classes | Range,
    *,
    epsilon: float = TRUTHFUL,
    mechanism: str = "subset",
    allocation: Literal["one", "all"] = "all",
) -> Task:
    """A question about halves and one about quarters of the unit interval."""
    return Task(
        name="simulated",
        features=(Numeric(name="x", low=0.0, high=1.0),),
        label=label,
        partitions=(Tree.of(SPLIT), Tree.of(QUARTERS)),
        questions=tuple(
            Question(partition=tree, mechanism=mechanism, epsilon=epsilon) for tree in (0, 1)
        ),
        allocation=allocation,
    )


def people(classes: int, n: int = 60, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return rng.random((n, 1)), rng.integers(0, classes, n).astype(float)


def collected(published: Task, X: np.ndarray, names: Sequence[object]) -> list[np.ndarray]:
    """The sums of the reports that real holders make."""
    sums = [np.zeros(m.sum_size, dtype=np.int64) for m in published.mechanisms]
    for x, name in zip(X[:, 0], names, strict=True):
        report = make_report(published, {"x": float(x), "y": name}, os.urandom)
        for question, payload in report.answers:
            rows = np.frombuffer(payload, dtype=np.uint8)[None, :]
            sums[question] += published.mechanisms[question].accumulate(rows)
    return sums


CENTRINGS = (
    Centring(centres=(0.0, 2.5), radius=0.5),
    Centring(centres=(0.0, 1.0, 2.0, 2.0), radius=1.0),
)


@pytest.mark.parametrize("y", [None, -1.0, 3.0])
def test_truthful_holders_are_simulated_as_they_answer(y: float | None) -> None:
    """Where chance plays no part, simulated sums are those of the holders' own reports.

    So with classes, and with a number at the ends of its cell's span and beyond them.
    """
    published, (X, codes) = task(CLASSES), people(3)
    names: Sequence[object] = [CLASSES.classes[int(k)] for k in codes]
    if y is not None:
        plain = task(RANGE)
        questions = [
            question.model_copy(update={"centring": centring})
            for question, centring in zip(plain.questions, CENTRINGS, strict=True)
        ]
        published = plain.model_copy(update={"questions": questions})
        codes, names = np.full(len(X), y), [y] * len(X)
    simulated, again = (
        simulate_counts(published, X, codes, np.random.default_rng(1)) for _ in range(2)
    )
    for one, same, truth in zip(simulated, again, collected(published, X, names), strict=True):
        np.testing.assert_array_equal(one.sums, truth)
        np.testing.assert_array_equal(one.sums, same.sums)
        assert one.n == len(X)


def test_one_question_per_holder_splits_the_population_evenly() -> None:
    """Under allocation ``one`` each holder answers one question drawn by chance.

    The number answering the first is Binomial(n, 1/2): two-sided at 1e-6 (4.9 sigma), and the
    class counts of both add up to everybody.
    """
    published, (X, y) = task(CLASSES, allocation="one"), people(3)
    copies = np.full(len(X), 10_000)
    first, second = simulate_counts(published, X, y, np.random.default_rng(2), copies=copies)
    assert first.n + second.n == copies.sum()
    assert abs(first.n - copies.sum() / 2) < 4.9 * np.sqrt(copies.sum() / 4)
    np.testing.assert_allclose(
        (first.counts.sum(axis=0) + second.counts.sum(axis=0)) / 10_000,
        np.bincount(y.astype(int)),
        atol=1e-3,
    )
    assert first.n != second.n


@pytest.mark.parametrize("mechanism", ["subset", "laplace"])
def test_numbers_are_rounded_without_bias_for_each_question(mechanism: str) -> None:
    """The estimated label sum of a cell has the true sum as its mean; both questions draw anew.

    Mean of 100 simulations against the truth at 1e-6 per cell (4.9 standard errors).
    """
    X = np.repeat([[0.2], [0.7]], 50, axis=0)
    y = np.repeat([0.3, 2.9], 50)
    published, rng = task(RANGE, mechanism=mechanism, epsilon=4.0), np.random.default_rng(3)
    runs = [simulate_counts(published, X, y, rng) for _ in range(100)]
    sums = np.array([questions[0].counts[:, 1] for questions in runs])
    truth = 50 * (np.array([0.3, 2.9]) + 1.0) / 4.0
    error = sums.std(axis=0, ddof=1) / np.sqrt(len(sums))
    assert (np.abs(sums.mean(axis=0) - truth) < 4.9 * error).all()


def test_rounding_has_the_variance_of_the_holders_own() -> None:
    """At a truthful epsilon all variance is the rounding's, n t (1 - t), drawn per question.

    The ratio of the sample variance of 400 draws to its value is chi-square: at 1e-6 it stays
    within scipy.stats.chi2.ppf([5e-7, 1 - 5e-7], 399) / 399 == [0.691, 1.386].
    """
    X, y = np.full((40, 1), 0.2), np.full(40, 0.0)
    published, rng = task(RANGE), np.random.default_rng(4)
    runs = [simulate_counts(published, X, y, rng) for _ in range(400)]
    drawn = np.array([[e.counts[0, 1] for e in questions] for questions in runs])
    ratio = drawn.var(axis=0, ddof=1) / (40 * 0.25 * 0.75)
    assert (ratio > 0.691).all()
    assert (ratio < 1.386).all()
    # independent: the correlation of 400 pairs is within 4.9 / sqrt(400) at 1e-6
    assert abs(np.corrcoef(drawn.T)[0, 1]) < 4.9 / np.sqrt(400)


def test_a_billion_holders_cost_no_more_than_a_few() -> None:
    """Populations are counted, not walked: 10**9 holders of 60 records are simulated at once."""
    published, (X, y) = task(CLASSES, epsilon=1.0, mechanism="laplace"), people(3)
    copies = np.full(len(X), 10**9 // len(X))
    question = simulate_counts(published, X, y, np.random.default_rng(6), copies=copies)[0]
    cells = locate(question.partition, X)
    truth = np.zeros(question.counts.shape)
    np.add.at(truth, (cells, y.astype(int)), copies)
    deviation = np.sqrt(question.mechanism.variance(question.n, truth))
    assert (np.abs(question.counts - truth) < 4.9 * deviation).all()
