"""The OpenAPI document, corrected and completed, and /docs, which shows it in a browser.

Every byte of /docs comes from this curator, so it works without internet: the scripts are those
that ``fastapi-offline`` ships, and the content policy lets the page load and call nothing else.
"""

from pathlib import Path
from typing import Any

import fastapi_offline
from fastapi import APIRouter, FastAPI, HTTPException, Request
from fastapi.responses import FileResponse, HTMLResponse, Response

from privet.protocol.errors import (
    PROBLEM_MEDIA_TYPE,
    InsufficientScope,
    ModelNotFound,
    NotAuthorized,
    PrivetError,
    TaskNotFound,
    TooLarge,
    TooManyRequests,
    TooSlow,
)

from .problems import described
from .requests import ADMIN_SCHEME, COUNTS_SCHEME, READER_SCHEME

Document = dict[str, Any]


def complete_document(app: FastAPI) -> None:
    """Let the document of ``app`` describe errors and tokens as they are."""
    framework_document = app.openapi

    def openapi() -> Document:
        document = framework_document()
        for path, calls in document["paths"].items():
            for call in calls.values():
                _drop_framework_fault(call)
                _describe_limits(call)
                _describe_tokens(call)
                _describe_path(call, path)
        for name in ("HTTPValidationError", "ValidationError"):
            document["components"]["schemas"].pop(name, None)
        document["components"]["securitySchemes"].pop(COUNTS_SCHEME, None)
        return document

    app.openapi = openapi  # type: ignore[method-assign]


def _drop_framework_fault(call: Document) -> None:
    """Remove the 422 that the framework adds to every call: here faults are problem documents."""
    fault = call["responses"].get("422")
    if fault is not None and PROBLEM_MEDIA_TYPE not in fault["content"]:
        del call["responses"]["422"]


def _describe_limits(call: Document) -> None:
    _add_responses(call, TooManyRequests)
    if "requestBody" in call:
        _add_responses(call, TooSlow, TooLarge)


def _add_responses(call: Document, *errors: type[PrivetError]) -> None:
    for status, fault in described(*errors).items():
        call["responses"].setdefault(str(status), fault)


def _describe_tokens(call: Document) -> None:
    """An admin's call and one about counts need a token; other calls of readers need one only if
    ``guard_models`` is set."""
    schemes = {name for choice in call.get("security", ()) for name in choice}
    if schemes:
        _add_responses(call, NotAuthorized, InsufficientScope)
    if ADMIN_SCHEME in schemes:
        call["security"] = [{ADMIN_SCHEME: []}]
    elif COUNTS_SCHEME in schemes:
        call["security"] = [{READER_SCHEME: []}]
    elif READER_SCHEME in schemes:
        call["security"] = [{READER_SCHEME: []}, {}]


def _describe_path(call: Document, path: str) -> None:
    """What a path names may not be there."""
    if "{number}" in path:
        _add_responses(call, TaskNotFound, ModelNotFound)
    elif "{task_id}" in path:
        _add_responses(call, TaskNotFound)


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
{back}
<div id="swagger-ui"><noscript>This page needs JavaScript; openapi.json does not.</noscript></div>
<script src="docs/swagger-ui-bundle.js"></script>
<script src="docs/start.js"></script>
</body>
</html>
"""
_BACK = (
    '<p><a href="./" style="color: inherit; font-family: sans-serif">Back to the dashboard</a></p>'
)
_START = """const dark = matchMedia("(prefers-color-scheme: dark)");
const follow = () => document.documentElement.classList.toggle("dark-mode", dark.matches);
dark.addEventListener("change", follow);
follow();
SwaggerUIBundle({
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
def page(request: Request) -> HTMLResponse:
    """The page; its policy is its own, since it has a script."""
    back = _BACK if request.app.state.dashboard else ""
    text = _PAGE.replace("{back}", back)
    return HTMLResponse(text, headers={"Content-Security-Policy": POLICY})


@router.get("/{name}")
def file(name: str) -> Response:
    """Swagger UI, or what starts it: a file of its own, so that no script stands in the page."""
    if name == "start.js":
        return Response(_START, headers=_HEADERS, media_type="text/javascript")
    if name not in ("swagger-ui-bundle.js", "swagger-ui.css"):
        raise HTTPException(404)
    return FileResponse(SHIPPED / name, headers=_HEADERS)
