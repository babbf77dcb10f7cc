"""Metrics: names and labels that stay few, and values that add up over processes."""

import re
from collections import Counter
from pathlib import Path

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families

from privet.curator.datastore import open_store
from privet.curator.metrics import Metrics
from privet.http_server.metrics import FOLDER, MAX_TASKS
from privet.protocol.report import REPORT_MEDIA_TYPE
from scripts.servers import running_curator
from tests.curator.datastore.made import open_task, report, task
from tests.curator.http.conftest import Http

OPERATIONS = Path(__file__).parents[3] / "docs" / "operations.md"


def values(text: str, name: str) -> dict[tuple[str, ...], float]:
    """The samples of a name by the values of their labels."""
    return {
        tuple(sample.labels.values()): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
        if sample.name == name
    }


def test_tasks_beyond_a_number_share_a_label() -> None:
    """So that no number of tasks makes the scrape grow without end."""
    metrics = Metrics()
    for number in range(MAX_TASKS + 50):
        metrics.reported("counted", f"{number:064d}"[::-1])
    found = values(metrics.text().decode(), "privet_reports_total")
    assert len(found) == MAX_TASKS + 1
    assert found["counted", "other"] == 50
    assert sum(found.values()) == MAX_TASKS + 50


async def test_calls_are_counted_by_the_routes_that_there_are(http: Http) -> None:
    """An address or method that somebody makes up is no label of its own."""
    await http.get("/healthz")
    await http.get(f"/v1/tasks/{'0' * 64}/status")
    await http.get("/what-is-this")
    await http.request("BREW", "/coffee")
    await http.post(f"/v1/tasks/{'1' * 64}/reports", content=b"")
    await http.post(f"/v1/tasks/{'1' * 64}/reports/batch", content=b"")
    text = (await http.get("/metrics", headers=http.admin)).text
    assert values(text, "privet_http_requests_total") == {
        ("GET", "/healthz", "200"): 1,
        ("GET", "/v1/tasks/{task_id}/status", "404"): 1,
        ("GET", "other", "404"): 1,
        ("other", "other", "404"): 1,
        ("POST", "/v1/tasks/{task_id}/reports/batch", "401"): 1,
    }
    assert values(text, "privet_reports_total") == {
        ("task-not-found", ""): 1,
        ("not-authorized", ""): 1,
    }
    assert values(text, "privet_http_seconds_count")["/healthz",] == 1


def test_workers_add_up(tmp_path: Path) -> None:
    """Whichever process is asked answers for all of them, a killed one's counts included."""
    store = open_store(f"sqlite:///{tmp_path}/privet.db")
    made = task()
    open_task(store, made, 0.0)
    store.close()
    headers = {"content-type": REPORT_MEDIA_TYPE}
    pids = Counter[str]()
    with running_curator(tmp_path, workers="2", open_metrics="true") as curator:
        path, sent = f"{curator.url}/v1/tasks/{made.id}/reports", 0
        while len(pids) < 2 or sent < 40:
            httpx.post(path, content=report(made).pack(), headers=headers, timeout=60)
            sent += 1
            text = httpx.get(f"{curator.url}/metrics", timeout=60).text
            assert values(text, "privet_reports_total")["counted", made.id[:12]] == sent
            pids.update(pid for (pid,) in values(text, "privet_process_cpu_seconds"))


def test_the_gauges_of_a_dead_process_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its counters stay."""
    monkeypatch.setenv(FOLDER, str(tmp_path))
    gone = 2**22 + 1  # beyond the largest id of a process
    for kind in ("counter", "gauge_livesum"):
        (tmp_path / f"{kind}_{gone}.db").write_bytes(bytes(2**20))
    Metrics().text()
    assert [file.name for file in tmp_path.iterdir()] == [f"counter_{gone}.db"]


def test_the_handbook_names_every_metric() -> None:
    """And no other."""
    told = set(re.findall(r"`(privet_\w+)", OPERATIONS.read_text(encoding="utf-8")))
    metrics = Metrics()
    families = {family.name: family.type for family in metrics.registry.collect()}
    there = {name + ("_total" if kind == "counter" else "") for name, kind in families.items()}
    assert {name for name in told if not name.startswith("privet_relay_")} == there
