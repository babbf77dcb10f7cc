"""The relay's HTTP: what holders ask of a curator, batches of other relays, and its own status.

It reads no address and no time, and logs neither. It answers 202 where a curator answers 201: the
report is durable here and will be delivered, but is not in any sum yet. Whoever knows its id may
ask what became of it. Reports that the curator would refuse now are refused here, where it is known
that the task takes none, or only invited ones.
"""

import asyncio
import hashlib
import hmac
import logging
import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from anyio import to_thread
from prometheus_client import CONTENT_TYPE_LATEST
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Match, Route
from starlette.types import Scope

from privet import page
from privet.http_client.address import TaskAddress
from privet.http_client.errors import CuratorUnreachable, UnexpectedAnswer
from privet.http_client.report_client import Offer, ReportClient
from privet.http_server.bodies import BodyBudget, Head, Turns, read_body
from privet.http_server.cors import HolderCors
from privet.http_server.metrics import ROUTE, CountCalls
from privet.http_server.problems import add_problem_handlers, problem_response
from privet.protocol.batch import Admission, Batch
from privet.protocol.errors import (
    ERRORS_BY_URI,
    PROBLEM_BASE,
    NotAuthorized,
    Overloaded,
    PrivetError,
    ReportConflict,
    ReportNotFound,
    TaskNotFound,
    TaskNotOpen,
    WrongPayload,
    problem_of,
)
from privet.protocol.lifecycle import not_invited, not_open
from privet.protocol.limits import MAX_REPORT_BYTES
from privet.protocol.report import Receipt, Report
from privet.protocol.signature import SIGNATURE_HEADER
from privet.protocol.task import TASK_MEDIA_TYPE, Task

from .errors import CuratorDown, RelayError, SpoolFailed
from .metrics import RelayMetrics
from .spool import CONFLICT, COUNTED, HELD, MAX_BODY_MEMORY, Spool, StoredReport
from .status import RelayStatus
from .task_watch import TaskWatch

MAX_WAITING = 10_000
MAX_TOGETHER = 2_000
MAX_BATCHES, MAX_WAITING_BATCHES = 4, 64
"""Batches written at a time, and complete ones that may wait for that."""
MAX_BATCH_BYTES = 16 * 2**20
BODY_SECONDS = 30.0
SPARE_BYTES = 2**16
"""How much longer than twice a report a body may be and still hear what is wrong with it."""
LARGE = 2**14
"""Bytes of a report above which another thread looks at it."""
TASK_ID = re.compile(r"[0-9a-f]{64}")
REPORT_ID = re.compile(r"[0-9a-f]{32}")
NO_TASK = "0" * 64
ADDRESSES = (
    "A relay has /answer/{id} for people, /v1/tasks/{id}, and below it /reports, /reports/{id}, "
    "/reports/batch, /admissions and /status"
)
HINTS = {
    404: f"There is nothing at this address. {ADDRESSES}.",
    405: f"This address does not take this method. {ADDRESSES}; POST reports and admissions, GET "
    "the others.",
}

T = TypeVar("T")
log = logging.getLogger(__name__)


@dataclass
class Waiting:
    """A report whose sender waits for it to be durable."""

    report: StoredReport
    kept: asyncio.Future[str]


