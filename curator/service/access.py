"""Tokens, the audit log, and signing in."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from cryptography.fernet import Fernet

from privet.protocol.calls import TOKENS
from privet.protocol.errors import InsufficientScope, InvalidRequest, NotAuthorized

from ..access.actors import Actor
from ..access.tokens import Scope
from ..datastore.audit import AuditEntry
from ..datastore.tokens import StoredToken
from .curator import Curator

if TYPE_CHECKING:
    from ..access.oidc import Person, Provider

SESSION_KEY = "session_key"
"""Name of the fact that holds the key of sessions."""
SIGN_IN = "sign-in"
"""Keeps failed sign-ins at the provider apart from wrong tokens of the same address."""


def list_tokens(curator: Curator, actor: Actor) -> list[StoredToken]:
    """All tokens, wherever they come from, by name, as digests."""
    actor.need(Scope.ADMIN)
    return curator.tokens.listed()


def issue_token(
    curator: Curator,
    actor: Actor,
    name: str,
    scope: Scope,
    days: float | None = None,
    *,
    last: bool = False,
    overlap_hours: float | None = None,
) -> str:
    """A new token, in place of any earlier one of that name; raises as ``Tokens.issue`` does."""
    actor.need(Scope.ADMIN)
    return curator.tokens.issue(
        name, scope, days, last=last, actor=actor.id, overlap_hours=overlap_hours
    )


def revoke_token(curator: Curator, actor: Actor, name: str, *, last: bool = False) -> None:
    """End a token at once; raises ``InvalidRequest`` without one, and as ``Tokens.revoke`` does."""
    actor.need(Scope.ADMIN)
    if not curator.tokens.revoke(name, last=last, actor=actor.id):
        raise InvalidRequest(f"There is no token {name!r}: GET {TOKENS} lists them.")


def read_audit(
    curator: Curator, actor: Actor, limit: int, before: int | None = None
) -> list[AuditEntry]:
    """At most ``limit`` entries of the audit log, the latest first, before number ``before``."""
    actor.need(Scope.ADMIN)
    return curator.store.audit.entries(limit, before)


def sign_in(
    curator: Curator,
    provider: "Provider",
    answer: Mapping[str, str],
    attempt: Mapping[str, Any],
    sender: str,
) -> "Person":
    """The person whom a provider names in its ``answer`` to the sign-in ``attempt``.

    Raises ``NotAuthorized``, ``InsufficientScope`` or ``Overloaded``, and ``TooManyRequests`` after
    too many failures of ``sender``, an address or a person. An answer to no attempt of ours, which
    any page can have a browser send, is not one of them.
    """
    if provider.is_answer(answer, attempt):
        curator.tokens.admit((SIGN_IN, sender))
    try:
        person = provider.finish(answer, attempt)
    except (NotAuthorized, InsufficientScope) as error:
        if provider.is_answer(answer, attempt):
            curator.tokens.refuse((SIGN_IN, sender), error)
        raise
    curator.audit.add_entry(person.actor, "signed in", name=person.name, scope=person.scope)
    return person


def session_key(curator: Curator) -> str:
    """The key that seals what sessions' cookies hold; drawn when it is first asked for."""
    facts = curator.store.facts
    return facts.read(SESSION_KEY) or facts.set_once(SESSION_KEY, Fernet.generate_key().decode())
