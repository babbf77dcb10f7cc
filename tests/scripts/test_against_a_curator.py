"""The load test and the crowd of the demonstration, against a curator over HTTP."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
import typer
from typer.testing import CliRunner

from privet import CuratorClient
from scripts import fair_survey, load_test
from scripts.crowd import Crowd
from scripts.servers import RunningCurator, running_curator

CELLS = "--cells", "16"
THROUGH_RELAY = pytest.param("--through-relay", marks=pytest.mark.slow)


@pytest.fixture(scope="module")
def curator(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningCurator]:
    with running_curator(tmp_path_factory.mktemp("curator")) as running:
        yield running


@pytest.fixture
def load(
    curator: RunningCurator, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[..., dict[str, Any]]]:
    """Runs the load test and gives what it found."""
    monkeypatch.setenv("PRIVET_TOKEN", curator.token)
    app = typer.Typer()
    app.command()(load_test.main)

    def run(*options: str) -> dict[str, Any]:
        common = (*CELLS, "--curator", curator.url, "--out", str(tmp_path))
        result = CliRunner().invoke(app, [*common, *options])
        assert result.exit_code == 0, result.output
        found: dict[str, Any] = json.loads((tmp_path / "load.json").read_text())
        return found

    handler = signal.getsignal(signal.SIGTERM)
    yield run
    signal.signal(signal.SIGTERM, handler)


@pytest.mark.parametrize("through", ["", THROUGH_RELAY], ids=["direct", "through_relay"])
@pytest.mark.parametrize("mode", ["single", "relay"])
def test_load_test_accounts_for_every_report(
    mode: str, through: str, load: Callable[..., dict[str, Any]]
) -> None:
    """A curator that runs already counts every report once, whatever else is mixed in."""
    mischief = ["--duplicates", "20", "--malformed", "10", "--slow", "0.5", "--retries", "4"]
    options = ["--holders", "400", "--mode", mode, "--batch", "150", *mischief]
    found = load(*options, *([through] if through else []))
    assert (found["lost"], found["doubled"], found["checksum_matches"]) == (0, 0, True)
    assert found["sent"] == found["acknowledged"] == found["counted"] == 400
    assert set(found["cpu_seconds"]) == {"sender"} | ({"relay"} if through else set())
    answers = found["answers"]
    if mode == "single":
        assert sum(answers.get(f"report {status}", 0) for status in (200, 201, 202)) == 400
        assert sum(answers.get(f"duplicate {status}", 0) for status in (200, 201, 202)) > 40
        assert answers["malformed 400"] > 16
        assert found["reconnects"] > 4
    else:
        assert sum(answers.values()) == 3


@pytest.mark.slow
def test_holders_of_the_survey_are_all_counted(curator: RunningCurator) -> None:
    """Holders that only touch HTTP fill the curator's sums, and its model answers."""
    population = fair_survey.load()
    admin = CuratorClient(curator.url, curator.token)
    settings = fair_survey.settings(2.0, 40, grower="cart")
    task = admin.create(fair_survey.as_csv(population.public), **settings)
    task_url, progress = admin.task_url(task), list[int]()
    with Crowd() as crowd:
        sent, _ = crowd.answer(task_url, population.holders[:40], progress.append)
    assert sent == 40 * task["report_bytes"]
    assert progress == sorted(progress)
    assert progress[-1] == admin.status(task_url)["reports"] == 40
    admin.fit(task_url, "weighted")
    labels = admin.predict(task_url, population.test)["label"]
    assert len(labels) == len(population.test)
    assert set(labels) <= {"yes", "no"}


def interrupted(
    number: int, folder: Path, begun: Callable[[], bool], *options: str
) -> tuple[int, str]:
    """Exit status and words of a load test that is interrupted once it has ``begun``.

    It runs in a group of its own, as a terminal would start it; no process and no file is left.
    """
    command = [sys.executable, "-m", "scripts.load_test", *CELLS, *options, "--out", str(folder)]
    with subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
        env=os.environ | {"TMPDIR": str(folder)},
        text=True,
    ) as process:
        try:
            while not begun():
                assert process.poll() is None, process.communicate()[0]
                time.sleep(0.02)
            children = psutil.Process(process.pid).children(recursive=True)
            os.killpg(process.pid, number)
            said, _ = process.communicate(timeout=120)
        except BaseException:
            os.killpg(process.pid, signal.SIGKILL)
            raise
    assert children
    assert psutil.wait_procs(children, timeout=30)[1] == []
    assert not list(folder.glob("privet-load-*"))
    assert "Traceback" not in said
    return process.returncode, said


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_leaves_a_clean_summary(number: int, tmp_path: Path) -> None:
    """What was sent to the load test's own curator is checked and summed up."""

    def reports_are_counted() -> bool:
        logs = tmp_path.glob("privet-load-*/curator/privet.db-wal")
        return any(log.stat().st_size > 2**19 for log in logs)

    status, said = interrupted(number, tmp_path, reports_are_counted, "--holders", "20000")
    assert status == load_test.INTERRUPTED, said
    found = json.loads((tmp_path / "load.json").read_text())
    assert found["interrupted"]
    assert 0 < found["sent"] < 20_000
    assert found["acknowledged"] == found["counted"] == found["sent"]
    assert (found["lost"], found["doubled"], found["checksum_matches"]) == (0, 0, True)
    assert set(found["cpu_seconds"]) == {"curator", "sender"}


@pytest.mark.slow
def test_an_interrupt_before_anything_was_sent(tmp_path: Path) -> None:
    """While holders privatize there is nothing to sum up; everything ends all the same."""
    spooled = lambda: any(tmp_path.glob("privet-load-*/spool/*"))  # noqa: E731
    small_files = "--holders", "200000", "--mode", "relay", "--batch", "2000"
    status, said = interrupted(signal.SIGINT, tmp_path, spooled, *small_files)
    assert status == load_test.INTERRUPTED, said
    assert "Interrupted before any report was sent" in said
