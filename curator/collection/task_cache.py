"""The tasks that reports are counted for, and their reports in columns."""

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import compress

import numpy as np
from numpy.typing import NDArray
from starlette.concurrency import run_in_threadpool

from privet.intake.layout import ReportLayout
from privet.intake.tasks import KnownTask, TaskCache
from privet.protocol.batch import ByteRows, possible
from privet.protocol.report import REPORT_ID_BYTES
from privet.protocol.task import Task

from ..datastore.report_ids import Mask
from ..datastore.reports import PerturbedAnswers, ReportGroup
from ..datastore.store import Store

Words = NDArray[np.uint64]


class CachedTask(KnownTask):
    """A task whose reports are counted, in columns."""

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


def task_cache(store: Store) -> TaskCache[CachedTask]:
    """The tasks of a store; loading one raises ``TaskNotFound``."""

    async def read(task_id: str) -> Task:
        return (await run_in_threadpool(store.tasks.read, task_id)).task

    return TaskCache(read, CachedTask)


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
    width = payloads.shape[1]
    hashed = np.empty((len(payloads), HASHES), dtype=np.uint64)
    for start in range(0, len(payloads), CHUNK):
        chunk = payloads[start : start + CHUNK]
        padded = np.zeros((len(chunk), 4 * len(others)), dtype=np.uint8)
        padded[:, :width] = chunk
        words = padded.view("<u4").astype(np.uint64)
        hashed[start : start + CHUNK] = words @ others + first
    return hashed
