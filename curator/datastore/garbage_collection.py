"""Remove data that is no longer needed, in small steps, so that reports never wait long.

Report ids of a task are useless once the task is deleted, and when its published end is long past.
The transaction that makes them useless lists the task in ``leftovers``; its ids are then removed in
small transactions. What an error or a stop leaves is removed by the next round, at every start and
every hour.

No single reading of a clock removes anything. The seen time is kept in the database and comes
forward by at most ``STEP_SECONDS`` a round; what is due by it is marked, and removed by a later
round when ``GRACE_SECONDS`` of seen time have passed. If a wrong clock is corrected, the marks are
removed. An admission whose batch does not come is forgotten by the same time, and its invitations
serve again.
"""

import asyncio
import logging
from collections.abc import Callable

from sqlalchemy import Connection, delete, exists, insert, select, text, update
from starlette.concurrency import run_in_threadpool

from privet.protocol.errors import StorageFailed

from ..settings import Settings
from .base import (
    GRACE_SECONDS,
    Removal,
    Store,
    due,
    seen_time,
)
from .report_ids import remove_some
from .schema import OF_A_TASK, deleted_tasks, leftovers, seen, tasks

log = logging.getLogger(__name__)

Ripe = list[tuple[Removal, int, str]]
"""What is to be removed: of which task, by number and id."""

FIRST_SEEN = "INSERT INTO seen (no, time) VALUES (1, :time) ON CONFLICT (no) DO NOTHING"
"""Of several curators that start at once on a new database, one inserts it."""
DAY = 86_400.0
EVERY_SECONDS = 3_600.0
EXPIRED = {Removal.TASK: "task expired", Removal.IDS: "report ids expired"}
"""What the audit log calls a removal."""


def remove_task(connection: Connection, task_no: int) -> None:
    """Delete a task with all that is kept about it but its id; list its reports' for removal."""
    task_id = select(tasks.c.id).where(tasks.c.no == task_no)
    connection.execute(delete(deleted_tasks).where(deleted_tasks.c.id.in_(task_id)))
    connection.execute(insert(deleted_tasks).from_select(["id"], task_id))
    for table in OF_A_TASK:
        connection.execute(delete(table).where(table.c.task_no == task_no))
    connection.execute(delete(tasks).where(tasks.c.no == task_no))
    _list(connection, task_no)


def retire_ids(connection: Connection, task_no: int) -> None:
    """List a task's ids for removal."""
    gone = update(tasks).where(tasks.c.no == task_no).values(ids_gone=True, marked=None)
    connection.execute(gone)
    _list(connection, task_no)


def bring_forward(connection: Connection, now: float) -> float:
    """The seen time after one more look at a clock."""
    before = connection.scalar(select(seen.c.time))
    time = seen_time(before, now)
    if before is None:
        connection.execute(text(FIRST_SEEN), {"time": time})
    else:
        connection.execute(update(seen).values(time=time))
    return time


def mark(connection: Connection, time: float, keep_ids: float, keep_tasks: float | None) -> Ripe:
    """Mark what is due and unmark what is not; what has been marked for long enough."""
    ripe: Ripe = []
    for row in list(connection.execute(select(tasks).where(tasks.c.closes.is_not(None)))):
        removal = due(row.closes, time, keep_ids, keep_tasks, ids_gone=row.ids_gone)
        if removal and row.marked is not None and row.marked + GRACE_SECONDS <= time:
            ripe.append((removal, row.no, row.id))
            continue
        since = None if removal is None else min(row.marked or time, time)
        if since != row.marked:
            connection.execute(update(tasks).where(tasks.c.no == row.no).values(marked=since))
    return ripe


def remove_listed_ids(connection: Connection) -> int | None:
    """Remove some listed ids; how many, or None if there is nothing left to do."""
    task_no = connection.scalar(select(leftovers.c.task_no).limit(1))
    if task_no is None:
        return None
    removed = remove_some(connection, task_no)
    if not removed:
        connection.execute(delete(leftovers).where(leftovers.c.task_no == task_no))
    return removed


def _list(connection: Connection, task_no: int) -> None:
    if not connection.scalar(select(exists().where(leftovers.c.task_no == task_no))):
        connection.execute(insert(leftovers).values(task_no=task_no))


async def collect_garbage(
    store: Store, settings: Settings, clock: Callable[[], float], note: Callable[[str, str], None]
) -> None:
    """Expire now and every hour, until cancelled; whatever fails is logged and tried again.

    ``note(action, task_id)`` hears of each removal.
    """
    days = settings.keep_tasks_days
    keep_ids, keep_tasks = settings.keep_ids_days * DAY, None if days is None else days * DAY
    while True:
        try:
            removed = await run_in_threadpool(store.expire, clock(), keep_ids, keep_tasks)
            for removal, task_id in removed.removals:
                await run_in_threadpool(note, EXPIRED[removal], task_id)
            if removed.tasks or removed.ids:
                log.info("expired %d tasks and %d report ids", removed.tasks, removed.ids)
            if removed.admissions:
                log.warning(
                    "the batches of %d admissions did not come: their invitations are unused again",
                    removed.admissions,
                )
            if removed.marked:
                log.warning(
                    "%d tasks are marked: they, or their report ids, are removed after a day "
                    "(privet task list)",
                    removed.marked,
                )
        except StorageFailed as error:
            log.warning("expiry failed: %s", error.__cause__)
        except Exception:
            log.exception("expiry failed")
        await asyncio.sleep(EVERY_SECONDS)
