"""Reports on their way: one SQLite file that knows neither when nor in what order they came.

Single reports are rows by their random ids, batches of other relays are rows by a random number;
nothing has a time, and all is overwritten in the file when it leaves. What goes out together is
sealed first: waiting reports become one shuffled batch in the file, and that batch, the same bytes
in the same order, goes out again after a crash or a lost answer. So nobody can tell apart the
reports that a second, larger batch would have added. Every change is durable before it returns.

What became of a report that a holder sent here is kept for a while after it has left, under a hash
of its id: neither its payload nor the id itself stays.
"""

import errno
import hashlib
import os
import sqlite3
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Self

import numpy as np
from numpy.typing import NDArray

from privet.protocol.batch import INVITATION_DIGEST_BYTES, Batch
from privet.protocol.report import REPORT_ID_BYTES
from privet.relay.errors import SpoolFailed, SpoolFull

MAX_BYTES = 15 * 2**20
"""Bytes that go out together, unless so few reports are more: a further relay takes 16 MiB."""
MAX_SPOOL_BYTES = 4 * 2**30
MAX_BODY_MEMORY = 64 * 2**20
"""Bytes of all bodies in memory, on their way into the spool."""
CHECKPOINT_PAGES = 8_192
VERSION = 2
HELD, COUNTED = "held", "counted"

FATES = """
CREATE TABLE fates (
    key  BLOB PRIMARY KEY,  -- a hash of task and id of a report that a holder sent here
    fate TEXT,              -- null: here; held: at a further relay; counted; or why it was refused
    day  INTEGER            -- the UTC day on which that became known, in days since 1970
) STRICT, WITHOUT ROWID;
"""
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
    invitations BLOB,                 -- 32 bytes each, if any report came with one
    tracked     INTEGER NOT NULL DEFAULT 0  -- 1 if some of its reports have a row in fates
) STRICT;
CREATE TABLE tallies (
    task TEXT    NOT NULL,
    name TEXT    NOT NULL,        -- counted, replayed, smallest_batch, or why it was refused
    n    INTEGER NOT NULL,
    PRIMARY KEY (task, name)
) STRICT, WITHOUT ROWID;
{FATES}
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


@dataclass(frozen=True)
class Account:
    """What became of a batch: how many were taken and as what, and the ids refused by reason."""

    taken: Mapping[str, int]
    refused: Mapping[str, Sequence[bytes]] = field(default_factory=dict)

    @property
    def counts(self) -> dict[str, int]:
        """All reports of the batch, by what became of them."""
        return {**self.taken, **{reason: len(ids) for reason, ids in self.refused.items()}}


