"""Bodies are read within a limit of bytes and seconds, by ``read_body`` and around a framework."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route
from starlette.types import Message, Receive

from privet.http_server.bodies import (
    WHOLE_BODY,
    BodyBudget,
    BodyLimit,
    BodyLimits,
    Head,
    MemoryShare,
    Turns,
    read_body,
)
from privet.http_server.problems import add_problem_handlers
from privet.protocol.errors import (
    MalformedReport,
    Overloaded,
    TooLarge,
    TooSlow,
    UnsupportedMediaType,
)
from tests.keeping import keeps
from tests.problems import assert_problem

SECONDS = 0.1
LONG = 30.0


@pytest.fixture(autouse=True)
def _short_ticks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("privet.http_server.bodies.TICK", 0.01)


def parts(*chunks: bytes) -> Receive:
    messages = [
        {"type": "http.request", "body": chunk, "more_body": i < len(chunks) - 1}
        for i, chunk in enumerate(chunks)
    ]

    async def receive() -> Message:
        return messages.pop(0)

    return receive


async def never() -> Any:
    """The next part of a body that does not come."""
    await asyncio.Event().wait()


async def read(receive: Receive, length: int | None = None, seconds: float = SECONDS) -> bytes:
    """A body of at most ten bytes."""
    with MemoryShare(BodyBudget(100)) as share:
        return await read_body(receive, Head(length), limit=10, seconds=seconds, share=share)


async def read_into(budget: BodyBudget, receive: Receive, length: int | None = None) -> bytes:
    """A body of at most a thousand bytes, which may take its time but has to find room."""
    with MemoryShare(budget) as share:
        return await read_body(receive, Head(length), limit=1_000, seconds=LONG, share=share)


def test_a_head_is_what_its_headers_say() -> None:
    """The media type is in lower case and without parameters; a damaged length is none."""
    headers = [
        (b"content-type", b"Application/JSON; charset=utf-8"),
        (b"content-length", b"12"),
        (b"privet-invitation", b"i"),
    ]
    assert Head.of({"headers": headers}) == Head(12, b"application/json", b"i")
    assert Head.of({"headers": [(b"content-length", b"-1")]}) == Head()


async def test_a_body_is_read_whole() -> None:
    """In one part or several, up to the limit."""
    assert await read(parts(b"body")) == b"body"
    assert await read(parts(b"12345", b"", b"67890")) == b"1234567890"


async def test_a_body_that_came_with_its_head_is_not_waited_for() -> None:
    """It has the same limit, and is in the same memory."""
    budget = BodyBudget(100)
    with MemoryShare(budget) as share:
        head = Head.of({"headers": [], WHOLE_BODY: b"1234567890"})
        body = await read_body(never, head, limit=10, seconds=LONG, share=share)
        assert (body, budget.free) == (b"1234567890", 90)
        with pytest.raises(TooLarge, match="9 bytes"):
            await read_body(never, head, limit=9, seconds=LONG, share=share)


@keeps(
    "threat-model: a body has arrived in time",
    in_="http_server/bodies.py",
    instead_of="if deadline < now:",
    plant="if False:",
)
async def test_late_senders_are_given_up() -> None:
    """Each sender's time ends; the reader raises an error and is not cancelled."""
    first = asyncio.create_task(read(never))
    await asyncio.sleep(SECONDS / 2)
    second = asyncio.create_task(read(never))
    async with asyncio.timeout(LONG):
        for late in (first, second):
            with pytest.raises(TooSlow, match=r"0\.1 seconds"):
                await late
    assert await read(parts(b"body")) == b"body"


async def test_a_late_reader_can_go_on() -> None:
    """A task that was interrupted for its body can wait for other things, as for its answer."""

    async def late_and_then() -> str:
        with pytest.raises(TooSlow):
            await read(never)
        await asyncio.sleep(0.05)
        return "answered"

    assert await asyncio.create_task(late_and_then()) == "answered"


async def test_a_cancelled_reader_stays_cancelled() -> None:
    """A cancellation from elsewhere is passed on."""
    reading = asyncio.create_task(read(never, seconds=LONG))
    await asyncio.sleep(0)
    reading.cancel()
    with pytest.raises(asyncio.CancelledError):
        await reading


@keeps(
    "threat-model: a body is no longer than its limit",
    in_="http_server/bodies.py",
    instead_of="if arrived > limit:",
    plant="if False:",
)
async def test_too_much_is_refused() -> None:
    """By the declared length before anything is read, and else as soon as it has arrived."""
    with pytest.raises(TooLarge, match="10 bytes"):
        await read(never, length=11)
    for receive in (parts(bytes(11)), parts(bytes(6), bytes(6), bytes(6))):
        with pytest.raises(TooLarge, match="10 bytes"):
            await read(receive)


