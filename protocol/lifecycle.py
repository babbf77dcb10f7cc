"""The lives of a task and of a report, each as one table; a collection's phase at one time."""

from collections.abc import Collection
from enum import StrEnum
from typing import TYPE_CHECKING

from .calls import INVITATION_HEADER
from .errors import (
    IllegalMove,
    NotAdmitted,
    NotAuthorized,
    PrivetError,
    QuotaReached,
    TaskNotOpen,
    problem_of,
)
from .limits import LATE_SECONDS

if TYPE_CHECKING:
    from .task import Task


class TaskState(StrEnum):
    """The state of a task that an admin set last."""

    DRAFT = "draft"
    OPEN = "open"
    CLOSED = "closed"
    DELETED = "deleted"


class Move(StrEnum):
    """A move of a task by an admin."""

    OPEN = "open"
    CLOSE = "close"
    DELETE = "delete"

    @property
    def state(self) -> TaskState:
        """The state that it leads to."""
        states = {Move.OPEN: TaskState.OPEN, Move.CLOSE: TaskState.CLOSED}
        return states.get(self, TaskState.DELETED)


class Phase(StrEnum):
    """The phase of a collection at one time, by its state, dates and quota."""

    DRAFT = "draft"
    NOT_YET_OPEN = "not-yet-open"
    OPEN = "open"
    FULL = "full"
    """Its quota of reports is reached."""
    OVER = "over"
    """Its closing time has passed."""
    CLOSED = "closed"
    DELETED = "deleted"

    @property
    def in_words(self) -> str:
        """The phase as people read it."""
        words = {Phase.NOT_YET_OPEN: "not open yet", Phase.FULL: "all answers are in"}
        return words.get(self, self.value)

    @property
    def has_ended(self) -> bool:
        """True if nobody can answer any more, unless an admin opens it again."""
        return self is Phase.CLOSED or self.is_final

    @property
    def is_final(self) -> bool:
        """True if no new report can count any more, whatever an admin does."""
        return self in {Phase.FULL, Phase.OVER, Phase.DELETED}


def phase_of(
    state: str, opens: int | None, closes: int | None, filled: float | None, now: float
) -> Phase:
    """The phase at ``now`` of a task with these dates, whose quota was reached at ``filled``."""
    if filled is not None:
        return Phase.FULL
    if closes is not None and now >= closes:
        return Phase.OVER
    is_early = opens is not None and now < opens
    return Phase.NOT_YET_OPEN if state == TaskState.OPEN and is_early else Phase(state)


def phase_of_panel(waves: Collection[Phase]) -> Phase:
    """The phase of a panel by those of its waves: open if one is, else as the next one stands."""
    first = (Phase.OPEN, Phase.NOT_YET_OPEN, Phase.DRAFT, Phase.CLOSED)
    return next((phase for phase in first if phase in waves), Phase.OVER)


MOVES: dict[Phase, tuple[Move, ...]] = {
    Phase.DRAFT: (Move.OPEN, Move.DELETE),
    Phase.NOT_YET_OPEN: (Move.CLOSE, Move.DELETE),
    Phase.OPEN: (Move.CLOSE, Move.DELETE),
    Phase.FULL: (Move.CLOSE, Move.DELETE),
    Phase.OVER: (Move.CLOSE, Move.DELETE),
    Phase.CLOSED: (Move.OPEN, Move.DELETE),
    Phase.DELETED: (),
}
ENDED = {
    Phase.FULL: "The task has reached its quota of reports: create another task.",
    Phase.OVER: "The task's closing time has passed, and it was published with it, so no new "
    "report can count any more: create another task.",
}
"""Reasons why a task is not opened again."""


def check_move(phase: Phase, move: Move) -> None:
    """Raise ``IllegalMove`` for a move that the table does not have."""
    if move not in MOVES[phase]:
        allowed = ", ".join(MOVES[phase]) or "nothing"
        said = f"A task that is {phase.in_words} cannot {move}: it allows {allowed}."
        raise IllegalMove(ENDED.get(phase, said))


def settles_at(state: str, moved: float, closes: int | None, filled: float | None) -> float | None:
    """Unix time at which the grace period after a collection's end is over; None if no end is
    known.

    It ends at its closing time, by hand (``moved``) or by its quota, whichever is first.
    """
    by_hand = moved if state == TaskState.CLOSED else None
    end = min((end for end in (by_hand, closes, filled) if end is not None), default=None)
    return None if end is None else end + LATE_SECONDS


def takes_late(state: str, opens: int | None, settles: float | None, now: float) -> bool:
    """True if reports count that a relay took while the task was open."""
    begun = state != TaskState.DRAFT and (opens is None or now >= opens)
    return begun and (settles is None or now < settles)


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
SPOOL_GONE = "spool-gone"
"""The reason that a curator finds by itself."""
LOSSES_FOUND = LOSSES | {SPOOL_GONE: "the relay's spool that held them is gone"}
"""Reasons for which reports that a relay had taken are lost, in words, as a curator knows them."""
FOR_GOOD = frozenset(ReportState) - {state for state, _ in REPORT_MOVES}
"""The states that no news changes."""


def report_state_for(reason: str) -> ReportState:
    """The state of a report that a relay had, and that does not count for this reason."""
    return ReportState.LOST if reason in LOSSES else ReportState.REFUSED


def report_state_after(error: PrivetError) -> ReportState:
    """The state of a report after an attempt to send it ended in ``error``."""
    return ReportState.REFUSED if problem_of(error).final else ReportState.DRAWN


def not_open(task: "Task") -> TaskNotOpen:
    """The error for a report to a task that takes none now."""
    opens, closes = (
        "not set" if at is None else f"Unix time {at}" for at in (task.opens, task.closes)
    )
    return TaskNotOpen(
        "The task takes no reports now: it is not open, or outside its dates (opens: "
        f"{opens}, closes: {closes}). Keep the report and send the same bytes when it is open."
    )


def quota_reached() -> QuotaReached:
    """The error for a report to a task that has all the reports it takes."""
    return QuotaReached(
        "This task has reached its quota of reports: nothing was counted, and the report need not "
        "be sent again."
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
