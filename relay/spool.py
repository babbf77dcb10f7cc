"""Reports on their way: one SQLite file that knows neither when nor in what order they came.

Single reports are rows by their random ids, batches are bundles by a random number; nothing has a
time, and all is overwritten in the file when it leaves. What goes out together is sealed first:
the same reports in the same order then go out again after a crash or a lost answer, so that
nobody can tell apart those that a second, larger batch would have added. Every change is durable
before it returns.
"""

import os
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from privet.relay.bundle import Bundle
from privet.relay.sealing import insert, read, seal
from privet.transport.errors import LedgerFailed

CHECKPOINT_PAGES = 8_192

SCHEMA = """
CREATE TABLE IF NOT EXISTS waiting (
    task       TEXT    NOT NULL,  -- the task's id
    question   INTEGER NOT NULL,  -- the question it answers; -1 where it answers all
    id         BLOB    NOT NULL,  -- the report's 16 random bytes
    payload    BLOB    NOT NULL,  -- the payloads of its answers, one after the other
    invitation BLOB,              -- SHA-256 of its invitation, if it came with one
    PRIMARY KEY (task, question, id)
) STRICT, WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS bundles (
    number      INTEGER PRIMARY KEY,  -- random
    task        TEXT    NOT NULL,
    question    INTEGER NOT NULL,
    reports     INTEGER NOT NULL,     -- how many the columns hold
    ids         BLOB    NOT NULL,
    payloads    BLOB    NOT NULL,
    invitations BLOB                  -- 32 bytes each, if any report came with one
) STRICT;
CREATE TABLE IF NOT EXISTS sealed (
    number INTEGER PRIMARY KEY        -- a bundle whose reports and their order are what goes out
) STRICT;
CREATE TABLE IF NOT EXISTS tallies (
    task TEXT    NOT NULL,
    name TEXT    NOT NULL,        -- counted, replayed, smallest_batch, or why it was refused
    n    INTEGER NOT NULL,
    PRIMARY KEY (task, name)
) STRICT, WITHOUT ROWID;
"""


@dataclass(frozen=True)
class Parcel:
    """One report, stripped of everything but what the curator must have."""

    task: str
    question: int
    id: bytes
    payload: bytes
    invitation: bytes | None = None


class Spool:
    """The durable queue of one relay; all verbs are atomic and may be called from any thread.

    Raises ``LedgerFailed`` if the file cannot be read or written.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.Lock()
        with self._faults():
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
            self._db = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
            self._db.execute("PRAGMA journal_mode = WAL")
            self._db.execute("PRAGMA synchronous = FULL")
            self._db.execute("PRAGMA secure_delete = ON")
            self._db.execute(f"PRAGMA wal_autocheckpoint = {CHECKPOINT_PAGES}")
            self._db.executescript(SCHEMA)

    def close(self) -> None:
        """Close the file."""
        self._db.close()

    def add(self, parcels: Sequence[Parcel]) -> list[bool]:
        """Keep parcels; for each, False if another payload waits under its id, and was kept."""
        with self._transaction() as db:
            return [self._add(db, parcel) for parcel in parcels]

    def add_bundle(self, bundle: Bundle) -> None:
        """Keep a batch as one bundle, in an order of its own."""
        kept = bundle.shuffled()
        with self._transaction() as db:
            insert(db, kept)

    def groups(self) -> list[tuple[str, int, int, int]]:
        """(task, question, number of reports, payload bytes of one) of all that is not sealed."""
        query = """
            SELECT task, question, sum(n), max(width) FROM (
                SELECT task, question, count(*) AS n, max(length(payload)) AS width
                FROM waiting GROUP BY task, question
                UNION ALL
                SELECT task, question, reports, length(payloads) / reports FROM bundles
                WHERE number NOT IN (SELECT number FROM sealed)
            ) GROUP BY task, question
        """
        with self._transaction() as db:
            return db.execute(query).fetchall()

    def seal(self, task: str, question: int, least: int, about: int) -> bool:
        """Make one bundle to be sent of ``about`` as many waiting reports, shuffled.

        False if fewer than ``least`` different reports wait. A rest of fewer than ``least`` joins
        the bundle, unless that grows too large.
        """
        with self._transaction() as db:
            return seal(db, task, question, least, about)

    def sealed(self) -> list[int]:
        """The numbers of the bundles that are ready to be sent."""
        with self._transaction() as db:
            return [number for (number,) in db.execute("SELECT number FROM sealed")]

    def bundle(self, number: int) -> Bundle:
        """One bundle."""
        with self._transaction() as db:
            return read(db, number)

    def settle(self, number: int, outcome: dict[str, int]) -> None:
        """Remove a delivered bundle and add what became of its reports to its task's tallies.

        Its reports hid among those that the curator took: ``smallest_batch`` counts no others.
        """
        hidden = outcome.get("counted", 0) or outcome.get("held", 0) or outcome.get("replayed", 0)
        with self._transaction() as db:
            query = "SELECT task FROM bundles WHERE number = ?"
            (task,) = db.execute(query, (number,)).fetchone()
            db.execute("DELETE FROM bundles WHERE number = ?", (number,))
            db.execute("DELETE FROM sealed WHERE number = ?", (number,))
            for name, n in outcome.items():
                db.execute(
                    "INSERT INTO tallies VALUES (?, ?, ?) "
                    "ON CONFLICT DO UPDATE SET n = n + excluded.n",
                    (task, name, n),
                )
            if hidden:
                db.execute(
                    "INSERT INTO tallies VALUES (?, 'smallest_batch', ?) "
                    "ON CONFLICT DO UPDATE SET n = min(n, excluded.n)",
                    (task, hidden),
                )

    def forget(self) -> None:
        """Overwrite in the file, and cut from its log, what has left."""
        with self._lock, self._faults():
            self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def tallies(self, task: str) -> dict[str, int]:
        """What became of a task's parcels, and how many wait."""
        with self._transaction() as db:
            found = dict(db.execute("SELECT name, n FROM tallies WHERE task = ?", (task,)))
            query = (
                "SELECT (SELECT count(*) FROM waiting WHERE task = ?1) + "
                "(SELECT coalesce(sum(reports), 0) FROM bundles WHERE task = ?1)"
            )
            (found["waiting"],) = db.execute(query, (task,)).fetchone()
            return found

    def _add(self, db: sqlite3.Connection, parcel: Parcel) -> bool:
        key = (parcel.task, parcel.question, parcel.id)
        row = db.execute(
            "SELECT payload FROM waiting WHERE task = ? AND question = ? AND id = ?", key
        ).fetchone()
        if row is None:
            values = (*key, parcel.payload, parcel.invitation)
            db.execute("INSERT INTO waiting VALUES (?, ?, ?, ?, ?)", values)
        return row is None or row[0] == parcel.payload

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        with self._lock, self._faults():
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield self._db
            except BaseException:
                self._db.execute("ROLLBACK")
                raise
            self._db.execute("COMMIT")

    @contextmanager
    def _faults(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, OSError) as error:
            raise LedgerFailed(
                f"The spool {self.path} cannot be used ({error}): free or repair it, or choose "
                "another with --spool."
            ) from error
