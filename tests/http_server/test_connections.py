"""Hostile clients over real sockets: each is cut off within its limit, and honest ones are not."""

import asyncio
import json
import resource
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any

import pytest
import uvicorn
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.server import ServerState

from privet.http_server.bodies import WHOLE_BODY
from privet.http_server.connections import (
    HANDLES,
    OTHER_FILES,
    BoundedConnection,
    CannotListen,
    ConnectionLimits,
    accepting,
    address_of,
    allow_connections,
    listen,
)
from tests.keeping import keeps

SHORT = 0.2
LONG = 30.0
LARGE = 32 * 2**20
GET = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"

Connect = Callable[..., Any]


async def echo(scope: Scope, receive: Receive, send: Send) -> None:
    """Answers with the body; without reading it, at /early; after a while, at /slow."""
    body = bytes(LARGE) if scope["path"] == "/large" else b""
    more = scope["path"] != "/early"
    if scope["path"] == "/slow":
        await asyncio.sleep(3 * SHORT)
    while more:
        message = await receive()
        body += message.get("body", b"")
        more = message.get("more_body", False)
    headers = [(b"content-length", b"%d" % len(body))]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": body})


@asynccontextmanager
async def serving(
    state: ServerState | None = None, keep_alive: float = LONG, **limits: Any
) -> AsyncIterator[Connect]:
    """A server with the given limits; what opens a connection to it."""
    given = {"bytes": 2000, "headers": 20, "seconds": SHORT, "connections": 10, **limits}
    config = uvicorn.Config(echo, log_config=None, ws="none", lifespan="off")
    config.load()
    state, held = state or ServerState(), ConnectionLimits(**given)

    def protocol() -> BoundedConnection:
        connection = BoundedConnection(held, config=config, server_state=state, app_state={})
        connection.timeout_keep_alive = keep_alive  # type: ignore[assignment]
        return connection

    server = await asyncio.get_running_loop().create_server(protocol, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    opened: list[asyncio.StreamWriter] = []

    async def connect(
        address: str = "127.0.0.1",
    ) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        local = (address, 0)
        reader, writer = await asyncio.open_connection("127.0.0.1", port, local_addr=local)
        opened.append(writer)
        return reader, writer

    try:
        yield connect
    finally:
        for writer in opened:
            writer.close()
        server.close()
        await server.wait_closed()


async def answer(reader: asyncio.StreamReader) -> tuple[int, bytes]:
    async with asyncio.timeout(LONG):
        head = (await reader.readuntil(b"\r\n\r\n")).lower()
        length = int(head.split(b"content-length: ")[1].split(b"\r\n")[0])
        return int(head.split()[1]), await reader.readexactly(length)


async def refusal(reader: asyncio.StreamReader) -> tuple[int, str]:
    """The status and detail of a problem document, after which the connection ends."""
    status, body = await answer(reader)
    async with asyncio.timeout(LONG):
        assert await reader.read() == b""
    document = json.loads(body)
    assert document["status"] == status
    assert document["type"] == "about:blank"
    return status, document["detail"]


async def trickle(writer: asyncio.StreamWriter, piece: bytes) -> None:
    """Write ``piece`` until the other side has had enough."""
    try:
        while True:
            writer.write(piece)
            await writer.drain()
            await asyncio.sleep(SHORT / 10)
    except OSError:
        return


CHUNKED = b"Transfer-Encoding: chunked\r\n"


@keeps(
    "threat-model: a body has one length",
    in_="http_server/connections.py",
    instead_of='self._fault = (400, "The request is not',
    plant='self._fault = (200, "The request is not',
)
@pytest.mark.parametrize(
    "fields",
    [
        b"Content-Length: 4\r\n" + CHUNKED,
        CHUNKED + b"Content-Length: 4\r\n",
        b"Content-Length: 4\r\nContent-Length: 5\r\n",
        b"Content-Length: +4\r\n",
        b"Transfer-Encoding: chunked, identity\r\n",
        b"Transfer-Encoding : chunked\r\n",
        b"no header\r\n",
    ],
)
async def test_a_body_has_one_length(fields: bytes, caplog: pytest.LogCaptureFixture) -> None:
    """A proxy in front could take what follows for another caller's request, so all is refused; and
    a stranger's thousand broken requests are no thousand lines of a log."""
    async with serving() as connect:
        reader, writer = await connect()
        writer.write(b"POST / HTTP/1.1\r\nHost: a\r\n" + fields + b"\r\n0\r\n\r\n" + GET)
        assert (await refusal(reader))[0] == 400
    assert caplog.records == []


async def test_a_request_names_one_host() -> None:
    """A proxy in front may go by one Host, and this server by the other."""
    async with serving() as connect:
        reader, writer = await connect()
        writer.write(GET.replace(b"\r\n\r\n", b"\r\nhost: b\r\n\r\n"))
        status, detail = await refusal(reader)
        assert (status, "two Host headers" in detail) == (400, True)


@keeps(
    "threat-model: a head that trickles in is not waited for",
    in_="http_server/connections.py",
    instead_of="self._limits.seconds, self._too_late",
    plant="1e6, self._too_late",
)
@pytest.mark.parametrize(
    "start",
    [b"GET /", b"GET / HTTP/1.1\r\n", b"GET / HTTP/1.1\r\nHost: a\r\nX-A: "],
    ids=["address", "request line", "header"],
)
async def test_a_head_that_trickles_in_is_not_waited_for(start: bytes) -> None:
    """However often another byte comes, the head's time runs from its first one."""
    async with serving() as connect:
        reader, writer = await connect()
        writer.write(start)
        sender = asyncio.create_task(trickle(writer, b"a"))
        assert (await refusal(reader))[0] == 408
        await sender


@pytest.mark.parametrize("sent", [b"", b"\r\n"], ids=["silence", "empty lines"])
async def test_a_connection_without_a_request_is_closed(sent: bytes) -> None:
    """Nothing was asked, so nothing is answered."""
    async with serving() as connect:
        reader, writer = await connect()
        sender = asyncio.create_task(trickle(writer, sent))
        async with asyncio.timeout(LONG):
            with suppress(ConnectionResetError):  # where the end crosses what is still sent
                assert await reader.read() == b""
        sender.cancel()


async def test_the_next_head_on_a_kept_connection_has_the_same_time() -> None:
    """A good request buys no right to a slow one."""
    async with serving() as connect:
        reader, writer = await connect()
        for start in (b"", b"\r\n"):
            writer.write(start + GET)
            assert (await answer(reader))[0] == 200
        writer.write(b"GET / HT")
        assert (await refusal(reader))[0] == 408


@keeps(
    "threat-model: a head has few headers",
    in_="http_server/connections.py",
    instead_of="if max(len(self.headers), parts) > self._limits.headers or (",
    plant="if (",
)
@pytest.mark.parametrize(
    "head",
    [
        b"GET / HTTP/1.1\r\n" + b"X: 1\r\n" * 21 + b"\r\n",
        b"GET / HTTP/1.1\r\nX: " + b"1" * 2000 + b"\r\n\r\n",
        b"GET /" + b"a" * 2000 + b" HTTP/1.1\r\n\r\n",
        b"GET /?" + b"a&" * 21 + b" HTTP/1.1\r\nHost: a\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a\r\nCookie: " + b"a=b;" * 21 + b"\r\n\r\n",
    ],
    ids=["many headers", "long header", "long address", "parts of a query", "cookies"],
)
@pytest.mark.parametrize("piece", [100, 10_000], ids=["in pieces", "at once"])
async def test_a_head_that_is_too_long_is_refused(head: bytes, piece: int) -> None:
    """431 that names the limits, whether the head comes at once or in pieces."""
    async with serving(seconds=LONG) as connect:
        reader, writer = await connect()
        for start in range(0, len(head), piece):
            writer.write(head[start : start + piece])
            await asyncio.sleep(0)
        status, detail = await refusal(reader)
        assert status == 431
        assert "2000 bytes or 20 headers" in detail


@keeps(
    "threat-model: a head has few bytes",
    in_="http_server/connections.py",
    instead_of="self._since_advance > self._limits.bytes:",
    plant="False:",
)
@pytest.mark.parametrize(
    "start",
    [
        b"GET / HTTP/1.1\r\nX: ",
        b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\nX: ",
    ],
    ids=["head", "trailer"],
)
async def test_what_has_no_end_is_not_kept(start: bytes) -> None:
    """A header that never ends, before or after a body, is refused when it is too long."""
    async with serving(seconds=LONG) as connect:
        reader, writer = await connect()
        writer.write(start)
        await asyncio.sleep(0.05)
        sender = asyncio.create_task(trickle(writer, b"a" * 500))
        assert (await refusal(reader))[0] == 431
        await sender


async def test_a_body_that_goes_on_after_the_answer_is_cut_off() -> None:
    """An answer ends the interest in a body, and soon after it the connection."""
    async with serving() as connect:
        reader, writer = await connect()
        writer.write(b"POST /early HTTP/1.1\r\nContent-Length: 100000\r\n\r\n")
        sender = asyncio.create_task(trickle(writer, b"a"))
        assert await answer(reader) == (200, b"")
        async with asyncio.timeout(LONG):
            with pytest.raises((asyncio.IncompleteReadError, OSError)):
                await reader.readexactly(1)
        await sender


@keeps(
    "threat-model: a process has no more connections than its limit",
    in_="http_server/connections.py",
    instead_of="len(self.connections) > limits.connections",
    plant="False",
)
async def test_too_many_connections_are_refused_at_once() -> None:
    """503 with a hint; a connection that ends makes room for another."""
    state = ServerState()
    async with serving(state, connections=2, seconds=LONG) as connect:
        first, second = await connect(), await connect()
        reader, _ = await connect()
        status, detail = await refusal(reader)
        assert (status, "try again" in detail) == (503, True)
        first[1].close()
        async with asyncio.timeout(LONG):
            while len(state.connections) > 1:
                await asyncio.sleep(0.001)
        for reader, writer in (second, await connect()):
            writer.write(GET)
            assert (await answer(reader))[0] == 200


@keeps(
    "threat-model: one address does not take all connections",
    in_="http_server/connections.py",
    instead_of="held > limits.per_address",
    plant="False",
)
async def test_one_address_does_not_take_all_connections() -> None:
    """429 beyond its own; others go on, and so does it when it has closed one."""
    state = ServerState()
    async with serving(state, connections=10, per_address=3, seconds=LONG) as connect:
        idle = [await connect("127.0.0.2") for _ in range(3)]
        for _ in range(9):
            reader, _ = await connect("127.0.0.2")
            status, detail = await refusal(reader)
            assert (status, "close some" in detail) == (429, True)
        for reader, writer in (await connect("127.0.0.3"), await connect()):
            writer.write(GET)
            assert (await answer(reader))[0] == 200
        idle[0][1].close()
        async with asyncio.timeout(LONG):
            while len(state.connections) > 4:
                await asyncio.sleep(0.001)
        reader, writer = await connect("127.0.0.2")
        writer.write(GET)
        assert (await answer(reader))[0] == 200


@keeps(
    "threat-model: when all connections are taken, the address with most loses one",
    in_="http_server/connections.py",
    instead_of="not self._takes_a_place(held)",
    plant="True",
)
async def test_few_addresses_do_not_take_all_connections() -> None:
    """A newcomer of theirs is refused; another's gets the place of an idle one, not of a call."""
    state = ServerState()
    async with serving(state, connections=8, per_address=4, seconds=LONG) as connect:
        theirs = [await connect(f"127.0.0.{2 + n % 2}") for n in range(8)]
        calling, calls = theirs[0]
        calls.write(GET.replace(b"/", b"/slow", 1))
        await asyncio.sleep(SHORT / 2)
        status, detail = await refusal((await connect("127.0.0.2"))[0])
        assert (status, "close some" in detail) == (429, True)
        honest = [await connect(address) for address in ("127.0.0.8", "127.0.0.9", "127.0.0.8")]
        for reader, writer in honest:
            writer.write(GET)
            assert (await answer(reader))[0] == 200
        assert (await answer(calling))[0] == 200
        lost = 0
        for reader, _ in theirs[1:]:
            with suppress(TimeoutError):
                async with asyncio.timeout(SHORT / 4):
                    lost += await reader.read() == b""
        assert lost == len(honest)
        assert len(state.connections) == 8


async def test_as_many_addresses_as_connections_get_no_place_of_each_other() -> None:
    """Nobody has more than the newcomer."""
    async with serving(connections=4, seconds=LONG) as connect:
        kept = [await connect(f"127.0.0.{n}") for n in range(2, 6)]
        assert (await refusal((await connect("127.0.0.9"))[0]))[0] == 503
        for reader, writer in kept:
            writer.write(GET)
            assert (await answer(reader))[0] == 200


async def test_a_proxy_over_ipv4_is_recognised_on_a_socket_for_both_families() -> None:
    """Such a socket says ``::ffff:127.0.0.1``."""
    seen: list[Any] = []

    async def say(scope: Scope, receive: Receive, send: Send) -> None:
        seen.append(scope["client"][0])
        await echo(scope, receive, send)

    options: dict[str, Any] = {"ws": "none", "forwarded_allow_ips": "127.0.0.1"}
    config = uvicorn.Config(say, log_config=None, lifespan="off", **options)
    config.load()
    held = ConnectionLimits(per_address=1, proxies="127.0.0.1")

    def protocol() -> BoundedConnection:
        return BoundedConnection(held, config=config, server_state=ServerState(), app_state={})

    with listen("::", 0) as listener:
        loop = asyncio.get_running_loop()
        async with await loop.create_server(protocol, sock=listener):
            port = listener.getsockname()[1]
            assert address_of(listener) == f"http://[::]:{port}"
            opened = [await asyncio.open_connection("127.0.0.1", port) for _ in range(2)]
            for reader, writer in opened:
                writer.write(GET.replace(b"Host", b"X-Forwarded-For: 203.0.113.9\r\nHost"))
                assert (await answer(reader))[0] == 200
            for _, writer in opened:
                writer.close()
    assert seen == ["203.0.113.9"] * 2


@keeps(
    "threat-model: a trusted proxy has no such bound",
    in_="http_server/connections.py",
    instead_of="self.client[0] not in _proxies(limits.proxies)",
    plant="self.client",
)
@pytest.mark.parametrize("proxies", ["127.0.0.2", "192.0.2.1, 127.0.0.0/30", "*"])
async def test_a_proxy_has_as_many_connections_as_there_are(proxies: str) -> None:
    """Everybody's requests come over them, so it has no bound of its own; it has to set one."""
    async with serving(connections=8, per_address=2, proxies=proxies, seconds=LONG) as connect:
        for reader, writer in [await connect("127.0.0.2") for _ in range(8)]:
            writer.write(GET)
            assert (await answer(reader))[0] == 200
        reader, _ = await connect("127.0.0.2")
        assert (await refusal(reader))[0] == 503


@pytest.mark.slow
async def test_long_bodies_and_long_work_are_not_cut_off() -> None:
    """The limits are the head's: a slow body, a long one and a slow answer go through."""
    async with serving() as connect:
        reader, writer = await connect()
        writer.write(b"POST / HTTP/1.1\r\nContent-Length: 10\r\n\r\n")
        for _ in range(10):
            await asyncio.sleep(SHORT / 5)
            writer.write(b"b")
        assert await answer(reader) == (200, b"b" * 10)
        writer.write(b"POST / HTTP/1.1\r\nContent-Length: 100000\r\n\r\n" + b"c" * 100_000)
        assert await answer(reader) == (200, b"c" * 100_000)
        chunk = b"5\r\nddddd\r\n"
        writer.write(b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n" + chunk * 1000)
        writer.write(b"0\r\n\r\nGET /slow HTTP/1.1\r\n\r\n")
        assert await answer(reader) == (200, b"d" * 5000)
        assert await answer(reader) == (200, b"")


async def test_a_half_sent_head_does_not_end_the_answer_before_it() -> None:
    """Of two requests in a row the first is answered, although the second never comes."""
    async with serving() as connect:
        reader, writer = await connect()
        writer.write(b"GET /slow HTTP/1.1\r\n\r\nGET / HT")
        assert await answer(reader) == (200, b"")
        assert (await refusal(reader))[0] == 408


@keeps(
    "threat-model: a client that takes nothing is cut off",
    in_="http_server/connections.py",
    instead_of="self.transport.abort()",
    plant="pass",
)
async def test_a_client_that_takes_nothing_is_cut_off() -> None:
    """An answer that nobody reads is not kept for ever."""
    state = ServerState()
    async with serving(state, stalled=SHORT, seconds=LONG) as connect:
        reader, writer = await connect()
        writer.write(b"GET /large HTTP/1.1\r\n\r\n")
        async with asyncio.timeout(LONG):
            await reader.readexactly(1)
            while state.connections:
                await asyncio.sleep(SHORT / 10)
        with pytest.raises((asyncio.IncompleteReadError, OSError)):
            await reader.readexactly(LARGE)


@pytest.mark.slow
async def test_a_client_that_takes_its_answer_slowly_gets_it() -> None:
    """As long as something is taken within the time, all of it is delivered."""
    async with serving(stalled=SHORT, seconds=LONG) as connect:
        reader, writer = await connect()
        writer.write(b"GET /large HTTP/1.1\r\n\r\n")
        await reader.readuntil(b"\r\n\r\n")
        async with asyncio.timeout(LONG):
            for _ in range(16):
                await asyncio.sleep(SHORT / 4)
                await reader.readexactly(LARGE // 16)


def test_a_host_that_is_not_here_is_not_blamed_on_another_server() -> None:
    """A name that means nothing and an address of another machine: the hint is about the host."""
    for host in ("no.such.host.invalid", "192.0.2.1"):
        with pytest.raises(CannotListen, match=r"--host an address of this machine") as caught:
            listen(host, 0)
        assert "another server" not in caught.value.detail


def test_files_are_allowed_for_all_connections() -> None:
    """The process may open as many files as the settings need, or as many as it can get."""
    before, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        allow_connections(before)
        after, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        assert after == (before + OTHER_FILES if hard < 0 else min(before + OTHER_FILES, hard))
        allow_connections(1)
        assert resource.getrlimit(resource.RLIMIT_NOFILE)[0] == after
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (before, hard))


class Recorder(asyncio.Transport):
    def __init__(self) -> None:
        super().__init__()
        self.done: list[bytes | str] = []

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.done.append(bytes(data))

    def close(self) -> None:
        self.done.append("closed")

    def is_closing(self) -> bool:
        return "closed" in self.done

    def pause_reading(self) -> None:
        pass

    def resume_reading(self) -> None:
        pass


Answer = Callable[[Send], Awaitable[None]]
PLAIN = [(b"X-Plain", b"yes"), (b"content-length", b"4")]
WHOLE = b"HTTP/1.1 200 OK\r\nx-plain: yes\r\ncontent-length: 4\r\n\r\nbody"


async def answered(answer: Answer, request: bytes = GET) -> list[bytes | str]:
    """What a connection does with its transport when an application sends an answer."""

    async def app(_scope: Scope, _receive: Receive, send: Send) -> None:
        await answer(send)

    return await conversation(app, request)


async def conversation(app: ASGIApp, *pieces: bytes) -> list[bytes | str]:
    """What a connection does with its transport when these pieces arrive one after another."""
    config = uvicorn.Config(app, log_config=None, ws="none", lifespan="off", date_header=False)
    config.load()
    connection = BoundedConnection(
        ConnectionLimits(), config=config, server_state=ServerState(), app_state={}
    )
    under = Recorder()
    connection.connection_made(under)
    for piece in pieces:
        connection.data_received(piece)
        while connection.tasks:
            await asyncio.sleep(0)
    connection.connection_lost(None)
    return under.done


async def send_parts(send: Send, *parts: bytes, headers: list[tuple[bytes, bytes]] = PLAIN) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    for count, part in enumerate(parts, 1):
        more = count < len(parts)
        await send({"type": "http.response.body", "body": part, "more_body": more})


async def test_a_small_answer_is_one_write() -> None:
    """Head and body go out together."""
    assert await answered(lambda send: send_parts(send, b"body")) == [WHOLE, "closed"]


async def test_a_body_that_came_with_its_head_is_in_the_scope() -> None:
    """Whole, for every request of one piece; not where an application may have begun to read."""
    whole: list[bytes | None] = []

    async def app(scope: Scope, _receive: Receive, send: Send) -> None:
        whole.append(scope.get(WHOLE_BODY))
        await send_parts(send, b"body")

    post = GET.replace(b"GET", b"POST").replace(b"Host", b"Content-Length: 4\r\nHost") + b"sent"
    await conversation(app, GET, post + post, post[:-1], post[-1:])
    assert whole == [b"", b"sent", b"sent", None]


@pytest.mark.slow
async def test_a_kept_connection_is_closed_when_it_is_idle_for_long() -> None:
    """Each answer begins the time anew, and nothing is closed while a request is handled."""
    async with serving(keep_alive=4 * SHORT, seconds=LONG) as connect:
        reader, writer = await connect()
        clock = asyncio.get_running_loop().time
        began = clock()
        for path in (b"/", b"/slow", b"/", b"/"):
            await asyncio.sleep(SHORT)
            writer.write(GET.replace(b"/", path, 1))
            assert (await answer(reader))[0] == 200
        last = clock()
        async with asyncio.timeout(LONG):
            assert await reader.read() == b""
        assert last - began > 6 * SHORT
        assert clock() - last > 3 * SHORT


CHUNKS = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n4\r\nbody\r\n0\r\n\r\n"
LAST = GET.replace(b"Host", b"Connection: close\r\nHost")


@pytest.mark.parametrize(
    ("request_", "parts", "headers", "expected"),
    [
        (GET, [b"bo", b"d", b"y"], PLAIN, WHOLE),
        (GET + GET, [b"body"], PLAIN, WHOLE + WHOLE),
        (GET, [b"body"], [], CHUNKS),
        (GET.replace(b"GET", b"HEAD"), [b""], PLAIN, WHOLE.removesuffix(b"body")),
        (LAST, [b"body"], PLAIN, WHOLE.replace(b"\r\n\r\n", b"\r\nconnection: close\r\n\r\n")),
    ],
    ids=["in parts", "pipelined", "without a length", "HEAD", "last of a connection"],
)
async def test_answers_are_written_as_http_wants_them(
    request_: bytes, parts: list[bytes], headers: list[tuple[bytes, bytes]], expected: bytes
) -> None:
    """Byte for byte, and then the connection is closed."""
    *done, closed = await answered(lambda send: send_parts(send, *parts, headers=headers), request_)
    assert closed == "closed"
    assert b"".join(part for part in done if isinstance(part, bytes)) == expected


@pytest.mark.parametrize("body", [b"bod", b"bodys"])
async def test_an_answer_of_another_length_is_not_sent_as_complete(body: bytes) -> None:
    """An application that contradicts its own content-length loses the connection."""
    done = await answered(lambda send: send_parts(send, body))
    assert WHOLE[:-4] + body not in done
    assert "closed" in done


async def test_a_head_without_a_body_is_a_failure() -> None:
    """An application that ends after the head has answered 500."""
    done = await answered(send_parts)
    assert isinstance(done[0], bytes)
    assert done[0].startswith(b"HTTP/1.1 500 ")


async def test_no_header_breaks_out_of_the_head() -> None:
    """Line breaks in a value are refused."""
    done = await answered(lambda send: send_parts(send, b"", headers=[(b"a", b"b\r\nc: d")]))
    assert not any(b"c: d" in part for part in done if isinstance(part, bytes))


@keeps(
    "deployment: more than eight requests in line get 429",
    in_="http_server/connections.py",
    instead_of="len(self.pipeline) >= self._limits.pipelined",
    plant="len(self.pipeline) >= 1e9",
)
async def test_few_requests_wait_on_a_connection() -> None:
    """As many as may are answered in order; one more ends the connection, and no other."""
    async with serving(pipelined=3, seconds=LONG) as connect:
        reader, writer = await connect()
        slow = GET.replace(b"/", b"/slow", 1)
        writer.write(slow + 3 * GET)
        for _ in range(4):
            assert (await answer(reader))[0] == 200
        honest, honest_writer = await connect()
        writer.write(slow + 4 * GET)
        status, detail = await refusal(reader)
        assert (status, "await its answers" in detail) == (429, True)
        honest_writer.write(GET)
        assert (await answer(honest))[0] == 200


async def test_a_listener_has_many_handles() -> None:
    """uvloop accepts one connection by each in a round of its loop."""
    with listen("127.0.0.1", 0) as listener:
        handles = accepting(listener)
        try:
            assert len(handles) == len({handle.fileno() for handle in handles}) == HANDLES
            assert {handle.getsockname() for handle in handles} == {listener.getsockname()}
        finally:
            for handle in handles:
                handle.close()
