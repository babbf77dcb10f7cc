"""Overall figures are nearly as sure as those of a survey that asks for the label alone."""

from math import exp

import pytest

from privet.learning.public_model.distilled import distilled_depth
from privet.learning.task_building.label_part import LEAST, MOST, chosen_part
from privet.learning.task_building.settings import TaskSettings
from scripts.label_part import Widths

HOLDERS = 300, 10**4, 10**5, 10**6, 10**7


@pytest.mark.parametrize("epsilon", [0.25, 0.5, 1.0, 2.0, 4.0, 8.0])
@pytest.mark.parametrize("slots", [2, 3, 5])
def test_the_default_part_bounds_the_width_of_overall_figures(epsilon: float, slots: int) -> None:
    """At most 1.7 times the error of asking everybody that alone, and 1.45 with a half; and of a
    share of one half at most 1.7 times the interval of textbook randomized response; from 300
    holders to ten millions, exactly, by the mechanisms' variances."""
    settings = TaskSettings(name="t", label="y", epsilon=epsilon)
    sizes = {2 ** distilled_depth(n, epsilon, slots=slots) for n in HOLDERS} - {1}
    parts = {cells: chosen_part(settings, cells, slots) for cells in sizes}
    assert all(parts.values()) or epsilon > 7.0
    for cells, part in ((cells, part) for cells, part in parts.items() if part):
        for share in (0.1, 0.5):
            width = Widths(epsilon, cells, part, share, slots).of_people
            assert width <= 1.7
            assert Widths(epsilon, cells, 0.5, share, slots).of_people <= 1.45
            assert width < Widths(epsilon, cells, 0.0, share, slots).of_people
        assert Widths(epsilon, cells, part, slots=slots).of_textbook <= 1.7
        less = Widths(epsilon, cells, part - 0.01, slots=slots).of_textbook
        assert part == LEAST or less > 1.7


@pytest.mark.parametrize("epsilon", [6.0, 8.0, 10.0, 12.0])
@pytest.mark.parametrize("slots", [2, 5])
def test_nobody_is_asked_the_label_alone_where_cells_have_no_noise(
    epsilon: float, slots: int
) -> None:
    """There all cells together give a share with at most 2 % more error than that question."""
    settings = TaskSettings(name="t", label="y", epsilon=epsilon)
    parts = {2**depth: chosen_part(settings, 2**depth, slots) for depth in range(1, 16)}
    assert set(parts.values()) == {0.0, LEAST} or epsilon < 7.0
    for cells in (cells for cells, part in parts.items() if not part):
        for share in (0.1, 0.5):
            assert Widths(epsilon, cells, 0.0, share, slots).of_people <= 1.02


def test_no_more_than_a_half_is_asked_the_label_alone() -> None:
    """However small epsilon is."""
    settings = TaskSettings(name="t", label="y", epsilon=0.05)
    assert chosen_part(settings, 1024, 2) == MOST


@pytest.mark.parametrize("epsilon", [0.25, 0.5, 1.0, 2.0, 4.0, 6.0])
@pytest.mark.parametrize("slots", [2, 3, 5])
def test_where_columns_are_disclosed_a_part_is_asked_alone_only_beyond_the_bound(
    epsilon: float, slots: int
) -> None:
    """By the cells that the largest stratum hides: with two there is often no part, and where there
    is none, of more than one, the interval is within 1.7 times the textbook's anyway."""
    settings = TaskSettings(name="t", label="y", epsilon=epsilon, disclosed=("x",))
    parts = {2**depth: chosen_part(settings, 2**depth, slots) for depth in range(8)}
    assert parts[1] == 0.0
    assert max(parts.values()) >= LEAST or epsilon > 5.0
    for hidden, part in parts.items():
        assert Widths(epsilon, hidden, part, slots=slots).of_textbook <= 1.7
        assert Widths(epsilon, hidden, part, slots=slots).of_people <= 1.7
        without = Widths(epsilon, hidden, 0.0, slots=slots)
        within = max(without.of_textbook, without.of_people) <= 1.7
        assert (part == 0.0) == (within or hidden * slots <= 0.01 * exp(epsilon))
