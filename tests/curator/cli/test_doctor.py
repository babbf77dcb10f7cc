"""``privet doctor``: a healthy server, and one for each thing that can be wrong with it."""

import re
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from email.utils import formatdate
from pathlib import Path
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from privet.curator.cli.doctor import FEW_DAYS, LITTLE_DISK, OLD_BACKUP, WATCHED
from privet.curator.metrics import Metrics
from tests.curator.cli.conftest import TOKEN, Cli
from tests.fake_curator import on_a_port

ALERTS = Path(__file__).parents[3] / "deploy/prometheus/alerts.yml"
DAY = 86_400.0
VALUES = {
    "privet_backup_timestamp_seconds": time.time() - 3600,
    "privet_disk_free_bytes": 60.0,
    "privet_disk_size_bytes": 100.0,
}
LATER = {
    "privet_certificate_end_timestamp_seconds",
    *("privet_disk_free_bytes", "privet_disk_size_bytes"),
    *("privet_open_task_reports", "privet_task_reports_total"),
    *("privet_counted_reports", "privet_held_reports", "privet_lost_reports"),
    "privet_held_since_timestamp_seconds",
}
"""Metrics of alerts that a server has with a certificate or disk to watch, a task, or a relay."""
SOON = datetime.fromtimestamp(time.time() + DAY, UTC).isoformat()
TOKENS: list[dict[str, Any]] = [{"name": "first", "scope": "admin", "expires": None}]
AWAY = JSONResponse({"type": "x"}, 502, media_type="application/problem+json")


