"""The transaction that counts reports, in either database.

A group of reports for one task is settled in three steps: repeats within the group are found by
sorting its ids; the distinct ids are claimed, which says which of them were known; what is left is
added to this curator's own rows of sums and to its bucket. The SQL is for the driver's own cursor.
"""

import threading
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
from sqlalchemy import URL, Engine, PoolProxiedConnection
from sqlalchemy.exc import SQLAlchemyError

from privet.protocol.errors import StorageFailed

from .base import (
    CHECKSUM_BYTES,
    CHECKSUM_MODULUS,
    Addition,
    Outcome,
    Outcomes,
    ReportGroup,
    Store,
    Vector,
    hidden,
    is_open,
    sums_checksum,
)
from .report_ids import (
    BULK,
    Cursor,
    Fingerprints,
    Index,
    Known,
    ReportIds,
    Rows,
    distinct,
)

TASK = """
SELECT id, no, state, opens, closes, invited, ids_gone, quota,
    (SELECT max(run) FROM id_runs WHERE task_no = tasks.no)
FROM tasks WHERE id = ?
"""
USE_INVITATION = """
UPDATE invitations SET unused = FALSE
WHERE task_no = ? AND digest = ? AND unused = TRUE AND (expires IS NULL OR expires > ?)
"""
HELD = "SELECT invitations FROM admissions WHERE task_no = ? AND id = ?"
END_ADMISSION = "DELETE FROM admissions WHERE task_no = ? AND id = ?"
COUNTED = "SELECT COALESCE(SUM(reports), 0) FROM buckets WHERE task_no = ?"
RELAYED = """
SELECT reports FROM relayed WHERE task_no = ? AND starts = ? AND curator = ? AND relay = ?
"""
ADD_RELAYED = """
INSERT INTO relayed (reports, task_no, starts, curator, relay) VALUES (?, ?, ?, ?, ?)
"""
CHANGE_RELAYED = """
UPDATE relayed SET reports = ? WHERE task_no = ? AND starts = ? AND curator = ? AND relay = ?
"""
OWN_ROWS = """
SELECT buckets.reports, buckets.checksum, question, n, vector, sums.checksum
FROM buckets LEFT JOIN sums USING (task_no, starts, curator)
WHERE task_no = ? AND starts = ? AND curator = ?
"""
PUT_BUCKET = """
INSERT INTO buckets (task_no, starts, curator, reports, checksum) VALUES (?, ?, ?, ?, ?)
ON CONFLICT (task_no, starts, curator)
DO UPDATE SET reports = excluded.reports, checksum = excluded.checksum
"""
PUT_SUM = """
INSERT INTO sums (task_no, starts, curator, question, n, vector, checksum)
VALUES (?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (task_no, starts, curator, question)
DO UPDATE SET n = excluded.n, vector = excluded.vector, checksum = excluded.checksum
"""


class TaskRow(NamedTuple):
    """What ``take`` has to know of a task, as ``TASK`` reads it."""

    id: str
    no: int
    state: str
    opens: int | None
    closes: int | None
    invited: bool
    ids_gone: bool
    quota: int | None
    last_run: int | None
    """The newest run of its ids, see ``ReportIds``."""


class MustLockAlone(Exception):
    """A task that was locked together with others has invitations or a quota: lock it alone."""


class Backend(Rows, Protocol):
    """What SQLite and PostgreSQL do differently; each is a module of functions."""

    def open_engine(self, url: URL) -> Engine:
        """An engine for the database at ``url``."""
        ...

    def cursor_of(self, connection: PoolProxiedConnection, /) -> Cursor:
        """A cursor of a pooled connection."""
        ...

    def begin_writing(self, cursor: Cursor, /) -> None:
        """Begin a transaction that writes, where none has begun."""
        ...

    def lock_tasks(self, cursor: Cursor, shared: Sequence[str], alone: Sequence[str], /) -> None:
        """Lock tasks by id until the transaction ends, those in ``alone`` for it alone."""
        ...

    def slot(self, cursor: Cursor, /) -> int:
        """The slot whose sums this transaction may change."""
        ...


