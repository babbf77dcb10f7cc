"""The relay's HTTP API: the endpoints for holders, and its status.

It reads no address and no time, and logs neither; nothing of a holder's request, such as its
``X-Request-ID``, goes on to the curator. It answers 202 where a curator answers 201: the
report is durable here and will be delivered, but is not in any sum yet. Whoever knows its id may
ask what became of it. Reports that the curator would refuse now are refused here, where it is known
that the task takes none, or only invited ones.
"""

import hmac
import logging
import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http import HTTPStatus
from typing import TypeVar

from anyio import to_thread
from prometheus_client import CONTENT_TYPE_LATEST
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Match, Route
from starlette.types import ASGIApp, Scope

from privet import page
from privet.http_client.address import TaskAddress
from privet.http_client.errors import is_of_curator
from privet.http_client.report_client import Offer, ReportClient
from privet.http_server.acceptance import read_typed
from privet.http_server.bodies import BodyBudget, Head, MemoryShare
from privet.http_server.headers import CORS, AddHeaders
from privet.http_server.metrics import FAILURES, ROUTE, CountCalls
from privet.http_server.problems import add_problem_handlers
from privet.http_server.readiness import Readiness
from privet.http_server.request_ids import RequestIds
from privet.http_server.task_calls import TaskCalls
from privet.http_server.turns import FairTurns
from privet.intake.layout import ReportLayout
from privet.intake.tasks import KnownTask, TaskCache
from privet.intake.upload import ReportUpload
from privet.protocol.calls import (
    GET_RECEIPT,
    HOLDER_CALLS,
    READ_REPORT,
    READ_STATUS,
    READ_TASK,
    RELAY,
    REPORT_ID,
    REPORT_MEDIA_TYPE,
    SEND_REPORT,
    SIGNATURE_HEADER,
    TASK,
    TASK_ID,
    TASK_MEDIA_TYPE,
    TASKS,
)
from privet.protocol.errors import (
    ERRORS_BY_URI,
    PROBLEM_BASE,
    NotAuthorized,
    PrivetError,
    ReportConflict,
    ReportNotFound,
    TaskNotFound,
)
from privet.protocol.lifecycle import (
    Phase,
    not_invited,
    not_open,
    quota_reached,
    report_state_for,
)
from privet.protocol.limits import MAX_REPORT_BYTES
from privet.protocol.receipts import hash_of
from privet.protocol.report import Report
from privet.protocol.status import RelayDescription
from privet.protocol.task import Task

from .errors import RELAY_FAILURES, CuratorDown, SpoolFailed
from .metrics import RelayMetrics
from .outcomes import CONFLICT, COUNTED, HELD
from .spool import Spool
from .status import BatchSizes, RelayStatus
from .task_watch import TaskWatch
from .writer import NOT_STORED, SpoolWriter, check_possible, stored_report

MAX_BODY_MEMORY = 64 * 2**20
"""Bytes of all bodies in memory, on their way into the spool."""
NO_TASK = "0" * 64
KEY_SECONDS = 60.0
"""Time for which the curator's key is not asked for again."""
ADDRESSES = (
    f"A relay has /answer/{{id}} for people, {TASK}, and below it "
    f"{', '.join(call.below for call in HOLDER_CALLS if call.below)}"
)
HINTS = {
    404: f"There is nothing at this address. {ADDRESSES}.",
    405: f"This address does not take this method. {ADDRESSES}; POST reports and receipts, "
    "GET the others.",
}

T = TypeVar("T")
log = logging.getLogger(__name__)


