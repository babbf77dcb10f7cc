"""The canary over real servers on loopback: it passes where all is well, and says what is not."""

import math
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from privet.client import Holder, MemoryLedger, ReportClient
from privet.client.errors import BudgetSpent
from privet.curator.admin_client import CuratorClient
from privet.curator.canary import ENOUGH, EPSILON, NAME, RECORD, SETTINGS, make_task
from privet.protocol.report import Report
from scripts.servers import free_port, running_curator, running_relay
from tests.curator import samples
from tests.curator.cli.conftest import TOKEN, Cli, Front, Result


@pytest.fixture
def fitter(cli: Cli) -> str:
    """The token of a canary whose task is there."""
    assert cli("canary", "make").code == 0
    return cli("token", "issue", "canary", "--scope", "fitter").out.strip()


def once(cli: Cli, token: str, *options: str) -> Result:
    """One round, of few seconds."""
    return cli("canary", "run", "--once", "--within", "5", "--token", token, *options)


def reports(url: str) -> int:
    return int(CuratorClient(url, TOKEN).status(NAME)["reports"])


class Between:
    """Stands before a curator, and answers some of its calls in its place."""

    def __init__(self, app: ASGIApp, path: str, answer: Callable[[bytes], JSONResponse]) -> None:
        self._app, self._path, self._answer = app, path, answer

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        method = "GET" if self._path == "/status" else "POST"
        if not scope["path"].endswith(self._path) or scope["method"] != method:
            await self._app(scope, receive, send)
            return
        body, more = b"", method == "POST"
        while more:
            message = await receive()
            body, more = body + message["body"], message.get("more_body", False)
        await self._answer(body)(scope, receive, send)


def acknowledged(body: bytes) -> JSONResponse:
    """A receipt as a curator gives it once a report is durable."""
    return JSONResponse({"report": Report.unpack(body).id.hex(), "counted": True}, 201)


def full(_: bytes) -> JSONResponse:
    """What a curator answers whose disk is full."""
    problem = {"type": "urn:privet:problem:storage-failed", "status": 503, "detail": "Disk full."}
    return JSONResponse(problem, 503, {"Retry-After": "0"}, "application/problem+json")


def greedy(_: bytes) -> JSONResponse:
    """The status of a relay that would have a million reports together."""
    return JSONResponse({"least": 10**6, "step": 1, "reports": 0})


def not_learned(_: bytes) -> JSONResponse:
    """A prediction of what no report says."""
    return JSONResponse({"model": 1, "label": ["no"], "classes": ["no", "yes"], "paths": {}})


def test_reports_count_and_predict(cli: Cli, curator_url: str, fitter: str) -> None:
    """Each round one more, without a relay; nothing is written on this machine."""
    for round_ in range(1, ENOUGH + 2):
        done = once(cli, fitter)
        assert done.code == 0, done.err
        assert f"1 more count, and model {round_} predicts them" in done.err
        assert reports(curator_url) == round_
    assert list(Path().iterdir()) == []


def test_the_chance_of_a_false_alarm_is_as_stated() -> None:
    """Of as many reports as are judged, no more say `yes` than say `no`: exactly, at most 7e-7.

    One says either with the probabilities of generalized randomized response over two cells of two
    classes, and the misfit.
    """
    assert (SETTINGS["mechanism"], SETTINGS["depth"]) == ("grr", 1)
    false = 1 / (math.exp(EPSILON) + 4)
    true, other = math.exp(EPSILON) * false, 3 * false
    chance = sum(
        math.comb(ENOUGH, yes)
        * math.comb(ENOUGH - yes, no)
        * true**yes
        * false**no
        * other ** (ENOUGH - yes - no)
        for yes in range(ENOUGH + 1)
        for no in range(yes, ENOUGH + 1 - yes)
    )
    assert 1e-7 < chance <= 7e-7


