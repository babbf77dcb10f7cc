"""What is told of the newest backup and of the proxy's certificate."""

import asyncio
import os
import ssl
import threading
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from privet.admin.results import Scope
from privet.curator import watch as watching
from privet.curator.access.tokens import Tokens
from privet.curator.app import create_app
from privet.curator.datastore import Store
from privet.curator.datastore.audit import BACKED_UP
from privet.curator.datastore.tasks import ListedTask
from privet.curator.metrics import HELD, Metrics
from privet.curator.settings import Settings
from privet.curator.watch import certificate_end, watch, watch_database
from privet.http_server import readiness as readiness_module
from privet.http_server.background import Background
from privet.http_server.metrics import ID_DIGITS
from privet.http_server.readiness import Readiness
from privet.protocol.errors import StorageFailed
from privet.protocol.lifecycle import Move
from privet.protocol.status import Holdings
from tests.curator.datastore.made import HOUR, NOW, open_task, report, take, task
from tests.curator.datastore.servers import new_store
from tests.curator.http.checks import values
from tests.manual_clock import ManualClock

END = datetime(2031, 2, 3, 4, 5, 6, tzinfo=UTC)
BACKUP, CERTIFICATE = (f"privet_{name}_timestamp_seconds" for name in ("backup", "certificate_end"))


def look_at(store: Store) -> Callable[[], tuple[Sequence[ListedTask], Mapping[str, int], None]]:
    """The tasks and their reports, as whoever compares them with a mark has read them."""
    return lambda: (store.tasks.listed(), store.standing.counted(), None)