class Relay:
    """Takes reports for the tasks of one curator; ``writer`` writes them, a group at a time.

    Raises ``UnsafeAddress`` if reports may not be sent to the address ``curator``.
    """

    def __init__(
        self,
        client: ReportClient,
        curator: str,
        spool: Spool,
        sizes: BatchSizes,
        *,
        clock: Callable[[], float] = time.time,
        as_files: bool = False,
        one_operator: bool = False,
    ) -> None:
        self._client = client
        checked = client.address(f"{curator.rstrip('/')}{TASKS}/{NO_TASK}")
        self._tasks = checked.url.removesuffix(NO_TASK)
        self._spool = spool
        self._sizes = sizes
        self._as_files = as_files
        self._one_operator = one_operator
        self._key: tuple[float, str | None] | None = None
        self.watch = TaskWatch(client, self.address, wall=clock)
        self._readiness = Readiness(spool.check)
        self._clock = clock
        self.writer = SpoolWriter(spool)
        self.tasks = TaskCache(self._task, KnownTask)
        self.budget = BodyBudget(MAX_BODY_MEMORY)

    def address(self, task_id: str) -> TaskAddress:
        return TaskAddress(f"{self._tasks}{task_id}", task_id)

    async def get_readiness(self, _request: Request) -> Response:
        """True if the spool was written within the last seconds."""
        try:
            await self._readiness.check()
        except SpoolFailed as error:  # whose detail is for the log
            raise type(error)("The relay cannot store reports now: ask again later.") from error
        return JSONResponse({"status": "ready"})

    async def get_task(self, request: Request) -> Response:
        """The task, with the curator's signature; a browser is led to the answer page."""
        if "text/html" in request.headers.get("accept", ""):
            way = f"../../answer/{request.path_params['task_id']}"
            return RedirectResponse(way, 303, headers={"Vary": "Accept"})
        offer = await self._offer(request)
        signature = offer.signature
        headers = {} if signature is None else {SIGNATURE_HEADER: signature.header}
        headers["Vary"] = "Accept"
        return Response(offer.task.canonical, headers=headers, media_type=TASK_MEDIA_TYPE)

    async def get_status(self, request: Request) -> Response:
        """This relay's status of a task."""
        task = (await self._offer(request)).task
        tallies = await self._in_spool(self._spool.tallies, task.id)
        collection = await self.watch.look(task.id)
        status = await to_thread.run_sync(RelayStatus.of, task, self._sizes, tallies, collection)
        more = {"as_files": self._as_files, "one_operator": self._one_operator}
        return JSONResponse({**status.model_dump(), **more})

    async def get_description(self, _request: Request) -> Response:
        """This relay's curator, by its key, and how many reports it forwards together."""
        now = self._clock()
        if self._key is None or abs(now - self._key[0]) > KEY_SECONDS:
            with _curator_down():
                self._key = (now, await self._client.curator_key(self.address(NO_TASK)))
        said = RelayDescription(
            curator_key=self._key[1],
            least=self._sizes.least,
            smallest_batch=self._sizes.smallest,
            as_files=self._as_files,
            one_operator=self._one_operator,
        )
        return JSONResponse(said.model_dump())

    async def get_report_status(self, request: Request) -> Response:
        task_id, report_id = request.path_params["task_id"], request.path_params["report_id"]
        state = None
        if re.fullmatch(TASK_ID, task_id) and re.fullmatch(REPORT_ID, report_id):
            state = await self._in_spool(self._spool.state, task_id, bytes.fromhex(report_id))
        if state is None:
            raise ReportNotFound(
                "This relay does not know the report, or no longer does: send the same bytes again."
            )
        if state in {HELD, COUNTED}:
            return JSONResponse({"report": report_id, "state": state, "reason": None})
        became = report_state_for(state)
        return JSONResponse({"report": report_id, "state": became, "reason": state})

    async def take(
        self, task: KnownTask, layout: ReportLayout, body: bytes, invitation: bytes | None
    ) -> HTTPStatus:
        """Keep one report; 202 where it is held from now on or was before, 200 where it counts."""
        refusal = await self._refusal(task.task)
        if refusal is None or (isinstance(refusal, NotAuthorized) and invitation is not None):
            state = await self.writer.put(task, layout, body, invitation)
        else:  # what it took in time it has not forgotten
            await to_thread.run_sync(check_possible, task.task, layout, body)
            stored = stored_report(task.id, layout, body, invitation)
            earlier = await self._in_spool(self._spool.known, stored)
            if earlier not in {HELD, COUNTED, CONFLICT}:
                raise refusal
            state = str(earlier)
        if state == CONFLICT:
            raise ReportConflict(
                "This report id was taken here with other answers. A stored report must be sent "
                "again byte for byte; a new report needs a new random id."
            )
        if state not in {HELD, COUNTED}:
            raise ERRORS_BY_URI.get(PROBLEM_BASE + state, ReportConflict)(
                f"The curator refused this report in a batch ({state}). It will not be "
                "resent: a second batch could single it out."
            )
        return HTTPStatus.OK if state == COUNTED else HTTPStatus.ACCEPTED

    def refused(self, task_id: str, error: PrivetError) -> None:
        """Forget a task that is no more."""
        if isinstance(error, TaskNotFound):
            self.tasks.forget(task_id)

    async def post_receipt(self, request: Request) -> Response:
        """The curator's receipt for a report that it counted; the curator is not asked."""
        with MemoryShare(self.budget) as share:
            head = Head.of(request.scope)
            body = await read_typed(
                request.receive, head, REPORT_MEDIA_TYPE, limit=MAX_REPORT_BYTES, share=share
            )
            report = await to_thread.run_sync(Report.unpack, body)
        task_id = request.path_params["task_id"]
        receipt = await self._in_spool(self._spool.receipt, task_id, report.id, hash_of(report))
        if receipt is None:
            raise ReportNotFound("This relay has no receipt from its curator for this report.")
        return JSONResponse(receipt.model_dump())

    async def _refusal(self, task: Task) -> PrivetError | None:
        """The error with which the curator would refuse a new report without an invitation, if
        known."""
        collection = await self.watch.look(task.id)
        closed = task.closes is not None and self._clock() - self.watch.ahead >= task.closes
        if not closed and collection is not None and collection.phase is Phase.FULL:
            return quota_reached()
        if closed or (collection is not None and not collection.collecting):
            return not_open(task)
        return not_invited() if collection is not None and collection.invited else None

    async def _offer(self, request: Request) -> Offer:
        """The task that a request's path names, from the curator and checked."""
        return await self._offered(request.path_params["task_id"])

    async def _offered(self, task_id: str) -> Offer:
        if not re.fullmatch(TASK_ID, task_id):
            raise TaskNotFound("There is no such task: an id has 64 hexadecimal digits.")
        with _curator_down():
            return await self._client.offer(self.address(task_id))

    async def _task(self, task_id: str) -> Task:
        return (await self._offered(task_id)).task

    async def _in_spool(self, verb: Callable[..., T], *args: object) -> T:
        """Call the spool in a thread; its errors are logged, and reach senders without details."""
        try:
            return await to_thread.run_sync(verb, *args)
        except SpoolFailed as error:
            log.error("nothing was stored: %s", error.detail)  # noqa: TRY400 - the detail says all
            raise type(error)(NOT_STORED) from None


