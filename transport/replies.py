"""What comes back over HTTP: read within limits, and turned into the exception it stands for."""

import json
from dataclasses import dataclass

import httpx

from privet.protocol.errors import ERRORS_BY_URI, PrivetError
from privet.protocol.signature import SIGNATURE_HEADER
from privet.transport.errors import UnexpectedAnswer
from privet.transport.text import plain

PROBLEM_MEDIA_TYPE = "application/problem+json"
_CHECK = "check that the address is a Privet curator's"


@dataclass(frozen=True)
class Reply:
    """What came back: never more than was asked for."""

    url: str
    status: int
    media_type: str
    retry_after: str | None
    body: bytes
    signature: str | None = None


def error_in(reply: Reply) -> PrivetError:
    """The exception that a reply stands for, by its problem type and never by its text."""
    if 300 <= reply.status < 400:
        return unexpected(reply, "a redirect, which is not followed; ask for the new address")
    if reply.media_type != PROBLEM_MEDIA_TYPE:
        return unexpected(reply, f"{plain(reply.media_type, 100) or 'nothing'!r}")
    try:
        problem = json.loads(reply.body)
    except (ValueError, RecursionError):
        return unexpected(reply, "a damaged problem document")
    if not isinstance(problem, dict):
        return unexpected(reply, "a damaged problem document")
    detail = problem.get("detail") or problem.get("title") or f"HTTP status {reply.status}"
    kind = problem.get("type")
    error = ERRORS_BY_URI.get(kind, PrivetError) if isinstance(kind, str) else PrivetError
    return error(plain(str(detail)))


async def read(response: httpx.Response, url: str, limit: int) -> Reply:
    """Uncompressed bytes only, so that what is counted is what is kept."""
    if response.headers.get("content-encoding", "identity") != "identity":
        raise UnexpectedAnswer(f"{url} answers in compressed form: a curator would not; {_CHECK}.")
    body = bytearray()
    async for chunk in response.aiter_bytes():
        body += chunk
        if len(body) > limit:
            raise UnexpectedAnswer(f"{url} sends more than {limit} bytes; {_CHECK}.")
    return Reply(
        url=url,
        status=response.status_code,
        media_type=response.headers.get("content-type", "").split(";")[0].strip().lower(),
        retry_after=response.headers.get("retry-after"),
        signature=response.headers.get(SIGNATURE_HEADER),
        body=bytes(body),
    )


def unexpected(reply: Reply, what: str) -> UnexpectedAnswer:
    return UnexpectedAnswer(f"{reply.url} answered {reply.status} with {what}; {_CHECK}.")
