"""Tokens over HTTP: issue (which also rotates), list, revoke; what was done with them."""

from dataclasses import asdict
from datetime import datetime
from typing import Annotated, Any, Literal, Self

from fastapi import APIRouter, Path, Query, status
from pydantic import BaseModel, ConfigDict, Field

from privet.protocol.calls import API
from privet.protocol.errors import InvalidRequest

from ..access.tokens import ENVIRONMENT, Scope
from ..datastore.audit import AuditEntry
from ..datastore.tokens import StoredToken
from ..service import access as cases
from .problems import described
from .requests import AdminOnly, Days, StrictRoute, TheCaller, TheCurator, moment

router = APIRouter(prefix=API, tags=["tokens"], route_class=StrictRoute, dependencies=[AdminOnly])
TokenName = Annotated[str, Path(description="Name of the token.", examples=["dashboard"])]


Last = Annotated[bool, Query(description="Allow this even for the last admin token.")]


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


class IssuedToken(BaseModel):
    """A new token, shown only once."""

    name: str
    scope: Scope
    token: str


class TokenView(BaseModel):
    """A token, without its value."""

    name: str
    scope: Scope
    source: Literal["database", "environment"] = Field(
        description="Origin: issued, or the curator's PRIVET_ADMIN_TOKEN."
    )
    created: datetime = Field(
        description="Time of issue; for a token from the environment, of the start."
    )
    expires: datetime | None
    used: datetime | None = Field(description="Its last use, to the minute.")

    @classmethod
    def of(cls, token: StoredToken) -> Self:
        return cls(
            name=token.name,
            scope=Scope(token.scope),
            source="environment" if token.name == ENVIRONMENT else "database",
            created=moment(token.created),
            expires=None if token.expires is None else moment(token.expires),
            used=None if token.used is None else moment(token.used),
        )


class AuditView(BaseModel):
    """An entry of the audit log."""

    no: int
    at: datetime
    actor: str = Field(
        description="Name of the token, or oidc: and the subject of a person who signed in by "
        "OpenID Connect; empty for the curator, its commands, and strangers."
    )
    action: str = Field(examples=["task created"])
    subject: str = Field(description="A task's id, or a token's name.")
    detail: dict[str, Any]
    times: int = Field(description="How often within its hour; failed sign-ins are counted.")
    hash: str = Field(description="SHA-256 over the entry and the hash of the one before it.")

    @classmethod
    def of(cls, entry: AuditEntry) -> Self:
        return cls(**{**asdict(entry), "at": moment(entry.at)})


@router.get("/tokens", summary="List tokens")
def list_tokens(curator: TheCurator, caller: TheCaller) -> list[TokenView]:
    """All tokens, wherever they come from, by name, without their values."""
    return [TokenView.of(token) for token in cases.list_tokens(curator, caller)]


@router.put(
    "/tokens/{name}",
    status_code=status.HTTP_201_CREATED,
    summary="Issue a token",
    responses=described(InvalidRequest),
)
def issue_token(
    name: TokenName,
    curator: TheCurator,
    caller: TheCaller,
    body: TokenRequest,
    last: Last = False,
) -> IssuedToken:
    """Make a token, in place of any earlier one of that name, which ends at once or a bit later."""
    token = cases.issue_token(
        curator,
        caller,
        name,
        body.scope,
        body.days,
        last=last,
        overlap_hours=body.overlap_hours,
    )
    return IssuedToken(name=name, scope=body.scope, token=token)


@router.delete(
    "/tokens/{name}",
    status_code=status.HTTP_204_NO_CONTENT,
    summary="Revoke a token",
    responses=described(InvalidRequest),
)
def revoke_token(
    name: TokenName, curator: TheCurator, caller: TheCaller, last: Last = False
) -> None:
    """End a token at once."""
    cases.revoke_token(curator, caller, name, last=last)


@router.get("/audit", summary="Read the audit log")
def read_audit(
    curator: TheCurator,
    caller: TheCaller,
    limit: Annotated[int, Query(ge=1, le=1_000)] = 100,
    before: Annotated[int | None, Query(ge=1, le=2**31, description="Entries before this.")] = None,
) -> list[AuditView]:
    """The audit log, the latest entry first."""
    return [AuditView.of(entry) for entry in cases.read_audit(curator, caller, limit, before)]
