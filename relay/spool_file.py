"""The relay's file: an SQLite database in which every change is durable before it is reported."""

import errno
import logging
import secrets
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from privet.sqlite_files import has_been_made, keep_private, set_pragmas, write_transaction

from .errors import SpoolFailed, SpoolFull
from .spool_forms import SPOOL_VERSION, SPOOLS, VERSION_NOTED, upgrade_spool

log = logging.getLogger(__name__)

MAX_SPOOL_BYTES = 4 * 2**30
CHECKPOINT_PAGES = 8_192
CACHE_KIB = 32 * 1024
"""Pages of the file that are kept in memory, so that few are read again for a new report."""
STATE_BYTES = 100
"""About the size of a row of ``states``, and of the space between such rows."""


class SpoolFile:
    """The open file; any thread may begin a transaction, and one at a time does.

    Raises ``SpoolFailed`` if the file cannot be read or written, and ``SpoolFull`` if the disk is
    full or ``max_bytes`` are in use.
    """

    def __init__(self, path: Path, max_bytes: int = MAX_SPOOL_BYTES) -> None:
        self.path = path
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
                f"The spool {self.path} has reached its {self._max_bytes} bytes: find out "
                "why the curator takes no reports."
            )

    def check(self) -> None:
        """Write durably, as little as possible, and check the room."""
        with self.transaction() as db:
            self.check_room(db)
            db.execute(VERSION_NOTED)

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
        with write_transaction(self._db) as db:
            self._bring_up(db)

    def _bring_up(self, db: sqlite3.Connection) -> None:
        """Make the tables of an empty file, or upgrade those of an older one."""
        (version,) = db.execute("PRAGMA user_version").fetchone()
        if version not in SPOOLS:
            raise SpoolFailed(
                f"The spool {self.path} is of version {version} and this program reads "
                f"{min(filter(None, SPOOLS))} to {SPOOL_VERSION}: forward what is in it with the "
                "program that wrote it, or choose another with --spool."
            )
        if not has_been_made(db, SPOOLS[version]):
            raise SpoolFailed(
                f"The spool {self.path} has other tables, columns or triggers than Privet makes: "
                "find out who changed it, and choose another with --spool."
            )
        if version != SPOOL_VERSION:
            upgrade_spool(db, version)
            if version:
                log.info("the spool %s, of version %d, was upgraded", self.path, version)
        (number,) = db.execute("PRAGMA application_id").fetchone()
        if not number:
            number = 1 + secrets.randbelow(2**31 - 1)
            db.execute(f"PRAGMA application_id = {number}")
        self.name = f"{number:08x}"
        """The file's own random name, 8 hexadecimal digits, which a new one in its place lacks."""

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
