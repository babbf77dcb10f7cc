"""Tokens, the audit log, and signing in."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from privet.protocol.calls import TOKENS
from privet.protocol.errors import InsufficientScope, InvalidRequest, NotAuthorized

from ..access.actors import Actor
from ..access.tokens import Scope
from ..datastore.audit import AuditEntry
from ..datastore.tokens import StoredToken
from .curator import Curator

if TYPE_CHECKING:
    from ..access.oidc import Person, Provider


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
) -> str:
    """A new token, in place of any earlier one of that name; raises as ``Tokens.issue`` does."""
    actor.need(Scope.ADMIN)
    return curator.tokens.issue(name, scope, days, last=last, actor=actor.id)


def revoke_token(curator: Curator, actor: Actor, name: str, *, last: bool = False) -> None:
    """End a token at once; raises ``InvalidRequest`` without one, and as ``Tokens.revoke`` does."""
    actor.need(Scope.ADMIN)
    if not curator.tokens.revoke(name, last=last):
        raise InvalidRequest(f"There is no token {name!r}: GET {TOKENS} lists them.")
    curator.audit.add_entry(actor.id, "token revoked", name)


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
    address: str,
) -> "Person":
    """The person whom a provider names in its ``answer`` to the sign-in ``attempt``.

    Raises ``NotAuthorized``, ``InsufficientScope`` or ``Overloaded``, and ``TooManyRequests`` after
    too many guesses from ``address``.
    """
    try:
        with curator.tokens.trying(address):
            person = provider.finish(answer, attempt)
    except (NotAuthorized, InsufficientScope) as error:
        curator.audit.add_refusal(error.detail)
        raise
    curator.audit.add_entry(person.actor, "signed in", name=person.name, scope=person.scope)
    return person
