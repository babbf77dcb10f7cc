"""Reports on their way into the store: what is claimed and added, and what becomes of each."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import IntEnum
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from privet.learning.core.counts import EventCounts
from privet.protocol.task import Task

from .report_ids import Fingerprints, Ids, Mask

Vector = NDArray[np.int64]

WIDTHS = (1, 2, 4, 8)
CHECKSUM_BYTES = 8
CHECKSUM_MODULUS = 2**64


class Outcome(IntEnum):
    """The outcome of one report."""

    COUNTED = 0
    REPLAYED = 1
    CONFLICT = 2
    NOT_OPEN = 3
    NOT_INVITED = 4
    NO_TASK = 5
    OVER_QUOTA = 6
    NOT_ADMITTED = 7


Outcomes = NDArray[np.int8]
"""One ``Outcome`` per report, shape ``(B,)``."""


@dataclass(frozen=True, eq=False)
class QuestionSums:
    """All that the curator knows of one question: the sum of n payloads."""

    vector: Vector
    n: int
    events: tuple[EventCounts, ...] = ()
    """Counts of its payloads by the ways in which they came; of sums that were just read only."""

    def plus(self, other: "QuestionSums | None") -> "QuestionSums":
        if other is None:
            return self
        return QuestionSums(
            self.vector + other.vector, self.n + other.n, self.events + other.events
        )

    def packed(self) -> tuple[int, bytes, int]:
        """The form in the database: n, the vector's bytes, and the bytes of each entry."""
        ends = (int(self.vector.min(initial=0)), int(self.vector.max(initial=0)))
        width = next(w for w in WIDTHS if all(abs(end) < 2 ** (8 * w - 1) for end in ends))
        return self.n, self.vector.astype(f"<i{width}").tobytes(), width


def unpacked_sums(n: int, vector: bytes, width: int) -> QuestionSums:
    """The sums of a row, see ``QuestionSums.packed``; raises ``ValueError`` for another width."""
    return QuestionSums(np.frombuffer(vector, dtype=f"<i{width}").astype(np.int64), n)


@dataclass(frozen=True, eq=False)
class Addition:
    """The total that a set of reports adds to a task."""

    reports: int
    checksum: int
    sums: Mapping[int, QuestionSums]
    """Sums by question."""
    events: Mapping[int, Vector] = field(default_factory=dict)
    """The payloads in each event of the mechanism, by question."""

    def minus(self, part: "Addition") -> "Addition":
        """The difference to the total of some of the reports, of the same questions."""
        sums = {
            question: QuestionSums(
                whole.vector - part.sums[question].vector, whole.n - part.sums[question].n
            )
            for question, whole in self.sums.items()
        }
        events = {
            question: whole - part.events[question] for question, whole in self.events.items()
        }
        return Addition(
            self.reports - part.reports,
            (self.checksum - part.checksum) % CHECKSUM_MODULUS,
            sums,
            events,
        )


@dataclass(frozen=True, eq=False)
class PerturbedAnswers:
    """The payloads that answer one question."""

    question: int
    payloads: NDArray[np.uint8]
    """Shape ``(R, report_bytes)``."""
    rows: NDArray[np.intp] | None = None
    """Places of their R reports in the group; None if all reports answer the question."""


@dataclass(frozen=True, eq=False)
class ReportGroup:
    """Checked reports for one task, in columns; they are counted in one transaction."""

    task: Task
    ids: Ids
    fingerprints: Fingerprints
    """Hash of each report's answers: distinguishes a replay from other answers under the same
    id."""
    answers: Sequence[PerturbedAnswers]
    """At most one entry per question."""
    invitations: NDArray[np.uint8] | None = None
    """SHA-256 of each report's invitation, shape ``(B, 32)``; None if none came with one."""
    admissions: tuple[bytes, ...] = ()
    """Admissions that a relay's batch names instead; see ``InvitationStore.admit``."""
    relay: str = ""
    """Name of the token that a batch came with; empty for reports that were sent directly."""
    in_time: bool = False
    """True if a relay says that it took each while the task was open."""
    total: Addition | None = None
    """The total of all reports, if it was computed before the transaction."""

    def __len__(self) -> int:
        return len(self.ids)

    def only(self, chosen: Mask) -> "ReportGroup":
        places = np.cumsum(chosen) - 1
        answers = []
        for answer in self.answers:
            if answer.rows is None:
                answers.append(PerturbedAnswers(answer.question, answer.payloads[chosen]))
            else:
                kept = chosen[answer.rows]
                rows = places[answer.rows[kept]]
                answers.append(PerturbedAnswers(answer.question, answer.payloads[kept], rows))
        invitations = None if self.invitations is None else self.invitations[chosen]
        return replace(
            self,
            ids=self.ids[chosen],
            fingerprints=self.fingerprints[chosen],
            answers=answers,
            invitations=invitations,
            total=None,
        )

    def add_up(self, chosen: Mask | None = None) -> Addition:
        """The total of the ``chosen`` reports, by default of all.

        With a ``total`` only the reports that were not chosen are added up, and subtracted.
        """
        if chosen is not None and not chosen.all():
            if self.total is None:
                return self.only(chosen).add_up()
            return self.total.minus(self.only(~chosen).add_up())
        if self.total is not None:
            return self.total
        mechanisms = self.task.mechanisms
        sums = {
            answer.question: QuestionSums(
                mechanisms[answer.question].accumulate(answer.payloads), len(answer.payloads)
            )
            for answer in self.answers
        }
        events = {
            answer.question: mechanisms[answer.question].event_counts(answer.payloads)
            for answer in self.answers
        }
        return Addition(len(self), checksum(self.ids), sums, events)


# Checksums of ids and of sums, which are sums modulo 2^64: that of a union is the sum of the
# checksums, and neither order nor batching changes them. They notice loss, duplicates and damage;
# they do not stop attackers.


def checksum(ids: Ids) -> int:
    """The sum of all 64-bit big-endian halves of ``ids``, modulo 2^64; 0 for no ids.

    Readers see it in a task's status, so it must not disclose the id of a report that came in
    alone: who knows an id could try answers under it until one is called a replay. The sum of the
    two halves leaves 64 of the 128 bits unknown.
    """
    return int(np.ascontiguousarray(ids).view(">u8").sum(dtype=np.uint64))


def sums_checksum(n: int, vector: Vector) -> int:
    """The checksum of a question's sums: n and the vector, each times an odd weight, modulo 2^64.

    It notices a changed, lost or exchanged entry.
    """
    weights = _weights(len(vector) + 1)
    terms = np.ascontiguousarray(vector, dtype=np.int64).view(np.uint64) @ weights[1:]
    return (n * int(weights[0]) + int(terms)) % CHECKSUM_MODULUS


@lru_cache(maxsize=8)
def _weights(count: int) -> NDArray[np.uint64]:
    """Odd numbers that look random: those of SplitMix64 (Steele, Lea and Flood, OOPSLA 2014)."""
    mixed = np.arange(1, count + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return (mixed ^ (mixed >> np.uint64(31))) | np.uint64(1)


def packed_checksum(value: int) -> bytes:
    return (value % CHECKSUM_MODULUS).to_bytes(CHECKSUM_BYTES, "big")


def unpacked_checksum(packed: bytes) -> int:
    """The checksum in a row of the database; 0 for no bytes."""
    return int.from_bytes(packed, "big")


def checksum_text(value: int) -> str:
    """A sum of checksums as people see it, 16 hexadecimal digits."""
    return f"{value % CHECKSUM_MODULUS:016x}"
