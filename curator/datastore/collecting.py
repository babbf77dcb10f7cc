"""Taking reports in, inside one transaction of either database.

A group of reports for one task is settled in three steps: repeats within the group are found by
sorting its ids; the distinct ids are claimed in the database, which says which it knew; what is
left is added to this curator's own rows of sums and to its bucket.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from privet.curator.datastore.base import Addend, Outcome, Outcomes, Reports
from privet.curator.datastore.checksum import EMPTY, combine
from privet.curator.datastore.ids import BULK, IdBook
from privet.curator.datastore.known import Known
from privet.curator.datastore.rows import BUCKET, SUM, TASK, USE_INVITATION, TaskRow, vector_of
from privet.curator.datastore.session import Session
from privet.curator.datastore.sorting import distinct
from privet.protocol.lifecycle import State

if TYPE_CHECKING:
    from privet.curator.datastore.sql import Backend

Mask = NDArray[np.bool_]
Index = NDArray[np.intp]
Fingerprints = NDArray[np.int64]


class MustBeAlone(Exception):
    """A task that was locked together with others has invitations, so it must be locked alone."""


@dataclass(frozen=True)
class Collecting:
    """One intake transaction: at ``now``, into the bucket of that time, in one curator's rows."""

    session: Session
    backend: "Backend"
    book: IdBook
    invited: set[str]
    """Tasks that are known to have invitations, which they then always have."""
    now: float
    starts: int

    def take(self, groups: Sequence[Reports]) -> list[Outcomes]:
        """Claim ids and add sums for every group; see ``Store.take``.

        Raises ``MustBeAlone`` before anything was written if a task turns out to have
        invitations; the next try knows.
        """
        rows = self._lock(groups)
        outcomes = [self._take(rows.get(group.task_id), group) for group in groups]
        counted = [settled == Outcome.COUNTED for settled in outcomes]
        if any(mask.any() for mask in counted):
            slot = self.backend.slot(self.session)
            for group, mask in zip(groups, counted, strict=True):
                if mask.any():
                    self._add(rows[group.task_id].no, slot, group, mask)
        return outcomes

    def _lock(self, groups: Sequence[Reports]) -> dict[str, TaskRow]:
        """The groups' tasks, which then stay as they are until the transaction ends."""
        ids = [group.task_id for group in groups]
        alone = [
            group.task_id for group in groups if len(group) >= BULK or group.task_id in self.invited
        ]
        self.backend.lock_tasks(self.session, ids, alone)
        found = [self.session.row(TASK, {"id": task_id}) for task_id in ids]
        rows = {row[0]: TaskRow(*row) for row in found if row is not None}
        surprising = {row.id for row in rows.values() if row.invited and row.id not in alone}
        if surprising:
            self.invited.update(surprising)
            raise MustBeAlone
        return rows

    def _take(self, task: TaskRow | None, reports: Reports) -> Outcomes:
        if task is None:
            return np.full(len(reports), Outcome.NOT_OPEN, dtype=np.int8)
        first, decider = distinct(reports.ids)
        outcomes = np.empty(len(reports), dtype=np.int8)
        outcomes[first] = self._settle(task, reports, first)
        if decider is not None:
            _settle_repeats(outcomes, reports.fingerprints, decider)
        return outcomes

    def _settle(self, task: TaskRow, reports: Reports, first: Index) -> Outcomes:
        """Outcomes of the reports ``first``, whose ids are distinct and ascending."""
        if task.ids_gone:
            return np.full(len(first), Outcome.NOT_OPEN, dtype=np.int8)
        ids, fingerprints = reports.ids.take(first, axis=0), reports.fingerprints[first]
        if not _takes_reports(task, self.now):
            known = self.book.find(self.session, task.no, task.last_run, ids)
            return _outcomes(known, fingerprints, Outcome.NOT_OPEN)
        if task.invited:
            return self._settle_invited(task, reports, first)
        known = self.book.claim(self.session, task.no, task.last_run, ids, fingerprints)
        return _outcomes(known, fingerprints, Outcome.COUNTED)

    def _settle_invited(self, task: TaskRow, reports: Reports, first: Index) -> Outcomes:
        ids, fingerprints = reports.ids.take(first, axis=0), reports.fingerprints[first]
        known = self.book.find(self.session, task.no, task.last_run, ids)
        outcomes = _outcomes(known, fingerprints, Outcome.NOT_INVITED)
        new = np.flatnonzero(~known.there)
        admitted = new[self._admit(task.no, reports, first[new])]
        self.book.claim(self.session, task.no, task.last_run, ids[admitted], fingerprints[admitted])
        outcomes[admitted] = Outcome.COUNTED
        return outcomes

    def _admit(self, task_no: int, reports: Reports, new: Index) -> Mask:
        """Use up the invitations of the new reports, in order; which of them had a good one."""
        admitted = np.zeros(len(new), dtype=bool)
        if reports.invitations is None:
            return admitted
        for place in np.argsort(new):
            digest = reports.invitations[new[place]].tobytes()
            used = self.session.change(USE_INVITATION, {"task_no": task_no, "digest": digest})
            admitted[place] = used == 1
        return admitted

    def _add(self, task_no: int, slot: int, reports: Reports, counted: Mask) -> None:
        """Add to this slot's own rows; nobody else changes them meanwhile."""
        key = {"b_task_no": task_no, "b_starts": self.starts, "b_curator": slot}
        old = self.session.row(BUCKET.read, key)
        known, digest = (0, EMPTY) if old is None else old
        here = {
            "reports": int(np.count_nonzero(counted)) + known,
            "checksum": combine(digest, reports.checksum(counted)),
        }
        self.session.change(BUCKET.add if old is None else BUCKET.change, key | here)
        for addend in reports.addends(counted):
            self._add_sum(key | {"b_question": addend.question}, addend)

    def _add_sum(self, key: dict[str, int], addend: Addend) -> None:
        old = self.session.row(SUM.read, key)
        n, vector = addend.n, addend.vector
        if old is not None:
            n, vector = n + old[0], vector + vector_of(old[1])
        values = {"n": n, "vector": vector.astype("<i8", copy=False).tobytes()}
        self.session.change(SUM.add if old is None else SUM.change, key | values)


def _settle_repeats(outcomes: Outcomes, fingerprints: Fingerprints, decider: Index) -> None:
    """Give every repeat within the group the outcome that follows from the first of its id."""
    repeats = np.flatnonzero(decider != np.arange(len(decider)))
    firsts = decider[repeats]
    same = fingerprints[repeats] == fingerprints[firsts]
    accepted = outcomes[firsts] <= Outcome.CONFLICT
    settled = np.where(same, Outcome.REPLAYED, Outcome.CONFLICT)
    outcomes[repeats] = np.where(accepted, settled, outcomes[firsts])


def _takes_reports(task: TaskRow, now: float) -> bool:
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
