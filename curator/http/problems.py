"""The curator's errors: what a request is refused for, and how OpenAPI describes it."""

from collections.abc import Mapping
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError

from privet.http_server import problems
from privet.http_server.problems import problem_document, problem_response
from privet.protocol.calls import API, PROBLEM_MEDIA_TYPE
from privet.protocol.errors import PROBLEMS, InvalidRequest, PrivetError
from privet.protocol.wire import fault_text

HINTS = {
    404: "Nothing is at this address; /docs lists all addresses.",
    405: "This address does not support this method; /docs lists those it does.",
    415: "This content type is not supported; /docs says what to send.",
}


def add_problem_handlers(app: FastAPI) -> None:
    problems.add_problem_handlers(app, HINTS)
    app.add_exception_handler(RequestValidationError, _on_invalid_request)


async def _on_invalid_request(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)  # noqa: S101
    detail = f"{_fault(error.errors()[0])}. See /docs for what this call takes."
    return problem_response(InvalidRequest(detail), request.url.path)


def _fault(first: Mapping[str, Any]) -> str:
    where = [str(part) for part in first["loc"] if part != "body"]
    if first["type"] == "json_invalid":
        return f"The body is not JSON at character {where[0]}: {first['ctx']['error']}"
    return f"{'.'.join(where) or 'The body'}: {fault_text(first['type'], first['msg'])}"


def described(*errors: type[PrivetError]) -> dict[int | str, dict[str, Any]]:
    """OpenAPI ``responses`` for the given errors, grouped by status, with one example each."""
    by_status: dict[int | str, dict[str, Any]] = {}
    for error in errors:
        problem = PROBLEMS[error]
        entry = by_status.setdefault(
            problem.status, {"description": "", "content": {PROBLEM_MEDIA_TYPE: {"examples": {}}}}
        )
        entry["description"] = "; ".join(filter(None, [entry["description"], problem.title]))
        entry["content"][PROBLEM_MEDIA_TYPE]["examples"][problem.name] = {
            "value": problem_document(error("What is wrong, and what to do."), API)
        }
    return by_status
