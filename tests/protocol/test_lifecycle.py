import itertools

import pytest

from privet.protocol.errors import IllegalMove
from privet.protocol.lifecycle import MOVES, Move, State, after


@pytest.mark.parametrize(("state", "move"), [*itertools.product(State, Move)])
def test_the_table_is_the_only_rule(state: State, move: Move) -> None:
    """A move in the table leads where it says; every other raises and names what is allowed."""
    if (state, move) in MOVES:
        assert after(state, move) is MOVES[state, move]
        return
    with pytest.raises(IllegalMove, match=f"A task that is {state} cannot {move}") as caught:
        after(state, move)
    for allowed in (m for s, m in MOVES if s is state):
        assert allowed.value in caught.value.detail


def test_every_state_is_reached_and_only_deletion_is_final() -> None:
    """A task starts as a draft, can get anywhere, and leaves every state but the last."""
    reached = {State.DRAFT}
    for _ in State:
        reached |= {to for (start, _), to in MOVES.items() if start in reached}
    assert reached == set(State)
    assert {state for state in State if all(s is not state for s, _ in MOVES)} == {State.DELETED}
