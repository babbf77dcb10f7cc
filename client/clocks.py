"""Dates of a task by the clocks of this device and of the server that sent it.

The year's account rests on the device's clock. What the server says of the time is in no account:
it only keeps a report back, where the two clocks are too far apart for both to be right.
"""

from datetime import UTC, datetime

from privet.protocol.errors import TaskNotOpen
from privet.protocol.task import Task

from .errors import WrongClock

MOST_APART = 2 * 86_400.0
"""Caches may keep a task, with its ``Date``, for a day."""


def check_clocks(now: float, ahead: float | None) -> None:
    """Raise ``WrongClock`` if the clocks are more than two days apart.

    The server's is ``ahead`` of this device's, which says ``now``; None if the server did not say.
    """
    if ahead is not None and abs(ahead) > MOST_APART:
        raise WrongClock(
            f"{_clocks(now, ahead)} Set the wrong one, then answer: until then nobody can tell "
            "what was spent within a year. Nothing was drawn and nothing was sent."
        )


def check_dates(task: Task, now: float, ahead: float | None = None) -> None:
    """Raise ``TaskNotOpen`` before the task opens and after it has closed, by this device's
    clock; of a repeating panel after that only, since its first waves may be deleted:
    ``Holder.turn`` says when the next one is."""
    repeats = task.panel is not None and task.panel.mode == "repeat" and task.is_panel
    if task.opens is not None and now < task.opens and not repeats:
        raise TaskNotOpen(
            f"The task opens on {in_utc(task.opens)}: come back then. {_clocks(now, ahead)}"
        )
    if task.closes is not None and now >= task.closes:
        raise TaskNotOpen(
            f"The task closed on {in_utc(task.closes)}: nothing was drawn and nothing was sent. "
            f"{_clocks(now, ahead)}"
        )


def in_utc(moment: float) -> str:
    """Unix time as a date and a time."""
    try:
        return datetime.fromtimestamp(moment, UTC).strftime("%Y-%m-%d %H:%M UTC")
    except (OverflowError, ValueError, OSError):
        return "a day after the year 9999" if moment > 0 else "a day before the year 1"


def _clocks(now: float, ahead: float | None) -> str:
    device = f"This device's clock says {in_utc(now)}"
    return f"{device}." if ahead is None else f"{device}, the server's {in_utc(now + ahead)}."
