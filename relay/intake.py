"""Taking reports in: checked against their task, durable before the answer, many at a time."""

import asyncio
import hashlib
from dataclasses import dataclass

from anyio import to_thread

from privet.protocol.errors import Overloaded, ReportConflict, StorageFailed
from privet.protocol.report import Receipt, Report
from privet.protocol.task import Task
from privet.relay.batches import read_batch
from privet.relay.bundle import ALL_QUESTIONS
from privet.relay.spool import Parcel, Spool
from privet.transport.address import TaskAddress
from privet.transport.curator_client import ReportClient
from privet.transport.errors import LedgerFailed
from privet.transport.offer import Offer

MAX_WAITING = 10_000
MAX_TOGETHER = 2_000
MAX_BATCHES = 4
LARGE = 2**14
"""Bytes of a report above which another thread looks at it."""


@dataclass
class Waiting:
    """A parcel whose sender waits for it to be durable."""

    parcel: Parcel
    kept: asyncio.Future[bool]


class Intake:
    """Accepts reports for the tasks of one curator; ``run`` writes them, a group at a time."""

    def __init__(self, client: ReportClient, curator: str, spool: Spool) -> None:
        self._client = client
        self._curator = curator.rstrip("/")
        self._spool = spool
        self._queue: asyncio.Queue[Waiting] = asyncio.Queue(MAX_WAITING)
        self._batches = 0

    def address(self, task_id: str) -> TaskAddress:
        """Where the curator publishes a task."""
        return self._client.address(f"{self._curator}/v1/tasks/{task_id}")

    async def task(self, task_id: str) -> Task:
        """The task, from the curator and checked; raises what fetching it raises."""
        return (await self.offer(task_id)).task

    async def offer(self, task_id: str) -> Offer:
        """The task with its curator's signature."""
        return await self._client.offer(self.address(task_id))

    async def accept(self, task_id: str, body: bytes, invitation: bytes | None) -> Receipt:
        """Keep one report; returns when it is durable.

        Raises what ``Report.unpack`` and ``Report.check`` raise, ``ReportConflict`` for an id
        that waits with other bytes, ``Overloaded`` and ``StorageFailed``.
        """
        task = await self.task(task_id)
        if len(body) > LARGE:
            report = await to_thread.run_sync(_checked, task, body)
        else:
            report = _checked(task, body)
        digest = None if invitation is None else hashlib.sha256(invitation).digest()
        entry = Waiting(parcel_of(task, report, digest), asyncio.get_running_loop().create_future())
        try:
            self._queue.put_nowait(entry)
        except asyncio.QueueFull:
            raise Overloaded("The relay's queue is full: send the report again later.") from None
        if not await entry.kept:
            raise ReportConflict("This report id waits here with other bytes: draw a new id.")
        return Receipt(report=report.id.hex(), counted=False)

    async def accept_batch(self, task_id: str, body: bytes) -> tuple[int, list[str]]:
        """Keep another relay's batch; how many are durable, and the ids of impossible reports.

        Raises what ``read_batch`` raises, ``Overloaded`` and ``StorageFailed``.
        """
        if self._batches >= MAX_BATCHES:
            raise Overloaded("Too many batches are under way: send this one again later.")
        self._batches += 1
        try:
            task = await self.task(task_id)
            bundle, impossible = await to_thread.run_sync(read_batch, task, body)
            if len(bundle):
                await to_thread.run_sync(self._spool.add_bundle, bundle)
        except LedgerFailed:
            raise _not_stored() from None
        finally:
            self._batches -= 1
        return len(bundle), impossible

    async def run(self) -> None:
        """Write what waits until cancelled; a failing disk is told to those who wait for it."""
        while True:
            group = [await self._queue.get()]
            while len(group) < MAX_TOGETHER and not self._queue.empty():
                group.append(self._queue.get_nowait())
            await self._write(group)

    async def _write(self, group: list[Waiting]) -> None:
        try:
            kept = await to_thread.run_sync(self._spool.add, [entry.parcel for entry in group])
        except LedgerFailed:
            for entry in group:
                if not entry.kept.done():
                    entry.kept.set_exception(_not_stored())
            return
        for entry, done in zip(group, kept, strict=True):
            if not entry.kept.done():
                entry.kept.set_result(done)


def parcel_of(task: Task, report: Report, invitation: bytes | None) -> Parcel:
    """What is kept of a report: its id and its payloads."""
    question = report.answers[0][0] if task.allocation == "one" else ALL_QUESTIONS
    payload = b"".join(payload for _, payload in report.answers)
    return Parcel(task.id, question, report.id, payload, invitation)


def _checked(task: Task, body: bytes) -> Report:
    report = Report.unpack(body)
    report.check(task)
    return report


def _not_stored() -> StorageFailed:
    return StorageFailed("The relay could not store this: send it again later.")