async def test_a_sender_that_leaves_has_sent_no_report() -> None:
    """What had arrived is thrown away."""
    gone: list[Message] = [
        {"type": "http.request", "body": b"1", "more_body": True},
        {"type": "http.disconnect"},
    ]

    async def receive() -> Message:
        return gone.pop(0)

    with pytest.raises(MalformedReport, match="connection ended"):
        await read(receive)


async def test_compressed_bodies_are_refused_by_their_head() -> None:
    """A framework would take the bytes for the body itself; ``identity`` is no coding."""

    async def handler(request: Request) -> JSONResponse:
        return JSONResponse(len(await request.body()))

    app = Starlette(routes=[Route("/", handler, methods=["POST"])])
    limited = BodyLimits(app, BodyLimit(100, LONG), {}, BodyBudget(100))
    async with httpx.AsyncClient(
        transport=httpx.ASGITransport(limited), base_url="http://curator"
    ) as http:
        for coding in ("gzip", "BR", "gzip, identity"):
            answer = await http.post("/", content=b"1", headers={"Content-Encoding": coding})
            assert_problem(answer, UnsupportedMediaType)
        plain = await http.post("/", content=b"1", headers={"Content-Encoding": "Identity"})
        assert (plain.status_code, plain.json()) == (200, 1)


async def test_the_time_is_watched_on_every_loop() -> None:
    """A second event loop watches its own senders, though the first ended while one waited."""

    async def given_up_on() -> None:
        async with asyncio.timeout(SECONDS / 4):
            await read(never, seconds=LONG)

    async def waited_for() -> None:
        async with asyncio.timeout(LONG):
            await read(never)

    def both() -> None:
        with pytest.raises(TimeoutError):
            asyncio.run(given_up_on())
        with pytest.raises(TooSlow):
            asyncio.run(waited_for())

    await asyncio.to_thread(both)


async def begun(budget: BodyBudget, size: int) -> "asyncio.Task[bytes]":
    """A reader that has ``size`` bytes of a body of which no more comes."""
    arrived = asyncio.Event()

    async def receive() -> Message:
        if arrived.is_set():
            await never()
        arrived.set()
        return {"type": "http.request", "body": bytes(size), "more_body": True}

    reading = asyncio.create_task(read_into(budget, receive))
    await arrived.wait()
    return reading


