"""The life of a task as one table, and why it takes no report."""

from enum import StrEnum

from .errors import IllegalMove, NotAdmitted, NotAuthorized, TaskNotOpen
from .task import Task


class TaskState(StrEnum):
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


MOVES: dict[tuple[TaskState, Move], TaskState] = {
    (TaskState.DRAFT, Move.OPEN): TaskState.OPEN,
    (TaskState.DRAFT, Move.DELETE): TaskState.DELETED,
    (TaskState.OPEN, Move.CLOSE): TaskState.CLOSED,
    (TaskState.OPEN, Move.DELETE): TaskState.DELETED,
    (TaskState.CLOSED, Move.OPEN): TaskState.OPEN,
    (TaskState.CLOSED, Move.DELETE): TaskState.DELETED,
}


def after(state: TaskState, move: Move) -> TaskState:
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


def not_admitted() -> NotAdmitted:
    """The error for a batch of more reports than its admissions let in."""
    return NotAdmitted(
        "The batch has more new reports than invitations are held for the admissions that it "
        "names: nothing was taken. Ask for the same admissions again, then send the same batch."
    )
