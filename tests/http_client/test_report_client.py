import asyncio
import contextlib
import gzip
import os
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

from privet.client import CuratorUnreachable, UnexpectedResponse
from privet.http_client.report_client import (
    CONNECTIONS,
    Offer,
    Reply,
    ReportClient,
    error_in,
    new_http,
)
from privet.protocol.calls import READ_TASK, SEND_REPORT, TASK_MEDIA_TYPE
from privet.protocol.errors import (
    PROBLEMS,
    Overloaded,
    PrivetError,
    TaskMismatch,
    TooSlow,
)
from privet.protocol.lifecycle import ReportState
from privet.protocol.report import make_report
from tests.client.fakes import ADDRESS, TASK, URL, Canned, Network, media, publish
from tests.fake_curator import FakeCurator, problem
from tests.keeping import keeps
from tests.protocol.examples import RECORD, make_task

REPORT = make_report(TASK, RECORD, os.urandom)
SENT = (ADDRESS, REPORT.pack(), REPORT.id.hex())


async def test_a_task_is_fetched_in_its_canonical_form_and_once() -> None:
    """The request asks for msgpack, uncompressed; the second call needs no request."""
    network = Network([publish])
    async with network.client() as client:
        assert await client.offer(ADDRESS) == Offer(TASK)
        assert await client.offer(ADDRESS) is await client.offer(ADDRESS)
    (request,) = network.requests
    assert str(request.url) == URL
    assert request.headers["accept"] == TASK_MEDIA_TYPE
    assert request.headers["accept-encoding"] == "identity"


async def test_callers_at_once_share_one_fetch_and_its_outcome() -> None:
    """Fifty callers make three attempts in all; once the network is back, one more is enough."""
    network = Network([httpx.ConnectError("down")] * 3 + [publish])
    client = network.client()
    outcomes = await asyncio.gather(
        *(client.offer(ADDRESS) for _ in range(50)), return_exceptions=True
    )
    assert {type(outcome) for outcome in outcomes} == {CuratorUnreachable}
    assert len(network.requests) == 3
    assert await asyncio.gather(*(client.offer(ADDRESS) for _ in range(50))) == [Offer(TASK)] * 50
    assert len(network.requests) == 4


async def test_another_task_than_asked_for_is_a_mismatch() -> None:
    """The hash of the bytes is checked against the id in the address."""
    other = httpx.Response(
        200, content=make_task(name="other").canonical, headers=media(TASK_MEDIA_TYPE)
    )
    with pytest.raises(TaskMismatch):
        await Network([other]).client().offer(ADDRESS)


@keeps(
    "threat-model: redirects are not followed",
    in_="http_client/report_client.py",
    instead_of="follow_redirects=False",
    plant="follow_redirects=True",
)
@pytest.mark.parametrize(
    "reply",
    [
        httpx.Response(200, json={"id": TASK.id}),
        httpx.Response(204),
        httpx.Response(302, headers={"Location": "https://elsewhere.example/"}),
        httpx.Response(404, text="not found"),
        httpx.Response(404, content=b"{", headers=media("application/problem+json")),
        httpx.Response(404, json=[1], headers=media("application/problem+json")),
        httpx.Response(404, content=b"[" * 60_000, headers=media("application/problem+json")),
        httpx.Response(
            200,
            content=gzip.compress(TASK.canonical),
            headers={**media(TASK_MEDIA_TYPE), "Content-Encoding": "gzip"},
        ),
    ],
    ids=lambda reply: f"{reply.status_code} {reply.headers.get('content-type')}",
)
async def test_what_no_curator_says_is_named_as_such(reply: httpx.Response) -> None:
    """Redirects, damaged or compressed answers raise UnexpectedResponse with advice."""
    network = Network([reply])
    for call in (network.client().offer(ADDRESS), network.client().send(*SENT)):
        with pytest.raises(UnexpectedResponse, match="curator"):
            await call
    assert [request.url.host for request in network.requests] == ["curator.example"] * 2


NEW = f"https://new.example/privet/v1/tasks/{TASK.id}"
SAME = f"//new.example/privet/v1/tasks/{TASK.id}"


