"""The ledger of answers and the epsilon they cost: all that a holder keeps.

An answer is stored, durably, before it is first sent, and from then on only resent byte for byte:
drawing a second one would spend epsilon again. Epsilon adds up over all tasks per *subject*, the
name that a holder gives to the person (or thing) its records are about; ``me`` unless it says
otherwise. What tasks disclose has an account of its own (``disclosures``). The ledger holds
perturbed reports and what they disclose, never a record; and each subject's caps, which only
``set_caps`` changes.

Both accounts are of a year by this device's clock. It may be wrong, so a draw is dated no earlier
than the one before it, of whatever subject; and what is dated in the future, or before anybody
could draw, counts.

``protocol.lifecycle`` has the states of an answer, and what may become of it in each. Only counted
ones are never sent again.
"""

import sqlite3
import threading
from abc import ABC, abstractmethod
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, ClassVar, TypeVar, cast

from platformdirs import user_data_path

from privet import sqlite_files
from privet.protocol.errors import PrivetError
from privet.protocol.lifecycle import REPORT_MOVES, ReportState
from privet.protocol.limits import DISCLOSED_CAP, TASK_CAP, YEAR_CAP

from .disclosures import DisclosedSplits, disclosed_bits
from .errors import BudgetSpent, LedgerFailed
from .ledger_forms import MADE, SCHEMA_VERSION, upgrade_tables
from .panels import Membership, reserved

T = TypeVar("T")
YEAR_SECONDS = 365 * 86_400.0
SLACK = 1e-9
"""Relative room for the rounding of sums such as 0.1 + 0.2."""

EARLIEST = 1_767_225_600.0
"""2026-01-01: no answer was drawn before, whatever a clock said."""

BUSY_SECONDS = 30.0

COLUMNS = (
    "subject, task, url, epsilon, report_id, report, drawn, invitation, state, reason, disclosed, "
    "panel"
)
NAMES = COLUMNS.split(", ")
MEMBER_NAMES = [each.name for each in fields(Membership)]
NEWER = ", ".join(f"{name} = excluded.{name}" for name in NAMES)


@dataclass(frozen=True)
class Caps:
    """The most epsilon that a subject spends on one task, and on all tasks within 365 days; and
    the most bits that it discloses within 365 days.

    docs/ethics-board.md says why the defaults are what they are.
    """

    task: float = TASK_CAP
    year: float = YEAR_CAP
    disclosed: float = DISCLOSED_CAP


UNLIMITED = Caps(float("inf"), float("inf"), float("inf"))
"""No caps, for simulations, where nobody's privacy is at stake."""


@dataclass(frozen=True)
class StoredAnswer:
    """One subject's answer to one task: the very bytes that are sent, and what became of them."""

    subject: str
    task: str
    url: str
    epsilon: float
    report_id: str
    report: bytes
    """Empty where a code to keep says that there was one."""
    drawn: float
    invitation: str | None = None
    state: ReportState = ReportState.DRAWN
    reason: str | None = None
    """Reason of the refusal, or of the failure of the last attempt to send it."""
    disclosed: str = ""
    """The disclosure in words; empty if the task discloses nothing."""
    splits: DisclosedSplits | None = None
    """The splits by which it discloses; None if the task discloses nothing."""
    panel: str = ""
    """The id of the panel whose wave the task is; empty if it is of none."""
    misfit: str | None = None
    """Reason why the record did not fit the task, for whoever has just answered; the ledger does
    not keep it."""

    @property
    def counted(self) -> bool:
        """True if the curator has counted it."""
        return self.state is ReportState.COUNTED

    @property
    def restored(self) -> bool:
        """True if a code to keep says that there was one, and nothing more is known of it."""
        return not self.report

    def invitation_for(self, url: str) -> str | None:
        """The invitation if it was given for ``url``, else None; no other host learns it."""
        return self.invitation if url == self.url else None


@dataclass(frozen=True)
class SubjectAccount:
    """All that is kept of one subject, as of one moment."""

    answers: list[StoredAnswer]
    caps: Caps
    members: list[Membership]

    def find(self, task: str) -> StoredAnswer | None:
        """The answer to a task, if it was ever drawn."""
        return next((answer for answer in self.answers if answer.task == task), None)

    def takes_part(self, panel: str | None) -> bool:
        """True if the subject has a part in the panel of this id."""
        return any(member.panel == panel for member in self.members)