def test_the_stage_that_fails_is_named(cli: Cli, served: tuple[str, Front], fitter: str) -> None:
    """With what the curator said; receipts for what never counts are believed by nobody here."""
    _, front = served
    curator = front.application
    for _ in range(ENOUGH):
        assert once(cli, fitter).code == 0
    uncounted = "count: 0 of 1 reports count after 5 s; all were acknowledged"
    for path, answer, said in (
        ("/status", greedy, "fetch: What answers is no curator"),
        ("/reports", full, "send: Disk full."),
        ("/reports", acknowledged, uncounted),
        ("/models", full, "fit: Disk full."),
        ("/predict", not_learned, "predict: The prediction is not what all reports say"),
        ("/predict", full, "predict: Disk full."),
    ):
        front.application = Between(curator, path, answer)
        failed = once(cli, fitter)
        assert failed.code == 1
        assert f"failed to {said}" in failed.err


def test_what_is_missing_is_named(cli: Cli, curator_url: str) -> None:
    """The task, the token, its scope, the curator."""
    assert "an admin makes it with 'privet canary make'" in once(cli, TOKEN).err
    assert cli("canary", "make").code == 0
    assert "Without a token" in once(cli, "").err
    eye = cli("token", "issue", "eye", "--scope", "reader").out.strip()
    assert (
        "failed to fit: The token has the scope reader and this call needs fitter"
        in once(cli, eye).err
    )
    assert cli("task", "close", NAME).code == 0
    assert "failed to send" in once(cli, TOKEN).err
    absent = f"http://127.0.0.1:{free_port()}"
    assert (
        f"failed to fetch: No answer from {absent[7:]}" in once(cli, TOKEN, "--relay", absent).err
    )


def test_no_task_of_others_is_answered(cli: Cli, curator_url: str, survey: str) -> None:
    """Even if it is called as the canary's: made-up reports would falsify it."""
    made = ("--label", "label", "--epsilon", str(EPSILON), "--name", NAME, "--yes")
    assert cli("task", "create", survey, *made).code == 0
    refused = once(cli, TOKEN)
    assert refused.code == 1
    assert "asks something else" in refused.err
    assert reports(curator_url) == 0


async def test_a_person_does_not_answer_it_by_mistake(curator_url: str) -> None:
    """It costs more than a holder spends on one task, and says that it asks nobody."""
    made = make_task(CuratorClient(curator_url, TOKEN))
    assert made["task"]["description"] == SETTINGS["description"]
    address = f"{curator_url}/v1/tasks/{made['id']}"
    async with ReportClient() as http:
        with pytest.raises(BudgetSpent, match="at most 2 on one task"):
            await Holder(http, MemoryLedger()).answer(address, RECORD)


def test_a_fitters_token_does_what_the_canary_needs_and_no_more(
    cli: Cli, curator_url: str, fitter: str
) -> None:
    """It reads and fits; it neither promotes nor changes anything else, nor sends batches."""
    admin, mine = CuratorClient(curator_url, TOKEN), CuratorClient(curator_url, fitter)
    task = make_task(admin)
    assert once(cli, fitter).code == 0
    assert mine.status(task)["step"] == 1
    assert mine.insight(task)["reports"] == 1
    for forbidden in (
        lambda: mine.fit(task, promote=True),
        lambda: mine.promote(task, 1),
        lambda: mine.close(task),
        lambda: mine.remove(task),
        lambda: mine.invite(task, 1),
        lambda: mine.create(samples.survey(), label="label", epsilon=1.0),
        lambda: mine.get("/v1/tokens"),
        lambda: mine.call("POST", f"/v1/tasks/{task['id']}/reports/batch", content=b""),
    ):
        with pytest.raises(Exception, match="has the scope fitter"):
            forbidden()
    assert len(admin.models(task)) == 1


