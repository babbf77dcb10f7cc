"""A holder pins the key of one curator, and answers nobody else's tasks."""

from pathlib import Path

import pytest

from privet.client import BlockingHolder, MemoryLedger, TaskRefused
from tests.curator import samples
from tests.end_to_end.running_curator import RunningCurator

RECORD = {"age": 50, "hours": 40, "job": "smith", "member": True, "label": 1}


def published(curator: RunningCurator) -> str:
    """The address of the survey at a curator."""
    task_id = curator.create(samples.survey(), label="label", epsilon=1, depth=3)
    return f"{curator.url}/v1/tasks/{task_id}"


def test_the_pin_outlives_a_restart_and_tells_curators_apart(tmp_path: Path) -> None:
    """The same task, byte for byte, is answered at the pinned curator only."""
    folders = [tmp_path / name for name in ("ours", "theirs")]
    for folder in folders:
        folder.mkdir()
    with RunningCurator(folders[0]) as ours, RunningCurator(folders[1]) as theirs:
        key = ours.get("/v1/key")["key"]
        swapped = published(theirs)
        task_id = published(ours).rsplit("/", 1)[1]
        assert swapped.endswith(task_id)
        ours.restart()
        with (
            BlockingHolder(MemoryLedger(), curator_key=key) as holder,
            pytest.raises(TaskRefused, match="not signed with"),
        ):
            holder.answer(swapped, RECORD)
        with BlockingHolder(MemoryLedger(), curator_key=key) as holder:
            assert holder.answer(f"{ours.url}/v1/tasks/{task_id}", RECORD).counted
        assert theirs.status(task_id)["reports"] == 0
        assert ours.status(task_id)["reports"] == 1
