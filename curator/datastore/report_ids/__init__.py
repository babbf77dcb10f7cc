"""The ids of counted reports, kept for as long as a replay could be counted.

Ids come singly or in batches of hundreds of thousands, and are kept in two forms (ADR 201 has the
measurements that led here):

*Rows.* A claim of fewer than ``BULK`` ids inserts a row for each; the primary key settles races
between curators. A row costs an insertion into a B-tree, a few microseconds.

*Runs* (``runs.py``). A larger claim is written as one run: its ids sorted, cut into pages, a row
for each page. Runs of similar size are merged, so that a task has few.

Both forms are searched before an id is claimed. Claims of rows share the task's lock; a claim of a
run holds it exclusively, so no run appears while another curator claims ids without having seen it.

The SQL is text for the driver's own cursor, as everywhere on the path of a report: SQLAlchemy's
overhead for a small statement exceeds SQLite's time to execute it.
"""

from collections.abc import Iterator
from typing import Protocol

import numpy as np
from sqlalchemy import Connection, delete, select
from sqlalchemy.engine.interfaces import DBAPICursor

from ..schema import id_pages, id_runs, report_ids
from .filter import Filter
from .ids import Fingerprints, Ids, KnownIds, Mask, Positions, distinct, keys_of, unpacked
from .runs import PAGE, IdRuns

__all__ = [
    "BULK",
    "Filter",
    "Fingerprints",
    "IdRows",
    "Ids",
    "KnownIds",
    "Mask",
    "Positions",
    "ReportIds",
    "distinct",
    "ids_of_task",
    "keys_of",
    "remove_some",
]

BULK = 4_096
"""Number of ids from which a claim becomes a run."""
REMOVED_AT_ONCE = 20_000
READ_AT_ONCE = 50_000

ANY_ROW = "SELECT EXISTS (SELECT 1 FROM report_ids WHERE task_no = ?)"


class IdRows(Protocol):
    """Ids in rows, which each database inserts and finds in its own way."""

    def claim_rows(
        self, cursor: DBAPICursor, task_no: int, ids: Ids, fingerprints: Fingerprints, /
    ) -> KnownIds:
        """Insert the unknown ids; return which were known, once all races are settled."""

    def find_rows(self, cursor: DBAPICursor, task_no: int, ids: Ids, /) -> KnownIds:
        """A mask of the known ids."""


class ReportIds:
    """All report ids, as one process sees them; used by one thread at a time.

    Takes ids that are distinct and ascending (``distinct`` makes them so), shape ``(B, 16)``.
    ``last_run`` is the number of the task's newest run as the transaction reads it, None if it has
    no runs.
    """

    def __init__(self, rows: IdRows, log_words: int = 23) -> None:
        self._rows = rows
        self._runs = IdRuns(log_words)

    def find(self, cursor: DBAPICursor, task_no: int, last_run: int | None, ids: Ids) -> KnownIds:
        known = self._runs.find(cursor, task_no, last_run, ids)
        if len(ids) < BULK or cursor.execute(ANY_ROW, (task_no,)).fetchone()[0]:
            unknown = np.flatnonzero(~known.there)
            known.put(unknown, self._rows.find_rows(cursor, task_no, ids[unknown]))
        return known

    def claim(
        self,
        cursor: DBAPICursor,
        task_no: int,
        last_run: int | None,
        ids: Ids,
        fingerprints: Fingerprints,
    ) -> KnownIds:
        """Make the ids known; return which were before.

        From ``BULK`` ids on, the caller holds the task's lock exclusively.
        """
        if len(ids) >= BULK:
            known = self.find(cursor, task_no, last_run, ids)
            new = np.flatnonzero(~known.there)
            if len(new):
                self._runs.append(cursor, task_no, ids[new], fingerprints[new])
            return known
        if last_run is None:
            return self._rows.claim_rows(cursor, task_no, ids, fingerprints)
        known = self._runs.find(cursor, task_no, last_run, ids)
        new = np.flatnonzero(~known.there)
        known.put(new, self._rows.claim_rows(cursor, task_no, ids[new], fingerprints[new]))
        return known

    def rolled_back(self) -> None:
        """Forget the runs of a transaction that may not have become durable."""
        self._runs.rolled_back()


def ids_of_task(connection: Connection, task_no: int) -> Iterator[Ids]:
    """All ids of a task, some at a time, in no order."""
    rows = select(report_ids.c.id).where(report_ids.c.task_no == task_no)
    pages = select(id_pages.c.ids).where(id_pages.c.task_no == task_no)
    for query, at_once in ((rows, READ_AT_ONCE), (pages, READ_AT_ONCE // PAGE)):
        packed = connection.scalars(query, execution_options={"yield_per": at_once})
        for part in packed.partitions():
            yield unpacked(b"".join(map(bytes, part)))


def remove_some(connection: Connection, task_no: int) -> int:
    """Remove some of a task's ids; return how many, 0 if there are none left."""
    of_task = report_ids.c.task_no == task_no
    some = select(report_ids.c.id).where(of_task).order_by(report_ids.c.id).limit(REMOVED_AT_ONCE)
    first = some.subquery().c.id
    last = connection.scalar(select(first).order_by(first.desc()).limit(1))
    if last is not None:
        removed = connection.execute(delete(report_ids).where(of_task, report_ids.c.id <= last))
        return removed.rowcount
    runs = select(id_runs.c.run, id_runs.c.ids).where(id_runs.c.task_no == task_no).limit(1)
    run = connection.execute(runs).one_or_none()
    if run is None:
        return 0
    for table in (id_pages, id_runs):
        connection.execute(delete(table).where(table.c.task_no == task_no, table.c.run == run.run))
    return int(run.ids)
