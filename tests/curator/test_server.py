"""A curator as a process: it starts with helpful errors and stops without losing anything."""

import json
import os
import shutil
import signal
import socket
import sys
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
import uvicorn
from opentelemetry import trace  # FastAPI requires it

from privet.admin.results import Scope
from privet.curator import server
from privet.curator.access.signing import read_key
from privet.curator.access.tokens import Tokens
from privet.curator.app import create_app
from privet.curator.cli.serve import read_settings
from privet.curator.datastore import open_store
from privet.curator.datastore.audit import SIGNING_KEY
from privet.curator.datastore.store import Store
from privet.curator.server import serve
from privet.curator.settings import Settings
from privet.curator.workers import Workers
from privet.http_server.connections import listen
from privet.protocol.calls import REPORT_MEDIA_TYPE
from privet.protocol.errors import InvalidRequest, PrivetError, StorageFailed
from privet.protocol.report import Report
from privet.protocol.task import Task
from scripts.crash_test import Count, Curators, run_trial
from scripts.servers import RunningCurator, running_curator
from tests.curator.access.openid_provider import OpenIdProvider
from tests.curator.datastore.made import kept, open_task, report, task, total
from tests.curator.datastore.servers import drop_database, new_database, new_store
from tests.curator.http.checks import values
from tests.curator.http.conftest import serving
from tests.keeping import keeps
from tests.manual_clock import ManualClock

HEADERS = {"content-type": REPORT_MEDIA_TYPE}
PEER = "127.0.0.1"
"""The address that uvicorn trusts unless it is told otherwise."""


@dataclass(frozen=True)
class Run:
    """What was seen of a curator from its first start until SIGTERM ended it under load."""

    database: Path
    store: Store
    made: Task
    reports: list[Report]
    acknowledged: int
    """Of the reports, which were sent one after the other."""
    slow_head: bytes
    """The first line that a caller got who never finished its head."""
    failed: int
    """The status of a call whose table was missing."""
    libraries: str
    """The files that were mapped into its memory."""
    exit_code: int
    events: list[dict[str, Any]]


