"""The transaction that counts reports, in either database.

A group of reports for one task is settled in three steps: repeats within the group are found by
sorting its ids; the distinct ids are claimed, which says which of them were known; what is left is
added to this curator's own rows of sums and to its bucket. The SQL is for the driver's own cursor.
"""

import threading
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from sqlalchemy.engine.interfaces import DBAPICursor

from privet.protocol.lifecycle import Phase, phase_of, settles_at, takes_late

from .database import Backend, Database, check_revision
from .invitations import hidden
from .report_ids import Fingerprints, KnownIds, Positions, ReportIds, TaskIds, distinct
from .reports import (
    Addition,
    Outcome,
    Outcomes,
    QuestionSums,
    ReportGroup,
    packed_checksum,
    sums_checksum,
    unpacked_checksum,
    unpacked_sums,
)

BUCKET_SECONDS = 86_400
"""Sums and checksums are kept per day of arrival."""
READ_TASK = """
SELECT id, no, state, moved, opens, closes, invited, ids_gone, quota, filled,
    (SELECT max(place) FROM id_runs WHERE task_no = tasks.no),
    (SELECT version_num FROM alembic_version)
FROM tasks WHERE id = ?
"""
USE_INVITATION = """
UPDATE invitations SET unused = FALSE
WHERE task_no = ? AND digest = ? AND unused = TRUE AND (expires IS NULL OR expires > ?)
"""
HELD_INVITATIONS = "SELECT invitations FROM admissions WHERE task_no = ? AND id = ?"
END_ADMISSION = "DELETE FROM admissions WHERE task_no = ? AND id = ?"
COUNT_REPORTS = "SELECT COALESCE(SUM(reports), 0) FROM buckets WHERE task_no = ?"
SET_FILLED = "UPDATE tasks SET filled = ? WHERE no = ? AND filled IS NULL"
ADD_RELAYED = """
INSERT INTO relayed (task_no, starts, curator, relay, reports) VALUES (?, ?, ?, ?, ?)
ON CONFLICT (task_no, relay, starts, curator)
DO UPDATE SET reports = relayed.reports + excluded.reports
"""
READ_BUCKET = """
SELECT reports, checksum, parts FROM buckets WHERE task_no = ? AND starts = ? AND curator = ?
"""
PUT_BUCKET = """
INSERT INTO buckets (task_no, starts, curator, reports, checksum, parts) VALUES (?, ?, ?, ?, ?, ?)
ON CONFLICT (task_no, starts, curator)
DO UPDATE SET reports = excluded.reports, checksum = excluded.checksum, parts = excluded.parts
"""
READ_SUMS = """
SELECT question, n, vector, width FROM sums WHERE task_no = ? AND starts = ? AND curator = ?
"""
DROP_SUMS = "DELETE FROM sums WHERE task_no = ? AND starts = ? AND curator = ?"
ADD_SUM = """
INSERT INTO sums (task_no, starts, curator, question, part, n, vector, width, checksum)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
"""
READ_EVENTS = """
SELECT closings, n, vector, width FROM payload_events
WHERE task_no = ? AND question = ? AND way = ? AND curator = ?
"""
PUT_EVENTS = """
INSERT INTO payload_events (task_no, question, way, curator, closings, n, vector, width)
VALUES (?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (task_no, question, way, curator) DO UPDATE SET closings = excluded.closings,
    n = excluded.n, vector = excluded.vector, width = excluded.width
"""
CLOSES_AT = 1_000
"""Answers of one way whose events are kept together; fewer are in memory alone, and lost with it,
so that no two states of a database, nor backups, tell fewer apart."""
MOST_OPEN = 10_000
"""Ways of which events are counted in memory."""
MOST_PARTS = 32
"""Additions to a bucket's sums before they are merged: readers add those that are not."""


Way = tuple[int, int, str]
"""A task's number, a question, and the relay's name or nothing."""


class CountedTask(NamedTuple):
    """The row of a task that ``take`` needs, as ``READ_TASK`` reads it."""

    id: str
    no: int
    state: str
    moved: float
    opens: int | None
    closes: int | None
    invited: bool
    ids_gone: bool
    quota: int | None
    filled: float | None
    """Unix time at which the quota was reached."""
    last: int | None
    """Place of the last run of its ids, see ``ReportIds``."""
    revision: str | None
    """The database's schema."""


class NeedsExclusiveLock(Exception):
    """A task that was locked together with others has invitations or a quota."""