class Relay:
    """Takes reports for the tasks of one curator; ``run`` writes them, a group at a time.

    All bodies together have ``body_memory`` bytes. Other relays send batches with ``peer_token``;
    without one no batch is taken. Raises ``UnsafeAddress`` if ``curator`` is no
    address that reports may be sent to.
    """

    def __init__(
        self,
        client: ReportClient,
        curator: str,
        spool: Spool,
        least: int,
        *,
        body_memory: int = MAX_BODY_MEMORY,
        peer_token: str | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._client = client
        checked = client.address(f"{curator.rstrip('/')}/v1/tasks/{NO_TASK}")
        self._tasks = checked.url.removesuffix(NO_TASK)
        self._spool = spool
        self._least = least
        self._peer_token = peer_token
        self.watch = TaskWatch(client, self.address)
        self._clock = clock
        self._queue: asyncio.Queue[Waiting] = asyncio.Queue(MAX_WAITING)
        self._turns = Turns(MAX_BATCHES, MAX_WAITING_BATCHES)
        self._budget = BodyBudget(max(body_memory, MAX_BATCH_BYTES))

    def address(self, task_id: str) -> TaskAddress:
        """Where the curator publishes a task."""
        return TaskAddress(f"{self._tasks}{task_id}", task_id)

    async def run(self) -> None:
        """Write what waits until cancelled; those who wait for it hear of a failing disk."""
        while True:
            group = [await self._queue.get()]
            while len(group) < MAX_TOGETHER and not self._queue.empty():
                group.append(self._queue.get_nowait())
            try:
                kept = await self._in_spool(self._spool.add, [entry.report for entry in group])
            except SpoolFailed as error:
                for entry in group:
                    if not entry.kept.done():
                        entry.kept.set_exception(error)
                continue
            for entry, done in zip(group, kept, strict=True):
                if not entry.kept.done():
                    entry.kept.set_result(done)

    async def get_task(self, request: Request) -> Response:
        """The task, with the curator's signature."""
        offer = await self._offer(request)
        signature = offer.signature
        headers = {} if signature is None else {SIGNATURE_HEADER: signature.header}
        return Response(offer.task.canonical, headers=headers, media_type=TASK_MEDIA_TYPE)

    async def get_status(self, request: Request) -> Response:
        """What this relay states of a task."""
        task = (await self._offer(request)).task
        tallies = await self._in_spool(self._spool.tallies, task.id)
        found = await self.watch.look(task.id)
        status = RelayStatus.of(task.id, task.epsilon, self._least, tallies, found)
        return JSONResponse(status.model_dump())

    async def get_fate(self, request: Request) -> Response:
        """What became of one report."""
        task, own = request.path_params["task_id"], request.path_params["report_id"]
        fate = None
        if TASK_ID.fullmatch(task) and REPORT_ID.fullmatch(own):
            fate = await self._in_spool(self._spool.fate, task, bytes.fromhex(own))
        if fate is None:
            raise ReportNotFound(
                "This relay knows no such report, or no longer: send the same bytes again."
            )
        if fate in {HELD, COUNTED}:
            return JSONResponse({"report": own, "state": fate, "reason": None})
        return JSONResponse({"report": own, "state": "refused", "reason": fate})

    async def post_report(self, request: Request) -> Response:
        """Keep one report and answer when it is durable."""
        task = (await self._offer(request)).task
        head = Head.of(request.scope)
        refusal = await self._refusal(task)
        if isinstance(refusal, NotAuthorized) and head.invitation is not None:
            refusal = None  # the curator knows whether it is a good one
        with self._budget.share() as share:
            limit = min(MAX_REPORT_BYTES, 2 * task.longest_report + SPARE_BYTES)
            body = await read_body(
                request.receive, head, limit=limit, seconds=BODY_SECONDS, share=share
            )
            if len(body) > LARGE:
                report = await to_thread.run_sync(_checked, task, body)
            else:
                report = _checked(task, body)
            if refusal is not None:
                fate = await self._in_spool(self._spool.fate, task.id, report.id)
                if fate not in {HELD, COUNTED}:
                    raise refusal
            kept = await self._queued(_stored(task, report, head.invitation))
        if kept == CONFLICT:
            raise ReportConflict("This report id waits here with other bytes: draw a new id.")
        if kept not in {HELD, COUNTED}:
            raise ERRORS_BY_URI.get(PROBLEM_BASE + kept, ReportConflict)(
                f"The curator refused this report in a batch ({kept}). It is not sent a second "
                "time: in other company it might be told apart."
            )
        receipt = Receipt(report=report.id.hex(), counted=False)
        return JSONResponse(receipt.model_dump(), 200 if kept == COUNTED else 202)

    async def _queued(self, report: StoredReport) -> str:
        """Wait until ``run`` has written a report."""
        entry = Waiting(report, asyncio.get_running_loop().create_future())
        try:
            self._queue.put_nowait(entry)
        except asyncio.QueueFull:
            raise Overloaded("The relay's queue is full: send the report again later.") from None
        return await entry.kept

    async def post_admission(self, request: Request) -> Response:
        """Pass another relay's admission on, and the curator's answer back."""
        self._check_peer(request)
        task = (await self._offer(request)).task
        head = Head.of(request.scope)
        with self._budget.share() as share:
            body = await read_body(
                request.receive, head, limit=MAX_BATCH_BYTES, seconds=BODY_SECONDS, share=share
            )
            async with self._turns:
                await to_thread.run_sync(Admission.unpack, body)
                reply = await self._client.send_admission(self.address(task.id), body)
        return Response(reply, media_type="application/json")

    def _check_peer(self, request: Request) -> None:
        token = Head.of(request.scope).token or ""
        if self._peer_token is None or not hmac.compare_digest(
            token.encode(), self._peer_token.encode()
        ):
            raise NotAuthorized(
                "This relay takes batches of relays that it knows: its operator sets "
                "PRIVET_RELAY_PEER_TOKEN here, and you send that as your PRIVET_RELAY_TOKEN."
            )

    async def post_batch(self, request: Request) -> Response:
        """Keep another relay's batch; say how many are durable, and which are impossible."""
        self._check_peer(request)
        task = (await self._offer(request)).task
        refusal = await self._refusal(task)
        if isinstance(refusal, TaskNotOpen):
            raise refusal
        with self._budget.share() as share:
            head = Head.of(request.scope)
            body = await read_body(
                request.receive, head, limit=MAX_BATCH_BYTES, seconds=BODY_SECONDS, share=share
            )
            async with self._turns:
                possible, failed = await to_thread.run_sync(_sorted_out, task, body, bool(refusal))
                if len(possible):
                    await self._in_spool(self._spool.add_batch, task.id, possible)
        return JSONResponse({"held": len(possible), "failed": failed}, 202)

    async def _refusal(self, task: Task) -> PrivetError | None:
        """Why the curator would refuse a new report without an invitation, as far as is known."""
        found = await self.watch.look(task.id)
        closed = task.closes is not None and self._clock() >= task.closes
        if closed if found is None else not found.collecting:
            return not_open(task)
        return not_invited() if found is not None and found.invited else None

    async def _offer(self, request: Request) -> Offer:
        """The task that a request's path names, from the curator and checked."""
        task_id = request.path_params["task_id"]
        if not TASK_ID.fullmatch(task_id):
            raise TaskNotFound("There is no such task: an id has 64 hexadecimal digits.")
        try:
            return await self._client.offer(self.address(task_id))
        except (CuratorUnreachable, UnexpectedAnswer) as error:
            log.warning("the curator does not answer: %s", error.detail)
            raise CuratorDown(
                "The relay gets no answer from its curator, so it cannot check anything: try again "
                "later."
            ) from None

    async def _in_spool(self, verb: Callable[..., T], *args: object) -> T:
        """Call the spool in a thread; its errors are for the log, and less is said to senders."""
        try:
            return await to_thread.run_sync(verb, *args)
        except SpoolFailed as error:
            log.error("nothing was stored: %s", error.detail)  # noqa: TRY400 - the detail says all
            raise type(error)("The relay could not store this: send it again later.") from None


class _NamedRoute(Route):
    """A route that a call's scope names."""

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        match, found = super().matches(scope)
        return match, {**found, ROUTE: self.path}


def create_app(
    relay: Relay, metrics: RelayMetrics | None = None, metrics_token: str | None = None
) -> Starlette:
    """The ASGI application of a relay whose ``run`` is running.

    With ``metrics`` there is ``/metrics``, for whoever has ``metrics_token``.
    """

    async def health(_request: Request) -> Response:
        return JSONResponse({"status": "ok"})

    async def get_metrics(request: Request) -> Response:
        token = Head.of(request.scope).token or ""
        if not hmac.compare_digest(token.encode(), str(metrics_token).encode()):
            raise NotAuthorized("Metrics need the token that the relay's operator has set.")
        assert metrics is not None  # noqa: S101  # else there is no such route
        text = await to_thread.run_sync(metrics.text)
        return Response(text, media_type=CONTENT_TYPE_LATEST)

    async def answer_page(request: Request) -> Response:
        name = request.path_params["name"]
        task_url = f"../v1/tasks/{name}"
        if TASK_ID.fullmatch(name):
            headers = page.headers(page.INDEX, task_url)
            return Response(page.index(task_url), headers=headers)
        if name not in page.FILES or name == page.INDEX:
            raise HTTPException(404)
        return Response(page.FILES[name], headers=page.headers(name, task_url))

    async def on_relay_error(request: Request, error: Exception) -> Response:
        assert isinstance(error, RelayError)  # noqa: S101  # what the handler is registered for
        return problem_response(error, request.url.path, error.status)

    task = "/v1/tasks/{task_id}"
    counting = [] if metrics is None else [Middleware(CountCalls, metrics=metrics)]
    app = Starlette(
        routes=[
            *([] if metrics is None else [_NamedRoute("/metrics", get_metrics)]),
            _NamedRoute(f"{task}/reports", relay.post_report, methods=["POST"]),
            _NamedRoute(f"{task}/reports/batch", relay.post_batch, methods=["POST"]),
            _NamedRoute(f"{task}/reports/{{report_id}}", relay.get_fate),
            _NamedRoute(f"{task}/admissions", relay.post_admission, methods=["POST"]),
            _NamedRoute(task, relay.get_task),
            _NamedRoute(f"{task}/status", relay.get_status),
            _NamedRoute("/answer/{name}", answer_page),
            _NamedRoute("/healthz", health),
        ],
        middleware=[*counting, Middleware(HolderCors)],
    )
    app.router.redirect_slashes = False
    add_problem_handlers(app, HINTS)
    app.add_exception_handler(RelayError, on_relay_error)
    return app


def _checked(task: Task, body: bytes) -> Report:
    report = Report.unpack(body)
    report.check(task)
    return report


def _stored(task: Task, report: Report, invitation: bytes | None) -> StoredReport:
    """What is kept of a report."""
    questions, payloads = zip(*report.answers, strict=True)
    digest = None if invitation is None else hashlib.sha256(invitation).digest()
    return StoredReport(task.id, questions, report.id, b"".join(payloads), digest)


def _sorted_out(
    task: Task,
    body: bytes,
    invited: bool,
) -> tuple[Batch, dict[str, list[str]]]:
    """The reports of a batch that may count, and the ids of the others by reason."""
    batch = Batch.unpack(body, task)
    valid = batch.valid(task)
    admitted = np.full(len(batch), not invited or bool(batch.admissions))
    wrong = [(WrongPayload(""), ~valid), (NotAuthorized(""), valid & ~admitted)]
    failed = {
        problem_of(error).name: [row.tobytes().hex() for row in batch.ids[rows]]
        for error, rows in wrong
        if rows.any()
    }
    return (batch.take(valid & admitted) if failed else batch), failed
