"""Alerts and panels ask for what servers report, and a burst right after a start is seen."""

import asyncio
import json
import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families

from privet.curator.app import create_app as create_curator
from privet.curator.datastore import open_store
from privet.curator.settings import Settings
from privet.protocol.calls import REPORT_MEDIA_TYPE
from privet.relay.app import Relay
from privet.relay.app import create_app as create_relay
from privet.relay.curator_calls import CountingClient
from privet.relay.metrics import RelayMetrics
from privet.relay.spool import Spool
from privet.relay.status import BatchSizes
from tests.curator.datastore.made import open_task, report, task

DEPLOY = Path(__file__).parents[2] / "deploy"
TOKEN = "token-for-tests-2Dq8cPZr5mTgVf7bNxWj"
SELECTOR = re.compile(r"\b(privet_\w+)(?:\{([^}]*)\})?")
MATCHER = re.compile(r'(\w+)(=~|!~|!=|=)"([^"]*)"')
BY = re.compile(r"by \(([^)]*)\)")
OF_PROMETHEUS = {"instance", "job", "le"}
"""Labels that Prometheus itself adds, or the histograms' own."""
ALERTS = yaml.safe_load((DEPLOY / "prometheus/alerts.yml").read_text())["groups"][0]["rules"]
BOARD = json.loads((DEPLOY / "grafana/dashboards/privet.json").read_text())
PANELS = [target["expr"] for panel in BOARD["panels"] for target in panel["targets"]]


@pytest.fixture
async def servers(tmp_path: Path) -> AsyncIterator[tuple[httpx.AsyncClient, httpx.AsyncClient]]:
    """A curator and a relay, as they start; the database has one open task."""
    settings = Settings.model_validate({"admin_token": TOKEN, "certificate_of": "127.0.0.1:1"})
    store = open_store(f"sqlite:///{tmp_path}/privet.db")
    open_task(store, MADE, 0.0)
    app = create_curator(settings, store=store)
    app.state.curator.metrics.held("elsewhere", MADE.id, (0, 0, 0, 0))
    at_curator = httpx.ASGITransport(app)
    upstream = httpx.AsyncClient(transport=at_curator, base_url="https://curator.example")
    client = CountingClient(upstream)
    async with app.api.router.lifespan_context(app.api), upstream, client:
        with Spool(tmp_path / "spool") as spool:
            relay = Relay(client, "https://curator.example", spool, BatchSizes(3))
            metrics = RelayMetrics(spool, client)
            at_relay = httpx.ASGITransport(create_relay(relay, metrics, TOKEN))
            async with httpx.AsyncClient(transport=at_relay, base_url="http://relay") as front:
                yield upstream, front
            relay.writer.stop()


MADE = task()


async def samples_of(servers: tuple[httpx.AsyncClient, httpx.AsyncClient]) -> dict[str, list[Any]]:
    """The samples of both servers' /metrics, by name."""
    samples: dict[str, list[Any]] = {}
    texts = []
    for http in servers:
        answer = await http.get("/metrics", headers={"Authorization": f"Bearer {TOKEN}"})
        assert answer.status_code == 200
        texts.append(answer.text)
    for text in texts:
        for family in text_string_to_metric_families(text):
            for sample in family.samples:
                samples.setdefault(sample.name, []).append(sample)
    return samples


def selected(samples: list[Any], matchers: str | None) -> list[Any]:
    """Those that a selector asks for."""
    tests: dict[str, Any] = {
        "=": lambda value, wanted: value == wanted,
        "!=": lambda value, wanted: value != wanted,
        "=~": lambda value, wanted: re.fullmatch(wanted, value) is not None,
        "!~": lambda value, wanted: re.fullmatch(wanted, value) is None,
    }
    asked = MATCHER.findall(matchers or "")
    return [
        sample
        for sample in samples
        if all(tests[how](sample.labels.get(name, ""), value) for name, how, value in asked)
    ]