class Patient:
    """A server that is well, but for what a test says."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.values = dict(VALUES)
        self.missing = ""
        self.ahead = 0.0
        self.answers: dict[str, Response] = {
            "/readyz": JSONResponse({}),
            "/v1/key": JSONResponse({"key": None}),
            "/v1/relay": JSONResponse({"address": None}),
            "/v1/tokens": JSONResponse(TOKENS),
        }
        if kind == "relay":
            del self.answers["/v1/key"]
            self.answers["/v1/relay"] = JSONResponse({"curator_key": None, "least": 1000})

    async def answer(self, request: Request) -> Response:
        """The answer to a GET."""
        path = request.url.path
        answer = self.answers.get(path, Response(status_code=404))
        if path == "/metrics":
            is_known = request.headers.get("authorization") == f"Bearer {TOKEN}"
            answer = PlainTextResponse(self.text()) if is_known else Response(status_code=401)
        answer.headers["date"] = formatdate(time.time() + self.ahead, usegmt=True)
        return answer

    def text(self) -> str:
        """Its metrics."""
        names = [name for name in (*WATCHED[self.kind], *VALUES) if name != self.missing]
        lines = []
        for name in names:
            kind = "counter" if name.endswith("_total") else "gauge"
            lines += [f"# HELP {name} A metric.", f"# TYPE {name} {kind}"]
            lines += [f"{name} {self.values.get(name, 1.0)}"]
        return "\n".join([*lines, ""])


@pytest.fixture(params=["curator", "relay"])
def patient(request: pytest.FixtureRequest) -> Patient:
    return Patient(request.param)


@pytest.fixture
def url(patient: Patient) -> Iterator[str]:
    with on_a_port(
        Starlette(routes=[Route("/{path:path}", patient.answer)]), dated=False
    ) as address:
        yield address


def test_nothing_is_wrong_with_a_server_that_is_well(run: Cli, patient: Patient, url: str) -> None:
    """Each thing that was tried has its sentence, and the exit status is 0."""
    found = run.json("doctor", url, "--token", TOKEN)["findings"]
    assert [each["what"] for each in found if each["wrong"]] == []
    tried = {"address", "TLS", "clock", "readiness", "alerts", "disk"}
    more = {"curator": {"tokens", "backups"}, "relay": {"curator"}}
    assert {each["what"] for each in found} == tried | more[patient.kind]
    assert all(each["sentence"].endswith(".") for each in found)


@pytest.mark.parametrize(
    ("fault", "what", "said"),
    [
        ({"ahead": 120.0}, "clock", "s off this machine's: correct one"),
        ({"/readyz": JSONResponse({}, 503)}, "readiness", "not ready (503)"),
        ({"missing": "privet_process_open_fds"}, "alerts", "missing: privet_process_open_fds"),
        ({"privet_disk_free_bytes": 10.0}, "disk", "10% of it is free"),
        ({"privet_backup_timestamp_seconds": 0.0}, "backups", "No backup was ever made"),
        (
            {"privet_backup_timestamp_seconds": time.time() - 3 * DAY},
            "backups",
            "The newest is 72 h old",
        ),
        (
            {"/v1/tokens": JSONResponse([{**TOKENS[0], "expires": SOON}])},
            "tokens",
            "have ended: first.",
        ),
        ({"/v1/relay": AWAY}, "curator", "Its curator does not answer"),
    ],
)
def test_each_thing_that_is_wrong_is_said(
    fault: dict[str, Any], what: str, said: str, run: Cli, patient: Patient, url: str
) -> None:
    """Alone, and with exit status 1; a curator is not blamed for what a relay has, or a relay."""
    for name, value in fault.items():
        if name.startswith("/"):
            patient.answers[name] = value
        elif name in VALUES:
            patient.values[name] = value
        else:
            setattr(patient, name, value)
    of_one = {"backups": "curator", "tokens": "curator", "curator": "relay"}
    expected = [what] if of_one.get(what, patient.kind) == patient.kind else []
    found = run.json("doctor", url, "--token", TOKEN, code=len(expected))["findings"]
    wrong = [each for each in found if each["wrong"]]
    assert [each["what"] for each in wrong] == expected
    assert all(said in each["sentence"] for each in wrong)


def test_what_cannot_be_looked_at_is_wrong(run: Cli, url: str) -> None:
    """No token, or another one; plain http elsewhere; an address below the API; nobody."""
    for given, what, said in [
        ([url], "token", "give --token"),
        ([url, "--token", "another"], "token", "is not taken for /metrics (401)"),
        ([f"{url}/v1"], "address", "give it without"),
        (["http://curator.example"], "TLS", "--insecure-http"),
        (["http://127.0.0.1:1"], "address", "Nobody answers"),
    ]:
        wrong = [each for each in run.json("doctor", *given, code=1)["findings"] if each["wrong"]]
        assert [(each["what"], said in each["sentence"]) for each in wrong] == [(what, True)]


def test_a_real_curator_is_examined(run: Cli, curator_url: str) -> None:
    """It has never been backed up, and nothing else is wrong."""
    done = run("doctor", curator_url, "--token", TOKEN, "--database", "sqlite:///x.db")
    assert done.code == 1
    lines = done.out.splitlines()
    assert [line.split()[1] for line in lines if line.startswith("WRONG")] == ["backups"]
    assert any("1 of scope admin; none ends" in line for line in lines)
    assert "1 of" in done.err


def test_watched_metrics_are_those_of_alerts() -> None:
    """A curator has them from its start, and an alert is about each; no alert is about others but
    for those that come later."""
    alerts, text = ALERTS.read_text(encoding="utf-8"), Metrics().text().decode()
    for name in WATCHED["curator"]:
        assert f"# HELP {name} " in text
    watched = {*WATCHED["curator"], *WATCHED["relay"]}
    needed = {name.removesuffix("_bucket") for name in re.findall(r"privet_\w+", alerts)}
    assert needed - watched == LATER
    assert watched <= needed


@pytest.mark.parametrize(
    ("alert", "limit"),
    [
        ("CertificateEnds", FEW_DAYS * DAY),
        ("BackupOld", OLD_BACKUP),
        ("DiskFillsUp", LITTLE_DISK),
    ],
)
def test_limits_are_those_of_alerts(alert: str, limit: float) -> None:
    """What the doctor calls wrong is what somebody is called for."""
    of_alert = ALERTS.read_text(encoding="utf-8").split(f"- alert: {alert}\n")[1]
    found = re.search(r"[<>] (\d[\d.]*)", of_alert)
    assert found
    assert float(found[1]) == limit
