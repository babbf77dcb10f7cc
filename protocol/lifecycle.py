"""The life of a task as one table, and why it takes no report."""

from enum import StrEnum

from .errors import IllegalMove, NotAuthorized, TaskNotOpen
from .task import Task


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


def not_open(task: Task) -> TaskNotOpen:
    """The error for a report to a task that takes none now."""
    opens, closes = (
        "not set" if at is None else f"Unix time {at}" for at in (task.opens, task.closes)
    )
    return TaskNotOpen(
        "The task takes no reports now: it is not open, or outside its dates (opens: "
        f"{opens}, closes: {closes}). Keep the report and send the same bytes when it is open."
    )


def not_invited() -> NotAuthorized:
    """The error for a report without an unused invitation, where one is needed."""
    return NotAuthorized(
        "This task counts invited reports only: send an unused invitation in the header "
        "Privet-Invitation (privet-holder answer --invitation)."
    )
