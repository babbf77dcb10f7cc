"""Rows of the spool: reports that wait, and the batches in which they leave.

A report waits singly under its random id. A batch has a random number; until it is sealed, it holds
reports of invited holders, with their invitations while the curator has not been asked about these.
"""

import os
import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from privet.protocol.batch import Batch, split
from privet.protocol.receipts import report_hash
from privet.protocol.report import REPORT_ID_BYTES

MAX_BYTES = 15 * 2**20
"""Maximum bytes of a batch, unless the fewest reports that may go out together have more."""

Key = tuple[str, str]
"""A task's id, and the questions that reports answer, with commas between."""


@dataclass(frozen=True)
class StoredReport:
    """One report, without anything that the curator need not have."""

    task: str
    questions: tuple[int, ...]
    id: bytes
    payload: bytes
    invitation: bytes | None = None

    @property
    def digest(self) -> bytes:
        """A hash that distinguishes it from another report under its id once its payload is
        gone."""
        return report_hash(self.questions, self.id, self.payload)


@dataclass(frozen=True)
class TaskQueue:
    """Reports that may go out together: how many wait, and the payload bytes of one."""

    task: str
    questions: tuple[int, ...]
    single: int
    """Reports that wait singly."""
    admitted: int
    """Reports whose invitations the curator holds."""
    width: int


def key_of(task: str, questions: tuple[int, ...]) -> Key:
    return task, ",".join(map(str, questions))


def questions_of(key: Key) -> tuple[int, ...]:
    return tuple(map(int, key[1].split(",")))


def add_single(db: sqlite3.Connection, report: StoredReport) -> None:
    """Let a report wait that does not yet."""
    key = key_of(report.task, report.questions)
    row = (*key, report.id, report.payload, report.invitation)
    db.execute("INSERT INTO waiting VALUES (?, ?, ?, ?, ?)", row)


def groups(db: sqlite3.Connection) -> list[TaskQueue]:
    """All that waits and is not sealed."""
    query = """
        SELECT task, questions, sum(single), sum(admitted), max(width) FROM (
            SELECT task, questions, count(*) AS single, 0 AS admitted,
                max(length(payload)) AS width
            FROM waiting GROUP BY task, questions
            UNION ALL
            SELECT task, questions, 0, reports, length(payloads) / reports FROM batches
            WHERE NOT sealed AND invitations IS NULL
        ) GROUP BY task, questions
    """
    rows = db.execute(query).fetchall()
    return [TaskQueue(task, questions_of((task, text)), *counts) for task, text, *counts in rows]


def singles(db: sqlite3.Connection, key: Key, least: int, about: int) -> Batch | None:
    """About ``about`` single reports, see ``_share``; None if there are none."""
    where = "FROM waiting WHERE task = ? AND questions = ?"
    there, width = db.execute(f"SELECT count(*), max(length(payload)) {where}", key).fetchone()
    if there == 0:
        return None
    most = _share(there, width, least, about)
    rows = db.execute(f"SELECT id, payload {where} LIMIT ?", (*key, most))
    ids, payloads = zip(*rows, strict=True)
    return Batch(questions_of(key), _rows(ids), _rows(payloads))


def invited_singles(
    db: sqlite3.Connection, key: Key, least: int, about: int
) -> tuple[Batch, NDArray[np.uint8]] | None:
    """About ``about`` single reports, one per invitation, by chance, and their invitations.

    None if fewer than ``least`` invitations wait.
    """
    where = "FROM waiting WHERE task = ? AND questions = ? AND invitation IS NOT NULL"
    query = f"SELECT count(DISTINCT invitation), max(length(payload)) {where}"
    there, width = db.execute(query, key).fetchone()
    if there < least or not there:
        return None
    wanted = _share(there, width, least, about)
    by_chance = f"{where} GROUP BY invitation ORDER BY random() LIMIT ?"
    rows = db.execute(f"SELECT min(id), payload, invitation {by_chance}", (*key, wanted)).fetchall()
    ids, payloads, invitations = map(_rows, zip(*rows, strict=True))
    order = random_order(len(rows))
    return Batch(questions_of(key), ids, payloads).take(order), invitations[order]


