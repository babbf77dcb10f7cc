"""Report ids in sorted runs, for claims of many ids at once.

A run is cut into pages of ``PAGE`` ids. ``FAN_IN`` runs of similar size are merged into one, up to
runs of ``LARGE`` ids, so a task has at most ``ids / LARGE`` runs and a few times ``FAN_IN`` more.

Looking up an id in runs costs a page of each, so every process keeps a Bloom filter over the runs
it has seen and looks up only ids that the filter may contain. The filter grows with the ids, or
pages read in vain would soon cost more than all else. It and the first id of each page are a cache
of committed rows: before each use they are compared with the list of runs, inside the transaction
that holds the task's lock.
"""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray
from sqlalchemy.engine.interfaces import DBAPICursor

from .filter import Filter
from .ids import Fingerprints, Ids, KnownIds, as_text, distinct, unpacked

PAGE = 512
LARGE = 262_144
FAN_IN = 4
MOST_LOG_WORDS = 27
"""The filter's largest size, 1 GiB."""

FirstIds = NDArray[np.bytes_]
"""The first id of each page of a run."""

RUNS = "SELECT run, ids FROM id_runs WHERE task_no = ?"
ADD_RUN = "INSERT INTO id_runs (task_no, run, ids) VALUES (?, ?, ?)"
DROP_RUN = "DELETE FROM id_runs WHERE task_no = ? AND run = ?"
PAGES = "SELECT ids, fingerprints FROM id_pages WHERE task_no = ? AND run = ? ORDER BY page"
PAGE_IDS = "SELECT ids FROM id_pages WHERE task_no = ? AND run = ? ORDER BY page"
ONE_PAGE = "SELECT ids, fingerprints FROM id_pages WHERE task_no = ? AND run = ? AND page = ?"
ADD_PAGE = "INSERT INTO id_pages (task_no, run, page, ids, fingerprints) VALUES (?, ?, ?, ?, ?)"
DROP_PAGES = "DELETE FROM id_pages WHERE task_no = ? AND run = ?"


