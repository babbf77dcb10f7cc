"""Taking reports in and reading sums out, inside one transaction of either database.

A group of reports for one task is settled in three steps: repeats within the group are found by
sorting its ids; the distinct ids are claimed in the database, which says which it knew; what is
left is added to this curator's own rows of sums and to its bucket.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, Row, Table, insert, select, update

from curator.storage import schema
from curator.storage.base import (
    Bucket,
    Ids,
    Outcome,
    Outcomes,
    QuestionSums,
    Reports,
    Status,
)
from curator.storage.checksum import EMPTY, checksum, combine
from protocol.lifecycle import State

if TYPE_CHECKING:
    from curator.storage.sql import Backend

Mask = NDArray[np.bool_]
Index = NDArray[np.intp]
Fingerprints = NDArray[np.int64]
AnyRow = Row[*tuple[Any, ...]]


@dataclass(frozen=True)
class Collecting:
    """One intake transaction: at ``now``, into the bucket of that time, in one curator's rows."""

    connection: Connection
    backend: "Backend"
    now: float
    starts: int
    curator: int = 0

    def take(self, groups: Sequence[Reports]) -> list[Outcomes]:
        """Claim ids and add sums for every group; see ``Store.take``."""
        task_ids = sorted(group.task_id for group in groups)
        self.backend.lock_tasks(self.connection, task_ids)
        rows = self._tasks(task_ids)
        outcomes = {}
        for group in sorted(groups, key=lambda group: group.task_id):
            row = rows.get(group.task_id)
            refused = np.full(len(group), Outcome.NOT_OPEN, dtype=np.int8)
            outcomes[group.task_id] = refused if row is None else self._take(row, group)
        return [outcomes[group.task_id] for group in groups]

    def _tasks(self, task_ids: list[str]) -> dict[str, AnyRow]:
        found = self.connection.execute(TASKS.where(schema.tasks.c.id.in_(task_ids)))
        return {row.id: row for row in found}

    def _take(self, task: AnyRow, reports: Reports) -> Outcomes:
        first, decider = distinct(reports.ids)
        outcomes = np.full(len(reports), Outcome.NOT_OPEN, dtype=np.int8)
        outcomes[first] = (
            self._claim(task, reports, first)
            if _takes_reports(task, self.now)
            else self._recognize(task, reports, first)
        )
        counted = outcomes == Outcome.COUNTED
        _settle_repeats(outcomes, reports.fingerprints, decider)
        if counted.any():
            self._add(task.no, reports, counted)
        return outcomes

    def _claim(self, task: AnyRow, reports: Reports, first: Index) -> Outcomes:
        ids, fingerprints = reports.ids[first], reports.fingerprints[first]
        known = self.backend.claim(self.connection, task.no, ids, fingerprints)
        outcomes = _outcomes(ids, fingerprints, known, Outcome.COUNTED)
        if task.invited:
            new = np.flatnonzero(outcomes == Outcome.COUNTED)
            refused = new[~self._admit(task.no, reports, first[new])]
            outcomes[refused] = Outcome.NOT_INVITED
            self.backend.forget(self.connection, task.no, ids[refused])
        return outcomes

    def _recognize(self, task: AnyRow, reports: Reports, first: Index) -> Outcomes:
        ids, fingerprints = reports.ids[first], reports.fingerprints[first]
        known = self.backend.lookup(self.connection, task.no, ids)
        return _outcomes(ids, fingerprints, known, Outcome.NOT_OPEN)

    def _admit(self, task_no: int, reports: Reports, new: Index) -> Mask:
        """Use up the invitations of the new reports; which of them had a good one."""
        admitted = np.zeros(len(new), dtype=bool)
        if reports.invitations is None:
            return admitted
        table = schema.invitations
        for place, index in enumerate(new):
            digest = reports.invitations[index].tobytes()
            here = (table.c.task_no == task_no) & (table.c.digest == digest) & table.c.unused
            used = self.connection.execute(update(table).where(here).values(unused=False))
            admitted[place] = used.rowcount == 1
        return admitted

    def _add(self, task_no: int, reports: Reports, counted: Mask) -> None:
        where = {"task_no": task_no, "starts": self.starts, "curator": self.curator}
        old = self._locked(schema.buckets, where)
        both = combine(EMPTY if old is None else old.checksum, checksum(reports.ids[counted]))
        total = int(counted.sum()) + (0 if old is None else old.reports)
        self._put(schema.buckets, where, old, {"reports": total, "checksum": both})
        for addend in reports.addends(counted):
            here = {**where, "question": addend.question}
            old = self._locked(schema.sums, here)
            vector = addend.vector if old is None else addend.vector + _vector(old.vector)
            n = addend.n + (0 if old is None else old.n)
            packed = vector.astype("<i8").tobytes()
            self._put(schema.sums, here, old, {"n": n, "vector": packed})

    def _locked(self, table: Table, key: dict[str, int]) -> AnyRow | None:
        query = select(table).filter_by(**key).with_for_update()
        return self.connection.execute(query).one_or_none()

    def _put(
        self, table: Table, key: dict[str, int], old: AnyRow | None, values: dict[str, Any]
    ) -> None:
        if old is None:
            self.connection.execute(insert(table).values(**key, **values))
        else:
            self.connection.execute(update(table).filter_by(**key).values(**values))