async def test_what_can_go_wrong_is_counted_from_the_start(servers: Any) -> None:
    """At 0, with every label: else the first burst makes a series, whose rate is 0.

    That holds for what alerts ask for, and for whatever can go wrong with a report.
    """
    there = await samples_of(servers)
    asked = {
        (name, matchers)
        for alert in ALERTS
        for name, matchers in SELECTOR.findall(alert["expr"])
        if name.endswith("_total") and name != "privet_task_reports_total"  # a share of a task's
    }
    assert len(asked) >= 5
    for name, matchers in sorted(asked):
        samples = selected(there[name], matchers)
        assert samples, (name, matchers)
        if "answered" not in matchers and "2.." not in matchers:
            assert {sample.value for sample in samples} == {0.0}, (name, matchers)
    names = {sample.labels["outcome"] for sample in there["privet_reports_total"]}
    assert {"counted", "replayed", "storage-failed", "overloaded", "internal"} <= names
    routes = {
        (sample.labels["route"], sample.labels["method"])
        for sample in there["privet_http_requests_total"]
        if sample.labels["status"] == "500"
    }
    of_task = "/v1/tasks/{task_id}"
    assert routes >= {
        *(("/", "GET"), ("/v1/tasks", "POST")),
        *((f"{of_task}/{call}", "POST") for call in ("predict", "reports")),
    }
    assert there.keys() >= {"privet_fits_total", "privet_relay_curator_calls_total"}


async def test_alerts_and_panels_ask_for_what_servers_tell(servers: Any) -> None:
    """Names, labels and their values, once a report was taken by each."""
    at_curator, at_relay = servers
    for http in (at_curator, at_relay):
        body, headers = report(MADE).pack(), {"Content-Type": REPORT_MEDIA_TYPE}
        answer = await http.post(f"/v1/tasks/{MADE.id}/reports", content=body, headers=headers)
        assert answer.is_success
    there = await samples_of(servers)
    async with asyncio.timeout(60):  # the curator looks at its database once it has started
        while "privet_open_task_reports" not in there:
            await asyncio.sleep(0.01)
            there = await samples_of(servers)
    for expression in [*(alert["expr"] for alert in ALERTS), *PANELS]:
        labels: set[str] = set()
        for name, matchers in SELECTOR.findall(expression):
            assert name in there, expression
            assert selected(there[name], matchers), (name, matchers)
            labels |= there[name][0].labels.keys()
        grouped = {word.strip() for names in BY.findall(expression) for word in names.split(",")}
        assert grouped - OF_PROMETHEUS <= labels, expression


SAFE = "Safe to delete"
LINES = ("Means", "Look", "Run", SAFE, "Otherwise")


def test_each_alert_has_its_lines_and_is_tried() -> None:
    """The page says of each, and of no other, what it means, where to look, what to run, what may
    go, if anything; promtool tries when it sounds, and when it does not."""
    page = (DEPLOY.parent / "docs/alerts.md").read_text(encoding="utf-8")
    sections = dict(re.findall(r"(?ms)^## (\w+)\n\n(.*?)(?=\n\n## |\Z)", page))
    del sections["Metrics"], sections["Incidents"]
    assert "**Where no line says what is safe to delete, nothing is.**" in page
    assert list(sections) == [alert["alert"] for alert in ALERTS]
    for alert in ALERTS:
        lines = sections[alert["alert"]].splitlines()
        labels = [re.match(r"- \*\*([\w ]+)\*\*", line) for line in lines]
        found = [str(label and label[1]) for label in labels]
        assert found in ([*LINES], [line for line in LINES if line != SAFE]), alert["alert"]
        assert lines[0].startswith(f"- **Means** ({alert['labels']['severity']}): ")
        assert all(len(line.partition(": ")[2]) > 6 for line in lines), alert["alert"]
    tried = yaml.safe_load((DEPLOY / "prometheus/alerts_test.yml").read_text())["tests"]
    for sounds in (True, False):
        names = {
            each["alertname"]
            for group in tried
            for each in group["alert_rule_test"]
            if bool(each.get("exp_alerts")) is sounds
        }
        assert names == sections.keys()


def test_commands_of_the_alerts_page_exist() -> None:
    """Scripts of the stack, its services, and metrics that somebody is sent to look at."""
    page = (DEPLOY.parent / "docs/alerts.md").read_text(encoding="utf-8")
    runbook, _, metrics = page.partition("\n## Metrics\n")
    services = yaml.safe_load((DEPLOY.parent / "docker-compose.yml").read_text())["services"]
    for command in re.findall(r"`([^`]+)`", runbook):
        words = command.split()
        if words[0] == "sh":
            assert (DEPLOY.parent / words[1]).exists(), command
            assert len(words) == 2 or words[2] in (DEPLOY / "rotate.sh").read_text(), command
        if command.startswith(("docker compose logs", "docker compose up", "docker compose ps")):
            named = [word for word in words[3:] if word.isalpha() and not word.isdigit()]
            named = named[: named.index("grep")] if "grep" in named else named
            assert set(named) <= set(services), command
        if re.fullmatch(r"privet_\w+", command):
            assert f"| `{command}` |" in metrics, command
