"""The call for one report as a plain ASGI callable, in front of the web framework.

No model validation, no routing and no copies on the way: a canonical report is recognized by its
layout, queued, and answered after the commit. Whatever else comes is read the slow way, by
``privet.protocol.report.Report``, which knows how to say what is wrong with it.
"""

import hashlib

from starlette.concurrency import run_in_threadpool
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from privet.http_server.acceptance import parse_report, read_typed
from privet.http_server.bodies import Head
from privet.http_server.headers import Headers
from privet.http_server.problems import problem_response
from privet.protocol.calls import (
    GET_RECEIPT,
    JSON_MEDIA_TYPE,
    REPORT_MEDIA_TYPE,
    SEND_REPORT,
    TASKS,
    Call,
)
from privet.protocol.errors import (
    MalformedReport,
    PrivetError,
    StorageFailed,
    TaskNotFound,
)
from privet.protocol.receipts import hash_of
from privet.protocol.report import (
    REPORT_ID_BYTES,
    Report,
)

from .intake import Intake
from .task_cache import CachedTask


class ReportUpload:
    """Answers the call for one report, in front of ``app``, which gets all other calls.

    It stands outermost, where no other layer adds ``headers`` to its answers.
    """

    def __init__(self, app: ASGIApp, intake: Intake, headers: Headers = ()) -> None:
        self._app = app
        self._intake = intake
        self._headers = headers
        self._receipts = {
            True: (201, COUNTED_NOW, _receipt_headers(COUNTED_NOW, headers)),
            False: (200, COUNTED_BEFORE, _receipt_headers(COUNTED_BEFORE, headers)),
        }
        """Status, end of the receipt, and headers, by whether the report counts from now on."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a POST of a report, or for its signed receipt; pass all other calls on."""
        task_id, signer = task_of_call(scope, SEND_REPORT), None
        if task_id is None and self._intake.signer is not None:
            task_id, signer = task_of_call(scope, GET_RECEIPT), self._intake.signer
        if task_id is None:
            await self._app(scope, receive, send)
            return
        try:
            intake = self._intake
            task = intake.tasks.get(task_id) or await intake.tasks.load(task_id)
            head = Head.of(scope)
            with intake.budget.share() as share:
                body = await read_typed(
                    receive,
                    head,
                    REPORT_MEDIA_TYPE,
                    limit=task.max_body_bytes,
                    share=share,
                )
                layout = task.layout_of(body)
                if layout is None:
                    raise await run_in_threadpool(_fault, task, body)
                invitation = head.invitation and hashlib.sha256(head.invitation).digest()
                counted = await intake.writer.put(task, layout, body, invitation)
        except PrivetError as error:
            self._refuse(task_id, error)
            response = problem_response(error, scope["path"])
            response.raw_headers.extend(self._headers)
            await response(scope, receive, send)
            return
        if signer is not None:
            digest = hash_of(Report.unpack(body))
            (signature,) = signer.receipts(task.id, [digest])
            answer = JSONResponse({"signature": signature, "reports": [digest.hex()]})
            answer.raw_headers.extend(self._headers)
            await answer(scope, receive, send)
            return
        status, end, headers = self._receipts[counted]
        receipt = b'{"report":"%b%b' % (layout.report_id(body).hex().encode(), end)
        await send({"type": "http.response.start", "status": status, "headers": [*headers]})
        await send({"type": "http.response.body", "body": receipt})

    def _refuse(self, task_id: str, error: PrivetError) -> None:
        reason = self._intake.refused(task_id, error)
        if isinstance(error, TaskNotFound):
            self._intake.tasks.forget(task_id)
        elif not isinstance(error, StorageFailed):
            self._intake.rejects.add(task_id, reason)


def _fault(task: CachedTask, body: bytes) -> PrivetError:
    """The error for a body that has none of the task's layouts."""
    try:
        parse_report(task.task, body)
    except PrivetError as error:
        return error
    return MalformedReport("The body is not a canonical report for this task.")


COUNTED_NOW, COUNTED_BEFORE = b'","counted":true}', b'","counted":false}'
"""The end of a ``protocol.report.Receipt`` in JSON."""


def _receipt_headers(end: bytes, others: Headers) -> list[tuple[bytes, bytes]]:
    length = len(b'{"report":"') + 2 * REPORT_ID_BYTES + len(end)
    return [
        (b"content-type", JSON_MEDIA_TYPE.encode()),
        (b"content-length", b"%d" % length),
        *others,
    ]


def task_of_call(scope: Scope, call: Call) -> str | None:
    """The task's id, if this is ``call``, which is a POST."""
    if scope["type"] == "http" and scope["method"] == call.method:
        path: str = scope["path"]
        if path.startswith(ABOVE) and path.endswith(call.below):
            task_id = path[len(ABOVE) : -len(call.below)]
            return None if "/" in task_id else task_id
    return None


ABOVE = f"{TASKS}/"
"""The path before a task's id."""
