"""Tasks of versions 2 and 3 go on: answered by today's holders, through a relay or past it."""

from pathlib import Path

import pytest

from privet.client import Holder, MemoryLedger, ReportState
from tests.curator.datastore.made import task
from tests.relay.real_curator import CURATOR, RECORD, Curator, relaying

pytestmark = pytest.mark.usefixtures("always_looking")
LEAST = 4


@pytest.mark.parametrize("version", [2, 3])
async def test_they_are_answered_and_counted(tmp_path: Path, version: int) -> None:
    """With the bytes that programs of that time read: single reports, admissions and batches."""
    curator = Curator(task=task(invited=True, version=version))
    codes = curator.invite(LEAST + 1)
    async with relaying(curator, tmp_path / "spool", LEAST) as relay:
        held = await relay.answers(codes[:LEAST])
        await relay.forwarder.forward()
        assert {each.state for each in held} == {ReportState.HELD}
        assert curator.counted == LEAST
        direct = Holder(curator.direct, MemoryLedger(), "direct", clock=curator.clock)
        url = f"{CURATOR}/v1/tasks/{curator.task.id}"
        counted = await direct.answer(url, RECORD, invitation=codes[LEAST])
        assert counted.state is ReportState.COUNTED
        assert curator.counted == LEAST + 1
    curator.close()
