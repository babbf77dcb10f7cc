"""The call for one report, answered in front of the web framework.

No model validation, no routing and no copies on the way: a canonical report is recognized by its
layout, queued, and answered after the commit. Whatever else comes is read the slow way, by
``privet.protocol.report.Report``, which knows how to say what is wrong with it.
"""

import hashlib
from http import HTTPStatus
from typing import NamedTuple, Protocol, TypeVar

from starlette.concurrency import run_in_threadpool
from starlette.types import Receive, Scope, Send

from privet.http_server.acceptance import read_typed
from privet.http_server.bodies import BodyBudget, Head, MemoryShare
from privet.http_server.headers import Headers
from privet.http_server.problems import problem_response
from privet.protocol.calls import JSON_MEDIA_TYPE, REPORT_MEDIA_TYPE
from privet.protocol.errors import PrivetError
from privet.protocol.report import REPORT_ID_BYTES

from .layout import ReportLayout
from .tasks import KnownTask, TaskCache

COUNTED, NOT_NOW = b'","counted":true}', b'","counted":false}'
"""The end of a ``protocol.report.Receipt`` in JSON."""
ENDS = {HTTPStatus.CREATED: COUNTED, HTTPStatus.OK: NOT_NOW, HTTPStatus.ACCEPTED: NOT_NOW}
"""Status -> end: counted now, counted before, kept to be counted."""

T = TypeVar("T", bound=KnownTask)


class TakesReports(Protocol[T]):
    """A server that takes reports, for its own tasks."""

    @property
    def tasks(self) -> TaskCache[T]: ...

    @property
    def budget(self) -> BodyBudget: ...

    async def take(
        self, task: T, layout: ReportLayout, body: bytes, invitation: bytes | None
    ) -> HTTPStatus:
        """Make a report durable; the status of the answer, one of ``ENDS``.

        ``invitation`` is the SHA-256 of the one that it came with. Raises the error that refuses
        the report.
        """

    def refused(self, task_id: str, error: PrivetError) -> None:
        """Note that a report was refused."""


class TakenReport(NamedTuple):
    """A report that is durable."""

    status: HTTPStatus
    layout: ReportLayout
    body: bytes


class ReportUpload:
    """Answers the call for one report, with ``headers`` on every answer."""

    def __init__(self, server: TakesReports[T], headers: Headers = ()) -> None:
        self._server = server
        self._headers = headers
        self._receipts = {status: _receipt_headers(end, headers) for status, end in ENDS.items()}

    async def __call__(self, task_id: str, scope: Scope, receive: Receive, send: Send) -> None:
        taken = await self.take(task_id, scope, receive, send)
        if taken is not None:
            status, layout, body = taken
            receipt = b'{"report":"%b%b' % (layout.report_id(body).hex().encode(), ENDS[status])
            headers = [*self._receipts[status]]
            await send({"type": "http.response.start", "status": status.value, "headers": headers})
            await send({"type": "http.response.body", "body": receipt})

    async def take(
        self, task_id: str, scope: Scope, receive: Receive, send: Send
    ) -> TakenReport | None:
        """Take the report that a call brings; None if it was refused, and answered."""
        server = self._server
        try:
            task = server.tasks.get(task_id) or await server.tasks.load(task_id)
            head = Head.of(scope)
            with MemoryShare(server.budget) as share:
                limit = task.max_body_bytes
                body = await read_typed(receive, head, REPORT_MEDIA_TYPE, limit=limit, share=share)
                layout = task.layout_of(body)
                if layout is None:
                    raise await run_in_threadpool(task.fault_of, body)
                invitation = head.invitation and hashlib.sha256(head.invitation).digest()
                return TakenReport(await server.take(task, layout, body, invitation), layout, body)
        except PrivetError as error:
            server.refused(task_id, error)
            response = problem_response(error, scope["path"])
            response.raw_headers.extend(self._headers)
            await response(scope, receive, send)
            return None


def _receipt_headers(end: bytes, others: Headers) -> list[tuple[bytes, bytes]]:
    length = len(b'{"report":"') + 2 * REPORT_ID_BYTES + len(end)
    return [
        (b"content-type", JSON_MEDIA_TYPE.encode()),
        (b"content-length", b"%d" % length),
        *others,
    ]
