"""Reports on their way: one SQLite file that knows neither when nor in what order they came.

Single reports are rows by their random ids, batches of other relays are rows by a random number;
nothing has a time, and all is overwritten in the file when it leaves. What goes out together is
sealed first: waiting reports become one shuffled batch in the file, and that batch, the same bytes
in the same order, goes out again after a crash or a lost answer. So nobody can tell apart the
reports that a second, larger batch would have added. Every change is durable before it returns.
"""

import errno
import os
import sqlite3
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import numpy as np
from numpy.typing import NDArray

from privet.protocol.batch import INVITATION_DIGEST_BYTES, Batch
from privet.protocol.report import REPORT_ID_BYTES
from privet.relay.errors import SpoolFailed, SpoolFull

MAX_BYTES = 15 * 2**20
"""Bytes that go out together, unless so few reports are more: a further relay takes 16 MiB."""
CHECKPOINT_PAGES = 8_192
VERSION = 1

SCHEMA = f"""
CREATE TABLE waiting (
    task       TEXT    NOT NULL,  -- the task's id
    questions  TEXT    NOT NULL,  -- the numbers of the questions it answers, with commas between
    id         BLOB    NOT NULL,  -- the report's 16 random bytes
    payload    BLOB    NOT NULL,  -- the payloads of its answers, one after the other
    invitation BLOB,              -- SHA-256 of its invitation, if it came with one
    PRIMARY KEY (task, questions, id)
) STRICT, WITHOUT ROWID;
CREATE TABLE batches (
    number      INTEGER PRIMARY KEY,  -- random
    sealed      INTEGER NOT NULL,     -- 1 if these reports, in this order, are what goes out
    task        TEXT    NOT NULL,
    questions   TEXT    NOT NULL,
    reports     INTEGER NOT NULL,     -- how many the columns hold
    ids         BLOB    NOT NULL,
    payloads    BLOB    NOT NULL,
    invitations BLOB                  -- 32 bytes each, if any report came with one
) STRICT;
CREATE TABLE tallies (
    task TEXT    NOT NULL,
    name TEXT    NOT NULL,        -- counted, replayed, smallest_batch, or why it was refused
    n    INTEGER NOT NULL,
    PRIMARY KEY (task, name)
) STRICT, WITHOUT ROWID;
PRAGMA user_version = {VERSION};
"""


@dataclass(frozen=True)
class StoredReport:
    """One report, without anything that the curator need not have."""

    task: str
    questions: tuple[int, ...]
    id: bytes
    payload: bytes
    invitation: bytes | None = None


@dataclass(frozen=True)
class Group:
    """Reports that may go out together: how many wait, and the payload bytes of one."""

    task: str
    questions: tuple[int, ...]
    waiting: int
    width: int


