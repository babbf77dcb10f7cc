"""What goes out of the spool together: waiting bundles and single reports become one bundle.

Within a transaction of ``privet.relay.spool.Spool``, whose tables these are.
"""

import os
import sqlite3

from privet.protocol.report import REPORT_ID_BYTES
from privet.relay.bundle import Bundle, joined, of_rows

MAX_BYTES = 15 * 2**20
"""Bytes that go out together, where enough reports are that few: a further relay takes 16 MiB."""


def insert(db: sqlite3.Connection, bundle: Bundle) -> int:
    """Write a bundle down; its number, which is random."""
    number = int.from_bytes(os.urandom(8), "big") >> 1
    columns = (bundle.ids, bundle.payloads, bundle.invitations)
    row = (number, bundle.task, bundle.question, len(bundle), *columns)
    db.execute("INSERT INTO bundles VALUES (?, ?, ?, ?, ?, ?, ?)", row)
    return number


def read(db: sqlite3.Connection, number: int) -> Bundle:
    """A bundle by its number."""
    query = "SELECT task, question, ids, payloads, invitations FROM bundles WHERE number = ?"
    return Bundle(*db.execute(query, (number,)).fetchone())


def seal(db: sqlite3.Connection, task: str, question: int, least: int, about: int) -> bool:
    """See ``Spool.seal``."""
    numbers, rest = _open_bundles(db, task, question, least, about)
    singles = _singles(db, task, question, least, rest)
    if len(numbers) == 1 and singles is None:
        (number,) = numbers
        if len(read(db, number)) < least:
            return False
    else:
        parts = [read(db, number) for number in numbers] + ([singles] if singles else [])
        if not parts or len(merged := joined(parts).shuffled()) < least:
            return False
        db.executemany("DELETE FROM bundles WHERE number = ?", [(n,) for n in numbers])
        if singles:
            _delete_singles(db, singles)
        number = insert(db, merged)
    db.execute("INSERT INTO sealed VALUES (?)", (number,))
    return True


def _open_bundles(
    db: sqlite3.Connection, task: str, question: int, least: int, about: int
) -> tuple[list[int], int]:
    """The bundles to take, whole ones only, and how many single reports are wanted with them."""
    listed = db.execute(
        "SELECT number, reports, length(ids) + length(payloads) FROM bundles "
        "WHERE number NOT IN (SELECT number FROM sealed) AND task = ? AND question = ?",
        (task, question),
    ).fetchall()
    left = sum(reports for _, reports, _ in listed)
    numbers: list[int] = []
    taken = size = 0
    for number, reports, bytes_taken in listed:
        full = size + bytes_taken > MAX_BYTES or (taken >= about and left >= least)
        if taken >= least and full:
            break
        numbers.append(number)
        taken, left, size = taken + reports, left - reports, size + bytes_taken
    return numbers, max(least, about) - taken


def _singles(
    db: sqlite3.Connection, task: str, question: int, least: int, wanted: int
) -> Bundle | None:
    """As many single reports as are wanted; all, if fewer than ``least`` were left over."""
    key = (task, question)
    where = "FROM waiting WHERE task = ? AND question = ?"
    (there,) = db.execute(f"SELECT count(*) {where}", key).fetchone()
    most = there if there - wanted < least else wanted
    if most <= 0:
        return None
    query = f"SELECT id, payload, invitation {where} LIMIT ?"
    return of_rows(task, question, db.execute(query, (*key, most)).fetchall())


def _delete_singles(db: sqlite3.Connection, singles: Bundle) -> None:
    ids = [
        singles.ids[at : at + REPORT_ID_BYTES] for at in range(0, len(singles.ids), REPORT_ID_BYTES)
    ]
    keys = [(singles.task, singles.question, report_id) for report_id in ids]
    db.executemany("DELETE FROM waiting WHERE task = ? AND question = ? AND id = ?", keys)
