"""What a plan says of changes between waves is what panels then show."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from privet.learning.core.counts import QuestionCounts
from privet.learning.core.public_data import Floats
from privet.learning.figures.compare import over_time
from privet.learning.planning import Plan, plan
from privet.learning.planning.outcome import PanelPlan
from privet.learning.planning.planner import POWER, Planner
from privet.learning.simulation import simulate_counts
from privet.protocol.errors import InvalidRequest
from privet.protocol.limits import TASK_CAP

from .test_planner import QUICK, halves, settings

WAVES = 4
SHARES = np.array([0.3, 0.5])
"""Of label 1, in each half of the square."""


def panel_of(planner: Planner, mode: Any) -> PanelPlan:
    return planner.panel(WAVES, mode, 0.05, POWER)


def collected(
    planner: Planner, p: Floats, answers: Floats, side: NDArray[np.int64], rng: np.random.Generator
) -> list[QuestionCounts]:
    """The counts of a wave in which each holder's label is 1 below ``p``."""
    X = np.stack([0.25 + 0.5 * side, rng.random(len(side))], axis=1)
    looks = planner.settings.looks
    planned = planner.settings.holders if looks == "many" else None
    y = (answers < p[side]).astype(float)
    counts = simulate_counts(planner.fair.tasks.task(planner.settings), X, y, rng)
    return [replace(question, planned=planned) for question in counts]


def listed(planner: Planner, change: float, cell: int | None, runs: int, mode: str) -> list[Any]:
    """What two waves list, between which a share changed: of all holders, or of one cell."""
    found, holders = [], planner.settings.holders
    shares = SHARES + (change if cell is None else change * (np.arange(2) == cell))
    for seed in range(runs):
        rng = np.random.default_rng(seed)
        waves = {}
        for number, p in enumerate((SHARES, shares), 1):
            if number == 1 or mode == "rotate":  # who repeats is the same person
                side, answers = rng.integers(0, 2, holders), rng.random(holders)
            waves[number] = collected(planner, p, answers, side, rng)
        changes = over_time(planner.label, waves, WAVES).changes
        found.append([each.cell for each in changes])
    return found


def found_as_stated(planner: Planner, runs: int, mode: Any, *, more: float) -> None:
    """Changes that a plan states are listed about as often as it says, and none that is not."""
    (stated, *_) = panel_of(planner, mode).modes
    overall, in_cell = stated.overall_change, stated.cell_change
    assert overall is not None
    assert in_cell is not None
    chance = 4.9 * np.sqrt(POWER * (1.0 - POWER) / runs)
    for change, cell in ((overall, None), (in_cell, 1)):
        often = np.mean([cell in each for each in listed(planner, change, cell, runs, mode)])
        assert -chance < often - POWER < chance + more
    false = np.mean([bool(each) for each in listed(planner, 0.0, None, runs, mode)])
    assert false < 0.05 + 4.9 * np.sqrt(0.05 * 0.95 / runs)


def small(looks: str = "once", **given: Any) -> Planner:
    data = halves(400, low=0.3, high=0.5)
    data["a"] = 0.25 + 0.5 * (data["a"] > 0.5)
    chosen = {"grower": "cart", "depth": 1, "epsilon": 1.0, "looks": looks, **given}
    return Planner(settings(**chosen), data, "weighted", 0)


@pytest.mark.usefixtures("quick")
def test_changes_between_waves_are_found_as_often_as_stated() -> None:
    found_as_stated(small(holders=5_000), 40, "rotate", more=0.0)


@pytest.mark.slow
@pytest.mark.parametrize(("looks", "mode"), [("once", "rotate"), ("many", "repeat")])
@pytest.mark.usefixtures("quick")
def test_over_many_panels_changes_are_found_as_often_as_stated(looks: str, mode: str) -> None:
    """A little more often, since cells that change with all holders are listed beside them, and
    who answers twice is a sample once."""
    found_as_stated(small(looks), 200, mode, more=0.05)