@pytest.mark.parametrize("status", [301, 308])
@pytest.mark.parametrize(
    ("location", "is_said"),
    [
        *((NEW, True), (SAME, True), (URL, False), (f"{URL}/", False), ("", False)),
        (NEW.replace("https", "http"), False),
        (NEW.replace("https://", "https://curator.example@"), False),
        (NEW.replace("/privet", "/privet?at="), False),
        (NEW.replace("/privet", f"/{'x' * 300}"), False),
        (NEW.replace(TASK.id, "0" * 64), False),
        *(("https://new.example/sign-in", False), ("https://[", False)),
    ],
)
async def test_who_has_moved_is_said_where_that_is_safe(
    status: int, location: str, is_said: bool
) -> None:
    """At once, although most servers send a web page with it; to another page, over plain http or
    with a user it is not said where."""
    page = httpx.Response(status, html="<h1>Moved</h1>", headers={"Location": location})
    network = Network([page])
    with pytest.raises(UnexpectedResponse, match="has moved for good") as caught:
        await network.client().offer(ADDRESS)
    said = "give https://new.example/privet in place of https://curator.example."
    assert (said in caught.value.detail) is is_said
    assert ("new.example" in caught.value.detail) is is_said
    assert len(network.requests) == 1


async def test_a_phase_is_asked_for_once_by_all_who_answer_several_tasks() -> None:
    """Of each task, whichever is asked about in between."""
    tasks = (make_task(name="one"), make_task(name="other"))
    network = Network([FakeCurator(*tasks)])
    client = network.client()
    for task in 2 * tasks:
        await client.phase(client.address(URL.replace(TASK.id, task.id)))
    assert len(network.requests) == 2


@pytest.mark.parametrize("path", ["task", "report"])
async def test_endless_answers_are_cut_off(path: str) -> None:
    """No more than the limit is read, whatever the other side goes on sending."""
    limit = (READ_TASK if path == "task" else SEND_REPORT).max_response
    sent = 0

    async def endless() -> AsyncIterator[bytes]:
        nonlocal sent
        while True:
            sent += 2**16
            yield bytes(2**16)

    network = Network([lambda _: httpx.Response(200, content=endless())])
    with pytest.raises(UnexpectedResponse, match="more than"):
        await (network.client().offer(ADDRESS) if path == "task" else network.client().send(*SENT))
    assert limit < sent <= limit + 2**17


async def test_a_sent_report_needs_its_own_receipt() -> None:
    """201 and 200 are success only with a receipt that names this very report."""
    assert (await Network([publish]).client().send(*SENT)).state == ReportState.COUNTED
    replay = httpx.Response(200, json={"report": REPORT.id.hex(), "counted": False})
    assert (await Network([replay]).client().send(*SENT)).state == ReportState.COUNTED
    bodies: list[Any] = [{"report": "0" * 32, "counted": True}, {"counted": True}, [], "ok"]
    for body in bodies:
        with pytest.raises(UnexpectedResponse, match="receipt"):
            await Network([httpx.Response(201, json=body)]).client().send(*SENT)


LOGIN = httpx.Response(200, html="<p>Welcome to the hotel's network</p>")
FAULTS = [
    LOGIN,
    httpx.ConnectError("refused"),
    httpx.ReadTimeout("slow"),
    httpx.RemoteProtocolError("cut"),
    TimeoutError(),
    httpx.Response(500, text="oops"),
    httpx.Response(502, text="gateway"),
    httpx.Response(429, text="slowly"),
    problem(Overloaded("busy")),
    problem(TooSlow("again")),
]


@pytest.mark.parametrize("fault", FAULTS, ids=repr)
async def test_passing_faults_are_tried_again_with_the_same_bytes(fault: Canned) -> None:
    """Two faults and then a receipt: three requests, one body, growing pauses."""
    network = Network([fault, fault, publish])
    assert (await network.client().send(*SENT)).state == ReportState.COUNTED
    assert {request.content for request in network.requests} == {REPORT.pack()}
    assert len(network.requests) == 3
    assert 0.25 <= network.pauses[0] <= 0.5 <= network.pauses[1] <= 1.0


async def test_retry_after_is_respected_within_reason() -> None:
    """The pause is at least what the curator asks for, at most a minute, and never a crash."""
    for asked, least, most in [
        ("7", 7, 7),
        ("99999999999", 60, 60),
        ("soon", 0.25, 0.5),
        ("1.5", 0.25, 0.5),
    ]:
        network = Network([problem(Overloaded("busy"), headers={"Retry-After": asked}), publish])
        await network.client().send(*SENT)
        assert least <= network.pauses[0] <= most


async def test_the_last_fault_is_raised_when_patience_ends() -> None:
    """A silent network or its login page is CuratorUnreachable; a busy curator what it says."""
    network = Network([httpx.ConnectError("refused")])
    with pytest.raises(CuratorUnreachable, match="after 4 attempts"):
        await network.client().send(*SENT)
    assert (len(network.requests), len(network.pauses)) == (4, 3)
    with pytest.raises(CuratorUnreachable, match="perhaps the login page of a network: sign in"):
        await Network([LOGIN]).client().send(*SENT)
    with pytest.raises(Overloaded, match="busy"):
        await Network([problem(Overloaded("busy"))]).client().send(*SENT)


