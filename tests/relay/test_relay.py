import asyncio
import contextlib
import json
import os
import resource
import socket
import sqlite3
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import httpx
import pytest
from typer.testing import CliRunner

from privet import page
from privet.client import Holder, MemoryLedger, ReportClient, ReportState, UnexpectedResponse
from privet.http_server import readiness
from privet.http_server.background import Background
from privet.protocol.calls import TASK_MEDIA_TYPE
from privet.protocol.errors import (
    PROBLEMS,
    Overloaded,
    PrivetError,
    StorageFailed,
    TooManyRequests,
)
from privet.protocol.report import Report, make_report
from privet.protocol.signature import Signature
from privet.protocol.task import (
    Question,
    Task,
)
from privet.relay.app import Relay, create_app
from privet.relay.batches import TaskQueue
from privet.relay.cli import app
from privet.relay.errors import SpoolFailed
from privet.relay.forwarding import Forwarder, account_of, batch_size
from privet.relay.spool import Spool
from privet.relay.status import BatchSizes
from tests.client.fakes import Network, record_connections
from tests.fake_curator import FakeCurator, problem
from tests.keeping import keeps
from tests.protocol.examples import RECORD, make_task

if TYPE_CHECKING:
    from tests.batch_folder import BatchFolder

CURATOR = "https://curator.example"
RELAY = "http://127.0.0.1:8100"
ask = Question(partition=0, mechanism="subset", epsilon=1.0)
BOTH = make_task(questions=(ask, ask))
ONE = make_task(questions=(ask, ask), allocation="one")


class Relayed(NamedTuple):
    """A relay in this process: the holders' way to it, its forwarder, and any request's way."""

    client: ReportClient
    forwarder: Forwarder
    http: httpx.AsyncClient


@contextlib.asynccontextmanager
async def relaying(
    curator: Callable[[httpx.Request], httpx.Response],
    path: Path,
    least: int = 3,
    folder: "BatchFolder | None" = None,
) -> AsyncIterator[Relayed]:
    client = Network([curator]).client(attempts=1)
    with Spool(path) as spool:
        relay = Relay(client, CURATOR, spool, BatchSizes(least))
        forwarder = Forwarder(
            client, relay.address, spool, BatchSizes(least), relay.watch, folder=folder
        )
        transport = httpx.ASGITransport(create_app(relay), raise_app_exceptions=False)
        async with httpx.AsyncClient(transport=transport) as http:
            yield Relayed(ReportClient(http), forwarder, http)
            relay.writer.stop()


async def test_the_curators_signature_passes_through(tmp_path: Path) -> None:
    """A holder behind a relay pins the curator's key; the relay adds none of its own."""
    curator, url = FakeCurator(ONE), f"{RELAY}/v1/tasks/{ONE.id}"
    async with relaying(curator, tmp_path / "unsigned") as (to, *_):
        assert (await to.offer(to.address(url))).signature is None
    signature = Signature(bytes(32), bytes(64))
    curator.signature = signature.header
    async with relaying(curator, tmp_path / "signed") as (to, *_):
        assert (await to.offer(to.address(url))).signature == signature


async def test_pages_of_any_origin_may_do_what_holders_do_and_no_more(tmp_path: Path) -> None:
    """They fetch a task and its status, send reports and ask about them; they send no batch."""
    task, origin = f"{RELAY}/v1/tasks/{BOTH.id}", {"Origin": "https://elsewhere.example"}
    async with relaying(FakeCurator(BOTH), tmp_path / "spool") as (_, _, http):
        for method, path, shown in [
            ("GET", "", "*"),
            ("POST", "/reports", "*"),
            ("GET", f"/reports/{'0' * 32}", "*"),
            ("GET", "/status", "*"),
            ("POST", "/reports/batch", None),
            ("POST", "/admissions", None),
        ]:
            answer = await http.request(method, task + path, headers=origin)
            assert answer.headers.get("access-control-allow-origin") == shown, path
            assert "access-control-allow-credentials" not in answer.headers


