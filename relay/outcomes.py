"""Rows of the spool: what became of the reports that holders sent here, and the tallies.

It is kept for a while after a report has left, under a hash of the report's task and id; neither
its payload nor its id stays.
"""

import hashlib
import json
import sqlite3
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from privet.protocol.batch import Batch, split
from privet.protocol.lifecycle import FOR_GOOD, ReportState
from privet.protocol.receipts import SignedReceipt, groups_of, hashes_of
from privet.protocol.report import REPORT_ID_BYTES

from .batches import StoredReport, count_waiting, key_of, waiting_report

HELD, COUNTED, CONFLICT = ReportState.HELD, ReportState.COUNTED, "conflict"
KEPT = ", ".join(f"'{state}'" for state in FOR_GOOD)


@dataclass(frozen=True)
class Account:
    """The outcome of a batch: the numbers taken, by kind, and the ids refused, by reason."""

    taken: Mapping[str, int]
    refused: Mapping[str, Sequence[bytes]] = field(default_factory=dict)
    receipts: Sequence[str] = ()
    """The curator's signatures of those that count, in their groups."""

    @property
    def counts(self) -> dict[str, int]:
        """All reports of the batch, by what became of them."""
        return {**self.taken, **{reason: len(ids) for reason, ids in self.refused.items()}}


def set_out(db: sqlite3.Connection, task: str, batch: Batch, sent: int = 0) -> None:
    """Note that the reports of a batch wait singly no longer, and in which batch they go out."""
    keys = [key_of_report(task, i) for i in split(batch.ids.tobytes(), REPORT_ID_BYTES)]
    rows = [(key, digest, sent) for key, digest in zip(keys, hashes_of(batch), strict=True)]
    rows.sort()  # as they lie
    db.executemany("INSERT INTO states (key, digest, sent) VALUES (?, ?, ?)", rows)


def go_on(db: sqlite3.Connection, task: str, ids: Iterable[bytes], sent: int) -> None:
    """Note in which batch reports go out that have waited singly no longer."""
    update = "UPDATE states SET sent = ? WHERE key = ?"
    db.executemany(update, [(sent, key_of_report(task, i)) for i in ids])


def turn_away(
    db: sqlite3.Connection, reports: Sequence[StoredReport], reason: str, day: int
) -> int:
    """Record and tally that reports which had waited singly are refused; return their number."""
    add = "INSERT INTO states VALUES (?, ?, ?, ?, 0)"
    rows = ((key_of_report(own.task, own.id), own.digest, reason, day) for own in reports)
    db.executemany(add, rows)
    for task, count in Counter(own.task for own in reports).items():
        tally(db, task, {reason: count})
    return len(reports)


def known(db: sqlite3.Connection, report: StoredReport) -> str | None:
    """State of a report; ``conflict`` if another one was taken under its id.

    None if it is new, or was refused or lost before it went out, and may be taken.
    """
    waiting = waiting_report(db, report.task, report.id)
    if waiting is not None:
        same = waiting == (key_of(report.task, report.questions)[1], report.payload)
        return HELD if same else CONFLICT
    row = _find(db, report.task, report.id)
    if row is None or (row.state not in {HELD, COUNTED} and not row.sent):
        return None
    return row.state if row.digest == report.digest else CONFLICT


def forget_one(db: sqlite3.Connection, report: StoredReport) -> None:
    """Forget what became of a report that is taken again."""
    db.execute("DELETE FROM states WHERE key = ?", (key_of_report(report.task, report.id),))


def are_new(db: sqlite3.Connection, reports: Sequence[StoredReport]) -> list[bool]:
    """For each report, True if nothing is known of one under its id that waits no longer."""
    query = "SELECT 1 FROM states WHERE key = ?"
    keys = (key_of_report(report.task, report.id) for report in reports)
    return [db.execute(query, (key,)).fetchone() is None for key in keys]


def state_of(db: sqlite3.Connection, task: str, report_id: bytes) -> str | None:
    """``held``, ``counted``, or why a report was refused; None if it is not known here."""
    if waiting_report(db, task, report_id) is not None:
        return HELD
    row = _find(db, task, report_id)
    return None if row is None else row.state


def settle(db: sqlite3.Connection, number: int, task: str, account: Account, day: int) -> None:
    """Record what became of the reports of a batch that has left, known since ``day``."""
    rest = HELD if account.taken.get(HELD) else COUNTED
    db.execute("INSERT OR REPLACE INTO departed VALUES (?, ?, ?)", (number, rest, day))
    refused = ((i, reason) for reason, ids in account.refused.items() for i in ids)
    _set_states(db, {key_of_report(task, i): reason for i, reason in refused}, day)


def add_file(
    db: sqlite3.Connection, number: int, task: str, name: str, reports: int, day: int
) -> None:
    """Note that a batch was written as a file, whose outcome is yet to come."""
    row = (number, task, name, reports, json.dumps({HELD: reports}), day)
    db.execute("INSERT OR REPLACE INTO files VALUES (?, ?, ?, ?, ?, ?)", row)


