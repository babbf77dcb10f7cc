"""The OpenAPI document, corrected and completed, and /docs, which shows it in a browser.

Every byte of /docs comes from this curator, so it works without internet: the scripts are those
that ``fastapi-offline`` ships, and the content policy lets the page load and call nothing else.
"""

import json
from functools import cache
from pathlib import Path
from typing import Any

import fastapi_offline
from fastapi import APIRouter, FastAPI, HTTPException, Request
from fastapi.responses import Response

from privet.admin.results import Scope
from privet.http_server.fixed import Fixed
from privet.protocol.calls import JSON_MEDIA_TYPE, PROBLEM_MEDIA_TYPE
from privet.protocol.errors import (
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
from .requests import PERHAPS, TOKENS
from .state import state_of

Document = dict[str, Any]


def keep_document(app: FastAPI) -> None:
    """Let ``app`` serve its document: written at the first call, and the same bytes at all."""
    app.state.document = cache(lambda: Fixed(_written(app), JSON_MEDIA_TYPE))


def _written(app: FastAPI) -> bytes:
    """The framework's document, with errors and tokens as they are."""
    document: Document = app.openapi()
    for path, calls in document["paths"].items():
        for call in calls.values():
            _complete(call, path)
    for name in ("HTTPValidationError", "ValidationError"):
        document["components"]["schemas"].pop(name, None)
    document["components"]["securitySchemes"].pop(PERHAPS.scheme_name, None)
    return json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode()


def _complete(call: Document, path: str) -> None:
    """Describe all that a call can be refused for, as problem documents, and who may call.

    The framework adds a 422 of its own to every call, and knows no token that is needed only
    where there is a draft or ``guard_models`` is set.
    """
    if PROBLEM_MEDIA_TYPE not in call["responses"].get("422", {}).get("content", {}):
        call["responses"].pop("422", None)
    schemes = {name for choice in call.get("security", ()) for name in choice}
    if PERHAPS.scheme_name in schemes:
        call["security"] = [{TOKENS[Scope.READER].scheme_name: []}, {}]
    faults: list[type[PrivetError]] = [TooManyRequests]
    faults += [TooSlow, TooLarge] if "requestBody" in call else []
    faults += [NotAuthorized, InsufficientScope] if schemes else []
    faults += [TaskNotFound] if "{task_id}" in path else []
    faults += [ModelNotFound] if "{number}" in path else []
    for status, fault in described(*faults).items():
        call["responses"].setdefault(str(status), fault)


OWN, SHIPPED = Path(__file__).parent / "docs", Path(fastapi_offline.__file__).parent / "static"
MEDIA_TYPES = {
    "start.js": "text/javascript",
    "contrast.css": "text/css",
    "swagger-ui-bundle.js": "text/javascript",
    "swagger-ui.css": "text/css",
}
"""The files of /docs."""
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
"""Swagger UI sets styles inside the page; everything else it needs is the curator's own."""

_BACK = '<p class="back"><a href="./">Back to the dashboard</a></p>'
_KEPT_BY_BROWSERS = (("Cache-Control", "public, max-age=3600"),)

router = APIRouter(include_in_schema=False)


@router.get("/openapi.json")
async def document(request: Request) -> Response:
    """The document."""
    kept: Fixed = request.app.state.document()
    return kept.response(request)


@router.get("/docs")
async def page(request: Request) -> Response:
    """The page; its policy is its own, since it has a script."""
    return _page(state_of(request).dashboard).response(request)


@cache
def _page(dashboard: bool) -> Fixed:
    text = (OWN / "page.html").read_text("utf-8").replace("{back}", _BACK if dashboard else "")
    return Fixed(text.encode(), "text/html", (("Content-Security-Policy", POLICY),))


@router.get("/docs/{name}")
async def file(request: Request, name: str) -> Response:
    """Swagger UI, or what starts it: a file of its own, so that no script stands in the page."""
    if name not in MEDIA_TYPES:
        raise HTTPException(404)
    return _file(name).response(request)


@cache
def _file(name: str) -> Fixed:
    folder = OWN if (OWN / name).exists() else SHIPPED
    return Fixed((folder / name).read_bytes(), MEDIA_TYPES[name], _KEPT_BY_BROWSERS)
