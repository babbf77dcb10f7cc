"""The card's estimates are what they say."""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from privet.admin.results import ReportSource
from privet.curator.operations.card import offset, write_card
from privet.curator.operations.fitting import reports_by_way
from privet.learning.core.amounts import thousands
from privet.learning.core.counts import QuestionCounts
from privet.learning.core.model import FittedModel, Model
from privet.learning.core.public_data import PublicData
from privet.learning.display.picture import cells_untold
from privet.learning.figures.node_shares import untold_cells
from privet.learning.figures.scores import optimism, scores_of
from privet.learning.methods import Fitting, fit
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
    settings = TaskSettings(name="t", label=label, epsilon=1.0, depth=depth, label_part=0.0)
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
    worst_of_one: float | None = None,
) -> str:
    fitted = FittedModel(task.id, 1, 0.0, model)
    sources = [ReportSource.model_validate(way) for way in ways]
    return write_card(task, fitted, public, questions, sources, worst_of_one=worst_of_one)


def test_a_card_writes_numbers_as_pages_do() -> None:
    """Thousands are apart in all of them; groups have the word that pages have for them."""
    task, public = published("level")
    question = asked(task, 2_000, np.random.default_rng(0))
    model, n = fit("weighted", task.label, public, [question]), question.n
    text = carded(
        task, public, model, [question], [{"relay": None, "reports": n, "worst_found": 0.0}]
    )
    assert re.findall(r"(?<![.\d])\d{5,}", text.replace(task.id, "")) == []
    assert text.count(f"{n:,}".replace(",", "\u202f")) == 3
    assert "groups" in text
    assert "cell" not in text
    later = replace(question, n=2 * n, sums=2 * question.sums)
    model = replace(model, optimism=dict.fromkeys(scores_of(task.label), (0.0, 0.0)))
    assert f"all {thousands(2 * n)} so far" in carded(task, public, model, [later])


def test_a_card_says_which_way_reports_came() -> None:
    """Shares, and how far as many false reports as came by each way were found to move it."""
    task, public = published("level")
    question = asked(task, 20, np.random.default_rng(0))
    model, n = fit("weighted", task.label, public, [question]), question.n
    reports = reports_by_way(model, {"library": n // 4, "closed": 0})
    assert reports == {None: n - n // 4, "library": n // 4}
    ways = [{"relay": of, "reports": k, "worst_found": k / n} for of, k in reports.items()]
    card = carded(task, public, model, [], ways)
    assert f"| direct, from anybody | {n - n // 4} | 75\u00a0% | 75 points |" in card
    assert f"| in batches of library | {n // 4} | 25\u00a0% | 25 points |" in card
    assert "For one false answer it is" not in card
    assert "For one false answer it is 1 point. Others" in carded(
        task, public, model, [], ways, 0.01
    )
    only = [{"relay": None, "reports": n, "worst_found": 1.0}]
    assert f"| {n} | 100\u00a0% | anything |" in carded(task, public, model, [], only)
    earlier = [{"relay": None, "reports": n, "influence": 1.0}]
    assert f"| {n} | 100\u00a0% | not tried |" in carded(task, public, model, [], earlier)


def test_an_offset_is_unbiased_and_its_error_is_known() -> None:
    """Over the noise of 200 populations the mean is the truth, and the spread the stated one.

    The mean is within 6 of its standard errors; the standard deviation within 40 % of the stated
    one, which is 8 of its own standard errors.
    """
    task, public = published("y")
    rng = np.random.default_rng(0)
    (mechanism,), (scale,) = task.mechanisms, task.label_scales
    assert scale is not None
    counts = rng.integers(50, 500, (mechanism.cells, mechanism.slots))
    model = fit("weighted", task.label, public, [asked(task, 0, rng)], weight=math.inf)
    sums = counts.sum(axis=1)
    reported = scale.from_unit(counts[:, 1] / sums)
    truth = (sums * (model.values[:, 0] - reported)).sum() / counts.sum()
    questions = [asked(task, counts, rng) for _ in range(200)]
    means, errors = np.array([offset(model, [one]) for one in questions], dtype=float).T
    assert abs(means.mean() - truth) < SIGMAS * errors.mean() / np.sqrt(len(means))
    np.testing.assert_allclose(means.std(ddof=1), errors.mean(), rtol=0.4)
    card = carded(task, public, model, questions[-1:])
    assert "## Answers beside the earlier file" in card
    assert "On average over those who answered, a group's figure is" in card
    assert "Answers tell squared errors only as differences between models" in card


def test_no_score_is_claimed_without_reports_or_classes() -> None:
    """Without reports a card of a number has neither a score nor an offset."""
    task, public = published("y")
    question = asked(task, 0, np.random.default_rng(0))
    model = fit("weighted", task.label, public, [question], weight=math.inf)
    assert offset(model, [question]) is None
    card = carded(task, public, model, [question])
    assert "likeliest in their group" not in card
    assert "Answers beside the earlier file" not in card
    assert "a number from" in card


def test_an_accuracy_is_stated_only_where_reports_can_tell() -> None:
    """With few reports the card says so in place of a figure that is mostly noise."""
    task, public = published("level")
    for holders, said, unsaid in (
        (1, "Too few answers to estimate", "Of people like"),
        (10_000, "Of people like those who answered, ", "Too few"),
    ):
        question = asked(task, holders, np.random.default_rng(0))
        fitting = Fitting.of("weighted", task.label, public)
        model = fitting.model([question])
        model = replace(model, optimism=optimism(model, [question], fitting.estimate))
        line = next(
            line
            for line in carded(task, public, model, [question]).splitlines()
            if "likeliest in their group" in line
        )
        assert said in line
        assert unsaid not in line
        assert "so far and not only" not in line
        more = [replace(question, sums=2 * question.sums, n=2 * question.n)]
        later = (
            f"all {thousands(2 * question.n)} so far and not only the {thousands(question.n)} of"
        )
        assert (later in carded(task, public, model, more)) == (holders > 1)


def test_intervals_that_say_nothing_have_no_width() -> None:
    """Before, "all at most 1 wide" was said of them."""
    task, public = published("level")
    said = []
    for holders in (1, 10_000):
        question = asked(task, holders, np.random.default_rng(0))
        model = fit("weighted", task.label, public, [question], weight=0.0)
        card = carded(task, public, model, [question])
        assert "at most 1 wide" not in card
        assert "0\u00a0% to 100\u00a0%)" not in card
        said.append("oo few answers to say anything" in card)
    assert said == [True, False]


def test_a_card_counts_the_cells_that_pages_leave_out() -> None:
    """Their intervals are narrow by the public records, of which reports tell nothing."""
    task, public = published("level")
    question = asked(task, 20, np.random.default_rng(0))
    model = fit("weighted", task.label, public, [question], weight=100.0)
    untold = cells_untold(model, untold_cells(task.label, question))
    assert cells_untold(model).sum() < untold.sum() < len(untold)
    said = f"{untold.sum()} of {len(untold)} groups have too few answers to say anything"
    assert said in carded(task, public, model, [question])
