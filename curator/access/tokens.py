"""Authorization: named tokens with a scope, stored as SHA-256 and compared in constant time.

A token has 256 random bits, so its plain SHA-256 is of no use to a reader of the database. The
token in ``PRIVET_ADMIN_TOKEN`` is an admin token that is never written down, and is listed under
that name.

A good token is never limited, whoever tries wrong ones from its address: its bits keep it from
being guessed, and the limit keeps wrong ones from writing to the database.
"""

import hashlib
import hmac
import logging
import secrets
from collections.abc import Callable, Hashable, Iterable
from dataclasses import replace
from datetime import UTC, datetime
from math import inf

from privet.admin.results import Scope
from privet.protocol.errors import (
    InsufficientScope,
    InvalidRequest,
    NotAuthorized,
    PrivetError,
    TooManyRequests,
)

from ..datastore.audit import AuditEntry
from ..datastore.store import Store
from ..datastore.tokens import BEFORE, ISSUED, ISSUED_AT_START, OVERLAP, StoredToken
from .audit import NOBODY, Audit
from .rate_limit import Rate

FIRST = "first"
ENVIRONMENT = "PRIVET_ADMIN_TOKEN"
"""Name of the token in the settings."""
HOUR, DAY = 3_600.0, 86_400.0
PERSON = "oidc:"
"""Prefix of people's names in the audit log; no token may use it."""
USE_SECONDS = 60.0
"""A token's last use is written at most this often."""
KEPT_SECONDS = DAY
"""Time for which tokens that were read serve after the database has failed."""
WAY_BACK = (
    "Without an admin token, restart the curator: it then makes one and shows it, or takes the one "
    "in PRIVET_ADMIN_TOKEN."
)
ISSUED_BEFORE = (
    "The database's admin token has not been used yet. The curator that made it showed it at its "
    "start; if it is lost, restart with one of your own in PRIVET_ADMIN_TOKEN."
)

log = logging.getLogger("privet")


