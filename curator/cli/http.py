"""The command line's way to a curator: HTTP only, problem documents back into exceptions."""

import json
from collections.abc import Mapping
from typing import Any

import httpx

from privet.protocol.errors import (
    ERRORS_BY_URI,
    InvalidRequest,
    NotAuthorized,
    PrivetError,
    TaskNotFound,
)

DEFAULT_URL = "http://127.0.0.1:8000"
SECONDS = 600.0
CONNECT_SECONDS = 10.0
ID_LENGTH = 64


class NoCurator(PrivetError):
    """Nothing answers at the address, or what answers is not a curator."""


class Api:
    """A curator at ``url``."""

    def __init__(self, url: str, token: str | None = None) -> None:
        self.url = url.rstrip("/")
        self._headers = {"Authorization": f"Bearer {_sendable(token)}"} if token else {}
        self._timeout = httpx.Timeout(SECONDS, connect=CONNECT_SECONDS)

    def get(self, path: str, **parameters: Any) -> Any:
        """The JSON answer to a GET."""
        return self.call("GET", path, params=parameters or None).json()

    def post(self, path: str, body: Any = None) -> Any:
        """The JSON answer to a POST."""
        return self.call("POST", path, json={} if body is None else body).json()

    def delete(self, path: str) -> None:
        """Send a DELETE."""
        self.call("DELETE", path)

    def call(self, method: str, path: str, **request: Any) -> httpx.Response:
        """The answer, if it is a success; raises the ``PrivetError`` of its problem document."""
        try:
            with httpx.Client(headers=self._headers, timeout=self._timeout) as http:
                response = http.request(method, self.url + path, **request)
        except (httpx.TransportError, httpx.InvalidURL) as error:
            reason = str(error) or type(error).__name__
            raise NoCurator(
                f"No curator answers at {self.url} ({reason}): start one with 'privet serve', "
                "or give its address with --url or PRIVET_URL."
            ) from None
        if response.is_success:
            return response
        raise problem_in(response)

    def task_id(self, named: str) -> str:
        """The id of the task given by its id, by the start of its id, or by its exact name."""
        if len(named) == ID_LENGTH:
            return named
        tasks = self.get("/v1/tasks")
        found = [t["id"] for t in tasks if named and t["id"].startswith(named)]
        found = found or [t["id"] for t in tasks if t["name"] == named]
        if not found:
            raise TaskNotFound(f"No task has the id or name {named!r}: see 'privet task list'.")
        if len(found) > 1:
            raise InvalidRequest(
                f"{named!r} could be {', '.join(i[:16] for i in found)}: give more of the id."
            )
        return str(found[0])


def _sendable(token: str) -> str:
    """The token, if a header can carry it; raises ``NotAuthorized``."""
    if not token.isascii() or not token.isprintable():
        raise NotAuthorized(
            "The token has characters that no token has: copy it again, as the curator showed it."
        )
    return token


def problem_in(response: httpx.Response) -> PrivetError:
    """The error that a problem document stands for."""
    try:
        document = response.json()
    except (json.JSONDecodeError, UnicodeDecodeError):
        document = None
    if not isinstance(document, Mapping) or "detail" not in document:
        return NoCurator(
            f"{response.url} answered {response.status_code} without saying why: "
            "check that --url is the address of a Privet curator."
        )
    error = ERRORS_BY_URI.get(str(document.get("type")), PrivetError)
    return error(str(document["detail"]))
