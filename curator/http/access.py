"""What routes ask of a request: the curator behind it, the task's id, a token that allows it."""

from typing import Annotated, Any

from fastapi import Depends, Path, Request, Security
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer

from privet.curator.http.schemas import EXAMPLE_ID
from privet.curator.service import Curator
from privet.protocol.errors import NotAuthorized

ADMIN_SCHEME, READER_SCHEME = "admin token", "reader token"
_admin = HTTPBearer(
    auto_error=False, scheme_name=ADMIN_SCHEME, description="The admin token, as a Bearer token."
)
_reader = HTTPBearer(
    auto_error=False,
    scheme_name=READER_SCHEME,
    description="A token of scope reader or admin, where the curator keeps its models for readers.",
)


def _curator(request: Request) -> Curator:
    curator: Curator = request.app.state.curator
    return curator


def _require_admin(
    request: Request,
    credentials: Annotated[HTTPAuthorizationCredentials | None, Security(_admin)],
) -> None:
    if credentials is None:
        raise NotAuthorized(
            "This call needs the admin token: send it as 'Authorization: Bearer <token>'. "
            "The curator showed it at its first start, or reads it from PRIVET_ADMIN_TOKEN."
        )
    request.app.state.tokens.check(credentials.credentials, "admin")


def _require_reader(
    request: Request,
    credentials: Annotated[HTTPAuthorizationCredentials | None, Security(_reader)],
) -> None:
    if not request.app.state.guard_models:
        return
    if credentials is None:
        raise NotAuthorized(
            "This curator shows its models to readers only: "
            "ask its admin for a token of scope reader, and send it as "
            "'Authorization: Bearer <token>'."
        )
    request.app.state.tokens.check(credentials.credentials, "reader")


AdminOnly: Any = Depends(_require_admin)
ModelReader: Any = Depends(_require_reader)
TheCurator = Annotated[Curator, Depends(_curator)]
TaskId = Annotated[str, Path(description="The task's id.", examples=[EXAMPLE_ID])]
ModelNumber = Annotated[int, Path(description="The model's number, from 1.", examples=[1])]
