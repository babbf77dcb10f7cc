"""Answers that are the same for every caller: bytes that are kept, with their ETag."""

import hashlib
from dataclasses import dataclass
from functools import cached_property

from starlette.requests import Request
from starlette.responses import Response


@dataclass(frozen=True)
class Fixed:
    """A body of some ``media_type``, with the ``headers`` that it is sent with."""

    body: bytes
    media_type: str
    headers: tuple[tuple[str, str], ...] = ()

    @cached_property
    def tag(self) -> str:
        return f'"{hashlib.sha256(self.body).hexdigest()[:32]}"'

    def response(self, request: Request) -> Response:
        """The whole body, or 304 where ``request`` says that the caller has it."""
        headers = {**dict(self.headers), "ETag": self.tag}
        if is_known(request.headers.get("if-none-match", ""), self.tag):
            return Response(status_code=304, headers=headers)
        return Response(self.body, headers=headers, media_type=self.media_type)


def is_known(if_none_match: str, tag: str) -> bool:
    """True if ``tag`` is among a request's ``If-None-Match`` (RFC 9110, 13.1.2: weakly).

    Its quotes, which are part of it, set it apart from other tags, however many there are.
    """
    return if_none_match.strip() == "*" or tag.removeprefix("W/") in if_none_match
