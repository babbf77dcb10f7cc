"""Tokens over HTTP: issue (which also rotates), list, revoke."""

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Path, Request, status
from pydantic import BaseModel, ConfigDict, Field

from privet.curator.http.problems import described
from privet.curator.http.requests import AdminOnly, StrictRoute, moment
from privet.curator.tokens import Scope, Tokens
from privet.protocol.errors import InvalidRequest, NotAuthorized

router = APIRouter(
    prefix="/v1/tokens", tags=["tokens"], route_class=StrictRoute, dependencies=[AdminOnly]
)
TokenName = Annotated[str, Path(description="What the token is called.", examples=["dashboard"])]


class TokenRequest(BaseModel):
    """What a new token allows."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"scope": "admin"}]})

    scope: Scope = Field(
        default=Scope.ADMIN, description="Everything, reading only, or batches of reports only."
    )


class IssuedToken(BaseModel):
    """A new token, shown this once."""

    name: str
    scope: Scope
    token: str


class TokenView(BaseModel):
    """A stored token, without its value."""

    name: str
    scope: Scope
    created: datetime


@router.get("", summary="List tokens", responses=described(NotAuthorized))
def list_tokens(request: Request) -> list[TokenView]:
    """Names and scopes; the one from PRIVET_ADMIN_TOKEN is not stored and not listed."""
    return [
        TokenView(name=token.name, scope=Scope(token.scope), created=moment(token.created))
        for token in _tokens(request).listed()
    ]


@router.put(
    "/{name}",
    status_code=status.HTTP_201_CREATED,
    summary="Issue a token",
    responses=described(NotAuthorized, InvalidRequest),
)
def issue_token(name: TokenName, request: Request, body: TokenRequest) -> IssuedToken:
    """Make a token, in place of any earlier one of that name, which ends at once."""
    token = _tokens(request).issue(name, body.scope)
    return IssuedToken(name=name, scope=body.scope, token=token)


@router.delete(
    "/{name}",
    status_code=status.HTTP_204_NO_CONTENT,
    summary="Revoke a token",
    responses=described(NotAuthorized, InvalidRequest),
)
def revoke_token(name: TokenName, request: Request) -> None:
    """End a token at once."""
    if not _tokens(request).revoke(name):
        raise InvalidRequest(f"There is no token {name!r}: GET /v1/tokens lists them.")


def _tokens(request: Request) -> Tokens:
    tokens: Tokens = request.app.state.tokens
    return tokens
