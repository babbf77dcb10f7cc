import asyncio
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import get_type_hints

import httpx
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route
from typer.testing import CliRunner, Result

from privet import CuratorClient
from privet.admin.results import Scope
from privet.client import Holder, MemoryLedger, ReportClient, Retry
from privet.http_server.problems import add_problem_handlers
from privet.protocol.errors import Overloaded
from privet.protocol.installing import install_command
from privet.protocol.report import Report, make_report
from privet.protocol.task import Task
from privet.relay import cli
from privet.relay.app import Relay, create_app
from privet.relay.cli import app
from privet.relay.forwarding import Forwarder
from privet.relay.spool import Spool
from privet.relay.status import BatchSizes
from privet.relay.task_watch import TaskWatch
from tests.curator.cli.conftest import TOKEN as ADMIN
from tests.curator.cli.conftest import curator_url, served
from tests.fake_curator import FakeCurator, on_a_port
from tests.keeping import keeps
from tests.protocol.examples import RECORD

__all__ = ["curator_url", "served"]

TYPES = get_type_hints(cli.Settings)
SERVE = "-m privet.relay serve --port 0 --least 5 --every 0.1"
TOKEN = "a-relays-token-7Hq2LdXw9sKvRb3TzN"
COMMAND = [sys.executable, *SERVE.split()]


