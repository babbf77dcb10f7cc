"""Report ids in sorted runs, for claims of many ids at once.

A run is cut into pages of ``PAGE`` ids. ``FAN_IN`` runs of similar size are merged into one, up to
runs of ``LARGE`` ids, so a task has at most ``ids / LARGE`` runs and a few times ``FAN_IN`` for
each power of ``FAN_IN`` below.

A run's pages, and those of a merge, are written before the task's ids are locked, under a number
that is drawn for them. It becomes known under the lock, by a row in the list of runs that has the
next place: who has seen the last place has seen all runs.

Looking up an id in runs costs a page of each, so every process keeps a Bloom filter over the runs
it has seen and looks up only ids that the filter may contain. The filter grows with the ids, or
pages read in vain would soon cost more than all else. It and the first id of each page are a cache
of committed rows: before each use they are compared with the list of runs, at last inside the
transaction that holds the lock of the task's ids.
"""

import secrets
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from sqlalchemy.engine.interfaces import DBAPICursor

from .filter import Filter
from .ids import Fingerprints, Ids, KnownIds, Mask, as_text, distinct, unpacked

PAGE = 512
LARGE = 262_144
FAN_IN = 4
MOST_LOG_WORDS = 27
"""The filter's largest size, 1 GiB."""
RUN_BITS = 31
"""Bits of a run's number: one that is drawn twice is refused by the primary key of the pages."""

FirstIds = NDArray[np.bytes_]
"""The first id of each page of a run."""

LAST_PLACE = "SELECT max(place) FROM id_runs WHERE task_no = ?"
RUNS = "SELECT run, place, ids FROM id_runs WHERE task_no = ?"
ADD_RUN = "INSERT INTO id_runs (task_no, run, place, ids) VALUES (?, ?, ?, ?)"
DROP_RUN = "DELETE FROM id_runs WHERE task_no = ? AND run = ?"
PAGES = "SELECT ids, fingerprints FROM id_pages WHERE task_no = ? AND run = ? ORDER BY page"
PAGE_IDS = "SELECT ids FROM id_pages WHERE task_no = ? AND run = ? ORDER BY page"
ONE_PAGE = "SELECT ids, fingerprints FROM id_pages WHERE task_no = ? AND run = ? AND page = ?"
ADD_PAGE = "INSERT INTO id_pages (task_no, run, page, ids, fingerprints) VALUES (?, ?, ?, ?, ?)"
DROP_PAGES = "DELETE FROM id_pages WHERE task_no = ? AND run = ?"


class RunGone(Exception):
    """A run was merged into another while it was read without the lock."""


@dataclass(frozen=True)
class SeenRuns:
    """A task's runs as a process has seen them."""

    last: int | None = None
    """The last place; None if there was no run."""
    firsts: dict[int, FirstIds] = field(default_factory=dict)
    sizes: dict[int, int] = field(default_factory=dict)


@dataclass(eq=False)
class Draft:
    """Runs whose pages are written, and that nobody knows of yet."""

    last: int | None
    """The last place of the task's runs when ``known`` was read."""
    known: KnownIds
    """The requested ids that were in a run then."""
    new: Mask
    """A mask of the others, which this run has."""
    run: int
    sizes: dict[int, int] = field(default_factory=dict)
    """Ids in it and in runs that were merged."""
    firsts: dict[int, FirstIds] = field(default_factory=dict)
    merged: list[int] = field(default_factory=list)
    """Runs whose pages are removed."""


