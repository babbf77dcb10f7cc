"""Errors as RFC 9457 problem documents, translated in this one place.

A ``PrivetError`` carries its type of ``protocol.errors.PROBLEMS``. What the web framework itself
refuses (an unknown address or method) has the type ``about:blank``, as the RFC says. Nothing that
an unexpected exception says leaves the curator.
"""

import json
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException

from privet.protocol.errors import (
    PROBLEMS,
    InvalidRequest,
    NotAuthorized,
    Overloaded,
    PrivetError,
    ProblemType,
    StorageFailed,
    TooLarge,
    problem_of,
)
from privet.protocol.wire import fault_text

MEDIA_TYPE = "application/problem+json"
RETRY_AFTER_SECONDS = "1"
BLANK = "about:blank"
MAX_DETAIL = 2_000
"""A detail may repeat what was sent, and that may be long."""

_HINTS = {
    404: "There is nothing at this address: /docs lists all addresses.",
    405: "This address does not take this method: /docs lists what it takes.",
    415: "This content type is not understood: /docs says what to send.",
}


def problem_document(error: PrivetError, instance: str) -> dict[str, Any]:
    """The problem document of ``error`` at the address ``instance``."""
    problem = problem_of(error)
    return _document(problem, problem.uri, error.detail, instance)


def problem_headers(error: PrivetError) -> dict[str, str]:
    """The headers that go with it: when to try again, how to authorize."""
    if isinstance(error, Overloaded | StorageFailed):
        return {"Retry-After": RETRY_AFTER_SECONDS}
    if isinstance(error, NotAuthorized):
        return {"WWW-Authenticate": "Bearer"}
    return {}


def problem_response(error: PrivetError, instance: str) -> Response:
    """The whole response to a request that ended in ``error``."""
    document = problem_document(error, instance)
    return _response(document, problem_headers(error))


def http_problem(
    status: int, detail: str, instance: str, headers: Mapping[str, str] | None = None
) -> Response:
    """The response to a request refused for what HTTP itself says of it, by its status alone."""
    problem = ProblemType(BLANK, HTTPStatus(status).phrase, status)
    retry = {"Retry-After": RETRY_AFTER_SECONDS} if status == HTTPStatus.SERVICE_UNAVAILABLE else {}
    return _response(_document(problem, BLANK, detail, instance), {**retry, **(headers or {})})


def add_problem_handlers(app: FastAPI) -> None:
    """Let every error of ``app`` leave as a problem document."""
    app.add_exception_handler(PrivetError, _on_privet_error)
    app.add_exception_handler(RequestValidationError, _on_invalid_request)
    app.add_exception_handler(HTTPException, _on_http_error)
    app.add_exception_handler(Exception, _on_failure)


async def _on_privet_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, PrivetError)  # noqa: S101  # what the handler is registered for
    return problem_response(error, request.url.path)


async def _on_invalid_request(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)  # noqa: S101
    first = error.errors()[0]
    detail = f"{_fault(first)}. See /docs for what this call takes."
    return problem_response(InvalidRequest(detail), request.url.path)


def _fault(first: Mapping[str, Any]) -> str:
    where = [str(part) for part in first["loc"] if part != "body"]
    if first["type"] == "json_invalid":
        return f"The body is not JSON at character {where[0]}: {first['ctx']['error']}"
    return f"{'.'.join(where) or 'The body'}: {fault_text(first['type'], first['msg'])}"


async def _on_http_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)  # noqa: S101
    if error.status_code == HTTPStatus.REQUEST_ENTITY_TOO_LARGE:
        too_large = TooLarge(str(error.detail))
        return problem_response(too_large, request.url.path)
    detail = _HINTS.get(error.status_code, str(error.detail))
    return http_problem(error.status_code, detail, request.url.path, error.headers)


async def _on_failure(request: Request, error: Exception) -> Response:  # noqa: ARG001
    failure = PrivetError("The curator failed; its operator finds the cause in the log.")
    return problem_response(failure, request.url.path)


def _document(problem: ProblemType, uri: str, detail: str, instance: str) -> dict[str, Any]:
    return {
        "type": uri,
        "title": problem.title,
        "status": problem.status,
        "detail": detail if len(detail) <= MAX_DETAIL else f"{detail[: MAX_DETAIL - 3]}...",
        "instance": instance,
    }


def _response(document: dict[str, Any], headers: dict[str, str]) -> Response:
    return Response(
        json.dumps(document), document["status"], headers=headers, media_type=MEDIA_TYPE
    )


def described(*errors: type[PrivetError]) -> dict[int | str, dict[str, Any]]:
    """OpenAPI ``responses`` for the given errors, grouped by status, with one example each."""
    by_status: dict[int | str, dict[str, Any]] = {}
    for error in errors:
        problem = PROBLEMS[error]
        entry = by_status.setdefault(
            problem.status, {"description": "", "content": {MEDIA_TYPE: {"examples": {}}}}
        )
        entry["description"] = "; ".join(filter(None, [entry["description"], problem.title]))
        entry["content"][MEDIA_TYPE]["examples"][problem.name] = {
            "value": _document(problem, problem.uri, "What is wrong, and what to do.", "/v1/…")
        }
    return by_status
