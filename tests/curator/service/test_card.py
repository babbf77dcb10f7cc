"""The card's estimate of agreement is what it says."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest

from privet.curator.service.card import agreement, offset, write_card
from privet.curator.service.model_cache import report_sources
from privet.learning.core.counts import QuestionCounts
from privet.learning.core.model import FittedModel, Model
from privet.learning.core.public_data import PublicData
from privet.learning.methods import fit
from privet.learning.simulation import simulate_sums
from privet.learning.task_building.build import build_task
from privet.learning.task_building.settings import TaskSettings
from privet.learning.task_building.table import read_table
from privet.protocol.task import Task
from tests.curator import samples

SIGMAS = 6.0
"""Standard errors allowed: a false alarm in 5 * 10^8 comparisons."""


def published(label: str) -> tuple[Task, PublicData]:
    """A task about three classes, or about a number, which is told around centres."""
    public = {"level": samples.classes, "y": samples.line}[label]()
    depth = {"level": 3, "y": 2}[label]
    settings = TaskSettings(name="t", label=label, epsilon=1.0, depth=depth)
    return build_task(settings, read_table(public))


def asked(task: Task, counts: np.ndarray | int, rng: np.random.Generator) -> QuestionCounts:
    """Reports of holders with these ``(cells, levels)`` counts."""
    (mechanism,), (tree,), (scale,) = task.mechanisms, task.trees, task.label_scales
    every = np.broadcast_to(counts, (mechanism.cells, mechanism.levels))
    sums = simulate_sums(mechanism, every, rng)
    return QuestionCounts(tree, mechanism, sums, int(every.sum()), scale=scale)


def carded(
    task: Task,
    public: PublicData,
    model: Model,
    questions: list[QuestionCounts],
    ways: Sequence[Mapping[str, Any]] = (),
) -> str:
    return write_card(task, FittedModel(task.id, 1, 0.0, model), public, questions, ways)


def test_a_card_says_which_way_reports_came() -> None:
    """Shares, and how far as many false reports as came by each way were found to move it."""
    task, public = published("level")
    question = asked(task, 20, np.random.default_rng(0))
    model, n = fit("weighted", task.label, public, [question]), question.n
    ways = report_sources(model, {"library": n // 4}, lambda k: k / n)
    assert [(way["relay"], way["reports"]) for way in ways] == [
        (None, n - n // 4),
        ("library", n // 4),
    ]
    card = carded(task, public, model, [], ways)
    assert f"| direct, from anybody | {n - n // 4} | 75.0% | 0.75 |" in card
    assert f"| in batches of library | {n // 4} | 25.0% | 0.25 |" in card
    earlier = [{"relay": None, "reports": n, "influence": 1.0}]
    assert f"| {n} | 100.0% | not tried |" in carded(task, public, model, [], earlier)


@pytest.mark.parametrize("label", ["level", "y"])
def test_agreement_and_offset_are_unbiased_and_their_errors_are_known(label: str) -> None:
    """Over the noise of 200 populations the mean is the truth, and the spread the stated one.

    The mean is within 6 of its standard errors; the standard deviation within 40 % of the stated
    one, which is 8 of its own standard errors.
    """
    task, public = published(label)
    rng = np.random.default_rng(0)
    (mechanism,), (scale,) = task.mechanisms, task.label_scales
    counts = rng.integers(50, 500, (mechanism.cells, mechanism.slots))
    model = fit("weighted", task.label, public, [asked(task, 0, rng)], weight=math.inf)
    n, sums = counts.sum(), counts.sum(axis=1)
    if scale is None:
        estimate = agreement
        truth = counts[np.arange(len(counts)), model.values.argmax(axis=1)].sum() / n
    else:
        estimate = offset
        told_means = scale.from_unit(counts[:, 1] / sums)
        truth = (sums * (model.values[:, 0] - told_means)).sum() / n
    questions = [asked(task, counts, rng) for _ in range(200)]
    estimates = [estimate(model, [question]) for question in questions]
    means, errors = np.array(estimates, dtype=float).T
    assert abs(means.mean() - truth) < SIGMAS * errors.mean() / np.sqrt(len(means))
    np.testing.assert_allclose(means.std(ddof=1), errors.mean(), rtol=0.4)
    card = carded(task, public, model, questions[-1:])
    assert "## Holders compared with public records" in card
    assert ("On average over the holders a cell's value is" in card) is (label == "y")


def test_no_agreement_is_claimed_without_reports_or_classes() -> None:
    """Without reports a card of a number has no estimate of either."""
    task, public = published("y")
    question = asked(task, 0, np.random.default_rng(0))
    model = fit("weighted", task.label, public, [question], weight=math.inf)
    assert agreement(model, [question]) is None
    assert offset(model, [question]) is None
    card = carded(task, public, model, [question])
    assert "holders have the class" not in card
    assert "Holders compared with public records" not in card
    assert "a number from" in card


def test_a_share_is_stated_only_where_reports_can_tell() -> None:
    """With few reports the card says so in place of a figure that is mostly noise."""
    task, public = published("level")
    for holders, said, unsaid in (
        (1, "Too few reports to estimate", "About "),
        (10_000, "About ", "Too few"),
    ):
        question = asked(task, holders, np.random.default_rng(0))
        card = carded(task, public, fit("weighted", task.label, public, [question]), [question])
        assert said in card
        assert unsaid not in card
