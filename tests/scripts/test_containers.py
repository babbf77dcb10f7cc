import json
import os
import subprocess
import sys
import threading
from pathlib import Path

import httpx
import pytest
from typer.testing import CliRunner

from privet.protocol.report import Report
from scripts import containers
from tests.fake_curator import FakeCurator, serving
from tests.protocol.examples import RECORD, make_task

HOLDERS, FIRST = 60, 5


class SlowCurator(FakeCurator):
    """Counts the first reports at once, and later ones when it is told to go on."""

    def __init__(self) -> None:
        super().__init__(make_task())
        self.full, self.goes_on = threading.Event(), threading.Event()
        self.turn = threading.Lock()

    def __call__(self, request: httpx.Request) -> httpx.Response:
        if request.method == "GET":
            return super().__call__(request)
        with self.turn:
            if len(self.counted) >= FIRST:
                self.full.set()
                self.goes_on.wait()
            return super().__call__(request)


def test_an_agent_goes_on_where_it_was_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every holder's one answer counts once, in the bytes it was first sent in."""
    monkeypatch.setattr(containers, "FOLDER", tmp_path)

    def said_by(agent: str) -> str:
        done = CliRunner().invoke(containers.app, ["holders"], env={"AGENT": agent})
        assert done.exit_code == 0, done.output
        return done.output

    (tmp_path / "000.todo").write_text(json.dumps([RECORD] * HOLDERS), encoding="utf-8")
    curator = SlowCurator()
    with serving(curator):
        (tmp_path / "task.url").write_text(curator.url, encoding="utf-8")
        command = [sys.executable, "-m", "scripts.containers", "holders"]
        environment = os.environ | {"SHARDS": str(tmp_path), "AGENT": "first"}
        with subprocess.Popen(command, env=environment) as process:
            assert curator.full.wait(120)
            process.kill()
        before = dict(curator.counted)
        assert len(before) == FIRST
        curator.goes_on.set()
        assert [path.name for path in tmp_path.glob("*.taken")] == ["000.first.taken"]
        assert said_by("second") == ""
        assert said_by("first") == f"Shard 000: {HOLDERS} holders have answered.\n"
    assert len(curator.counted) == HOLDERS
    assert before.items() <= curator.counted.items()
    assert {Report.unpack(post).id for post in curator.posts} == set(curator.counted)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["000.done", "task.url"]
