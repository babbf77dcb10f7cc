"""What intake answers: receipts, and errors as problem documents."""

import json

from starlette.types import Send

from privet.curator.datastore.base import Outcome
from privet.protocol.errors import (
    NotAuthorized,
    PrivetError,
    ReportConflict,
    TaskNotOpen,
    WrongPayload,
    problem_of,
)
from privet.protocol.report import REPORT_ID_BYTES
from privet.transport.problems import problem_document, problem_headers

JSON = b"application/json"
PROBLEM = b"application/problem+json"

REASONS = {
    Outcome.CONFLICT: problem_of(ReportConflict("")).name,
    Outcome.NOT_OPEN: problem_of(TaskNotOpen("")).name,
    Outcome.NOT_INVITED: problem_of(NotAuthorized("")).name,
}
"""Outcome of a refused report -> the name of its problem type."""

IMPOSSIBLE = problem_of(WrongPayload("")).name


def _receipt_form(status: int, tail: bytes) -> tuple[int, bytes, list[tuple[bytes, bytes]]]:
    length = len(b'{"report":"') + 2 * REPORT_ID_BYTES + len(tail)
    return status, tail, [(b"content-type", JSON), (b"content-length", b"%d" % length)]


RECEIPTS = {
    True: _receipt_form(201, b'","counted":true}'),
    False: _receipt_form(200, b'","counted":false}'),
}
"""Whether a report was counted now -> status, what follows its id, and headers of its receipt."""


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
        "Privet-Invitation (privet-holder answer --invitation)."
    )


async def send_receipt(send: Send, report_id: bytes, *, counted: bool) -> None:
    """The JSON form of ``protocol.report.Receipt``: 201 if it counts from now on, else 200."""
    status, tail, headers = RECEIPTS[counted]
    await send({"type": "http.response.start", "status": status, "headers": [*headers]})
    body = b'{"report":"%b%b' % (report_id.hex().encode(), tail)
    await send({"type": "http.response.body", "body": body})


async def send_answer(
    send: Send, status: int, body: bytes, kind: bytes = JSON, *more: tuple[bytes, bytes]
) -> None:
    """One whole response."""
    headers = [(b"content-type", kind), (b"content-length", b"%d" % len(body)), *more]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


async def send_problem(send: Send, error: PrivetError, path: str) -> None:
    """``error`` as a problem document."""
    document = problem_document(error, path)
    headers = [
        (name.lower().encode(), value.encode()) for name, value in problem_headers(error).items()
    ]
    body = json.dumps(document).encode()
    await send_answer(send, document["status"], body, PROBLEM, *headers)
