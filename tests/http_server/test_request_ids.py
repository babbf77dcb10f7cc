"""Log lines of a request have its id, and nothing else has."""

import json
import logging
import re

import httpx
import pytest
from starlette.types import Receive, Scope, Send

from privet.http_server.logs import JsonLines, log_to_stderr
from privet.http_server.request_ids import RequestIds


async def talkative(_scope: Scope, _receive: Receive, send: Send) -> None:
    logging.getLogger("privet.test").warning("called")
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b""})


async def logged(capsys: pytest.CaptureFixture[str], *given: str) -> list[str]:
    """The ids in the log lines of calls with these headers."""
    log_to_stderr(JsonLines(), "info")
    async with httpx.AsyncClient(
        transport=httpx.ASGITransport(RequestIds(talkative)), base_url="http://server"
    ) as http:
        for each in given:
            answer = await http.get("/", headers=[(b"X-Request-ID", each.encode())] if each else [])
            assert "x-request-id" not in answer.headers
    logging.getLogger("privet.test").warning("afterwards")
    *lines, last = map(json.loads, capsys.readouterr().err.splitlines())
    assert "request" not in last
    return [line["request"] for line in lines if line["event"] == "called"]


async def test_a_proxys_id_is_in_the_log(capsys: pytest.CaptureFixture[str]) -> None:
    """As it came, if it is in a safe form."""
    ids = ["0f" * 16, "123e4567-e89b-12d3-a456-426614174000"]
    assert await logged(capsys, *ids) == ids


@pytest.mark.parametrize(
    "given", ["", "short", "x" * 65, 'a"b\\c{}defgh', "id with spaces", "ä" * 9]
)
async def test_another_is_made_where_there_is_none(
    given: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Or one that could act on whoever reads the log; each request has its own."""
    first, second = await logged(capsys, given, given)
    assert re.fullmatch(r"[0-9a-f]{32}", first)
    assert re.fullmatch(r"[0-9a-f]{32}", second)
    assert first != second
