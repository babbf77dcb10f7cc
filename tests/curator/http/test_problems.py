"""Every error leaves as one kind of document, with nothing in it that was not meant to be said."""

import pytest

from privet.curator.app import CuratorApp
from tests.curator.http.conftest import Http


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/nothing", 404),
        ("GET", "/v1/nothing", 404),
        ("POST", "/v1/tasks/" + "0" * 64 + "/reports/more", 404),
        ("PUT", "/v1/tasks", 405),
        ("DELETE", "/v1/methods", 405),
    ],
)
async def test_what_the_framework_refuses_is_a_document_too(
    http: Http, method: str, path: str, status: int
) -> None:
    """Unknown addresses and methods answer with type about:blank and point to /docs."""
    response = await http.request(method, path)
    assert response.status_code == status
    assert response.headers["content-type"] == "application/problem+json"
    document = response.json()
    assert document["type"] == "about:blank"
    assert "/docs" in document["detail"]


async def test_a_failure_tells_the_caller_nothing(http: Http, app: CuratorApp) -> None:
    """An unexpected exception is a 500 whose text is in the log only."""

    @app.api.get("/boom")
    def boom() -> None:
        raise RuntimeError("a secret")

    response = await http.get("/boom")
    assert response.status_code == 500
    assert response.json()["type"] == "urn:privet:problem:internal"
    assert "secret" not in response.text
    assert "Traceback" not in response.text
