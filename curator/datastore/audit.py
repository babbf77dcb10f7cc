"""The audit log, and single facts about the whole database."""

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, insert, select, text, update

from . import schema
from .database import Database

RESTORED = "restored"
"""Name of the fact that holds the time of the backup that was restored, Unix time."""

NOTE_FIRST = "INSERT INTO facts (name, value) VALUES (:name, :value) ON CONFLICT DO NOTHING"
NOTE = """
INSERT INTO facts (name, value) VALUES (:name, :value)
ON CONFLICT (name) DO UPDATE SET value = excluded.value
"""
"""One statement, because curators that start together note the same fact."""


@dataclass(frozen=True)
class AuditEntry:
    """What somebody did, see ``privet.curator.access.audit``."""

    at: float
    actor: str
    action: str
    subject: str
    detail: Mapping[str, Any]
    times: int = 1
    """How many times it happened, for actions that are counted rather than listed."""
    no: int = 0
    """Its place in the log, from 1."""


class AuditStore(ABC):
    """The verbs of the audit log and of facts."""

    @abstractmethod
    def add_audit(self, entry: AuditEntry, join_since: float | None = None) -> None:
        """Keep an entry for good.

        With ``join_since`` an entry of the same actor and action since then is counted up instead.
        """

    @abstractmethod
    def audit(self, limit: int, before: int | None = None) -> list[AuditEntry]:
        """At most ``limit`` entries, the latest first, of those that came before number ``before``
        if it is given."""

    @abstractmethod
    def fact(self, name: str) -> str | None:
        """What is noted under ``name`` about the whole database; None if nothing is."""

    @abstractmethod
    def note(self, name: str, value: str) -> None:
        """Note a fact, in place of any earlier one of that name."""

    @abstractmethod
    def note_first(self, name: str, value: str) -> str:
        """Note a fact unless there is one of that name; the one that is there from now on.

        Of several that do so at once all get the same.
        """


class SqlAudit(Database, AuditStore):
    """The audit log and facts in SQL."""

    def add_audit(self, entry: AuditEntry, join_since: float | None = None) -> None:
        table = schema.audit
        same = (table.c.actor == entry.actor) & (table.c.action == entry.action)
        with self.writing() as connection:
            if join_since is not None:
                counted = connection.execute(
                    update(table)
                    .where(same & (table.c.at >= join_since))
                    .values(times=table.c.times + 1)
                )
                if counted.rowcount:
                    return
            insert_audit(connection, entry)

    def audit(self, limit: int, before: int | None = None) -> list[AuditEntry]:
        table = schema.audit
        query = select(table).order_by(table.c.no.desc()).limit(limit)
        if before is not None:
            query = query.where(table.c.no < before)
        with self.reading() as connection:
            return [
                AuditEntry(r.at, r.actor, r.action, r.subject, json.loads(r.detail), r.times, r.no)
                for r in connection.execute(query)
            ]

    def fact(self, name: str) -> str | None:
        table = schema.facts
        with self.reading() as connection:
            return connection.scalar(select(table.c.value).where(table.c.name == name))

    def note(self, name: str, value: str) -> None:
        with self.writing() as connection:
            connection.execute(text(NOTE), {"name": name, "value": value})

    def note_first(self, name: str, value: str) -> str:
        with self.writing() as connection:
            connection.execute(text(NOTE_FIRST), {"name": name, "value": value})
        return self.fact(name) or value


def insert_audit(connection: Connection, entry: AuditEntry) -> None:
    connection.execute(
        insert(schema.audit).values(
            at=entry.at,
            actor=entry.actor,
            action=entry.action,
            subject=entry.subject,
            detail=json.dumps(dict(entry.detail)),
            times=entry.times,
        )
    )


def note_restored(connection: Connection, made: float, now: float) -> None:
    """Note that what was counted after ``made``, the time of a backup, may be missing."""
    connection.execute(text(NOTE), {"name": RESTORED, "value": repr(made)})
    insert_audit(connection, AuditEntry(now, "", "backup restored", "", {"made": made}))