@contextmanager
def running(curator: FakeCurator, spool: Path) -> Iterator[tuple[str, "subprocess.Popen[str]"]]:
    """`privet-relay serve` as a process: its address, and itself."""
    options = ["--curator", curator.root, "--spool", str(spool), "--token", TOKEN]
    with subprocess.Popen([*COMMAND, *options], stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        first = process.stderr.readline()
        try:
            yield first.split(" at ")[1].strip(), process
        finally:
            process.terminate()
            said = process.communicate(timeout=30)[1]
    assert said == ""


@pytest.fixture
def relay_url(curator: FakeCurator, tmp_path: Path) -> Iterator[str]:
    with running(curator, tmp_path / "spool") as (url, _):
        yield url


async def test_holders_reach_the_curator_through_the_relay(
    relay_url: str, curator: FakeCurator
) -> None:
    """Twelve answers arrive by batch, none directly, and the relay has said nothing about them."""
    url = f"{relay_url}/v1/tasks/{curator.task.id}"
    async with ReportClient() as client:
        holders = [Holder(client, MemoryLedger(), f"subject {i}") for i in range(12)]
        answers = await asyncio.gather(*(holder.answer(url, RECORD) for holder in holders))
    reports = [Report.unpack(answered.report) for answered in answers]
    sent = {(report.id, report.answers[0][1]) for report in reports}
    async with httpx.AsyncClient() as http:
        await forwarded(curator, {report.id for report in reports})
        status = (await http.get(f"{url}/status")).json()
        shown = await run("status", url)
        assert shown.exit_code == 0
        assert f"delivered and counted     {status['counted']}\n" in shown.stdout
        assert "local epsilon             1 against everybody" in shown.stdout
        assert "central (epsilon, delta)  no more than the local one" in shown.stdout
        scripted = await run("status", url, "--json")
        assert json.loads(scripted.stdout) == status
    refused = await run("status", curator.url)
    assert refused.exit_code == 1
    assert curator.posts == []
    assert set(curator.counted.items()) <= sent
    assert 12 - 5 < len(curator.counted) <= 12
    assert min(map(len, curator.batches)) >= 5


async def forwarded(curator: FakeCurator, reports: Collection[bytes]) -> None:
    """Wait until fewer than five of the reports that the relay took have not been counted."""
    async with asyncio.timeout(120):
        while len(set(reports) - curator.counted.keys()) >= 5:
            await asyncio.sleep(0.02)


async def settled(status: str) -> None:
    """Wait until the relay has noted what its curator did with all but fewer than five reports."""
    async with httpx.AsyncClient() as http, asyncio.timeout(120):
        while (await http.get(status)).json()["waiting"]:
            await asyncio.sleep(0.02)


async def run(*arguments: str) -> Result:
    """The command line, in a thread, while this test's own loop goes on."""
    return await asyncio.to_thread(lambda: CliRunner().invoke(app, arguments))


@pytest.mark.slow
async def test_the_curator_is_asked_when_no_holder_comes(
    relay_url: str, curator: FakeCurator
) -> None:
    """By the clock, from the first call about a task on."""
    async with httpx.AsyncClient() as http, asyncio.timeout(120):
        await http.get(f"{relay_url}/v1/tasks/{curator.task.id}/status")
        while curator.calls.count("/status") < 3:
            await asyncio.sleep(0.1)


@pytest.mark.slow
async def test_what_was_acknowledged_survives_sigkill(curator: FakeCurator, tmp_path: Path) -> None:
    """Killed in the midst of taking and forwarding, twice; every held report arrives as it was."""
    held: dict[bytes, bytes] = {}
    for enough in (60, 150):
        with running(curator, tmp_path / "spool") as (url, process):
            sending = [asyncio.create_task(keep_sending(url, curator.task, held)) for _ in range(8)]
            async with asyncio.timeout(120):
                while len(held) < enough:
                    await asyncio.sleep(0.001)
            process.kill()
            await asyncio.gather(*sending)
    with running(curator, tmp_path / "spool") as (url, _):
        await forwarded(curator, held.keys())
        await settled(f"{url}/v1/tasks/{curator.task.id}/status")
    with Spool(tmp_path / "spool") as spool:
        waiting = spool.tallies(curator.task.id)["waiting"]
    late = {key for key in held if key not in curator.counted}
    assert len(late) <= waiting < 5
    assert all(curator.counted[key] == payload for key, payload in held.items() if key not in late)


async def keep_sending(url: str, task: Task, held: dict[bytes, bytes]) -> None:
    """One report after the other until nobody answers; what was acknowledged."""
    async with httpx.AsyncClient() as http:
        with suppress(httpx.TransportError):
            while True:
                report = make_report(task, RECORD, os.urandom)
                reply = await http.post(f"{url}/v1/tasks/{task.id}/reports", content=report.pack())
                assert reply.status_code == 202
                held[report.id] = b"".join(payload for _, payload in report.answers)


@pytest.fixture
def _restored_signals() -> Iterator[None]:
    """A relay in this process takes its signals."""
    taken = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    yield
    for number, handler in taken.items():
        signal.signal(number, handler)


@pytest.mark.usefixtures("_restored_signals")
@pytest.mark.parametrize("work", [Forwarder, TaskWatch])
def test_an_unforeseen_failure_ends_the_relay(
    work: type,
    curator: FakeCurator,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """A relay that can no longer ask or forward does not go on taking reports: it says why."""

    async def fail(*_: object) -> None:
        raise RuntimeError("a fault that nobody foresaw")

    monkeypatch.setattr(work, "run", fail)
    options = ["--curator", curator.root, "--spool", str(tmp_path / "spool"), "--token", TOKEN]
    assert CliRunner().invoke(app, ["serve", *options, "--port", "0"]).exit_code == cli.EXIT_BROKEN
    assert "RuntimeError: a fault that nobody foresaw" in caplog.text


def test_a_relay_bounds_heads_and_stops_in_order(curator: FakeCurator, tmp_path: Path) -> None:
    """A long head is refused; a signal ends the process with status 0 and a spool of one file."""
    with running(curator, tmp_path / "spool") as (url, process):
        answer = httpx.get(f"{url}/healthz", headers={"X": "1" * 33_000})
        assert answer.status_code == 431
        assert "32768 bytes" in answer.json()["detail"]
        process.terminate()
        assert process.wait(30) == 0
    assert [path.name for path in tmp_path.iterdir()] == ["spool"]


@pytest.mark.usefixtures("_restored_signals")
def test_a_relay_does_not_start_in_front_of_another(relay_url: str, tmp_path: Path) -> None:
    """One sentence says what address to give."""
    options = ["--port", "0", "--curator", relay_url, "--spool", str(tmp_path / "second")]
    options += ["--token", TOKEN]
    done = CliRunner().invoke(app, ["serve", *options])
    assert done.exit_code == cli.EXIT_FAULT
    assert done.stderr.startswith("The address given with --curator is a relay's")


def strangers() -> Starlette:
    """A web server that knows nothing of Privet; a curator that is busy, and one that has moved."""

    def busy(_: Request) -> Response:
        raise Overloaded("Come back later.")

    def gone(request: Request) -> Response:
        return RedirectResponse(f"https://new.example/{request.path_params['path']}", 301)

    app = Starlette(
        routes=[
            Route("/busy/{path:path}", busy, methods=["GET", "POST"]),
            Route("/gone/{path:path}", gone, methods=["GET", "POST"]),
            Route("/{path:path}", lambda _: HTMLResponse("<h1>It works!")),
        ]
    )
    add_problem_handlers(app, {})
    return app


@pytest.mark.usefixtures("_restored_signals")
@pytest.mark.parametrize(
    ("case", "said"),
    [
        ("no token", "only with a token: put one of scope relay into PRIVET_RELAY_TOKEN"),
        ("unknown token", "does not know the token in PRIVET_RELAY_TOKEN"),
        ("another scope", "is of another scope: give one of scope relay"),
        ("web server", "What answers is no curator at"),
        ("busy", "takes no calls now: Come back later."),
        ("gone", "give https://new.example in place of http://127.0.0.1:"),
        ("nobody", "Nobody answers at"),
        ("no folder", "There is no folder"),
        ("/v1", "Give --curator without /v1: http://127.0.0.1:"),
    ],
)
def test_a_relay_that_could_not_forward_does_not_start(
    case: str, said: str, curator_url: str, tmp_path: Path
) -> None:
    """It would take reports that no curator ever gets; nothing is left of the spool."""
    spool = tmp_path / "none" / "spool" if case == "no folder" else tmp_path / "spool"
    admin = CuratorClient(curator_url, ADMIN)
    issued = admin.issue_token("r", Scope.READER if case == "another scope" else Scope.RELAY)
    token = {"no token": None, "unknown token": TOKEN}.get(case, issued.token)
    with on_a_port(strangers()) as stranger:
        where = {"busy": f"{stranger}/busy", "gone": f"{stranger}/gone"}
        where |= {
            "web server": stranger,
            "nobody": "http://127.0.0.1:1",
            "/v1": f"{curator_url}/v1",
        }
        options = ["--curator", where.get(case, curator_url), "--spool", str(spool)]
        options += [] if token is None else ["--token", token]
        done = CliRunner().invoke(app, ["serve", *options, "--port", "0"])
    assert (done.exit_code, said in done.stderr) == (cli.EXIT_FAULT, True), done.stderr
    assert not spool.exists()


def test_a_relay_starts_again_while_its_curator_is_away(
    curator: FakeCurator, tmp_path: Path
) -> None:
    """Reports are in its spool, and more are kept."""
    with running(curator, tmp_path / "spool"):
        pass
    options = ["--curator", "http://127.0.0.1:1", "--spool", str(tmp_path / "spool")]
    with subprocess.Popen(
        [*COMMAND, *options, "--token", TOKEN], stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stderr is not None
        said = [process.stderr.readline() for _ in range(2)]
        process.terminate()
    assert "Reports are kept meanwhile." in said[0]
    assert said[1].startswith("Relay for http://127.0.0.1:1 at ")


async def test_another_kind_of_curator_is_no_fault_of_the_relays(tmp_path: Path) -> None:
    """A web server's 404 reaches a holder as that: its curator does not answer."""
    elsewhere = httpx.AsyncClient(transport=httpx.ASGITransport(app=stranger_with_problems()))
    with Spool(tmp_path / "spool") as spool:
        client = ReportClient(elsewhere, retry=Retry(attempts=1))
        relay = Relay(client, "https://curator.example/v1", spool, BatchSizes(5, 1))
        transport = httpx.ASGITransport(app=create_app(relay))
        async with httpx.AsyncClient(transport=transport, base_url="http://relay") as http:
            answer = await http.get(f"/v1/tasks/{'0' * 64}")
    assert (answer.status_code, answer.json()["type"]) == (502, "urn:privet:problem:overloaded")


def stranger_with_problems() -> Starlette:
    """A server whose errors are problem documents, as a curator's are outside its calls."""
    stranger = Starlette()
    add_problem_handlers(stranger, {})
    return stranger


WITHOUT_A_SERVER = """
import sys
for name in ("starlette", "uvicorn", "httptools"):
    sys.modules[name] = None
from privet.relay.cli import main
main()
"""


@pytest.mark.slow
def test_the_base_installation_asks_relays_and_says_what_serving_needs(
    relay_url: str, curator: FakeCurator, tmp_path: Path
) -> None:
    """`status` works without a web server; `serve` names the package."""
    serve = ["serve", "--curator", curator.root, "--spool", str(tmp_path / "another")]
    for arguments, code, said in [
        (["status", f"{relay_url}/v1/tasks/{curator.task.id}"], 0, "local epsilon"),
        (serve, 1, install_command("relay")),
    ]:
        command = [sys.executable, "-c", WITHOUT_A_SERVER, *arguments]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == code
        assert said in done.stdout + done.stderr


@keeps(
    "threat-model: a token in the environment has 128 bits",
    in_="http_server/tokens.py",
    instead_of="if bits < TOKEN_BITS:",
    plant="if False:",
)
@pytest.mark.parametrize("token", ["", " ", "\t\n", "a b" * 20, "guess"])
@pytest.mark.parametrize("name", [name for name in TYPES if name.endswith("token")])
def test_a_token_that_others_could_guess_is_refused(name: str, token: str, tmp_path: Path) -> None:
    """As an option and in the environment; what was given is not repeated."""
    options = ["--curator", "http://curator.example", "--spool", str(tmp_path / "spool")]
    for given, environment in (
        ([f"--{name.replace('_', '-')}", token], {}),
        ([], {f"PRIVET_RELAY_{name.upper().removeprefix('RELAY_')}": token}),
    ):
        result = CliRunner().invoke(app, ["serve", *options, *given], env=environment)
        assert result.exit_code in {cli.EXIT_FAULT, 2}, result.output
        said = " ".join(result.output.replace("│", "").split())
        assert re.search("it is empty|it has a space|needs 128|is empty: set it", said)
        assert token.strip() == "" or token not in said
        assert not (tmp_path / "spool").exists()


def test_an_unknown_variable_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A misspelled token would be left out in silence; a curator's own variable may stay."""
    monkeypatch.setenv("PRIVET_RELAY_RATE_LIMIT", "10")
    monkeypatch.setenv("PRIVET_RELAY_TOKENS", "for-the-curator-4821-Zq")
    options = ["--curator", "http://127.0.0.1:1", "--spool", str(tmp_path / "spool")]
    result = CliRunner().invoke(app, ["serve", *options])
    assert result.exit_code == cli.EXIT_FAULT
    assert "no setting PRIVET_RELAY_TOKENS" in result.output
    assert not (tmp_path / "spool").exists()


async def test_logs_are_json_to_the_last_line(curator: FakeCurator, tmp_path: Path) -> None:
    """As the curator's; a line about a request has the id that the proxy gave it."""
    environment = {**os.environ, "PRIVET_RELAY_LOG_FORMAT": "json"}
    options = ["--curator", curator.root, "--spool", str(tmp_path / "spool"), "--token", TOKEN]
    with subprocess.Popen(
        [*COMMAND, *options], stderr=subprocess.PIPE, text=True, env=environment
    ) as process:
        assert process.stderr is not None
        started = json.loads(process.stderr.readline())
        assert started["event"] == "relay started"
        curator.down = True
        request_id = "0f" * 16
        async with httpx.AsyncClient(headers={"X-Request-ID": request_id}, timeout=60) as http:
            answer = await http.get(f"{started['url']}/v1/tasks/{'0' * 64}")
            assert answer.status_code == 503
        process.terminate()
        lines = [json.loads(line) for line in process.communicate(timeout=30)[1].splitlines()]
    assert lines
    for line in lines:
        assert {"event", "level", "logger", "timestamp"} <= line.keys()
        assert line["request"] == request_id


def test_a_fault_at_the_start_is_a_json_line_too(
    curator: FakeCurator, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever collects the log sees why there is no relay."""
    monkeypatch.setenv("PRIVET_RELAY_LOG_FORMAT", "json")
    (tmp_path / "file").write_text("no folder")
    done = subprocess.run(
        [
            *[*COMMAND, "--curator", curator.root, "--token", TOKEN],
            *["--spool", str(tmp_path / "file" / "spool")],
        ],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == cli.EXIT_FAULT
    (line,) = done.stderr.splitlines()
    assert "There is no folder" in json.loads(line)["event"]


def test_exit_statuses_are_those_of_the_page() -> None:
    """docs/relay.md has a line for every status, and no other."""
    page = (Path(__file__).parents[2] / "docs" / "relay.md").read_text(encoding="utf-8")
    table = page.split("| exit status |")[1].split("\n\n")[0]
    listed = {int(row.split("|")[1]) for row in table.splitlines()[2:]}
    assert listed == {0, cli.EXIT_FAULT, 2, cli.EXIT_BROKEN}


WRONG: dict[str, tuple[str, ...]] = {
    "curator": ("--curator", "curator.example"),
    "spool": ("--spool", "/no/folder/spool"),
    "host": ("--host", "no such host"),
    "port": ("--port", "70000"),
    "least": ("--least", "many"),
    "smallest_batch": ("--smallest-batch", "0"),
    "every": ("--every", "0"),
    "token": ("--token", "guessed"),
    "metrics_token": ("--metrics-token", "guessed"),
    "proxies": ("--proxies", "nginx"),
    "batches": ("--batches", "ftp://127.0.0.1:9/batches"),
    "certificate": ("--certificate", "/no/certificate"),
    "certificate_key": ("--certificate-key", "/no/key"),
    "one_operator": ("--one-operator=perhaps",),
    "log_format": ("--log-format", "loud"),
    "insecure_http": ("--insecure-http=perhaps",),
}
"""A wrong value of each setting."""


@pytest.mark.usefixtures("_restored_signals")
@pytest.mark.parametrize("name", TYPES)
def test_each_wrong_setting_is_refused_in_a_sentence(
    name: str, curator: FakeCurator, tmp_path: Path
) -> None:
    """It names the option, without a traceback, and nothing serves."""
    options = ["--port", "0", "--curator", curator.root, "--spool", str(tmp_path / "spool")]
    done = CliRunner().invoke(app, ["serve", *options, "--token", TOKEN, *WRONG[name]])
    said = " ".join(re.sub(r"[│╭╰─╮╯]", " ", done.stderr).split())
    assert isinstance(done.exception, SystemExit), done.exception
    assert done.exit_code in {cli.EXIT_FAULT, 2}  # the latter where options are read
    assert name.replace("_", "-") in said, said
