"""Errors as RFC 9457 problem documents, for every server of the project.

A ``PrivetError`` carries its type of ``protocol.errors.PROBLEMS``. What HTTP itself refuses (an
unknown address or method) has the type ``about:blank``, as the RFC says. Nothing that an unexpected
exception says leaves the server.
"""

import json
import logging
import time
from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import Any
from urllib.parse import quote

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from privet.protocol.calls import PROBLEM_MEDIA_TYPE
from privet.protocol.errors import (
    PrivetError,
    problem_of,
)

log = logging.getLogger(__name__)

BLANK = "about:blank"
MAX_DETAIL = 2_000
"""A detail may repeat what was sent, and that may be long."""

_HEADERS = {
    HTTPStatus.UNAUTHORIZED: {"WWW-Authenticate": "Bearer"},
    HTTPStatus.TOO_MANY_REQUESTS: {"Retry-After": "1"},
    HTTPStatus.SERVICE_UNAVAILABLE: {"Retry-After": "1"},
}


class Failures:
    """Logs answers of 500 and above with their cause.

    When many fail at once, one line a second says for how many it stands, so that logging does not
    add to the trouble.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._waiting: dict[tuple[int, str], tuple[float, int]] = {}
        """Time of the last log line and number of errors since, by status and kind of cause."""

    def log(self, status: int, instance: str, cause: object) -> None:
        kind, now = (status, type(cause).__name__), self._clock()
        last, held = self._waiting.get(kind, (-1.0, 0))
        if now - last < 1.0:
            self._waiting[kind] = last, held + 1
            return
        self._waiting[kind] = now, 0
        since = f", and {held} times more since the last such line" if held else ""
        log.warning("%s answered %d: %s%s", quote(instance) or "a connection", status, cause, since)


_failures = Failures()


def problem_document(error: PrivetError, instance: str) -> dict[str, Any]:
    problem = problem_of(error)
    return _document(problem.uri, problem.title, problem.status, error.detail, instance)


def problem_response(error: PrivetError, instance: str) -> Response:
    """The response to a request that ended in ``error``.

    ``error.status`` overrides the status of its problem type.
    """
    document = problem_document(error, instance)
    document["status"] = getattr(error, "status", None) or document["status"]
    if document["status"] >= HTTPStatus.INTERNAL_SERVER_ERROR:
        _failures.log(document["status"], instance, error.__cause__ or error.detail)
    seconds = getattr(error, "seconds", None)
    return _response(document, None if seconds is None else {"Retry-After": str(seconds)})


def http_problem(
    status: int, detail: str, instance: str, headers: Mapping[str, str] | None = None
) -> Response:
    """A problem response for an HTTP-level error (type ``about:blank``)."""
    if status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        _failures.log(status, instance, detail)
    return _response(_document(BLANK, HTTPStatus(status).phrase, status, detail, instance), headers)


def add_problem_handlers(app: Starlette, hints: Mapping[int, str]) -> None:
    """Let every error of ``app`` leave as a problem document.

    ``hints`` say by status what to do about a request that the framework refuses.
    """

    async def on_privet_error(request: Request, error: Exception) -> Response:
        assert isinstance(error, PrivetError)  # noqa: S101  # what the handler is registered for
        return problem_response(error, request.url.path)

    async def on_http_error(request: Request, error: Exception) -> Response:
        if isinstance(error.__cause__, PrivetError):
            return problem_response(error.__cause__, request.url.path)
        assert isinstance(error, HTTPException)  # noqa: S101
        detail = hints.get(error.status_code, str(error.detail))
        return http_problem(error.status_code, detail, request.url.path, error.headers)

    async def on_failure(request: Request, _error: Exception) -> Response:
        failure = PrivetError("The server failed; its operator finds the cause in the log.")
        return problem_response(failure, request.url.path)

    app.add_exception_handler(PrivetError, on_privet_error)
    app.add_exception_handler(HTTPException, on_http_error)
    app.add_exception_handler(Exception, on_failure)


def _document(uri: str, title: str, status: int, detail: str, instance: str) -> dict[str, Any]:
    return {
        "type": uri,
        "title": title,
        "status": status,
        "detail": detail if len(detail) <= MAX_DETAIL else f"{detail[: MAX_DETAIL - 3]}...",
        "instance": instance,
    }


def _response(document: dict[str, Any], headers: Mapping[str, str] | None = None) -> Response:
    status = document["status"]
    return Response(
        json.dumps(document),
        status,
        headers={**_HEADERS.get(status, {}), **(headers or {})},
        media_type=PROBLEM_MEDIA_TYPE,
    )
