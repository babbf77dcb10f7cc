"""What somebody who sees a holder's messages can tell from them: compared for pairs of records."""

import time
from typing import Any

import httpx
import pytest
from scipy.stats import mannwhitneyu

from privet.client import Holder, MemoryLedger, departure
from privet.client.departure import Departure
from privet.protocol.features import EncodedRecord, Numeric, encode_record
from privet.protocol.partition import LEAF, Partition, Tree
from privet.protocol.task import Question, Task
from tests.client.fakes import Network
from tests.fake_curator import FakeCurator
from tests.keeping import keeps
from tests.protocol.examples import left_leaves, make_task
from tests.stat_checks import ALPHA

DEEP = 255
TRIES = 30


def chain(questions: int) -> Task:
    """Questions about a chain of cells: the first is one split from the root, the last ``DEEP``."""
    return make_task(
        features=(Numeric(name="x", low=0.0, high=1.0),),
        partitions=(Tree.of(left_leaves(DEEP)),),
        questions=(Question(partition=0, mechanism="grr", epsilon=0.001),) * questions,
    )


TASK = chain(64)
NEAR, FAR = {"x": 0.0, "answer": "no"}, {"x": 1.0, "answer": "yes"}
MISFIT = {"x": "unknown"}


async def seconds_to_report(record: Any, *, wait: bool) -> float:
    """From the last call before the report is drawn to the report, as the network sees it."""
    seen: list[float] = []

    def reply(request: httpx.Request) -> httpx.Response:
        seen.append(time.perf_counter())
        return FakeCurator(TASK)(request)

    url = f"https://curator.example/v1/tasks/{TASK.id}"
    await Holder(Network([reply]).client(), MemoryLedger(), wait=wait).answer(url, record)
    _task, status, report = seen
    return report - status


async def p_value(one: Any, other: Any, *, wait: bool, tries: int = TRIES) -> float:
    """Of the hypothesis that two records take the same time, by Mann and Whitney's test."""
    times = [
        (await seconds_to_report(one, wait=wait), await seconds_to_report(other, wait=wait))
        for _ in range(tries)
    ]
    return float(mannwhitneyu(*zip(*times, strict=True)).pvalue)


@pytest.mark.slow
@pytest.mark.parametrize("other", [FAR, MISFIT], ids=["far", "misfit"])
async def test_the_time_of_a_report_does_not_tell_the_record(
    other: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Near the root, far from it, or a misfit: the same times (false alarm: one in a million)."""
    monkeypatch.setattr(departure, "SECONDS_PER_STEP", 1e-6)
    await seconds_to_report(NEAR, wait=False)  # what is computed once
    assert await p_value(NEAR, other, wait=True) > ALPHA


@pytest.mark.slow
async def test_the_test_finds_a_walk_that_ends_early(monkeypatch: pytest.MonkeyPatch) -> None:
    """Going to the leaf and sending at once, as a holder should not, is noticed."""

    def locate_one(tree: Partition, x: Any) -> int:
        node = 0
        while tree.left[node] != LEAF:
            below = x[tree.feature[node]] < tree.threshold[node]
            node = int(tree.left[node] if below else tree.right[node])
        return int(tree.cell_of_node[node])

    monkeypatch.setattr(Partition, "locate_one", locate_one)
    await seconds_to_report(NEAR, wait=False)
    assert await p_value(NEAR, FAR, wait=False, tries=3 * TRIES) < ALPHA


@keeps(
    "threat-model: a slow device sends at a multiple of the period",
    in_="client/departure.py",
    instead_of="self.moment + missed * self.period - now",
    plant="max(self.moment - now, 0.0)",
)
def test_the_moment_is_fixed_before_and_kept() -> None:
    """Between one and two periods ahead; who is late leaves a whole number of periods later."""
    before = time.monotonic()
    fixed = Departure.of(TASK)
    assert before + fixed.period <= fixed.moment <= time.monotonic() + 2 * fixed.period
    planned = Departure(moment=10.0, period=2.0)
    assert [now + planned.seconds_left(now) for now in (0.0, 9.0, 10.0)] == [10.0, 10.0, 10.0]
    assert [now + planned.seconds_left(now) for now in (10.5, 12.0, 13.0)] == [12.0, 12.0, 14.0]


@keeps(
    "threat-model: the moment is partly random",
    in_="client/departure.py",
    instead_of="int.from_bytes(os.urandom(8)) / WORD",
    plant="0.0",
)
def test_the_moment_is_by_chance(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that what the network adds does not show when a device was done."""
    monkeypatch.setattr("privet.client.departure.time.monotonic", lambda: 100.0)
    for drawn, periods in ((bytes(8), 1.0), (b"\xff" * 8, 2.0)):
        monkeypatch.setattr("privet.client.departure.os.urandom", lambda n, drawn=drawn: drawn[:n])
        fixed = Departure.of(TASK)
        assert fixed.moment == pytest.approx(100.0 + periods * fixed.period)


@keeps(
    "threat-model: the time of a report does not tell the record",
    in_="client/holder.py",
    instead_of="opened = checked.open(record)",
    plant="opened, checked = checked.open(record), await self.check(task)",
)
@keeps(
    "threat-model: a report leaves at its moment",
    in_="client/holder.py",
    instead_of="await departure.wait()",
    plant="pass",
)
async def test_a_report_waits_for_a_moment_that_is_fixed_before_its_record_is_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """In this order: the task, its status, the moment, the record, the wait, the report."""
    order: list[str] = []
    fix = Departure.of

    def fixed(task: Task) -> Departure:
        order.append("moment")
        return fix(task)

    def encoded(*arguments: Any) -> EncodedRecord:
        order.append("record")
        return encode_record(*arguments)

    async def waited(_: Departure) -> None:
        order.append("wait")

    def reply(request: httpx.Request) -> httpx.Response:
        order.append(request.method)
        return FakeCurator(TASK)(request)

    monkeypatch.setattr(Departure, "of", fixed)
    monkeypatch.setattr(Departure, "wait", waited)
    monkeypatch.setattr("privet.client.opening.encode_record", encoded)
    url = f"https://curator.example/v1/tasks/{TASK.id}"
    await Holder(Network([reply]).client(), MemoryLedger()).answer(url, NEAR)
    assert order == ["GET", "GET", "moment", "record", "wait", "POST"]
