"""Authorization: named tokens with a scope, stored as SHA-256 and compared in constant time.

A token has 256 random bits, so its plain SHA-256 is of no use to a reader of the database. The
token in ``PRIVET_ADMIN_TOKEN`` is an admin token that is never written down, and is listed under
that name.
"""

import hashlib
import hmac
import secrets
from dataclasses import replace
from datetime import UTC, datetime
from enum import StrEnum

from privet.curator.audit import NOBODY, Audit
from privet.curator.clock import Clock
from privet.curator.datastore.base import Store, StoredToken
from privet.protocol.errors import InvalidRequest, NotAuthorized

FIRST = "first"
ENVIRONMENT = "PRIVET_ADMIN_TOKEN"
"""The name of the token that the settings have."""
DAY = 86_400.0
USE_SECONDS = 60.0
"""A token's last use is written at most this often."""
WAY_BACK = (
    "Without an admin token, restart the curator: it then makes one and shows it, or takes the one "
    "in PRIVET_ADMIN_TOKEN."
)


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
        self.audit = Audit(store, clock)
        self._used: dict[str, float] = {}
        self._own: StoredToken | None = None
        if admin_token is not None:
            digest = digest_of(admin_token)
            self._own = StoredToken(ENVIRONMENT, Scope.ADMIN, digest, clock.now())

    def check(self, token: str, scope: str) -> str:
        """The name of ``token``; raises ``NotAuthorized`` unless it allows what needs ``scope``."""
        found = self.find(token)
        if found.scope not in (Scope.ADMIN, scope):
            raise NotAuthorized(f"The token is a {found.scope} token and this call needs {scope}.")
        return found.name

    def find(self, token: str) -> StoredToken:
        """The stored ``token``; raises ``NotAuthorized`` if it is unknown or has expired."""
        digest, found, now = digest_of(token), None, self._clock.now()
        for known in self.listed():
            if hmac.compare_digest(digest, known.digest):
                found = known
        if found is None:
            self.audit.note_refused("unknown token")
            raise NotAuthorized(
                "The token is not known here: check for a cut or an old one. The first admin token "
                f"was shown at the curator's start, or is the one in its PRIVET_ADMIN_TOKEN. "
                f"{WAY_BACK}"
            )
        if found.expires is not None and found.expires <= now:
            self.audit.note_refused(f"{found.name} has expired")
            ended = datetime.fromtimestamp(found.expires, UTC)
            raise NotAuthorized(
                f"The token {found.name!r} expired on {ended:%Y-%m-%d}: ask an admin for a new "
                f"one (privet token issue). {WAY_BACK}"
            )
        self._note_use(found, now)
        return found

    def first_start(self) -> str | None:
        """An admin token, made now; None if the settings or the store have one that is good."""
        if self._own is not None or self._admins_besides(""):
            return None
        token = self._put(FIRST, Scope.ADMIN, None)
        self.audit.note(NOBODY, "token issued at a start without one", FIRST, scope="admin")
        return token

    def issue(
        self, name: str, scope: Scope, days: float | None = None, *, last: bool = False
    ) -> str:
        """A new token under ``name``; an earlier one of that name ends here, which rotates it.

        It ends after ``days``. Raises ``InvalidRequest`` for a name that cannot be, and as
        ``revoke`` does if it takes the place of the last admin token without being one.
        """
        if not name or len(name) > 64 or name == ENVIRONMENT:
            raise InvalidRequest("Give the token a name of its own, of 1 to 64 letters.")
        if scope is not Scope.ADMIN:
            self._keep_an_admin(name, last=last)
        return self._put(name, scope, days)

    def revoke(self, name: str, *, last: bool = False) -> bool:
        """End a token; False if there is none of that name.

        Raises ``InvalidRequest`` for the token of the settings, and, unless ``last``, for the last
        admin token.
        """
        if self._own is not None and name == ENVIRONMENT:
            raise InvalidRequest(
                f"{ENVIRONMENT} is a setting of the curator: take it out of its environment, and "
                "restart it."
            )
        self._keep_an_admin(name, last=last)
        return self._store.drop_token(name)

    def listed(self) -> list[StoredToken]:
        """All tokens, by name, as digests; that of the settings is the last."""
        own = [] if self._own is None else [self._own]
        return [*self._store.tokens(), *own]

    def _put(self, name: str, scope: Scope, days: float | None) -> str:
        token, now = secrets.token_urlsafe(32), self._clock.now()
        expires = None if days is None else now + days * DAY
        self._store.put_token(StoredToken(name, scope.value, digest_of(token), now, expires))
        return token

    def _admins_besides(self, name: str) -> list[str]:
        """Names of the other admin tokens that are good."""
        now = self._clock.now()
        return [
            each.name
            for each in self.listed()
            if each.name != name
            and each.scope == Scope.ADMIN
            and (each.expires is None or each.expires > now)
        ]

    def _keep_an_admin(self, name: str, *, last: bool) -> None:
        admins = {each.name for each in self.listed() if each.scope == Scope.ADMIN}
        if name in admins and not last and not self._admins_besides(name):
            raise InvalidRequest(
                f"{name!r} is the last admin token: issue another first, or say --last "
                f"(?last=true). {WAY_BACK}"
            )

    def _note_use(self, token: StoredToken, now: float) -> None:
        if now - self._used.get(token.name, -USE_SECONDS) < USE_SECONDS:
            return
        self._used[token.name] = now
        if token is self._own:
            self._own = replace(token, used=now)
        else:
            self._store.note_use(token.name, now)


def digest_of(token: str) -> bytes:
    """The SHA-256 that is stored in place of a token."""
    return hashlib.sha256(token.encode()).digest()
