"""Metrics: names and labels that stay few, and values that add up over processes."""

import re
from pathlib import Path

import pytest

from privet.curator.metrics import Metrics
from privet.http_server.metrics import FOLDER, MAX_TASKS
from tests.curator.http.checks import values
from tests.curator.http.conftest import Http

OPERATIONS = Path(__file__).parents[3] / "docs" / "operations.md"


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
