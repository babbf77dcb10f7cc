"""The relay's file: an SQLite database in which every change is durable before it is reported."""

import errno
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from privet.sqlite_files import (
    Objects,
    keep_private,
    objects,
    objects_of,
    set_pragmas,
    write_transaction,
)

from .errors import SpoolFailed, SpoolFull

MAX_SPOOL_BYTES = 4 * 2**30
CHECKPOINT_PAGES = 8_192
CACHE_KIB = 32 * 1024
"""Pages of the file that are kept in memory, so that few are read again for a new report."""
STATE_BYTES = 100
"""About the size of a row of ``states``, and of the space between such rows."""
VERSION = 8

SCHEMA = f"""
CREATE TABLE queues (
    number    INTEGER PRIMARY KEY,  -- random
    task      TEXT    NOT NULL,     -- the task's id
    questions TEXT    NOT NULL,     -- the numbers of the questions, with commas between
    width     INTEGER NOT NULL,     -- bytes of a payload
    reports   INTEGER NOT NULL,     -- how many wait there
    UNIQUE (task, questions)
) STRICT;
CREATE TABLE waiting (
    queue      INTEGER NOT NULL,  -- the number of its task and the questions it answers
    id         BLOB    NOT NULL,  -- the report's 16 random bytes
    payload    BLOB    NOT NULL,  -- the payloads of its answers, one after the other
    invitation BLOB,              -- SHA-256 of its invitation, if it came with one
    PRIMARY KEY (queue, id)
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
CREATE TABLE states (
    key    BLOB PRIMARY KEY, -- a hash of task and id of a report that waits no longer
    digest BLOB NOT NULL,    -- a hash of its id and its answers
    state  TEXT,             -- why it was refused, counted; null: as its batch says, else held
    day    INTEGER,          -- the UTC day on which that became known, in days since 1970
    sent   INTEGER NOT NULL  -- the number of the batch in which it goes out; else 0
) STRICT, WITHOUT ROWID;
CREATE TABLE departed (
    batch INTEGER PRIMARY KEY, -- the number of a batch that has gone out
    state TEXT    NOT NULL,    -- held: in a file; counted; or why all of it was refused
    day   INTEGER NOT NULL     -- the UTC day on which that became known
) STRICT;
CREATE TABLE receipts (
    batch     INTEGER NOT NULL,
    hashes    BLOB    NOT NULL,  -- 32 bytes each, ascending, of reports that count
    signature TEXT    NOT NULL,  -- the curator's
    day       INTEGER NOT NULL,
    PRIMARY KEY (batch, hashes)
) STRICT, WITHOUT ROWID;
CREATE TABLE files (
    batch   INTEGER PRIMARY KEY, -- the number of a batch that was written as a file
    task    TEXT    NOT NULL,
    name    TEXT    NOT NULL,
    reports INTEGER NOT NULL,
    counts  TEXT    NOT NULL,    -- what became of them by the tallies, JSON
    day     INTEGER NOT NULL     -- the UTC day on which it was written
) STRICT;
PRAGMA user_version = {VERSION};
"""


class SpoolFile:
    """The open file; any thread may begin a transaction, and one at a time does.

    Raises ``SpoolFailed`` if the file cannot be read or written, and ``SpoolFull`` if the disk is
    full or ``max_bytes`` are in use.
    """

    def __init__(self, path: Path, max_bytes: int) -> None:
        self._path = path
        self._max_bytes = max_bytes
        self._lock = threading.Lock()
        with self._faults():
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            keep_private(path)
            self._db = sqlite3.connect(path, check_same_thread=False)
            try:
                self._prepare()
            except BaseException:
                self._db.close()
                raise

    def close(self) -> None:
        """Close the file when another thread's transaction has ended; later ones fail."""
        with self._lock:
            self._db.close()

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """A transaction that is committed at the end, or rolled back by an exception."""
        with self._lock, self._faults(), write_transaction(self._db) as db:
            yield db

    def check_room(self, db: sqlite3.Connection) -> None:
        """Raise ``SpoolFull`` above the limit.

        Only what comes in is bounded, so that a full spool can still be sealed and emptied. What
        waits has room for what will be known of it later.
        """
        size, pages, free = (
            db.execute(f"PRAGMA {name}").fetchone()[0]
            for name in ("page_size", "page_count", "freelist_count")
        )
        (waiting,) = db.execute("SELECT total(reports) FROM queues").fetchone()
        if size * (pages - free) + STATE_BYTES * waiting >= self._max_bytes:
            raise SpoolFull(
                f"The spool {self._path} has reached its {self._max_bytes} bytes: find out "
                "why the curator takes no reports."
            )

    def check(self) -> None:
        """Write durably, as little as possible, and check the room."""
        with self.transaction() as db:
            self.check_room(db)
            db.execute(f"PRAGMA user_version = {VERSION}")

    def purge(self) -> None:
        """Overwrite in the file, and cut from its log, what was deleted."""
        with self._lock, self._faults():
            self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def _prepare(self) -> None:
        set_pragmas(
            self._db,
            "journal_mode = WAL",
            "synchronous = FULL",
            "secure_delete = ON",
            f"wal_autocheckpoint = {CHECKPOINT_PAGES}",
            f"cache_size = -{CACHE_KIB}",
        )
        (version,) = self._db.execute("PRAGMA user_version").fetchone()
        found = objects(self._db.execute)
        if not (found or version):
            self._db.executescript(f"BEGIN IMMEDIATE; {SCHEMA} COMMIT;")
        elif version != VERSION:
            raise SpoolFailed(
                f"The spool {self._path} is of another version of this program: forward what is in "
                "it with that one, or choose another with --spool."
            )
        elif found != _expected():
            raise SpoolFailed(
                f"The spool {self._path} has other tables, columns or triggers than Privet makes: "
                "find out who changed it, and choose another with --spool."
            )

    @contextmanager
    def _faults(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, OSError) as error:
            kind = SpoolFull if _is_full(error) else SpoolFailed
            raise kind(
                f"The spool {self._path} cannot be used ({error}): free or repair it, or choose "
                "another with --spool."
            ) from error


@cache
def _expected() -> Objects:
    return objects_of([SCHEMA])


def _is_full(error: sqlite3.Error | OSError) -> bool:
    if isinstance(error, OSError):
        return error.errno in {errno.ENOSPC, errno.EDQUOT}
    return getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_FULL
