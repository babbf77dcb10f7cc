"""The calls that ``collection`` answers before the framework sees them, for OpenAPI."""

from typing import Any

from fastapi import APIRouter
from starlette.exceptions import HTTPException

from privet.protocol.batch import AdmissionResponse, BatchResponse
from privet.protocol.calls import (
    GET_RECEIPT,
    SEND_ADMISSION,
    SEND_BATCH,
    SEND_REPORT,
    TELL_HOLDINGS,
    Call,
)
from privet.protocol.receipts import SignedReceipt
from privet.protocol.report import Receipt
from privet.protocol.status import Holdings

from ..operations.parameters import TaskId
from .problems import described
from .requests import BINARY

HELD = 202
"""The status of success that only relays give."""
TEXTS: dict[Call, tuple[str, Any, str, str]] = {
    SEND_REPORT: (
        "send_report",
        Receipt,
        "Send a report",
        "One holder's report. A 2xx means that it is on disk and counted exactly once.\n\n"
        "The same bytes may be sent again at any time: they count once.",
    ),
    GET_RECEIPT: (
        "get_receipt",
        SignedReceipt,
        "Get a report's signed receipt",
        "The report is sent again, which counts it once, and the curator signs that it counts.\n\n"
        "A curator that signs no tasks has no such call. docs/calls.md says what is signed.",
    ),
    SEND_BATCH: (
        "send_reports",
        BatchResponse,
        "Send many reports",
        "A relay's reports in columns, with a token of scope relay.\n\nEach is counted or refused "
        "by itself; the response lists only the refused ones, with reasons. docs/calls.md gives "
        "the form.",
    ),
    SEND_ADMISSION: (
        "admit",
        AdmissionResponse,
        "Ask for admission of invited holders",
        "A relay's invitations, sorted and apart from the reports, with a token of scope relay.\n\n"
        "Those that are unused are held for the batch that names this admission. docs/calls.md "
        "gives the form.",
    ),
    TELL_HOLDINGS: (
        "tell_holdings",
        Holdings,
        "Tell what a relay holds",
        "How many reports of the task wait at the relay or are lost, with a token of scope relay."
        "\n\nA task's status shows it to readers.",
    ),
}
"""The operation id, answer, summary and description of each call."""
router = APIRouter(tags=["reports"])


async def nothing_here(task_id: TaskId) -> None:  # noqa: ARG001 - part of the path
    """Refuse the one call that comes here: for a receipt, from a curator that signs nothing."""
    raise HTTPException(404)


def _request(call: Call) -> dict[str, Any]:
    schema = Holdings.model_json_schema() if call is TELL_HOLDINGS else BINARY
    body = {"required": True, "content": {call.body: {"schema": schema}}}
    header = {"in": "header", "name": call.header, "required": False, "schema": {"type": "string"}}
    return {"requestBody": body} | ({} if call.header is None else {"parameters": [header]})


for call, (operation_id, answer, summary, description) in TEXTS.items():
    first, *others = (status for status in call.responses if status != HELD)
    router.add_api_route(
        call.path,
        nothing_here,
        methods=[call.method],
        status_code=first,
        response_model=answer,
        operation_id=operation_id,
        summary=summary,
        description=description,
        openapi_extra=_request(call),
        responses={
            first: {"description": call.responses[first]},
            **{s: {"description": call.responses[s], "model": answer} for s in others},
            **described(*call.problems),
        },
    )