class _NamedRoute(Route):
    """A route that puts its path into the call's scope, for metrics."""

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        match, child_scope = super().matches(scope)
        return match, {**child_scope, ROUTE: self.path}


async def _answer_page(request: Request) -> Response:
    if "service-worker" in request.headers:  # which would stand between people and this page
        raise HTTPException(403, "Nothing here serves as a service worker.")
    name = request.path_params["name"]
    task_url = f"..{TASKS}/{name}"
    file = page.INDEX if re.fullmatch(TASK_ID, name) or name == page.PREVIEW else name
    reply = None if name == page.INDEX else page.served(file, task_url, request.headers)
    if reply is None:
        raise HTTPException(404)
    return Response(reply.body, reply.status, reply.headers)


def create_app(
    relay: Relay, metrics: RelayMetrics | None = None, metrics_token: str | None = None
) -> ASGIApp:
    """The ASGI application of a relay.

    With ``metrics`` there is ``/metrics``, for whoever has ``metrics_token``.
    """

    async def health(_request: Request) -> Response:
        return JSONResponse({"status": "ok"})

    async def get_metrics(request: Request) -> Response:
        token, needed = Head.of(request.scope).token or "", metrics_token or ""
        if not needed or not hmac.compare_digest(token.encode(), needed.encode()):
            raise NotAuthorized("Metrics need the token that the relay's operator has set.")
        assert metrics is not None  # noqa: S101  # else there is no such route
        text = await to_thread.run_sync(metrics.text)
        return Response(text, media_type=CONTENT_TYPE_LATEST)

    async def not_here(_request: Request) -> Response:
        raise NotImplementedError  # ReportUpload answers; other methods are refused by this route

    calls = {
        SEND_REPORT: not_here,
        READ_REPORT: relay.get_report_status,
        GET_RECEIPT: relay.post_receipt,
        READ_TASK: relay.get_task,
        READ_STATUS: relay.get_status,
    }
    app = Starlette(
        routes=[
            *([] if metrics is None else [_NamedRoute("/metrics", get_metrics)]),
            *(
                _NamedRoute(each.path, answer, methods=[each.method])
                for each, answer in calls.items()
            ),
            _NamedRoute(RELAY, relay.get_description, methods=["GET"]),
            _NamedRoute("/answer/{name}", _answer_page),
            _NamedRoute("/healthz", health),
            _NamedRoute("/readyz", relay.get_readiness),
        ]
    )
    app.router.redirect_slashes = False
    add_problem_handlers(app, HINTS)
    say_problem = app.exception_handlers[HTTPException]

    async def on_no_address(request: Request, error: Exception) -> Response:
        """A page for people, whose links may be cut; a problem document for programs."""
        is_person = request.method == "GET" and "text/html" in request.headers.get("accept", "")
        if is_person and getattr(error, "status_code", 0) == HTTPStatus.NOT_FOUND:
            lost = page.served(page.LOST, "", request.headers)
            assert lost is not None  # noqa: S101  # which is there
            return Response(lost.body, lost.status, lost.headers)
        said: Response = await say_problem(request, error)
        return said

    app.add_exception_handler(HTTPException, on_no_address)
    upload = ReportUpload(relay, CORS)
    stack: ASGIApp = TaskCalls(FairTurns(AddHeaders(app, (), cors=True)), {SEND_REPORT: upload})
    if metrics is not None:
        metrics.expect(app.routes, (*FAILURES, *RELAY_FAILURES))
        stack = CountCalls(stack, metrics)
    return RequestIds(stack)


@contextmanager
def _curator_down() -> Iterator[None]:
    """Raise ``CuratorDown`` if the curator does not answer, or not as a curator does."""
    try:
        yield
    except PrivetError as error:
        if is_of_curator(error):
            raise
        log.warning("the curator does not answer: %s", error.detail)
        raise CuratorDown(
            "The relay gets no answer from its curator, so it cannot check anything: try again "
            "later."
        ) from None