@pytest.fixture
async def address(tmp_path: Path) -> AsyncIterator[str]:
    """A server with a certificate of its own that ends at ``END``."""
    key = generate_private_key(SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "curator.example")])
    made = x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
    dated = made.not_valid_before(END - timedelta(days=3_650)).not_valid_after(END)
    plain = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    file = tmp_path / "both.pem"
    file.write_bytes(plain + dated.sign(key, SHA256()).public_bytes(Encoding.PEM))
    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    tls.load_cert_chain(file)

    async def close(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.close()

    async with await asyncio.start_server(close, "127.0.0.1", 0, ssl=tls) as server:
        yield f"127.0.0.1:{server.sockets[0].getsockname()[1]}"


async def test_the_end_is_that_of_the_certificate_that_is_shown(
    address: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Whoever signed it; and 0 where nobody answers, which the log says."""
    assert await asyncio.to_thread(certificate_end, address) == END.timestamp()
    assert caplog.text == ""
    assert certificate_end("127.0.0.1:1") == 0.0
    assert "127.0.0.1:1 cannot be seen" in caplog.text


async def test_the_end_is_that_of_a_certificate_in_a_file(address: str, tmp_path: Path) -> None:
    """As in a cluster, where no curator may ask the proxy; and 0 where there is none."""
    assert address
    assert certificate_end(str(tmp_path / "both.pem")) == END.timestamp()
    (tmp_path / "empty.pem").touch()
    for name in ("empty.pem", "none.pem"):
        assert certificate_end(str(tmp_path / name)) == 0.0


async def test_metrics_tell_both_and_go_on_without_the_database(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A database that fails leaves what was known, and is asked again."""
    monkeypatch.setattr(watching, "EVERY_SECONDS", 0.01)
    metrics, store = Metrics(certified=True), new_store()

    async def told(backup: float) -> None:
        async with asyncio.timeout(20):
            while values(metrics.text().decode(), BACKUP) != {(): backup}:
                await asyncio.sleep(0.01)

    running = Background(watch(metrics, store, look_at(store), address, ManualClock()))
    await told(0.0)
    store.facts.set(BACKED_UP, "1700000000.5")
    await told(1_700_000_000.5)
    fact = store.facts.read

    def failing(_: str) -> str:
        raise StorageFailed("gone")

    monkeypatch.setattr(store.facts, "read", failing)
    await asyncio.sleep(0.1)
    await told(1_700_000_000.5)
    monkeypatch.setattr(store.facts, "read", fact)
    store.facts.set(BACKED_UP, "1800000000.0")
    await told(1_800_000_000.0)
    assert values(metrics.text().decode(), CERTIFICATE) == {(): END.timestamp()}
    await running.stop()


async def test_the_newest_backup_is_that_of_the_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where there is one: backups that were deleted are none, whatever the database knows."""
    monkeypatch.setattr(watching, "EVERY_SECONDS", 0.01)
    metrics, store = Metrics(), new_store()
    store.facts.set(BACKED_UP, "1700000000.5")
    file = tmp_path / "2026-11-23T0317.db"
    file.touch()
    os.utime(file, (1_600_000_000, 1_600_000_000))
    (tmp_path / "2026-11-24T0317.db.privet-partial").touch()
    running = Background(watch(metrics, store, look_at(store), "", ManualClock(), str(tmp_path)))
    for expected in (1_600_000_000.0, 0.0):
        async with asyncio.timeout(20):
            while values(metrics.text().decode(), BACKUP) != {(): expected}:
                await asyncio.sleep(0.01)
        file.unlink(missing_ok=True)
    await running.stop()


async def test_metrics_tell_what_open_tasks_have_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """As the database has it, after a restart too; of tasks that take no reports nothing."""
    monkeypatch.setattr(watching, "EVERY_SECONDS", 0.01)
    metrics, store, now = Metrics(), new_store(), [NOW]
    made = [task("some"), task("none"), task("over", closes=round(NOW + HOUR))]
    for each in made:
        cached = open_task(store, each)
        if each is not made[1]:
            take(store, cached, [report(each) for _ in range(3)])
    running = Background(watch(metrics, store, look_at(store), "", lambda: now[0]))
    of = {each.name: (each.id[:ID_DIGITS],) for each in made}

    async def told(reports: dict[tuple[str, ...], float]) -> None:
        async with asyncio.timeout(20):
            while values(metrics.text().decode(), "privet_open_task_reports") != reports:
                await asyncio.sleep(0.01)

    await told({of["some"]: 3, of["none"]: 0, of["over"]: 3})
    now[0] += 2 * HOUR
    await told({of["some"]: 3, of["none"]: 0})
    store.tasks.move(made[0].id, Move.CLOSE, NOW)
    await told({of["none"]: 0})
    await running.stop()


async def test_each_curator_tells_what_relays_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whichever of them the relay told; nothing of a task that was deleted."""
    monkeypatch.setattr(watching, "EVERY_SECONDS", 0.01)
    metrics, store, made = Metrics(), new_store(), task("held")
    cached = open_task(store, made)
    take(store, cached, [report(made)])
    store.standing.tell(
        made.id, "post", Holdings(reports=7, least=9, lost={"task-not-open": 2}), NOW
    )
    running = Background(watch(metrics, store, look_at(store), "", lambda: NOW))

    async def told(reports: float, since: float, lost: float, counted: float) -> None:
        expected = dict(zip(HELD, (reports, since, lost, counted), strict=True))
        async with asyncio.timeout(20):
            while {
                name: values(metrics.text().decode(), f"privet_{name}").get(("post", made.id[:12]))
                for name in HELD
            } != expected:
                await asyncio.sleep(0.01)

    await told(7, NOW, 2, 1)
    store.tasks.move(made.id, Move.DELETE, NOW)
    await told(0, 0, 0, 0)
    await running.stop()


async def test_each_minute_reads_tasks_and_reports_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """For alerts, and for the comparison with the mark of a database that was put back."""
    store, reads, looked = new_store(), Counter[str](), asyncio.Event()
    counted, listed, collecting = store.standing.counted, store.tasks.listed, Metrics.collecting

    def counted_once() -> dict[str, int]:
        reads["counted"] += 1
        return counted()

    def listed_once() -> list[ListedTask]:
        reads["listed"] += 1
        return listed()

    def told(metrics: Metrics, reports: Mapping[str, int]) -> None:
        collecting(metrics, reports)
        looked.set()

    monkeypatch.setattr(store.standing, "counted", counted_once)
    monkeypatch.setattr(store.tasks, "listed", listed_once)
    monkeypatch.setattr(Metrics, "collecting", told)
    app = create_app(Settings(), store=store)
    async with app.api.router.lifespan_context(app.api):
        await asyncio.wait_for(looked.wait(), 20)
        await asyncio.sleep(0.1)
        assert reads == {"counted": 1, "listed": 1}


async def test_metrics_tell_whether_the_database_takes_writes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """By writing, as often as a scrape, and again when it does; with it the tokens are read."""
    monkeypatch.setattr(watching, "PROBE_SECONDS", 0.01)
    monkeypatch.setattr(readiness_module, "EVERY", 0.0)
    metrics, full = Metrics(), [False]

    def write() -> None:
        if full[0]:
            raise StorageFailed("full")

    store, clock = new_store(), ManualClock()
    tokens, another = Tokens(store, clock), Tokens(store, clock)  # of another process
    issued = another.issue("watch", Scope.READER)
    running = Background(watch_database(metrics, Readiness(write), tokens.listed))
    for full[0] in (False, True, False):
        async with asyncio.timeout(20):
            while values(metrics.text().decode(), "privet_database_up") != {(): not full[0]}:
                await asyncio.sleep(0.01)
    await running.stop()
    assert tokens.check(issued, Scope.READER, kept=True) == "watch"


async def test_tokens_that_are_not_read_hide_no_database_that_takes_no_writes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A read that never ends, as of a connection that was cut, holds no probe up."""
    monkeypatch.setattr(watching, "PROBE_SECONDS", 0.01)
    monkeypatch.setattr(readiness_module, "EVERY", 0.0)
    monkeypatch.setattr(readiness_module, "PATIENCE", 0.01)
    metrics, full, reads, ended = Metrics(), threading.Event(), threading.Event(), threading.Event()

    def write() -> None:
        if full.is_set():
            raise StorageFailed("full")

    def read_tokens() -> None:
        reads.set()
        ended.wait(20)

    running = Background(watch_database(metrics, Readiness(write), read_tokens))
    try:
        assert await asyncio.to_thread(reads.wait, 20)
        full.set()
        async with asyncio.timeout(20):
            while values(metrics.text().decode(), "privet_database_up") != {(): False}:
                await asyncio.sleep(0.01)
    finally:
        ended.set()
    await running.stop()


async def test_there_is_no_end_without_a_certificate() -> None:
    """Else an alert would sound where nobody asked for it."""
    assert CERTIFICATE not in Metrics().text().decode()
