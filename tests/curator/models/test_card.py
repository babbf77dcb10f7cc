"""The card's estimate of agreement is what it says."""

import numpy as np

from privet.curator.models.cache import ways_of
from privet.curator.models.card import agreement, offset, write_card
from privet.learning.estimators import QuestionCounts, fit
from privet.learning.model import FittedModel
from privet.learning.task_building.build import build_task
from privet.learning.task_building.settings import TaskSettings
from privet.learning.task_building.table import read_table
from tests.curator import samples

SIGMAS = 6.0
"""Standard errors allowed: a false alarm in 5 * 10^8 comparisons."""


def test_a_card_says_which_way_reports_came() -> None:
    """Shares, and the influence of as many dishonest reports as came by each way."""
    settings = TaskSettings(name="t", label="level", epsilon=1.0, depth=3)
    task, public = build_task(settings, read_table(samples.classes()))
    (mechanism,), (tree,) = task.mechanisms, task.trees
    counts = np.full((mechanism.cells, mechanism.levels), 20)
    n = int(counts.sum())
    sums = mechanism.simulate(counts, np.random.default_rng(0))
    model = fit("weighted", task.label, public, [QuestionCounts(tree, mechanism, sums, n)])
    ways = ways_of(model, {"library": n // 4})
    assert [(way["relay"], way["reports"]) for way in ways] == [
        (None, n - n // 4),
        ("library", n // 4),
    ]
    assert ways[1]["influence"] == model.influence_of(n // 4).max()
    card = write_card(task, FittedModel(task.id, 1, 0.0, model), public, [], ways)
    assert f"| singly, from anybody | {n - n // 4} | 75.0% |" in card
    assert f"| in batches of `library` | {n // 4} | 25.0% | {ways[1]['influence']:.3g} |" in card


def test_agreement_is_unbiased_and_its_error_is_known() -> None:
    """Over 200 populations' noise the mean is the truth, and the spread the stated one.

    The mean is within 6 of its standard errors; the standard deviation within 40 % of the stated
    one, which is 8 of its own standard errors.
    """
    settings = TaskSettings(name="t", label="level", epsilon=1.0, depth=3)
    task, public = build_task(settings, read_table(samples.classes()))
    (mechanism,), (tree,) = task.mechanisms, task.trees
    rng = np.random.default_rng(0)
    counts = rng.integers(50, 500, (mechanism.cells, mechanism.levels))
    n = int(counts.sum())
    silent = QuestionCounts(tree, mechanism, np.zeros(mechanism.sum_size, dtype=np.int64), 0)
    model = fit("public", task.label, public, [silent])
    truth = counts[np.arange(len(counts)), model.values.argmax(axis=1)].sum() / n
    found = []
    for _ in range(200):
        question = QuestionCounts(tree, mechanism, mechanism.simulate(counts, rng), n)
        estimate = agreement(model, [question])
        assert estimate is not None
        found.append(estimate)
    shares, errors = np.array(found).T
    assert abs(shares.mean() - truth) < SIGMAS * errors.mean() / np.sqrt(len(shares))
    np.testing.assert_allclose(shares.std(ddof=1), errors.mean(), rtol=0.4)


def test_offset_of_numbers_is_unbiased_and_its_error_is_known() -> None:
    """As for classes, with holders whose numbers are reported relative to centres.

    The mean is within 6 of its standard errors; the standard deviation within 40 % of the stated
    one, which is 8 of its own standard errors.
    """
    settings = TaskSettings(name="t", label="y", epsilon=1.0, depth=2)
    task, public = build_task(settings, read_table(samples.line()))
    (mechanism,), (tree,), (scale,) = task.mechanisms, task.trees, task.label_scales
    rng = np.random.default_rng(0)
    counts = rng.integers(50, 500, (mechanism.cells, 2))
    n, sums = int(counts.sum()), counts.sum(axis=1)
    silent = QuestionCounts(
        tree, mechanism, np.zeros(mechanism.sum_size, dtype=np.int64), 0, scale=scale
    )
    model = fit("public", task.label, public, [silent])
    assert scale is not None
    told_means = scale.from_unit(counts[:, 1] / sums)
    truth = float((sums * (model.values[:, 0] - told_means)).sum() / n)
    found = []
    for _ in range(200):
        question = QuestionCounts(tree, mechanism, mechanism.simulate(counts, rng), n, scale=scale)
        estimate = offset(model, [question])
        assert estimate is not None
        found.append(estimate)
    means, errors = np.array(found).T
    assert abs(means.mean() - truth) < SIGMAS * errors.mean() / np.sqrt(len(means))
    np.testing.assert_allclose(means.std(ddof=1), errors.mean(), rtol=0.4)
    card = write_card(task, FittedModel(task.id, 1, 0.0, model), public, [question])
    assert "On average over the holders a cell's value is" in card
    assert "## What the holders said" in card


def test_no_agreement_is_claimed_without_reports_or_classes() -> None:
    """A card never promises what nothing was measured for."""
    settings = TaskSettings(name="t", label="y", epsilon=1.0, depth=2)
    task, public = build_task(settings, read_table(samples.line()))
    (mechanism,), (tree,) = task.mechanisms, task.trees
    question = QuestionCounts(tree, mechanism, np.zeros(mechanism.sum_size, dtype=np.int64), 0)
    model = fit("public", task.label, public, [question])
    assert agreement(model, [question]) is None
    assert offset(model, [question]) is None
    card = write_card(task, FittedModel(task.id, 1, 0.0, model), public, [question])
    assert "holders have the class" not in card
    assert "What the holders said" not in card
    assert "a number from" in card


def test_a_share_is_stated_only_where_reports_can_tell() -> None:
    """With few reports the card says so in place of a figure that is mostly noise."""
    settings = TaskSettings(name="t", label="level", epsilon=1.0, depth=3)
    task, public = build_task(settings, read_table(samples.classes()))
    (mechanism,), (tree,) = task.mechanisms, task.trees
    cards = []
    for holders in (1, 10_000):
        counts = np.full((mechanism.cells, mechanism.levels), holders)
        sums = mechanism.simulate(counts, np.random.default_rng(0))
        question = QuestionCounts(tree, mechanism, sums, int(counts.sum()))
        model = fit("weighted", task.label, public, [question])
        cards.append(write_card(task, FittedModel(task.id, 1, 0.0, model), public, [question]))
    assert "Too few reports to estimate" in cards[0]
    assert "About " not in cards[0]
    assert "About " in cards[1]
    assert "Too few" not in cards[1]
