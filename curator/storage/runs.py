"""Ids of large batches as sorted runs: pages of many ids in place of a row for each.

A row per id costs a B-tree insertion per report, a few microseconds each, which is what bounds a
batch. A batch's ids are instead written as one run: sorted, cut into pages of ``PAGE`` ids. Every
process keeps a filter over the runs it has seen, so that a new id needs no lookup; only suspects
are looked up, by the first id of each page. ``MOST_SMALL`` small runs are merged into one, so a
task has at most ``ids / SMALL + MOST_SMALL`` runs.

What a process remembers of runs is a cache of committed rows: before every use it is compared with
the list of runs, inside the transaction that holds the task's lock.
"""

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, bindparam, delete, insert, select

from curator.storage.base import Ids
from curator.storage.filter import Filter
from curator.storage.known import Known, as_text
from curator.storage.schema import id_pages, id_runs

PAGE = 2_048
SMALL = 65_536
MOST_SMALL = 16

Fingerprints = NDArray[np.int64]
Firsts = NDArray[np.bytes_]
"""The first id of each page of a run: all that a process remembers of it beside the filter."""

RUNS = select(id_runs.c.run, id_runs.c.ids).where(id_runs.c.task_no == bindparam("task_no"))
PAGES = (
    select(id_pages.c.ids)
    .where(id_pages.c.task_no == bindparam("task_no"), id_pages.c.run == bindparam("run"))
    .order_by(id_pages.c.page)
)
ONE_PAGE = select(id_pages.c.ids, id_pages.c.fingerprints).where(
    id_pages.c.task_no == bindparam("task_no"),
    id_pages.c.run == bindparam("run"),
    id_pages.c.page == bindparam("page"),
)


class Runs:
    """The runs of all tasks, as one process sees them; used by one thread at a time."""

    def __init__(self) -> None:
        self._filter = Filter()
        self._seen: dict[int, dict[int, Firsts]] = {}

    def find(self, connection: Connection, task_no: int, ids: Ids) -> Known:
        """Which of the ids are in runs; ``ids`` are distinct and ascending."""
        known = Known.none(len(ids))
        runs = self._refresh(connection, task_no)
        if not runs:
            return known
        suspects = np.flatnonzero(self._filter.suspects(task_no, ids))
        for run, firsts in runs.items() if len(suspects) else ():
            known.put(suspects, _find_in(connection, task_no, run, firsts, ids[suspects]))
        return known

    def append(
        self, connection: Connection, task_no: int, ids: Ids, fingerprints: Fingerprints
    ) -> None:
        """Keep ids that are in no run yet as a new one; they are distinct and ascending."""
        sizes = {row.run: row.ids for row in connection.execute(RUNS, {"task_no": task_no})}
        _write(connection, task_no, max(sizes, default=0) + 1, ids, fingerprints)
        small = [run for run, size in sizes.items() if size < SMALL]
        if len(small) >= MOST_SMALL:
            _merge(connection, task_no, small, max(sizes) + 2)

    def _refresh(self, connection: Connection, task_no: int) -> dict[int, Firsts]:
        """What is remembered of the task's runs, made equal to what is there."""
        current = [row.run for row in connection.execute(RUNS, {"task_no": task_no})]
        old = self._seen.get(task_no, {})
        self._seen[task_no] = {
            run: old[run] if run in old else self._load(connection, task_no, run) for run in current
        }
        return self._seen[task_no]

    def _load(self, connection: Connection, task_no: int, run: int) -> Firsts:
        firsts = []
        for packed in connection.scalars(PAGES, {"task_no": task_no, "run": run}):
            ids = np.frombuffer(packed, dtype=np.uint8).reshape(-1, 16)
            self._filter.add(task_no, ids)
            firsts.append(ids[:1])
        return as_text(np.concatenate(firsts))


def _find_in(connection: Connection, task_no: int, run: int, firsts: Firsts, ids: Ids) -> Known:
    """Which of the ascending ``ids`` one run holds."""
    known = Known.none(len(ids))
    wanted = as_text(ids)
    pages = np.searchsorted(firsts, wanted, side="right") - 1
    for page in np.unique(pages[pages >= 0]).tolist():
        rows = np.flatnonzero(pages == page)
        key = {"task_no": task_no, "run": run, "page": page}
        packed, packed_fingerprints = connection.execute(ONE_PAGE, key).one()
        held = as_text(np.frombuffer(packed, dtype=np.uint8).reshape(-1, 16))
        places = np.minimum(np.searchsorted(held, wanted[rows]), len(held) - 1)
        there = held[places] == wanted[rows]
        held_fingerprints = np.frombuffer(packed_fingerprints, dtype="<i8")
        known.put(rows, Known(there, held_fingerprints[places]))
    return known


def _write(
    connection: Connection, task_no: int, run: int, ids: Ids, fingerprints: Fingerprints
) -> None:
    connection.execute(insert(id_runs).values(task_no=task_no, run=run, ids=len(ids)))
    packed, packed_fingerprints = ids.tobytes(), fingerprints.astype("<i8").tobytes()
    connection.execute(
        insert(id_pages),
        [
            {
                "task_no": task_no,
                "run": run,
                "page": start // PAGE,
                "ids": packed[16 * start : 16 * (start + PAGE)],
                "fingerprints": packed_fingerprints[8 * start : 8 * (start + PAGE)],
            }
            for start in range(0, len(ids), PAGE)
        ],
    )


def _merge(connection: Connection, task_no: int, runs: list[int], into: int) -> None:
    """Put several runs in the place of one."""
    pages = select(id_pages.c.ids, id_pages.c.fingerprints).where(
        id_pages.c.task_no == task_no, id_pages.c.run.in_(runs)
    )
    rows = connection.execute(pages).all()
    ids = np.frombuffer(b"".join(row.ids for row in rows), dtype=np.uint8).reshape(-1, 16)
    fingerprints = np.frombuffer(b"".join(row.fingerprints for row in rows), dtype="<i8")
    order = np.argsort(as_text(ids))
    for table in (id_runs, id_pages):
        connection.execute(delete(table).where(table.c.task_no == task_no, table.c.run.in_(runs)))
    _write(connection, task_no, into, ids[order], fingerprints[order])


def all_ids(connection: Connection, task_no: int) -> list[Ids]:
    """The ids of every page of a task; for verification."""
    pages = select(id_pages.c.ids).where(id_pages.c.task_no == task_no)
    return [
        np.frombuffer(packed, dtype=np.uint8).reshape(-1, 16)
        for packed in connection.scalars(pages)
    ]
