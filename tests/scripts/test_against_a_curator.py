import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from privet import CuratorClient
from scripts import fair_survey
from scripts.crowd import Crowd
from scripts.servers import running_curator

pytestmark = pytest.mark.slow


def test_holders_of_the_survey_are_all_counted(tmp_path: Path) -> None:
    """Holders that only touch HTTP fill the curator's sums, and its model answers."""
    population = fair_survey.load()
    with running_curator(tmp_path) as curator:
        admin = CuratorClient(curator.url, curator.token)
        task = admin.create(fair_survey.as_csv(population.public), **fair_survey.settings(2.0, 40))
        task_url, progress = admin.task_url(task), list[int]()
        with Crowd() as crowd:
            sent, _ = crowd.answer(task_url, population.holders[:40], progress.append)
        assert sent == 40 * task["report_bytes"]
        assert progress == sorted(progress)
        assert progress[-1] == 40
        assert admin.status(task_url)["reports"] == 40
        admin.fit(task_url, "weighted")
        labels = admin.predict(task_url, population.test)["label"]
    assert len(labels) == len(population.test)
    assert set(labels) <= {"yes", "no"}


def run_load(*options: str, token: str = "") -> "subprocess.CompletedProcess[str]":
    """The load test as a process of its own."""
    command = [sys.executable, "-m", "scripts.load_test", "--cells", "16", *options]
    own = os.environ | {"PRIVET_TOKEN": token}
    return subprocess.run(
        command, capture_output=True, text=True, timeout=240, check=False, env=own
    )


def test_load_test_loads_a_curator_that_runs_already(tmp_path: Path) -> None:
    """It knows its reports from those of others, and cannot say what the curator took."""
    with running_curator(tmp_path / "curator") as curator:
        options = ("--holders", "500", "--curator", curator.url, "--out", str(tmp_path))
        result = run_load(*options, token=curator.token)
    assert result.returncode == 0, result.stdout + result.stderr
    found = json.loads((tmp_path / "load.json").read_text())
    assert (found["counted"], found["checksum_matches"]) == (500, True)
    assert set(found["cpu_seconds"]) == {"sender"}


@pytest.mark.parametrize("through", [[], ["--through-relay"]], ids=["direct", "through_relay"])
@pytest.mark.parametrize("mode", ["single", "relay"])
def test_load_test_accounts_for_every_report(mode: str, through: list[str], tmp_path: Path) -> None:
    """Whatever is mixed in, every holder's report is counted once."""
    options = ["--holders", "2500", "--mode", mode, *through, "--batch", "600"]
    mischief = ["--duplicates", "20", "--malformed", "10", "--slow", "0.5", "--retries", "4"]
    result = run_load(*options, *mischief, "--out", str(tmp_path))
    assert result.returncode == 0, result.stdout + result.stderr
    found = json.loads((tmp_path / "load.json").read_text())
    assert (found["lost"], found["doubled"], found["checksum_matches"]) == (0, 0, True)
    assert found["sent"] == found["acknowledged"] == found["counted"] == 2500
    assert set(found["cpu_seconds"]) == {"curator", "sender"} | ({"relay"} if through else set())
    if mode == "single":
        answers = found["answers"]
        assert sum(answers.get(f"report {status}", 0) for status in (200, 201, 202)) == 2500
        assert sum(answers.get(f"duplicate {status}", 0) for status in (200, 201, 202)) > 250
        assert answers["malformed 400"] > 100
        assert found["reconnects"] > 25


@contextmanager
def started(folder: Path) -> Iterator["subprocess.Popen[str]"]:
    """A load test of 200 000 holders in a group of its own, as a terminal would start it."""
    command = [sys.executable, "-m", "scripts.load_test", "--holders", "200000", "--cells", "16"]
    with subprocess.Popen(
        [*command, "--out", str(folder)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
        env=os.environ | {"TMPDIR": str(folder)},
        text=True,
    ) as process:
        try:
            yield process
        except BaseException:
            os.killpg(process.pid, signal.SIGKILL)
            raise


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_leaves_a_clean_summary(number: int, tmp_path: Path) -> None:
    """What was sent is checked and summed up; no traceback, and no process is left behind."""
    with started(tmp_path) as process:
        children = _wait_for_reports(process, tmp_path)
        os.killpg(process.pid, number)
        said, _ = process.communicate(timeout=120)
    assert process.returncode == 130, said
    assert "Traceback" not in said
    found = json.loads((tmp_path / "load.json").read_text())
    assert found["interrupted"]
    assert 0 < found["sent"] < 200_000
    assert found["acknowledged"] == found["counted"] == found["sent"]
    assert (found["lost"], found["doubled"], found["checksum_matches"]) == (0, 0, True)
    assert psutil.wait_procs(children, timeout=30)[1] == []
    assert not list(tmp_path.glob("privet-load-*"))


def test_an_interrupt_before_anything_was_sent(tmp_path: Path) -> None:
    """While holders privatize there is nothing to sum up; everything ends all the same."""
    with started(tmp_path) as process:
        while not list(tmp_path.glob("privet-load-*/spool/*")):
            assert process.poll() is None
            time.sleep(0.005)
        children = psutil.Process(process.pid).children(recursive=True)
        os.killpg(process.pid, signal.SIGINT)
        said, _ = process.communicate(timeout=120)
    assert process.returncode == 130, said
    assert "Interrupted before any report was sent" in said
    assert "Traceback" not in said
    assert psutil.wait_procs(children, timeout=30)[1] == []
    assert not list(tmp_path.glob("privet-load-*"))


def _wait_for_reports(process: "subprocess.Popen[str]", folder: Path) -> list[psutil.Process]:
    """Wait until the curator has counted some; every process that was started."""
    children: dict[int, psutil.Process] = {}
    while process.poll() is None:
        children |= {c.pid: c for c in psutil.Process(process.pid).children(recursive=True)}
        for database in folder.glob("privet-load-*/curator/privet.db-wal"):
            if database.stat().st_size > 4 * 2**20:
                return list(children.values())
        time.sleep(0.05)
    raise AssertionError(process.communicate()[0])
