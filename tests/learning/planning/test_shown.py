"""Plans that compare what is shown."""

from functools import cache
from typing import Any

import numpy as np
import pytest

from privet.learning.planning import plan
from privet.learning.planning.outcome import Plan

ROWS, HOLDERS = 300, 4000


def public() -> dict[str, Any]:
    rng = np.random.default_rng(4)
    x = rng.random((ROWS, 3))
    y = rng.random(ROWS) < 1.0 / (1.0 + np.exp(-6.0 * (x[:, 0] + x[:, 1] - 1.0)))
    columns: dict[str, Any] = {f"x{i}": x[:, i] for i in range(3)}
    return columns | {"ill": ["yes" if each else "no" for each in y]}


@cache
def planned(shown: tuple[str, ...]) -> Plan:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("privet.learning.planning.planner.DRAWS", 2)  # gains are not looked at
        return plan(
            public(), label="ill", epsilon=1.0, holders=HOLDERS, target_shift=0.2, shown=list(shown)
        )


@pytest.mark.slow
def test_a_plan_compares_none_shown_the_chosen_and_all() -> None:
    """In that order, each with its own cells; the plan itself is for the chosen."""
    hidden, mine, every = planned(("x0",)).showing
    assert (hidden.columns, mine.columns, every.columns) == ((), ("x0",), ("x0", "x1", "x2"))
    assert hidden.shown_cells == 1 < mine.shown_cells
    assert every.shown_cells == every.cells
    assert mine.here == planned(("x0",)).here
    assert mine.stop_after == planned(("x0",)).stop_after


@pytest.mark.slow
def test_showing_more_takes_fewer_reports() -> None:
    """A quarter and less, in tasks planned alike; as many tell overall figures better."""
    hidden, _, every = planned(("x0",)).showing
    assert 4 * every.stop_after < hidden.stop_after
    assert every.here.half_width < hidden.here.half_width / 2


@pytest.mark.slow
def test_with_all_shown_there_are_two_to_compare() -> None:
    """The chosen columns are all."""
    found = planned(("x0", "x1", "x2"))
    assert [len(each.columns) for each in found.showing] == [0, 3]
    (compared,) = (answer for answer in found.answers if "hidden" in answer)
    assert "reports with everything hidden; " in compared
    assert "the answer is changed at random" in found.board
    assert "both of one such group" in found.board


def test_nothing_shown_compares_nothing() -> None:
    """A plan of before: no sentence, no paragraph about groups."""
    found = planned(())
    assert found.showing == ()
    assert not any("shown" in answer and "With " in answer for answer in found.answers)
    assert "group" not in found.board


@pytest.mark.slow
@pytest.mark.parametrize("crowd", [20, 200])
def test_crowds_bound_the_groups(crowd: int) -> None:
    """More people in a group are fewer groups."""
    found = plan(
        public(),
        label="ill",
        epsilon=1.0,
        holders=HOLDERS,
        shown=["x0", "x1", "x2"],
        crowd=crowd,
    )
    assert found.showing[-1].shown_cells <= HOLDERS / crowd