class Spool:
    """The durable queue of one relay; all verbs are atomic and may be called from any thread.

    Raises ``SpoolFailed`` if the file cannot be read or written. A context manager that closes it.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.Lock()
        with self._faults():
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
            self._db = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
            try:
                self._prepare()
            except BaseException:
                self._db.close()
                raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file."""
        self._db.close()

    def add(self, reports: Sequence[StoredReport]) -> list[bool]:
        """Keep reports; for each, False if another payload waits under its id, and was kept."""
        with self._transaction() as db:
            return [_add(db, report) for report in reports]

    def add_batch(self, task: str, batch: Batch) -> None:
        """Keep a batch of another relay, in an order of its own."""
        shuffled = _shuffled(batch)
        with self._transaction() as db:
            _insert(db, task, shuffled, sealed=False)

    def groups(self) -> list[Group]:
        """All that waits and is not sealed."""
        query = """
            SELECT task, questions, sum(n), max(width) FROM (
                SELECT task, questions, count(*) AS n, max(length(payload)) AS width
                FROM waiting GROUP BY task, questions
                UNION ALL
                SELECT task, questions, reports, length(payloads) / reports FROM batches
                WHERE NOT sealed
            ) GROUP BY task, questions
        """
        with self._transaction() as db:
            rows = db.execute(query).fetchall()
        return [Group(task, _numbers(text), n, width) for task, text, n, width in rows]

    def seal(self, task: str, questions: tuple[int, ...], least: int, about: int) -> bool:
        """Make one shuffled batch to be sent of ``about`` as many waiting reports.

        False if fewer than ``least`` different reports wait. A rest of fewer than ``least`` joins
        the batch, unless that grows too large.
        """
        with self._transaction() as db:
            return _seal(db, (task, _text(questions)), least, about)

    def sealed(self) -> list[int]:
        """The numbers of the batches that are ready to be sent."""
        with self._transaction() as db:
            return [number for (number,) in db.execute("SELECT number FROM batches WHERE sealed")]

    def batch(self, number: int) -> tuple[str, Batch]:
        """The task of one batch, and the batch."""
        with self._transaction() as db:
            (task,) = db.execute("SELECT task FROM batches WHERE number = ?", (number,)).fetchone()
            return task, _read(db, number)

    def settle(self, number: int, outcome: dict[str, int]) -> None:
        """Remove a delivered batch and add what became of its reports to its task's tallies.

        Its reports hid among those that the curator took: ``smallest_batch`` counts no others.
        """
        taken = outcome.get("counted", 0) or outcome.get("held", 0) or outcome.get("replayed", 0)
        add = "INSERT INTO tallies VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET n = n + excluded.n"
        least = """
            INSERT INTO tallies VALUES (?, 'smallest_batch', ?)
            ON CONFLICT DO UPDATE SET n = min(n, excluded.n)
        """
        with self._transaction() as db:
            deleted = "DELETE FROM batches WHERE number = ? RETURNING task"
            ((task,),) = db.execute(deleted, (number,)).fetchall()
            db.executemany(add, [(task, name, n) for name, n in outcome.items()])
            if taken:
                db.execute(least, (task, taken))

    def purge(self) -> None:
        """Overwrite in the file, and cut from its log, what has left."""
        with self._lock, self._faults():
            self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def tallies(self, task: str) -> dict[str, int]:
        """What became of a task's reports, and how many wait."""
        with self._transaction() as db:
            tallies = dict(db.execute("SELECT name, n FROM tallies WHERE task = ?", (task,)))
            query = (
                "SELECT (SELECT count(*) FROM waiting WHERE task = ?1) + "
                "(SELECT coalesce(sum(reports), 0) FROM batches WHERE task = ?1)"
            )
            (tallies["waiting"],) = db.execute(query, (task,)).fetchone()
            return tallies

    def _prepare(self) -> None:
        for pragma in (
            "journal_mode = WAL",
            "synchronous = FULL",
            "secure_delete = ON",
            f"wal_autocheckpoint = {CHECKPOINT_PAGES}",
        ):
            self._db.execute(f"PRAGMA {pragma}")
        (version,) = self._db.execute("PRAGMA user_version").fetchone()
        (tables,) = self._db.execute("SELECT count(*) FROM sqlite_schema").fetchone()
        if not tables:
            self._db.executescript(f"BEGIN IMMEDIATE; {SCHEMA} COMMIT;")
        elif version != VERSION:
            raise SpoolFailed(
                f"The spool {self.path} is of another version of this program: forward what is in "
                "it with that one, or choose another with --spool."
            )

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        with self._lock, self._faults():
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield self._db
                self._db.execute("COMMIT")
            except BaseException:
                if self._db.in_transaction:
                    self._db.execute("ROLLBACK")
                raise

    @contextmanager
    def _faults(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, OSError) as error:
            kind = SpoolFull if _is_full(error) else SpoolFailed
            raise kind(
                f"The spool {self.path} cannot be used ({error}): free or repair it, or choose "
                "another with --spool."
            ) from error


def _is_full(error: sqlite3.Error | OSError) -> bool:
    if isinstance(error, OSError):
        return error.errno in {errno.ENOSPC, errno.EDQUOT}
    return getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_FULL


def _text(questions: tuple[int, ...]) -> str:
    return ",".join(map(str, questions))


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(map(int, text.split(",")))


def _add(db: sqlite3.Connection, report: StoredReport) -> bool:
    key = (report.task, _text(report.questions), report.id)
    values = (*key, report.payload, report.invitation)
    if db.execute(
        "INSERT INTO waiting VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING", values
    ).rowcount:
        return True
    query = "SELECT payload FROM waiting WHERE task = ? AND questions = ? AND id = ?"
    (payload,) = db.execute(query, key).fetchone()
    return bool(payload == report.payload)


def _insert(db: sqlite3.Connection, task: str, batch: Batch, *, sealed: bool) -> None:
    number = int.from_bytes(os.urandom(8), "big") >> 1
    invitations = None if batch.invitations is None else batch.invitations.tobytes()
    columns = (batch.ids.tobytes(), batch.payloads.tobytes(), invitations)
    row = (number, sealed, task, _text(batch.questions), len(batch), *columns)
    db.execute("INSERT INTO batches VALUES (?, ?, ?, ?, ?, ?, ?, ?)", row)


