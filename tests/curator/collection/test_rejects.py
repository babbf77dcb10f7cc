from collections import Counter
from collections.abc import Mapping

import pytest

from privet.curator.collection.rejects import Rejects
from privet.protocol.errors import StorageFailed


async def test_a_task_that_cannot_be_written_leaves_the_others_alone(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """A failing write is logged, and the rejects of other tasks are still counted."""
    written: Counter[tuple[str, str]] = Counter()

    def write(task_id: str, reasons: Mapping[str, int]) -> None:
        if task_id == "broken":
            raise StorageFailed("the disk is full")
        for reason, count in reasons.items():
            written[task_id, reason] += count

    rejects = Rejects(write)
    rejects.add("broken", "malformed-report")
    rejects.add("sound", "malformed-report")
    rejects.add("sound", "wrong-payload", 3)
    rejects.close()
    assert written == {("sound", "malformed-report"): 1, ("sound", "wrong-payload"): 3}
    assert "the disk is full" in caplog.text