TASKS = select(
    schema.tasks.c.id,
    schema.tasks.c.no,
    schema.tasks.c.state,
    schema.tasks.c.opens,
    schema.tasks.c.closes,
    schema.tasks.c.invited,
)


def distinct(ids: Ids) -> tuple[Index, Index]:
    """Where each distinct id comes first, in ascending order of id, and that place for every row.

    Shapes ``(D,)`` and ``(B,)`` for B ids of which D differ.
    """
    words = np.ascontiguousarray(ids).view(">u8")
    order = np.lexsort((words[:, 1], words[:, 0]))
    ranked = words[order]
    begins = np.ones(len(ids), dtype=bool)
    begins[1:] = (ranked[1:] != ranked[:-1]).any(axis=1)
    first = order[begins]
    decider = np.empty(len(ids), dtype=np.intp)
    decider[order] = first[np.cumsum(begins) - 1]
    return first, decider


def _settle_repeats(outcomes: Outcomes, fingerprints: Fingerprints, decider: Index) -> None:
    """Give every repeat within the group the outcome that follows from the first of its id."""
    repeats = np.flatnonzero(decider != np.arange(len(decider)))
    firsts = decider[repeats]
    same = fingerprints[repeats] == fingerprints[firsts]
    accepted = outcomes[firsts] <= Outcome.CONFLICT
    settled = np.where(same, Outcome.REPLAYED, Outcome.CONFLICT)
    outcomes[repeats] = np.where(accepted, settled, outcomes[firsts])


def _takes_reports(task: AnyRow, now: float) -> bool:
    return (
        task.state == State.OPEN
        and (task.opens is None or now >= task.opens)
        and (task.closes is None or now < task.closes)
    )


def _outcomes(
    ids: Ids, fingerprints: Fingerprints, known: dict[bytes, int], unknown: Outcome
) -> Outcomes:
    """REPLAYED or CONFLICT for the known ids, ``unknown`` for the others."""
    outcomes = np.full(len(ids), unknown, dtype=np.int8)
    if known:
        for index, row in enumerate(ids):
            fingerprint = known.get(row.tobytes())
            if fingerprint is not None:
                same = fingerprint == fingerprints[index]
                outcomes[index] = Outcome.REPLAYED if same else Outcome.CONFLICT
    return outcomes


def _vector(packed: bytes) -> NDArray[np.int64]:
    return np.frombuffer(packed, dtype="<i8")


def read_sums(connection: Connection, task_no: int, sizes: Sequence[int]) -> list[QuestionSums]:
    """The sums of every question, over all buckets and curators, in one read."""
    totals = [QuestionSums(np.zeros(size, dtype=np.int64), 0) for size in sizes]
    for row in connection.execute(select(schema.sums).where(schema.sums.c.task_no == task_no)):
        old = totals[row.question]
        totals[row.question] = QuestionSums(old.vector + _vector(row.vector), old.n + row.n)
    return totals


def read_status(connection: Connection, task_no: int, questions: int) -> Status:
    """Counts, checksums and rejects of one task."""
    table = schema.buckets
    buckets: dict[int, Bucket] = {}
    total = EMPTY
    for row in connection.execute(select(table).where(table.c.task_no == task_no)):
        old = buckets.get(row.starts, Bucket(row.starts, 0, EMPTY.hex()))
        both = combine(bytes.fromhex(old.checksum), row.checksum)
        buckets[row.starts] = Bucket(row.starts, old.reports + row.reports, both.hex())
        total = combine(total, row.checksum)
    answers = [0] * questions
    sums, rejects = schema.sums, schema.rejects
    for question, n in connection.execute(
        select(sums.c.question, sums.c.n).where(sums.c.task_no == task_no)
    ):
        answers[question] += n
    refused = connection.execute(
        select(rejects.c.reason, rejects.c.count).where(rejects.c.task_no == task_no)
    )
    return Status(
        reports=sum(bucket.reports for bucket in buckets.values()),
        answers=tuple(answers),
        checksum=total.hex(),
        buckets=tuple(buckets[starts] for starts in sorted(buckets)),
        rejects=dict(refused.tuples().all()),
    )
