"""The lives of a task and of a report, each as one table, and why a task takes no report."""

from enum import StrEnum

from .calls import INVITATION_HEADER
from .errors import (
    IllegalMove,
    NotAdmitted,
    NotAuthorized,
    PrivetError,
    TaskNotOpen,
    problem_of,
)
from .task import Task


class TaskState(StrEnum):
    DRAFT = "draft"
    OPEN = "open"
    CLOSED = "closed"
    DELETED = "deleted"


class Move(StrEnum):
    """A move of a task, by an admin or by the clock."""

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


class ReportState(StrEnum):
    """The state of a report, as far as its holder or a relay knows."""

    DRAWN = "drawn"
    """Known only to its holder."""
    HELD = "held"
    """At a relay, which will deliver it."""
    COUNTED = "counted"
    REFUSED = "refused"
    """Refused for its content, or for how it was sent."""
    LOST = "lost"
    """Taken by a relay, and too late or too few to count."""


REPORT_MOVES: dict[tuple[ReportState, ReportState], str] = {
    (ReportState.DRAWN, ReportState.DRAWN): "nobody took it",
    (ReportState.DRAWN, ReportState.HELD): "a relay took it",
    (ReportState.DRAWN, ReportState.COUNTED): "the curator counted it",
    (ReportState.DRAWN, ReportState.REFUSED): "it was refused for what it is",
    (ReportState.HELD, ReportState.HELD): "the relay has it still",
    (ReportState.HELD, ReportState.COUNTED): "the curator counted it",
    (ReportState.HELD, ReportState.REFUSED): "the curator refused it",
    (ReportState.HELD, ReportState.LOST): "the relay could not deliver it in time",
    (ReportState.LOST, ReportState.HELD): "a relay took it once more",
    (ReportState.LOST, ReportState.COUNTED): "the curator counted it all the same",
    (ReportState.LOST, ReportState.LOST): "it was lost once more",
    (ReportState.REFUSED, ReportState.HELD): "a relay took it all the same",
    (ReportState.REFUSED, ReportState.COUNTED): "the curator counted it all the same",
    (ReportState.REFUSED, ReportState.REFUSED): "it was refused again",
}
"""The moves of a report from each state, and their causes. Other news changes nothing: a counted
report stays counted, and an attempt that nobody answered says nothing."""
LOSSES = {
    "task-not-open": "the collection had ended before the curator got it",
    "task-not-found": "the task was deleted",
    "too-few": "too few others were with it for anybody to hide among them",
}
"""Reasons for which a relay loses a report, in words."""
FOR_GOOD = frozenset(ReportState) - {state for state, _ in REPORT_MOVES}
"""The states that no news changes."""


def report_state_after(error: PrivetError) -> ReportState:
    """The state of a report after an attempt to send it ended in ``error``."""
    return ReportState.REFUSED if problem_of(error).final else ReportState.DRAWN


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
        f"{INVITATION_HEADER} (privet-holder answer --invitation)."
    )


def not_admitted() -> NotAdmitted:
    """The error for a batch of more reports than its admissions let in."""
    return NotAdmitted(
        "The batch has more new reports than invitations are held for the admissions that it "
        "names: nothing was taken. Ask for the same admissions again, then send the same batch."
    )