def _read(db: sqlite3.Connection, number: int) -> Batch:
    query = "SELECT questions, reports, ids, payloads, invitations FROM batches WHERE number = ?"
    questions, count, *columns = db.execute(query, (number,)).fetchone()
    ids, payloads, invitations = (
        None if column is None else np.frombuffer(column, dtype=np.uint8).reshape(count, -1)
        for column in columns
    )
    assert ids is not None  # noqa: S101  # NOT NULL, as the schema says
    assert payloads is not None  # noqa: S101
    return Batch(_numbers(questions), ids, payloads, invitations)


def _seal(db: sqlite3.Connection, key: tuple[str, str], least: int, about: int) -> bool:
    """See ``Spool.seal``; ``key`` is the task and its questions as text."""
    numbers, rest = _open_batches(db, key, least, about)
    singles = _singles(db, key, least, rest)
    parts = [_read(db, number) for number in numbers]
    if singles is not None:
        parts.append(singles)
    if not parts:
        return False
    batch = parts[0] if len(numbers) == len(parts) == 1 else _shuffled(_joined(parts))
    if len(batch) < least:
        return False
    if batch is parts[0]:  # shuffled when it came
        db.execute("UPDATE batches SET sealed = 1 WHERE number = ?", numbers)
        return True
    db.executemany("DELETE FROM batches WHERE number = ?", [(number,) for number in numbers])
    if singles is not None:
        delete = "DELETE FROM waiting WHERE task = ? AND questions = ? AND id = ?"
        db.executemany(delete, [(*key, row.tobytes()) for row in singles.ids])
    _insert(db, key[0], batch, sealed=True)
    return True


def _open_batches(
    db: sqlite3.Connection, key: tuple[str, str], least: int, about: int
) -> tuple[list[int], int]:
    """The batches to take, whole ones only, and how many single reports are wanted with them."""
    rows = db.execute(
        "SELECT number, reports, length(ids) + length(payloads) FROM batches "
        "WHERE NOT sealed AND task = ? AND questions = ?",
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
    return numbers, max(least, about) - taken


def _singles(db: sqlite3.Connection, key: tuple[str, str], least: int, wanted: int) -> Batch | None:
    """As many single reports as are wanted; all, if fewer than ``least`` would be left over."""
    where = "FROM waiting WHERE task = ? AND questions = ?"
    (there,) = db.execute(f"SELECT count(*) {where}", key).fetchone()
    most = there if there - wanted < least else wanted
    if there == 0 or most <= 0:
        return None
    rows = db.execute(f"SELECT id, payload, invitation {where} LIMIT ?", (*key, most))
    ids, payloads, invitations = zip(*rows, strict=True)
    digests = None
    if any(invitation is not None for invitation in invitations):
        digests = _rows(invitation or bytes(INVITATION_DIGEST_BYTES) for invitation in invitations)
    return Batch(_numbers(key[1]), _rows(ids), _rows(payloads), digests)


def _rows(values: Iterable[bytes]) -> NDArray[np.uint8]:
    parts = list(values)
    return np.frombuffer(b"".join(parts), dtype=np.uint8).reshape(len(parts), -1)


def _joined(batches: Sequence[Batch]) -> Batch:
    """One batch of several for the same questions."""
    invitations = None
    if any(batch.invitations is not None for batch in batches):
        digests = [
            np.zeros((len(batch), INVITATION_DIGEST_BYTES), np.uint8)
            if batch.invitations is None
            else batch.invitations
            for batch in batches
        ]
        invitations = np.concatenate(digests)
    return Batch(
        batches[0].questions,
        np.concatenate([batch.ids for batch in batches]),
        np.concatenate([batch.payloads for batch in batches]),
        invitations,
    )


def _shuffled(batch: Batch) -> Batch:
    """Each id once, in an order drawn with the operating system's randomness."""
    ids = batch.ids.tobytes()
    places = range(0, len(ids), REPORT_ID_BYTES)
    first = {ids[at : at + REPORT_ID_BYTES]: at for at in reversed(places)}
    rows = np.fromiter(first.values(), dtype=np.intp) // REPORT_ID_BYTES
    return batch.take(rows[random_order(len(rows))])


def random_order(count: int) -> NDArray[np.intp]:
    """Every order of ``range(count)`` with the same probability: by keys without ties."""
    while True:
        keys = np.frombuffer(os.urandom(8 * count), dtype=np.uint64)
        order = np.argsort(keys)
        ordered = keys[order]
        if not (ordered[1:] == ordered[:-1]).any():
            return order
