"""The tasks that reports come in for, with all that can be worked out once for each.

Canonical msgpack leaves no choice: for a given task and given questions, two reports differ only in
the bytes of the id and of the payloads. So a body is a report if its length and its fixed bytes are
right, and no parsing is needed to find its fields.

A task never changes, so nothing here grows stale. Whether it is open, or gone, is decided by the
store in the transaction that counts.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import compress

import numpy as np
from numpy.typing import NDArray
from starlette.concurrency import run_in_threadpool

from privet.http_server.acceptance import max_report_bytes
from privet.protocol.batch import ByteRows, possible
from privet.protocol.report import REPORT_ID_BYTES, Report
from privet.protocol.task import Task

from ..datastore.report_ids import Mask
from ..datastore.reports import PerturbedAnswers, ReportGroup
from ..datastore.store import Store

MAX_TASKS = 1024

Words = NDArray[np.uint64]


@dataclass(frozen=True)
class Field:
    """A question and the bytes of a body that hold its payload."""

    question: int
    start: int
    stop: int


@dataclass(frozen=True, eq=False)
class ReportLayout:
    """The byte offsets of the fields in reports that answer the same questions of a task."""

    questions: tuple[int, ...]
    length: int
    id_start: int
    fields: tuple[Field, ...]
    fixed: tuple[tuple[int, int, bytes], ...]
    """(start, stop, bytes) of every stretch that is the same in all reports."""

    @classmethod
    def of(cls, task: Task, questions: tuple[int, ...]) -> "ReportLayout":
        """The layout of the reports that answer ``questions``.

        Found by comparing two reports that differ in every byte of their ids and payloads.
        """
        zeros, ones = _filled_report(task, questions, 0), _filled_report(task, questions, 255)
        varies = np.frombuffer(zeros, np.uint8) != np.frombuffer(ones, np.uint8)
        edges = np.flatnonzero(np.diff(varies, prepend=False, append=False)).tolist()
        stretches = list(zip(edges[::2], edges[1::2], strict=True))
        fields = tuple(
            Field(question, start, stop)
            for question, (start, stop) in zip(questions, stretches[:-1], strict=True)
        )
        gaps = zip([0, *edges[1::2]], [*edges[::2], len(zeros)], strict=True)
        fixed = tuple((start, stop, zeros[start:stop]) for start, stop in gaps)
        return cls(questions, len(zeros), stretches[-1][0], fields, fixed)

    def report_id(self, body: bytes) -> bytes:
        return body[self.id_start : self.id_start + REPORT_ID_BYTES]

    def columns(self, bodies: Sequence[bytes]) -> tuple[ByteRows, list[tuple[int, ByteRows]]]:
        """The ids of B bodies, shape ``(B, 16)``, and (question, payloads) of every field."""
        rows = np.frombuffer(b"".join(bodies), dtype=np.uint8).reshape(-1, self.length)
        ids = np.ascontiguousarray(rows[:, self.id_start : self.id_start + REPORT_ID_BYTES])
        return ids, [
            (field.question, np.ascontiguousarray(rows[:, field.start : field.stop]))
            for field in self.fields
        ]


def _filled_report(task: Task, questions: tuple[int, ...], byte: int) -> bytes:
    """A report with ``byte`` in every place that can vary; the id comes after the answers."""
    fill = bytes([byte])
    answers = tuple((q, fill * task.mechanisms[q].report_bytes) for q in questions)
    return Report(task=bytes.fromhex(task.id), id=fill * REPORT_ID_BYTES, answers=answers).pack()


class CachedTask:
    """The part of a task that the report endpoints need."""

    def __init__(self, task: Task) -> None:
        self.task = task
        self.id = task.id
        self.max_body_bytes = max_report_bytes(task)
        self._layouts: dict[int, list[ReportLayout]] = {}
        count = len(task.questions)
        asked = [tuple(range(count))] if task.allocation == "all" else [(q,) for q in range(count)]
        for questions in asked:
            layout = ReportLayout.of(task, questions)
            self._layouts.setdefault(layout.length, []).append(layout)

    def layout_of(self, body: bytes) -> ReportLayout | None:
        """The layout of ``body``; None if it is not a canonical report for this task."""
        for layout in self._layouts.get(len(body), ()):
            for start, _, expected in layout.fixed:
                if not body.startswith(expected, start):
                    break
            else:
                return layout
        return None

    def group_of_bodies(
        self, bodies: Sequence[tuple[ReportLayout, bytes]], invitations: Sequence[bytes | None]
    ) -> ReportGroup:
        """Reports with their layouts, and the SHA-256 of their invitations, in their order."""
        digests = None
        if any(invitations):
            joined = b"".join(digest or bytes(32) for digest in invitations)
            digests = np.frombuffer(joined, dtype=np.uint8).reshape(-1, 32)
        layouts = {layout.questions: layout for layout, _ in bodies}
        if len(layouts) == 1:
            ids, columns = bodies[0][0].columns([body for _, body in bodies])
            return self.group(ids, [PerturbedAnswers(*column) for column in columns], digests)
        ids, answers = np.empty((len(bodies), REPORT_ID_BYTES), dtype=np.uint8), []
        for questions, layout in layouts.items():
            alike = [of_body.questions == questions for of_body, _ in bodies]
            rows = np.flatnonzero(alike)
            ids[rows], columns = layout.columns([body for _, body in compress(bodies, alike)])
            answers += [PerturbedAnswers(*column, rows) for column in columns]
        return self.group(ids, answers, digests)

    def group(
        self,
        ids: ByteRows,
        answers: Sequence[PerturbedAnswers],
        invitations: ByteRows | None = None,
    ) -> ReportGroup:
        """Reports as the store takes them, with their fingerprints."""
        hashes = np.zeros((len(ids), HASHES), dtype=np.uint64)
        for part in answers:
            keys = _hash_keys(self.task.id, part.question, -(-part.payloads.shape[1] // 4))
            rows = slice(None) if part.rows is None else part.rows
            hashes[rows] += _hashed(part.payloads, *keys)
        high, low = (hashes >> np.uint64(32)).T
        fingerprints = ((high << np.uint64(32)) | low).view(np.int64)
        return ReportGroup(self.task, ids, fingerprints, answers, invitations)

    def checked(self, group: ReportGroup) -> tuple[ReportGroup, Mask]:
        """The reports that some holder could have sent, with their total; and which they are.

        They are added up here so that no mechanism runs inside the transaction that counts them.
        """
        columns = ((part.question, part.payloads, part.rows) for part in group.answers)
        valid = possible(self.task, len(group), columns)
        kept = group if valid.all() else group.only(valid)
        return replace(kept, total=kept.add_up()), valid


class TaskCache:
    """Tasks by id, the oldest dropped when there are too many."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._tasks: dict[str, CachedTask] = {}

    def get(self, task_id: str) -> CachedTask | None:
        """A task that was loaded before, if it still is in the cache."""
        return self._tasks.get(task_id)

    async def load(self, task_id: str) -> CachedTask:
        """Any task, one object for all who load it at once; raises ``TaskNotFound``."""
        stored = await run_in_threadpool(self._store.tasks.read, task_id)
        task = await run_in_threadpool(CachedTask, stored.task)
        if task_id not in self._tasks and len(self._tasks) >= MAX_TASKS:
            self._tasks.pop(next(iter(self._tasks)))
        return self._tasks.setdefault(task_id, task)

    def forget(self, task_id: str) -> None:
        """Drop a task that turned out to be deleted."""
        self._tasks.pop(task_id, None)