IMPATIENT = """
from privet.curator import server
from privet.curator.cli import main
server.HEADER_SECONDS = 2.0
main(["serve"])
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    folder = tmp_path_factory.mktemp("curator")
    command = ["-c", IMPATIENT]
    with running_curator(folder, command=command, admin_token=None, log_format="json") as curator:
        store, made = open_store(f"sqlite:///{folder}/privet.db"), task()
        open_task(store, made, 0.0)
        reports = [report(made) for _ in range(200)]
        address = httpx.URL(curator.url)
        with socket.create_connection((address.host, address.port or 0), timeout=60) as connection:
            connection.sendall(b"GET /healthz HTTP/1.1\r\n")
            with connection.makefile("rb") as answer:
                slow_head = answer.readline()
        rename(store, "tasks", "hidden")
        failed = httpx.get(f"{curator.url}/v1/tasks").status_code
        rename(store, "hidden", "tasks")
        libraries = Path(f"/proc/{curator.process.pid}/maps").read_text()
        acknowledged = send_until_stopped(curator, made, reports)
        code = curator.process.wait(30)
    events = [json.loads(line) for line in curator.log.read_text().splitlines()]
    database = folder / "privet.db"
    yield Run(
        database, store, made, reports, acknowledged, slow_head, failed, libraries, code, events
    )
    store.close()


def rename(store: Store, table: str, name: str) -> None:
    """Rename a table of a SQL store."""
    with store.engine.connect().execution_options(privet_writes=True) as connection:
        connection.exec_driver_sql(f"ALTER TABLE {table} RENAME TO {name}")
        connection.commit()


def send_until_stopped(curator: RunningCurator, made: Task, reports: list[Report]) -> int:
    """Send reports, with SIGTERM after 50 of them; the number of those acknowledged."""
    path = f"{curator.url}/v1/tasks/{made.id}/reports"
    with httpx.Client(timeout=30, headers=HEADERS) as http:
        for sent, own in enumerate(reports):
            if sent == 50:
                curator.process.send_signal(signal.SIGTERM)
            try:
                answer = http.post(path, content=own.pack())
            except httpx.TransportError:
                return sent
            assert answer.status_code == 201
    return len(reports)


def test_no_answer_is_waited_for_of_a_process_that_has_ended(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """While its supervisor waits, it heeds no stop signal and starts no other process."""
    monkeypatch.setattr(signal, "signal", lambda *_: None)  # the supervisor takes all signals
    config = uvicorn.Config("starlette.applications:Starlette", factory=True, log_config=None)
    with listen("127.0.0.1", 0) as listener, ThreadPoolExecutor(1) as pool:
        processes = server.Processes(config, [listener])
        processes.init_processes()
        (process,) = processes.processes
        try:
            assert process.ping(60.0)
            assert process.pid is not None
            os.kill(process.pid, signal.SIGSTOP)
            os.waitid(os.P_PID, process.pid, os.WSTOPPED)  # until then it may answer
            asked = pool.submit(process.ping, 60.0)
            os.kill(process.pid, signal.SIGKILL)
            assert not asked.result(30.0)
        finally:
            process.kill()
            process.join()


def test_a_stop_signal_drains(run: Run) -> None:
    """Reports sent until SIGTERM are each either acknowledged and counted, or may be sent again."""
    assert run.exit_code in {0, -signal.SIGTERM}
    assert run.acknowledged >= 50
    n = run.store.standing.collected(run.made.id).sums[0].n
    assert run.acknowledged <= n <= run.acknowledged + 1
    assert kept(run.store, run.made) == total(run.made, run.reports[:n])


def test_a_slow_head_is_cut_off_in_production(run: Run) -> None:
    """The settings reach the server: a head that does not come is answered 408."""
    assert run.slow_head.startswith(b"HTTP/1.1 408 ")


def test_json_logs_have_no_plain_lines(run: Run) -> None:
    """Every line of a run is JSON: the first token, the start, each 5xx with its cause, the end."""
    events = {line["event"]: line for line in run.events}
    assert len(events["an admin token was made; it is shown only once"]["admin_token"]) == 43
    assert events["curator started"]["database"].endswith("privet.db")
    issued = events["token issued at a start without one"]
    assert (issued["logger"], issued["no"], len(issued["hash"])) == ("privet.audit", 2, 64)
    assert run.failed == 503
    assert any("/v1/tasks answered 503" in event and "no such table" in event for event in events)


def test_a_server_leaves_fitting_to_its_workers(run: Run) -> None:
    """scikit-learn and scipy.stats are slow to import; only workers need them."""
    assert "/numpy/" in run.libraries
    assert "/sklearn/" not in run.libraries
    assert "/scipy/stats/" not in run.libraries


@pytest.mark.slow
def test_workers_share_a_database_and_add_up(tmp_path: Path) -> None:
    """Two workers over one file count every report once, and each answers for both in metrics."""
    store, made = open_store(f"sqlite:///{tmp_path}/privet.db"), task()
    open_task(store, made, 0.0)
    reports = [report(made) for _ in range(20)]
    pids = Counter[str]()
    each_its_own = httpx.Limits(max_keepalive_connections=0)
    with (
        running_curator(tmp_path, workers="2") as curator,
        httpx.Client(base_url=curator.url, timeout=60, limits=each_its_own) as http,
    ):
        admin = {"Authorization": f"Bearer {curator.token}"}
        for own in reports * 2:
            path = f"/v1/tasks/{made.id}/reports"
            answer = http.post(path, content=own.pack(), headers=HEADERS)
            assert answer.status_code in (200, 201)
        while len(pids) < 2:
            text = http.get("/metrics", headers=admin).text
            assert values(text, "privet_reports_total")["counted",] == len(reports)
            pids.update(pid for (pid,) in values(text, "privet_process_cpu_seconds"))
    assert kept(store, made) == total(made, reports)
    store.close()


@pytest.mark.parametrize("workers", ["1", pytest.param("2", marks=pytest.mark.slow)])
def test_a_curator_whose_database_was_migrated_stops(workers: str, tmp_path: Path) -> None:
    """No report is taken any more; the process says why in one sentence, and fails."""
    store, made = open_store(f"sqlite:///{tmp_path}/privet.db"), task()
    open_task(store, made, 0.0)
    with running_curator(tmp_path, workers=workers, log_format="json") as curator:
        while curator.log.read_text().count("startup complete") < int(workers):
            time.sleep(0.05)
        with store.engine.begin() as connection:
            connection.exec_driver_sql("UPDATE alembic_version SET version_num = '9999'")
        path = f"{curator.url}/v1/tasks/{made.id}/reports"
        answer = httpx.post(path, content=report(made).pack(), headers=HEADERS, timeout=60)
        assert answer.status_code == 503
        assert "9999" in answer.json()["detail"]
        assert curator.process.wait(60) == 1
    lines = [json.loads(line) for line in curator.log.read_text().splitlines()]
    said = [line["level"] for line in lines if "start the one that wrote it" in line["event"]]
    assert said == ["critical"]
    assert store.standing.read(made.id).reports == 0
    store.close()


@pytest.mark.slow
def test_a_killed_curator_loses_nothing(tmp_path: Path) -> None:
    """One trial of scripts/crash_test.py: SIGKILL under load, start again, send the rest."""
    database = f"sqlite:///{tmp_path}/privet.db"
    store = open_store(database)
    curators = Curators(tmp_path, database, 1)
    count = Count()
    curators.start()
    try:
        run_trial(store, curators, count, 200, curators.kill)
    finally:
        curators.wait()
        store.close()
    assert (count.missing, count.lost, count.doubled) == (0, 0, 0)


class Started(Exception):
    """A start has come as far as its first words; ``args`` are the token that it would show."""


def start(database: str, **settings: Any) -> str | None:
    """Start a curator, and end it before it serves; the token that it would have shown."""

    def show(_: str, token: str | None) -> None:
        raise Started(token)

    chosen = Settings.model_validate({"database": database, "port": 0, **settings})
    with pytest.raises(Started) as started:
        serve(chosen, show=show)
    token: str | None = started.value.args[0]
    return token


def test_a_restored_database_is_not_served_with_another_key(run: Run, tmp_path: Path) -> None:
    """Holders have pinned the key, so a start makes another one only where a setting says so."""
    copy = shutil.copy(run.database, tmp_path)
    key = read_key(Path(f"{run.database}.key")).key.hex()
    with pytest.raises(PrivetError, match=key):
        start(f"sqlite:///{copy}")
    start(f"sqlite:///{copy}", new_signing_key=True)
    new = read_key(Path(f"{copy}.key")).key.hex()
    store = open_store(f"sqlite:///{copy}")
    assert store.facts.read(SIGNING_KEY) == new != key
    rotated = next(
        entry for entry in store.audit.entries(10) if entry.action.startswith("signing key")
    )
    assert (rotated.action, rotated.subject, rotated.detail) == (
        "signing key rotated",
        new,
        {"before": key},
    )
    store.close()


@pytest.mark.parametrize("backend", ["sqlite", "postgresql"])
def test_of_curators_that_start_together_one_shows_a_token(
    backend: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """On an empty database: its token works, and the others say that another showed it."""
    database = f"sqlite:///{tmp_path}/privet.db" if backend == "sqlite" else new_database()
    try:
        with ThreadPoolExecutor(6) as pool:
            tokens = list(pool.map(start, [database] * 6))
        (token,) = filter(None, tokens)
        assert capsys.readouterr().err.count("showed it at its start") == 5
        store = open_store(database)
        Tokens(store, ManualClock()).check(token, Scope.ADMIN)
        store.close()
    finally:
        if backend == "postgresql":
            drop_database(database)


def test_what_cannot_be_served_is_refused(tmp_path: Path) -> None:
    """A folder that is not there."""
    with pytest.raises(StorageFailed, match="the folder exists"):
        start(f"sqlite:///{tmp_path}/no/x.db")


def test_a_setting_without_its_package_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """At the start."""
    monkeypatch.delitem(sys.modules, "privet.curator.access.oidc", raising=False)
    monkeypatch.setitem(sys.modules, "joserfc", None)
    settings = OpenIdProvider(ManualClock(), "https://a.example").settings
    store = new_store()
    with pytest.raises(PrivetError, match=r"\[curator,oidc\]"):
        create_app(Settings.model_validate(settings), store=store)
    store.close()


class WatchedTracer(trace.NoOpTracer):
    """Remembers the spans that somebody starts."""

    def __init__(self) -> None:
        self.spans: list[str] = []

    def start_span(self, name: str, *given: Any, **options: Any) -> trace.Span:
        self.spans.append(name)
        return super().start_span(name, *given, **options)


class WatchedProvider(trace.TracerProvider):
    def __init__(self, tracer: WatchedTracer) -> None:
        self._tracer = tracer

    def get_tracer(self, *_: object, **__: object) -> trace.Tracer:
        return self._tracer


@keeps(
    "threat-model: no traces are made of calls",
    in_="curator/app.py",
    instead_of="telemetry=NO_TELEMETRY,",
    plant="",
)
async def test_no_traces_are_made(workers: Workers, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the environment says to FastAPI, or another library set up for the process."""
    tracer = WatchedTracer()
    monkeypatch.setattr(trace, "get_tracer_provider", lambda: WatchedProvider(tracer))
    monkeypatch.setenv("FASTAPI_OTEL_AUTO_CONFIGURE", "true")
    async with serving(workers) as http:
        assert (await http.get("/v1/tasks")).status_code == 200
    assert tracer.spans == []


