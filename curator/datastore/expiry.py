"""Expiry of report ids, tasks and admissions.

No single reading of a clock removes anything. The seen time is kept in the database and comes
forward by at most ``STEP_SECONDS`` a round; what is due by it is marked, and removed by a later
round when ``GRACE_SECONDS`` of seen time have passed. If a wrong clock is corrected, the marks are
removed. An admission whose batch does not come is forgotten by the same time, and its invitations
serve again.
"""

from dataclasses import dataclass, field
from enum import Enum

from sqlalchemy import Connection, func, select, text, update

from .database import Database
from .invitations import HOLD_SECONDS, admissions_before, release
from .removal import remove_listed_ids, remove_task, retire_ids
from .schema import seen, tasks

STEP_SECONDS = 6 * 3_600.0
"""Maximum advance of the seen time per reading of a clock; rounds are an hour apart."""
GRACE_SECONDS = 86_400.0
"""Seen time between mark and removal: at least four steps."""

FIRST_SEEN = "INSERT INTO seen (no, time) VALUES (1, :time) ON CONFLICT (no) DO NOTHING"


class Removal(Enum):
    """The kind of expired data; the value is the audit log's action."""

    IDS = "report ids expired"
    TASK = "task expired"


@dataclass(frozen=True)
class Expired:
    """The result of an expiry run: what it removed, and the number of tasks marked for a later
    one."""

    tasks: int
    ids: int
    marked: int = 0
    admissions: int = 0
    """Number of admissions whose batch did not arrive in time."""
    removals: tuple[tuple[Removal, str], ...] = field(default=(), compare=False)
    """The removals, each with its task's id."""


def seen_time(before: float | None, now: float) -> float:
    """The time by which things expire: a clock's, but never far ahead of what it was before.

    A wrong clock that is ahead gets at most ``STEP_SECONDS`` at a time; one that is behind, or
    right again, is believed at once, since that only keeps things for longer.
    """
    return now if before is None else min(now, before + STEP_SECONDS)


def due(
    closes: int, seen: float, keep_ids: float, keep_tasks: float | None, *, ids_gone: bool
) -> Removal | None:
    """The parts to remove of a task that ends at ``closes``, see ``ExpiryStore.expire``."""
    if closes + keep_ids <= seen and not ids_gone:
        return Removal.IDS
    return Removal.TASK if keep_tasks is not None and closes + keep_tasks <= seen else None


@dataclass(eq=False)
class ExpiryStore:
    """The verb of expiry."""

    database: Database

    def expire(self, now: float, keep_ids: float, keep_tasks: float | None) -> Expired:
        """One round: mark what may go, and remove what was marked ``GRACE_SECONDS`` ago.

        Report ids may go ``keep_ids`` seconds after the published closing time, since no replay
        can count any more; the whole task after ``keep_tasks`` seconds, unless that is None. Time
        is that of ``seen_time``, so no single ``now`` removes anything. What is not due any more
        loses its mark. Admissions are forgotten after ``HOLD_SECONDS``.
        """
        with self.database.writing() as connection:
            time = _bring_forward(connection, now)
            ripe = _mark(connection, time, keep_ids, keep_tasks)
            held = admissions_before(connection, time - HOLD_SECONDS)
            gone = [task_id for removal, _, task_id in ripe if removal is Removal.TASK]
            self.database.lock(connection, [*gone, *(admission.task_id for admission in held)])
            removals = tuple(
                (removal, task_id)
                for removal, no, task_id in ripe
                if (remove_task if removal is Removal.TASK else retire_ids)(connection, no)
            )
            released = release(connection, held)
            marks = connection.scalar(select(func.count(tasks.c.marked)))
        tasks_gone = sum(removal is Removal.TASK for removal, _ in removals)
        return Expired(tasks_gone, remove_listed_ids(self.database), marks or 0, released, removals)


def _bring_forward(connection: Connection, now: float) -> float:
    """The seen time after one more look at a clock; other curators' rounds wait for this one."""
    connection.execute(text(FIRST_SEEN), {"time": now})
    time = seen_time(connection.scalar(select(seen.c.time)), now)
    connection.execute(update(seen).values(time=time))
    return time


def _mark(
    connection: Connection, time: float, keep_ids: float, keep_tasks: float | None
) -> list[tuple[Removal, int, str]]:
    """Mark what is due and unmark what is not.

    Returns what has been marked for long enough: of which task, by number and id.
    """
    ripe = []
    for row in list(connection.execute(select(tasks).where(tasks.c.closes.is_not(None)))):
        removal = due(row.closes, time, keep_ids, keep_tasks, ids_gone=row.ids_gone)
        if removal and row.marked is not None and row.marked + GRACE_SECONDS <= time:
            ripe.append((removal, row.no, row.id))
            continue
        since = None if removal is None else min(row.marked or time, time)
        if since != row.marked:
            connection.execute(update(tasks).where(tasks.c.no == row.no).values(marked=since))
    return ripe
