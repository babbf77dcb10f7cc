"""Tokens as they are kept, by their digests."""

from dataclasses import asdict, dataclass

from sqlalchemy import delete, select, text, update

from .database import Database
from .schema import tokens

PUT_FIRST = """
INSERT INTO tokens (name, scope, digest, created, expires, used)
VALUES (:name, :scope, :digest, :created, :expires, :used) ON CONFLICT (name) DO NOTHING
"""


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

    def put(self, token: StoredToken) -> bool:
        """Keep a token under its name; whether it is in place of an earlier one of that name."""
        values = asdict(token)
        in_place = update(tokens).where(tokens.c.name == token.name).values(values)
        with self.database.writing() as connection:
            while not connection.execute(text(PUT_FIRST), values).rowcount:
                if connection.execute(in_place).rowcount:  # else it was dropped meanwhile
                    return True
        return False

    def replace(self, old: StoredToken | None, new: StoredToken) -> bool:
        """Keep ``new`` in place of ``old``, which has its name, or of none.

        False if another of that name is kept by now: of several that do so at once one gets True.
        """
        with self.database.writing() as connection:
            if old is not None:
                same = (tokens.c.name == old.name) & (tokens.c.digest == old.digest)
                connection.execute(delete(tokens).where(same))
            return connection.execute(text(PUT_FIRST), asdict(new)).rowcount > 0

    def listed(self) -> list[StoredToken]:
        """All tokens, by name."""
        with self.database.reading() as connection:
            rows = connection.execute(select(tokens).order_by(tokens.c.name))
            return [
                StoredToken(r.name, r.scope, bytes(r.digest), r.created, r.expires, r.used)
                for r in rows
            ]

    def drop(self, name: str) -> bool:
        """Forget a token; False if there was none of that name."""
        with self.database.writing() as connection:
            return connection.execute(delete(tokens).where(tokens.c.name == name)).rowcount > 0

    def mark_used(self, name: str, now: float) -> None:
        with self.database.writing() as connection:
            connection.execute(update(tokens).where(tokens.c.name == name).values(used=now))
