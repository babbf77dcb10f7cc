"""HEAD tells what a GET would, without the body."""

import pytest

from privet.protocol.task import TASK_MEDIA_TYPE
from tests.curator.http.conftest import Http


@pytest.mark.parametrize("path", ["", "/status", "/models"])
async def test_head_has_the_headers_of_get(http: Http, path: str) -> None:
    """Status, type, length and tag are those of the GET; the body is empty."""
    address = f"/v1/tasks/{await http.task()}{path}"
    headers = {"Accept": TASK_MEDIA_TYPE}
    got, head = await http.get(address, headers=headers), await http.head(address, headers=headers)
    assert head.status_code == got.status_code == 200
    assert head.content == b""
    assert head.headers == got.headers
    assert int(head.headers["content-length"]) == len(got.content) > 0


@pytest.mark.parametrize("path", ["/v1/tasks", "/v1/methods", "/healthz", "/metrics", "/docs"])
async def test_every_kind_of_read_call_takes_head(http: Http, path: str) -> None:
    """Lists, operation and pages alike."""
    assert (await http.head(path)).status_code == 200


async def test_head_is_refused_where_get_is(http: Http) -> None:
    """An address that only takes posts, an unknown one, and one that needs a token."""
    reports = f"/v1/tasks/{await http.task()}/reports"
    for path, status in ((reports, 405), ("/v1/nothing", 404), ("/v1/tokens", 401)):
        refused = await http.head(path)
        assert (refused.status_code, refused.content) == (status, b"")
