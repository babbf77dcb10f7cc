"""Metrics: names and labels that stay few, and values that add up over processes."""

import os
import re
from pathlib import Path

import pytest

from privet.curator.metrics import Metrics
from privet.http_server.metrics import FOLDER, ID_DIGITS, MAX_TASKS
from privet.protocol.report import make_report
from tests.curator import samples
from tests.curator.http.checks import values
from tests.curator.http.conftest import PERSON, Http
from tests.keeping import keeps

PAGE = Path(__file__).parents[3] / "docs" / "alerts.md"


def test_tasks_beyond_a_number_share_a_label() -> None:
    """So that no number of tasks makes the scrape grow without end."""
    metrics = Metrics()
    for number in range(MAX_TASKS + 50):
        metrics.reported("counted", f"{number:064d}"[::-1])
    text = metrics.text().decode()
    found = values(text, "privet_task_reports_total")
    assert len(found) == 3 * (MAX_TASKS + 1)
    assert found["counted", "other"] == 50
    assert sum(found.values()) == MAX_TASKS + 50
    assert values(text, "privet_reports_total")["counted",] == MAX_TASKS + 50


@keeps(
    "threat-model: metrics show 12 digits of a task's id",
    in_="http_server/metrics.py",
    instead_of="task_id[:ID_DIGITS]",
    plant="task_id",
)
async def test_metrics_name_nobody(http: Http) -> None:
    """Counts are exact; neither an address, a report's id nor a whole task's is in a label."""
    task_id = await http.task()
    task = await http.published(task_id)
    reports = [make_report(task, PERSON, os.urandom) for _ in range(3)]
    for sent in reports:
        await http.post_report(task, sent)
    text = (await http.get("/metrics", headers=http.admin)).text
    assert values(text, "privet_task_reports_total")["counted", task_id[:ID_DIGITS]] == 3
    assert task_id[: ID_DIGITS + 1] not in text
    for sent in reports:
        assert sent.id.hex() not in text
    labels = set(re.findall(r'[{,](\w+)="', text))
    assert labels <= {"estimator", "le", "method", "outcome", "process", "route", "status", "task"}
    assert "127.0.0.1" not in text


async def test_calls_are_counted_by_the_routes_that_there_are(http: Http) -> None:
    """An address or method that somebody makes up is no label of its own."""
    await http.get("/healthz")
    await http.get(f"/v1/tasks/{'0' * 64}/status")
    await http.get("/what-is-this")
    await http.request("BREW", "/coffee")
    await http.post(f"/v1/tasks/{'1' * 64}/reports", content=b"")
    await http.post(f"/v1/tasks/{'1' * 64}/reports/batch", content=b"")
    text = (await http.get("/metrics", headers=http.admin)).text
    assert counted(text, "privet_http_requests_total") == {
        ("GET", "/healthz", "200"): 1,
        ("GET", "/v1/tasks/{task_id}/status", "404"): 1,
        ("GET", "other", "404"): 1,
        ("other", "other", "404"): 1,
        ("POST", "/v1/tasks/{task_id}/reports/batch", "401"): 1,
    }
    assert counted(text, "privet_reports_total") == {
        ("task-not-found",): 1,
        ("not-authorized",): 1,
    }
    assert counted(text, "privet_task_reports_total") == {("refused", ""): 2}
    assert values(text, "privet_http_seconds_count")["/healthz",] == 1


def counted(text: str, name: str) -> dict[tuple[str, ...], float]:
    """The samples of a counter that are above 0."""
    return {labels: value for labels, value in values(text, name).items() if value}


async def test_fits_are_counted_by_how_they_end(http: Http) -> None:
    """A fit without reports is refused, and one of public data alone is not."""
    task_id = await http.task()
    assert (await http.fit(task_id)).status_code == 409
    assert (await http.fit(task_id, **samples.PUBLIC_ALONE)).status_code == 201
    text = (await http.get("/metrics", headers=http.admin)).text
    assert counted(text, "privet_fits_total") == {("not-enough-reports",): 1, ("fitted",): 1}


def test_the_gauges_of_a_dead_process_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its counters stay."""
    monkeypatch.setenv(FOLDER, str(tmp_path))
    gone = 2**22 + 1  # beyond the largest id of a process
    for kind in ("counter", "gauge_livesum"):
        (tmp_path / f"{kind}_{gone}.db").write_bytes(bytes(2**20))
    Metrics().text()
    assert [file.name for file in tmp_path.iterdir()] == [f"counter_{gone}.db"]


def test_the_handbook_names_every_metric() -> None:
    """And no other, but those of relays, which have a registry of their own."""
    told = set(
        re.findall(r"`(privet_\w+)", PAGE.read_text(encoding="utf-8").split("\n## Metrics\n")[1])
    )
    metrics = Metrics(Path(), certified=True)
    families = {family.name: family.type for family in metrics.registry.collect()}
    there = {name + ("_total" if kind == "counter" else "") for name, kind in families.items()}
    assert {name for name in told if not name.startswith("privet_relay_")} == there


def test_open_tasks_are_told_by_each_of_several_processes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As the database has them: not added up over processes, and gone when a task is over."""
    monkeypatch.setenv(FOLDER, str(tmp_path))
    metrics = Metrics()
    for open_now in ({"a" * 64: 3, "b" * 64: 0}, {"b" * 64: 5}):
        metrics.collecting(open_now)
        told = values(metrics.text().decode(), "privet_open_task_reports")
        assert told == {(task[:12],): count for task, count in open_now.items()}
