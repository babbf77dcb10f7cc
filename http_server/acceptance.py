"""What a server takes as a report, a batch or an admission: the same at curators and at relays.

A body may come without a content type, as browsers send a report to avoid a preflight. A report may
come in JSON besides, for tries by hand.
"""

import json

from starlette.concurrency import run_in_threadpool
from starlette.types import Receive

from privet.protocol.batch import ADMISSION_MEDIA_TYPE, BATCH_MEDIA_TYPE
from privet.protocol.errors import MalformedReport, UnsupportedMediaType
from privet.protocol.limits import SPARE_BYTES
from privet.protocol.report import REPORT_MEDIA_TYPE, Report
from privet.protocol.task import Task

from .bodies import Head, Share, read_body

JSON_TYPE = b"application/json"
REPORT_TYPES = (REPORT_MEDIA_TYPE.encode(), JSON_TYPE)
BATCH_TYPES = (BATCH_MEDIA_TYPE.encode(),)
ADMISSION_TYPES = (ADMISSION_MEDIA_TYPE.encode(),)
BODY_SECONDS = 30.0
"""Time within which a body must have arrived."""


def max_report_bytes(task: Task) -> int:
    """The longest body of a report: base64 and hexadecimal at most double one."""
    return 2 * task.longest_report + SPARE_BYTES


async def read_typed(
    receive: Receive,
    head: Head,
    types: tuple[bytes, ...],
    *,
    limit: int,
    share: Share,
) -> bytes:
    """A body of one of these content types; a report's JSON in its canonical form.

    Raises ``UnsupportedMediaType``, ``MalformedReport`` for JSON that is no report, and what
    ``read_body`` raises.
    """
    if head.media_type and head.media_type not in types:
        raise UnsupportedMediaType(
            f"Send this as {b' or '.join(types).decode()}, not as "
            f"{head.media_type[:100].decode('latin-1')}."
        )
    body = await read_body(receive, head, limit=limit, seconds=BODY_SECONDS, share=share)
    return await run_in_threadpool(_from_json, body) if head.media_type == JSON_TYPE else body


def parse_report(task: Task, body: bytes) -> Report:
    """The report in a canonical body; raises ``InvalidReport`` or ``TaskMismatch`` for others."""
    report = Report.unpack(body)
    report.check(task)
    return report


def _from_json(body: bytes) -> bytes:
    try:
        fields = json.loads(body)
    except (ValueError, RecursionError):
        raise MalformedReport(
            "The body is not JSON: send {version, task, id, answers} as /docs shows."
        ) from None
    return Report.from_json(fields).pack()
