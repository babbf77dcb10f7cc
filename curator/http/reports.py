"""The calls for reports, as the OpenAPI document describes them.

They are plain ASGI for speed: ``curator/collection/`` answers every POST before it comes here, and
these routes refuse the other methods.
"""

from typing import Annotated, Any

from fastapi import APIRouter, Header, status
from pydantic import BaseModel, ConfigDict, Field

from privet.protocol.batch import ADMISSION_MEDIA_TYPE, BATCH_MEDIA_TYPE
from privet.protocol.errors import (
    InsufficientScope,
    InvalidReport,
    MalformedReport,
    NotAdmitted,
    NotAuthorized,
    Overloaded,
    PrivetError,
    QuotaReached,
    ReportConflict,
    StorageFailed,
    TaskMismatch,
    TaskNotFound,
    TaskNotOpen,
    TooLarge,
    UnsupportedMediaType,
    WrongPayload,
    WrongQuestions,
)
from privet.protocol.receipts import SignedReceipt
from privet.protocol.report import REPORT_MEDIA_TYPE, Receipt

from .problems import described
from .requests import BINARY, TaskId

FAULTS: tuple[type[PrivetError], ...] = (
    MalformedReport,
    TaskNotFound,
    TaskNotOpen,
    QuotaReached,
    NotAuthorized,
    NotAdmitted,
    ReportConflict,
    TooLarge,
    UnsupportedMediaType,
    InvalidReport,
    TaskMismatch,
    WrongQuestions,
    WrongPayload,
    Overloaded,
    StorageFailed,
)
REPORT_ID = "0102030405060708090a0b0c0d0e0f10"
_RECEIPT = {"application/json": {"example": {"report": REPORT_ID, "counted": True}}}

router = APIRouter(prefix="/v1/tasks/{task_id}", tags=["reports"])


class BatchResponse(BaseModel):
    """What became of each report of a batch."""

    model_config = ConfigDict(extra="forbid")

    counted: int = Field(description="Reports counted now.", examples=[998])
    replayed: int = Field(description="Reports counted before.", examples=[1])
    failed: dict[str, list[str]] = Field(
        description="Ids of the refused reports, by the name of the problem.",
        examples=[{"wrong-payload": [REPORT_ID]}],
    )
    receipts: list[str] | None = Field(
        default=None, description="Signatures of those that count, if asked for and if it signs."
    )


class AdmissionResponse(BaseModel):
    """What became of the invitations of an admission."""

    model_config = ConfigDict(extra="forbid")

    held: int = Field(description="Invitations that are held.", examples=[1000])
    refused: list[str] = Field(
        description="SHA-256 of the others, which are unknown, used or held elsewhere.",
        examples=[[]],
    )


def _body(media_type: str) -> dict[str, Any]:
    return {"requestBody": {"required": True, "content": {media_type: {"schema": BINARY}}}}


@router.post(
    "/reports",
    status_code=status.HTTP_201_CREATED,
    operation_id="send_report",
    summary="Send a report",
    openapi_extra=_body(REPORT_MEDIA_TYPE),
    responses={
        201: {"description": "Durable, and counted now.", "content": _RECEIPT},
        200: {"description": "Durable, and counted before.", "model": Receipt, "content": _RECEIPT},
        **described(*FAULTS),
    },
)
def send_report(
    task_id: TaskId,
    invitation: Annotated[
        str | None,
        Header(
            alias="Privet-Invitation",
            description="An unused invitation, where the task counts invited reports only.",
        ),
    ] = None,
) -> Receipt:
    """One holder's report. A 2xx means that it is on disk and counted exactly once.

    The same bytes may be sent again at any time: they count once.
    """
    raise NotImplementedError


@router.post(
    "/receipts",
    operation_id="get_receipt",
    summary="Get a report's signed receipt",
    openapi_extra=_body(REPORT_MEDIA_TYPE),
    responses={200: {"description": "Durable, counted, and signed."}, **described(*FAULTS)},
)
def get_receipt(task_id: TaskId) -> SignedReceipt:
    """The report is sent again, which counts it once, and the curator signs that it counts.

    A curator that signs no tasks has no such call. docs/calls.md says what is signed.
    """
    raise NotImplementedError


@router.post(
    "/reports/batch",
    operation_id="send_reports",
    summary="Send many reports",
    openapi_extra=_body(BATCH_MEDIA_TYPE),
    responses={
        200: {"description": "All is durable, but for the listed reports."},
        **described(InsufficientScope, *FAULTS),
    },
)
def send_reports(task_id: TaskId) -> BatchResponse:
    """A relay's reports in columns, with a token of scope relay.

    Each is counted or refused by itself; the answer lists only the refused ones, with reasons.
    docs/calls.md gives the form.
    """
    raise NotImplementedError


@router.post(
    "/admissions",
    operation_id="admit",
    summary="Ask for invited holders to be let in",
    openapi_extra=_body(ADMISSION_MEDIA_TYPE),
    responses={
        200: {"description": "Held, but for the refused ones."},
        **described(InsufficientScope, *FAULTS),
    },
)
def admit(task_id: TaskId) -> AdmissionResponse:
    """A relay's invitations, sorted and apart from the reports, with a token of scope relay.

    Those that are unused are held for the batch that names this admission. docs/calls.md gives
    the form.
    """
    raise NotImplementedError
