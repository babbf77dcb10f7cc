"""Which report ids were counted: every id is kept for as long as a replay could be counted.

Ids come alone or in batches of hundreds of thousands, and are kept in two forms (ADR 201 has the
measurements that led here):

*Rows.* A claim of fewer than ``BULK`` ids inserts a row for each; the primary key settles races
between curators. A row costs an insertion into a B-tree, a few microseconds.

*Runs.* A larger claim is written as one run: its ids sorted, cut into pages of ``PAGE`` ids, a row
for each page. ``FAN_IN`` runs of like size are merged into one, up to runs of ``LARGE`` ids, so a
task has at most ``ids / LARGE`` runs and a few times ``FAN_IN`` more.

Both forms are searched before an id is claimed. Claims of rows share the task's lock; a claim of a
run holds it exclusively, so no run appears while another curator claims ids without having seen it.

Looking up an id in runs costs a page of each, so every process keeps a Bloom filter over the runs
it has seen and looks up only ids that the filter may contain. The filter grows with the ids, or
pages read in vain would soon cost more than all else. It and the first id of each page are a cache
of committed rows: before each use they are compared with the list of runs, inside the transaction
that holds the task's lock.

``ReportIds`` finds and claims; ``ids_of_task`` and ``remove_some`` go through all ids of a task.
The SQL is text for the driver's own cursor, as everywhere on the path of a report: SQLAlchemy's
overhead for a small statement exceeds SQLite's time to execute it.
"""

import secrets
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, delete, func, select

from .base import Ids, Mask
from .schema import id_pages, id_runs, report_ids

BULK = 4_096
"""From this many ids on, a claim becomes a run."""
PAGE = 512
LARGE = 262_144
FAN_IN = 4

REMOVED_AT_ONCE = 20_000
READ_AT_ONCE = 50_000
MOST_LOG_WORDS = 27
"""The filter's largest size, 1 GiB."""

Fingerprints = NDArray[np.int64]
Index = NDArray[np.intp]
Firsts = NDArray[np.bytes_]
"""The first id of each page of a run."""

ANY_ROW = "SELECT EXISTS (SELECT 1 FROM report_ids WHERE task_no = ?)"
RUNS = "SELECT run, ids FROM id_runs WHERE task_no = ?"
ADD_RUN = "INSERT INTO id_runs (task_no, run, ids) VALUES (?, ?, ?)"
DROP_RUN = "DELETE FROM id_runs WHERE task_no = ? AND run = ?"
PAGES = "SELECT ids, fingerprints FROM id_pages WHERE task_no = ? AND run = ? ORDER BY page"
PAGE_IDS = "SELECT ids FROM id_pages WHERE task_no = ? AND run = ? ORDER BY page"
ONE_PAGE = "SELECT ids, fingerprints FROM id_pages WHERE task_no = ? AND run = ? AND page = ?"
ADD_PAGE = "INSERT INTO id_pages (task_no, run, page, ids, fingerprints) VALUES (?, ?, ?, ?, ?)"
DROP_PAGES = "DELETE FROM id_pages WHERE task_no = ? AND run = ?"


class Cursor(Protocol):
    """A driver's cursor inside a transaction; statements are text with ``?`` for parameters."""

    @property
    def rowcount(self) -> int:
        """Rows that the last statement changed."""
        ...

    def execute(self, statement: str, parameters: Sequence[Any] = ..., /) -> "Cursor":
        """Carry out a statement; raises the driver's errors."""
        ...

    def executemany(self, statement: str, parameters: Sequence[Sequence[Any]], /) -> Any:
        """Carry out a statement once for each set of parameters."""
        ...

    def fetchone(self) -> Any:
        """The next row of the result; None if there is none."""
        ...

    def fetchall(self) -> list[Any]:
        """All other rows of the result."""
        ...


@dataclass(frozen=True, eq=False)
class Known:
    """Which of the requested ids are known, and their fingerprints."""

    there: Mask
    fingerprints: Fingerprints

    @classmethod
    def none(cls, count: int) -> "Known":
        """Nothing found among ``count`` ids."""
        return cls(np.zeros(count, dtype=bool), np.zeros(count, dtype=np.int64))

    @classmethod
    def of(cls, ids: Ids, found: Mapping[bytes, int]) -> "Known":
        """The columns of a lookup that gave a mapping."""
        known = cls.none(len(ids))
        for row, key in enumerate(keys_of(ids)) if found else ():
            if key in found:
                known.there[row] = True
                known.fingerprints[row] = found[key]
        return known

    def put(self, rows: Index, other: "Known") -> None:
        """Enter what a lookup of the ids at ``rows`` found."""
        hit = rows[other.there]
        self.there[hit] = True
        self.fingerprints[hit] = other.fingerprints[other.there]


