"""POST /v1/tasks/{id}/reports as a plain ASGI callable, in front of the web framework.

No model validation, no routing and no copies on the way: a canonical report is recognized by its
layout, queued, and answered after the commit. Whatever else comes is read the slow way, by
``privet.protocol.report.Report``, which knows how to say what is wrong with it.
"""

import hashlib
import json

from starlette.concurrency import run_in_threadpool
from starlette.types import Receive, Scope, Send

from privet.curator.collection.rejects import Rejects
from privet.curator.collection.task_cache import CachedTask, TaskCache
from privet.curator.collection.writer import Writer
from privet.curator.metrics import Metrics
from privet.protocol.errors import (
    MalformedReport,
    PrivetError,
    StorageFailed,
    TaskNotFound,
    UnsupportedMediaType,
    problem_of,
)
from privet.protocol.report import REPORT_ID_BYTES, REPORT_MEDIA_TYPE, Report
from privet.transport.bodies import BodyBudget, Head, Share, read_body
from privet.transport.problems import problem_response

BINARY_TYPES = frozenset({b"", REPORT_MEDIA_TYPE.encode()})
JSON_TYPE = b"application/json"


class ReportUpload:
    """The call for one report."""

    def __init__(
        self,
        tasks: TaskCache,
        writer: Writer,
        rejects: Rejects,
        metrics: Metrics,
        budget: BodyBudget,
        *,
        body_seconds: float,
    ) -> None:
        self._tasks = tasks
        self._writer = writer
        self._rejects = rejects
        self._metrics = metrics
        self._budget = budget
        self._body_seconds = body_seconds

    async def __call__(self, task_id: str, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one POST of a report for the task."""
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
            await problem_response(error, scope["path"])(scope, receive, send)
            return
        await _send_receipt(send, layout.report_id(body), counted=counted)

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
        self._metrics.reported(reason)
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


def _receipt_headers(end: bytes) -> list[tuple[bytes, bytes]]:
    length = len(b'{"report":"') + 2 * REPORT_ID_BYTES + len(end)
    return [(b"content-type", JSON_TYPE), (b"content-length", b"%d" % length)]


COUNTED, REPLAYED = b'","counted":true}', b'","counted":false}'
RECEIPTS = {
    True: (201, COUNTED, _receipt_headers(COUNTED)),
    False: (200, REPLAYED, _receipt_headers(REPLAYED)),
}
"""Whether a report counts from now on -> status, what follows its id, and the headers."""


async def _send_receipt(send: Send, report_id: bytes, *, counted: bool) -> None:
    """The JSON form of ``protocol.report.Receipt``: 201 if it counts from now on, else 200."""
    status, end, headers = RECEIPTS[counted]
    await send({"type": "http.response.start", "status": status, "headers": [*headers]})
    body = b'{"report":"%b%b' % (report_id.hex().encode(), end)
    await send({"type": "http.response.body", "body": body})