class IdRuns:
    """The runs of all tasks, as one process sees them."""

    def __init__(self, log_words: int) -> None:
        self._filter = Filter(log_words)
        self._seen: dict[int, SeenRuns] = {}
        self._written: dict[int, dict[int, FirstIds]] = {}
        """Runs of each task that this process wrote and has not read back yet."""

    def rolled_back(self) -> None:
        self._written.clear()

    def find(self, cursor: DBAPICursor, task_no: int, last: int | None, ids: Ids) -> KnownIds:
        """The known ones; ``last`` is the last place of the task's runs, as it is now.

        Raises ``RunGone`` if the ids are not locked and another process merges runs meanwhile.
        """
        known = KnownIds.none(len(ids))
        if last is None:
            return known
        runs = self._refresh(cursor, task_no, last).firsts
        suspects = np.flatnonzero(self._filter.suspects(task_no, ids))
        for run, firsts in runs.items() if len(suspects) else ():
            known.put(suspects, _find_in_run(cursor, task_no, run, firsts, ids[suspects]))
        return known

    def last_place(self, cursor: DBAPICursor, task_no: int) -> int | None:
        last: int | None = cursor.execute(LAST_PLACE, (task_no,)).fetchone()[0]
        return last

    def draft(
        self,
        cursor: DBAPICursor,
        task_no: int,
        ids: Ids,
        fingerprints: Fingerprints,
        *,
        may_merge: Callable[[], bool],
    ) -> Draft:
        """Write the pages of a run of the ids that are in no run yet, and those of merges.

        The ids need not be locked; raises ``RunGone``, before it writes, as ``find`` does. Runs are
        merged if ``may_merge`` then says that nobody else merges the task's.
        """
        last = self.last_place(cursor, task_no)
        known = self.find(cursor, task_no, last, ids)
        draft = Draft(last, known, ~known.there, _drawn())
        if draft.new.any():
            self._write(cursor, task_no, draft, draft.run, ids[draft.new], fingerprints[draft.new])
            seen = self._seen.get(task_no)
            if seen is not None and _similar_runs(seen.sizes) and may_merge():
                self._merge(cursor, task_no, draft)
        return draft

    def look(self, cursor: DBAPICursor, task_no: int) -> None:
        """Read what others have added by now, so that less is left to be read under the lock."""
        last = self.last_place(cursor, task_no)
        if last is not None:
            with suppress(RunGone):
                self._refresh(cursor, task_no, last)

    def add(
        self,
        cursor: DBAPICursor,
        task_no: int,
        draft: Draft,
        new: Mask,
        ids: Ids,
        fingerprints: Fingerprints,
    ) -> None:
        """Make the ``new`` ones known; the caller holds the lock of the task's ids.

        They are those of ``draft``, unless others were faster.
        """
        if (new != draft.new).any():
            cursor.execute(DROP_PAGES, (task_no, draft.run))
            draft.sizes.pop(draft.run, None)
            if new.any():
                self._write(cursor, task_no, draft, draft.run, ids[new], fingerprints[new])
        place = self.last_place(cursor, task_no) or 0
        for statement in (DROP_RUN, DROP_PAGES) if draft.merged else ():
            cursor.executemany(statement, [(task_no, run) for run in draft.merged])
        for run, size in draft.sizes.items():
            place += 1
            cursor.execute(ADD_RUN, (task_no, run, place, size))
            self._written.setdefault(task_no, {})[run] = draft.firsts[run]
        self._filter.add(task_no, ids[new])

    def _refresh(self, cursor: DBAPICursor, task_no: int, last: int) -> SeenRuns:
        """The cached runs of the task, after bringing them up to date."""
        seen = self._seen.get(task_no, SeenRuns())
        if last == seen.last:
            return seen
        listed = cursor.execute(RUNS, (task_no,)).fetchall()
        sizes = {run: size for run, _, size in listed}
        others = (each.sizes.values() for no, each in self._seen.items() if no != task_no)
        self._make_room(sum(sizes.values()) + sum(map(sum, others)))
        cached = self._written.get(task_no, {}) | self._seen.get(task_no, SeenRuns()).firsts
        firsts = {
            run: cached[run] if run in cached else self._load(cursor, task_no, run) for run in sizes
        }
        self._written.pop(task_no, None)
        newest = max((place for _, place, _ in listed), default=None)
        self._seen[task_no] = SeenRuns(newest, firsts, sizes)
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
        pages = [unpacked(page) for (page,) in cursor.execute(PAGE_IDS, (task_no, run)).fetchall()]
        if not pages:
            raise RunGone
        self._filter.add(task_no, np.concatenate(pages))
        return as_text(np.concatenate([ids[:1] for ids in pages]))

    def _write(
        self,
        cursor: DBAPICursor,
        task_no: int,
        draft: Draft,
        run: int,
        ids: Ids,
        fingerprints: Fingerprints,
    ) -> None:
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
        draft.sizes[run] = len(ids)
        draft.firsts[run] = as_text(ids[::PAGE])

    def _merge(self, cursor: DBAPICursor, task_no: int, draft: Draft) -> None:
        """Write the pages of merged runs; those that they are made of stay until ``add``."""
        listed = cursor.execute(RUNS, (task_no,)).fetchall()
        sizes = {run: size for run, _, size in listed}
        while similar := _similar_runs(sizes):
            ids, fingerprints = _joined(cursor, task_no, similar)
            run = _drawn()
            self._write(cursor, task_no, draft, run, ids, fingerprints)
            for gone in similar:
                draft.sizes.pop(gone, None)
                del sizes[gone]
            draft.merged += similar
            sizes[run] = len(ids)


def _find_in_run(
    cursor: DBAPICursor, task_no: int, run: int, firsts: FirstIds, ids: Ids
) -> KnownIds:
    known = KnownIds.none(len(ids))
    wanted = as_text(ids)
    pages = np.searchsorted(firsts, wanted, side="right") - 1
    for page in np.unique(pages[pages >= 0]).tolist():
        rows = np.flatnonzero(pages == page)
        found = cursor.execute(ONE_PAGE, (task_no, run, page)).fetchone()
        if found is None:
            raise RunGone
        packed, numbers = found
        page_ids = as_text(unpacked(packed))
        places = np.minimum(np.searchsorted(page_ids, wanted[rows]), len(page_ids) - 1)
        there = page_ids[places] == wanted[rows]
        known.put(rows, KnownIds(there, np.frombuffer(numbers, dtype="<i8")[places]))
    return known


def _joined(cursor: DBAPICursor, task_no: int, runs: Sequence[int]) -> tuple[Ids, Fingerprints]:
    """The ids of runs, ascending, and their fingerprints."""
    keys = [(task_no, run) for run in runs]
    pages = [page for key in keys for page in cursor.execute(PAGES, key).fetchall()]
    ids = unpacked(b"".join(packed for packed, _ in pages))
    fingerprints = np.frombuffer(b"".join(numbers for _, numbers in pages), dtype="<i8")
    order, _ = distinct(ids)
    return ids.take(order, axis=0), fingerprints[order]


def _similar_runs(sizes: Mapping[int, int]) -> list[int]:
    """At least ``FAN_IN`` runs that lack equally many merges to be large; [] if there are none."""
    by_merges: dict[int, list[int]] = {}
    for run, size in sizes.items():
        by_merges.setdefault(_merges_left(size), []).append(run)
    similar = (runs for merges, runs in by_merges.items() if merges and len(runs) >= FAN_IN)
    return next(similar, [])


def _merges_left(size: int) -> int:
    merges = 0
    while size < LARGE:
        size *= FAN_IN
        merges += 1
    return merges


def _drawn() -> int:
    return secrets.randbits(RUN_BITS)