def settle_file(db: sqlite3.Connection, number: int, account: Account, day: int) -> None:
    """Record what became of the reports in a file; what may still count is looked at again."""
    query = "SELECT task, counts FROM files WHERE batch = ?"
    task, before = db.execute(query, (number,)).fetchone()
    if json.loads(before) == account.counts:
        return
    news = {key_of_report(task, i): reason for reason, ids in account.refused.items() for i in ids}
    first = "UPDATE departed SET state = 'counted', day = ? WHERE batch = ? AND state = 'held'"
    if not db.execute(first, (day, number)).rowcount:  # only those refused before may still change
        refused = f"SELECT key FROM states WHERE sent = ? AND state NOT IN ({KEPT})"  # noqa: S608
        news = {key: news.get(key, COUNTED) for (key,) in db.execute(refused, (number,)).fetchall()}
    _set_states(db, news, day)
    tally(db, task, {name: -count for name, count in json.loads(before).items()})
    tally(db, task, account.counts)
    if account.refused:
        after = json.dumps(account.counts)
        db.execute("UPDATE files SET counts = ? WHERE batch = ?", (after, number))
    else:
        db.execute("DELETE FROM files WHERE batch = ?", (number,))


def signed_groups(batch: Batch, account: Account) -> list[tuple[bytes, str]]:
    """The hashes of the reports that count, in groups, each with the curator's signature."""
    refused = {i for ids in account.refused.values() for i in ids}
    hashes = zip(hashes_of(batch), map(bytes, batch.ids), strict=True)
    groups = groups_of([digest for digest, i in hashes if i not in refused])
    return [(b"".join(group), own) for group, own in zip(groups, account.receipts, strict=False)]


def keep_receipts(
    db: sqlite3.Connection, number: int, signed: Iterable[tuple[bytes, str]], day: int
) -> None:
    """Keep the receipts of a batch."""
    rows = ((number, hashes, signature, day) for hashes, signature in signed)
    db.executemany("INSERT INTO receipts VALUES (?, ?, ?, ?)", rows)


def refuse(db: sqlite3.Connection, task: str, ids: Sequence[bytes], reason: str, day: int) -> int:
    """Record and tally that reports of batches were refused; return their number."""
    _set_states(db, {key_of_report(task, i): reason for i in ids}, day)
    if ids:
        tally(db, task, {reason: len(ids)})
    return len(ids)


def tally(db: sqlite3.Connection, task: str, counts: Mapping[str, int]) -> None:
    """Add to a task's tallies."""
    add = "INSERT INTO tallies VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET n = n + excluded.n"
    db.executemany(add, [(task, name, n) for name, n in counts.items()])


def tally_smallest(db: sqlite3.Connection, task: str, reports: int) -> None:
    """Let ``reports`` be the smallest batch of a task, if none has been smaller."""
    least = """
        INSERT INTO tallies VALUES (?, 'smallest_batch', ?)
        ON CONFLICT DO UPDATE SET n = min(n, excluded.n)
    """
    db.execute(least, (task, reports))


def tallies_of(db: sqlite3.Connection, task: str) -> dict[str, int]:
    """The numbers of a task's reports by outcome, and of those that wait."""
    tallies = dict(db.execute("SELECT name, n FROM tallies WHERE task = ?", (task,)))
    tallies["waiting"] = count_waiting(db, task)
    return tallies


def receipt_of(
    db: sqlite3.Connection, task: str, report_id: bytes, digest: bytes
) -> SignedReceipt | None:
    """The curator's receipt for a report that it counted; None if there is none here."""
    query = """
        SELECT signature, hashes FROM states JOIN receipts ON batch = sent
        WHERE key = ? AND digest = ? AND substr(hashes, 1, 32) <= digest
        ORDER BY hashes DESC LIMIT 1
    """
    row = db.execute(query, (key_of_report(task, report_id), digest)).fetchone()
    hashes = [] if row is None else split(row[1], len(digest))
    if digest not in hashes:  # it was refused
        return None
    return SignedReceipt(signature=row[0], reports=tuple(map(bytes.hex, hashes)))


def forget(db: sqlite3.Connection, before: int) -> None:
    """Forget what became known before a day."""
    known_since = "coalesce(day, (SELECT day FROM departed WHERE batch = sent))"
    db.execute(f"DELETE FROM states WHERE {known_since} < ?", (before,))  # noqa: S608
    db.execute("DELETE FROM departed WHERE day < ?", (before,))
    db.execute("DELETE FROM receipts WHERE day < ?", (before,))
    db.execute("DELETE FROM files WHERE day < ?", (before,))


def key_of_report(task: str, report_id: bytes) -> bytes:
    return hashlib.sha256(task.encode() + report_id).digest()[:16]


@dataclass(frozen=True)
class _Known:
    """State, digest and batch of a report that has left the queue."""

    state: str
    digest: bytes
    sent: int


def _find(db: sqlite3.Connection, task: str, report_id: bytes) -> _Known | None:
    query = """
        SELECT coalesce(states.state, departed.state, 'held'), digest, sent
        FROM states LEFT JOIN departed ON batch = sent WHERE key = ?
    """
    row = db.execute(query, (key_of_report(task, report_id),)).fetchone()
    return None if row is None else _Known(*row)


def _set_states(db: sqlite3.Connection, states: Mapping[bytes, str], day: int) -> None:
    """Record, by the reports' keys, what became of some that went out or are about to."""
    update = "UPDATE states SET state = ?, day = ? WHERE key = ?"
    db.executemany(update, [(state, day, key) for key, state in states.items()])
