"""Removing report ids a little at a time, so that intake never waits long for it.

A task whose ids are to go is listed in ``leftovers`` by the transaction that makes them useless,
by deleting the task or because its end is long past. They are then swept away in small
transactions, now or after the next start.
"""

from sqlalchemy import Connection, and_, delete, exists, func, insert, select, update

from privet.curator.datastore.schema import (
    OF_A_TASK,
    id_pages,
    id_runs,
    leftovers,
    report_ids,
    tasks,
)

SWEPT_AT_ONCE = 20_000


def remove_task(connection: Connection, task_no: int) -> None:
    """Delete a task with everything that is kept about it, and list its ids for sweeping."""
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


def sweep(connection: Connection) -> int | None:
    """Remove some listed ids; how many, or None if there is nothing left to do."""
    task_no = connection.scalar(select(leftovers.c.task_no).limit(1))
    if task_no is None:
        return None
    removed = _sweep_rows(connection, task_no) or _sweep_run(connection, task_no)
    if not removed:
        connection.execute(delete(leftovers).where(leftovers.c.task_no == task_no))
    return removed


def _list(connection: Connection, task_no: int) -> None:
    if connection.scalar(select(exists().where(leftovers.c.task_no == task_no))):
        return
    connection.execute(insert(leftovers).values(task_no=task_no))


def _sweep_rows(connection: Connection, task_no: int) -> int:
    """The lowest ids of those in rows."""
    own = report_ids.c.task_no == task_no
    some = select(report_ids.c.id).where(own).order_by(report_ids.c.id).limit(SWEPT_AT_ONCE)
    last = connection.scalar(select(func.max(some.subquery().c.id)))
    if last is None:
        return 0
    return connection.execute(delete(report_ids).where(and_(own, report_ids.c.id <= last))).rowcount


def _sweep_run(connection: Connection, task_no: int) -> int:
    """One run."""
    first = select(id_runs.c.run, id_runs.c.ids).where(id_runs.c.task_no == task_no).limit(1)
    run = connection.execute(first).one_or_none()
    if run is None:
        return 0
    for table in (id_pages, id_runs):
        here = and_(table.c.task_no == task_no, table.c.run == run.run)
        connection.execute(delete(table).where(here))
    return int(run.ids)
