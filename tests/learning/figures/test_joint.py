"""Figures of all holders from both questions."""

import numpy as np
import pytest

from privet.learning.core.counts import QuestionCounts, without_label_question
from privet.learning.core.public_data import PublicData
from privet.learning.figures.joint import best, joined, without_misfits
from privet.learning.simulation import simulate_counts
from privet.learning.simulation.sums import simulate_sums
from privet.learning.task_building.build import build_encoded
from privet.learning.task_building.settings import TaskSettings
from privet.protocol.features import Classes, Label, Numeric, Range
from privet.protocol.mechanisms import create_mechanism
from privet.protocol.partition import Partition
from privet.protocol.task import Task
from tests.learning.examples import complete

RARE, HOLDERS = 0.018, 20_000
CELLS = 8


def collected(
    epsilon: float, part: float, seed: int, share: float = RARE
) -> tuple[QuestionCounts, QuestionCounts]:
    """Reports of ``HOLDERS`` of whom a ``share`` is ill, spread over ``CELLS`` cells."""
    rng = np.random.default_rng(seed)
    ill = round(share * HOLDERS)
    asked = rng.hypergeometric(ill, HOLDERS - ill, round(part * HOLDERS))
    of_label = np.array([[round(part * HOLDERS) - asked, asked]])
    rest = np.array([HOLDERS - ill, ill]) - of_label[0]
    of_cells = np.stack([np.bincount(np.arange(n) % CELLS, minlength=CELLS) for n in rest], axis=1)
    found = []
    for counts in (of_cells, of_label):
        tree = complete(3) if len(counts) > 1 else Partition.root(1)
        mechanism = create_mechanism("subset", epsilon, len(counts), 2)
        sums = simulate_sums(mechanism, counts.astype(np.int64), rng, 0)
        found.append(QuestionCounts(tree, mechanism, sums, int(counts.sum())))
    return found[0], found[1]


@pytest.mark.parametrize(
    ("runs", "least", "squares"),
    [(100, 0.83, (0.5, 1.72)), pytest.param(400, 0.88, (0.73, 1.32), marks=pytest.mark.slow)],
)
@pytest.mark.parametrize(("epsilon", "part"), [(0.5, 0.2), (1.0, 0.2), (4.0, 0.1), (4.0, 0.5)])
def test_intervals_of_both_questions_cover(
    epsilon: float, part: float, runs: int, least: float, squares: tuple[float, float]
) -> None:
    """The share of all who reported, rare as it is, and the stated variance is that of the errors.

    At 95 % in each interval, ``least`` of the runs or fewer are in theirs once in a hundred
    thousand trials, and the mean of squares leaves its bounds as rarely.
    """
    errors, inside, narrower = [], 0, []
    for seed in range(runs):
        question, alone = collected(epsilon, part, seed)
        weights = np.array([-0.5, 0.5])
        rest = question.mean(np.broadcast_to(weights, (CELLS, 2)).copy())
        of_all, _ = joined(rest, question.holders, alone, weights)
        error = of_all.value + 0.5 - round(RARE * HOLDERS) / HOLDERS
        errors.append(error**2 / of_all.variance)
        inside += abs(error) <= 1.96 * of_all.variance**0.5
        narrower.append(of_all.variance / rest.variance)
    assert inside / runs > least
    assert squares[0] < np.mean(errors) < squares[1]
    assert np.mean(narrower) < 0.7


@pytest.mark.parametrize("epsilon", [0.5, 2.0, 4.0])
def test_the_variance_of_a_share_is_without_the_noise_of_misfits(epsilon: float) -> None:
    """To first order that of V_1 - p (V_0 + V_1), p held fixed; about a half it was up to a fifth
    more."""
    _, alone = collected(epsilon, 0.2, seed=1)
    yes, counts = np.array([0.0, 1.0]), alone.plausible
    centre = without_misfits(alone.mechanism, yes, alone.n, counts[0])
    covariance = alone.mechanism.slot_covariance(alone.n, counts)[0]
    assert (yes - centre) @ covariance @ np.ones(2) == pytest.approx(0.0, abs=1e-6 * alone.n)
    share = alone.mean((yes - centre)[None])
    contrast = yes - centre - share.value
    exact = contrast @ covariance @ contrast / alone.holders**2
    assert share.variance == pytest.approx(exact, rel=0.01)
    assert (centre > 0.3) == (epsilon < 1.0)
    halfway = alone.mean((yes - 0.5)[None])
    assert (halfway.variance > 1.1 * exact) == (epsilon > 1.0)


