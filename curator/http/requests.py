"""What routes share: the curator, authorization, strict JSON, and work in a worker process that is
cancelled when its caller disconnects."""

import asyncio
import json
import logging
from collections.abc import Callable, Coroutine
from datetime import UTC, datetime
from typing import Annotated, Any, NoReturn, TypeVar

from fastapi import Depends, Path, Request, Response, Security
from fastapi.routing import APIRoute
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from pydantic import BaseModel, ConfigDict
from starlette.concurrency import run_in_threadpool

from privet.http_server.addresses import client_address
from privet.protocol.errors import InvalidRequest, NotAuthorized, Overloaded, TooLarge
from privet.protocol.lifecycle import TaskState

from ..access.rate_limit import Rate
from ..access.tokens import Tokens
from ..datastore.tasks import no_task
from ..service import Curator, with_registries
from ..workers import Run, Workers

EXAMPLE_ID = "6f1ed002ab5595859014ebf0951522d9" * 2
BINARY = {"type": "string", "format": "binary"}
"""OpenAPI's schema of a file."""
ADMIN_SCHEME, READER_SCHEME, COUNTS_SCHEME = "admin token", "reader token", "counts"
_admin = HTTPBearer(
    auto_error=False, scheme_name=ADMIN_SCHEME, description="The admin token, as a Bearer token."
)
_reader = HTTPBearer(
    auto_error=False,
    scheme_name=READER_SCHEME,
    description="A token of scope reader or admin, where the curator keeps its models for readers.",
)
_counts = HTTPBearer(auto_error=False, scheme_name=COUNTS_SCHEME)
_bearer = HTTPBearer(auto_error=False)
Credentials = HTTPAuthorizationCredentials | None
AdminToken = Annotated[Credentials, Security(_admin)]
ReaderToken = Annotated[Credentials, Security(_reader)]
CountsToken = Annotated[Credentials, Security(_counts)]
MAX_JSON_BYTES = 64 * 1024
"""Maximum size of a JSON body parsed on the event loop."""

T = TypeVar("T")
log = logging.getLogger(__name__)


def _curator(request: Request) -> Curator:
    curator: Curator = request.app.state.curator
    return curator


def require_admin(request: Request, credentials: AdminToken) -> None:
    request.state.actor = _actor(request, credentials, "admin")


def _require_fitter(request: Request, credentials: AdminToken) -> None:
    request.state.actor = _actor(request, credentials, "fitter")


def _actor(request: Request, credentials: Credentials, scope: str) -> str:
    if credentials is None:
        raise NotAuthorized(
            "This call needs the admin token: send it as 'Authorization: Bearer <token>'. "
            "The curator showed it at its first start, or reads it from PRIVET_ADMIN_TOKEN."
        )
    return _checked(request, credentials, scope)


def _require_reader(request: Request, credentials: ReaderToken) -> None:
    if request.app.state.guard_models:
        _check_reader(request, credentials, "models")


def _require_operator(request: Request, credentials: ReaderToken) -> None:
    if not request.app.state.open_metrics:
        _check_reader(request, credentials, "metrics")


def _check_reader(request: Request, credentials: Credentials, what: str) -> None:
    if credentials is None:
        raise NotAuthorized(
            f"This curator shows its {what} to readers only: "
            "ask its admin for a token of scope reader, and send it as "
            "'Authorization: Bearer <token>'."
        )
    _checked(request, credentials, "reader")


def _require_counts(request: Request, credentials: CountsToken) -> None:
    _check_reader(request, credentials, "counts of the reports so far")


def _require_shown(request: Request, credentials: ReaderToken) -> None:
    """To strangers a draft is not there, nor are its models."""
    if _is_reader(request, credentials):
        return
    task_id = request.path_params["task_id"]
    if request.app.state.curator.store.task(task_id).state is TaskState.DRAFT:
        raise no_task(task_id)


def _is_reader(request: Request, credentials: ReaderToken) -> bool:
    """Whether the caller has a token of scope reader or admin; a wrong one is refused."""
    if credentials is not None:
        _checked(request, credentials, "reader")
    return credentials is not None


