"""The ids of counted reports, kept for as long as a replay could be counted.

Ids come singly or in batches of hundreds of thousands, and are kept in two forms (ADR 201 has the
measurements that led here):

*Rows.* A claim of few ids inserts a row for each; the primary key settles races between curators. A
row costs an insertion into a B-tree, a few microseconds, and where the tree is large a page written
for each id.

*Runs* (``runs.py``). A claim of ``IdRows.BULK`` ids or more is written as one run: its ids sorted,
cut into pages, a row for each page. Runs of similar size are merged, so that a task has few.

Both forms are searched before an id is claimed. Each task's ids have a lock. Claims of rows share
it; a claim of a run holds it exclusively, but only for a last look at what others have added and to
put itself on the list. All else it does before, so that curators claim runs side by side.

The SQL is text for the driver's own cursor, as everywhere on the path of a report: SQLAlchemy's
overhead for a small statement exceeds SQLite's time to execute it.
"""

from collections.abc import Iterator
from functools import partial
from typing import NamedTuple, Protocol

import numpy as np
from sqlalchemy import Connection, delete, select
from sqlalchemy.engine.interfaces import DBAPICursor

from ..schema import id_pages, id_runs, report_ids
from .filter import Filter
from .ids import Fingerprints, Ids, KnownIds, Mask, Positions, distinct, keys_of, unpacked
from .runs import PAGE, Draft, IdRuns, RunGone

__all__ = [
    "Filter",
    "Fingerprints",
    "IdRows",
    "Ids",
    "KnownIds",
    "Mask",
    "Positions",
    "ReportIds",
    "TaskIds",
    "distinct",
    "ids_of_task",
    "keys_of",
    "remove_some",
]

TRIES = 20
"""Attempts of a claim of a run, which begins anew if others merge runs meanwhile."""
REMOVED_AT_ONCE = 20_000
READ_AT_ONCE = 50_000

ANY_ROW = "SELECT EXISTS (SELECT 1 FROM report_ids WHERE task_no = ?)"


class IdRows(Protocol):
    """Ids in rows, which each database inserts and finds in its own way."""

    BULK: int
    """Number of ids from which a claim becomes a run: small where curators take turns anyway."""

    def claim_rows(
        self, cursor: DBAPICursor, task_no: int, ids: Ids, fingerprints: Fingerprints, /
    ) -> KnownIds:
        """Insert the unknown ids; return which were known, once all races are settled."""

    def find_rows(self, cursor: DBAPICursor, task_no: int, ids: Ids, /) -> KnownIds:
        """A mask of the known ids."""

    def lock_ids(self, cursor: DBAPICursor, task_id: str, /) -> None:
        """Lock the ids of a task exclusively until the transaction ends."""

    def try_merging(self, cursor: DBAPICursor, task_no: int, /) -> bool:
        """True if no other transaction merges a task's runs until this one ends."""


class TaskIds(NamedTuple):
    """The ids of a task, as a transaction finds them."""

    task_id: str
    task_no: int
    last: int | None
    """Place of the last run; None if there are no runs."""


class ReportIds:
    """All report ids, as one process sees them; used by one thread at a time.

    Takes ids that are distinct and ascending (``distinct`` makes them so), shape ``(B, 16)``.
    """

    def __init__(self, rows: IdRows, log_words: int = 18) -> None:
        self._rows = rows
        self._runs = IdRuns(log_words)

    def locked(self, cursor: DBAPICursor, place: TaskIds) -> TaskIds:
        """Lock a task's ids exclusively, and see what is there then."""
        self._rows.lock_ids(cursor, place.task_id)
        return place._replace(last=self._runs.last_place(cursor, place.task_no))

    def find(self, cursor: DBAPICursor, place: TaskIds, ids: Ids) -> KnownIds:
        """The known ones; the ids are locked, or the task is locked exclusively."""
        known = self._runs.find(cursor, place.task_no, place.last, ids)
        return self._with_rows(cursor, place, ids, known)

    def _with_rows(
        self, cursor: DBAPICursor, place: TaskIds, ids: Ids, known: KnownIds
    ) -> KnownIds:
        """``known`` with the ids added that are kept as rows."""
        if cursor.execute(ANY_ROW, (place.task_no,)).fetchone()[0]:
            unknown = np.flatnonzero(~known.there)
            known.put(unknown, self._rows.find_rows(cursor, place.task_no, ids[unknown]))
        return known

    def claim(
        self, cursor: DBAPICursor, place: TaskIds, ids: Ids, fingerprints: Fingerprints
    ) -> KnownIds:
        """Make the ids known; return which were before.

        For fewer than ``BULK`` ids the caller has locked them as for ``find``; for more they are
        locked here, late.
        """
        if len(ids) >= self._rows.BULK:
            return self._claim_run(cursor, place, ids, fingerprints)
        if place.last is None:
            return self._rows.claim_rows(cursor, place.task_no, ids, fingerprints)
        known = self._runs.find(cursor, place.task_no, place.last, ids)
        new = np.flatnonzero(~known.there)
        known.put(new, self._rows.claim_rows(cursor, place.task_no, ids[new], fingerprints[new]))
        return known

    def _claim_run(
        self, cursor: DBAPICursor, place: TaskIds, ids: Ids, fingerprints: Fingerprints
    ) -> KnownIds:
        draft = self._draft(cursor, place.task_no, ids, fingerprints)
        self._runs.look(cursor, place.task_no)
        place = self.locked(cursor, place)
        if place.last == draft.last:  # no run has come since
            known = self._with_rows(cursor, place, ids, draft.known)
        else:
            known = self.find(cursor, place, ids)
        self._runs.add(cursor, place.task_no, draft, ~known.there, ids, fingerprints)
        return known

    def _draft(
        self, cursor: DBAPICursor, task_no: int, ids: Ids, fingerprints: Fingerprints
    ) -> Draft:
        may_merge = partial(self._rows.try_merging, cursor, task_no)
        for left in reversed(range(TRIES)):
            try:
                return self._runs.draft(cursor, task_no, ids, fingerprints, may_merge=may_merge)
            except RunGone:  # others were faster
                if not left:
                    raise
        raise AssertionError

    def rolled_back(self) -> None:
        """Forget the runs of a transaction that may not have become durable."""
        self._runs.rolled_back()


def ids_of_task(connection: Connection, task_no: int) -> Iterator[Ids]:
    """All ids of a task that a claim finds, some at a time, in no order."""
    rows = select(report_ids.c.id).where(report_ids.c.task_no == task_no)
    of_run = (id_pages.c.task_no == id_runs.c.task_no) & (id_pages.c.run == id_runs.c.run)
    pages = select(id_pages.c.ids).join(id_runs, of_run).where(id_pages.c.task_no == task_no)
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