def test_the_noise_at_another_share_follows_from_the_draw() -> None:
    """Of 1.8 % at 6 %, where reports say as much: the draw of who is asked adds most of it."""
    weights, there = np.array([-0.5, 0.5]), {}
    spread = np.array([share * (1.0 - share) for share in (RARE, 0.06)])
    for share in (RARE, 0.06):
        collections = [collected(4.0, 0.2, seed, share) for seed in range(20)]
        rests = [q.mean(np.broadcast_to(weights, (CELLS, 2)).copy()) for q, _ in collections]
        both = [(r, q.holders, a, weights) for r, (q, a) in zip(rests, collections, strict=True)]
        noises = [joined(*each)[1](spread) for each in both]
        there[share] = (
            np.mean(noises, axis=0),
            np.mean([joined(*each)[0].variance for each in both]),
        )
    (noise, here), (_, wanted) = there.values()
    assert noise == pytest.approx([here, wanted], rel=0.05)
    assert here < 0.85 * wanted


@pytest.mark.parametrize("part", [0.05, 0.2, 0.6])
def test_the_best_weight_is_best(part: float) -> None:
    """Of a thousand weights none gives less variance, and what it gives is the formula's."""
    v_a, v_b, s = 3e-4 / part, 2e-3 / (1.0 - part), 2e-5
    d, weights = s / (part * (1.0 - part)), np.linspace(0.0, 1.0, 1001)
    variances = weights**2 * v_a + (1.0 - weights) ** 2 * v_b + (weights - part) ** 2 * d
    u, variance = best(v_a, v_b, part, s)
    assert variance == pytest.approx(variances.min(), rel=1e-4)
    assert u == pytest.approx(weights[variances.argmin()], abs=1e-3)


X = np.random.default_rng(0).random((200, 2))
NUMBERS = Range(name="y", low=0.0, high=10.0)
YES = Classes(name="y", classes=("no", "yes"))


def published(label: Label, **settings: object) -> tuple[Task, PublicData]:
    """A task in which 2/7 of the holders are asked for the label alone."""
    y = 10.0 * X[:, 0] if isinstance(label, Range) else (X[:, 0] > 0.7).astype(float)
    public = PublicData(X, y)
    features = tuple(Numeric(name=name, low=0.0, high=1.0) for name in "ab")
    given = {"grower": "max_edge", "depth": 3, "label_part": 2 / 7, **settings}
    asked = TaskSettings.model_validate({"name": "t", "label": "y", "epsilon": 1.0, **given})
    return build_encoded(asked, features, label, public), public


@pytest.mark.parametrize("label", [YES, NUMBERS], ids=["classes", "number"])
def test_a_task_with_a_label_part_asks_it_of_that_part(label: Label) -> None:
    """One more question, of one cell, at the full epsilon and not on top of it."""
    task, _ = published(label)
    assert task.parts == (5, 2)
    assert [tree.cells for tree in task.trees] == [8, 1]
    assert [question.epsilon for question in task.questions] == [1.0, 1.0]
    assert task.epsilon == 1.0
    assert task.log_ratio <= 1.0
    counts = simulate_counts(
        task,
        np.tile(X, (50, 1)),
        np.tile(X[:, 0] > 0.7, 50).astype(np.float64),
        np.random.default_rng(1),
    )
    assert 2600 < counts[1].n < 3120  # 5.7 standard deviations of 45 around 2857
    assert without_label_question(counts) == ([counts[0]], counts[1])
    assert without_label_question(counts[::-1]) == (counts[::-1], None)
