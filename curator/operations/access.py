"""Tokens, the audit log, and signing in."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import Path, Query
from pydantic import BaseModel, ConfigDict, Field

from privet.admin.calls import ApiCall
from privet.admin.results import AuditLogEntry, IssuedToken, Scope, Token
from privet.protocol.calls import TOKENS
from privet.protocol.errors import InsufficientScope, InvalidRequest, NotAuthorized

from ..access.tokens import ENVIRONMENT
from ..datastore.tokens import ISSUED, REVOKED
from .curator import Curator
from .parameters import Days
from .table import Acting, operation

if TYPE_CHECKING:
    from ..access.oidc import Person, Provider

SIGN_IN = "sign-in"
"""Keeps failed sign-ins at the provider apart from wrong tokens of the same address."""

TokenName = Annotated[str, Path(description="Name of the token.", examples=["dashboard"])]
Last = Annotated[bool, Query(description="Allow this even for the last admin token.")]
Before = Annotated[int | None, Query(ge=1, le=2**31, description="Entries before this.")]


class TokenRequest(BaseModel):
    """The scope and lifetime of a new token."""

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"scope": "reader", "days": 90}]}
    )

    scope: Scope = Field(
        default=Scope.ADMIN,
        description="Scope: everything, reading and fitting, reading, or sending batches.",
    )
    days: Days = None
    overlap_hours: float | None = Field(
        default=None,
        strict=True,
        gt=0,
        le=168,
        allow_inf_nan=False,
        description="Hours for which an earlier token of that name stays good; null for none.",
    )


@operation(ApiCall.LIST_TOKENS, Scope.ADMIN)
def list_tokens(curator: Curator, actor: Acting) -> list[Token]:
    """All tokens, wherever they come from, by name, without their values."""
    return [
        Token.model_validate(
            {**asdict(token), "source": "environment" if token.name == ENVIRONMENT else "database"}
        )
        for token in curator.tokens.listed()
    ]


@operation(ApiCall.ISSUE_TOKEN, Scope.ADMIN, audit=ISSUED, refuses=(InvalidRequest,), status=201)
def issue_token(
    curator: Curator, actor: Acting, name: TokenName, body: TokenRequest, last: Last = False
) -> IssuedToken:
    """Make a token, in place of any earlier one of that name, which ends at once or a bit later."""
    actor.leaves_entry = False  # the token is kept with its entry or not at all
    token = curator.tokens.issue(
        name, body.scope, body.days, last=last, actor=actor.id, overlap_hours=body.overlap_hours
    )
    return IssuedToken(name=name, scope=body.scope, token=token)


@operation(ApiCall.REVOKE_TOKEN, Scope.ADMIN, audit=REVOKED, refuses=(InvalidRequest,), status=204)
def revoke_token(curator: Curator, actor: Acting, name: TokenName, last: Last = False) -> None:
    """End a token at once."""
    actor.leaves_entry = False  # as above
    if not curator.tokens.revoke(name, last=last, actor=actor.id):
        raise InvalidRequest(f"There is no token {name!r}: GET {TOKENS} lists them.")


@operation(ApiCall.READ_AUDIT, Scope.ADMIN)
def read_audit(
    curator: Curator,
    actor: Acting,
    limit: Annotated[int, Query(ge=1, le=1_000)] = 100,
    before: Before = None,
) -> list[AuditLogEntry]:
    """The audit log, the latest entry first."""
    return [AuditLogEntry.model_validate(e) for e in curator.store.audit.entries(limit, before)]


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
