"""Reports on their way: one SQLite file that knows neither when nor in what order they came.

Reports are rows by their random ids, batches by a random number; nothing has a time, and all is
overwritten in the file when it leaves. What goes out together is sealed first: waiting reports
become one shuffled batch in the file, and that batch, the same bytes in the same order, goes out
again after a crash or a lost answer. So nobody can tell apart the reports that a second, larger
batch would have added. Every change is durable before it returns.

Where holders are invited, some of the reports that wait are drawn first, and the curator is asked
about their invitations alone; those that it takes leave their reports for good, which then wait to
be sealed. A report that went out is never sent in another batch, whatever the curator answers.

Here are the verbs, a transaction each. ``spool_file`` has the file, ``batches`` the rows of what
waits, and ``outcomes`` those of what became of it.
"""

import os
import sqlite3
from collections.abc import Callable, Sequence, Set
from functools import wraps
from itertools import compress
from typing import Concatenate, ParamSpec, Self, TypeVar

import numpy as np

from privet.protocol.batch import (
    ADMISSION_ID_BYTES,
    INVITATION_DIGEST_BYTES,
    Admission,
    split,
)
from privet.protocol.errors import NotAuthorized, problem_of
from privet.protocol.report import REPORT_ID_BYTES

from . import batches, outcomes
from .batches import StoredReport, key_of, random_order
from .outcomes import COUNTED, HELD, Account
from .spool_file import SpoolFile

P = ParamSpec("P")
R = TypeVar("R")
NOT_INVITED = problem_of(NotAuthorized("")).name


def _verb(
    of_rows: Callable[Concatenate[sqlite3.Connection, P], R],
) -> Callable[Concatenate["Spool", P], R]:
    """A function of the file's rows as a verb, which has a transaction of its own."""

    @wraps(of_rows)
    def done(self: "Spool", /, *given: P.args, **named: P.kwargs) -> R:
        with self.transaction() as db:
            return of_rows(db, *given, **named)

    return done