class IdRuns:
    """The runs of all tasks, as one process sees them.

    Every change to a task's runs makes a run that is newer than all others.
    """

    def __init__(self, log_words: int) -> None:
        self._filter = Filter(log_words)
        self._sizes: dict[int, int] = {}
        """Number of ids in each task's runs."""
        self._seen: dict[int, dict[int, FirstIds]] = {}
        self._written: dict[int, dict[int, FirstIds]] = {}
        """Runs of each task that this process wrote and has not read back yet."""

    def rolled_back(self) -> None:
        self._written.clear()

    def find(self, cursor: DBAPICursor, task_no: int, last_run: int | None, ids: Ids) -> KnownIds:
        known = KnownIds.none(len(ids))
        if last_run is None:
            return known
        runs = self._refresh(cursor, task_no, last_run)
        suspects = np.flatnonzero(self._filter.suspects(task_no, ids))
        for run, firsts in runs.items() if len(suspects) else ():
            known.put(suspects, _find_in_run(cursor, task_no, run, firsts, ids[suspects]))
        return known

    def append(
        self, cursor: DBAPICursor, task_no: int, ids: Ids, fingerprints: Fingerprints
    ) -> None:
        """Keep ids that are not known yet as a new run, then merge runs of similar size."""
        sizes: dict[int, int] = dict(cursor.execute(RUNS, (task_no,)).fetchall())
        run = max(sizes, default=0) + 1
        self._write(cursor, task_no, run, ids, fingerprints)
        sizes[run] = len(ids)
        while len(similar := _runs_of_similar_size(sizes, run)) >= FAN_IN:
            run += 1
            self._write(cursor, task_no, run, *_take_out(cursor, task_no, similar))
            sizes[run] = sum(sizes.pop(merged) for merged in similar)

    def _refresh(self, cursor: DBAPICursor, task_no: int, last_run: int) -> dict[int, FirstIds]:
        """The cached runs of the task, after bringing them up to date."""
        seen = self._seen.get(task_no, {})
        if last_run in seen:
            return seen
        sizes: dict[int, int] = dict(cursor.execute(RUNS, (task_no,)).fetchall())
        self._sizes[task_no] = sum(sizes.values())
        self._make_room(sum(self._sizes.values()))
        cached = self._written.pop(task_no, {}) | self._seen.get(task_no, {})
        self._seen[task_no] = {
            run: cached[run] if run in cached else self._load(cursor, task_no, run) for run in sizes
        }
        return self._seen[task_no]

    def _make_room(self, ids: int) -> None:
        """Begin a larger filter if it is too small for this number of ids; runs are then read
        again."""
        log_words = min(Filter.fitting(ids), MOST_LOG_WORDS)
        if log_words > self._filter.log_words:
            self._filter = Filter(log_words)
            self._seen.clear()
            self._written.clear()

    def _load(self, cursor: DBAPICursor, task_no: int, run: int) -> FirstIds:
        firsts = []
        for (packed,) in cursor.execute(PAGE_IDS, (task_no, run)).fetchall():
            ids = unpacked(packed)
            self._filter.add(task_no, ids)
            firsts.append(ids[:1])
        return as_text(np.concatenate(firsts))

    def _write(
        self, cursor: DBAPICursor, task_no: int, run: int, ids: Ids, fingerprints: Fingerprints
    ) -> None:
        """Write a run. If it never becomes durable, the filter just suspects some ids more."""
        cursor.execute(ADD_RUN, (task_no, run, len(ids)))
        packed, numbers = ids.tobytes(), fingerprints.astype("<i8").tobytes()
        pages = [
            (
                task_no,
                run,
                start // PAGE,
                packed[16 * start : 16 * (start + PAGE)],
                numbers[8 * start : 8 * (start + PAGE)],
            )
            for start in range(0, len(ids), PAGE)
        ]
        cursor.executemany(ADD_PAGE, pages)
        self._filter.add(task_no, ids)
        self._written.setdefault(task_no, {})[run] = as_text(ids[::PAGE])


def _find_in_run(
    cursor: DBAPICursor, task_no: int, run: int, firsts: FirstIds, ids: Ids
) -> KnownIds:
    known = KnownIds.none(len(ids))
    wanted = as_text(ids)
    pages = np.searchsorted(firsts, wanted, side="right") - 1
    for page in np.unique(pages[pages >= 0]).tolist():
        rows = np.flatnonzero(pages == page)
        packed, numbers = cursor.execute(ONE_PAGE, (task_no, run, page)).fetchone()
        page_ids = as_text(unpacked(packed))
        places = np.minimum(np.searchsorted(page_ids, wanted[rows]), len(page_ids) - 1)
        there = page_ids[places] == wanted[rows]
        known.put(rows, KnownIds(there, np.frombuffer(numbers, dtype="<i8")[places]))
    return known


def _take_out(cursor: DBAPICursor, task_no: int, runs: Sequence[int]) -> tuple[Ids, Fingerprints]:
    """Remove runs; return their ids, ascending, and fingerprints."""
    keys = [(task_no, run) for run in runs]
    pages = [page for key in keys for page in cursor.execute(PAGES, key).fetchall()]
    ids = unpacked(b"".join(packed for packed, _ in pages))
    fingerprints = np.frombuffer(b"".join(numbers for _, numbers in pages), dtype="<i8")
    order, _ = distinct(ids)
    cursor.executemany(DROP_RUN, keys)
    cursor.executemany(DROP_PAGES, keys)
    return ids.take(order, axis=0), fingerprints[order]


def _runs_of_similar_size(sizes: Mapping[int, int], run: int) -> list[int]:
    """The runs as many merges away from large as ``run``; none if it is large."""
    rank = _merges_left(sizes[run])
    return [other for other, size in sizes.items() if _merges_left(size) == rank] if rank else []


def _merges_left(size: int) -> int:
    merges = 0
    while size < LARGE:
        size *= FAN_IN
        merges += 1
    return merges