class Spool:
    """The durable queue of one relay; all verbs are atomic and may be called from any thread.

    Raises ``SpoolFailed`` if the file cannot be read or written, ``SpoolFull`` if the disk is full,
    or if something is added when ``max_bytes`` are in use. A context manager that closes it.
    """

    def __init__(self, path: Path, max_bytes: int = MAX_SPOOL_BYTES) -> None:
        self.path = path
        self._max_bytes = max_bytes
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

    def add(self, reports: Sequence[StoredReport]) -> list[Literal["held", "counted", "conflict"]]:
        """Keep reports; says for each whether it is held, or was counted already.

        ``conflict`` if another payload waits under its id, which stays.
        """
        with self._transaction() as db:
            self._check_room(db)
            return [_add(db, report) for report in reports]

    def add_batch(self, task: str, batch: Batch) -> None:
        """Keep a batch of another relay, in an order of its own."""
        shuffled = _shuffled(batch)
        with self._transaction() as db:
            self._check_room(db)
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

    def sealed(self) -> dict[int, str]:
        """The batches that are ready to be sent: their numbers, and the task of each."""
        with self._transaction() as db:
            return dict(db.execute("SELECT number, task FROM batches WHERE sealed"))

    def batch(self, number: int) -> tuple[str, Batch]:
        """The task of one batch, and the batch."""
        with self._transaction() as db:
            (task,) = db.execute("SELECT task FROM batches WHERE number = ?", (number,)).fetchone()
            return task, _read(db, number)

    def settle(self, number: int, account: Account, day: int) -> None:
        """Remove a delivered batch; add what became of its reports, known since ``day``.

        Its reports hid among those that the curator took: ``smallest_batch`` counts no others.
        """
        taken = account.taken.get(COUNTED) or account.taken.get(HELD)
        taken = taken or account.taken.get("replayed")
        least = """
            INSERT INTO tallies VALUES (?, 'smallest_batch', ?)
            ON CONFLICT DO UPDATE SET n = min(n, excluded.n)
        """
        refused = {own: reason for reason, ids in account.refused.items() for own in ids}
        rest = HELD if account.taken.get(HELD) else COUNTED
        with self._transaction() as db:
            deleted = "DELETE FROM batches WHERE number = ? RETURNING task, tracked, ids"
            ((task, tracked, ids),) = db.execute(deleted, (number,)).fetchall()
            _tally(db, task, account.counts)
            if taken:
                db.execute(least, (task, taken))
            if tracked:
                _note(db, task, ((own, refused.get(own, rest)) for own in _split(ids)), day)

    def abandon(self, task: str, reason: str, day: int, *, sealed: bool) -> int:
        """Remove what can never count: all that waits for a task, sealed batches only if asked.

        Returns how many reports that are; they were refused for ``reason``.
        """
        which = "" if sealed else "AND NOT sealed"
        with self._transaction() as db:
            ids = [
                own
                for (own,) in db.execute("DELETE FROM waiting WHERE task = ? RETURNING id", (task,))
            ]
            batches = db.execute(
                f"DELETE FROM batches WHERE task = ? {which} RETURNING reports, tracked, ids",  # noqa: S608 - constants
                (task,),
            ).fetchall()
            count: int = len(ids) + sum(reports for reports, _, _ in batches)
            for _, tracked, column in batches:
                ids += _split(column) if tracked else []
            _note(db, task, ((own, reason) for own in ids), day)
            if count:
                _tally(db, task, {reason: count})
            return count

    def fate(self, task: str, report_id: bytes) -> str | None:
        """``held``, ``counted``, or why a report was refused; None if it is not known here."""
        query = "SELECT coalesce(fate, 'held') FROM fates WHERE key = ?"
        with self._transaction() as db:
            row = db.execute(query, (_fate_key(task, report_id),)).fetchone()
        return None if row is None else str(row[0])

    def forget(self, before: int) -> None:
        """Forget what became known before a day."""
        with self._transaction() as db:
            db.execute("DELETE FROM fates WHERE day < ?", (before,))

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
        elif version == 1:
            self._migrate()
        elif version != VERSION:
            raise SpoolFailed(
                f"The spool {self.path} is of another version of this program: forward what is in "
                "it with that one, or choose another with --spool."
            )

    def _migrate(self) -> None:
        """Version 1 kept no fates: those of what waits begin here."""
        with self._transaction() as db:
            db.execute(FATES)
            db.execute("ALTER TABLE batches ADD COLUMN tracked INTEGER NOT NULL DEFAULT 0")
            waiting = db.execute("SELECT task, id FROM waiting").fetchall()
            keys = [(_fate_key(task, own),) for task, own in waiting]
            db.executemany("INSERT OR IGNORE INTO fates (key) VALUES (?)", keys)
            db.execute(f"PRAGMA user_version = {VERSION}")

    def _check_room(self, db: sqlite3.Connection) -> None:
        """Only what comes in is bounded, so that a full spool can still be sealed and emptied."""
        size, pages, free = (
            db.execute(f"PRAGMA {name}").fetchone()[0]
            for name in ("page_size", "page_count", "freelist_count")
        )
        if size * (pages - free) >= self._max_bytes:
            raise SpoolFull(
                f"The spool {self.path} has reached its {self._max_bytes} bytes: see why the "
                "curator takes no reports, or raise --max-spool-bytes."
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


def _fate_key(task: str, report_id: bytes) -> bytes:
    return hashlib.sha256(task.encode() + report_id).digest()[:16]


def _split(ids: bytes) -> list[bytes]:
    return [ids[at : at + REPORT_ID_BYTES] for at in range(0, len(ids), REPORT_ID_BYTES)]


def _note(db: sqlite3.Connection, task: str, fates: Iterable[tuple[bytes, str]], day: int) -> None:
    """What became of reports that holders sent here; once counted, they stay so."""
    update = "UPDATE fates SET fate = ?, day = ? WHERE key = ? AND fate IS NOT 'counted'"
    db.executemany(update, ((fate, day, _fate_key(task, own)) for own, fate in fates))


def _tally(db: sqlite3.Connection, task: str, counts: Mapping[str, int]) -> None:
    add = "INSERT INTO tallies VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET n = n + excluded.n"
    db.executemany(add, [(task, name, n) for name, n in counts.items()])


def _add(db: sqlite3.Connection, report: StoredReport) -> Literal["held", "counted", "conflict"]:
    fate_key = _fate_key(report.task, report.id)
    known = db.execute("SELECT fate FROM fates WHERE key = ?", (fate_key,)).fetchone()
    if known == (COUNTED,):
        return "counted"
    key = (report.task, _text(report.questions), report.id)
    if known is None or known[0] not in {None, HELD}:  # new, or refused before
        insert = "INSERT INTO waiting VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING"
        db.execute(insert, (*key, report.payload, report.invitation))
        db.execute("INSERT OR REPLACE INTO fates (key) VALUES (?)", (fate_key,))
        return "held"
    query = "SELECT payload FROM waiting WHERE task = ? AND questions = ? AND id = ?"
    waiting = db.execute(query, key).fetchone()
    return "held" if waiting in {None, (report.payload,)} else "conflict"


def _insert(
    db: sqlite3.Connection, task: str, batch: Batch, *, sealed: bool, tracked: bool = False
) -> None:
    number = int.from_bytes(os.urandom(8), "big") >> 1
    invitations = None if batch.invitations is None else batch.invitations.tobytes()
    columns = (batch.ids.tobytes(), batch.payloads.tobytes(), invitations)
    row = (number, sealed, task, _text(batch.questions), len(batch), *columns, tracked)
    db.execute("INSERT INTO batches VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", row)


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
    _insert(db, key[0], batch, sealed=True, tracked=singles is not None)
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
