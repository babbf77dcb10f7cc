"""What was answered and what it cost: the only thing a holder keeps.

An answer is stored, durably, before it is first sent, and from then on only resent byte for byte:
drawing a second one would spend epsilon again. Epsilon adds up over all tasks per *subject*, the
name that a holder gives to the person (or thing) its records are about; ``me`` unless it says
otherwise. The ledger holds perturbed reports only, never a record.
"""

import os
import sqlite3
import threading
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

from platformdirs import user_data_path

from privet.client.errors import BudgetSpent, LedgerFailed

DEFAULT_CAP = 8.0
SLACK = 1e-9
"""Relative room for the rounding of sums such as 0.1 + 0.2."""

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


@dataclass(frozen=True)
class Answer:
    """One subject's answer to one task: the very bytes that are sent, and what became of them."""

    subject: str
    task: str
    url: str
    epsilon: float
    report_id: str
    report: bytes
    drawn: float
    invitation: str | None = None
    counted: bool = False
    fault: str | None = None


class Ledger(ABC):
    """Answers by subject and task. Every verb is atomic, across threads and processes alike."""

    waits: ClassVar[bool]
    """Whether a call may wait for a disk or a lock, and so belongs in a thread of its own."""

    def __init__(self, cap: float = DEFAULT_CAP) -> None:
        self.cap = cap

    @abstractmethod
    def find(self, subject: str, task: str) -> Answer | None:
        """The subject's answer to a task, if it was ever drawn."""

    @abstractmethod
    def keep(self, answer: Answer) -> Answer:
        """Store ``answer`` before it is sent, and return it.

        If the subject has answered the task already, return that answer and store nothing. Raises
        ``BudgetSpent`` if the epsilons of the subject would add up to more than the cap.
        """

    @abstractmethod
    def settle(self, subject: str, task: str, fault: str | None) -> None:
        """Note that the curator counted the answer, or else why it did not."""

    @abstractmethod
    def answers(self, subject: str | None = None) -> list[Answer]:
        """All answers, or a subject's, in the order in which they were drawn."""

    def spent(self, subject: str) -> float:
        """The epsilon that a subject's answers add up to."""
        return _total(self.answers(subject))

    def afford(self, subject: str, epsilon: float, earlier: Iterable[Answer]) -> None:
        """Raise ``BudgetSpent`` if ``epsilon`` on top of ``earlier`` answers exceeds the cap."""
        spent = _total(earlier)
        if spent + epsilon > self.cap * (1 + SLACK):
            raise BudgetSpent(
                f"Answering costs epsilon {epsilon:g} and {subject!r} has spent {spent:g} of "
                f"{self.cap:g}: leave it, or raise the cap (--cap) knowing that it weakens "
                "the protection of everything answered before."
            )


class MemoryLedger(Ledger):
    """A ledger in memory, for simulations with thousands of subjects."""

    waits = False

    def __init__(self, cap: float = DEFAULT_CAP) -> None:
        super().__init__(cap)
        self._answers: dict[str, dict[str, Answer]] = {}
        self._lock = threading.Lock()

    def find(self, subject: str, task: str) -> Answer | None:
        """See ``Ledger.find``."""
        return self._answers.get(subject, {}).get(task)

    def keep(self, answer: Answer) -> Answer:
        """See ``Ledger.keep``; nothing is durable here."""
        with self._lock:
            mine = self._answers.setdefault(answer.subject, {})
            if answer.task not in mine:
                self.afford(answer.subject, answer.epsilon, mine.values())
                mine[answer.task] = answer
            return mine[answer.task]

    def settle(self, subject: str, task: str, fault: str | None) -> None:
        """See ``Ledger.settle``."""
        with self._lock:
            kept = self._answers[subject][task]
            self._answers[subject][task] = _settled(kept, fault)

    def answers(self, subject: str | None = None) -> list[Answer]:
        """See ``Ledger.answers``."""
        subjects = list(self._answers) if subject is None else [subject]
        found = [answer for s in subjects for answer in self._answers.get(s, {}).values()]
        return sorted(found, key=lambda answer: answer.drawn)


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
            _write(db, _settled(kept, fault))

    def answers(self, subject: str | None = None) -> list[Answer]:
        """See ``Ledger.answers``."""
        with self._transaction() as db:
            return _select(db, subject)

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        """A connection that holds the write lock; commits unless the body raises."""
        try:
            self._create()
            connection = sqlite3.connect(self.path, timeout=BUSY_SECONDS, isolation_level=None)
            with closing(connection) as db:
                db.execute("PRAGMA synchronous = EXTRA")
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


def default_path() -> Path:
    """The ledger in this user's data folder."""
    return user_data_path("privet", appauthor=False) / "answers.sqlite3"


def _settled(answer: Answer, fault: str | None) -> Answer:
    """``answer`` after a reply; once counted, it stays counted."""
    return answer if answer.counted else replace(answer, counted=fault is None, fault=fault)


def _total(answers: Iterable[Answer]) -> float:
    """The epsilon that answers add up to."""
    return sum(answer.epsilon for answer in answers)


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
