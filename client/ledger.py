"""What was answered and what it cost: the only thing a holder keeps.

An answer is stored, durably, before it is first sent, and from then on only resent byte for byte:
drawing a second one would spend epsilon again. Epsilon adds up over all tasks per *subject*, the
name that a holder gives to the person (or thing) its records are about; ``me`` unless it says
otherwise. The ledger holds perturbed reports only, never a record.

An answer is ``drawn`` until somebody takes it, ``held`` while a relay has it, ``counted`` for good
once the curator has, and ``refused`` if it was turned down. Only counted ones are never sent again.
"""

import os
import sqlite3
import threading
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, ClassVar

from platformdirs import user_data_path

from privet.client.errors import BudgetSpent, LedgerFailed

DEFAULT_CAP = 8.0
SLACK = 1e-9
"""Relative room for the rounding of sums such as 0.1 + 0.2."""

SCHEMA_VERSION = 2
BUSY_SECONDS = 30.0

SCHEMA = """
CREATE TABLE answers (
    subject   TEXT    NOT NULL,  -- whom the record is about, as the holder names them
    task      TEXT    NOT NULL,  -- the task's id, 64 hexadecimal digits
    url       TEXT    NOT NULL,  -- where the task was found, or where the answer was taken
    epsilon   REAL    NOT NULL,  -- what the answer costs
    report_id TEXT    NOT NULL,  -- the report's id, 32 hexadecimal digits
    report    BLOB    NOT NULL,  -- the bytes that are sent, perturbed already
    drawn     REAL    NOT NULL,  -- when they were drawn, Unix time
    invitation TEXT,             -- sent along where a task asks for one
    state     TEXT    NOT NULL,  -- drawn, held, counted or refused
    reason    TEXT,              -- why it was refused, or what the last attempt ended in
    PRIMARY KEY (subject, task)
) STRICT
"""
COLUMNS = "subject, task, url, epsilon, report_id, report, drawn, invitation, state, reason"
FROM_VERSION_1 = (
    "ALTER TABLE answers RENAME COLUMN fault TO reason",
    "ALTER TABLE answers ADD COLUMN state TEXT NOT NULL DEFAULT 'drawn'",
    "UPDATE answers SET state = 'counted' WHERE counted",
    "ALTER TABLE answers DROP COLUMN counted",
)


class State(StrEnum):
    """Where an answer stands."""

    DRAWN = "drawn"
    HELD = "held"
    COUNTED = "counted"
    REFUSED = "refused"


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
    state: State = State.DRAWN
    reason: str | None = None
    """Why it was refused, or what the last attempt to send it ended in."""

    @property
    def counted(self) -> bool:
        """Whether the curator has counted it."""
        return self.state is State.COUNTED


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
    def settle(self, answer: Answer) -> Answer:
        """Note where an answer stands by now, and return what is kept.

        A counted answer stays so, and an attempt that ended in nothing does not change what was
        known.
        """

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

    def settle(self, answer: Answer) -> Answer:
        """See ``Ledger.settle``."""
        with self._lock:
            mine = self._answers[answer.subject]
            mine[answer.task] = _newer(mine[answer.task], answer)
            return mine[answer.task]

    def answers(self, subject: str | None = None) -> list[Answer]:
        """See ``Ledger.answers``."""
        subjects = list(self._answers) if subject is None else [subject]
        answers = [answer for s in subjects for answer in self._answers.get(s, {}).values()]
        return sorted(answers, key=lambda answer: answer.drawn)


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

    def settle(self, answer: Answer) -> Answer:
        """See ``Ledger.settle``."""
        with self._transaction() as db:
            kept = _find(db, answer.subject, answer.task)
            if kept is None:
                raise LedgerFailed(
                    f"{self.path} has lost an answer of {answer.subject!r}: restore it."
                )
            newer = _newer(kept, answer)
            _write(db, newer)
            return newer

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
        elif version == 1:
            for step in FROM_VERSION_1:
                db.execute(step)
            db.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
        elif version != SCHEMA_VERSION:
            raise LedgerFailed(
                f"The ledger {self.path} is of version {version} and this program knows "
                f"{SCHEMA_VERSION}: update it. Nothing was sent."
            )


def default_path() -> Path:
    """The ledger in this user's data folder."""
    return user_data_path("privet", appauthor=False) / "answers.sqlite3"


def _newer(kept: Answer, answer: Answer) -> Answer:
    """``kept``, or what is known of it now."""
    unchanged = kept.counted or (answer.state is State.DRAWN and kept.state is not State.DRAWN)
    return kept if unchanged else answer


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
    return Answer(**{**fields, "state": State(fields["state"])})


def _write(db: sqlite3.Connection, answer: Answer) -> None:
    names = COLUMNS.split(", ")
    places = ", ".join("?" * len(names))
    db.execute(
        f"INSERT OR REPLACE INTO answers ({COLUMNS}) VALUES ({places})",  # noqa: S608 - constants
        [getattr(answer, name) for name in names],
    )
