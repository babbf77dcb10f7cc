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


@dataclass(frozen=True, slots=True)
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


def queue_of(db: sqlite3.Connection, key: Key, width: int) -> int:
    """The number of the queue of ``key``, made for payloads of ``width`` bytes if it is new."""
    find = "SELECT number FROM queues WHERE task = ? AND questions = ?"
    row = db.execute(find, key).fetchone()
    if row is None:
        row = (random_number(),)
        db.execute("INSERT INTO queues VALUES (?, ?, ?, ?, 0)", (*row, *key, width))
    return int(row[0])


def elsewhere(db: sqlite3.Connection, reports: Sequence[StoredReport]) -> bool:
    """True if an id of a task's reports waits in another of its queues: one per question asked."""
    task = reports[0].task
    (count,) = db.execute("SELECT count(*) FROM queues WHERE task = ?", (task,)).fetchone()
    return count > 1 and any(waiting_report(db, task, report.id) for report in reports)


def add_singles(db: sqlite3.Connection, queue: int, reports: Sequence[StoredReport]) -> bool:
    """Let reports wait; False, and some may, unless all of their ids are new to the queue."""
    rows = [(queue, report.id, report.payload, report.invitation) for report in reports]
    rows.sort()  # by ids, as they lie
    insert = "INSERT OR IGNORE INTO waiting VALUES (?, ?, ?, ?)"
    added = db.executemany(insert, rows).rowcount
    _count(db, queue, added)
    return added == len(rows)


def waiting_report(db: sqlite3.Connection, task: str, report_id: bytes) -> tuple[str, bytes] | None:
    """The questions and the payload of a report that waits singly."""
    query = """
        SELECT questions, payload FROM queues JOIN waiting ON queue = number
        WHERE task = ? AND id = ?
    """
    row: tuple[str, bytes] | None = db.execute(query, (task, report_id)).fetchone()
    return row


def count_waiting(db: sqlite3.Connection, task: str) -> int:
    """The number of a task's reports that are here, sealed ones too."""
    query = """
        SELECT (SELECT coalesce(sum(reports), 0) FROM queues WHERE task = ?) +
            (SELECT coalesce(sum(reports), 0) FROM batches WHERE task = ?)
    """
    (count,) = db.execute(query, (task, task)).fetchone()
    return int(count)


def groups(db: sqlite3.Connection) -> list[TaskQueue]:
    """All that waits and is not sealed."""
    query = """
        SELECT task, questions, sum(single), sum(admitted), max(width) FROM (
            SELECT task, questions, width, reports AS single, 0 AS admitted FROM queues
            UNION ALL
            SELECT task, questions, length(payloads) / reports, 0, reports FROM batches
            WHERE NOT sealed AND invitations IS NULL
        ) GROUP BY task, questions HAVING sum(single) + sum(admitted) > 0
    """
    rows = db.execute(query).fetchall()
    return [TaskQueue(task, questions_of((task, text)), *counts) for task, text, *counts in rows]


def singles(db: sqlite3.Connection, key: Key, least: int, about: int) -> Batch | None:
    """About ``about`` single reports, those with the first ids, see ``_share``; None if none."""
    queue, there, width = _singles(db, key)
    if there == 0:
        return None
    most = _share(there, width, least, about)
    query = "SELECT id, payload FROM waiting WHERE queue = ? ORDER BY id LIMIT ?"
    ids, payloads = zip(*db.execute(query, (queue, most)), strict=True)
    return Batch(questions_of(key), _rows(ids), _rows(payloads))


def invited_singles(
    db: sqlite3.Connection, key: Key, least: int, about: int
) -> tuple[Batch, NDArray[np.uint8]] | None:
    """About ``about`` single reports, one per invitation, by chance, and their invitations.

    None if fewer than ``least`` invitations wait.
    """
    where = "FROM waiting WHERE queue = ? AND invitation IS NOT NULL"
    queue, _, width = _singles(db, key)
    (there,) = db.execute(f"SELECT count(DISTINCT invitation) {where}", (queue,)).fetchone()
    if there < least or not there:
        return None
    wanted = _share(there, width, least, about)
    by_chance = f"{where} GROUP BY invitation ORDER BY random() LIMIT ?"
    query = f"SELECT min(id), payload, invitation {by_chance}"
    rows = db.execute(query, (queue, wanted)).fetchall()
    ids, payloads, invitations = map(_rows, zip(*rows, strict=True))
    order = random_order(len(rows))
    return Batch(questions_of(key), ids, payloads).take(order), invitations[order]


def _singles(db: sqlite3.Connection, key: Key) -> tuple[int, int, int]:
    """The queue of ``key``, the number of reports in it, and the bytes of a payload."""
    query = "SELECT number, reports, width FROM queues WHERE task = ? AND questions = ?"
    return db.execute(query, key).fetchone() or (0, 0, 0)


def _count(db: sqlite3.Connection, queue: int, more: int) -> None:
    """Keep the number of reports that wait in a queue."""
    db.execute("UPDATE queues SET reports = reports + ? WHERE number = ?", (more, queue))


def remove_singles(db: sqlite3.Connection, key: Key, batch: Batch) -> None:
    """Let the reports of a batch wait no longer."""
    queue, _, _ = _singles(db, key)
    ids = split(batch.ids.tobytes(), REPORT_ID_BYTES)
    first, last = min(ids), max(ids)
    stretch = "FROM waiting WHERE queue = ? AND id BETWEEN ? AND ?"
    (there,) = db.execute(f"SELECT count(*) {stretch}", (queue, first, last)).fetchone()
    if there == len(ids):  # these and no others, which takes less than one by one
        db.execute(f"DELETE {stretch}", (queue, first, last))
    else:
        delete = "DELETE FROM waiting WHERE queue = ? AND id = ?"
        db.executemany(delete, [(queue, i) for i in ids])
    _count(db, queue, -len(ids))


def take_out(db: sqlite3.Connection, task: str, *, uninvited: bool = False) -> list[StoredReport]:
    """Remove the single reports of a task, or only those without an invitation."""
    taken = []
    which = " AND invitation IS NULL" if uninvited else ""
    query = "SELECT number, questions FROM queues WHERE task = ?"
    for number, text in db.execute(query, (task,)).fetchall():
        questions = questions_of((task, text))
        delete = f"DELETE FROM waiting WHERE queue = ?{which} RETURNING id, payload"  # noqa: S608
        rows = db.execute(delete, (number,)).fetchall()
        _count(db, number, -len(rows))
        taken += [StoredReport(task, questions, *row) for row in rows]
    return taken


def insert(
    db: sqlite3.Connection,
    task: str,
    batch: Batch,
    *,
    sealed: bool,
    invitations: bytes | None = None,
) -> int:
    """Keep a batch, which its admissions now belong to; return its number."""
    number = random_number()
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


def remove(db: sqlite3.Connection, number: int) -> tuple[str, int]:
    """Forget a batch; return its task and the number of its reports."""
    deleted = "DELETE FROM batches WHERE number = ? RETURNING task, reports"
    ((task, reports),) = db.execute(deleted, (number,)).fetchall()
    return task, reports


def end_admissions(db: sqlite3.Connection) -> None:
    """Forget the admissions of batches that have left."""
    db.execute("DELETE FROM admissions WHERE batch NOT IN (SELECT number FROM batches)")


def random_number() -> int:
    """A number that says nothing about when it was drawn."""
    return int.from_bytes(os.urandom(8), "big") >> 1


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
