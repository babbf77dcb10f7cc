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
from sqlalchemy import (
    BindParameter,
    Connection,
    Row,
    Table,
    and_,
    bindparam,
    insert,
    select,
    update,
)

from curator.storage import schema
from curator.storage.base import (
    Bucket,
    Outcome,
    Outcomes,
    QuestionSums,
    Reports,
    Status,
)
from curator.storage.checksum import EMPTY, combine
from curator.storage.ids import BULK, IdBook, distinct
from curator.storage.known import Known, as_text
from protocol.errors import StorageFailed
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
    book: IdBook
    now: float
    starts: int

    def take(self, groups: Sequence[Reports]) -> list[Outcomes]:
        """Claim ids and add sums for every group; see ``Store.take``."""
        rows = self._lock(groups)
        outcomes = [
            self._take(rows[group.task_id], group)
            if group.task_id in rows
            else np.full(len(group), Outcome.NOT_OPEN, dtype=np.int8)
            for group in groups
        ]
        if any((settled == Outcome.COUNTED).any() for settled in outcomes):
            slot = self.backend.slot(self.connection)
            for group, settled in zip(groups, outcomes, strict=True):
                counted = settled == Outcome.COUNTED
                if counted.any():
                    self._add(rows[group.task_id].no, slot, group, counted)
        return outcomes

    def _lock(self, groups: Sequence[Reports]) -> dict[str, AnyRow]:
        """The groups' tasks, which then stay as they are until the transaction ends."""
        ids = [group.task_id for group in groups]
        large = {group.task_id for group in groups if len(group) >= BULK}
        rows = self._tasks(ids)
        alone = [own for own in ids if own in large or (own in rows and rows[own].invited)]
        if not self.backend.lock_tasks(self.connection, ids, alone):
            return rows
        locked = self._tasks(ids)
        if any(row.invited and own not in alone for own, row in locked.items()):
            raise StorageFailed("A task was given its first invitations just now: try again.")
        return locked

    def _tasks(self, task_ids: list[str]) -> dict[str, AnyRow]:
        found = self.connection.execute(TASKS, {"ids": task_ids})
        return {row.id: row for row in found}

    def _take(self, task: AnyRow, reports: Reports) -> Outcomes:
        first, decider = distinct(as_text(reports.ids))
        outcomes = np.full(len(reports), Outcome.NOT_OPEN, dtype=np.int8)
        outcomes[first] = self._settle(task, reports, first)
        _settle_repeats(outcomes, reports.fingerprints, decider)
        return outcomes

    def _settle(self, task: AnyRow, reports: Reports, first: Index) -> Outcomes:
        """Outcomes of the reports ``first``, whose ids are distinct and ascending."""
        ids, fingerprints = reports.ids[first], reports.fingerprints[first]
        if not _takes_reports(task, self.now):
            known = self.book.find(self.connection, task.no, ids)
            return _outcomes(known, fingerprints, Outcome.NOT_OPEN)
        if task.invited:
            return self._settle_invited(task, reports, first)
        known = self.book.claim(self.connection, task.no, ids, fingerprints)
        return _outcomes(known, fingerprints, Outcome.COUNTED)

    def _settle_invited(self, task: AnyRow, reports: Reports, first: Index) -> Outcomes:
        ids, fingerprints = reports.ids[first], reports.fingerprints[first]
        known = self.book.find(self.connection, task.no, ids)
        outcomes = _outcomes(known, fingerprints, Outcome.NOT_INVITED)
        new = np.flatnonzero(~known.there)
        admitted = new[self._admit(task.no, reports, first[new])]
        self.book.claim(self.connection, task.no, ids[admitted], fingerprints[admitted])
        outcomes[admitted] = Outcome.COUNTED
        return outcomes

    def _admit(self, task_no: int, reports: Reports, new: Index) -> Mask:
        """Use up the invitations of the new reports, in order; which of them had a good one."""
        admitted = np.zeros(len(new), dtype=bool)
        if reports.invitations is None:
            return admitted
        table = schema.invitations
        for place in np.argsort(new):
            digest = reports.invitations[new[place]].tobytes()
            here = (table.c.task_no == task_no) & (table.c.digest == digest) & table.c.unused
            used = self.connection.execute(update(table).where(here).values(unused=False))
            admitted[place] = used.rowcount == 1
        return admitted

    def _add(self, task_no: int, slot: int, reports: Reports, counted: Mask) -> None:
        key = {"b_task_no": task_no, "b_starts": self.starts, "b_curator": slot}
        old = self._row(BUCKET, key)
        both = combine(EMPTY if old is None else old.checksum, reports.checksum(counted))
        total = int(counted.sum()) + (0 if old is None else old.reports)
        self._put(BUCKET, key, old, {"reports": total, "checksum": both})
        for addend in reports.addends(counted):
            here = {**key, "b_question": addend.question}
            old = self._row(SUM, here)
            vector = addend.vector if old is None else addend.vector + _vector(old.vector)
            n = addend.n + (0 if old is None else old.n)
            self._put(SUM, here, old, {"n": n, "vector": vector.astype("<i8").tobytes()})

    def _row(self, own: "OwnRow", key: dict[str, int]) -> AnyRow | None:
        """One of this slot's own rows; nobody else changes it meanwhile."""
        return self.connection.execute(own.read, key).one_or_none()

    def _put(
        self, own: "OwnRow", key: dict[str, int], old: AnyRow | None, values: dict[str, Any]
    ) -> None:
        statement = own.add if old is None else own.change
        self.connection.execute(statement, {**key, **values})


class OwnRow:
    """Statements for one row by its key, made once; a key's parameter is ``b_<column>``."""

    def __init__(self, table: Table, *values: str) -> None:
        names = [column.name for column in table.primary_key]
        key: dict[str, BindParameter[Any]] = {name: bindparam(f"b_{name}") for name in names}
        given: dict[str, BindParameter[Any]] = {name: bindparam(name) for name in values}
        here = and_(*[table.c[name] == parameter for name, parameter in key.items()])
        self.read = select(table).where(here)
        self.add = insert(table).values({**key, **given})
        self.change = update(table).where(here).values(given)


BUCKET = OwnRow(schema.buckets, "reports", "checksum")
SUM = OwnRow(schema.sums, "n", "vector")

TASKS = select(
    schema.tasks.c.id,
    schema.tasks.c.no,
    schema.tasks.c.state,
    schema.tasks.c.opens,
    schema.tasks.c.closes,
    schema.tasks.c.invited,
    schema.tasks.c.ids_gone,
).where(schema.tasks.c.id.in_(bindparam("ids", expanding=True)))


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
        and not task.ids_gone
        and (task.opens is None or now >= task.opens)
        and (task.closes is None or now < task.closes)
    )


def _outcomes(known: Known, fingerprints: Fingerprints, unknown: Outcome) -> Outcomes:
    """REPLAYED or CONFLICT for the known reports, ``unknown`` for the others."""
    same = known.fingerprints == fingerprints
    settled = np.where(same, Outcome.REPLAYED, Outcome.CONFLICT)
    return np.where(known.there, settled, unknown).astype(np.int8)


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
        rejects=dict(iter(refused)),
    )