@pytest.mark.slow
@pytest.mark.parametrize(("every", "code"), [(0.2, 0), (1e6, 1)])
def test_the_way_is_the_relays(
    every: float, code: int, cli: Cli, curator_url: str, fitter: str, tmp_path: Path
) -> None:
    """As many reports go as it forwards together; a relay that holds them for ever is named."""
    token = cli("token", "issue", "relay", "--scope", "relay").out.strip()
    with running_relay(tmp_path / "relay", curator_url, token, least=7, every=every) as relay:
        ended = once(cli, fitter, "--relay", relay.url)
    assert ended.code == code
    said = "7 more count" if code == 0 else "0 of 7 reports count after 5 s; the relay holds them"
    assert said in ended.err
    assert reports(curator_url) == (0 if code else 7)


@pytest.mark.slow
def test_a_full_disk_is_noticed_and_room_again_too(tmp_path: Path, cli: Cli) -> None:
    """Of a curator in a process of its own, whose files may not grow for a while."""
    with running_curator(tmp_path / "curator") as curator:
        make_task(CuratorClient(curator.url, curator.token))
        there = ("--url", curator.url)
        assert once(cli, curator.token, *there).code == 0
        size = (tmp_path / "curator/privet.db-wal").stat().st_size
        soft, hard = resource.prlimit(curator.process.pid, resource.RLIMIT_FSIZE, (size, -1))
        failed = [once(cli, curator.token, *there, "--within", "60") for _ in range(3)]
        resource.prlimit(curator.process.pid, resource.RLIMIT_FSIZE, (soft, hard))
        assert failed[-1].code == 1
        assert "failed to" in failed[-1].err
        assert once(cli, curator.token, *there).code == 0


@pytest.mark.slow
def test_prometheus_sees_every_round(
    cli: Cli, served: tuple[str, Front], curator_url: str, fitter: str, tmp_path: Path
) -> None:
    """From the start on, while it passes and while it fails; SIGTERM ends it with 0."""
    port, (_, front) = free_port(), served
    command = [sys.executable, "-m", "privet.curator", "canary", "run", "--every", "1"]
    command += ["--within", "3", "--port", str(port)]
    environment = os.environ | {"PRIVET_TOKEN": fitter, "PRIVET_URL": curator_url}
    with (tmp_path / "log").open("wb") as log:
        canary = subprocess.Popen(command, env=environment, stderr=log)
    try:
        passed = wait_for(port, "privet_canary_passed", 1.0)
        assert time.time() - 30 < passed["privet_canary_success_timestamp_seconds"] <= time.time()
        assert passed["privet_canary_every_seconds"] == 1.0
        assert passed["privet_canary_rounds_total count"] == 0.0
        front.application = Between(front.application, "/reports", acknowledged)
        failed = wait_for(port, "privet_canary_passed", 0.0)
        assert failed["privet_canary_rounds_total count"] >= 1.0
        canary.terminate()
        assert canary.wait(20) == 0
    finally:
        canary.kill()
        canary.wait()
    log_text = (tmp_path / "log").read_text()
    assert "done in" in log_text
    assert "failed to count" in log_text
    assert len(CuratorClient(curator_url).models(NAME)) == 1  # it is fitted once an hour


def wait_for(port: int, name: str, value: float) -> dict[str, float]:
    """The canary's metrics by name and label, once one of them has a value after a round."""
    end = time.monotonic() + 60
    while time.monotonic() < end:
        try:
            text = httpx.get(f"http://127.0.0.1:{port}/metrics").text
        except httpx.TransportError:
            text = ""
        told = {
            " ".join([sample.name, *sample.labels.values()]): sample.value
            for family in text_string_to_metric_families(text)
            for sample in family.samples
        }
        rounds = sum(v for key, v in told.items() if key.startswith("privet_canary_rounds_total"))
        if rounds and told[name] == value:
            return told
        time.sleep(0.1)
    raise AssertionError(told)


def test_a_port_that_is_taken_is_named(cli: Cli, served: tuple[str, Front]) -> None:
    """Before the first round."""
    port = served[0].rpartition(":")[2]
    taken = cli("canary", "run", "--once", "--port", port)
    assert taken.code == 1
    assert f"127.0.0.1:{port} cannot be listened on" in taken.err