async def whole(budget: BodyBudget, size: int) -> bytes:
    """A body that arrives in four parts."""
    return await read_into(budget, parts(*[bytes(size // 4)] * 4))


async def test_bodies_that_say_nothing_hold_nothing() -> None:
    """A thousand senders that announce a body and send none of it do not keep one body out."""
    budget = BodyBudget(100)
    waiting = [asyncio.create_task(read_into(budget, never, 100)) for _ in range(1_000)]
    await asyncio.sleep(0)
    assert budget.free == budget.total
    assert len(await whole(budget, 100)) == 100
    for each in waiting:
        each.cancel()


@keeps(
    "threat-model: bodies that say nothing hold nothing",
    in_="http_server/bodies.py",
    instead_of="min(others, key=lambda other: other.moved, default=None)",
    plant="None",
)
@keeps(
    "threat-model: bodies share their memory",
    in_="http_server/bodies.py",
    instead_of="if self._budget.free < size:",
    plant="if False:",
)
async def test_the_slowest_body_makes_room() -> None:
    """A body that has begun and stopped is given up for one that arrives; others are not."""
    budget = BodyBudget(100)
    first, second = await begun(budget, 60), await begun(budget, 30)
    assert len(await whole(budget, 60)) == 60
    with pytest.raises(Overloaded, match="slowest"):
        await first
    assert not second.done()
    second.cancel()
    await asyncio.wait({second})
    assert budget.free == budget.total


async def test_readers_wait_for_bodies_that_are_being_handled() -> None:
    """Complete bodies are never given up: who comes later waits for their memory."""
    budget = BodyBudget(100)
    with MemoryShare(budget) as handled:
        await read_body(parts(bytes(80)), Head(), limit=1_000, seconds=LONG, share=handled)
        later = asyncio.create_task(whole(budget, 40))
        await asyncio.sleep(0.05)
        assert not later.done()
    assert len(await later) == 40
    assert budget.free == budget.total
    with pytest.raises(TooLarge, match="100 bytes"):
        await whole(budget, 200)


async def test_bodies_that_fill_the_memory_together_do_not_block_each_other() -> None:
    """Five at once, each half of what there is: some are refused, some arrive, all end."""
    budget = BodyBudget(100)

    async def slowly() -> bytes:
        receive = parts(*[bytes(10)] * 5)

        async def receive_slowly() -> Message:
            await asyncio.sleep(0.001)
            return await receive()

        return await read_into(budget, receive_slowly)

    async with asyncio.timeout(LONG / 2):
        outcomes = await asyncio.gather(*(slowly() for _ in range(5)), return_exceptions=True)
    assert bytes(50) in outcomes
    assert {type(outcome) for outcome in outcomes} <= {bytes, Overloaded}
    assert budget.free == budget.total


@keeps(
    "deployment: few batches at a time, few wait",
    in_="http_server/bodies.py",
    instead_of="if not self._left:",
    plant="if False:",
)
async def test_turns_come_in_order_and_a_bound_waits() -> None:
    """One at a time, two may wait, the next is refused; a place that is given up is free again."""
    turns, order, go_on = Turns(1, 2), [], asyncio.Event()

    async def take(name: int) -> None:
        async with turns:
            order.append(name)
            await go_on.wait()

    takers = [asyncio.create_task(take(name)) for name in range(3)]
    await asyncio.sleep(0)
    with pytest.raises(Overloaded):
        await take(3)
    takers[1].cancel()
    await asyncio.wait({takers[1]})
    takers.append(asyncio.create_task(take(4)))
    go_on.set()
    await asyncio.gather(*takers, return_exceptions=True)
    assert order == [0, 2, 4]


async def upload(request: Request) -> JSONResponse:
    """The length of a form's file."""
    async with request.form() as form:
        return JSONResponse(len(await form["file"].read()))  # type: ignore[union-attr]


async def json(request: Request) -> JSONResponse:
    """The length of a list; like FastAPI, 400 for any failure but an ``HTTPException``."""
    try:
        return JSONResponse(len(await request.json()))
    except HTTPException:
        raise
    except Exception as error:
        raise HTTPException(400, "This is no JSON.") from error


async def slow(request: Request) -> JSONResponse:
    """Read a body, and wait for more."""
    await request.body()
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(3 * SECONDS):
            await request.receive()
    return JSONResponse("done")


@pytest.fixture
async def http(request: pytest.FixtureRequest) -> AsyncIterator[httpx.AsyncClient]:
    """An application within limits of ten bytes, and of a thousand for /upload."""
    paths = {"/upload": upload, "/json": json, "/slow": slow}
    app = Starlette(routes=[Route(path, call, methods=["POST"]) for path, call in paths.items()])
    seconds = getattr(request, "param", LONG)
    app.add_middleware(
        BodyLimits,
        limit=BodyLimit(10, seconds),
        exceptional={"/upload": BodyLimit(1_000, seconds)},
        budget=BodyBudget(10),
    )
    add_problem_handlers(app, {})

    transport = httpx.ASGITransport(app)
    async with httpx.AsyncClient(transport=transport, base_url="http://curator") as client:
        yield client


async def in_parts(start: bytes, *more: bytes, then: asyncio.Event | None = None) -> Any:
    """A body without a declared length, which may not end before ``then``."""
    for part in (start, *more):
        yield part
    if then is not None:
        await then.wait()


FORM = {"Content-Type": "multipart/form-data; boundary=b"}
FORM_BEGUN = b'--b\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\n1,'


within_seconds = pytest.mark.parametrize("http", [SECONDS], indirect=True)


@within_seconds
@pytest.mark.parametrize(
    ("path", "headers", "begun"),
    [("/json", {"Content-Type": "application/json"}, b"[1,"), ("/upload", FORM, FORM_BEGUN)],
)
async def test_a_call_whose_body_does_not_arrive_is_given_up(
    http: httpx.AsyncClient, path: str, headers: dict[str, str], begun: bytes
) -> None:
    """408 as a problem document, whatever the framework makes of the body."""
    over = asyncio.Event()
    answer = await http.post(path, headers=headers, content=in_parts(begun, then=over))
    over.set()
    assert_problem(answer, TooSlow)
    assert "0.1 seconds" in answer.json()["detail"]


async def test_a_call_has_the_limit_of_its_path(http: httpx.AsyncClient) -> None:
    """An upload may be longer than another body; too much is refused, declared or not."""
    assert (await http.post("/upload", files={"file": bytes(100)})).json() == 100
    assert (await http.post("/json", json=[1, 2])).json() == 2
    assert_problem(await http.post("/json", json=list(range(10))), TooLarge)
    assert_problem(await http.post("/upload", files={"file": bytes(1_000)}), TooLarge)
    for path, headers, begun in (("/json", {}, b"[1,"), ("/upload", FORM, FORM_BEGUN)):
        content = in_parts(begun, bytes(500), bytes(500))
        assert_problem(await http.post(path, headers=headers, content=content), TooLarge)


@within_seconds
async def test_work_on_a_body_may_take_longer_than_the_body(http: httpx.AsyncClient) -> None:
    """The time ends with the body's last byte: a later wait, for the sender to go, may last."""
    answer = await http.post("/slow", content=b"{}")
    assert (answer.status_code, answer.json()) == (200, "done")