class Ledger(ABC):
    """Answers by subject and task. Every verb is atomic, across threads and processes alike."""

    waits: ClassVar[bool]
    """True if a call may wait for a disk or a lock, and so belongs in a thread of its own."""

    @abstractmethod
    def caps(self, subject: str) -> Caps:
        """A subject's caps: the defaults, until they are set."""

    @abstractmethod
    def set_caps(self, subject: str, caps: Caps) -> None:
        """Change what a subject may spend; earlier answers stay."""

    @abstractmethod
    def find(self, subject: str, task: str) -> StoredAnswer | None:
        """The subject's answer to a task, if it was ever drawn."""

    @abstractmethod
    def keep(self, answer: StoredAnswer) -> StoredAnswer:
        """Store ``answer`` before it is sent, and return it, dated no earlier than any other.

        If the subject has answered the task already, return that answer and store nothing. Raises
        ``BudgetSpent`` if it would take the subject past its caps.
        """

    @abstractmethod
    def join(
        self, member: Membership, now: float, splits: DisclosedSplits | None = None
    ) -> Membership:
        """Keep ``member``'s part in a panel with all epsilon that it can cost, and return it.

        If the subject has a part in the panel already, return that and keep nothing. Raises
        ``BudgetSpent`` if the panel's lifetime, or the ``splits`` by which an answer discloses,
        would take the subject past its caps.
        """

    @abstractmethod
    def restore(self, member: Membership, answers: Sequence[StoredAnswer]) -> None:
        """Keep a part in a panel that a code restores, with the answers that it names, on top of
        what is known.

        No cap refuses what is spent already, and each later answer must be afforded. A turn that
        was drawn and used here stays.
        """

    @abstractmethod
    def members(self, subject: str) -> list[Membership]:
        """A subject's parts in panels."""

    @abstractmethod
    def settle(self, answer: StoredAnswer) -> StoredAnswer:
        """Note where an answer stands by now, and return what is kept.

        A counted answer stays so, and an attempt that ended in nothing does not change what was
        known.
        """

    @abstractmethod
    def answers(self, subject: str | None = None) -> list[StoredAnswer]:
        """All answers, or a subject's, in the order in which they were drawn."""

    def account(self, subject: str) -> SubjectAccount:
        """A subject's answers, caps and parts in panels."""
        return SubjectAccount(self.answers(subject), self.caps(subject), self.members(subject))

    def spent(self, subject: str, now: float | None = None) -> float:
        """The epsilon of a subject's answers, of those within a year before ``now`` if given."""
        return _total(_counting(self.answers(subject), now))

    def reserved(self, subject: str, now: float) -> float:
        """The epsilon that is kept for a subject's answers to later waves of panels."""
        return reserved(self.members(subject), _by_panel(self.answers(subject)), now)

    def disclosed(self, subject: str, now: float | None = None, *more: DisclosedSplits) -> float:
        """The most bits that a subject's answers disclose together, of those within a year before
        ``now`` if given, and with ``more`` splits."""
        return _disclosed(_counting(self.answers(subject), now), *more)


