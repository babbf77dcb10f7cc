"""Rows of the spool: what became of the reports that holders sent here, and the tallies.

It is kept for a while after a report has left, under a hash of the report's task and id; neither
its payload nor its id stays.
"""

import hashlib
import json
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from privet.protocol.batch import Batch, split
from privet.protocol.lifecycle import FOR_GOOD, ReportState
from privet.protocol.receipts import SignedReceipt, groups_of, hashes_of

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


def take_in(db: sqlite3.Connection, task: str, report_id: bytes, digest: bytes) -> str | None:
    """Note that a report is held from now on; None if so, else what became of it before."""
    before = known(db, task, report_id, digest)
    if before is None:
        held = "INSERT OR REPLACE INTO states (key, digest, sent) VALUES (?, ?, 0)"
        db.execute(held, (key_of_report(task, report_id), digest))
    return before


def known(db: sqlite3.Connection, task: str, report_id: bytes, digest: bytes) -> str | None:
    """State of a report; ``conflict`` if another one was taken under its id.

    None if it is new, or was refused or lost before it went out, and may be taken.
    """
    query = "SELECT coalesce(state, 'held'), sent, digest FROM states WHERE key = ?"
    row = db.execute(query, (key_of_report(task, report_id),)).fetchone()
    if row is None or (row[0] not in {HELD, COUNTED} and not row[1]):
        return None
    return CONFLICT if row[2] != digest else str(row[0])


def state_of(db: sqlite3.Connection, task: str, report_id: bytes) -> str | None:
    """``held``, ``counted``, or why a report was refused; None if it is not known here."""
    query = "SELECT coalesce(state, 'held') FROM states WHERE key = ?"
    row = db.execute(query, (key_of_report(task, report_id),)).fetchone()
    return None if row is None else str(row[0])


def settle(
    db: sqlite3.Connection,
    number: int,
    task: str,
    ids: Iterable[bytes],
    account: Account,
    day: int,
) -> None:
    """Record what became of the reports ``ids`` of a batch, known since ``day``."""
    refused = {i: reason for reason, ids in account.refused.items() for i in ids}
    rest = HELD if account.taken.get(HELD) else COUNTED
    _set_states(db, task, ((i, refused.get(i, rest)) for i in ids), day, sent=number)


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
    keys = {key_of_report(task, i): reason for reason, ids in account.refused.items() for i in ids}
    here = db.execute("SELECT key FROM states WHERE sent = ?", (number,)).fetchall()
    update = f"UPDATE states SET state = ?, day = ? WHERE key = ? AND state NOT IN ({KEPT})"  # noqa: S608
    db.executemany(update, [(keys.get(key, COUNTED), day, key) for (key,) in here])
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


def refuse(
    db: sqlite3.Connection, task: str, ids: Sequence[bytes], reason: str, day: int, *, sent: int = 0
) -> int:
    """Record and tally that reports were refused; return their number."""
    _set_states(db, task, ((i, reason) for i in ids), day, sent=sent)
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
    query = (
        "SELECT (SELECT count(*) FROM waiting WHERE task = ?) + "
        "(SELECT coalesce(sum(reports), 0) FROM batches WHERE task = ?)"
    )
    (tallies["waiting"],) = db.execute(query, (task, task)).fetchone()
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
    db.execute("DELETE FROM states WHERE day < ?", (before,))
    db.execute("DELETE FROM receipts WHERE day < ?", (before,))
    db.execute("DELETE FROM files WHERE day < ?", (before,))


def key_of_report(task: str, report_id: bytes) -> bytes:
    return hashlib.sha256(task.encode() + report_id).digest()[:16]


def _set_states(
    db: sqlite3.Connection, task: str, states: Iterable[tuple[bytes, str]], day: int, *, sent: int
) -> None:
    """Record what became of reports that holders sent here; a counted one stays counted."""
    update = f"""
        UPDATE states SET state = ?, day = ?, sent = ?
        WHERE key = ? AND coalesce(state, '') NOT IN ({KEPT})
    """  # noqa: S608 - constants
    db.executemany(update, ((state, day, sent, key_of_report(task, i)) for i, state in states))