async def test_a_relay_says_whose_it_is(tmp_path: Path) -> None:
    """By its curator's key, asked for once a minute; and nothing where that does not answer."""
    asked, key = [], "ab" * 32

    def curator(request: httpx.Request) -> httpx.Response:
        asked.append(str(request.url))
        return httpx.Response(200, json={"key": key})

    async with relaying(curator, tmp_path / "spool") as (_, _, http):
        for _ in range(3):
            said = (await http.get(f"{RELAY}/v1/relay")).json()
    assert asked == [f"{CURATOR}/v1/key"]
    assert (said["curator_key"], said["least"], said["one_operator"]) == (key, 3, False)

    def broken(_request: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("refused")

    async with relaying(broken, tmp_path / "alone") as (_, _, http):
        assert (await http.get(f"{RELAY}/v1/relay")).status_code == 502


async def test_a_preview_is_of_no_task(tmp_path: Path) -> None:
    """Its page calls nothing but this relay, and there, nothing."""
    async with relaying(FakeCurator(ONE), tmp_path / "spool") as (_, _, http):
        shown = await http.get(f"{RELAY}/answer/preview")
    assert shown.status_code == 200
    assert 'task="../v1/tasks/preview"' in shown.text


async def test_a_browser_that_opens_a_tasks_address_is_led_to_its_page(tmp_path: Path) -> None:
    """Holders' programs get the task at the same address."""
    url = f"{RELAY}/v1/tasks/{ONE.id}"
    async with relaying(FakeCurator(ONE), tmp_path / "spool") as (to, _, http):
        led = await http.get(url, headers={"Accept": "text/html,*/*;q=0.8"})
        assert led.status_code == 303
        assert led.headers["vary"] == "Accept"
        shown = await http.get(str(led.url.join(led.headers["location"])))
        assert shown.status_code == 200
        assert f'task="../v1/tasks/{ONE.id}"' in shown.text
        assert (await to.offer(to.address(url))).task == ONE


async def answer(to: ReportClient, task: Task, count: int) -> list[Report]:
    url = f"{RELAY}/v1/tasks/{task.id}"
    holders = [Holder(to, MemoryLedger(), f"subject {i}") for i in range(count)]
    answers = await asyncio.gather(*(holder.answer(url, RECORD) for holder in holders))
    assert {answered.state for answered in answers} == {ReportState.HELD}
    return [Report.unpack(answered.report) for answered in answers]


@pytest.fixture(autouse=True)
def counts_in_steps_of_the_least(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that a few reports can be seen to come and go."""
    monkeypatch.setattr("privet.relay.status.STEP", 1)


async def status(relay: ReportClient, task: Task) -> dict[str, Any]:
    return dict(json.loads(await relay.status(relay.address(f"{RELAY}/v1/tasks/{task.id}"))))


@pytest.mark.parametrize("as_files", [False, True])
@pytest.mark.parametrize("task", [BOTH, ONE], ids=["all", "one"])
async def test_reports_pass_through_unchanged_and_once(
    task: Task, tmp_path: Path, *, as_files: bool
) -> None:
    """What holders sent is in the batches, ids and payloads pair by pair, and nothing else.

    With a folder for them the curator gets none, and the relay says held, not counted.
    """
    from tests.batch_folder import BatchFolder

    curator, folder = FakeCurator(task), BatchFolder(str(tmp_path / "batches"))
    path, given = tmp_path / "spool", folder if as_files else None
    async with relaying(curator, path, least=1, folder=given) as (relay, forwarder, _):
        reports = await answer(relay, task, 40)
        await forwarder.forward()
        await forwarder.forward()
        told = await status(relay, task)
    kept = (0, 40) if as_files else (40, 0)
    assert (told["waiting"], told["counted"], told["held"]) == (0, *kept)
    assert bool(curator.batches) != as_files
    files = [folder.read(name, task) for name in folder.names(task.id)]
    arrived = [
        (i.tobytes(), batch.questions, p.tobytes())
        for batch in (*curator.batches, *files)
        for i, p in zip(batch.ids, batch.payloads, strict=True)
    ]
    assert sorted(arrived) == sorted(
        (r.id, tuple(q for q, _ in r.answers), b"".join(p for _, p in r.answers)) for r in reports
    )


async def test_what_was_sealed_is_sent_again_alone(tmp_path: Path) -> None:
    """After a lost answer the same bytes go out; reports that came since do not join them."""
    curator = FakeCurator(BOTH)
    async with relaying(curator, tmp_path / "spool", least=3) as (relay, forwarder, _):
        await answer(relay, BOTH, 5)
        curator.down = True
        await forwarder.forward()
        await answer(relay, BOTH, 4)
        await forwarder.forward()
        curator.down = False
        await forwarder.forward()
        assert list(map(len, curator.batches)) == [5, 4]
        assert (await status(relay, BOTH))["smallest_batch"] == 3  # 4, in steps of the least


A, B = bytes(16), bytes([1]) * 16


@pytest.mark.parametrize(
    "reply",
    [
        b"",
        b"[]",
        b"[" * 200_000,
        b"{}",
        b'{"counted": 1, "replayed": 0, "failed": {}}',
        b'{"counted": Infinity, "failed": {}}',
        b'{"counted": 3, "replayed": -1, "failed": {}}',
        b'{"held": 2, "failed": {}}',
        b'{"failed": 3}',
        json.dumps({"failed": {"smallest_batch": [A.hex(), B.hex()]}}).encode(),
        json.dumps({"failed": {"waiting": [A.hex(), B.hex()]}}).encode(),
        json.dumps({"failed": {"\x1b[2J": [A.hex(), B.hex()]}}).encode(),
        json.dumps({"failed": {"task-not-open": [A.hex(), A.hex()]}}).encode(),
        json.dumps({"failed": {"task-not-open": [A.hex()], "wrong-payload": [A.hex()]}}).encode(),
        json.dumps({"failed": {"task-not-open": [A.hex(), "07" * 16]}}).encode(),
        b'{"failed": {"task-not-open": ["x", 7]}}',
    ],
    ids=range(16),
)
def test_a_curator_must_account_for_every_report(reply: bytes) -> None:
    """Otherwise the reports stay where they are; no reason passes for the relay's own counts."""
    with pytest.raises(UnexpectedResponse, match="account"):
        account_of(reply, [A, B])
    answer = {"counted": 1, "replayed": 0, "failed": {"task-not-open": [A.hex()]}}
    account = account_of(json.dumps(answer).encode(), [A, B])
    assert (account.taken, account.refused) == ({"counted": 1}, {"task-not-open": [A]})


@pytest.mark.parametrize("width", [1, 100, 10_000, 2**20])
@pytest.mark.parametrize("waiting", [10, 1_999, 1_000_000])
def test_a_batch_is_never_too_large_to_be_taken(waiting: int, width: int) -> None:
    """Long reports go out in fewer together, though never in fewer than ``least``."""
    for least in (10, 1_000):
        together = batch_size(waiting, least, width)
        assert together >= min(waiting, least)
        assert together <= least or together * (16 + width) <= 16 * 2**20


async def test_long_reports_leave_in_several_batches(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All in one turn, each batch within the bound; too few for a second one wait for more."""
    width = 16 + sum(mechanism.report_bytes for mechanism in BOTH.mechanisms)
    for module in ("forwarding", "batches"):
        monkeypatch.setattr(f"privet.relay.{module}.MAX_BYTES", 10 * width)
    for least, count, sizes in ((3, 25, [8, 8, 9]), (6, 11, [10]), (11, 11, [11])):
        curator = FakeCurator(BOTH)
        async with relaying(curator, tmp_path / f"spool {count} {least}", least) as (to, way, _):
            await answer(to, BOTH, count)
            await way.forward()
            assert sorted(map(len, curator.batches)) == sizes
            assert (await status(to, BOTH))["waiting"] == (count - sum(sizes)) // least * least


async def test_a_round_counts_what_waits_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While more may come and nobody is invited; all that waits goes all the same."""
    curator = FakeCurator(BOTH)
    async with relaying(curator, tmp_path / "spool", least=1) as (relay, forwarder, _):
        await answer(relay, BOTH, 3)
        works, calls = Spool.queues, list[Spool]()

        def queues(spool: Spool) -> list[TaskQueue]:
            calls.append(spool)
            return works(spool)

        monkeypatch.setattr(Spool, "queues", queues)
        await forwarder.forward()
        assert (len(calls), list(map(len, curator.batches))) == (1, [3])


async def test_a_spool_that_fails_once_does_not_end_forwarding(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What could not be read or written is tried again at the next turn."""
    curator = FakeCurator(BOTH)
    async with relaying(curator, tmp_path / "spool", least=1) as (relay, forwarder, _):
        await answer(relay, BOTH, 1)
        works = Spool.queues
        turns = iter([SpoolFailed("disk full")])

        def queues(spool: Spool) -> list[TaskQueue]:
            for error in turns:
                raise error
            return works(spool)

        monkeypatch.setattr(Spool, "queues", queues)
        running = Background(forwarder.run(0.001))
        while not (curator.batches or running.task.done()):
            await asyncio.sleep(0.001)
        await running.stop()
        assert len(curator.batches) == 1


def test_a_relay_that_cannot_start_says_why(curator: FakeCurator, tmp_path: Path) -> None:
    """A spool that is no file, an unsafe curator, a used port: one sentence and exit status 1."""
    with socket.create_server(("127.0.0.1", 0)) as used:
        port_used = used.getsockname()[1]
        for address, spool, port, said in [
            ("http://curator.example", tmp_path / "spool", 0, "--insecure-http"),
            (curator.root, tmp_path, 0, "--spool"),
            (curator.root, tmp_path / "spool", port_used, f"{port_used}: Address already"),
        ]:
            options = ["--curator", address, "--spool", str(spool), "--port", str(port)]
            options += ["--token", "a-relays-token-7Hq2LdXw9sKvRb3TzN"]
            result = CliRunner().invoke(app, ["serve", *options])
            assert result.exit_code == 1
            assert len(result.stderr.strip().splitlines()) == 1
            assert said in result.stderr


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/", 404),
        ("GET", "/v1/tasks/7", 404),
        ("GET", f"/v1/tasks/{BOTH.id}/models", 404),
        ("GET", f"/v1/tasks/{BOTH.id}/reports", 405),
        ("DELETE", f"/v1/tasks/{BOTH.id}", 405),
    ],
)
async def test_what_a_relay_has_not_is_said_as_http_says_it(
    method: str, path: str, status: int, tmp_path: Path
) -> None:
    """An unknown address is 404 and a wrong method 405, as problem documents with a hint."""
    async with relaying(FakeCurator(BOTH), tmp_path / "spool") as (_, _, http):
        answer = await http.request(method, RELAY + path)
    assert answer.status_code == status
    assert answer.headers["content-type"] == "application/problem+json"
    assert (answer.json()["status"], answer.json()["instance"]) == (status, path)
    assert ("/receipts" in answer.json()["detail"]) == (path != "/v1/tasks/7")


async def test_a_full_spool_is_insufficient_storage(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """507; what is said names no file."""
    opened = record_connections(monkeypatch)
    async with relaying(FakeCurator(BOTH), tmp_path / "spool") as (relay, _, http):
        await answer(relay, BOTH, 1)
        (database,) = opened
        (pages,) = database.execute("PRAGMA page_count").fetchone()
        database.execute(f"PRAGMA max_page_count = {pages}")
        url = f"{RELAY}/v1/tasks/{BOTH.id}/reports"
        reports = [make_report(BOTH, RECORD, os.urandom) for _ in range(200)]
        posts = (http.post(url, content=report.pack()) for report in reports)
        refusals = [reply for reply in await asyncio.gather(*posts) if reply.status_code != 202]
        assert refusals
        for reply in refusals:
            assert reply.status_code == 507
            assert reply.json()["type"] == PROBLEMS[StorageFailed].uri
            assert str(tmp_path) not in reply.text


@pytest.mark.parametrize(
    ("reply", "status", "kind"),
    [
        (problem(TooManyRequests("slow down")), 429, TooManyRequests),
        (problem(Overloaded("busy")), 503, Overloaded),
        (httpx.ConnectError("curator.example refused"), 502, Overloaded),
        (httpx.Response(200, text="hello"), 502, Overloaded),
    ],
    ids=["slow down", "busy", "down", "strange"],
)
async def test_what_a_curator_fails_at_is_passed_on(
    reply: httpx.Response | httpx.HTTPError, status: int, kind: type[PrivetError], tmp_path: Path
) -> None:
    """With a time to wait where it is busy, and 502 where it does not answer; it is not named."""
    async with relaying(Network([reply]), tmp_path / "spool") as (_, _, http):
        answer = await http.get(f"{RELAY}/v1/tasks/{BOTH.id}")
    assert (answer.status_code, answer.json()["type"]) == (status, PROBLEMS[kind].uri)
    assert answer.headers.get("retry-after") == (None if status == 502 else "1")
    assert "curator.example" not in answer.text


@keeps(
    "threat-model: nothing of a holder's request goes on to the curator",
    in_="relay/app.py",
    instead_of="""
        return await self._offered""",
    plant="""
        self._client._http.headers["X-Request-ID"] = request.headers.get("X-Request-ID", "")
        return await self._offered""",
)
async def test_nothing_of_a_holders_request_goes_on(tmp_path: Path) -> None:
    """Its id would link the task's fetch and a batch to what the proxy and others know of it."""
    asked: list[httpx.Request] = []
    curator = FakeCurator(ONE)

    def recorded(request: httpx.Request) -> httpx.Response:
        asked.append(request)
        return curator(request)

    marks = {
        name: f"mark-{place:028d}"
        for place, name in enumerate(("X-Request-ID", "Traceparent", "Cookie", "User-Agent"))
    }
    url = f"{RELAY}/v1/tasks/{ONE.id}"
    async with relaying(recorded, tmp_path / "spool", least=1) as (_, forwarder, http):
        await http.get(url, headers=marks)
        for _ in range(4):
            report = make_report(ONE, RECORD, os.urandom)
            sent = await http.post(f"{url}/reports", content=report.pack(), headers=marks)
            assert sent.status_code == 202
        await forwarder.forward()
    assert curator.batches
    for request in asked:
        assert "x-request-id" not in request.headers
        told = b"".join([*map(b"".join, request.headers.raw), request.content])
        assert not any(mark.encode() in told for mark in marks.values())


async def test_a_relay_is_ready_while_its_spool_can_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is written for that, by one write for all who ask within seconds; no file is named."""
    spool = tmp_path / "spool"
    async with relaying(FakeCurator(ONE), spool) as (_, _, http):
        with closing(sqlite3.connect(spool)) as other:
            before = other.execute("PRAGMA data_version").fetchone()
            for _ in range(3):
                assert (await http.get(f"{RELAY}/readyz")).json() == {"status": "ready"}
            after = other.execute("PRAGMA data_version").fetchone()
        assert after == (before[0] + 1,)
        monkeypatch.setattr(readiness, "EVERY", 0.0)
        with no_file_grows(spool.with_name("spool-wal").stat().st_size):
            full = await http.get(f"{RELAY}/readyz")
        assert full.status_code == 503
        assert full.headers["content-type"] == "application/problem+json"
        assert str(tmp_path) not in full.text
        assert (await http.get(f"{RELAY}/healthz")).status_code == 200
        assert (await http.get(f"{RELAY}/readyz")).status_code == 200


@contextlib.contextmanager
def no_file_grows(size: int) -> Iterator[None]:
    """No file of this process grows beyond ``size``, as on a full disk."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


async def test_the_token_goes_with_batches_alone(tmp_path: Path) -> None:
    """Neither a task nor a status is asked for with it."""
    sent: list[tuple[str, str | None]] = []

    def answer(request: httpx.Request) -> httpx.Response:
        sent.append((request.url.path.rsplit("/", 1)[1], request.headers.get("authorization")))
        if request.method == "POST":
            return httpx.Response(200, json={"counted": 1, "replayed": 0, "failed": {}})
        headers = {"content-type": TASK_MEDIA_TYPE}
        return httpx.Response(200, content=ONE.canonical, headers=headers)

    async with httpx.AsyncClient(transport=httpx.MockTransport(answer)) as http:
        client = ReportClient(http, token="for the relay")
        address = client.address(f"{RELAY}/v1/tasks/{ONE.id}")
        await client.offer(address)
        await client.status(address)
        await client.send_batch(address, b"batch")
    assert [token for _, token in sent] == [None, None, "Bearer for the relay"]


@keeps(
    "relay: its own files serve as no service worker",
    in_="relay/app.py",
    instead_of='"service-worker" in request.headers',
    plant="False",
)
async def test_no_file_of_a_relay_is_a_service_worker(tmp_path: Path) -> None:
    """Browsers name the purpose of such a script; no header widens its scope, which would end at
    its own folder."""
    async with relaying(FakeCurator(ONE), tmp_path / "spool") as (_, _, http):
        for name in (page.NAMED, "preview"):
            read = await http.get(f"{RELAY}/answer/{name}")
            assert (read.status_code, "service-worker-allowed" in read.headers) == (200, False)
            asked = {"Service-Worker": "script"}
            refused = await http.get(f"{RELAY}/answer/{name}", headers=asked)
            assert refused.status_code == 403


@pytest.mark.parametrize("path", ["/", "/answer", "/answer/", "/answer/4f0c", "/v1/tasks/4f0c"])
async def test_a_cut_link_leads_people_to_a_page(path: str, tmp_path: Path) -> None:
    """And programs to a problem document."""
    async with relaying(FakeCurator(ONE), tmp_path / "spool") as (_, _, http):
        browser = {"Accept": "text/html,*/*;q=0.8"}
        shown = await http.get(f"{RELAY}{path}", headers=browser, follow_redirects=True)
        told = await http.get(f"{RELAY}{path}")
    assert (shown.status_code, shown.headers["content-type"]) == (404, "text/html; charset=utf-8")
    assert "This address leads to no study" in shown.text
    assert told.headers["content-type"] == "application/problem+json"