def afford(
    caps: Caps,
    subject: str,
    epsilon: float,
    splits: DisclosedSplits | None,
    earlier: Iterable[StoredAnswer],
    now: float,
    *,
    members: Iterable[Membership] = (),
    panel: str = "",
    what: str = "Answering costs epsilon {:g}",
) -> None:
    """Raise ``BudgetSpent`` if ``epsilon`` or ``splits`` on top of ``earlier`` answers exceed a
    cap.

    What ``members`` keep for later waves is as good as spent; the wave of a ``panel`` is paid from
    its own. ``what`` says what costs ``epsilon``.
    """
    raising = "leave it, or raise the cap ({}); privet-holder cap shows what a cap means."
    costs = what.format(epsilon)
    if epsilon > caps.task * (1 + SLACK):
        raise BudgetSpent(
            f"{costs} and {subject!r} spends at most {caps.task:g} on "
            f"one task: {raising.format('privet-holder cap --task')}"
        )
    earlier = list(earlier)
    counting = _counting(earlier, now)
    spent, by_panel = _total(counting), _by_panel(earlier)
    by_panel[panel] += epsilon
    kept = reserved(members, by_panel, now)
    if spent + kept + epsilon > caps.year * (1 + SLACK):
        keeps = f", and keeps {kept:g} for later waves," if kept else ""
        raise BudgetSpent(
            f"{costs} and {subject!r} has spent {spent:g}{keeps} of "
            f"{caps.year:g} within a year: {raising.format('privet-holder cap --year')}"
        )
    if splits is None:
        return
    before, after = _disclosed(counting), _disclosed(counting, splits)
    if after > caps.disclosed * (1 + SLACK):
        raise BudgetSpent(
            f"Answering discloses {after - before:.3g} more bits of the record, and {subject!r} "
            f"has disclosed {before:.3g} of {caps.disclosed:g} within a year: "
            f"{raising.format('privet-holder cap --disclosed')}"
        )


def afford_all(
    caps: Caps,
    subject: str,
    lifetime: float,
    splits: DisclosedSplits | None,
    earlier: Iterable[StoredAnswer],
    now: float,
    members: Iterable[Membership],
) -> None:
    """Raise ``BudgetSpent`` if all waves of a panel together, or the ``splits`` of one, exceed a
    cap."""
    what = "All answers to this panel together cost epsilon {:g}"
    afford(caps, subject, lifetime, splits, earlier, now, members=members, what=what)


class MemoryLedger(Ledger):
    """A ledger in memory, for simulations with thousands of subjects."""

    waits = False

    def __init__(self, caps: Caps | None = None) -> None:
        """``caps`` are those of all subjects, until they are set."""
        self._default = caps or Caps()
        self._caps: dict[str, Caps] = {}
        self._answers: dict[str, dict[str, StoredAnswer]] = {}
        self._members: dict[str, dict[str, Membership]] = {}
        self._latest = float("-inf")
        self._lock = threading.Lock()

    def caps(self, subject: str) -> Caps:
        return self._caps.get(subject, self._default)

    def set_caps(self, subject: str, caps: Caps) -> None:
        self._caps[subject] = caps

    def find(self, subject: str, task: str) -> StoredAnswer | None:
        return self._answers.get(subject, {}).get(task)

    def keep(self, answer: StoredAnswer) -> StoredAnswer:
        """See ``Ledger.keep``; nothing is durable here."""
        with self._lock:
            mine = self._answers.setdefault(answer.subject, {})
            if answer.task not in mine:
                members = self.members(answer.subject)
                _afford(self.caps(answer.subject), answer, list(mine.values()), members)
                self._latest = max(self._latest, answer.drawn)
                mine[answer.task] = replace(answer, drawn=self._latest)
            return mine[answer.task]

    def join(
        self, member: Membership, now: float, splits: DisclosedSplits | None = None
    ) -> Membership:
        with self._lock:
            subject, mine = member.subject, self._members.setdefault(member.subject, {})
            if member.panel not in mine:
                cost, earlier = (member.lifetime, splits), self.answers(subject)
                members = self.members(subject)
                afford_all(self.caps(subject), subject, *cost, earlier, now, members)
                mine[member.panel] = member
            return mine[member.panel]

    def restore(self, member: Membership, answers: Sequence[StoredAnswer]) -> None:
        with self._lock:
            mine = self._answers.setdefault(member.subject, {})
            members = self._members.setdefault(member.subject, {})
            is_used = any(answer.panel == member.panel for answer in mine.values())
            members[member.panel] = _restored(members.get(member.panel), member, is_used=is_used)
            for answer in answers:
                mine.setdefault(answer.task, answer)

    def members(self, subject: str) -> list[Membership]:
        return list(self._members.get(subject, {}).values())

    def settle(self, answer: StoredAnswer) -> StoredAnswer:
        with self._lock:
            mine = self._answers[answer.subject]
            mine[answer.task] = _newer(mine[answer.task], answer)
            return mine[answer.task]

    def answers(self, subject: str | None = None) -> list[StoredAnswer]:
        subjects = list(self._answers) if subject is None else [subject]
        answers = [answer for s in subjects for answer in self._answers.get(s, {}).values()]
        return sorted(answers, key=lambda answer: answer.drawn)