def remove_singles(db: sqlite3.Connection, key: Key, ids: Iterable[bytes]) -> None:
    delete = "DELETE FROM waiting WHERE task = ? AND questions = ? AND id = ?"
    db.executemany(delete, [(*key, i) for i in ids])


def insert(
    db: sqlite3.Connection,
    task: str,
    batch: Batch,
    *,
    sealed: bool,
    invitations: bytes | None = None,
) -> int:
    """Keep a batch, which its admissions now belong to; return its number."""
    number = int.from_bytes(os.urandom(8), "big") >> 1
    columns = (batch.ids.tobytes(), batch.payloads.tobytes(), invitations)
    row = (number, sealed, *key_of(task, batch.questions), len(batch), *columns)
    db.execute("INSERT INTO batches VALUES (?, ?, ?, ?, ?, ?, ?, ?)", row)
    move = "UPDATE admissions SET batch = ? WHERE id = ?"
    db.executemany(move, [(number, i) for i in batch.admissions])
    return number


def read(db: sqlite3.Connection, number: int) -> Batch:
    """The batch of this number, whose reports were taken while their task was open."""
    query = "SELECT task, questions, reports, ids, payloads FROM batches WHERE number = ?"
    task, questions, count, *columns = db.execute(query, (number,)).fetchone()
    ids, payloads = (np.frombuffer(column, np.uint8).reshape(count, -1) for column in columns)
    named = db.execute("SELECT id FROM admissions WHERE batch = ? ORDER BY id", (number,))
    admissions = tuple(i for (i,) in named)
    return Batch(questions_of((task, questions)), ids, payloads, admissions, in_time=True)


def admitted(db: sqlite3.Connection, key: Key, least: int, about: int) -> list[int]:
    """The numbers of admitted holders' batches to join, whole, into one of about ``about``."""
    rows = db.execute(
        "SELECT number, reports, length(ids) + length(payloads) FROM batches "
        "WHERE NOT sealed AND invitations IS NULL AND task = ? AND questions = ?",
        key,
    ).fetchall()
    left = sum(reports for _, reports, _ in rows)
    numbers: list[int] = []
    taken = size = 0
    for number, reports, length in rows:
        full = size + length > MAX_BYTES or (taken >= about and left >= least)
        if taken >= least and full:
            break
        numbers.append(number)
        taken, left, size = taken + reports, left - reports, size + length
    return numbers


def joined(db: sqlite3.Connection, numbers: Sequence[int]) -> Batch | None:
    """One batch of several for the same questions; None if there are none."""
    if not numbers:
        return None
    batches = [read(db, number) for number in numbers]
    return Batch(
        batches[0].questions,
        np.concatenate([batch.ids for batch in batches]),
        np.concatenate([batch.payloads for batch in batches]),
        tuple(i for batch in batches for i in batch.admissions),
    )


def remove(db: sqlite3.Connection, number: int) -> tuple[str, list[bytes]]:
    """Forget a batch; return its task and the ids of its reports."""
    deleted = "DELETE FROM batches WHERE number = ? RETURNING task, ids"
    ((task, ids),) = db.execute(deleted, (number,)).fetchall()
    return task, split(ids, REPORT_ID_BYTES)


def end_admissions(db: sqlite3.Connection) -> None:
    """Forget the admissions of batches that have left."""
    db.execute("DELETE FROM admissions WHERE batch NOT IN (SELECT number FROM batches)")


def random_order(count: int) -> NDArray[np.intp]:
    """Every order of ``range(count)`` with the same probability: by keys without ties."""
    while True:
        keys = np.frombuffer(os.urandom(8 * count), dtype=np.uint64)
        order = np.argsort(keys)
        ordered = keys[order]
        if not (ordered[1:] == ordered[:-1]).any():
            return order


def _share(there: int, width: int, least: int, about: int) -> int:
    """The number of waiting reports to take: ``about``, and no fewer than ``least``.

    All that are there, if fewer than ``least`` would remain and they fit into a batch.
    """
    wanted = max(least, about)
    fits = there * (REPORT_ID_BYTES + width) <= MAX_BYTES
    return there if there - wanted < least and fits else wanted


def _rows(values: Iterable[bytes]) -> NDArray[np.uint8]:
    parts = list(values)
    return np.frombuffer(b"".join(parts), dtype=np.uint8).reshape(len(parts), -1)
