"""Shared parts of routes: the curator, the caller, strict JSON, cancellation of work."""

import asyncio
import json
import logging
from collections.abc import Awaitable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Annotated, Any, NoReturn, TypeVar

from fastapi import Depends, Request, Response, Security
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from fastapi.security.utils import get_authorization_scheme_param
from starlette.requests import HTTPConnection
from starlette.types import Scope

from privet.admin.results import Scope as TokenScope
from privet.http_server.addresses import client_address
from privet.protocol.errors import (
    InvalidRequest,
    NotAuthorized,
    Overloaded,
    StorageFailed,
    TooLarge,
)

from ..access.tokens import Tokens
from ..operations.curator import Curator
from .state import state_of

BINARY = {"type": "string", "format": "binary"}
"""OpenAPI's schema of a file."""
TOKENS = {
    scope: HTTPBearer(
        auto_error=False,
        scheme_name=f"{scope} token",
        description=f"A token of scope {scope.or_higher}, as a Bearer token.",
    )
    for scope in TokenScope
}
"""The token that each scope asks for in the OpenAPI document."""
PERHAPS = HTTPBearer(auto_error=False, scheme_name="perhaps")
"""The readers' token, where only drafts or guarded models need one."""
ReaderToken = Annotated[HTTPAuthorizationCredentials | None, Security(TOKENS[TokenScope.READER])]
MAX_JSON_BYTES = 64 * 1024
"""Maximum size of a JSON body parsed on the event loop."""

T = TypeVar("T")
log = logging.getLogger(__name__)


@dataclass
class Caller:
    """The caller of the API; the token is checked when it is needed."""

    tokens: Tokens
    token: str | None
    scope: Scope
    id: str = ""
    _allowed: set[str] = field(default_factory=set)

    @property
    def reads(self) -> bool:
        if self.token is not None:
            self.need(TokenScope.READER)
        return self.token is not None

    def need(self, scope: TokenScope, what: str = "", *, kept: bool = False) -> None:
        if self.token is None:
            raise NotAuthorized(
                f"This curator shows its {what} to readers only: "
                "ask its admin for a token of scope reader, and send it as "
                "'Authorization: Bearer <token>'."
                if what
                else "This call needs the admin token: send it as 'Authorization: Bearer <token>'. "
                "The curator showed it at its first start, or reads it from PRIVET_ADMIN_TOKEN."
            )
        if scope not in self._allowed:
            address = client_address(self.scope)
            self.id = self.tokens.check(self.token, scope, address, kept=kept)
            self._allowed.add(scope)


def caller_of(request: Request) -> Caller:
    """The caller that sent the request; one instance per request."""
    caller: Caller | None = getattr(request.state, "caller", None)
    if caller is None:
        tokens = state_of(request).curator.tokens
        caller = request.state.caller = Caller(tokens, bearer_of(request), request.scope)
    return caller


def bearer_of(call: HTTPConnection) -> str | None:
    """The token in a request's Authorization header."""
    scheme, token = get_authorization_scheme_param(call.headers.get("authorization"))
    return token if scheme.lower() == "bearer" and token else None


def _curator(request: Request) -> Curator:
    return state_of(request).curator


def _require_operator(request: Request, _: ReaderToken) -> None:
    """Let readers see metrics, by the tokens that were read last while the database fails."""
    state, caller = state_of(request), caller_of(request)
    if not state.readiness.fails:
        with suppress(StorageFailed):
            caller.need(TokenScope.READER, "metrics")
            return
    caller.need(TokenScope.READER, "metrics", kept=True)


MetricsReader: Any = Depends(_require_operator)
TheCaller = Annotated[Caller, Depends(caller_of)]
TheCurator = Annotated[Curator, Depends(_curator)]


async def while_waited(request: Request, work: Awaitable[T]) -> T:
    """The result of ``work``, which is cancelled when the caller disconnects.

    The request's body must have been read. Raises ``Overloaded`` if the curator stops meanwhile.
    """
    working = asyncio.ensure_future(work)
    gone = asyncio.ensure_future(_disconnected(request))
    try:
        await asyncio.wait({working, gone}, return_when=asyncio.FIRST_COMPLETED)
        if working.done():
            return working.result()
    except asyncio.CancelledError:  # by the server, when its time to stop is over
        log.warning("%s was cancelled: the curator stops.", request.url.path)
        raise Overloaded("The curator is stopping: ask again when it is back.") from None
    finally:
        for task in (working, gone):
            task.cancel()
    log.info("%s was cancelled: its caller disconnected.", request.url.path)
    raise InvalidRequest("The connection ended before the answer was there: ask again.")


def attached(content: str | bytes, media_type: str, name: str) -> Response:
    """A file that browsers save under this name."""
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return Response(content, media_type=media_type, headers=headers)


def count_as_post(request: Request) -> None:
    """Count a call that takes long, and that anybody may GET, in the rate limit of posts."""
    state = state_of(request)
    state.rate.take(state.sender_of(request))


async def _disconnected(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


class StrictRequest(Request):
    """A request whose JSON body is read as RFC 8259 has it.

    NaN and infinity are refused, although Python would read them.
    """

    async def json(self) -> Any:
        """The body; raises ``json.JSONDecodeError`` for anything that is not JSON."""
        body = await self.body()
        if len(body) > MAX_JSON_BYTES:
            raise TooLarge(f"The body is larger than the {MAX_JSON_BYTES} bytes this call takes.")
        return read_json(body)


def read_json(body: bytes) -> Any:
    """JSON as RFC 8259 has it; raises ``json.JSONDecodeError`` for anything else."""
    try:
        return json.loads(body, parse_constant=_refuse)
    except json.JSONDecodeError:
        raise
    except UnicodeDecodeError as error:
        raise json.JSONDecodeError(str(error), "", 0) from None
    except ValueError:
        raise json.JSONDecodeError("a whole number has too many digits", "", 0) from None
    except RecursionError:
        raise json.JSONDecodeError("it is nested too deeply", "", 0) from None


def _refuse(constant: str) -> NoReturn:
    """Refuse a constant that Python's JSON reads and RFC 8259 does not have."""
    said = f"{constant} is not JSON: send a finite number, or null for a missing value"
    raise json.JSONDecodeError(said, "", 0)
