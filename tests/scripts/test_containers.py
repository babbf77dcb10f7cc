import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from privet.protocol.report import Report
from tests.client.stub_curator import StubCurator, serving
from tests.protocol.examples import RECORD, make_task

HOLDERS = 60


@pytest.fixture
def curator() -> Iterator[StubCurator]:
    with serving(StubCurator(make_task())) as stub:
        yield stub


def agent(folder: Path, name: str) -> "subprocess.Popen[str]":
    """`holders` as a process of its own."""
    command = [sys.executable, "-m", "scripts.containers", "holders"]
    environment = os.environ | {"SHARDS": str(folder), "AGENT": name}
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)


def deal(curator: StubCurator, folder: Path) -> None:
    (folder / "000.todo").write_text(json.dumps([RECORD] * HOLDERS), encoding="utf-8")
    (folder / "task.url").write_text(curator.url, encoding="utf-8")


def test_an_agent_goes_on_where_it_was_killed(curator: StubCurator, tmp_path: Path) -> None:
    """Every holder's one answer counts once, in the bytes it was first sent in."""
    deal(curator, tmp_path)
    with agent(tmp_path, "first") as process:
        while len(curator.counted) < 5:
            assert process.poll() is None
            time.sleep(0.001)
        process.kill()
    before = dict(curator.counted)
    assert len(before) < HOLDERS
    assert [path.name for path in tmp_path.glob("*.taken")] == ["000.first.taken"]
    with agent(tmp_path, "second") as process:
        assert process.communicate(timeout=60)[0] == ""
    with agent(tmp_path, "first") as process:
        said = process.communicate(timeout=60)[0]
        assert process.returncode == 0
    assert said == f"Shard 000: {HOLDERS} holders have answered.\n"
    assert len(curator.counted) == HOLDERS
    assert before.items() <= curator.counted.items()
    assert {Report.unpack(post).id for post in curator.posts} == set(curator.counted)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["000.done", "task.url"]
