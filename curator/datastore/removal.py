"""Removing tasks and report ids, in steps so small that reports never wait long.

Report ids of a task are useless once the task is deleted, and when its published end is long past.
The transaction that makes them useless lists the task in ``leftovers``; its ids are then removed in
small transactions. What an error or a stop leaves is removed by the next round of expiry, at every
start and every hour.
"""

import logging

from sqlalchemy import Connection, delete, select, text, update

from privet.protocol.errors import StorageFailed

from .database import Database
from .report_ids import remove_some
from .schema import OF_A_TASK, leftovers, tasks

log = logging.getLogger(__name__)

MARK_DELETED = "INSERT INTO deleted_tasks (id) VALUES (:id) ON CONFLICT (id) DO NOTHING"
LIST_IDS = "INSERT INTO leftovers (task_no) VALUES (:task_no) ON CONFLICT (task_no) DO NOTHING"


def remove_task(connection: Connection, task_no: int) -> bool:
    """Delete the task and its data, keep its id, queue its report ids for removal.

    False if it was gone already.
    """
    this = delete(tasks).where(tasks.c.no == task_no).returning(tasks.c.id)
    task_id = connection.scalar(this)
    if task_id is None:
        return False
    connection.execute(text(MARK_DELETED), {"id": task_id})
    for table in OF_A_TASK:
        connection.execute(delete(table).where(table.c.task_no == task_no))
    connection.execute(text(LIST_IDS), {"task_no": task_no})
    return True


def retire_ids(connection: Connection, task_no: int) -> bool:
    """List the report ids of a task for removal; False if the task is gone."""
    this = update(tasks).where(tasks.c.no == task_no)
    if not connection.execute(this.values(ids_gone=True, marked=None)).rowcount:
        return False
    connection.execute(text(LIST_IDS), {"task_no": task_no})
    return True


def remove_listed_ids(database: Database) -> int:
    """Remove all listed ids, in transactions short enough for reports to come between; how many.

    What listed them is committed, so no error here is its caller's: the ids stay listed.
    """
    total = 0
    removed: int | None = 0
    try:
        while removed is not None:
            total += removed
            with database.writing() as connection:
                removed = remove_some_listed(connection)
    except StorageFailed as error:
        log.warning("report ids are removed later: %s", error.__cause__ or error)
    except Exception:
        log.exception("report ids are removed later")
    return total


def remove_some_listed(connection: Connection) -> int | None:
    """Remove some listed ids; return how many, or None if others do what is left."""
    listed = select(leftovers.c.task_no).limit(1).with_for_update(skip_locked=True)
    task_no = connection.scalar(listed)
    if task_no is None:
        return None
    removed = remove_some(connection, task_no)
    if not removed:
        connection.execute(delete(leftovers).where(leftovers.c.task_no == task_no))
    return removed
