"""POST /v1/tasks/{id}/reports as a plain ASGI callable, in front of the web framework.

No model validation, no routing and no copies on the way: a canonical report is recognized by its
layout, queued, and answered after the commit. Whatever else comes is read the slow way, by
``protocol.report.Report``, which knows how to say what is wrong with it.
"""

import hashlib
import json
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.types import Receive, Scope, Send

from curator.api.problems import problem_document, problem_headers
from curator.intake.bodies import Head, read_body
from curator.intake.columns import Gate
from curator.intake.committer import Answer, Committer
from curator.intake.rejects import Rejects
from curator.metrics import Metrics
from curator.storage.base import Outcome, Store
from protocol.errors import (
    MalformedReport,
    NotAuthorized,
    PrivetError,
    ReportConflict,
    StorageFailed,
    TaskNotFound,
    TaskNotOpen,
    problem_of,
)
from protocol.limits import MAX_REPORT_BYTES
from protocol.report import Report

PREFIX = "/v1/tasks/"
SINGLE = "/reports"
BATCH = "/reports/batch"
TASK_ID_LETTERS = 64
MOST_GATES = 1024
JSON_FACTOR = 2

Headers = list[tuple[bytes, bytes]]


class Intake:
    """The report calls of one curator."""

    def __init__(
        self,
        store: Store,
        committer: Committer,
        rejects: Rejects,
        metrics: Metrics,
        *,
        body_seconds: float,
    ) -> None:
        self._store = store
        self._committer = committer
        self._rejects = rejects
        self._metrics = metrics
        self._body_seconds = body_seconds
        self._gates: dict[str, Gate] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one POST of a report; the last segment but one of the path is the task's id."""
        path = scope["path"]
        task_id = path[len(PREFIX) : -len(SINGLE)]
        try:
            report_id, outcome = await self._report(task_id, Head.of(scope), receive)
        except PrivetError as error:
            self._refused(task_id, error)
            await send_problem(send, error, path)
            return
        self._metrics.reported(outcome.name.lower())
        counted = outcome is Outcome.COUNTED
        body = b'{"report":"%b","counted":%b}' % (
            report_id.hex().encode(),
            b"true" if counted else b"false",
        )
        await send_answer(send, 201 if counted else 200, body)

    async def _report(self, task_id: str, head: Head, receive: Receive) -> tuple[bytes, Outcome]:
        gate = self._gates.get(task_id) or await self._load(task_id)
        limit = MAX_REPORT_BYTES * (JSON_FACTOR if head.is_json else 1)
        body = await read_body(receive, head, limit, self._body_seconds)
        if head.is_json:
            body = _from_json(body).pack()
        layout = gate.layouts.find(body)
        if layout is None:
            raise await run_in_threadpool(_fault, gate, body)
        invitation = None if head.invitation is None else hashlib.sha256(head.invitation).digest()
        answer = await self._committer.commit(gate, layout, body, invitation)
        return layout.report_id(body), await self._accepted(gate, answer)

    async def _accepted(self, gate: Gate, answer: Answer) -> Outcome:
        """The outcome if the report is durable; raises what its sender should hear otherwise."""
        if isinstance(answer, PrivetError):
            raise answer
        if answer is Outcome.CONFLICT:
            raise conflict()
        if answer is Outcome.NOT_INVITED:
            raise not_invited()
        if answer is Outcome.NOT_OPEN:
            raise await self._closed(gate.task_id)
        return answer

    async def _load(self, task_id: str) -> Gate:
        stored = await run_in_threadpool(self._store.task, task_id)
        gate = await run_in_threadpool(Gate, stored.task)
        if len(self._gates) >= MOST_GATES:
            self._gates.pop(next(iter(self._gates)))
        self._gates[task_id] = gate
        return gate

    async def _closed(self, task_id: str) -> PrivetError:
        """Why a task takes no reports: it is not open, or it is gone."""
        try:
            stored = await run_in_threadpool(self._store.task, task_id)
        except TaskNotFound as error:
            self._gates.pop(task_id, None)
            return error
        opens, closes = stored.task.opens, stored.task.closes
        return TaskNotOpen(
            f"The task is {stored.state} and takes no reports now (it opens: "
            f"{_moment(opens)}, closes: {_moment(closes)}). Keep the report and send the same "
            "bytes when it is open."
        )

    def _refused(self, task_id: str, error: PrivetError) -> None:
        reason = problem_of(error).name
        self._metrics.reported(reason)
        if task_id in self._gates and not isinstance(error, StorageFailed):
            self._rejects.add(task_id, reason)


def _moment(seconds: int | None) -> str:
    return "not set" if seconds is None else f"Unix time {seconds}"


def _from_json(body: bytes) -> Report:
    try:
        fields = json.loads(body)
    except (ValueError, RecursionError):
        raise MalformedReport(
            "The body is not JSON: send a report as docs/protocol.md says."
        ) from None
    return Report.from_json(fields)


def _fault(gate: Gate, body: bytes) -> PrivetError:
    """What is wrong with a body that has none of the task's layouts."""
    try:
        Report.unpack(body).check(gate.task)
    except PrivetError as error:
        return error
    return MalformedReport("The body is not a canonical report for this task.")


def conflict() -> ReportConflict:
    """The error for a second report under one id."""
    return ReportConflict(
        "This report id was counted before with other answers, and still is. A stored report must "
        "be sent again byte for byte; a new report needs a new random id."
    )


def not_invited() -> NotAuthorized:
    """The error for a report without a good invitation."""
    return NotAuthorized(
        "This task counts invited reports only: send an unused invitation in the header "
        "Privet-Invitation."
    )


async def send_answer(
    send: Send, status: int, body: bytes, content_type: bytes = b"application/json"
) -> None:
    """One whole JSON response."""
    headers = [(b"content-type", content_type), (b"content-length", b"%d" % len(body))]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


async def send_problem(send: Send, error: PrivetError, path: str) -> None:
    """``error`` as a problem document."""
    document: dict[str, Any] = problem_document(error, path)
    body = json.dumps(document).encode()
    headers: Headers = [
        (b"content-type", b"application/problem+json"),
        (b"content-length", b"%d" % len(body)),
        *[(k.lower().encode(), v.encode()) for k, v in problem_headers(error).items()],
    ]
    await send({"type": "http.response.start", "status": document["status"], "headers": headers})
    await send({"type": "http.response.body", "body": body})
