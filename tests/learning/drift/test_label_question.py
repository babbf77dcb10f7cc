"""The label alone in `drift`: what it changes."""

from dataclasses import replace

import numpy as np

from privet.learning.core.counts import QuestionCounts
from privet.learning.core.public_data import PublicData
from privet.learning.methods import Fitting, fit
from privet.learning.simulation import simulate_counts
from privet.learning.task_building.build import TaskBuilder
from privet.learning.task_building.settings import TaskSettings
from privet.protocol.features import Numeric
from privet.protocol.partition import Partition

from ..examples import BINARY, NUMBER, complete, public_rows, reports

PUBLIC = public_rows(BINARY, 200, 0)
HOLDERS, PART = 8_000, 0.2
SHARES = np.array([0.75, 0.8, 0.85, 0.9])
"""Of "yes" in four cells; public rows have other ones."""


def asked(seed: int, epsilon: float) -> list[QuestionCounts]:
    rng = np.random.default_rng(seed)
    law = np.stack([1.0 - SHARES, SHARES], axis=1) / 4.0
    rest = rng.multinomial(round(HOLDERS * (1.0 - PART)), law.ravel()).reshape(4, 2)
    alone = rng.multinomial(round(HOLDERS * PART), law.sum(axis=0))[None]
    root = Partition.root(2)
    return [
        reports(complete(2), rest, epsilon, seed),
        reports(root, alone, epsilon, seed + 1000, mechanism="grr"),
    ]


def test_predictions_follow_the_label_alone_where_all_labels_moved() -> None:
    """At ε .5 cells say little: the squared error is smaller in 12 collections together, by more
    than three standard errors, and the model is said to be of all reports."""
    fitting, gains = Fitting.of("drift", BINARY, PUBLIC), []
    for seed in range(12):
        questions = asked(seed, 0.5)
        errors = [
            ((fitting.estimate(some).values[:, 1] - SHARES) ** 2).mean()
            for some in (questions[:1], questions)
        ]
        gains.append(errors[0] - errors[1])
    assert np.mean(gains) > 3.0 * np.std(gains) / np.sqrt(12)
    model = fit("drift", BINARY, PUBLIC, asked(0, 0.5))
    assert model.n == HOLDERS
    assert fit("weighted", BINARY, PUBLIC, asked(0, 0.5)).n == HOLDERS


def test_nobody_asked_for_the_label_alone_changes_nothing() -> None:
    """Of the predictions."""
    fitting = Fitting.of("drift", BINARY, PublicData(PUBLIC.X, PUBLIC.y))
    question, alone = asked(5, 1.0)
    none = replace(alone, sums=np.zeros_like(alone.sums), n=0)
    one, both = fitting.estimate([question]), fitting.estimate([question, none])
    np.testing.assert_array_equal(one.values, both.values)


OF_NUMBERS = public_rows(NUMBER, 200, 0)
COLUMNS = tuple(Numeric(name=f"x{place}", low=0.0, high=1.0) for place in range(2))


def asked_for_numbers(seed: int, moved: float, epsilon: float) -> list[QuestionCounts]:
    """Reports of holders who are like the public records, but for labels higher by ``moved``."""
    settings = TaskSettings(
        name="n", label="y", epsilon=epsilon, holders=HOLDERS, label_part=PART, depth=3
    )
    task = TaskBuilder(COLUMNS, NUMBER, OF_NUMBERS).task(settings)
    people = public_rows(NUMBER, HOLDERS, seed + 1)
    return simulate_counts(task, people.X, people.y + moved, np.random.default_rng(seed))


def test_numbers_follow_the_label_alone_where_all_moved() -> None:
    """Cells are clipped around centres and the label alone is not: both are on one scale.

    At ε 1 the error of values in 24 collections is smaller by more than three standard errors.
    """
    fitting, gains = Fitting.of("drift", NUMBER, OF_NUMBERS), []
    for seed in range(24):
        question, alone = asked_for_numbers(seed, 1.0, 1.0)
        none = replace(alone, sums=np.zeros_like(alone.sums), n=0)
        moved = [fitting.estimate([question, one]) for one in (none, alone)]
        asked_none = replace(question, sums=np.zeros_like(question.sums), n=0)
        expected = fitting.estimate([asked_none]).values + 1.0
        errors = [((model.values - expected) ** 2).mean() for model in moved]
        gains.append(errors[0] - errors[1])
    assert np.mean(gains) > 3.0 * np.std(gains) / np.sqrt(24)
