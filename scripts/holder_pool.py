"""Thousands of holders that answer one task over HTTP, each an object of its own."""

import asyncio
import os
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor, wait
from multiprocessing import get_context
from typing import Self

import uvloop

from privet import Holder, MemoryLedger, ReportClient
from privet.client import UNLIMITED, Ledger
from privet.protocol.errors import TaskNotOpen
from scripts.fair_survey import Record
from scripts.servers import interrupts_held

CLIENTS, SHARING = 128, 2
"""HTTP clients, and how many holders at a time share one: a call looks at all its connections."""
ON_DISK_CLIENTS = 8
"""The same where holders share a ledger on disk, which one of them at a time can write."""
LOOKS = 0.5
"""Seconds between two looks at how many have answered."""


class HolderPool:
    """Holders in as many processes as there are cores; a context manager, which starts them."""

    def __init__(self) -> None:
        self._processes = os.cpu_count() or 1
        self._pool = ProcessPoolExecutor(self._processes, get_context("spawn"))

    def __enter__(self) -> Self:
        with interrupts_held():
            for _ in range(self._processes):
                self._pool.submit(os.getpid)  # starts one
        return self

    def __exit__(self, *_: object) -> None:
        self._pool.shutdown(cancel_futures=True)

    def answer(
        self, task_url: str, records: Sequence[Record], look: Callable[[], None]
    ) -> tuple[int, float]:
        """Let one holder per record answer; the bytes that they sent, and the seconds it took.

        ``look`` is called now and then, and at the end.
        """
        return self.answer_in_waves(task_url, [(0.0, records)], look)

    def answer_in_waves(
        self,
        task_url: str,
        waves: Sequence[tuple[float, Sequence[Record]]],
        look: Callable[[], None],
    ) -> tuple[int, float]:
        """Let holders come to each wave of a panel when it opens, with the record they have then.

        Whose turn it is answers. The bytes that they sent, and the seconds it took; ``look`` as
        above.
        """
        started = time.perf_counter()
        clients = -(-CLIENTS // self._processes)
        waiting = []
        for k in range(self._processes):
            share = [(opens, records[k :: self._processes]) for opens, records in waves]
            waiting.append(self._pool.submit(_answer, task_url, share, clients))
        while wait(waiting, LOOKS).not_done:
            look()
        seconds = time.perf_counter() - started
        look()
        return sum(share.result() for share in waiting), seconds


def _answer(task_url: str, waves: Sequence[tuple[float, Sequence[Record]]], clients: int) -> int:
    return uvloop.run(_answer_waves(task_url, waves, clients))


async def _answer_waves(
    task_url: str, waves: Sequence[tuple[float, Sequence[Record]]], clients: int
) -> int:
    sent, ledger = 0, MemoryLedger()
    for number, (opens, records) in enumerate(waves):
        await asyncio.sleep(max(opens - time.time(), 0.0))
        sent += await answer_all(
            task_url,
            records,
            insecure_http=False,
            clients=clients,
            ledger=ledger,
            turn=number if len(waves) > 1 else None,
        )
    return sent


async def answer_all(
    task_url: str,
    records: Iterable[Record],
    *,
    insecure_http: bool,
    clients: int = CLIENTS,
    ledger: Ledger | None = None,
    turn: int | None = None,
) -> int:
    """Let one holder per record answer the task, some of them at a time; the bytes they sent.

    Every holder is an object of its own with a ledger of its own, or, where one is given, a
    subject of ``ledger``. It checks the task and sends one report; only connections are shared.
    In wave ``turn`` of a panel, from 0, who knows of another turn stays away.
    """
    waiting = iter(enumerate(records))

    async def work(curator: ReportClient) -> int:
        sent = 0
        for number, record in waiting:
            subject = f"holder {number}"
            kept = MemoryLedger() if ledger is None else ledger
            if turn is not None and any(m.wave != turn for m in kept.members(subject)):
                continue
            kept.set_caps(subject, UNLIMITED)
            holder = Holder(curator, kept, subject)
            try:
                sent += len((await holder.answer(task_url, record)).report)
            except TaskNotOpen:
                if turn is None:
                    raise
        return sent

    async def share() -> int:
        async with ReportClient(insecure_http=insecure_http) as curator:
            return sum(await asyncio.gather(*(work(curator) for _ in range(SHARING))))

    at_once = clients if ledger is None or not ledger.waits else ON_DISK_CLIENTS
    return sum(await asyncio.gather(*(share() for _ in range(at_once))))
