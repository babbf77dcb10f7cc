"""Ids of large batches as sorted runs: pages of many ids in place of a row for each.

A row per id costs a B-tree insertion per report, a few microseconds each, which is what bounds a
batch. A batch's ids are instead written as one run: sorted, cut into pages of ``PAGE`` ids. Every
process keeps a filter over the runs it has seen, so that a new id needs no lookup; only suspects
are looked up, by the first id of each page. Looking costs a page of every run, so runs are kept
few: ``FAN_IN`` runs of like size are merged into one, up to runs of ``LARGE`` ids and more. A task
has at most ``ids / LARGE`` runs and a few times ``FAN_IN``, and an id is written anew as often as
``FAN_IN`` divides ``LARGE / BULK``.

What a process remembers of runs is a cache of committed rows: before every use it is compared with
the list of runs, inside the transaction that holds the task's lock.
"""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import BindParameter, bindparam, delete, insert, select

from privet.curator.datastore.base import Ids
from privet.curator.datastore.filter import Filter
from privet.curator.datastore.known import Known, as_text
from privet.curator.datastore.schema import id_pages, id_runs
from privet.curator.datastore.session import Prepared, Session
from privet.curator.datastore.sorting import distinct

PAGE = 512
LARGE = 262_144
FAN_IN = 4

Fingerprints = NDArray[np.int64]
Firsts = NDArray[np.bytes_]
"""The first id of each page of a run: all that a process remembers of it beside the filter."""

TASK_NO: BindParameter[int] = bindparam("task_no")
RUN: BindParameter[int] = bindparam("run")
OF_TASK = id_runs.c.task_no == TASK_NO
OF_RUN = (id_pages.c.task_no == TASK_NO, id_pages.c.run == RUN)
RUNS = Prepared(select(id_runs.c.run, id_runs.c.ids).where(OF_TASK))
PAGES = Prepared(select(id_pages.c.ids).where(*OF_RUN).order_by(id_pages.c.page))
WHOLE_PAGES = Prepared(select(id_pages.c.ids, id_pages.c.fingerprints).where(*OF_RUN))
ONE_PAGE = Prepared(
    select(id_pages.c.ids, id_pages.c.fingerprints).where(
        *OF_RUN, id_pages.c.page == bindparam("page")
    )
)
ADD_RUN = Prepared(insert(id_runs).values(task_no=TASK_NO, run=RUN, ids=bindparam("ids")))
ADD_PAGE = Prepared(
    insert(id_pages).values({column: bindparam(column.name) for column in id_pages.c})
)
DROP_RUN = Prepared(delete(id_runs).where(OF_TASK, id_runs.c.run == RUN))
DROP_PAGES = Prepared(delete(id_pages).where(*OF_RUN))