class Spool(SpoolFile):
    """The durable queue of one relay; all verbs are atomic and may be called from any thread.

    A context manager that closes it.
    """

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def add(self, reports: Sequence[StoredReport]) -> list[str]:
        """Keep reports; says for each whether it is ``held``, or was ``counted`` already.

        ``conflict`` if another one was taken under its id, which stays. A report that went out and
        was refused has that reason for ever.
        """
        with self.transaction() as db:
            self.check_room(db)
            return add(db, reports)

    def draw(
        self,
        task: str,
        questions: tuple[int, ...],
        least: int,
        about: int,
        *,
        stratum_bytes: int = 0,
    ) -> bool:
        """Draw about ``about`` single reports whose invitations the curator is asked about.

        Returns False if fewer than ``least`` different invitations wait. If fewer than ``least``
        would remain, takes them too, unless the batch grows too large. Of several reports with one
        invitation the others stay, as does one that would be alone with its stratum (``seal``).
        """
        key = key_of(task, questions)
        with self.transaction() as db:
            found = batches.invited_singles(db, key, least, about)
            if found is None:
                return False
            batch, invitations = found
            if stratum_bytes:
                together = batch.group_sizes(stratum_bytes) > 1
                batch, invitations = batch.take(together), invitations[together]
            if len(batch) < least:
                return False
            batches.remove_singles(db, key, batch)
            outcomes.set_out(db, task, batch)
            paired = invitations.tobytes()
            number = batches.insert(db, task, batch, sealed=False, invitations=paired)
            digests = list(map(bytes, invitations))
            asked = Admission.of(os.urandom(ADMISSION_ID_BYTES), digests)
            row = (asked.id, number, asked.invitations.tobytes())
            db.execute("INSERT INTO admissions VALUES (?, ?, ?)", row)
            return True

    def drawn(self) -> dict[int, str]:
        """The batches whose invitations the curator is asked about: numbers, and tasks."""
        with self.transaction() as db:
            return dict(
                db.execute("SELECT number, task FROM batches WHERE invitations IS NOT NULL")
            )

    def admissions(self, number: int) -> list[Admission]:
        """The admissions of a batch."""
        query = "SELECT id, invitations FROM admissions WHERE batch = ?"
        with self.transaction() as db:
            rows = db.execute(query, (number,)).fetchall()
        return [
            Admission.of(i, split(column, INVITATION_DIGEST_BYTES), in_time=True)
            for i, column in rows
        ]

    def admit(self, number: int, refused: Set[bytes], day: int) -> int:
        """Unlink the reports of a drawn batch from their invitations; return the number removed.

        Those whose invitations are ``refused`` leave, the others wait to be sealed.
        """
        with self.transaction() as db:
            query = "SELECT task, invitations FROM batches WHERE number = ?"
            task, paired = db.execute(query, (number,)).fetchone()
            batch, invitations = batches.read(db, number), split(paired, INVITATION_DIGEST_BYTES)
            stays = np.array([invitation not in refused for invitation in invitations])
            kept, (admission_id,) = batch.take(stays), batch.admissions
            left = batch.ids[~stays]
            batches.remove(db, number)
            if len(kept):
                admitted = Admission.of(admission_id, set(invitations) - refused)
                batches.insert(db, task, kept, sealed=False)
                update = "UPDATE admissions SET invitations = ? WHERE id = ?"
                db.execute(update, (admitted.invitations.tobytes(), admission_id))
            else:
                db.execute("DELETE FROM admissions WHERE id = ?", (admission_id,))
            return outcomes.refuse(db, task, list(map(bytes, left)), NOT_INVITED, day)

    def turn_away(self, task: str, day: int) -> int:
        """Remove the reports of a task for invited holders that came without an invitation."""
        with self.transaction() as db:
            uninvited = batches.take_out(db, task, uninvited=True)
            return outcomes.turn_away(db, uninvited, NOT_INVITED, day)

    def seal(
        self,
        task: str,
        questions: tuple[int, ...],
        least: int,
        about: int,
        *,
        invited: bool = False,
        stratum_bytes: int = 0,
    ) -> bool:
        """Make one shuffled batch to be sent, of about ``about`` waiting reports.

        Returns False if fewer than ``least`` different reports wait. If fewer than ``least`` would
        remain, takes them too, unless the batch grows too large. Where holders are ``invited``,
        takes the reports of those who were admitted; else a report that would be alone with its
        stratum, the first ``stratum_bytes`` of its payload, waits for another one.
        """
        key = key_of(task, questions)
        with self.transaction() as db:
            numbers = batches.admitted(db, key, least, about) if invited else []
            if invited:
                batch = batches.joined(db, numbers)
            else:
                batch = batches.singles(db, key, least, about)
                if batch is not None and stratum_bytes:
                    batch = batch.take(batch.group_sizes(stratum_bytes) > 1)
            if batch is None or len(batch) < max(least, 1):
                return False
            for number in numbers:
                batches.remove(db, number)
            if not invited:
                batches.remove_singles(db, key, batch)
            shuffled = batch.take(random_order(len(batch)))
            sent = batches.insert(db, task, shuffled, sealed=True)
            if invited:
                outcomes.go_on(db, task, split(batch.ids.tobytes(), REPORT_ID_BYTES), sent)
            else:
                outcomes.set_out(db, task, batch, sent)
            return True

    def sealed(self) -> dict[int, str]:
        """The batches that are ready to be sent: their numbers, and the task of each."""
        with self.transaction() as db:
            return dict(db.execute("SELECT number, task FROM batches WHERE sealed"))

    def files(self) -> list[tuple[int, str, int]]:
        """Batches that were written as files and may still change: number, name, reports."""
        with self.transaction() as db:
            return db.execute("SELECT batch, name, reports FROM files").fetchall()

    def settle(
        self,
        number: int,
        account: Account,
        day: int,
        group_size: int | None = None,
        *,
        file: str | None = None,
    ) -> None:
        """Remove a delivered batch; add what became of its reports, known since ``day``.

        Of one that was written as a ``file`` more will be known.

        Its reports hid among those that the curator took: ``smallest_batch`` counts no others. In a
        task with disclosed columns a report hides among its ``group_size`` at most, those of its
        stratum, from which all that were refused may be missing.
        """
        taken = account.taken.get(COUNTED) or account.taken.get(HELD)
        taken = taken or account.taken.get("replayed")
        if taken and group_size is not None:
            taken = max(1, group_size - sum(map(len, account.refused.values())))
        signed = []
        if account.receipts:  # hashed while others may write
            signed = outcomes.signed_groups(self.batch(number), account)
        with self.transaction() as db:
            task, reports = batches.remove(db, number)
            batches.end_admissions(db)
            outcomes.tally(db, task, account.counts)
            if taken:
                outcomes.tally_smallest(db, task, taken)
            outcomes.settle(db, number, task, account, day)
            outcomes.keep_receipts(db, number, signed, day)
            if file is not None:
                outcomes.add_file(db, number, task, file, reports, day)

    def abandon(self, task: str, reason: str, day: int, *, sealed: bool) -> int:
        """Remove what can never count: all that waits for a task, sealed batches only if asked.

        Returns how many reports that were; their state is ``reason``.
        """
        removed = "DELETE FROM batches WHERE task = ? AND (? OR NOT sealed) RETURNING ids"
        with self.transaction() as db:
            columns = db.execute(removed, (task, sealed)).fetchall()
            ids = [i for (column,) in columns for i in split(column, REPORT_ID_BYTES)]
            count = outcomes.refuse(db, task, ids, reason, day)
            count += outcomes.turn_away(db, batches.take_out(db, task), reason, day)
            batches.end_admissions(db)
            return count

    queues = _verb(batches.groups)
    batch = _verb(batches.read)
    settle_file = _verb(outcomes.settle_file)
    state = _verb(outcomes.state_of)
    known = _verb(outcomes.known)
    receipt = _verb(outcomes.receipt_of)
    forget = _verb(outcomes.forget)
    tallies = _verb(outcomes.tallies_of)

    def all_tallies(self) -> dict[str, dict[str, int]]:
        """The tallies of every task of which there is anything."""
        query = (
            "SELECT task FROM tallies UNION SELECT task FROM queues UNION SELECT task FROM batches"
        )
        with self.transaction() as db:
            return {task: outcomes.tallies_of(db, task) for (task,) in db.execute(query).fetchall()}


def add(db: sqlite3.Connection, reports: Sequence[StoredReport]) -> list[str]:
    """Keep reports, see ``Spool.add``: all that are new at once, and the others one by one."""
    new = outcomes.are_new(db, reports)
    queues = dict[batches.Key, list[StoredReport]]()
    for report in compress(reports, new):
        queues.setdefault(key_of(report.task, report.questions), []).append(report)
    db.execute("SAVEPOINT together")
    for key, waiting in queues.items():
        queue = batches.queue_of(db, key, len(waiting[0].payload))
        if batches.elsewhere(db, waiting) or not batches.add_singles(db, queue, waiting):
            db.execute("ROLLBACK TO together")
            new = [False] * len(reports)
            break
    db.execute("RELEASE together")
    pairs = zip(new, reports, strict=True)
    return [HELD if held else add_one(db, report) for held, report in pairs]


def add_one(db: sqlite3.Connection, report: StoredReport) -> str:
    """Keep one report, see ``Spool.add``."""
    before = outcomes.known(db, report)
    if before is None:
        outcomes.forget_one(db, report)
        key = key_of(report.task, report.questions)
        batches.add_singles(db, batches.queue_of(db, key, len(report.payload)), [report])
    return before or HELD