@pytest.mark.usefixtures("quick")
def test_rotating_and_repeating_are_compared_at_one_lifetime() -> None:
    """Both modes of a panel say the same of both, whichever was planned; fewer people who rotate
    than who repeat are enough, and one step fewer is not."""
    planner = small(holders=5_000)
    rotating = panel_of(planner, "rotate")
    assert (rotating.waves, rotating.people, rotating.lifetime) == (4, 20_000, 1.0)
    first, second = rotating.modes
    assert (first.mode, first.holders, first.epsilon) == ("rotate", 5_000, 1.0)
    assert (second.mode, second.holders, second.epsilon) == ("repeat", 20_000, 0.25)
    repeating = panel_of(small(holders=20_000, epsilon=0.25), "repeat")
    assert replace(repeating, modes=repeating.modes[::-1]) == rotating
    some, more = first.people_needed, second.people_needed
    assert first.overall_change < second.overall_change  # type: ignore[operator]
    assert some is not None
    assert some < (more or 0)
    for people, enough in ((some, True), (0.95 * some, False)):
        asked = panel_of(small(holders=round(people / WAVES)), "rotate").modes[0]
        assert (asked.power >= POWER) == enough


@pytest.mark.usefixtures("quick")
def test_no_mode_is_offered_whose_message_devices_refuse() -> None:
    """The lifetime of a panel that repeats may be more than a device sends in one message."""
    found = panel_of(small(holders=20_000, epsilon=0.75), "repeat")
    assert found.lifetime == WAVES * 0.75 > TASK_CAP
    assert [each.mode for each in found.modes] == ["repeat"]


@pytest.mark.usefixtures("quick")
def test_a_plan_says_what_a_panel_shows() -> None:
    found = planned(waves=4)
    assert found.panel is not None
    text = " ".join(found.details)
    assert "In 4 waves 80\u202f000 people spend a lifetime ε of 2 each" in text
    assert "If they rotate, 20\u202f000 in each wave at ε = 2: " in text
    assert "If they repeat, 80\u202f000 in each wave at ε = 0.5: " in text
    assert f"it takes {found.panel.modes[0].people_needed:,}".replace(",", "\u202f") in text
    assert "listed at whichever look you stop, one in twenty" in text
    once = " ".join(replace(found, looks="once").details)
    assert "listed at one look, set beforehand, one in twenty" in once
    assert "We ask about 80\u202f000 people" in found.board
    assert "draws one of 4 waves and sends one message in it, of at most" in found.board
    assert "at most 89\u00a0% sure" in found.board
    repeating = replace(found.panel, modes=found.panel.modes[1:], lifetime=8.0, people=20_000)
    board = replace(found, panel=repeating).board
    assert "in each of 4 waves, of at most" in board
    assert "ε = 2 each, 8 in all). Somebody who sees all messages of a device" in board
    assert "at most 99.97\u00a0% sure" in board
    assert found.to_document()["panel"]["modes"][1]["mode"] == "repeat"


def planned(**options: Any) -> Plan:
    return plan(
        halves(100), **{"label": "y", "holders": 20_000, "epsilon": 2.0, **QUICK, **options}
    )


@pytest.mark.usefixtures("quick")
def test_with_disclosed_columns_a_panel_only_rotates() -> None:
    found = panel_of(small(disclosed=("a",), hidden_depth=0), "rotate")
    assert [each.mode for each in found.modes] == ["rotate"]


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"waves": 1}, "from 2 to 64 waves, not 1"),
        ({"waves": 65}, "from 2 to 64 waves, not 65"),
        ({"waves": 3, "central_epsilon": 0.2}, "plan waves without it"),
        ({"waves": 3, "mode": "repeat", "disclosed": ["a"]}, "In a panel that repeats"),
    ],
)
def test_impossible_panels_are_refused(options: dict[str, Any], says: str) -> None:
    with pytest.raises(InvalidRequest, match=says):
        planned(**options)
