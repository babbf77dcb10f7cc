"""The ledger on disk: one SQLite file that only its owner can read."""

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from platformdirs import user_data_path

from privet.client.ledger import DEFAULT_CAP, Answer, Ledger, settled
from privet.transport.errors import LedgerFailed

SCHEMA_VERSION = 1
BUSY_SECONDS = 30.0

SCHEMA = """
CREATE TABLE answers (
    subject   TEXT    NOT NULL,  -- whom the record is about, as the holder names them
    task      TEXT    NOT NULL,  -- the task's id, 64 hexadecimal digits
    url       TEXT    NOT NULL,  -- where the task was found
    epsilon   REAL    NOT NULL,  -- what the answer costs
    report_id TEXT    NOT NULL,  -- the report's id, 32 hexadecimal digits
    report    BLOB    NOT NULL,  -- the bytes that are sent, perturbed already
    drawn     REAL    NOT NULL,  -- when they were drawn, Unix time
    invitation TEXT,             -- sent along where a task asks for one
    counted   INTEGER NOT NULL,  -- 1 once the curator has said that the report is durable
    fault     TEXT,              -- what the last attempt ended in, if not counted
    PRIMARY KEY (subject, task)
) STRICT
"""
COLUMNS = "subject, task, url, epsilon, report_id, report, drawn, invitation, counted, fault"


def default_path() -> Path:
    """The ledger in this user's data folder."""
    return user_data_path("privet", appauthor=False) / "answers.sqlite3"


class SqliteLedger(Ledger):
    """Answers in one file, mode 0600, every change durable before it returns.

    Any number of threads and processes may share the file; each call opens it anew. Raises
    ``LedgerFailed`` if it cannot be read or written.
    """

    waits = True

    def __init__(self, path: Path | None = None, cap: float = DEFAULT_CAP) -> None:
        super().__init__(cap)
        self.path = path if path is not None else default_path()

    def find(self, subject: str, task: str) -> Answer | None:
        """See ``Ledger.find``."""
        with self._transaction() as db:
            return _find(db, subject, task)

    def keep(self, answer: Answer) -> Answer:
        """See ``Ledger.keep``."""
        with self._transaction() as db:
            kept = _find(db, answer.subject, answer.task)
            if kept is None:
                self.afford(answer.subject, answer.epsilon, _select(db, answer.subject))
                _write(db, answer)
            return kept or answer

    def settle(self, subject: str, task: str, fault: str | None) -> None:
        """See ``Ledger.settle``."""
        with self._transaction() as db:
            kept = _find(db, subject, task)
            if kept is None:
                raise LedgerFailed(f"{self.path} has lost an answer of {subject!r}: restore it.")
            _write(db, settled(kept, fault))

    def answers(self, subject: str | None = None) -> list[Answer]:
        """See ``Ledger.answers``."""
        with self._transaction() as db:
            return _select(db, subject)

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        """A connection that holds the write lock; commits unless the body raises."""
        try:
            self._create()
            with closing(self._connect()) as db:
                db.execute("BEGIN IMMEDIATE")
                self._migrate(db)
                yield db
                db.execute("COMMIT")
        except (sqlite3.Error, OSError) as error:
            raise LedgerFailed(
                f"The ledger {self.path} cannot be used ({error}): free or repair it, or choose "
                "another with --ledger. Nothing was sent."
            ) from error

    def _create(self) -> None:
        """The file and its folder, closed to everybody else from the first moment."""
        if not self.path.exists():
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            os.close(os.open(self.path, os.O_CREAT | os.O_RDWR, 0o600))

    def _connect(self) -> sqlite3.Connection:
        db = sqlite3.connect(self.path, timeout=BUSY_SECONDS, isolation_level=None)
        db.execute("PRAGMA synchronous = EXTRA")
        return db

    def _migrate(self, db: sqlite3.Connection) -> None:
        (version,) = db.execute("PRAGMA user_version").fetchone()
        if version == 0:
            db.execute(SCHEMA)
            db.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
        elif version != SCHEMA_VERSION:
            raise LedgerFailed(
                f"The ledger {self.path} is of version {version} and this program knows "
                f"{SCHEMA_VERSION}: update it. Nothing was sent."
            )


def _find(db: sqlite3.Connection, subject: str, task: str) -> Answer | None:
    row = db.execute(
        f"SELECT {COLUMNS} FROM answers WHERE subject = ? AND task = ?",  # noqa: S608 - constants
        (subject, task),
    ).fetchone()
    return None if row is None else _answer(row)


def _select(db: sqlite3.Connection, subject: str | None) -> list[Answer]:
    rows = db.execute(
        f"SELECT {COLUMNS} FROM answers WHERE ? IS NULL OR subject = ? ORDER BY drawn",  # noqa: S608
        (subject, subject),
    )
    return [_answer(row) for row in rows]


def _answer(row: tuple[Any, ...]) -> Answer:
    fields = dict(zip(COLUMNS.split(", "), row, strict=True))
    return Answer(**{**fields, "counted": bool(fields["counted"])})


def _write(db: sqlite3.Connection, answer: Answer) -> None:
    names = COLUMNS.split(", ")
    places = ", ".join("?" * len(names))
    db.execute(
        f"INSERT OR REPLACE INTO answers ({COLUMNS}) VALUES ({places})",  # noqa: S608 - constants
        [getattr(answer, name) for name in names],
    )