class SqliteLedger(Ledger):
    """Answers in one file, mode 0600, every change durable before it returns.

    Any number of threads and processes may share the file; each call opens it anew. Raises
    ``LedgerFailed`` if it cannot be read or written.
    """

    waits = True

    def __init__(self, path: Path | None = None) -> None:
        self.path = path if path is not None else default_path()
        self._asked: deque[_Asked] = deque()
        self._turn = threading.Lock()

    @property
    def waiting(self) -> int:
        """Number of calls by this program's threads that wait for their transaction."""
        return len(self._asked)

    def caps(self, subject: str) -> Caps:
        return self._do(lambda db: _caps(db, subject)) if self.path.exists() else Caps()

    def set_caps(self, subject: str, caps: Caps) -> None:
        row = (subject, caps.task, caps.year, caps.disclosed)
        self._do(lambda db: db.execute("INSERT OR REPLACE INTO caps VALUES (?, ?, ?, ?)", row))

    def find(self, subject: str, task: str) -> StoredAnswer | None:
        return self._do(lambda db: _find(db, subject, task))

    def keep(self, answer: StoredAnswer) -> StoredAnswer:
        def kept_in(db: sqlite3.Connection) -> StoredAnswer:
            kept = _find(db, answer.subject, answer.task)
            if kept is None:
                caps, earlier = _caps(db, answer.subject), _select(db, answer.subject)
                _afford(caps, answer, earlier, _members(db, answer.subject))
                (latest,) = db.execute("SELECT max(drawn) FROM answers").fetchone()
                kept = replace(answer, drawn=max(answer.drawn, latest or answer.drawn))
                _write(db, kept)
            return kept

        return self._do(kept_in)

    def join(
        self, member: Membership, now: float, splits: DisclosedSplits | None = None
    ) -> Membership:
        def joined_in(db: sqlite3.Connection) -> Membership:
            members = _members(db, member.subject)
            kept = next((each for each in members if each.panel == member.panel), None)
            if kept is None:
                caps, earlier = _caps(db, member.subject), _select(db, member.subject)
                cost = (member.lifetime, splits)
                afford_all(caps, member.subject, *cost, earlier, now, members)
                row = [getattr(member, name) for name in MEMBER_NAMES]
                db.execute("INSERT INTO members VALUES (?, ?, ?, ?, ?)", row)
            return kept or member

        return self._do(joined_in)

    def restore(self, member: Membership, answers: Sequence[StoredAnswer]) -> None:
        def restored_in(db: sqlite3.Connection) -> None:
            members = _members(db, member.subject)
            kept = next((each for each in members if each.panel == member.panel), None)
            is_used = any(each.panel == member.panel for each in _select(db, member.subject))
            today = _restored(kept, member, is_used=is_used)
            row = [getattr(today, name) for name in MEMBER_NAMES]
            db.execute("INSERT OR REPLACE INTO members VALUES (?, ?, ?, ?, ?)", row)
            for answer in answers:
                if _find(db, answer.subject, answer.task) is None:
                    _write(db, answer)

        self._do(restored_in)

    def members(self, subject: str) -> list[Membership]:
        return self._do(lambda db: _members(db, subject)) if self.path.exists() else []

    def settle(self, answer: StoredAnswer) -> StoredAnswer:
        def settled_in(db: sqlite3.Connection) -> StoredAnswer:
            kept = _find(db, answer.subject, answer.task)
            if kept is None:
                raise LedgerFailed(
                    f"{self.path} has lost an answer of {answer.subject!r}: restore it."
                )
            newer = _newer(kept, answer)
            _write(db, newer)
            return newer

        return self._do(settled_in)

    def answers(self, subject: str | None = None) -> list[StoredAnswer]:
        return self._do(lambda db: _select(db, subject)) if self.path.exists() else []

    def account(self, subject: str) -> SubjectAccount:
        """See ``Ledger.account``; by one transaction, since each waits for those before it."""
        if not self.path.exists():
            return SubjectAccount([], Caps(), [])
        return self._do(
            lambda db: SubjectAccount(
                _select(db, subject), _caps(db, subject), _members(db, subject)
            )
        )

    def _do(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """The outcome of ``work``, once it is durable.

        What threads ask for while another transaction is on its way to the disk goes into the next
        one together; what one of them raises undoes its own part.
        """
        if self.path.parts[0] == "~":
            raise LedgerFailed(
                "This user has no home folder to keep the ledger in: name a file for it with "
                "--ledger or PRIVET_HOLDER_LEDGER (path= in Python)."
            )
        mine = _Asked(work)
        self._asked.append(mine)
        with self._turn:
            if not mine.is_over:
                self._do_together([self._asked.popleft() for _ in range(len(self._asked))])
        if mine.result is None:
            raise LedgerFailed(f"Work on {self.path} was broken off. Nothing was sent.")
        outcome, error = mine.result
        if error is not None:
            raise error
        return cast("T", outcome)

    def _do_together(self, group: Sequence["_Asked"]) -> None:
        results: Sequence[_Result] = []
        try:
            with self._transaction() as db:
                made = [_result(db, each.work) for each in group]
            results = made  # which are on the disk only now
        except LedgerFailed as error:
            results = [(None, error)] * len(group)
        finally:
            for each in group:
                each.is_over = True
            for each, result in zip(group, results, strict=False):
                each.result = result

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        """A connection that holds the write lock; commits unless the body raises."""
        try:
            if not self.path.exists():
                self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            sqlite_files.keep_private(self.path)
            with closing(sqlite3.connect(self.path)) as db:
                sqlite_files.set_pragmas(db, "synchronous = EXTRA", wait=BUSY_SECONDS)
                with sqlite_files.write_transaction(db):
                    self._prepare(db)
                    yield db
        except (sqlite3.Error, OSError) as error:
            raise LedgerFailed(
                f"The ledger {self.path} cannot be used ({error}): free or repair it, or choose "
                "another with --ledger. Nothing was sent."
            ) from error

    def _prepare(self, db: sqlite3.Connection) -> None:
        """Check that the file is Privet's, and bring an empty or older one to today's tables."""
        (version,) = db.execute("PRAGMA user_version").fetchone()
        if version not in MADE:
            raise LedgerFailed(
                f"The ledger {self.path} is of version {version} and this program reads "
                f"{SCHEMA_VERSION}: use the program that wrote it. Nothing was sent."
            )
        if not sqlite_files.has_been_made(db, MADE[version]):
            raise LedgerFailed(
                f"The ledger {self.path} has other tables, columns or triggers than Privet makes: "
                "find out who changed it, and restore it or choose another with --ledger. Nothing "
                "was sent."
            )
        if version != SCHEMA_VERSION:
            upgrade_tables(db, version)


_Result = tuple[Any, PrivetError | None]


@dataclass(slots=True)
class _Asked:
    """One thread's work, with its outcome or error once it has run."""

    work: Callable[[sqlite3.Connection], Any]
    result: _Result | None = None
    is_over: bool = False


def _result(db: sqlite3.Connection, work: Callable[[sqlite3.Connection], Any]) -> _Result:
    """The outcome of ``work``, or the error that undoes it."""
    db.execute("SAVEPOINT one")
    try:
        return work(db), None
    except PrivetError as error:
        db.execute("ROLLBACK TO one")
        return None, error
    finally:
        db.execute("RELEASE one")


def default_path() -> Path:
    """The path of a user's ledger; raises ``LedgerFailed`` for a user without a home."""
    try:
        return user_data_path("privet", appauthor=False) / "answers.sqlite3"
    except RuntimeError as error:
        raise LedgerFailed(
            "This user has no home folder for the ledger: set HOME, or name a file with --ledger. "
            "Nothing was sent."
        ) from error


def _newer(kept: StoredAnswer, answer: StoredAnswer) -> StoredAnswer:
    """``answer`` if ``kept``'s state can become its state, else ``kept``."""
    return answer if (kept.state, answer.state) in REPORT_MOVES else kept


def _restored(kept: Membership | None, member: Membership, *, is_used: bool) -> Membership:
    """The part that counts, of the one that is kept and the one that a code restores."""
    if kept is None:
        return member
    stays = kept.lifetime >= member.lifetime if kept.wave is None else is_used
    return kept if stays else member


def _afford(
    caps: Caps,
    answer: StoredAnswer,
    earlier: Sequence[StoredAnswer],
    members: Iterable[Membership],
) -> None:
    cost, panel = (answer.epsilon, answer.splits), answer.panel
    afford(caps, answer.subject, *cost, earlier, answer.drawn, members=members, panel=panel)


def _by_panel(answers: Iterable[StoredAnswer]) -> dict[str, float]:
    """The epsilon of answers by the panel that they are part of."""
    spent: dict[str, float] = defaultdict(float)
    for answer in answers:
        spent[answer.panel] += answer.epsilon
    return spent


def _counting(answers: Iterable[StoredAnswer], now: float | None) -> list[StoredAnswer]:
    """The answers of the year before ``now``; those with an impossible date count too."""
    since = float("-inf") if now is None else now - YEAR_SECONDS
    return [answer for answer in answers if answer.drawn > since or answer.drawn < EARLIEST]


def _total(answers: Iterable[StoredAnswer]) -> float:
    return sum(answer.epsilon for answer in answers)


def _disclosed(answers: Iterable[StoredAnswer], *more: DisclosedSplits) -> float:
    """The bits that answers disclose, and ``more`` splits."""
    return disclosed_bits([*(a.splits for a in answers if a.splits is not None), *more])


def _caps(db: sqlite3.Connection, subject: str) -> Caps:
    row = db.execute(
        "SELECT task, year, disclosed FROM caps WHERE subject = ?", (subject,)
    ).fetchone()
    return Caps() if row is None else Caps(*row)


def _members(db: sqlite3.Connection, subject: str) -> list[Membership]:
    listed = f"SELECT {', '.join(MEMBER_NAMES)} FROM members WHERE subject = ?"  # noqa: S608
    return [Membership(*row) for row in db.execute(listed, (subject,))]


def _find(db: sqlite3.Connection, subject: str, task: str) -> StoredAnswer | None:
    row = db.execute(
        f"SELECT {COLUMNS} FROM answers WHERE subject = ? AND task = ?",  # noqa: S608 - constants
        (subject, task),
    ).fetchone()
    return None if row is None else _answer(row, _splits(db))


def _select(db: sqlite3.Connection, subject: str | None) -> list[StoredAnswer]:
    rows = db.execute(
        f"SELECT {COLUMNS} FROM answers WHERE ? IS NULL OR subject = ? ORDER BY drawn, rowid",  # noqa: S608
        (subject, subject),
    )
    splits = _splits(db)
    return [_answer(row, splits) for row in rows]


def _splits(db: sqlite3.Connection) -> dict[str, DisclosedSplits]:
    """The disclosed splits of the tasks that disclose columns."""
    rows = db.execute("SELECT task, tree, strata, cuts FROM splits")
    return {task: DisclosedSplits.read(*row) for task, *row in rows}


def _answer(row: tuple[Any, ...], splits: Mapping[str, DisclosedSplits]) -> StoredAnswer:
    values = dict(zip(NAMES, row, strict=True))
    state, task = ReportState(values["state"]), splits.get(values["task"])
    return StoredAnswer(**{**values, "state": state, "splits": task})


def _write(db: sqlite3.Connection, answer: StoredAnswer) -> None:
    places = ", ".join("?" * len(NAMES))
    db.execute(
        f"INSERT INTO answers ({COLUMNS}) VALUES ({places}) "  # noqa: S608 - constants
        f"ON CONFLICT (subject, task) DO UPDATE SET {NEWER}",
        [getattr(answer, name) for name in NAMES],
    )
    if answer.splits is not None:
        tree, strata, cuts = answer.splits.tree, answer.splits.strata, answer.splits.text
        row = (answer.task, tree, strata, cuts)
        db.execute("INSERT OR IGNORE INTO splits VALUES (?, ?, ?, ?)", row)
