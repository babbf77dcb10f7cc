"""Bugs that there once were, put back one by one: generated schedules find each again.

Two raced in PostgreSQL only, where transactions overlap. Here a file has one writer at a time, so
what they read and what they then wrote are two transactions, between which another may come.
"""

import logging
import sqlite3
from collections.abc import Callable, Mapping
from random import Random
from typing import Any
from unittest import mock

import pytest
from hypothesis import HealthCheck, find, settings
from sqlalchemy import insert, select, update

from privet.curator.datastore import expiry, schema
from privet.curator.datastore.database import Database
from privet.curator.datastore.removal import remove_some_listed
from privet.curator.datastore.status import StatusStore
from privet.curator.datastore.tasks import TaskStore, find_task
from privet.relay import spool
from privet.relay.spool import FATE_CONFLICT, FATE_COUNTED, FATE_HELD, Spool, StoredReport

from .schedule import Step, run
from .test_simulation import schedules

LONGEST, MOST_FAULTS = 4, 2
"""Steps and faults of the shortest schedule that shows a bug."""


def close(self: Spool) -> None:
    """Closed while a thread whose task was cancelled goes on: SQLite then crashes the process."""
    self._db.close()


def remove_listed_ids(database: Database) -> int:
    """An error here was raised by ``expire``, whose transaction had been committed before."""
    total, removed = 0, 0
    while removed is not None:
        total += removed
        with database.writing() as connection:
            removed = remove_some_listed(connection)
    return total


real_create = TaskStore.create_task


def create_task(self: TaskStore, task: Any, *rest: Any) -> bool:
    """Two curators that looked at the same moment both inserted, and one of them failed."""
    with self.reading() as connection:
        if find_task(connection, task.id) is not None:
            return False
    unconditional = real_create_sql().replace("ON CONFLICT (id) DO NOTHING", "")
    with mock.patch("privet.curator.datastore.tasks.ADD_TASK", unconditional):
        return real_create(self, task, *rest)


def real_create_sql() -> str:
    from privet.curator.datastore import tasks

    return tasks.ADD_TASK


def count_rejects(self: StatusStore, task_id: str, rejects: Mapping[str, int]) -> None:
    """Two curators that read the same count both wrote theirs, and one count was lost."""
    table = schema.rejects
    with self.reading() as connection:
        row = find_task(connection, task_id)
        if row is None:
            return
        of_task = select(table.c.reason, table.c.count).where(table.c.task_no == row.no)
        counts = dict(iter(connection.execute(of_task)))
    with self.writing() as connection:
        for reason, count in rejects.items():
            key = {"task_no": row.no, "reason": reason}
            if reason in counts:
                same = (table.c.task_no == row.no) & (table.c.reason == reason)
                total = counts[reason] + count
                connection.execute(update(table).where(same).values(count=total))
            else:
                put = insert(table).prefix_with("OR REPLACE").values(**key, count=count)
                connection.execute(put)


def add(db: sqlite3.Connection, report: StoredReport) -> str:
    """Another report under an id that had gone out was said to be held, and was nowhere."""
    fate_key = spool._fate_key(report.task, report.id)
    row = db.execute("SELECT fate, sent FROM fates WHERE key = ?", (fate_key,)).fetchone()
    key = (report.task, spool._text(report.questions), report.id)
    if row is None or row[0] not in {None, FATE_HELD, FATE_COUNTED}:
        if row is not None and row[1]:
            return str(row[0])
        insert = "INSERT INTO waiting VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING"
        db.execute(insert, (*key, report.payload, report.invitation))
        note = "INSERT OR REPLACE INTO fates (key, digest, sent) VALUES (?, x'', 0)"
        db.execute(note, (fate_key,))
        return FATE_HELD
    if row[0] == FATE_COUNTED:
        return FATE_COUNTED
    query = "SELECT payload FROM waiting WHERE task = ? AND questions = ? AND id = ?"
    waiting = db.execute(query, key).fetchone()
    return FATE_HELD if waiting in {None, (report.payload,)} else FATE_CONFLICT


@pytest.mark.slow
@pytest.mark.parametrize(
    ("target", "name", "bug", "seen"),
    [
        (Spool, "close", close, "closes a database that a thread writes to"),
        (expiry, "remove_listed_ids", remove_listed_ids, "is noted 0 times"),
        (TaskStore, "create_task", create_task, "fails without a reason"),
        (StatusStore, "count_rejects", count_rejects, "and written down"),
        (spool, "_add", add, "was acknowledged with 20"),
    ],
)
def test_an_old_bug_is_found_and_shrunk(
    target: Any, name: str, bug: Callable[..., Any], seen: str
) -> None:
    """Within 5 000 schedules, and then the shortest that breaks has few steps and faults."""
    logging.disable(logging.CRITICAL)

    def breaks(schedule: list[Step]) -> bool:
        return any(seen in wrong for wrong in run(schedule)[0])

    with mock.patch.object(target, name, bug):
        shortest = find(
            schedules,
            breaks,
            settings=settings(
                max_examples=5_000, deadline=None, suppress_health_check=list(HealthCheck)
            ),
            random=Random(1),
        )
    assert not breaks(shortest)
    assert len(shortest) <= LONGEST
    assert sum(len(step.faults) for step in shortest) <= MOST_FAULTS
