"""The OpenAPI document, corrected and completed, and /docs, which shows it in a browser.

Every byte of /docs comes from this curator, so it works without internet: the scripts are those
that ``fastapi-offline`` ships, and the content policy lets the page load and call nothing else. The
report calls are plain ASGI for speed (``curator/collection/``), so they are described here.
"""

from pathlib import Path
from typing import Any

import fastapi_offline
from fastapi import APIRouter, FastAPI
from fastapi.responses import FileResponse, HTMLResponse, Response

from privet.curator.http.problems import described
from privet.curator.http.requests import ADMIN_SCHEME, EXAMPLE_ID, READER_SCHEME
from privet.protocol.batch import BATCH_MEDIA_TYPE
from privet.protocol.errors import (
    InvalidReport,
    MalformedReport,
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
    TooManyRequests,
    TooSlow,
    UnsupportedMediaType,
    WrongPayload,
    WrongQuestions,
)
from privet.protocol.report import REPORT_MEDIA_TYPE, Receipt
from privet.transport.problems import MEDIA_TYPE

Document = dict[str, Any]


def complete_document(app: FastAPI) -> None:
    """Let the document of ``app`` describe report calls too, and errors and tokens as they are."""
    framework_document = app.openapi

    def openapi() -> Document:
        document = framework_document()
        document["paths"].update(report_paths())
        for calls in document["paths"].values():
            for call in calls.values():
                _drop_framework_fault(call)
                _describe_limits(call)
                _describe_tokens(call)
        for name in ("HTTPValidationError", "ValidationError"):
            document["components"]["schemas"].pop(name, None)
        return document

    app.openapi = openapi  # type: ignore[method-assign]


def _drop_framework_fault(call: Document) -> None:
    """Remove the 422 that the framework adds to every call: here faults are problem documents."""
    fault = call["responses"].get("422")
    if fault is not None and MEDIA_TYPE not in fault["content"]:
        del call["responses"]["422"]


def _describe_limits(call: Document) -> None:
    """Describe the answers of the limits that apply to all calls."""
    faults = described(TooManyRequests)
    if "requestBody" in call:
        faults |= described(TooSlow, TooLarge)
    for status, fault in faults.items():
        call["responses"].setdefault(str(status), fault)


def _describe_tokens(call: Document) -> None:
    """An admin's call needs a token; a reader's call needs one only if ``guard_models`` is set."""
    schemes = {name for choice in call.get("security", ()) for name in choice}
    if ADMIN_SCHEME in schemes:
        call["security"] = [{ADMIN_SCHEME: []}]
    elif READER_SCHEME in schemes:
        call["security"] = [{READER_SCHEME: []}, {}]