class Tokens:
    """The tokens of one curator's store; an address may try ``tries`` wrong ones a minute.

    ``bearer`` resolves access tokens of the OpenID provider, or returns None; ``refused`` is called
    for each wrong one.
    """

    def __init__(
        self,
        store: Store,
        clock: Callable[[], float],
        admin_token: str | None = None,
        tries: int = 0,
        bearer: Callable[[str], StoredToken | None] | None = None,
        refused: Callable[[], object] = bool,
    ) -> None:
        self._store = store
        self._clock = clock
        self._tries = Rate(tries)
        self._bearer = bearer
        self._refused = refused
        self.audit = Audit(store, clock)
        self._used: dict[str, float] = {}
        self._from_settings: StoredToken | None = None
        if admin_token is not None:
            digest = digest_of(admin_token)
            self._from_settings = StoredToken(ENVIRONMENT, Scope.ADMIN, digest, clock())
        self._last_read: tuple[float, list[StoredToken]] = (
            -inf,
            [] if self._from_settings is None else [self._from_settings],
        )

    def check(self, token: str, scope: str, address: str = "", *, kept: bool = False) -> str:
        """The name of ``token``, which came from ``address``, if it allows what needs ``scope``.

        Raises ``InsufficientScope`` for a good token, which is no guess, and what ``known`` raises;
        after too many wrong ones from there ``TooManyRequests`` for another wrong one.
        """
        try:
            stored = self.known(token, kept=kept)
        except (NotAuthorized, InsufficientScope) as error:
            self.refuse(address, error)
            raise
        if not Scope(stored.scope).allows(scope):
            raise InsufficientScope(
                f"The token has the scope {stored.scope} and this call needs {scope}: ask an admin "
                f"for one (privet token issue NAME --scope {scope})."
            )
        return stored.name

    def known(self, token: str, *, kept: bool = False) -> StoredToken:
        """The stored ``token``, or one for the person whom the provider's names.

        With ``kept`` the database is not asked. Nothing is counted or written. Raises
        ``NotAuthorized`` if it is unknown or has expired, and what ``bearer`` raises.
        """
        digest, match, now = digest_of(token), None, self._clock()
        for stored in self.kept() if kept else self.listed():  # all, so that the time tells nothing
            if hmac.compare_digest(digest, stored.digest):
                match = stored
        if match is None:
            person = None if self._bearer is None else self._bearer(token)
            if person is not None:
                return person
            raise NotAuthorized(
                "The token is not known here: it may be cut short or out of date. The first admin "
                "token was shown at the curator's start, or is the one in its PRIVET_ADMIN_TOKEN. "
                f"{WAY_BACK}"
            )
        if match.expires is not None and match.expires <= now:
            ended = datetime.fromtimestamp(match.expires, UTC)
            raise NotAuthorized(
                f"The token {match.name!r} expired on {ended:%Y-%m-%d}: ask an admin for a new "
                f"one (privet token issue). {WAY_BACK}"
            )
        if not kept:
            self._mark_used(match, now)
        return replace(match, name=match.name.removesuffix(BEFORE))

    def admit(self, sender: Hashable) -> None:
        """Raise ``TooManyRequests`` if too many guesses came from ``sender``."""
        seconds = self._tries.wait(sender)
        if seconds:
            raise TooManyRequests(
                f"{self._tries.per_minute} wrong tokens or sign-ins came from this address: "
                f"send the right one, or try again in {seconds} seconds.",
                seconds,
            )

    def refuse(self, sender: Hashable, error: PrivetError) -> None:
        """Count a guess from ``sender`` that ended in ``error``, and write it down.

        Raises ``TooManyRequests`` instead after too many.
        """
        self._refused()
        self.admit(sender)
        self._tries.count(sender)
        self.audit.add_refusal(error.detail.partition(": ")[0])

    def first_start(self) -> str | None:
        """An admin token, made now; None if the settings or the store have one that is good.

        Of curators that start at once one makes it; the others log that another showed it, as does
        every start until it is used.
        """
        stored = self.listed()
        if not self._good_admins(stored):
            token, made = self._made(FIRST, Scope.ADMIN, None)
            old = next((kept for kept in stored if kept.name == FIRST), None)
            about = AuditEntry(made.created, NOBODY, ISSUED_AT_START, FIRST, {})
            kept = self._store.tokens.replace(old, made, about)
            if kept is not None:
                self.audit.log(kept)
                return token
        admins = [(admin.name, admin.used) for admin in self._good_admins(self.listed())]
        if admins == [(FIRST, None)]:
            log.warning(ISSUED_BEFORE)
        return None

    def issue(
        self,
        name: str,
        scope: Scope,
        days: float | None = None,
        *,
        last: bool = False,
        actor: str = NOBODY,
        overlap_hours: float | None = None,
    ) -> str:
        """A new token under ``name``; an earlier one of that name ends, which rotates it.

        The earlier one ends at once, or after ``overlap_hours``; the new one after ``days``.
        ``actor`` is who did it. Raises ``InvalidRequest`` for a name that
        cannot be, and as ``revoke`` does if it takes the place of the last admin token without
        being one.
        """
        if not name or len(name + BEFORE) > 64 or name == ENVIRONMENT or name.startswith(PERSON):
            raise InvalidRequest(
                f"Give the token a name of its own, of 1 to {64 - len(BEFORE)} characters, that "
                f"does not begin with {PERSON}"
            )
        if name.endswith(BEFORE):
            raise InvalidRequest(f"A name that ends in{BEFORE} is that of a token before another.")
        if scope is not Scope.ADMIN:
            self._keep_an_admin(name, last=last)
        token, made = self._made(name, scope, days)
        detail, overlap = {"days": days}, None
        if overlap_hours is not None:
            detail[OVERLAP] = overlap_hours
            overlap = made.created + overlap_hours * HOUR
        about = AuditEntry(made.created, actor, ISSUED, name, detail)
        self.audit.log(self._store.tokens.put(made, about, overlap))
        self._forget(name)
        return token

    def revoke(self, name: str, *, last: bool = False, actor: str = NOBODY) -> bool:
        """End a token; False if there is none of that name. ``actor`` is who did it.

        Raises ``InvalidRequest`` for the token of the settings, and, unless ``last``, for the last
        admin token.
        """
        if self._from_settings is not None and name == ENVIRONMENT:
            raise InvalidRequest(
                f"{ENVIRONMENT} is a setting of the curator: take it out of its environment, and "
                "restart it."
            )
        self._keep_an_admin(name, last=last)
        kept = self._store.tokens.drop(name, AuditEntry(self._clock(), actor, "", name, {}))
        self._forget(name)
        if kept is not None:
            self.audit.log(kept)
        return kept is not None

    def listed(self) -> list[StoredToken]:
        """All tokens, by name, as digests; that of the settings is the last."""
        from_settings = [] if self._from_settings is None else [self._from_settings]
        tokens = [*self._store.tokens.listed(), *from_settings]
        self._last_read = self._clock(), tokens
        return tokens

    def kept(self) -> list[StoredToken]:
        """The tokens as they were read last, in the last day: for while the database fails."""
        moment, tokens = self._last_read
        fresh = self._clock() - moment < KEPT_SECONDS
        return [token for token in tokens if fresh or token.name == ENVIRONMENT]

    def _forget(self, name: str) -> None:
        """Keep nothing of a token that has ended."""
        moment, tokens = self._last_read
        self._last_read = moment, [token for token in tokens if token.name != name]

    def _made(self, name: str, scope: Scope, days: float | None) -> tuple[str, StoredToken]:
        """A new token, and what is kept of it."""
        token, now = secrets.token_urlsafe(32), self._clock()
        expires = None if days is None else now + days * DAY
        return token, StoredToken(name, scope.value, digest_of(token), now, expires)

    def _good_admins(self, tokens: Iterable[StoredToken]) -> list[StoredToken]:
        now = self._clock()
        return [
            token
            for token in tokens
            if token.scope == Scope.ADMIN and (token.expires is None or token.expires > now)
        ]

    def _keep_an_admin(self, name: str, *, last: bool) -> None:
        tokens = self.listed()
        admins = {token.name for token in tokens if token.scope == Scope.ADMIN}
        others = {token.name for token in self._good_admins(tokens)} - {name, f"{name}{BEFORE}"}
        if name in admins and not last and not others:
            raise InvalidRequest(
                f"{name!r} is the last admin token: issue another first, or use --last "
                f"(?last=true). {WAY_BACK}"
            )

    def _mark_used(self, token: StoredToken, now: float) -> None:
        if now - self._used.get(token.name, -USE_SECONDS) < USE_SECONDS:
            return
        self._used[token.name] = now
        if token is self._from_settings:
            self._from_settings = replace(token, used=now)
        else:
            self._store.tokens.mark_used(token.name, now)


def digest_of(token: str) -> bytes:
    """The SHA-256 that is stored in place of a token."""
    return hashlib.sha256(token.encode()).digest()