# A fingerprint tells a replay from another report under the same id: a collision would answer 200
# where 409 is due, and counts nothing. It is the multilinear hash of Lemire and Kaser, "Strongly
# universal string hashing is fast" (The Computer Journal, 2014), eq. 1:
#     h(s) = ((m_0 + sum_i m_{i+1} s_i) mod 2^64) div 2^32
# over 32-bit words s_i with 64-bit keys m, taken twice with independent keys. The keys come from
# the task's id, so that every curator and every backup finds the same fingerprint.

HASHES = 2
CHUNK = 4_096


@lru_cache(maxsize=256)
def _hash_keys(task_id: str, question: int, words: int) -> tuple[Words, Words]:
    """Keys of one question: m_0 of shape ``(2,)``, the others of shape ``(words, 2)``."""
    seed = bytes.fromhex(task_id) + question.to_bytes(4, "little")
    drawn = hashlib.shake_256(seed).digest(8 * HASHES * (words + 1))
    keys = np.frombuffer(drawn, dtype="<u8").astype(np.uint64).reshape(HASHES, words + 1)
    return keys[:, 0], np.ascontiguousarray(keys[:, 1:].T)


def _hashed(payloads: ByteRows, first: Words, others: Words) -> Words:
    """The sums of eq. 1 over the payloads' words, zero padded; shape ``(R, 2)``."""
    padding = -payloads.shape[1] % 4
    hashed = np.empty((len(payloads), HASHES), dtype=np.uint64)
    for start in range(0, len(payloads), CHUNK):
        chunk = payloads[start : start + CHUNK]
        padded = np.pad(chunk, ((0, 0), (0, padding))) if padding else chunk
        words = np.ascontiguousarray(padded).view("<u4").astype(np.uint64)
        hashed[start : start + CHUNK] = words @ others + first
    return hashed