def _sees_models(request: Request, credentials: ReaderToken) -> bool:
    """Whether the caller may see models: anybody, unless the curator keeps them for readers."""
    return not request.app.state.guard_models or _is_reader(request, credentials)


def _checked(request: Request, credentials: HTTPAuthorizationCredentials, scope: str) -> str:
    """The name of the caller's token; raises as ``Tokens.check``."""
    tokens: Tokens = request.app.state.tokens
    return tokens.check(credentials.credentials, scope, client_address(request.scope))


def note(request: Request, action: str, subject: str = "", **detail: Any) -> None:
    """Note in the audit log what the admin who calls has done."""
    request.app.state.tokens.audit.note(request.state.actor, action, subject, **detail)


AdminOnly: Any = Depends(require_admin)
Fitters: Any = Depends(_require_fitter)
ModelReader: Any = Depends(_require_reader)
MetricsReader: Any = Depends(_require_operator)
CountsReader: Any = Depends(_require_counts)
NoDraft: Any = Depends(_require_shown)
SeesModels = Annotated[bool, Depends(_sees_models)]
IsReader = Annotated[bool, Depends(_is_reader)]
TheCurator = Annotated[Curator, Depends(_curator)]
TaskId = Annotated[str, Path(description="The task's id.", examples=[EXAMPLE_ID])]
ModelNumber = Annotated[int, Path(description="The model's number, from 1.", examples=[1])]


class View(BaseModel):
    """Base of what calls answer with."""

    model_config = ConfigDict(frozen=True, allow_inf_nan=False)


def moment(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)


async def in_worker(
    request: Request, function: Callable[[Run], T], workers: Workers | None = None
) -> T:
    """``function(run)`` with a worker process for ``run``, as long as the caller waits for it.

    The request's body must have been read. Raises ``Overloaded`` if too many wait already, or if
    the curator stops meanwhile.
    """
    pool: Workers = request.app.state.workers if workers is None else workers
    work = asyncio.ensure_future(pool.call(lambda run: function(with_registries(run))))
    gone = asyncio.ensure_future(_disconnected(request))
    try:
        await asyncio.wait({work, gone}, return_when=asyncio.FIRST_COMPLETED)
        if work.done():
            return work.result()
    except asyncio.CancelledError:  # by the server, when its time to stop is over
        log.warning("%s was cancelled: the curator stops.", request.url.path)
        raise Overloaded("The curator is stopping: ask again when it is back.") from None
    finally:
        for task in (work, gone):
            task.cancel()
    log.info("%s was cancelled: its caller disconnected.", request.url.path)
    raise InvalidRequest("The connection ended before the answer was there: ask again.")


async def in_exporter(request: Request, function: Callable[[Run], T]) -> T:
    """``in_worker``, for what takes long and anybody may GET: it counts in the rate limit, and has
    places of its own."""
    rate: Rate = request.app.state.rate
    rate.take(client_address(request.scope))
    return await in_worker(request, function, request.app.state.exporters)


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
    except (_NotJson, UnicodeDecodeError) as error:
        raise json.JSONDecodeError(str(error), "", 0) from None
    except ValueError:
        raise json.JSONDecodeError("a whole number has too many digits", "", 0) from None
    except RecursionError:
        raise json.JSONDecodeError("it is nested too deeply", "", 0) from None


class StrictRoute(APIRoute):
    """A route that asks who calls before it reads the body, and reads JSON strictly.

    FastAPI reads bodies before it looks at dependencies, so those that authorize are called here
    first; as dependencies they are in the OpenAPI document.
    """

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()
        asked = {dependency.dependency for dependency in self.dependencies}
        authorizing = (require_admin, _require_fitter, _require_reader, _require_shown)
        checks = [check for check in authorizing if check in asked]

        async def strictly(request: Request) -> Response:
            credentials = await _bearer(request) if checks else None
            for check in checks:
                await run_in_threadpool(check, request, credentials)
            return await handle(StrictRequest(request.scope, request.receive))

        return strictly


class _NotJson(ValueError):
    """What Python would read and RFC 8259 does not have."""


def _refuse(constant: str) -> NoReturn:
    raise _NotJson(f"{constant} is not JSON: send a finite number, or null for a missing value")
