"""POST /v1/tasks/{id}/reports as a plain ASGI callable, in front of the web framework.

No model validation, no routing and no copies on the way: a canonical report is recognized by its
layout, queued, and answered after the commit. Whatever else comes is read the slow way, by
``privet.protocol.report.Report``, which knows how to say what is wrong with it.
"""

import hashlib
import json
from collections.abc import Sequence

from starlette.concurrency import run_in_threadpool
from starlette.types import ASGIApp, Receive, Scope, Send

from privet.http_server.bodies import BodyBudget, Head, Share, read_body
from privet.http_server.problems import problem_response
from privet.protocol.errors import (
    MalformedReport,
    PrivetError,
    StorageFailed,
    TaskNotFound,
    UnsupportedMediaType,
    problem_of,
)
from privet.protocol.report import REPORT_ID_BYTES, REPORT_MEDIA_TYPE, Report

from ..metrics import Metrics
from .rejects import Rejects
from .task_cache import CachedTask, TaskCache
from .writer import Writer

TASKS = "/v1/tasks/"
BINARY_TYPES = frozenset({b"", REPORT_MEDIA_TYPE.encode()})
JSON_TYPE = b"application/json"

Headers = Sequence[tuple[bytes, bytes]]


class ReportUpload:
    """Answers the call for one report, in front of ``app``, which gets all other calls.

    Nothing stands in front of it that every answer has to pass, so it adds ``headers`` itself.
    """

    def __init__(
        self,
        app: ASGIApp,
        tasks: TaskCache,
        writer: Writer,
        rejects: Rejects,
        metrics: Metrics,
        budget: BodyBudget,
        *,
        body_seconds: float,
        headers: Headers = (),
    ) -> None:
        self._app = app
        self._tasks = tasks
        self._writer = writer
        self._rejects = rejects
        self._metrics = metrics
        self._budget = budget
        self._body_seconds = body_seconds
        self._headers = headers
        self._receipts = {
            counted: (status, end, _receipt_headers(end, headers))
            for counted, status, end in ((True, 201, COUNTED), (False, 200, REPLAYED))
        }
        """By whether a report counts from now on: status, what follows its id, headers."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a POST of a report; pass all other calls on."""
        task_id = task_of_call(scope, "/reports")
        if task_id is None:
            await self._app(scope, receive, send)
            return
        try:
            task = self._tasks.get(task_id) or await self._tasks.load(task_id)
            head = Head.of(scope)
            with self._budget.share() as share:
                body = await self._body(task, head, receive, share)
                layout = task.layout_of(body)
                if layout is None:
                    raise await run_in_threadpool(_fault, task, body)
                invitation = head.invitation and hashlib.sha256(head.invitation).digest()
                counted = await self._writer.put(task, layout, body, invitation)
        except PrivetError as error:
            self._refuse(task_id, error)
            response = problem_response(error, scope["path"])
            response.raw_headers.extend(self._headers)
            await response(scope, receive, send)
            return
        status, end, headers = self._receipts[counted]
        receipt = b'{"report":"%b%b' % (layout.report_id(body).hex().encode(), end)
        await send({"type": "http.response.start", "status": status, "headers": [*headers]})
        await send({"type": "http.response.body", "body": receipt})

    async def _body(self, task: CachedTask, head: Head, receive: Receive, share: Share) -> bytes:
        """The report in its canonical form, or what was sent in its place."""
        is_json = head.media_type == JSON_TYPE
        if not is_json and head.media_type not in BINARY_TYPES:
            raise UnsupportedMediaType(
                f"Send a report as {REPORT_MEDIA_TYPE}, or as application/json for tries by hand, "
                f"not as {head.media_type[:100].decode('latin-1')}."
            )
        limit, seconds = task.max_body_bytes, self._body_seconds
        body = await read_body(receive, head, limit=limit, seconds=seconds, share=share)
        return await run_in_threadpool(_from_json, body) if is_json else body

    def _refuse(self, task_id: str, error: PrivetError) -> None:
        reason = problem_of(error).name
        self._metrics.reported(reason, task_id if self._tasks.get(task_id) else "")
        if isinstance(error, TaskNotFound):
            self._tasks.forget(task_id)
        elif not isinstance(error, StorageFailed):
            self._rejects.add(task_id, reason)


def _from_json(body: bytes) -> bytes:
    """A JSON report in its canonical form."""
    try:
        fields = json.loads(body)
    except (ValueError, RecursionError):
        raise MalformedReport(
            "The body is not JSON: send {version, task, id, answers} as /docs shows."
        ) from None
    return Report.from_json(fields).pack()


def _fault(task: CachedTask, body: bytes) -> PrivetError:
    """What is wrong with a body that has none of the task's layouts."""
    try:
        Report.unpack(body).check(task.task)
    except PrivetError as error:
        return error
    return MalformedReport("The body is not a canonical report for this task.")


COUNTED, REPLAYED = b'","counted":true}', b'","counted":false}'
"""The ends of the JSON form of ``protocol.report.Receipt``."""


def _receipt_headers(end: bytes, others: Headers) -> list[tuple[bytes, bytes]]:
    length = len(b'{"report":"') + 2 * REPORT_ID_BYTES + len(end)
    return [(b"content-type", JSON_TYPE), (b"content-length", b"%d" % length), *others]


def task_of_call(scope: Scope, call: str) -> str | None:
    """The task's id, if this is a POST to ``/v1/tasks/{id}`` followed by ``call``."""
    if scope["type"] == "http" and scope["method"] == "POST":
        path: str = scope["path"]
        if path.startswith(TASKS) and path.endswith(call):
            task_id = path[len(TASKS) : -len(call)]
            return None if "/" in task_id else task_id
    return None
