"""Tests of the phase of a collection, and of the moves that it allows."""

import pytest

from privet.protocol.errors import IllegalMove
from privet.protocol.lifecycle import (
    MOVES,
    Move,
    Phase,
    TaskState,
    check_move,
    phase_of,
    phase_of_panel,
)

DRAFT, OPEN, CLOSED = TaskState.DRAFT, TaskState.OPEN, TaskState.CLOSED


@pytest.mark.parametrize(
    ("state", "filled", "phases"),
    [
        (DRAFT, None, ["draft", "draft", "over"]),
        (OPEN, None, ["not-yet-open", "open", "over"]),
        (CLOSED, None, ["closed", "closed", "over"]),
        (OPEN, 150.0, ["full", "full", "full"]),
        (CLOSED, 150.0, ["full", "full", "full"]),
    ],
)
def test_a_phase_is_by_state_dates_and_quota(
    state: TaskState, filled: float | None, phases: list[str]
) -> None:
    """At the second in which it opens it is open, and at that in which it closes over."""
    for now, phase in zip((99.9, 100.0, 200.0), phases, strict=True):
        assert phase_of(state, 100, 200, filled, now) == phase
    assert phase_of(state, None, None, None, 0.0).value == state.value


@pytest.mark.parametrize(
    ("waves", "phase"),
    [
        (("over", "open", "not-yet-open"), "open"),
        (("over", "not-yet-open", "deleted"), "not-yet-open"),
        (("draft", "draft"), "draft"),
        (("over", "closed"), "closed"),
        (("over", "full", "deleted"), "over"),
        ((), "over"),
    ],
)
def test_a_panel_stands_as_its_waves_do(waves: tuple[str, ...], phase: str) -> None:
    assert phase_of_panel([Phase(wave) for wave in waves]) == phase


def test_what_has_ended_for_good_is_not_opened_again() -> None:
    """Every other phase that takes no reports allows it, or will be open by itself."""
    final = {phase for phase in Phase if phase.is_final}
    assert {phase for phase in Phase if phase.has_ended} - final == {Phase.CLOSED}
    assert {phase for phase, moves in MOVES.items() if Move.OPEN in moves} == {
        Phase.DRAFT,
        Phase.CLOSED,
    }
    for phase, why in ((Phase.FULL, "quota"), (Phase.OVER, "closing time has passed")):
        with pytest.raises(IllegalMove, match=why):
            check_move(phase, Move.OPEN)