class Runs:
    """The runs of all tasks, as one process sees them; used by one thread at a time."""

    def __init__(self) -> None:
        self._filter = Filter()
        self._seen: dict[int, dict[int, Firsts]] = {}
        self._written: dict[int, dict[int, Firsts]] = {}
        """By task, runs of this process's own that it has not met again yet."""

    def find(self, session: Session, task_no: int, last_run: int | None, ids: Ids) -> Known:
        """Which of the ids are in runs; ``ids`` are distinct and ascending."""
        known = Known.none(len(ids))
        if last_run is None:
            return known
        runs = self._refresh(session, task_no, last_run)
        suspects = np.flatnonzero(self._filter.suspects(task_no, ids))
        for run, firsts in runs.items() if len(suspects) else ():
            known.put(suspects, _find_in(session, task_no, run, firsts, ids[suspects]))
        return known

    def append(self, session: Session, task_no: int, ids: Ids, fingerprints: Fingerprints) -> None:
        """Keep ids that are in no run yet as a new one; they are distinct and ascending."""
        sizes: dict[int, int] = dict(session.rows(RUNS, {"task_no": task_no}))
        run = max(sizes, default=0) + 1
        self._write(session, task_no, run, ids, fingerprints)
        sizes[run] = len(ids)
        while len(like := _like(sizes, run)) >= FAN_IN:
            run += 1
            self._write(session, task_no, run, *_removed(session, task_no, like))
            sizes[run] = sum(sizes.pop(own) for own in like)

    def forget_unsure(self) -> None:
        """Read every run that was written lately before it is believed."""
        self._written.clear()

    def _refresh(self, session: Session, task_no: int, last_run: int) -> dict[int, Firsts]:
        """What is remembered of the task's runs, made equal to what is there.

        Any change makes a run that is newer than all others, so the newest tells of a change.
        """
        old = self._seen.get(task_no, {})
        if last_run in old:
            return old
        current = [run for run, _ in session.rows(RUNS, {"task_no": task_no})]
        known = self._written.pop(task_no, {}) | old
        self._seen[task_no] = {
            run: known[run] if run in known else self._load(session, task_no, run)
            for run in current
        }
        return self._seen[task_no]

    def _load(self, session: Session, task_no: int, run: int) -> Firsts:
        firsts = []
        for (packed,) in session.rows(PAGES, {"task_no": task_no, "run": run}):
            ids = _unpacked(packed)
            self._filter.add(task_no, ids)
            firsts.append(ids[:1])
        return as_text(np.concatenate(firsts))

    def _write(
        self, session: Session, task_no: int, run: int, ids: Ids, fingerprints: Fingerprints
    ) -> None:
        """Write one run. The filter may know ids that never become durable, it only suspects."""
        session.change(ADD_RUN, {"task_no": task_no, "run": run, "ids": len(ids)})
        packed, packed_fingerprints = ids.tobytes(), fingerprints.astype("<i8").tobytes()
        session.change_each(
            ADD_PAGE,
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
        self._filter.add(task_no, ids)
        self._written.setdefault(task_no, {})[run] = as_text(ids[::PAGE])


def _find_in(session: Session, task_no: int, run: int, firsts: Firsts, ids: Ids) -> Known:
    """Which of the ascending ``ids`` one run holds."""
    known = Known.none(len(ids))
    wanted = as_text(ids)
    pages = np.searchsorted(firsts, wanted, side="right") - 1
    for page in np.unique(pages[pages >= 0]).tolist():
        rows = np.flatnonzero(pages == page)
        key = {"task_no": task_no, "run": run, "page": page}
        packed, packed_fingerprints = session.row(ONE_PAGE, key)
        held = as_text(_unpacked(packed))
        places = np.minimum(np.searchsorted(held, wanted[rows]), len(held) - 1)
        there = held[places] == wanted[rows]
        held_fingerprints = np.frombuffer(packed_fingerprints, dtype="<i8")
        known.put(rows, Known(there, held_fingerprints[places]))
    return known


def _removed(session: Session, task_no: int, runs: list[int]) -> tuple[Ids, Fingerprints]:
    """What several runs held, ascending; they are no more."""
    keys = [{"task_no": task_no, "run": run} for run in runs]
    pages = [page for key in keys for page in session.rows(WHOLE_PAGES, key)]
    ids = _unpacked(b"".join(packed for packed, _ in pages))
    fingerprints = np.frombuffer(b"".join(packed for _, packed in pages), dtype="<i8")
    order, _ = distinct(ids)
    for statement in (DROP_RUN, DROP_PAGES):
        session.change_each(statement, keys)
    return ids.take(order, axis=0), fingerprints[order]


def _like(sizes: Mapping[int, int], run: int) -> list[int]:
    """The runs of like size as ``run``, itself among them; none if it is large enough."""
    rank = _rank(sizes[run])
    return [own for own, size in sizes.items() if _rank(size) == rank] if rank else []


def _rank(size: int) -> int:
    """How many times a run of this size is to be merged until it is large."""
    rank = 0
    while size < LARGE:
        size *= FAN_IN
        rank += 1
    return rank


def _unpacked(packed: bytes) -> Ids:
    return np.frombuffer(packed, dtype=np.uint8).reshape(-1, 16)
