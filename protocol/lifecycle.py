"""The life of a task as one table; a move that is not in it is illegal."""

from enum import StrEnum

from privet.protocol.errors import IllegalMove


class State(StrEnum):
    """The state of a task."""

    DRAFT = "draft"
    OPEN = "open"
    CLOSED = "closed"
    DELETED = "deleted"


class Move(StrEnum):
    """What an admin or the clock does to a task."""

    OPEN = "open"
    CLOSE = "close"
    DELETE = "delete"


MOVES: dict[tuple[State, Move], State] = {
    (State.DRAFT, Move.OPEN): State.OPEN,
    (State.DRAFT, Move.DELETE): State.DELETED,
    (State.OPEN, Move.CLOSE): State.CLOSED,
    (State.OPEN, Move.DELETE): State.DELETED,
    (State.CLOSED, Move.OPEN): State.OPEN,
    (State.CLOSED, Move.DELETE): State.DELETED,
}


def after(state: State, move: Move) -> State:
    """The state that ``move`` leads to; raises ``IllegalMove`` where the table has no entry."""
    if (state, move) not in MOVES:
        allowed = ", ".join(m.value for (s, m) in MOVES if s == state) or "nothing"
        raise IllegalMove(f"A task that is {state} cannot {move}: it allows {allowed}.")
    return MOVES[state, move]
