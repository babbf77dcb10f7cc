"""Changes between waves: what is listed is there, and its interval holds."""

import re

import numpy as np
import pytest

from privet.learning.core.amounts import amount
from privet.learning.core.counts import QuestionCounts
from privet.learning.figures.compare import over_time
from privet.learning.figures.results import OverTime
from privet.learning.simulation.sums import simulate_sums
from privet.protocol.features import Classes, Range
from privet.protocol.mechanisms.registry import create_mechanism
from privet.protocol.partition import Partition
from tests.learning.drift.test_waves import CELLS, TREE

LABEL = Classes(name="ill", classes=("no", "yes"))


def wave(
    rng: np.random.Generator,
    shares: list[float],
    holders: int,
    planned: float | None,
    epsilon: float = 2.0,
    mechanism_name: str = "subset",
) -> list[QuestionCounts]:
    """Counts of one wave with a share of yes in each cell."""
    mechanism = create_mechanism(mechanism_name, epsilon, CELLS, 2)
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
    assert "The share of yes rose from 3" in over.sentence
    assert "in wave 3, by between" in over.sentence
    assert "1 group has changed since then beyond chance" in over.sentence
    assert [line.name for line in over.lines] == ["no", "yes"]
    assert [each.wave for each in over.lines[1].figures] == [1, 2, 3]
    assert over.comparisons == 5 * 1 * (1 + CELLS)


def missed_lines(epsilon: float, holders: int, seeds: int) -> tuple[int, int]:
    """Of the two classes' lines over two waves, the figures whose interval misses the population's
    share, and all of them; who answers a wave is drawn at random."""
    missed = figures = 0
    for seed in range(seeds):
        rng = np.random.default_rng(seed)
        shares = [0.2, 0.3, 0.4, 0.3]
        waves = {n: wave(rng, shares, holders, None, epsilon) for n in (1, 2)}
        for line, truth in zip(over_time(LABEL, waves, 2).lines, (0.7, 0.3), strict=True):
            missed += sum(not each.low <= truth <= each.high for each in line.figures)
            figures += len(line.figures)
    return missed, figures


def test_lines_hold_the_share_of_those_who_might_have_answered() -> None:
    """At an epsilon at which who answers moves a figure more than noise does, so that intervals of
    noise alone miss four in ten: of 40 pairs more than nine miss once in 10^5 times."""
    missed, figures = missed_lines(6.0, 1_000, 20)
    assert figures == 80
    assert missed <= 18


@pytest.mark.slow
@pytest.mark.parametrize(("epsilon", "holders"), [(1.0, 20_000), (2.0, 2_000), (6.0, 300)])
def test_lines_miss_the_share_of_the_population_in_one_in_twenty(
    epsilon: float, holders: int
) -> None:
    """Within three standard errors of 400 pairs."""
    missed, figures = missed_lines(epsilon, holders, 200)
    assert missed / figures < 0.05 + 3.0 * (0.05 * 0.95 / 400) ** 0.5


@pytest.mark.parametrize("planned", [20_000, None])
def test_one_figure_of_a_wave_has_one_value(planned: float | None) -> None:
    """A change is between the values that the lines show, and its interval holds it."""
    shares, rng = [[0.2, 0.3, 0.0, 0.3], [0.5, 0.6, 1.0, 0.6]], np.random.default_rng(1)
    waves = {
        n: wave(rng, each, 20_000, planned, mechanism_name="projective")
        for n, each in enumerate(shares, 1)
    }
    over = over_time(LABEL, waves, 2)
    raw = [waves[n][0].counts.sum() / waves[n][0].holders for n in waves]
    assert min(abs(each - 1.0) for each in raw) > 0.001, "Shares add up to 1 as they are."
    values = {
        (line.name, each.wave, line.cell): each.value
        for line in (*over.lines, *over.in_cells)
        for each in line.figures
    }
    assert {each.cell for each in over.changes} > {None, 2}
    for each in over.changes:
        assert each.before == values[each.name, each.since, each.cell]
        assert each.after == values[each.name, each.wave, each.cell]
        assert 0.0 < each.low <= each.after - each.before <= each.high <= 1.0


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
    said = re.fullmatch(
        r"The change since wave 1 may be chance; a change of ([\d.]+) points or "
        r"more would have shown 8 times in 10\.",
        over.sentence,
    )
    assert said
    assert 1.0 < float(said[1]) < 50.0
    assert found([same]).sentence == "One wave has answers so far: a change shows once another has."
    assert over_time(LABEL, {}, planned=2).lines == ()


@pytest.mark.parametrize("planned", [2_000, None])
@pytest.mark.parametrize(("share", "epsilon"), [(0.3, 2.0), (0.01, 8.0)])
def test_a_change_from_the_size_that_is_said_on_mostly_shows(
    share: float, epsilon: float, planned: int | None
) -> None:
    """With the frequency of 8 in 10 that is stated, within four standard errors of 60 panels; and
    at a third of that size mostly not, so that the size says something. A rare class varies more
    where it has become less rare."""
    before = [share] * 4

    def panel(change: float, seed: int) -> OverTime:
        rng = np.random.default_rng(seed)
        shares = (before, [each + change for each in before])
        waves = {n: wave(rng, each, 2_000, planned, epsilon) for n, each in enumerate(shares, 1)}
        return over_time(LABEL, waves, planned=2)

    said = re.search(r"a change of ([\d.]+) points", panel(0.0, 0).sentence)
    assert said
    size, seeds = float(said[1]) / 100.0, 60
    shown = sum("rose" in panel(size, seed).sentence for seed in range(seeds))
    assert shown / seeds > 0.8 - 4.0 * (0.8 * 0.2 / seeds) ** 0.5
    assert sum("rose" in panel(size / 3.0, seed).sentence for seed in range(seeds)) < seeds / 3


def test_a_change_that_could_not_have_shown_is_said_to_be_one() -> None:
    rng = np.random.default_rng(0)
    few = {n: wave(rng, [0.3] * 4, 10, None) for n in (1, 2)}
    assert (
        "; no change, however large, would have shown" in over_time(LABEL, few, planned=2).sentence
    )


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
    assert said[2].startswith("The share of yes rose from 4")
    assert over.sentence.startswith(said[None])
    assert found([shares[0], shares[0]]).in_cells == ()


def test_a_change_of_large_numbers_is_written_as_numbers_are() -> None:
    """Incomes are thousands, and no powers of ten."""
    label = Range(name="income", low=0.0, high=200_000.0)
    rng = np.random.default_rng(1)
    waves = {n: wave(rng, [share] * CELLS, 20_000, None) for n, share in ((1, 0.2), (2, 0.6))}
    over = over_time(label, waves, planned=2)
    assert "e+" not in "".join(each.sentence for each in over.changes)
    (change,) = (each for each in over.changes if each.cell is None)
    before, low = amount(change.before), amount(change.low)
    assert over.sentence.startswith(f"The mean rose from {before} in wave 1 to ")
    assert f"by between {low} and " in over.sentence