@keeps(
    "threat-model: X-Forwarded-For is believed of trusted proxies only",
    in_="curator/server.py",
    instead_of="bool(settings.trusted_proxies)",
    plant="True",
)
@keeps(
    "threat-model: X-Forwarded-For is believed of trusted proxies only",
    in_="curator/server.py",
    instead_of="settings.trusted_proxies or None",
    plant='"*"',
)
@pytest.mark.parametrize(
    ("trusted", "seen"), [("", PEER), ("10.0.0.1", PEER), (f"10.0.0.1,{PEER}", "203.0.113.9")]
)
async def test_a_forwarded_address_is_believed_of_trusted_proxies_only(
    trusted: str, seen: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else whoever tries tokens would count as somebody else at every try."""
    clients: list[str] = []

    async def application(scope: Any, receive: Any, send: Any) -> None:
        clients.append(scope["client"][0])

    monkeypatch.setattr(server, "application_of", lambda settings: application)
    config = server.uvicorn_config(Settings(trusted_proxies=trusted))
    config.load()
    header = (b"x-forwarded-for", b"203.0.113.9")
    scope = {"type": "http", "client": (PEER, 40_000), "scheme": "http", "headers": [header]}
    await config.loaded_app(scope, None, None)  # nothing is read or sent
    assert clients == [seen]


@pytest.mark.parametrize(
    ("setting", "value", "said"),
    [
        ("trusted_proxies", "nginx", "is no address and no network"),
        ("certificate_of", "curator.example", "neither host:port"),
        ("certificate_of", "tls/tls.crt", "nor a file's absolute path"),
        ("certificate_of", "https://curator.example:443", "neither host:port"),
        ("root_path", "privet/", "begin it with /, as in /privet"),
    ],
)
def test_a_wrong_setting_is_said_with_what_to_write(setting: str, value: str, said: str) -> None:
    """By its name, before anything is opened."""
    with pytest.raises(InvalidRequest, match=f"Invalid settings: {setting}: .*{said}"):
        read_settings({setting: value})
    for good in ("proxy:443", "[::1]:8443", "/run/privet/tls/tls.crt"):
        assert read_settings({"certificate_of": good}).certificate_of == good
