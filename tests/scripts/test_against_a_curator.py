"""The load test and the pool of holders of the demonstration, against a curator over HTTP."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest
import typer
from typer.testing import CliRunner

from privet import CuratorClient
from scripts import fair_survey, load_test
from scripts.holder_pool import HolderPool
from tests.end_to_end.running_curator import RunningCurator

CELLS = "--cells", "16"


@pytest.fixture
def load(
    served_curator: RunningCurator, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[..., dict[str, str]]]:
    """Runs the load test and gives what it found."""
    monkeypatch.setenv("PRIVET_TOKEN", served_curator.token)
    app = typer.Typer()
    app.command()(load_test.main)

    def run(*options: str) -> dict[str, str]:
        common = (*CELLS, "--curator", served_curator.url, "--out", str(tmp_path))
        result = CliRunner().invoke(app, [*common, *options])
        assert result.exit_code == 0, result.output
        summary: dict[str, str] = json.loads((tmp_path / "load.json").read_text())
        return summary

    handler = signal.getsignal(signal.SIGTERM)
    yield run
    signal.signal(signal.SIGTERM, handler)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("mode", "through"), [("single", ""), ("relay", ""), ("single", "--through-relay")]
)
def test_load_test_accounts_for_every_report(
    mode: str, through: str, load: Callable[..., dict[str, str]]
) -> None:
    """A curator that runs already counts every report once."""
    options = ["--holders", "120", "--mode", mode, "--batch", "50"]
    summary = load(*options, *([through] if through else []))
    assert summary["sent, acknowledged, counted"] == "120, 120, 120"
    assert summary["checksum over the ids sent"] == "matches"
    assert ("CPU per report, relay" in summary) == bool(through)
    assert summary["answers"].endswith(": 120" if mode == "single" else ": 3")


@pytest.mark.slow
def test_holders_of_the_survey_are_all_counted(served_curator: RunningCurator) -> None:
    """Holders that only touch HTTP fill the curator's sums, and its model answers."""
    population = fair_survey.load()
    admin = CuratorClient(served_curator.url, served_curator.token)
    settings = fair_survey.settings(2.0, 40, grower="cart")
    task = admin.create(fair_survey.as_csv(population.public), **settings)
    task_url = admin.task_url(task)
    with HolderPool() as pool:
        sent, _ = pool.answer(task_url, population.holders[:40], lambda: None)
    assert sent == 40 * task["report_bytes"]
    assert admin.status(task_url)["reports"] == 40
    admin.fit(task_url, "weighted")
    labels = admin.predict(task_url, population.test)["label"]
    assert len(labels) == len(population.test)
    assert set(labels) <= {"yes", "no"}


def interrupt(number: int, folder: Path, begun: Callable[[], bool], *options: str) -> None:
    """Interrupt a load test once it has ``begun``, in a group of its own, as in a terminal."""
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
    assert process.returncode


@pytest.mark.slow
def test_an_interrupt_leaves_nothing_behind(tmp_path: Path) -> None:
    """While holders privatize and while reports are sent: no process, no file, no traceback."""

    def is_privatizing() -> bool:
        return any(tmp_path.glob("privet-load-*/spool/*"))

    def is_sending() -> bool:
        logs = tmp_path.glob("privet-load-*/curator/privet.db-wal")
        return any(log.stat().st_size > 2**19 for log in logs)

    small_files = "--holders", "200000", "--mode", "relay", "--batch", "2000"
    interrupt(signal.SIGINT, tmp_path, is_privatizing, *small_files)
    interrupt(signal.SIGTERM, tmp_path, is_sending, "--holders", "20000")
