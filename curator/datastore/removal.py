"""Removing tasks and report ids, in steps so small that reports never wait long.

Report ids of a task are useless once the task is deleted, and when its published end is long past.
The transaction that makes them useless lists the task in ``leftovers``; its ids are then removed in
small transactions. What an error or a stop leaves is removed by the next round of expiry, at every
start and every hour.
"""

import logging

from sqlalchemy import Connection, delete, exists, insert, select, update

from privet.protocol.errors import StorageFailed

from .database import Database
from .report_ids import remove_some
from .schema import OF_A_TASK, deleted_tasks, leftovers, tasks

log = logging.getLogger(__name__)


def remove_task(connection: Connection, task_no: int) -> None:
    """Delete a task with all that is kept about it but its id; list its reports' for removal."""
    task_id = select(tasks.c.id).where(tasks.c.no == task_no)
    connection.execute(delete(deleted_tasks).where(deleted_tasks.c.id.in_(task_id)))
    connection.execute(insert(deleted_tasks).from_select(["id"], task_id))
    for table in OF_A_TASK:
        connection.execute(delete(table).where(table.c.task_no == task_no))
    connection.execute(delete(tasks).where(tasks.c.no == task_no))
    _list_ids(connection, task_no)


def retire_ids(connection: Connection, task_no: int) -> None:
    connection.execute(
        update(tasks).where(tasks.c.no == task_no).values(ids_gone=True, marked=None)
    )
    _list_ids(connection, task_no)


def _list_ids(connection: Connection, task_no: int) -> None:
    if not connection.scalar(select(exists().where(leftovers.c.task_no == task_no))):
        connection.execute(insert(leftovers).values(task_no=task_no))


def remove_listed_ids(database: Database) -> int:
    """Remove all listed ids, in transactions short enough for reports to come between; how many.

    What listed them is committed, so an error here is not its caller's: the ids stay listed.
    """
    total = 0
    removed: int | None = 0
    try:
        while removed is not None:
            total += removed
            with database.writing() as connection:
                removed = remove_some_listed(connection)
    except StorageFailed as error:
        log.warning("report ids are removed later: %s", error.__cause__)
    return total


def remove_some_listed(connection: Connection) -> int | None:
    """Remove some listed ids; return how many, or None if there is nothing left to do."""
    task_no = connection.scalar(select(leftovers.c.task_no).limit(1))
    if task_no is None:
        return None
    removed = remove_some(connection, task_no)
    if not removed:
        connection.execute(delete(leftovers).where(leftovers.c.task_no == task_no))
    return removed
