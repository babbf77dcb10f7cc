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
        started = time.perf_counter()
        shares = (records[k :: self._processes] for k in range(self._processes))
        clients = -(-CLIENTS // self._processes)
        waiting = [self._pool.submit(_answer, task_url, share, clients) for share in shares]
        while wait(waiting, LOOKS).not_done:
            look()
        seconds = time.perf_counter() - started
        look()
        return sum(share.result() for share in waiting), seconds


def _answer(task_url: str, records: Sequence[Record], clients: int) -> int:
    return uvloop.run(answer_all(task_url, records, insecure_http=False, clients=clients))


async def answer_all(
    task_url: str,
    records: Iterable[Record],
    *,
    insecure_http: bool,
    clients: int = CLIENTS,
    ledger: Ledger | None = None,
) -> int:
    """Let one holder per record answer the task, some of them at a time; the bytes they sent.

    Every holder is an object of its own with a ledger of its own, or, where one is given, a
    subject of ``ledger``. It checks the task and sends one report; only connections are shared.
    """
    waiting = iter(enumerate(records))

    async def work(curator: ReportClient) -> int:
        sent = 0
        for number, record in waiting:
            subject = f"holder {number}"
            kept = MemoryLedger() if ledger is None else ledger
            kept.set_caps(subject, UNLIMITED)
            holder = Holder(curator, kept, subject)
            sent += len((await holder.answer(task_url, record)).report)
        return sent

    async def share() -> int:
        async with ReportClient(insecure_http=insecure_http) as curator:
            return sum(await asyncio.gather(*(work(curator) for _ in range(SHARING))))

    at_once = clients if ledger is None else ON_DISK_CLIENTS
    return sum(await asyncio.gather(*(share() for _ in range(at_once))))
