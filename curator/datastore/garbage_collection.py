"""Removing what is no longer needed, a little at a time, so that reports never wait long for it.

Report ids of a task are useless once the task is deleted, and when its published end is long past.
The transaction that makes them useless lists the task in ``leftovers``; its ids are then removed in
small transactions. What an error or a stop leaves is removed by the next round, at every start and
every hour.
"""

import asyncio
import logging

from sqlalchemy import Connection, delete, exists, insert, select, update
from starlette.concurrency import run_in_threadpool

from privet.curator.clock import Clock
from privet.curator.datastore.base import Expired, Store
from privet.curator.datastore.report_ids import remove_some
from privet.curator.datastore.schema import OF_A_TASK, leftovers, tasks
from privet.curator.settings import Settings
from privet.protocol.errors import StorageFailed

log = logging.getLogger(__name__)

DAY = 86_400.0
EVERY_SECONDS = 3_600.0


def remove_task(connection: Connection, task_no: int) -> None:
    """Delete a task with everything that is kept about it, and list its ids for removal."""
    for table in OF_A_TASK:
        connection.execute(delete(table).where(table.c.task_no == task_no))
    connection.execute(delete(tasks).where(tasks.c.no == task_no))
    _list(connection, task_no)


def retire_ids(connection: Connection, closed_before: float) -> None:
    """List the ids of tasks whose published end lies before ``closed_before``."""
    over = select(tasks.c.no).where(tasks.c.closes <= closed_before, ~tasks.c.ids_gone)
    for task_no in list(connection.scalars(over)):
        connection.execute(update(tasks).where(tasks.c.no == task_no).values(ids_gone=True))
        _list(connection, task_no)


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


def expire(store: Store, settings: Settings, now: float) -> Expired:
    """One round of expiry by the settings."""
    keep_tasks = settings.keep_tasks_days
    return store.expire(
        now, settings.keep_ids_days * DAY, None if keep_tasks is None else keep_tasks * DAY
    )


async def collect_garbage(store: Store, settings: Settings, clock: Clock) -> None:
    """Expire now and every hour, until cancelled; whatever fails is logged and tried again."""
    while True:
        try:
            removed = await run_in_threadpool(expire, store, settings, clock.now())
            if removed.tasks or removed.ids:
                log.info("expired %d tasks and %d report ids", removed.tasks, removed.ids)
        except StorageFailed as error:
            log.warning("expiry failed: %s", error.__cause__)
        except Exception:
            log.exception("expiry failed")
        await asyncio.sleep(EVERY_SECONDS)
