"""Changes between waves: what is listed is there, and its interval holds."""

import numpy as np
import pytest

from privet.learning.core.counts import QuestionCounts
from privet.learning.findings.changes import OverTime, over_time
from privet.learning.simulation.sums import simulate_sums
from privet.protocol.features import Classes, Range
from privet.protocol.mechanisms.registry import create_mechanism
from privet.protocol.partition import Partition
from tests.learning.drift.test_waves import CELLS, TREE

LABEL = Classes(name="ill", classes=("no", "yes"))


def wave(
    rng: np.random.Generator, shares: list[float], holders: int, planned: float | None
) -> list[QuestionCounts]:
    """Counts of one wave at epsilon 2 with a share of yes in each cell."""
    mechanism = create_mechanism("subset", 2.0, CELLS, 2)
    p = np.array(shares)
    counts = rng.multinomial(holders, np.stack([1 - p, p], axis=1).ravel() / CELLS)
    sums = simulate_sums(mechanism, counts.reshape(CELLS, 2), rng)
    return [QuestionCounts(TREE, mechanism, sums, holders, planned=planned)]


def found(shares: list[list[float]], seed: int = 1, planned: float | None = 20_000) -> OverTime:
    rng = np.random.default_rng(seed)
    waves = {n: wave(rng, each, 20_000, planned) for n, each in enumerate(shares, 1)}
    return over_time(LABEL, waves, planned=4)


@pytest.mark.parametrize("planned", [20_000, None])
def test_a_change_is_listed_with_both_ends(planned: float | None) -> None:
    """Since the last wave and since the first, of all holders and of the cell that moved, with an
    interval that holds the truth; the sentence says it."""
    low, high = [0.2, 0.3, 0.4, 0.3], [0.2, 0.3, 0.9, 0.3]
    over = found([low, low, high], planned=planned)
    listed = {(each.since, each.wave, each.cell) for each in over.changes}
    assert listed == {(1, 3, None), (2, 3, None), (1, 3, 2), (2, 3, 2)}
    for each in over.changes:
        truth = 0.5 if each.cell == 2 else 0.125
        assert 0.0 < each.low < truth < each.high
        assert each.name == "yes"
    assert "yes rose from 3" in over.sentence
    assert "in wave 3, by between" in over.sentence
    assert "1 cell has certainly changed" in over.sentence
    assert [line.name for line in over.lines] == ["no", "yes"]
    assert [each.wave for each in over.lines[1].figures] == [1, 2, 3]
    assert over.comparisons == 5 * 1 * (1 + CELLS)


def test_numbers_of_those_asked_for_the_label_alone_count_too() -> None:
    """Half are asked for a number alone: figures of all are theirs too, and so are more precise,
    and their intervals hold."""
    label = Range(name="score", low=0.0, high=10.0)
    mechanisms = [create_mechanism("subset", 1.0, cells, 2) for cells in (CELLS, 1)]
    trees = (TREE, Partition.root(1))
    held = 0
    for seed in range(10):
        rng = np.random.default_rng(seed)
        waves: dict[int, list[QuestionCounts]] = {}
        for number in (1, 2):
            waves[number] = []
            for tree, mechanism in zip(trees, mechanisms, strict=True):
                p = np.tile([0.7, 0.3], (tree.cells, 1)) / tree.cells
                counts = rng.multinomial(5_000, p.ravel()).reshape(tree.cells, 2)
                sums = simulate_sums(mechanism, counts, rng)
                waves[number].append(QuestionCounts(tree, mechanism, sums, 5_000))
        cells_alone = {number: questions[:1] for number, questions in waves.items()}
        (line,), (without,) = (over_time(label, each, 2).lines for each in (waves, cells_alone))
        for one, other in zip(line.figures, without.figures, strict=True):
            assert (one.reports, other.reports) == (10_000, 5_000)
            assert one.high - one.low < 0.8 * (other.high - other.low)
            held += one.low < 3.0 < one.high
    assert held >= 20 - 7  # of 20 intervals eight miss once in 10^5 times


def test_what_did_not_change_is_not_listed() -> None:
    same = [0.2, 0.3, 0.4, 0.3]
    over = found([same, same, same])
    assert over.changes == ()
    assert over.sentence == "No change of all holders since wave 1 is certain."
    assert found([same]).sentence == "One wave has reports so far."
    assert over_time(LABEL, {}, planned=2).lines == ()


@pytest.mark.slow
def test_of_listed_changes_few_are_false_and_intervals_hold() -> None:
    """Over three waves of which one cell changes in the last: of what is listed one in twenty is
    false in expectation, and an interval misses as rarely; of one look, where both are
    narrowest."""
    low, high = [0.2, 0.3, 0.4, 0.3], [0.2, 0.3, 0.75, 0.3]
    false, missed, listed, parts = 0, 0, 0, []
    for seed in range(400):
        over = found([low, low, high], seed, planned=None)
        wrong = [e for e in over.changes if e.wave != 3 or e.cell not in (None, 2)]
        right = [e for e in over.changes if e not in wrong]
        outside = [e for e in right if not e.low <= (0.35 if e.cell == 2 else 0.0875) <= e.high]
        false, missed, listed = false + len(wrong), missed + len(outside), listed + len(right)
        parts.append(len(wrong) / max(len(over.changes), 1))
    assert listed > 1_200
    assert np.mean(parts) < 0.05 + 3.0 * np.std(parts) / 20.0
    assert missed / listed < 0.05 + 0.015


@pytest.mark.parametrize("planned", [20_000, None])
def test_a_cell_that_changed_has_a_line(planned: float | None) -> None:
    """With intervals that hold the truth in each wave; one that did not change has none."""
    shares = [[0.2, 0.3, 0.4, 0.3], [0.2, 0.3, 0.9, 0.3]]
    over = found(shares, planned=planned)
    (line,) = over.in_cells
    assert (line.cell, line.name) == (2, "yes")
    assert [each.wave for each in line.figures] == [1, 2]
    for each, truth in zip(line.figures, (0.4, 0.9), strict=True):
        assert each.low < truth < each.high
        assert 0.0 <= each.low < each.value < each.high <= 1.0
    said = {each.cell: each.sentence for each in over.changes}
    assert said[2].startswith("yes rose from 4")
    assert over.sentence.startswith(said[None])
    assert found([shares[0], shares[0]]).in_cells == ()
