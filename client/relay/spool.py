"""Reports on their way: one SQLite file that knows neither when nor in what order they came.

Rows are kept by their random ids, without row numbers or times, and are overwritten on disk when
they leave. Every change is durable before it returns.
"""

import os
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from client.errors import LedgerFailed

ALL_QUESTIONS = -1

SCHEMA = """
CREATE TABLE IF NOT EXISTS waiting (
    task       TEXT    NOT NULL,  -- the task's id
    question   INTEGER NOT NULL,  -- the question it answers; -1 where it answers all
    id         BLOB    NOT NULL,  -- the report's 16 random bytes
    payload    BLOB    NOT NULL,  -- the payloads of its answers, one after the other
    invitation BLOB,              -- SHA-256 of its invitation, if it came with one
    PRIMARY KEY (task, question, id)
) STRICT, WITHOUT ROWID;
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
            self._db.execute("PRAGMA synchronous = EXTRA")
            self._db.execute("PRAGMA secure_delete = ON")
            self._db.executescript(SCHEMA)

    def close(self) -> None:
        """Close the file."""
        self._db.close()

    def add(self, parcels: Sequence[Parcel]) -> list[bool]:
        """Keep parcels; for each, False if another payload waits under its id, and was kept."""
        with self._transaction() as db:
            return [self._add(db, parcel) for parcel in parcels]

    def groups(self) -> list[tuple[str, int, int]]:
        """(task, question, number of parcels) of everything that waits."""
        query = "SELECT task, question, count(*) FROM waiting GROUP BY task, question"
        with self._transaction() as db:
            return db.execute(query).fetchall()

    def take(self, task: str, question: int, most: int) -> list[Parcel]:
        """Up to ``most`` waiting parcels of a group; they stay until ``settle`` removes them."""
        query = (
            "SELECT task, question, id, payload, invitation FROM waiting "
            "WHERE task = ? AND question = ? LIMIT ?"
        )
        with self._transaction() as db:
            return [Parcel(*row) for row in db.execute(query, (task, question, most))]

    def settle(self, parcels: Sequence[Parcel], outcome: dict[str, int]) -> None:
        """Remove delivered parcels of one task and add what became of them to its tallies."""
        task = parcels[0].task
        keys = [(parcel.task, parcel.question, parcel.id) for parcel in parcels]
        with self._transaction() as db:
            db.executemany("DELETE FROM waiting WHERE task=? AND question=? AND id=?", keys)
            for name, n in outcome.items():
                db.execute(
                    "INSERT INTO tallies VALUES (?, ?, ?) "
                    "ON CONFLICT DO UPDATE SET n = n + excluded.n",
                    (task, name, n),
                )
            db.execute(
                "INSERT INTO tallies VALUES (?, 'smallest_batch', ?) "
                "ON CONFLICT DO UPDATE SET n = min(n, excluded.n)",
                (task, len(parcels)),
            )

    def tallies(self, task: str) -> dict[str, int]:
        """What became of a task's parcels, and how many wait."""
        with self._transaction() as db:
            found = dict(db.execute("SELECT name, n FROM tallies WHERE task = ?", (task,)))
            query = "SELECT count(*) FROM waiting WHERE task = ?"
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