FAULTS: tuple[type[PrivetError], ...] = (
    MalformedReport,
    TaskNotFound,
    TaskNotOpen,
    QuotaReached,
    NotAuthorized,
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
_BINARY = {"schema": {"type": "string", "format": "binary"}}
_EXAMPLE_REPORT = {
    "version": 1,
    "task": EXAMPLE_ID,
    "id": "0102030405060708090a0b0c0d0e0f10",
    "answers": [[0, "AAECAwQFBgcICQoLDA0ODw=="]],
}
_EXAMPLE_RECEIPT = {"report": _EXAMPLE_REPORT["id"], "counted": True}
_EXAMPLE_BATCH_ANSWER = {
    "counted": 998,
    "replayed": 1,
    "failed": {"wrong-payload": [_EXAMPLE_REPORT["id"]]},
}
_INVITATION = {
    "name": "Privet-Invitation",
    "in": "header",
    "required": False,
    "description": "An unused invitation, where the task counts invited reports only.",
    "schema": {"type": "string"},
}


def report_paths() -> dict[str, Any]:
    """The report calls, as paths of an OpenAPI document."""
    return {
        "/v1/tasks/{task_id}/reports": {"post": _single()},
        "/v1/tasks/{task_id}/reports/batch": {"post": _batch()},
    }


def _single() -> dict[str, Any]:
    receipt = {"application/json": {"schema": _receipt_schema(), "example": _EXAMPLE_RECEIPT}}
    common = _common("send_report", "Send a report")
    return {
        **common,
        "parameters": [*common["parameters"], _INVITATION],
        "description": "One holder's report. A 2xx means that it is on disk and counted exactly "
        "once. The same bytes may be sent again at any time: they count once.",
        "requestBody": {
            "required": True,
            "content": {
                REPORT_MEDIA_TYPE: _BINARY,
                "application/json": {"schema": _REPORT_SCHEMA, "example": _EXAMPLE_REPORT},
            },
        },
        "responses": {
            "201": {"description": "Durable, and counted now.", "content": receipt},
            "200": {"description": "Durable, and counted before.", "content": receipt},
            **_faults(),
        },
    }


def _batch() -> dict[str, Any]:
    return {
        **_common("send_reports", "Send many reports"),
        "description": "A relay's reports in columns, with a token of scope relay. "
        "Each is counted or refused by itself; the "
        "answer lists only the refused ones, with reasons. docs/protocol.md gives the form.",
        "requestBody": {"required": True, "content": {BATCH_MEDIA_TYPE: _BINARY}},
        "responses": {
            "200": {
                "description": "All is durable, but for the listed reports.",
                "content": {
                    "application/json": {
                        "schema": _BATCH_ANSWER_SCHEMA,
                        "example": _EXAMPLE_BATCH_ANSWER,
                    }
                },
            },
            **_faults(),
        },
    }


def _common(operation: str, summary: str) -> dict[str, Any]:
    return {
        "tags": ["reports"],
        "operationId": operation,
        "summary": summary,
        "parameters": [
            {
                "name": "task_id",
                "in": "path",
                "required": True,
                "description": "The task's id.",
                "schema": {"type": "string", "examples": [EXAMPLE_ID]},
            }
        ],
    }


def _faults() -> dict[str, Any]:
    return {str(status): response for status, response in described(*FAULTS).items()}


def _receipt_schema() -> dict[str, Any]:
    return Receipt.model_json_schema()


_BATCH_ANSWER_SCHEMA: dict[str, Any] = {
    "type": "object",
    "required": ["counted", "replayed", "failed"],
    "properties": {
        "counted": {"type": "integer", "description": "Reports counted now."},
        "replayed": {"type": "integer", "description": "Reports counted before."},
        "failed": {
            "type": "object",
            "description": "Ids of the refused reports, by the name of the problem.",
            "additionalProperties": {"type": "array", "items": {"type": "string"}},
        },
    },
    "additionalProperties": False,
}
_REPORT_SCHEMA: dict[str, Any] = {
    "type": "object",
    "required": ["version", "task", "id", "answers"],
    "properties": {
        "version": {"const": 1},
        "task": {"type": "string", "description": "The task's id.", "pattern": "^[0-9a-f]{64}$"},
        "id": {"type": "string", "description": "16 random bytes.", "pattern": "^[0-9a-f]{32}$"},
        "answers": {
            "type": "array",
            "description": "One [question, base64 payload] per answered question, ascending.",
            "items": {
                "type": "array",
                "prefixItems": [{"type": "integer", "minimum": 0}, {"type": "string"}],
                "minItems": 2,
                "maxItems": 2,
            },
        },
    },
}


SHIPPED = Path(fastapi_offline.__file__).parent / "static"
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
"""Swagger UI sets styles inside the page; everything else it needs is the curator's own."""

_PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Privet</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="docs/swagger-ui.css">
</head>
<body>
<div id="swagger-ui"><noscript>This page needs JavaScript; openapi.json does not.</noscript></div>
<script src="docs/swagger-ui-bundle.js"></script>
<script src="docs/start.js"></script>
</body>
</html>
"""
_START = """SwaggerUIBundle({
  url: "openapi.json",
  dom_id: "#swagger-ui",
  deepLinking: true,
  validatorUrl: null,
  presets: [SwaggerUIBundle.presets.apis],
});
"""
_HEADERS = {"Cache-Control": "public, max-age=3600"}

router = APIRouter(prefix="/docs", include_in_schema=False)


@router.get("")
def page() -> HTMLResponse:
    """The page; its policy is its own, since it has a script."""
    return HTMLResponse(_PAGE, headers={"Content-Security-Policy": POLICY})


@router.get("/start.js")
def start() -> Response:
    """What starts Swagger UI: a file of its own, so that no script stands in the page."""
    return Response(_START, headers=_HEADERS, media_type="text/javascript")


@router.get("/swagger-ui-bundle.js")
def bundle() -> FileResponse:
    """Swagger UI."""
    return FileResponse(SHIPPED / "swagger-ui-bundle.js", headers=_HEADERS)


@router.get("/swagger-ui.css")
def styles() -> FileResponse:
    """Its styles."""
    return FileResponse(SHIPPED / "swagger-ui.css", headers=_HEADERS)
