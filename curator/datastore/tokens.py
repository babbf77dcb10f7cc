"""Tokens as they are kept, by their digests, each with the audit entry that says so."""

import json
from dataclasses import asdict, dataclass, replace
from hashlib import sha256
from typing import NamedTuple

from sqlalchemy import Connection, Row, delete, select, text, update

from .audit import AuditEntry, insert_audit, row_digest
from .database import Database
from .schema import audit, tokens

ISSUED, ROTATED = "token issued", "token rotated"
ISSUED_AT_START = "token issued at a start without one"
REVOKED = "token revoked"
"""Actions of the audit log: the last of each token says if there is one, and which."""

PUT_FIRST = """
INSERT INTO tokens (name, scope, digest, created, expires, used)
VALUES (:name, :scope, :digest, :created, :expires, :used) ON CONFLICT (name) DO NOTHING
"""

BEFORE = " (before)"
"""Ends the name of a token that serves for a while beside the one that took its place."""
OVERLAP = "overlap_hours"
"""Detail of an entry whose token before serves on."""
ROW, SERVES_ON = "row", "before"
"""Details with the digests of the rows of a token and of the one before it."""


@dataclass(frozen=True)
class StoredToken:
    """A token as it is kept: its SHA-256, never itself."""

    name: str
    scope: str
    digest: bytes
    created: float
    expires: float | None = None
    """Unix time at which it ends; None for never."""
    used: float | None = None
    """Its last use, to the minute, Unix time."""


@dataclass(eq=False)
class TokenStore:
    """The verbs of tokens."""

    database: Database

    def put(
        self, token: StoredToken, entry: AuditEntry, overlap: float | None = None
    ) -> AuditEntry:
        """Keep a token under its name, and the audit entry ``entry`` about it, which says if it is
        in place of an earlier one of that name; the entry as it is kept.

        That one stays good until ``overlap``, Unix time, if it is given; one before that ends.
        """
        values = asdict(token)
        own = tokens.c.name == token.name
        in_place = update(tokens).where(own).values(values)
        moved, stated = 0, dict[str, str]()
        with self.database.writing() as connection:
            before = f"{token.name}{BEFORE}"
            connection.execute(delete(tokens).where(tokens.c.name == before))
            if overlap is not None:
                later = tokens.c.expires.is_(None) | (tokens.c.expires > overlap)
                connection.execute(update(tokens).where(own & later).values(expires=overlap))
                moved = connection.execute(update(tokens).where(own).values(name=before)).rowcount
                there = select(tokens).where(tokens.c.name == before)
                for row in connection.execute(there):
                    stated[SERVES_ON] = _digest(row)
            while not connection.execute(text(PUT_FIRST), values).rowcount:
                if connection.execute(in_place).rowcount:  # else it was dropped meanwhile
                    moved = 1
                    break
            about = replace(entry, action=ROTATED) if moved else entry
            detail = {**about.detail, **stated}
            return insert_audit(connection, _about(token, replace(about, detail=detail)))

    def replace(
        self, old: StoredToken | None, new: StoredToken, entry: AuditEntry
    ) -> AuditEntry | None:
        """Keep ``new`` in place of ``old``, which has its name, or of none, and ``entry`` about it.

        None if another of that name is kept by now: of several that do so at once one gets an
        entry.
        """
        with self.database.writing() as connection:
            if old is not None:
                same = (tokens.c.name == old.name) & (tokens.c.digest == old.digest)
                connection.execute(delete(tokens).where(same))
            if not connection.execute(text(PUT_FIRST), asdict(new)).rowcount:
                return None
            return insert_audit(connection, _about(new, entry))

    def listed(self) -> list[StoredToken]:
        """All tokens, by name."""
        with self.database.reading() as connection:
            rows = connection.execute(select(tokens).order_by(tokens.c.name))
            return [
                StoredToken(r.name, r.scope, bytes(r.digest), r.created, r.expires, r.used)
                for r in rows
            ]

    def drop(self, name: str, entry: AuditEntry) -> AuditEntry | None:
        """Forget a token and the one before it, and keep ``entry`` about that.

        None if there was none of that name.
        """
        both = tokens.c.name.in_((name, f"{name}{BEFORE}"))
        with self.database.writing() as connection:
            if not connection.execute(delete(tokens).where(both)).rowcount:
                return None
            return insert_audit(connection, replace(entry, action=REVOKED, subject=name))

    def mark_used(self, name: str, now: float) -> None:
        with self.database.writing() as connection:
            connection.execute(update(tokens).where(tokens.c.name == name).values(used=now))


def short_digest(digest: bytes) -> str:
    """The digest by which the audit log tells a token from another, of no use to find either."""
    return sha256(digest).hexdigest()[:16]


class Issued(NamedTuple):
    """A token that the audit log says was issued; None where an earlier Privet's entry had none."""

    scope: str
    token: str | None
    """Its short digest."""
    row: str | None
    """The digest of its row."""

    def is_as(self, row: Row[tuple[object, ...]]) -> bool:
        """True if the row is as its entry says."""
        return (
            row.scope == self.scope
            and self.token in {None, short_digest(bytes(row.digest))}
            and self.row in {None, _digest(row)}
        )


def issued_tokens(connection: Connection) -> dict[str, Issued]:
    """Name -> the token that the audit log says was issued last under it, and is there.

    One that serves on beside it has its own name.
    """
    about_tokens = audit.c.action.in_((ISSUED, ROTATED, ISSUED_AT_START, REVOKED))
    rows = select(audit.c.subject, audit.c.action, audit.c.detail).where(about_tokens)
    issued: dict[str, Issued] = {}
    for row in connection.execute(rows.order_by(audit.c.no)):
        before = f"{row.subject}{BEFORE}"
        detail = json.loads(row.detail)
        earlier = issued.pop(row.subject, None)
        if row.action != ISSUED_AT_START:
            issued.pop(before, None)
        if earlier is not None and OVERLAP in detail:
            issued[before] = earlier._replace(row=detail.get(SERVES_ON))
        if row.action != REVOKED:
            scope, token = str(detail.get("scope")), detail.get("token")
            issued[row.subject] = Issued(scope, token, detail.get(ROW))
    return issued


def _about(token: StoredToken, entry: AuditEntry) -> AuditEntry:
    said = {"scope": token.scope, "token": short_digest(token.digest), ROW: _digest(token)}
    return replace(entry, subject=token.name, detail={**entry.detail, **said})


def _digest(row: StoredToken | Row[tuple[object, ...]]) -> str:
    """The digest of all that is kept of a token but its last use."""
    return row_digest(row.name, row.scope, bytes(row.digest), row.created, row.expires)
