"""Reports on their way: one SQLite file that knows neither when nor in what order they came.

Reports are rows by their random ids, batches by a random number; nothing has a time, and all is
overwritten in the file when it leaves. What goes out together is sealed first: waiting reports
become one shuffled batch in the file, and that batch, the same bytes in the same order, goes out
again after a crash or a lost answer. So nobody can tell apart the reports that a second, larger
batch would have added. Every change is durable before it returns.

Where holders are invited, some of the reports that wait are drawn first, and the curator is asked
about their invitations alone; those that it takes leave their reports for good, which then wait to
be sealed. A report that went out is never sent in another batch, whatever the curator answers.

What became of a report that a holder sent here is kept for a while after it has left, under a hash
of its id: neither its payload nor the id itself stays.
"""

import errno
import hashlib
import os
import sqlite3
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

import numpy as np
from numpy.typing import NDArray

from privet.protocol.batch import (
    ADMISSION_ID_BYTES,
    INVITATION_DIGEST_BYTES,
    Admission,
    Batch,
    split,
)
from privet.protocol.errors import NotAuthorized, problem_of
from privet.protocol.receipts import SignedReceipt, groups_of, hashes_of, report_hash
from privet.protocol.report import REPORT_ID_BYTES

from .errors import SpoolFailed, SpoolFull

