"""The audit log, which is a chain of hashes, and single facts about the whole database.

The hash of an entry is the SHA-256, in hexadecimal, of the JSON list

    [hash before, times before, no, at, actor, action, subject, detail]

where ``detail`` is JSON text of its own, and before the first entry come 64 zeros and 0. So it
fixes the entry, apart from ``times``, and all before it with theirs: an entry is counted up only
while it is the last. The fact ``HEAD`` names the last one.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from hashlib import sha256
from math import inf
from typing import Any

from sqlalchemy import Connection, Row, insert, select, text, update

from .database import Database
from .schema import audit, facts

RESTORED = "restored"
"""Name of the fact that holds the time of the backup that was restored, Unix time, or that when
holders were asked again: tasks from before then ask."""
PUT_BACK, ASKED_AGAIN = "database put back", "reports asked again"
"""Actions after which holders are asked again, as after a restoration."""
UNTIL = "until"
"""Detail of those entries: what ``RESTORED`` holds from then on."""
MADE_BACKUP, RESTORED_BACKUP = "backup made", "backup restored"
BACKED_UP = "backed up"
"""Name of the fact that holds the time of the newest backup, Unix time."""
NAMED = "relay"
"""Name of the fact that says at which relay people answer."""
SIGNING_KEY = "signing_key"
"""Name of the fact that says with which public key tasks are signed, in hexadecimal."""
HEAD = "audit_head"
"""Name of the fact that holds number and hash of the last entry, as ``12:f00d...``."""

ONE_AT_A_TIME = "LOCK TABLE audit IN SHARE ROW EXCLUSIVE MODE"
"""Serialises writers on PostgreSQL, so that each entry chains to the one before it."""

SET_FACT_ONCE = "INSERT INTO facts (name, value) VALUES (:name, :value) ON CONFLICT DO NOTHING"
SET_FACT = """
INSERT INTO facts (name, value) VALUES (:name, :value)
ON CONFLICT (name) DO UPDATE SET value = excluded.value
"""
"""One statement, because curators that start together note the same fact."""


@dataclass(frozen=True)
class AuditEntry:
    """An entry of the audit log, see ``privet.curator.access.audit``."""

    at: float
    actor: str
    action: str
    subject: str
    detail: Mapping[str, Any]
    times: int = 1
    """Number of times it happened, for actions that are counted rather than listed."""
    no: int = 0
    """Its place in the log, from 1."""
    hash: str = ""
    """Hash over it and all entries before it, see above."""


START = AuditEntry(-inf, "", "", "", {}, times=0, no=0, hash="0" * 64)
"""The predecessor of the first entry."""


@dataclass(frozen=True)
class AuditChain:
    """The result of checking the audit log."""

    entries: int
    head: str
    """Number and hash of the last entry, to be noted where nobody here can change it."""
    faults: tuple[str, ...]
    """Descriptions of the faults."""


@dataclass(eq=False)
class AuditStore:
    """The verbs of the audit log."""

    database: Database

    def add(self, entry: AuditEntry, join_since: float | None = None) -> AuditEntry:
        """Keep an entry for good, after all others; as it is kept, with its number and hash.

        With ``join_since`` the last entry is counted up instead, if it is of the same actor and
        action, and since then.
        """
        with self.database.writing() as connection:
            last = _last(connection)
            if not joins(entry, last, join_since):
                return _append(connection, entry, last)
            counted = replace(last, times=last.times + 1)
            changed = update(audit).where(audit.c.no == last.no).values(times=counted.times)
            connection.execute(changed)
            return counted

    def entries(self, limit: int, before: int | None = None) -> list[AuditEntry]:
        """At most ``limit`` entries, the latest first, of those that came before number ``before``
        if it is given."""
        query = select(audit).order_by(audit.c.no.desc()).limit(limit)
        if before is not None:
            query = query.where(audit.c.no < before)
        with self.database.reading() as connection:
            return [_entry(row) for row in connection.execute(query)]

    def ask_again(self, entry: AuditEntry, until: float, known: str | None) -> AuditEntry | None:
        """Let tasks that were there ``until`` ask holders again, and keep ``entry`` about it.

        None if ``RESTORED`` is not ``known`` any more, since another process was first.
        """
        with self.database.writing() as connection:
            last = _last(connection)
            if _fact(connection, RESTORED) != known:
                return None
            connection.execute(text(SET_FACT), {"name": RESTORED, "value": repr(until)})
            stated = replace(entry, detail={**entry.detail, UNTIL: until})
            return _append(connection, stated, last)


@dataclass(eq=False)
class FactStore:
    """The verbs of facts about the whole database, each a text under a name."""

    database: Database

    def read(self, name: str) -> str | None:
        """The fact stored under ``name``; None if there is none."""
        with self.database.reading() as connection:
            return _fact(connection, name)

    def set(self, name: str, value: str) -> None:
        """Note a fact, in place of any earlier one of that name."""
        with self.database.writing() as connection:
            connection.execute(text(SET_FACT), {"name": name, "value": value})

    def set_once(self, name: str, value: str) -> str:
        """Note a fact unless there is one of that name; the one that is there from now on.

        Of several that do so at once all get the same.
        """
        with self.database.writing() as connection:
            connection.execute(text(SET_FACT_ONCE), {"name": name, "value": value})
        return self.read(name) or value


def joins(entry: AuditEntry, last: AuditEntry, since: float | None) -> bool:
    """True if an entry increments the last one instead of following it."""
    same = (entry.actor, entry.action) == (last.actor, last.action)
    return same and since is not None and last.at >= since


def insert_audit(connection: Connection, entry: AuditEntry) -> AuditEntry:
    """The entry as it is kept, with its number and hash."""
    return _append(connection, entry, _last(connection))


def row_digest(*values: Any) -> str:
    """The digest by which an entry states the values of a row that never change."""
    plain = [value.hex() if isinstance(value, bytes) else value for value in values]
    return sha256(json.dumps(plain).encode()).hexdigest()[:16]


def check_chain(connection: Connection, noted: str = "") -> AuditChain:
    """Recompute the hashes of the audit log, to its end and to a head that was ``noted`` before.

    Whoever can write to the database can also make another chain: only a head that was noted
    elsewhere shows that.
    """
    last, entries, faults, found = START, 0, list[str](), not noted
    rows = select(audit).order_by(audit.c.no).execution_options(yield_per=1_000)
    for row in connection.execute(rows):
        entry = AuditEntry(**{**row._asdict(), "detail": {}})
        if entry.hash != _hash(last, entry, row.detail):
            faults.append(
                f"entry {entry.no} of the audit log was changed, or one before it is gone"
            )
        last, entries, found = entry, entries + 1, found or _head(entry) == noted
    stated = _fact(connection, HEAD) or _head(START)
    if stated != _head(last):
        faults.append(f"the audit log ends with entry {_head(last)}, and ended with {stated}")
    if not found:
        faults.append(f"the audit log has no entry {noted}")
    return AuditChain(entries, _head(last), tuple(faults))


def _last(connection: Connection) -> AuditEntry:
    """The last entry, which stays the last one until the transaction ends.

    If it is gone its number and hash remain, so that what follows does not hide that.
    """
    if connection.dialect.name == "postgresql":
        connection.exec_driver_sql(ONE_AT_A_TIME)
    no, _, digest = (_fact(connection, HEAD) or _head(START)).partition(":")
    row = connection.execute(select(audit).where(audit.c.no == int(no))).one_or_none()
    return replace(START if row is None else _entry(row), no=int(no), hash=digest)


def _append(connection: Connection, entry: AuditEntry, last: AuditEntry) -> AuditEntry:
    numbered = replace(entry, at=float(entry.at), no=last.no + 1)
    detail = json.dumps(dict(entry.detail))
    appended = replace(numbered, hash=_hash(last, numbered, detail))
    connection.execute(insert(audit).values({**vars(appended), "detail": detail}))
    connection.execute(text(SET_FACT), {"name": HEAD, "value": _head(appended)})
    return appended


def _entry(row: Row[Any]) -> AuditEntry:
    return AuditEntry(**{**row._asdict(), "detail": json.loads(row.detail)})


def _hash(last: AuditEntry, entry: AuditEntry, detail: str) -> str:
    fields = [entry.no, entry.at, entry.actor, entry.action, entry.subject, detail]
    return sha256(json.dumps([last.hash, last.times, *fields]).encode()).hexdigest()


def _head(entry: AuditEntry) -> str:
    return f"{entry.no}:{entry.hash}"


def _fact(connection: Connection, name: str) -> str | None:
    return connection.scalar(select(facts.c.value).where(facts.c.name == name))


def mark_restored(connection: Connection, made: float, now: float) -> None:
    """Note that what was counted after ``made``, the time of a backup, may be missing."""
    connection.execute(text(SET_FACT), {"name": RESTORED, "value": repr(made)})
    insert_audit(connection, AuditEntry(now, "", RESTORED_BACKUP, "", {"made": made}))
