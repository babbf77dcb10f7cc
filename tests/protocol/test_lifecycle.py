import pytest

from privet.protocol.errors import IllegalMove
from privet.protocol.lifecycle import MOVES, Move, State, after


def test_an_illegal_move_is_refused_with_the_allowed_ones() -> None:
    """A draft cannot be closed; the error lists what it can do, and for a deleted task nothing."""
    for state, move, allowed in [
        (State.DRAFT, Move.CLOSE, "open, delete"),
        (State.DELETED, Move.OPEN, "nothing"),
    ]:
        with pytest.raises(IllegalMove, match=f"is {state} cannot {move}: it allows {allowed}"):
            after(state, move)


def test_every_state_is_reached_and_only_deletion_is_final() -> None:
    """A draft can reach every state, and only a deleted task has no moves."""
    reached = {State.DRAFT}
    for _ in State:
        reached |= {to for (start, _), to in MOVES.items() if start in reached}
    assert reached == set(State)
    assert set(State) - {state for state, _ in MOVES} == {State.DELETED}