class CountingStore(Store):
    """The part of ``SqlStore`` that takes reports."""

    def __init__(self, url: URL, backend: Backend, bucket_seconds: int = 86_400) -> None:
        self._backend = backend
        self._bucket_seconds = bucket_seconds
        self._engine = backend.open_engine(url)
        self._report_ids = ReportIds(backend)
        self._locked_alone: set[str] = set()
        """Tasks that are known to have invitations or a quota, which they then always have."""
        self._taking = threading.Lock()

    @property
    def engine(self) -> Engine:
        """The engine, for migrations and backups."""
        return self._engine

    def take(self, groups: Sequence[ReportGroup], now: float) -> list[Outcomes]:
        with self._taking:
            while True:
                try:
                    return self._take(groups, now)
                except MustLockAlone:  # at most once for each task
                    continue

    def _take(self, groups: Sequence[ReportGroup], now: float) -> list[Outcomes]:
        starts = int(now // self._bucket_seconds) * self._bucket_seconds
        try:
            with self._failing(), closing(self._engine.raw_connection()) as connection:
                cursor = self._backend.cursor_of(connection)
                self._backend.begin_writing(cursor)
                outcomes = Counting(
                    cursor, self._backend, self._report_ids, self._locked_alone, now, starts
                ).take(groups)
                connection.commit()  # without it, the pool rolls back what it gets back
                return outcomes
        except BaseException:
            self._report_ids.forget_unsure()
            raise

    @contextmanager
    def _failing(self) -> Iterator[None]:
        """Errors of SQLAlchemy, and those of the driver where its own cursor is used."""
        try:
            yield
        except (SQLAlchemyError, self._engine.dialect.loaded_dbapi.Error) as error:
            raise StorageFailed(
                "The curator's database could not do this; nothing was changed. Try again after a "
                "while; the operator finds the cause in the curator's log."
            ) from error


@dataclass(frozen=True)
class Counting:
    """One transaction at ``now``, into the bucket that ``starts`` then."""

    cursor: Cursor
    backend: Backend
    report_ids: ReportIds
    locked_alone: set[str]
    """Tasks that are known to have invitations or a quota, which they then always have."""
    now: float
    starts: int

    def take(self, groups: Sequence[ReportGroup]) -> list[Outcomes]:
        """Claim ids and add sums for every group; see ``Store.take``.

        Raises ``MustLockAlone`` before anything was written if a task turns out to have
        invitations or a quota; it is in ``locked_alone`` from then on.
        """
        rows = self._lock(groups)
        outcomes = [self._settle(rows.get(group.task.id), group) for group in groups]
        slot = None
        for group, own in zip(groups, outcomes, strict=True):
            counted = own == Outcome.COUNTED
            if counted.any():
                slot = self.backend.slot(self.cursor) if slot is None else slot
                key = (rows[group.task.id].no, self.starts, slot)
                self._add(key, group.add_up(counted))
                if group.relay:
                    self._add_relayed(key, group.relay, int(np.count_nonzero(counted)))
        return outcomes

    def _lock(self, groups: Sequence[ReportGroup]) -> dict[str, TaskRow]:
        """The groups' tasks, which then stay as they are until the transaction ends."""
        ids = [group.task.id for group in groups]
        alone = [
            group.task.id
            for group in groups
            if len(group) >= BULK or group.task.id in self.locked_alone
        ]
        self.backend.lock_tasks(self.cursor, ids, alone)
        found = [self.cursor.execute(TASK, (task_id,)).fetchone() for task_id in ids]
        rows = {row[0]: TaskRow(*row) for row in found if row is not None}
        surprising = {
            row.id
            for row in rows.values()
            if (row.invited or row.quota is not None) and row.id not in alone
        }
        if surprising:
            self.locked_alone.update(surprising)
            raise MustLockAlone
        return rows

    def _settle(self, task: TaskRow | None, group: ReportGroup) -> Outcomes:
        if task is None:
            return np.full(len(group), Outcome.NO_TASK, dtype=np.int8)
        if task.ids_gone:
            return np.full(len(group), Outcome.NOT_OPEN, dtype=np.int8)
        first, first_of_row = distinct(group.ids)
        outcomes = np.empty(len(group), dtype=np.int8)
        outcomes[first] = self._claim(task, group, first)
        if first_of_row is not None:
            _settle_repeats(outcomes, group.fingerprints, first_of_row)
        return outcomes

    def _claim(self, task: TaskRow, group: ReportGroup, first: Index) -> Outcomes:
        """Outcomes of the reports ``first``, whose ids are distinct and ascending."""
        ids, fingerprints = group.ids.take(first, axis=0), group.fingerprints[first]
        place = (self.cursor, task.no, task.last_run)
        takes_reports = is_open(task.state, task.opens, task.closes, self.now)
        if takes_reports and not task.invited and task.quota is None:
            known = self.report_ids.claim(*place, ids, fingerprints)
            return _outcomes(known, fingerprints, Outcome.COUNTED)
        known = self.report_ids.find(*place, ids)
        if not takes_reports:
            return _outcomes(known, fingerprints, Outcome.NOT_OPEN)
        outcomes = _outcomes(known, fingerprints, Outcome.NOT_INVITED)
        new = np.flatnonzero(~known.there)
        arrived = new[np.argsort(first[new])]
        left = len(new) if task.quota is None else task.quota - self._counted(task.no)
        admitted, beyond = arrived[: max(left, 0)], arrived[max(left, 0) :]
        if task.invited and group.admissions:
            if not self._end_admissions(task.no, group.admissions, len(admitted)):
                outcomes[admitted] = Outcome.NOT_ADMITTED
                admitted = admitted[:0]
        elif task.invited:
            admitted, beyond = self._use_invitations(task.no, group, first, arrived, left)
        admitted = np.sort(admitted)
        self.report_ids.claim(*place, ids[admitted], fingerprints[admitted])
        outcomes[admitted] = Outcome.COUNTED
        outcomes[beyond] = Outcome.OVER_QUOTA
        return outcomes

    def _counted(self, task_no: int) -> int:
        """Reports of a task that were counted before this transaction, by all curators."""
        return int(self.cursor.execute(COUNTED, (task_no,)).fetchone()[0])

    def _end_admissions(self, task_no: int, admissions: Sequence[bytes], new: int) -> bool:
        """Use up all that admissions hold, if that is enough for ``new`` reports."""
        keys = [(task_no, own) for own in admissions]
        rows = [self.cursor.execute(HELD, key).fetchone() for key in keys]
        if new > sum(row[0] for row in rows if row is not None):
            return False
        if new:
            self.cursor.executemany(END_ADMISSION, keys)
        return True

    def _use_invitations(
        self, task_no: int, group: ReportGroup, first: Index, arrived: Index, left: int
    ) -> tuple[Index, Index]:
        """Use up the invitations of new reports, in order of arrival, until ``left`` have one.

        The places of those with one, and of those that came after ``left`` had been admitted.
        """
        admitted: list[int] = []
        for tried, place in enumerate(arrived.tolist()):
            if len(admitted) >= left:
                return np.array(admitted, dtype=np.intp), arrived[tried:]
            if group.invitations is not None:
                kept = hidden(group.invitations[first[place]].tobytes())
                if self.cursor.execute(USE_INVITATION, (task_no, kept, self.now)).rowcount == 1:
                    admitted.append(place)
        return np.array(admitted, dtype=np.intp), arrived[:0]

    def _add_relayed(self, key: tuple[int, int, int], relay: str, reports: int) -> None:
        """Add to what came in batches with one token."""
        old = self.cursor.execute(RELAYED, (*key, relay)).fetchone()
        change = ADD_RELAYED if old is None else CHANGE_RELAYED
        self.cursor.execute(change, (reports + (0 if old is None else old[0]), *key, relay))

    def _add(self, key: tuple[int, int, int], added: Addition) -> None:
        """Add to this slot's own rows; ``key`` is (task, start of the bucket, slot)."""
        old = self.cursor.execute(OWN_ROWS, key).fetchall()
        reports, packed = old[0][:2] if old else (0, b"")
        bucket = (reports + added.reports, _plus(packed, added.checksum))
        self.cursor.execute(PUT_BUCKET, (*key, *bucket))
        sums = {row[2]: row[3:] for row in old}
        for question, own in added.sums.items():
            n, vector, packed = own.n, own.vector, b""
            if question in sums:
                old_n, old_vector, packed = sums[question]
                n, vector = n + old_n, vector + vector_of(old_vector)
            check = _plus(packed, sums_checksum(own.n, own.vector))
            put = (*key, question, n, vector.astype("<i8", copy=False).tobytes(), check)
            self.cursor.execute(PUT_SUM, put)


def _settle_repeats(outcomes: Outcomes, fingerprints: Fingerprints, first_of_row: Index) -> None:
    """Give every repeat within the group the outcome that follows from the first of its id."""
    repeats = np.flatnonzero(first_of_row != np.arange(len(first_of_row)))
    firsts = first_of_row[repeats]
    same = fingerprints[repeats] == fingerprints[firsts]
    accepted = outcomes[firsts] <= Outcome.CONFLICT
    settled = np.where(same, Outcome.REPLAYED, Outcome.CONFLICT)
    outcomes[repeats] = np.where(accepted, settled, outcomes[firsts])


def _outcomes(known: Known, fingerprints: Fingerprints, unknown: Outcome) -> Outcomes:
    """REPLAYED or CONFLICT for the known reports, ``unknown`` for the others."""
    same = known.fingerprints == fingerprints
    settled = np.where(same, Outcome.REPLAYED, Outcome.CONFLICT)
    return np.where(known.there, settled, unknown).astype(np.int8)


def _plus(packed: bytes, added: int) -> bytes:
    """A stored checksum after an addition."""
    total = (int.from_bytes(packed, "big") + added) % CHECKSUM_MODULUS
    return total.to_bytes(CHECKSUM_BYTES, "big")


def vector_of(packed: bytes) -> Vector:
    """The sums that a row holds."""
    return np.frombuffer(packed, dtype="<i8")