MAX_BYTES = 15 * 2**20
"""Maximum bytes of a batch, unless the fewest reports that may go out together have more."""
MAX_SPOOL_BYTES = 4 * 2**30
CHECKPOINT_PAGES = 8_192
VERSION = 6
FATE_HELD, FATE_COUNTED, FATE_CONFLICT = "held", "counted", "conflict"
NOT_INVITED = problem_of(NotAuthorized("")).name

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
    invitations BLOB                  -- 32 bytes each, until the curator has said which it takes
) STRICT;
CREATE TABLE admissions (
    id          BLOB PRIMARY KEY,     -- 16 random bytes
    batch       INTEGER NOT NULL,     -- the batch that names it
    invitations BLOB    NOT NULL      -- those it lets in, ascending
) STRICT, WITHOUT ROWID;
CREATE TABLE tallies (
    task TEXT    NOT NULL,
    name TEXT    NOT NULL,        -- counted, replayed, smallest_batch, or why it was refused
    n    INTEGER NOT NULL,
    PRIMARY KEY (task, name)
) STRICT, WITHOUT ROWID;
CREATE TABLE fates (
    key    BLOB PRIMARY KEY, -- a hash of task and id of a report that a holder sent here
    digest BLOB NOT NULL,    -- a hash of its id and its answers
    fate   TEXT,             -- null: here; held: in a file; counted; or why it was refused
    day    INTEGER,          -- the UTC day on which that became known, in days since 1970
    sent   INTEGER NOT NULL  -- the number of the batch in which it went out; else 0
) STRICT, WITHOUT ROWID;
CREATE TABLE receipts (
    batch     INTEGER NOT NULL,
    hashes    BLOB    NOT NULL,  -- 32 bytes each, ascending, of reports that count
    signature TEXT    NOT NULL,  -- the curator's
    day       INTEGER NOT NULL,
    PRIMARY KEY (batch, hashes)
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

    @property
    def digest(self) -> bytes:
        """A hash that tells it from another report under its id once its payload is gone."""
        return report_hash(self.questions, self.id, self.payload)


@dataclass(frozen=True)
class Group:
    """Reports that may go out together: how many wait, and the payload bytes of one."""

    task: str
    questions: tuple[int, ...]
    single: int
    """Reports that wait singly."""
    admitted: int
    """Reports whose invitations the curator holds."""
    width: int


@dataclass(frozen=True)
class Account:
    """What became of a batch: how many were taken and as what, and the ids refused by reason."""

    taken: Mapping[str, int]
    refused: Mapping[str, Sequence[bytes]] = field(default_factory=dict)
    receipts: Sequence[str] = ()
    """The curator's signatures of those that count, in their groups."""

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
            with suppress(FileExistsError):  # closing it would drop this process's locks on it
                os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
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
        """Close the file when what another thread is doing there has ended; later verbs fail."""
        with self._lock:
            self._db.close()

    def add(self, reports: Sequence[StoredReport]) -> list[str]:
        """Keep reports; says for each whether it is ``held``, or was ``counted`` already.

        ``conflict`` if another one was taken under its id, which stays. A report that went out and
        was refused has that reason for ever.
        """
        with self._transaction() as db:
            self._check_room(db)
            return [_add(db, report) for report in reports]

    def check(self) -> None:
        """Write as little as there is, durably; raises ``SpoolFailed`` or ``SpoolFull``."""
        with self._transaction() as db:
            self._check_room(db)
            db.execute(f"PRAGMA user_version = {VERSION}")

    def groups(self) -> list[Group]:
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
        with self._transaction() as db:
            rows = db.execute(query).fetchall()
        return [Group(task, _numbers(text), *counts) for task, text, *counts in rows]

    def draw(
        self,
        task: str,
        questions: tuple[int, ...],
        least: int,
        about: int,
        *,
        shown_bytes: int = 0,
    ) -> bool:
        """Draw about ``about`` single reports whose invitations the curator is asked about.

        Returns False if fewer than ``least`` different invitations wait. If fewer than ``least``
        would remain, takes them too, unless the batch grows too large. Of several reports with one
        invitation the others stay, as does one that would be alone with its shown cell (``seal``).
        """
        key = (task, _text(questions))
        with self._transaction() as db:
            where = "FROM waiting WHERE task = ? AND questions = ? AND invitation IS NOT NULL"
            query = f"SELECT count(DISTINCT invitation), max(length(payload)) {where}"
            there, width = db.execute(query, key).fetchone()
            if there < least or not there:
                return False
            wanted = _even(there, width, least, max(least, about), MAX_BYTES)
            by_chance = f"{where} GROUP BY invitation ORDER BY random() LIMIT ?"
            rows = db.execute(
                f"SELECT min(id), payload, invitation {by_chance}", (*key, wanted)
            ).fetchall()
            ids, payloads, invitations = map(_rows, zip(*rows, strict=True))
            batch, order = Batch(questions, ids, payloads), random_order(len(rows))
            if shown_bytes:
                order = order[batch.company(shown_bytes)[order] > 1]
            if len(order) < least:
                return False
            batch, invitations = batch.take(order), invitations[order]
            _remove_singles(db, key, map(bytes, batch.ids))
            paired = invitations.tobytes()
            number = _insert(db, task, batch, sealed=False, invitations=paired)
            asked = Admission.of(os.urandom(ADMISSION_ID_BYTES), list(map(bytes, invitations)))
            row = (asked.id, number, asked.invitations.tobytes())
            db.execute("INSERT INTO admissions VALUES (?, ?, ?)", row)
            return True

    def drawn(self) -> dict[int, str]:
        """The batches whose invitations the curator is asked about: numbers, and tasks."""
        with self._transaction() as db:
            return dict(
                db.execute("SELECT number, task FROM batches WHERE invitations IS NOT NULL")
            )

    def admissions(self, number: int) -> list[Admission]:
        """What the curator is asked, or was, for a batch."""
        query = "SELECT id, invitations FROM admissions WHERE batch = ?"
        with self._transaction() as db:
            rows = db.execute(query, (number,)).fetchall()
        return [Admission.of(i, split(column, INVITATION_DIGEST_BYTES)) for i, column in rows]

    def admit(self, number: int, refused: Set[bytes], day: int) -> int:
        """Forget which report of a drawn batch came with which invitation; how many leave.

        Those whose invitations are ``refused`` leave, the others wait to be sealed.
        """
        with self._transaction() as db:
            query = "SELECT task, invitations FROM batches WHERE number = ?"
            task, paired = db.execute(query, (number,)).fetchone()
            batch, invitations = _read(db, number), split(paired, INVITATION_DIGEST_BYTES)
            stays = np.array([invitation not in refused for invitation in invitations])
            kept, (admission_id,) = batch.take(stays), batch.admissions
            left = batch.ids[~stays]
            db.execute("DELETE FROM batches WHERE number = ?", (number,))
            if len(kept):
                admitted = Admission.of(admission_id, set(invitations) - refused)
                _insert(db, task, kept, sealed=False)
                update = "UPDATE admissions SET invitations = ? WHERE id = ?"
                db.execute(update, (admitted.invitations.tobytes(), admission_id))
            else:
                db.execute("DELETE FROM admissions WHERE id = ?", (admission_id,))
            return _leave(db, task, list(map(bytes, left)), NOT_INVITED, day)

    def turn_away(self, task: str, day: int) -> int:
        """Remove the reports of a task for invited holders that came without an invitation."""
        with self._transaction() as db:
            singles = "DELETE FROM waiting WHERE task = ? AND invitation IS NULL RETURNING id"
            ids = [report_id for (report_id,) in db.execute(singles, (task,))]
            return _leave(db, task, ids, NOT_INVITED, day)

    def seal(
        self,
        task: str,
        questions: tuple[int, ...],
        least: int,
        about: int,
        *,
        invited: bool = False,
        shown_bytes: int = 0,
    ) -> bool:
        """Make one shuffled batch to be sent, of about ``about`` waiting reports.

        Returns False if fewer than ``least`` different reports wait. If fewer than ``least`` would
        remain, takes them too, unless the batch grows too large. Where holders are ``invited``,
        takes the reports of those who were admitted; else a report that would be alone with its
        shown cell, the first ``shown_bytes`` of its payload, waits for another one.
        """
        key = (task, _text(questions))
        with self._transaction() as db:
            numbers = _admitted(db, key, least, about) if invited else []
            batch = _joined(db, numbers) if invited else _singles(db, key, least, about)
            if batch is not None and shown_bytes and not invited:
                batch = batch.take(batch.company(shown_bytes) > 1)
            if batch is None or len(batch) < max(least, 1):
                return False
            for number in numbers:
                db.execute("DELETE FROM batches WHERE number = ?", (number,))
            _remove_singles(db, key, map(bytes, batch.ids))
            _insert(db, task, batch.take(random_order(len(batch))), sealed=True)
            return True

    def sealed(self) -> dict[int, str]:
        """The batches that are ready to be sent: their numbers, and the task of each."""
        with self._transaction() as db:
            return dict(db.execute("SELECT number, task FROM batches WHERE sealed"))

    def batch(self, number: int) -> Batch:
        with self._transaction() as db:
            return _read(db, number)

    def settle(self, number: int, account: Account, day: int, company: int | None = None) -> None:
        """Remove a delivered batch; add what became of its reports, known since ``day``.

        Its reports hid among those that the curator took: ``smallest_batch`` counts no others. In a
        task with shown columns a report hides among its ``company`` at most, those of its shown
        cell, from which all that were refused may be missing.
        """
        taken = account.taken.get(FATE_COUNTED) or account.taken.get(FATE_HELD)
        taken = taken or account.taken.get("replayed")
        if taken and company is not None:
            taken = max(1, company - sum(map(len, account.refused.values())))
        least = """
            INSERT INTO tallies VALUES (?, 'smallest_batch', ?)
            ON CONFLICT DO UPDATE SET n = min(n, excluded.n)
        """
        refused = {i: reason for reason, ids in account.refused.items() for i in ids}
        rest = FATE_HELD if account.taken.get(FATE_HELD) else FATE_COUNTED
        groups = []
        if account.receipts:
            batch = self.batch(number)
            hashes = zip(hashes_of(batch), map(bytes, batch.ids), strict=True)
            groups = groups_of([digest for digest, i in hashes if i not in refused])
        with self._transaction() as db:
            deleted = "DELETE FROM batches WHERE number = ? RETURNING task, ids"
            ((task, ids),) = db.execute(deleted, (number,)).fetchall()
            _end_admissions(db)
            _tally(db, task, account.counts)
            if taken:
                db.execute(least, (task, taken))
            fates = ((i, refused.get(i, rest)) for i in split(ids, REPORT_ID_BYTES))
            _note(db, task, fates, day, sent=number)
            signed = zip(groups, account.receipts, strict=False)
            rows = ((number, b"".join(group), signature, day) for group, signature in signed)
            db.executemany("INSERT INTO receipts VALUES (?, ?, ?, ?)", rows)

    def abandon(self, task: str, reason: str, day: int, *, sealed: bool) -> int:
        """Remove what can never count: all that waits for a task, sealed batches only if asked.

        Returns how many reports that were; their fate is ``reason``.
        """
        singles = "DELETE FROM waiting WHERE task = ? RETURNING id"
        batches = "DELETE FROM batches WHERE task = ? AND sealed = ? RETURNING ids"

        def ids_of_batches(*, sealed: bool) -> list[bytes]:
            columns = db.execute(batches, (task, sealed)).fetchall()
            return [i for (column,) in columns for i in split(column, REPORT_ID_BYTES)]

        with self._transaction() as db:
            ids = [report_id for (report_id,) in db.execute(singles, (task,))]
            count = _leave(db, task, ids + ids_of_batches(sealed=False), reason, day)
            if sealed:
                count += _leave(db, task, ids_of_batches(sealed=True), reason, day, sent=1)
            _end_admissions(db)
            return count

    def fate(self, task: str, report_id: bytes) -> str | None:
        """``held``, ``counted``, or why a report was refused; None if it is not known here."""
        query = "SELECT coalesce(fate, 'held') FROM fates WHERE key = ?"
        with self._transaction() as db:
            row = db.execute(query, (_fate_key(task, report_id),)).fetchone()
        return None if row is None else str(row[0])

    def receipt(self, task: str, report_id: bytes, digest: bytes) -> SignedReceipt | None:
        """The curator's receipt for a report that it counted; None if there is none here."""
        query = """
            SELECT signature, hashes FROM fates JOIN receipts ON batch = sent
            WHERE key = ? AND digest = ? AND substr(hashes, 1, 32) <= digest
            ORDER BY hashes DESC LIMIT 1
        """
        with self._transaction() as db:
            row = db.execute(query, (_fate_key(task, report_id), digest)).fetchone()
        hashes = [] if row is None else split(row[1], len(digest))
        if digest not in hashes:  # it was refused
            return None
        return SignedReceipt(signature=row[0], reports=tuple(map(bytes.hex, hashes)))

    def forget(self, before: int) -> None:
        """Forget what became known before a day."""
        with self._transaction() as db:
            db.execute("DELETE FROM fates WHERE day < ?", (before,))
            db.execute("DELETE FROM receipts WHERE day < ?", (before,))

    def purge(self) -> None:
        """Overwrite in the file, and cut from its log, what has left."""
        with self._lock, self._faults():
            self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def tallies(self, task: str) -> dict[str, int]:
        """What became of a task's reports, and how many wait."""
        with self._transaction() as db:
            tallies = dict(db.execute("SELECT name, n FROM tallies WHERE task = ?", (task,)))
            query = (
                "SELECT (SELECT count(*) FROM waiting WHERE task = ?) + "
                "(SELECT coalesce(sum(reports), 0) FROM batches WHERE task = ?)"
            )
            (tallies["waiting"],) = db.execute(query, (task, task)).fetchone()
            return tallies

    def all_tallies(self) -> dict[str, dict[str, int]]:
        query = (
            "SELECT task FROM tallies UNION SELECT task FROM waiting UNION SELECT task FROM batches"
        )
        with self._transaction() as db:
            tasks = [task for (task,) in db.execute(query)]
        return {task: self.tallies(task) for task in tasks}

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
        if not (tables or version):
            self._db.executescript(f"BEGIN IMMEDIATE; {SCHEMA} COMMIT;")
        elif version != VERSION:
            raise SpoolFailed(
                f"The spool {self.path} is of another version of this program: forward what is in "
                "it with that one, or choose another with --spool."
            )

    def _check_room(self, db: sqlite3.Connection) -> None:
        """Only what comes in is bounded, so that a full spool can still be sealed and emptied."""
        size, pages, free = (
            db.execute(f"PRAGMA {name}").fetchone()[0]
            for name in ("page_size", "page_count", "freelist_count")
        )
        if size * (pages - free) >= self._max_bytes:
            raise SpoolFull(
                f"The spool {self.path} has reached its {self._max_bytes} bytes: find out "
                "why the curator takes no reports."
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


def _note(
    db: sqlite3.Connection,
    task: str,
    fates: Iterable[tuple[bytes, str]],
    day: int,
    *,
    sent: int = 0,
) -> None:
    """Record what became of reports that holders sent here; a counted one stays counted."""
    update = "UPDATE fates SET fate = ?, day = ?, sent = ? WHERE key = ? AND fate IS NOT 'counted'"
    db.executemany(update, ((fate, day, sent, _fate_key(task, i)) for i, fate in fates))


def _leave(
    db: sqlite3.Connection,
    task: str,
    ids: list[bytes],
    reason: str,
    day: int,
    *,
    sent: int = 0,
) -> int:
    """Record that reports were refused; return their number."""
    _note(db, task, ((i, reason) for i in ids), day, sent=sent)
    if ids:
        _tally(db, task, {reason: len(ids)})
    return len(ids)


def _tally(db: sqlite3.Connection, task: str, counts: Mapping[str, int]) -> None:
    add = "INSERT INTO tallies VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET n = n + excluded.n"
    db.executemany(add, [(task, name, n) for name, n in counts.items()])


def _add(db: sqlite3.Connection, report: StoredReport) -> str:
    fate_key = _fate_key(report.task, report.id)
    query = "SELECT coalesce(fate, 'held'), sent, digest FROM fates WHERE key = ?"
    row = db.execute(query, (fate_key,)).fetchone()
    if row is None or (row[0] not in {FATE_HELD, FATE_COUNTED} and not row[1]):  # new, or unsent
        key = (report.task, _text(report.questions), report.id)
        insert = "INSERT INTO waiting VALUES (?, ?, ?, ?, ?)"
        db.execute(insert, (*key, report.payload, report.invitation))
        note = "INSERT OR REPLACE INTO fates (key, digest, sent) VALUES (?, ?, 0)"
        db.execute(note, (fate_key, report.digest))
        return FATE_HELD
    return FATE_CONFLICT if row[2] != report.digest else str(row[0])


def _insert(
    db: sqlite3.Connection,
    task: str,
    batch: Batch,
    *,
    sealed: bool,
    invitations: bytes | None = None,
) -> int:
    number = int.from_bytes(os.urandom(8), "big") >> 1
    columns = (batch.ids.tobytes(), batch.payloads.tobytes(), invitations)
    row = (number, sealed, task, _text(batch.questions), len(batch), *columns)
    db.execute("INSERT INTO batches VALUES (?, ?, ?, ?, ?, ?, ?, ?)", row)
    move = "UPDATE admissions SET batch = ? WHERE id = ?"
    db.executemany(move, [(number, i) for i in batch.admissions])
    return number


def _end_admissions(db: sqlite3.Connection) -> None:
    """Forget the admissions of batches that have left."""
    db.execute("DELETE FROM admissions WHERE batch NOT IN (SELECT number FROM batches)")


def _read(db: sqlite3.Connection, number: int) -> Batch:
    query = "SELECT questions, reports, ids, payloads FROM batches WHERE number = ?"
    questions, count, *columns = db.execute(query, (number,)).fetchone()
    ids, payloads = (np.frombuffer(column, np.uint8).reshape(count, -1) for column in columns)
    named = db.execute("SELECT id FROM admissions WHERE batch = ? ORDER BY id", (number,))
    return Batch(_numbers(questions), ids, payloads, tuple(i for (i,) in named))


def _admitted(db: sqlite3.Connection, key: tuple[str, str], least: int, about: int) -> list[int]:
    """The batches of admitted holders to join, whole, into one of about ``about`` reports."""
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


def _even(there: int, width: int, least: int, wanted: int, room: int) -> int:
    """``wanted`` of the reports; all, if fewer than ``least`` would remain and they have room."""
    fits = there * (REPORT_ID_BYTES + width) <= room
    return there if there - wanted < least and fits else wanted


def _singles(db: sqlite3.Connection, key: tuple[str, str], least: int, about: int) -> Batch | None:
    """About ``about`` single reports, see ``_even``; None if there are none."""
    where = "FROM waiting WHERE task = ? AND questions = ?"
    there, width = db.execute(f"SELECT count(*), max(length(payload)) {where}", key).fetchone()
    if there == 0:
        return None
    most = _even(there, width, least, max(least, about), MAX_BYTES)
    rows = db.execute(f"SELECT id, payload {where} LIMIT ?", (*key, most))
    ids, payloads = zip(*rows, strict=True)
    return Batch(_numbers(key[1]), _rows(ids), _rows(payloads))


def _remove_singles(db: sqlite3.Connection, key: tuple[str, str], ids: Iterable[bytes]) -> None:
    delete = "DELETE FROM waiting WHERE task = ? AND questions = ? AND id = ?"
    db.executemany(delete, [(*key, i) for i in ids])


def _rows(values: Iterable[bytes]) -> NDArray[np.uint8]:
    parts = list(values)
    return np.frombuffer(b"".join(parts), dtype=np.uint8).reshape(len(parts), -1)


def _joined(db: sqlite3.Connection, numbers: Sequence[int]) -> Batch | None:
    """One batch of several for the same questions; None if there are none."""
    if not numbers:
        return None
    batches = [_read(db, number) for number in numbers]
    return Batch(
        batches[0].questions,
        np.concatenate([batch.ids for batch in batches]),
        np.concatenate([batch.payloads for batch in batches]),
        tuple(i for batch in batches for i in batch.admissions),
    )


def random_order(count: int) -> NDArray[np.intp]:
    """Every order of ``range(count)`` with the same probability: by keys without ties."""
    while True:
        keys = np.frombuffer(os.urandom(8 * count), dtype=np.uint64)
        order = np.argsort(keys)
        ordered = keys[order]
        if not (ordered[1:] == ordered[:-1]).any():
            return order
