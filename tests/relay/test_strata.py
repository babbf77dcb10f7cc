"""What a relay does where reports tell a stratum."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from privet.client import Holder, MemoryLedger
from privet.protocol.batch import Batch
from privet.protocol.task import Task
from privet.relay.batches import StoredReport
from privet.relay.outcomes import Account
from privet.relay.spool import Spool
from tests.fake_curator import FakeCurator
from tests.keeping import keeps
from tests.protocol.examples import RECORD, make_task
from tests.relay.test_relay import RELAY, relaying

ONE = (0,)
LEAST = 4


def report(number: int, cell: int) -> StoredReport:
    return StoredReport("t", ONE, bytes([number]) * 16, bytes([cell, number]))


def invited(number: int, cell: int) -> StoredReport:
    return replace(report(number, cell), invitation=bytes([number]) * 32)


def cells_of(batch: Batch) -> list[int]:
    return sorted(batch.payloads[:, 0].tolist())


@keeps(
    "threat-model: a report alone with its stratum waits",
    in_="relay/spool.py",
    instead_of="batch = batch.take(batch.group_sizes(stratum_bytes) > 1)",
    plant="pass",
)
def test_a_report_that_would_be_alone_with_its_cell_waits(spool: Spool) -> None:
    """And leaves once another one of its cell has come, in one batch with it."""
    spool.add([report(i, cell) for i, cell in enumerate([1, 1, 2, 2, 3])])
    assert spool.seal("t", ONE, LEAST, 5, stratum_bytes=1)
    (number,) = spool.sealed()
    assert cells_of(spool.batch(number)) == [1, 1, 2, 2]
    spool.settle(number, Account({"counted": 4}, {}), 1, group_size=2)
    assert not spool.seal("t", ONE, 1, 1, stratum_bytes=1)
    spool.add([report(i, 3) for i in (5, 6)])
    assert spool.seal("t", ONE, 1, 3, stratum_bytes=1)
    assert cells_of(spool.batch(*spool.sealed())) == [3, 3, 3]
    assert spool.tallies("t")["waiting"] == 3


@keeps(
    "threat-model: an invited report alone with its stratum is not asked about",
    in_="relay/spool.py",
    instead_of="together = batch.group_sizes(stratum_bytes) > 1",
    plant="together = batch.group_sizes(stratum_bytes) > 0",
)
def test_an_invited_report_that_would_be_alone_is_not_asked_about(spool: Spool) -> None:
    """It waits for another one of its cell, and keeps its invitation."""
    spool.add([invited(i, cell) for i, cell in enumerate([1, 1, 2, 2, 3])])
    assert not spool.draw("t", ONE, 5, 5, stratum_bytes=1)
    assert spool.draw("t", ONE, LEAST, 5, stratum_bytes=1)
    (number,) = spool.drawn()
    assert cells_of(spool.batch(number)) == [1, 1, 2, 2]
    assert [len(asked.digests) for asked in spool.admissions(number)] == [4]
    spool.add([invited(5, 3)])
    assert spool.draw("t", ONE, 2, 2, stratum_bytes=1)


def test_too_few_of_a_shared_stratum_do_not_go(spool: Spool) -> None:
    """``least`` counts those that may leave."""
    spool.add([report(i, cell) for i, cell in enumerate([1, 1, 1, 2])])
    assert not spool.seal("t", ONE, LEAST, LEAST, stratum_bytes=1)
    assert spool.seal("t", ONE, LEAST, LEAST)


@keeps(
    "threat-model: refused reports do not count towards the smallest batch",
    in_="relay/spool.py",
    instead_of="max(1, group_size - sum(map(len, account.refused.values())))",
    plant="group_size",
)
@pytest.mark.parametrize(("refused", "group_size"), [(0, 2), (1, 1), (3, 1)])
def test_the_fewest_of_a_cell_are_what_a_report_hides_among(
    spool: Spool, refused: int, group_size: int
) -> None:
    """Less all that were refused, which may have been of that cell."""
    spool.add([report(i, cell) for i, cell in enumerate([1, 1, 1, 2, 2])])
    assert spool.seal("t", ONE, LEAST, 5, stratum_bytes=1)
    (number,) = spool.sealed()
    gone = [bytes([i]) * 16 for i in range(refused)]
    account = Account({"counted": 5 - refused}, {"wrong-payload": gone} if gone else {})
    spool.settle(number, account, 1, group_size=2)
    assert spool.tallies("t")["smallest_batch"] == group_size


def disclosing_task() -> Task:
    task = make_task()
    disclosed = tuple(feature.name for feature in task.features)
    cells = task.tree_of(0).cells
    return task.model_copy(update={"disclosed": disclosed, "group_sizes": (100,) * cells})


def reports_of(task: Task, cells: Sequence[int]) -> list[StoredReport]:
    """A report of each of these strata."""
    width = task.mechanisms[0].report_bytes
    return [
        StoredReport(task.id, ONE, bytes([i]) * 16, bytes([cell]).ljust(width, b"x"))
        for i, cell in enumerate(cells)
    ]


async def test_holders_of_a_task_with_strata_through_a_relay(tmp_path: Path) -> None:
    """All that share their stratum with another are batched, and the status says how few there
    were."""
    task, curator = disclosing_task(), FakeCurator(disclosing_task())
    url = f"{RELAY}/v1/tasks/{task.id}"
    async with relaying(curator, tmp_path / "spool") as (to, forwarder, http):
        for i in range(4):
            holder = Holder(to, MemoryLedger(), subject=str(i), wait=False)
            assert (await holder.answer(url, RECORD)).state == "held"
        await forwarder.forward()
        assert list(map(len, curator.batches)) == [4]
        status = (await asyncio.wait_for(http.get(f"{url}/status"), 5)).json()
        assert (status["waiting"], status["smallest_batch"]) == (0, 0)


@keeps(
    "threat-model: a relay states the smallest group of a stratum",
    in_="relay/forwarding.py",
    instead_of="int(batch.group_sizes(stratum_bytes).min()) if stratum_bytes else None",
    plant="None",
)
async def test_what_is_stated_rests_on_the_fewest_of_a_cell(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not on the whole batch, among which a report of that cell does not hide."""
    monkeypatch.setattr("privet.relay.status.STEP", 1)
    task = disclosing_task()
    url, curator = f"{RELAY}/v1/tasks/{task.id}", FakeCurator(task)
    async with relaying(curator, tmp_path / "spool", LEAST) as (_, forwarder, http):
        forwarder.spool.add(reports_of(task, [1] * LEAST + [2] * 3 * LEAST))
        await forwarder.forward()
        assert list(map(len, curator.batches)) == [4 * LEAST]
        status = (await asyncio.wait_for(http.get(f"{url}/status"), 5)).json()
        assert (status["counted"], status["smallest_batch"]) == (4 * LEAST, LEAST)


async def test_lone_reports_of_a_first_draw_keep_no_batch_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A batch of the least size would lose some, so a larger one goes, in which they share their
    stratum."""
    task = disclosing_task()
    monkeypatch.setattr("privet.relay.forwarding.MAX_BATCH", LEAST)
    curator = FakeCurator(task)
    async with relaying(curator, tmp_path / "spool", LEAST) as (_, forwarder, _):
        cells = [1, 1, 1, 2, 2, 3, 3, 3]
        forwarder.spool.add(reports_of(task, cells))
        await forwarder.forward()
        assert list(map(len, curator.batches)) == [len(cells)]