def reply(body: bytes) -> Reply:
    return Reply(URL, 422, "application/problem+json", None, body)


@pytest.mark.parametrize("error", PROBLEMS, ids=lambda error: error.__name__)
async def test_every_problem_type_becomes_its_class(error: type[PrivetError]) -> None:
    """The type alone decides, whatever status and text come with it; only some are asked again."""
    for status in (PROBLEMS[error].status, 418):
        network = Network([problem(error("Do this."), status)])
        with pytest.raises(PrivetError) as caught:
            await network.client().send(*SENT)
        assert type(caught.value) is error
        assert str(caught.value) == caught.value.detail == "Do this."
        assert (len(network.requests) > 1) == (status in {408, 429, 500, 503})


def test_unknown_types_and_odd_members_become_the_base_class() -> None:
    """A problem from elsewhere is a PrivetError with its detail, its title, or its status."""
    for body, detail in [
        (b'{"type": "about:blank", "detail": "No."}', "No."),
        (b'{"type": 7, "title": "Odd"}', "Odd"),
        (b'{"detail": ""}', "HTTP status 422"),
        (b'{"detail": {"a": 1}}', "{'a': 1}"),
    ]:
        error = error_in(reply(body))
        assert (type(error), error.detail) == (PrivetError, detail)


def test_text_from_the_curator_cannot_drive_the_terminal() -> None:
    """Escape sequences are replaced and long texts cut."""
    error = error_in(reply(b'{"detail": "\\u001b[2J\\u0007' + b"x" * 5_000 + b'"}'))
    assert "\x1b" not in error.detail
    assert len(error.detail) == 1_000


@contextlib.asynccontextmanager
async def recording() -> AsyncIterator[tuple[int, list[bytes]]]:
    """A server or proxy on loopback: its port, and the heads of the requests that reach it."""
    heads: list[bytes] = []

    async def respond(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heads.append(await reader.readuntil(b"\r\n\r\n"))
        writer.write(b"HTTP/1.1 204 No Content\r\nSet-Cookie: who=me\r\nConnection: close\r\n\r\n")
        writer.close()

    async with await asyncio.start_server(respond, "127.0.0.1", 0) as server:
        yield server.sockets[0].getsockname()[1], heads


async def test_cookies_are_not_kept() -> None:
    """None ties two requests together."""
    async with recording() as (port, heads), new_http() as http:
        for _ in range(2):
            assert "set-cookie" in (await http.get(f"http://127.0.0.1:{port}/")).headers
    assert len(heads) == 2
    assert not any(b"\r\ncookie:" in head.lower() for head in heads)


async def test_connections_are_kept_for_the_next_request() -> None:
    """As many as there were requests at a time, up to the bound, and closed at the end."""
    opened: list[asyncio.StreamWriter] = []
    asked = 0

    async def respond(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal asked
        opened.append(writer)
        with contextlib.suppress(asyncio.IncompleteReadError):
            while await reader.readuntil(b"\r\n\r\n"):
                asked += 1
                writer.write(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")
        writer.close()

    async with await asyncio.start_server(respond, "127.0.0.1", 0) as server:
        async with ReportClient() as client:
            port = server.sockets[0].getsockname()[1]
            address = client.address(f"http://127.0.0.1:{port}/v1/tasks/{'0' * 64}")

            async def ask() -> None:
                with pytest.raises(UnexpectedResponse):
                    await client.collection(address)

            for at_a_time in (1, 1, 3 * CONNECTIONS, 1):
                await asyncio.gather(*(ask() for _ in range(at_a_time)))
        await asyncio.gather(*(writer.wait_closed() for writer in opened))
    assert asked == 3 + 3 * CONNECTIONS
    assert len(opened) == CONNECTIONS


@keeps(
    "threat-model: proxies are not asked for this machine",
    in_="http_client/report_client.py",
    instead_of="mounts=DIRECT,",
    plant="",
)
async def test_proxies_are_not_asked_for_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reports to a curator here do not go to whatever HTTP_PROXY names; others do."""
    async with recording() as (port, heads):
        for name in ("HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "ALL_PROXY"):
            monkeypatch.setenv(name, f"http://127.0.0.1:{port}")
        monkeypatch.delenv("NO_PROXY", raising=False)
        monkeypatch.delenv("no_proxy", raising=False)
        async with new_http() as http:
            for host in (f"127.0.0.1:{port}", f"localhost:{port}", "curator.example"):
                await http.get(f"http://{host}/")
            with contextlib.suppress(httpx.ConnectError):
                await http.get("http://[::1]:9/")
    lines = [head.split(b"\r\n")[0] for head in heads]
    assert lines == [b"GET / HTTP/1.1"] * 2 + [b"GET http://curator.example/ HTTP/1.1"]