class Rows(Protocol):
    """Ids in rows, which each database inserts and finds in its own way."""

    def claim_rows(
        self, cursor: Cursor, task_no: int, ids: Ids, fingerprints: Fingerprints, /
    ) -> Known:
        """Insert the ids that are not there; which were, once all races are settled."""
        ...

    def find_rows(self, cursor: Cursor, task_no: int, ids: Ids, /) -> Known:
        """Which of the ids are there."""
        ...


class ReportIds:
    """All report ids, as one process sees them; used by one thread at a time.

    Takes ids that are distinct and ascending (``distinct`` makes them so), shape ``(B, 16)``.
    ``last_run`` is the number of the task's newest run as the transaction reads it, None if it has
    no runs. Every change to runs makes a run that is newer than all others.
    """

    def __init__(self, rows: Rows, log_words: int = 23) -> None:
        self._rows = rows
        self._filter = Filter(log_words)
        self._held: dict[int, int] = {}
        """By task, how many ids its runs hold."""
        self._seen: dict[int, dict[int, Firsts]] = {}
        self._written: dict[int, dict[int, Firsts]] = {}
        """By task, runs that this process wrote and has not read back yet."""

    def find(self, cursor: Cursor, task_no: int, last_run: int | None, ids: Ids) -> Known:
        """Which of the ids are known."""
        known = self._find_in_runs(cursor, task_no, last_run, ids)
        if len(ids) < BULK or cursor.execute(ANY_ROW, (task_no,)).fetchone()[0]:
            unknown = np.flatnonzero(~known.there)
            known.put(unknown, self._rows.find_rows(cursor, task_no, ids[unknown]))
        return known

    def claim(
        self,
        cursor: Cursor,
        task_no: int,
        last_run: int | None,
        ids: Ids,
        fingerprints: Fingerprints,
    ) -> Known:
        """Make the ids known; which were before. From ``BULK`` ids on, needs the lock alone."""
        if len(ids) >= BULK:
            known = self.find(cursor, task_no, last_run, ids)
            new = np.flatnonzero(~known.there)
            if len(new):
                self._append_run(cursor, task_no, ids[new], fingerprints[new])
            return known
        if last_run is None:
            return self._rows.claim_rows(cursor, task_no, ids, fingerprints)
        known = self._find_in_runs(cursor, task_no, last_run, ids)
        new = np.flatnonzero(~known.there)
        known.put(new, self._rows.claim_rows(cursor, task_no, ids[new], fingerprints[new]))
        return known

    def forget_unsure(self) -> None:
        """A transaction may not have become durable: believe nothing of what it wrote."""
        self._written.clear()

    def _find_in_runs(self, cursor: Cursor, task_no: int, last_run: int | None, ids: Ids) -> Known:
        known = Known.none(len(ids))
        if last_run is None:
            return known
        runs = self._refresh(cursor, task_no, last_run)
        suspects = np.flatnonzero(self._filter.suspects(task_no, ids))
        for run, firsts in runs.items() if len(suspects) else ():
            known.put(suspects, _find_in_run(cursor, task_no, run, firsts, ids[suspects]))
        return known

    def _refresh(self, cursor: Cursor, task_no: int, last_run: int) -> dict[int, Firsts]:
        """What is remembered of the task's runs, made equal to what is there."""
        seen = self._seen.get(task_no, {})
        if last_run in seen:
            return seen
        sizes: dict[int, int] = dict(cursor.execute(RUNS, (task_no,)).fetchall())
        self._held[task_no] = sum(sizes.values())
        self._make_room(sum(self._held.values()))
        known = self._written.pop(task_no, {}) | self._seen.get(task_no, {})
        self._seen[task_no] = {
            run: known[run] if run in known else self._load(cursor, task_no, run) for run in sizes
        }
        return self._seen[task_no]

    def _make_room(self, ids: int) -> None:
        """Begin a larger filter if it is too small for so many ids; runs are then read again."""
        log_words = min(Filter.fitting(ids), MOST_LOG_WORDS)
        if log_words > self._filter.log_words:
            self._filter = Filter(log_words)
            self._seen.clear()
            self._written.clear()

    def _load(self, cursor: Cursor, task_no: int, run: int) -> Firsts:
        firsts = []
        for (packed,) in cursor.execute(PAGE_IDS, (task_no, run)).fetchall():
            ids = _unpacked(packed)
            self._filter.add(task_no, ids)
            firsts.append(ids[:1])
        return as_text(np.concatenate(firsts))

    def _append_run(
        self, cursor: Cursor, task_no: int, ids: Ids, fingerprints: Fingerprints
    ) -> None:
        """Keep ids that are not known yet as a new run, then merge runs of like size."""
        sizes: dict[int, int] = dict(cursor.execute(RUNS, (task_no,)).fetchall())
        run = max(sizes, default=0) + 1
        self._write_run(cursor, task_no, run, ids, fingerprints)
        sizes[run] = len(ids)
        while len(like := _runs_of_like_size(sizes, run)) >= FAN_IN:
            run += 1
            self._write_run(cursor, task_no, run, *_take_out(cursor, task_no, like))
            sizes[run] = sum(sizes.pop(own) for own in like)

    def _write_run(
        self, cursor: Cursor, task_no: int, run: int, ids: Ids, fingerprints: Fingerprints
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


def _find_in_run(cursor: Cursor, task_no: int, run: int, firsts: Firsts, ids: Ids) -> Known:
    """Which of the ids one run holds."""
    known = Known.none(len(ids))
    wanted = as_text(ids)
    pages = np.searchsorted(firsts, wanted, side="right") - 1
    for page in np.unique(pages[pages >= 0]).tolist():
        rows = np.flatnonzero(pages == page)
        packed, numbers = cursor.execute(ONE_PAGE, (task_no, run, page)).fetchone()
        held = as_text(_unpacked(packed))
        places = np.minimum(np.searchsorted(held, wanted[rows]), len(held) - 1)
        there = held[places] == wanted[rows]
        known.put(rows, Known(there, np.frombuffer(numbers, dtype="<i8")[places]))
    return known


def _take_out(cursor: Cursor, task_no: int, runs: Sequence[int]) -> tuple[Ids, Fingerprints]:
    """Remove runs; what they held, ascending by id."""
    keys = [(task_no, run) for run in runs]
    pages = [page for key in keys for page in cursor.execute(PAGES, key).fetchall()]
    ids = _unpacked(b"".join(packed for packed, _ in pages))
    fingerprints = np.frombuffer(b"".join(numbers for _, numbers in pages), dtype="<i8")
    order, _ = distinct(ids)
    cursor.executemany(DROP_RUN, keys)
    cursor.executemany(DROP_PAGES, keys)
    return ids.take(order, axis=0), fingerprints[order]


def _runs_of_like_size(sizes: Mapping[int, int], run: int) -> list[int]:
    """The runs that are to be merged as often as ``run`` until they are large; none if it is."""
    rank = _merges_left(sizes[run])
    return [own for own, size in sizes.items() if _merges_left(size) == rank] if rank else []


def _merges_left(size: int) -> int:
    merges = 0
    while size < LARGE:
        size *= FAN_IN
        merges += 1
    return merges


class Filter:
    """A blocked Bloom filter over report ids: says "surely new" or "look it up".

    An id picks one of ``2**log_words`` 64-bit words by its first eight bytes and four bits of it by
    its last three (Putze, Sanders and Singler, "Cache-, hash- and space-efficient Bloom filters",
    2007). Ids in ascending order touch the words in ascending order. With more than
    ``IDS_PER_WORD`` it answers "look it up" more often, and stays right. Untouched words take no
    memory. A secret drawn at each start prevents senders from targeting a word.
    """

    BITS_PER_ID = 4
    IDS_PER_WORD = 2
    """At which 8 in 10 000 new ids are suspects."""
    GOLDEN = 0x9E3779B97F4A7C15
    """2**64 over the golden ratio: spreads the tasks over the words."""

    def __init__(self, log_words: int) -> None:
        self.log_words = log_words
        self._words = np.zeros(1 << log_words, dtype=np.uint64)
        self._shift = np.uint64(64 - log_words)
        self._secret = secrets.randbits(64)

    @classmethod
    def fitting(cls, ids: int) -> int:
        """``log_words`` of the smallest filter for so many ids."""
        return max(-(-ids // cls.IDS_PER_WORD) - 1, 0).bit_length()

    def add(self, task_no: int, ids: Ids) -> None:
        """Remember ids."""
        places, bits = self._aim(task_no, ids)
        np.bitwise_or.at(self._words, places, bits)

    def suspects(self, task_no: int, ids: Ids) -> Mask:
        """False for every id that was surely never added, shape ``(B,)``."""
        places, bits = self._aim(task_no, ids)
        there: Mask = (self._words[places] & bits) == bits
        return there

    def _aim(self, task_no: int, ids: Ids) -> tuple[Index, NDArray[np.uint64]]:
        halves = np.ascontiguousarray(ids).view(">u8").astype(np.uint64)
        start = np.uint64((task_no * self.GOLDEN + self._secret) % 2**64)
        places = (halves[:, 0] + start) >> self._shift
        bits = np.zeros(len(ids), dtype=np.uint64)
        for turn in range(self.BITS_PER_ID):
            bits |= np.uint64(1) << ((halves[:, 1] >> np.uint64(6 * turn)) & np.uint64(63))
        return places.astype(np.intp), bits


def distinct(ids: Ids) -> tuple[Index, Index | None]:
    """Where each distinct id comes first, ascending by id; and for every row where its id does.

    Shapes ``(D,)`` and ``(B,)`` for B ids of which D differ; None in place of the second if all
    do. Random ids differ in their first eight bytes, and numbers are sorted much faster than
    strings; ids that do not are sorted as strings.
    """
    heads = np.ascontiguousarray(ids[:, :8]).view(">u8").ravel().astype(np.uint64)
    order = np.argsort(heads)
    ranked_heads = heads[order]
    if (ranked_heads[1:] != ranked_heads[:-1]).all():
        return order, None
    text = as_text(ids)
    order = np.argsort(text, kind="stable")
    ranked = text[order]
    begins = np.ones(len(ids), dtype=bool)
    begins[1:] = ranked[1:] != ranked[:-1]
    first = order[begins]
    first_of_row = np.empty(len(ids), dtype=np.intp)
    first_of_row[order] = first[np.cumsum(begins) - 1]
    return first, first_of_row


def keys_of(ids: Ids) -> list[bytes]:
    """The rows of ``ids`` as byte strings."""
    packed = ids.tobytes()
    return [packed[start : start + 16] for start in range(0, len(packed), 16)]


def as_text(ids: Ids) -> NDArray[np.bytes_]:
    """The ids as one column of 16-byte strings, which numpy orders byte by byte.

    numpy hides zero bytes at the end of a string, but among strings of one length that changes
    neither equality nor order.
    """
    return np.ascontiguousarray(ids).view("S16").ravel()


def _unpacked(packed: bytes) -> Ids:
    return np.frombuffer(packed, dtype=np.uint8).reshape(-1, 16)


def ids_of_task(connection: Connection, task_no: int) -> Iterator[Ids]:
    """All ids of a task, some at a time, in no order."""
    rows = select(report_ids.c.id).where(report_ids.c.task_no == task_no)
    pages = select(id_pages.c.ids).where(id_pages.c.task_no == task_no)
    for query, at_once in ((rows, READ_AT_ONCE), (pages, READ_AT_ONCE // PAGE)):
        found = connection.scalars(query, execution_options={"yield_per": at_once})
        for part in found.partitions():
            yield _unpacked(b"".join(map(bytes, part)))


def remove_some(connection: Connection, task_no: int) -> int:
    """Remove some of a task's ids; how many, 0 if there are none left."""
    own = report_ids.c.task_no == task_no
    some = select(report_ids.c.id).where(own).order_by(report_ids.c.id).limit(REMOVED_AT_ONCE)
    last = connection.scalar(select(func.max(some.subquery().c.id)))
    if last is not None:
        return connection.execute(delete(report_ids).where(own, report_ids.c.id <= last)).rowcount
    runs = select(id_runs.c.run, id_runs.c.ids).where(id_runs.c.task_no == task_no).limit(1)
    run = connection.execute(runs).one_or_none()
    if run is None:
        return 0
    for table in (id_pages, id_runs):
        connection.execute(delete(table).where(table.c.task_no == task_no, table.c.run == run.run))
    return int(run.ids)