class ReportStore:
    """The verb that counts reports."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self._report_ids = ReportIds(database.backend)
        self._exclusive: set[str] = set()
        self._open: dict[Way, QuestionSums] = {}
        self._taking = threading.Lock()

    def take(self, groups: Sequence[ReportGroup], now: float) -> list[Outcomes]:
        """Claim ids and add sums, all groups in one durable transaction; outcomes per group.

        An id that is new to its task is COUNTED. One that is known is REPLAYED if its fingerprint
        is the same and a CONFLICT otherwise, and adds nothing. New reports for a task that takes
        none at ``now`` are NOT_OPEN, and those beyond its quota OVER_QUOTA; reports for a task that
        is not there are NO_TASK. Of several reports under one id in a group the first decides.
        Every group is for a different task. A group that a relay took in time counts until the
        grace period ends, all of it: its relay could not know that a quota was reached.

        In a task with invitations, a new report whose invitation is absent, unknown, held or used
        is NOT_INVITED. A group that names admissions needs one held invitation for each new report
        instead, or all its new ones are NOT_ADMITTED; what they hold is then used up.
        """
        with self._taking:
            while True:
                try:
                    return self._take(groups, now)
                except NeedsExclusiveLock:  # at most once for each task
                    continue

    def _take(self, groups: Sequence[ReportGroup], now: float) -> list[Outcomes]:
        starts = int(now // BUCKET_SECONDS) * BUCKET_SECONDS
        try:
            with closing(self.database.engine.raw_connection()) as connection:
                cursor = self.database.backend.cursor_of(connection)
                self.database.backend.begin_writing(cursor)
                counting = Counting(
                    cursor,
                    self.database.backend,
                    self.database.revision,
                    self._report_ids,
                    self._exclusive,
                    now,
                    starts,
                    self._open,
                )
                outcomes = counting.take(groups)
                connection.commit()  # without it, the pool rolls back what it gets back
                self._open.update(counting.opened)
                while len(self._open) > MOST_OPEN:
                    del self._open[next(iter(self._open))]
                return outcomes
        except BaseException:
            self._report_ids.rolled_back()
            with self.database.failing():
                raise


@dataclass(frozen=True)
class Counting:
    """One transaction at ``now``, into the bucket that ``starts`` then."""

    cursor: DBAPICursor
    backend: Backend
    revision: str
    report_ids: ReportIds
    exclusive: set[str]
    """Tasks known to have invitations or a quota; a task never loses them."""
    now: float
    starts: int
    open: Mapping[Way, QuestionSums]
    """Events of answers that are not kept yet; those of this transaction are ``opened``."""
    opened: dict[Way, QuestionSums] = field(default_factory=dict)

    def take(self, groups: Sequence[ReportGroup]) -> list[Outcomes]:
        """Claim ids and add sums for every group; see ``ReportStore.take``.

        Raises ``NeedsExclusiveLock`` before anything was written if a task turns out to have
        invitations or a quota; it is in ``exclusive`` from then on.
        """
        rows = self._lock(groups)
        outcomes = [self._settle(rows.get(group.task.id), group) for group in groups]
        slot = None
        for group, outcomes_of_group in zip(groups, outcomes, strict=True):
            counted = outcomes_of_group == Outcome.COUNTED
            if counted.any():
                slot = self.backend.slot(self.cursor) if slot is None else slot
                key = (rows[group.task.id].no, self.starts, slot)
                added = group.add_up(counted)
                self._add(key, added)
                self._add_events(key, group.relay, added)
                if group.relay:
                    relayed = (*key, group.relay, int(np.count_nonzero(counted)))
                    self.cursor.execute(ADD_RELAYED, relayed)
        return outcomes

    def _lock(self, groups: Sequence[ReportGroup]) -> dict[str, CountedTask]:
        """The groups' tasks, which then stay as they are until the transaction ends.

        Schema, tasks and ids are locked and read together, since a round trip more would cost. Only
        a large group that is alone has its ids locked later.
        """
        ids = [group.task.id for group in groups]
        exclusive = [task_id for task_id in ids if task_id in self.exclusive]
        bulk = {group.task.id: len(group) >= self.backend.BULK for group in groups}
        claimed = {} if len(groups) == 1 and bulk[ids[0]] else bulk
        held = self.backend.lock_tasks(self.cursor, ids, exclusive, claimed)
        fetched = [self.cursor.execute(READ_TASK, (task_id,)).fetchone() for task_id in ids]
        rows = {row[0]: CountedTask(*row) for row in fetched if row is not None}
        for row in rows.values():
            check_revision(row.revision if held else None, self.revision)
        surprising = {
            row.id
            for row in rows.values()
            if (row.invited or row.quota is not None) and row.id not in exclusive
        }
        if surprising:
            self.exclusive.update(surprising)
            raise NeedsExclusiveLock
        return rows

    def _settle(self, task: CountedTask | None, group: ReportGroup) -> Outcomes:
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

    def _claim(self, task: CountedTask, group: ReportGroup, first: Positions) -> Outcomes:
        """Outcomes of the reports ``first``, whose ids are distinct and ascending."""
        ids, fingerprints = group.ids.take(first, axis=0), group.fingerprints[first]
        if group.in_time:
            settles = settles_at(task.state, task.moved, task.closes, task.filled)
            takes_reports = takes_late(task.state, task.opens, settles, self.now)
        else:  # beyond the quota they are refused as such, below
            dates = (task.opens, task.closes)
            takes_reports = phase_of(task.state, *dates, None, self.now) is Phase.OPEN
        place = (self.cursor, TaskIds(task.id, task.no, task.last))
        is_simple = takes_reports and not task.invited and task.quota is None
        if len(group) >= self.backend.BULK and not (is_simple and len(ids) >= self.backend.BULK):
            place = (self.cursor, self.report_ids.locked(*place))
        if is_simple:
            known = self.report_ids.claim(*place, ids, fingerprints)
            return _outcomes(known, fingerprints, Outcome.COUNTED)
        known = self.report_ids.find(*place, ids)
        if not takes_reports:
            return _outcomes(known, fingerprints, Outcome.NOT_OPEN)
        outcomes = _outcomes(known, fingerprints, Outcome.NOT_INVITED)
        new = np.flatnonzero(~known.there)
        arrived = new[np.argsort(first[new])]
        counted = 0 if task.quota is None else self._counted(task.no)
        left = len(new) if task.quota is None or group.in_time else task.quota - counted
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
        if task.quota is not None and counted + len(admitted) >= task.quota:
            self.cursor.execute(SET_FILLED, (self.now, task.no))
        return outcomes

    def _counted(self, task_no: int) -> int:
        """Reports of a task that were counted before this transaction, by all curators."""
        return int(self.cursor.execute(COUNT_REPORTS, (task_no,)).fetchone()[0])

    def _end_admissions(self, task_no: int, admissions: Sequence[bytes], new: int) -> bool:
        """Use up all that admissions hold, if that is enough for ``new`` reports."""
        keys = [(task_no, admission) for admission in admissions]
        rows = [self.cursor.execute(HELD_INVITATIONS, key).fetchone() for key in keys]
        if new > sum(row[0] for row in rows if row is not None):
            return False
        if new:
            self.cursor.executemany(END_ADMISSION, keys)
        return True

    def _use_invitations(
        self, task_no: int, group: ReportGroup, first: Positions, arrived: Positions, left: int
    ) -> tuple[Positions, Positions]:
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

    def _add(self, key: tuple[int, int, int], added: Addition) -> None:
        """Add to this slot's own rows; ``key`` is (task, start of the bucket, slot).

        The addition is written beside what is there, which may be a thousand times as large.
        """
        row = self.cursor.execute(READ_BUCKET, key).fetchone()
        reports, packed, parts = row or (0, b"", 0)
        sums, part = dict(added.sums), parts + 1
        if part > MOST_PARTS:
            for question, *kept in self.cursor.execute(READ_SUMS, key).fetchall():
                sums[question] = unpacked_sums(*kept).plus(sums.get(question))
            self.cursor.execute(DROP_SUMS, key)
            part = 0
        bucket = (reports + added.reports, _plus(packed, added.checksum), part)
        self.cursor.execute(PUT_BUCKET, (*key, *bucket))
        for question, each in sums.items():
            check = packed_checksum(sums_checksum(each.n, each.vector))
            self.cursor.execute(ADD_SUM, (*key, question, part, *each.packed(), check))

    def _add_events(self, key: tuple[int, int, int], way: str, added: Addition) -> None:
        """Add to the open events of a way, and keep them once they are of ``CLOSES_AT`` answers."""
        task_no, _, slot = key
        for question, events in added.events.items():
            if not len(events):
                continue
            place = (task_no, question, way)
            before = self.opened.get(place, self.open.get(place))
            own = QuestionSums(events, added.sums[question].n).plus(before)
            self.opened[place] = own
            if own.n < CLOSES_AT:
                continue
            self.opened[place] = QuestionSums(np.zeros_like(events), 0)
            where = (*place, slot)
            closings = 0
            row = self.cursor.execute(READ_EVENTS, where).fetchone()
            if row is not None:
                closings, *kept = row
                own = own.plus(unpacked_sums(*kept))
            self.cursor.execute(PUT_EVENTS, (*where, closings + 1, *own.packed()))


def _settle_repeats(
    outcomes: Outcomes, fingerprints: Fingerprints, first_of_row: Positions
) -> None:
    """Give every repeat within the group the outcome that follows from the first of its id."""
    repeats = np.flatnonzero(first_of_row != np.arange(len(first_of_row)))
    firsts = first_of_row[repeats]
    same = fingerprints[repeats] == fingerprints[firsts]
    accepted = outcomes[firsts] <= Outcome.CONFLICT
    settled = np.where(same, Outcome.REPLAYED, Outcome.CONFLICT)
    outcomes[repeats] = np.where(accepted, settled, outcomes[firsts])


def _outcomes(known: KnownIds, fingerprints: Fingerprints, unknown: Outcome) -> Outcomes:
    """REPLAYED or CONFLICT for the known reports, ``unknown`` for the others."""
    same = known.fingerprints == fingerprints
    settled = np.where(same, Outcome.REPLAYED, Outcome.CONFLICT)
    return np.where(known.there, settled, unknown).astype(np.int8)


def _plus(packed: bytes, added: int) -> bytes:
    return packed_checksum(unpacked_checksum(packed) + added)
