"""Authorization: named tokens with a scope, stored as SHA-256 and compared in constant time.

A token has 256 random bits, so its plain SHA-256 is of no use to a reader of the database. The
token in ``PRIVET_ADMIN_TOKEN`` is an admin token that is never written down.
"""

import hashlib
import hmac
import secrets
from enum import StrEnum

from privet.curator.clock import Clock
from privet.curator.datastore.base import Store, StoredToken
from privet.protocol.errors import InvalidRequest, NotAuthorized

FIRST = "first"
ENVIRONMENT = "PRIVET_ADMIN_TOKEN"
"""Stands for the name of the token that the settings have."""


class Scope(StrEnum):
    """What a token allows: everything, reading only, or to send batches of reports only."""

    ADMIN = "admin"
    READER = "reader"
    RELAY = "relay"


class Tokens:
    """The tokens of one curator's store."""

    def __init__(self, store: Store, clock: Clock, admin_token: str | None = None) -> None:
        self._store = store
        self._clock = clock
        self._admin_digest = None if admin_token is None else digest_of(admin_token)

    def check(self, token: str, scope: str) -> str:
        """The name of ``token``; raises ``NotAuthorized`` unless it allows what needs ``scope``."""
        digest = digest_of(token)
        allowed, name = None, ""
        if self._admin_digest is not None and hmac.compare_digest(digest, self._admin_digest):
            allowed, name = Scope.ADMIN, ENVIRONMENT
        for stored in self._store.tokens():
            if hmac.compare_digest(digest, stored.digest):
                allowed, name = Scope(stored.scope), stored.name
        if allowed is None:
            raise NotAuthorized(
                "The token is not known here: check for a cut or an old one. The admin token was "
                "shown at the curator's first start, or is the one in PRIVET_ADMIN_TOKEN."
            )
        if allowed is not Scope.ADMIN and allowed != scope:
            raise NotAuthorized(f"The token is a {allowed} token and this call needs {scope}.")
        return name

    def first_start(self) -> str | None:
        """The first admin token, made now; None if the settings or the store have one."""
        if self._admin_digest is not None or self._store.tokens():
            return None
        return self.issue(FIRST, Scope.ADMIN)

    def issue(self, name: str, scope: Scope) -> str:
        """A new token under ``name``; an earlier one of that name ends here, which rotates it."""
        if not name or len(name) > 64:
            raise InvalidRequest("Give the token a name of 1 to 64 letters.")
        token = secrets.token_urlsafe(32)
        self._store.put_token(StoredToken(name, scope.value, digest_of(token), self._clock.now()))
        return token

    def revoke(self, name: str) -> bool:
        """End a token; False if there is none of that name."""
        return self._store.drop_token(name)

    def listed(self) -> list[StoredToken]:
        """All stored tokens, by name, as digests."""
        return self._store.tokens()


def digest_of(token: str) -> bytes:
    """The SHA-256 that is stored in place of a token."""
    return hashlib.sha256(token.encode()).digest()
