"""Group commit: what waits together is settled task by task."""

import asyncio
import threading
from collections.abc import Sequence

import pytest

from privet.curator.clock import ManualClock
from privet.curator.collection.columns import Gate
from privet.curator.collection.task_cache import Gates
from privet.curator.collection.writer import Answer, Committer
from privet.curator.datastore.base import Outcome, Outcomes, Reports, Store
from privet.curator.datastore.ids import BULK
from privet.curator.metrics import Metrics
from tests.curator.datastore.made import kept, report, total


def put(committer: Committer, gate: Gate, body: bytes) -> "asyncio.Future[Answer]":
    """Queue a good report."""
    layout = gate.layouts.find(body)
    assert layout is not None
    return committer.put(gate, layout, body, None)


async def test_a_task_is_one_group_whatever_gates_its_reports_came_by(
    store: Store, gate: Gate, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So many together that they become a run, and one of them again: it counts once."""
    committer = Committer(store, clock, Metrics(), max_queue=2 * BULK)
    reports = [report(gate.task) for _ in range(BULK + 1)]
    bodies = [own.pack() for own in reports]
    go_on, take = threading.Event(), store.take

    def wait_and_take(groups: Sequence[Reports], now: float) -> list[Outcomes]:
        go_on.wait()
        return take(groups, now)

    monkeypatch.setattr(store, "take", wait_and_take)
    first = put(committer, gate, bodies[0])
    waiting = [put(committer, gate, body) for body in bodies[1:]]
    again = put(committer, Gate(gate.task), bodies[-1])
    go_on.set()
    assert set(await asyncio.gather(first, *waiting)) == {Outcome.COUNTED}
    assert await again == Outcome.REPLAYED
    committer.stop()
    assert kept(store, gate.task) == total(gate.task, reports)


async def test_all_who_load_a_task_at_once_share_its_gate(store: Store, gate: Gate) -> None:
    """The first to have loaded it decides."""
    gates = Gates(store)
    loaded = await asyncio.gather(*(gates.load(gate.task_id) for _ in range(8)))
    assert {id(own) for own in loaded} == {id(gates.known(gate.task_id))}
