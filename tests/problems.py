"""What must hold of every refusal."""

import httpx

from privet.protocol.errors import ERRORS_BY_URI, PROBLEMS, PrivetError


def assert_problem(response: httpx.Response, error: type[PrivetError], *said: str) -> None:
    """The response is a whole problem document of ``error``, and its detail says these words."""
    assert response.headers["content-type"] == "application/problem+json", response.text
    document = response.json()
    assert set(document) == {"type", "title", "status", "detail", "instance"}
    assert ERRORS_BY_URI.get(document["type"]) is error, document
    assert response.status_code == document["status"] == PROBLEMS[error].status
    assert document["instance"] == response.request.url.path
    for words in said:
        assert words in document["detail"]
