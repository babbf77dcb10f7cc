"""Reports of one task in columns: what the store claims and adds up."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from privet.curator.collection.fingerprints import fingerprints
from privet.curator.collection.layouts import Layout, Layouts
from privet.curator.datastore.base import Addend, Ids, Reports
from privet.curator.datastore.checksum import checksum, combine
from privet.protocol.limits import MAX_REPORT_BYTES
from privet.protocol.task import Task

SPARE_BYTES = 2**16
"""How much longer than twice a report a body may be and still hear what is wrong with it."""

Mask = NDArray[np.bool_]


class Gate:
    """What intake needs to know of one task; tasks never change, so it never grows stale."""

    def __init__(self, task: Task) -> None:
        self.task = task
        self.task_id = task.id
        self.layouts = Layouts(task)
        self.most_bytes = min(MAX_REPORT_BYTES, 2 * task.longest_report + SPARE_BYTES)
        """Bytes of a body that are read, so that all open bodies take little memory."""


@dataclass(frozen=True, eq=False)
class Part:
    """Reports that answer the same questions: their rows in the group, and their payloads."""

    rows: NDArray[np.intp]
    answers: Sequence[tuple[int, NDArray[np.uint8]]]


class Columns(Reports):
    """Reports in the order they came."""

    def __init__(
        self,
        gate: Gate,
        ids: Ids,
        parts: Sequence[Part],
        invitations: NDArray[np.uint8] | None = None,
    ) -> None:
        self.task_id = gate.task_id
        self.ids = ids
        self.invitations = invitations
        self._gate = gate
        self._parts = parts
        self._summed: tuple[bytes, list[Addend]] | None = None
        self.fingerprints = np.empty(len(ids), dtype=np.int64)
        for part in parts:
            self.fingerprints[part.rows] = fingerprints(gate.task_id, len(part.rows), part.answers)

    @classmethod
    def of_bodies(
        cls,
        gate: Gate,
        bodies: Sequence[tuple[bytes, Layout]],
        invitations: Sequence[bytes | None],
    ) -> "Columns":
        """The columns of canonical reports, each with its layout and its invitation's SHA-256."""
        layouts = dict.fromkeys(layout for _, layout in bodies)
        if len(layouts) == 1:
            (layout,) = layouts
            stacked = layout.stacked([body for body, _ in bodies])
            whole = Part(np.arange(len(bodies)), layout.payloads(stacked))
            return cls(gate, layout.ids(stacked), [whole], _column(invitations))
        ids = np.empty((len(bodies), 16), dtype=np.uint8)
        parts = []
        for layout in layouts:
            rows = [row for row, (_, own) in enumerate(bodies) if own is layout]
            stacked = layout.stacked([bodies[row][0] for row in rows])
            ids[rows] = layout.ids(stacked)
            parts.append(Part(np.array(rows, dtype=np.intp), layout.payloads(stacked)))
        return cls(gate, ids, parts, _column(invitations))

    def possible(self) -> Mask:
        """Which reports some holder could have sent, by their mechanisms."""
        possible = np.ones(len(self), dtype=bool)
        for part in self._parts:
            for question, payloads in part.answers:
                possible[part.rows] &= self._gate.task.mechanisms[question].valid(payloads)
        return possible

    def only(self, chosen: Mask) -> "Columns":
        """The chosen reports alone."""
        places = np.cumsum(chosen) - 1
        parts = [
            Part(
                places[part.rows[chosen[part.rows]]],
                [(question, payloads[chosen[part.rows]]) for question, payloads in part.answers],
            )
            for part in self._parts
        ]
        invitations = None if self.invitations is None else self.invitations[chosen]
        return Columns(self._gate, self.ids[chosen], parts, invitations)

    def sum_up(self) -> None:
        """Add everything up in advance, outside the transaction that will need most of it."""
        everything = np.ones(len(self), dtype=bool)
        self._summed = self._checksum(everything), self._addends(everything)

    def checksum(self, chosen: Mask) -> bytes:
        if self._summed is None:
            return self._checksum(chosen)
        return combine(self._summed[0], self._checksum(~chosen))

    def addends(self, chosen: Mask) -> list[Addend]:
        if self._summed is None:
            return self._addends(chosen)
        rest = {addend.question: addend for addend in self._addends(~chosen)}
        return [
            Addend(a.question, a.vector - rest[a.question].vector, a.n - rest[a.question].n)
            if a.question in rest
            else a
            for a in self._summed[1]
        ]

    def _checksum(self, chosen: Mask) -> bytes:
        return checksum(self.ids if chosen.all() else self.ids[chosen])

    def _addends(self, chosen: Mask) -> list[Addend]:
        totals: dict[int, Addend] = {}
        for part in self._parts:
            picked = chosen[part.rows]
            n = int(np.count_nonzero(picked))
            for question, payloads in part.answers if n else ():
                rows = payloads if n == len(payloads) else payloads[picked]
                vector = self._gate.task.mechanisms[question].accumulate(rows)
                old = totals.get(question)
                totals[question] = (
                    Addend(question, vector, n)
                    if old is None
                    else Addend(question, old.vector + vector, old.n + n)
                )
        return list(totals.values())


def _column(invitations: Sequence[bytes | None]) -> NDArray[np.uint8] | None:
    """Invitations as rows of 32 bytes, zeros for none; None if there are none at all."""
    if not any(invitations):
        return None
    joined = b"".join(digest or bytes(32) for digest in invitations)
    return np.frombuffer(joined, dtype=np.uint8).reshape(-1, 32)
