"""The steps of a load test: holders privatize, reports go out, what was counted is checked."""

import asyncio
import os
import random
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import httpx
import uvloop
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from privet.protocol.task import TASK_MEDIA_TYPE, Task
from scripts.load.holders import encode_population
from scripts.load.outcomes import Outcomes
from scripts.load.people import Source
from scripts.load.sender import Message, Sender
from scripts.load.spool import Shard, groups
from scripts.load.traffic import Address, Mischief, batches, singles

LOOK_SECONDS = 0.5
DRAIN_SECONDS = 10.0
SINGLE_SHARD = 20_000
console = Console()


@dataclass(frozen=True)
class Load:
    """How the reports go out."""

    mode: Literal["single", "relay"]
    connections: int
    depth: int
    batch: int
    mischief: Mischief
    seed: int
    token: str = ""
    """What the curator takes batches with."""


def privatize(task: Task, holders: int, folder: Path, source: Source, load: Load) -> list[Shard]:
    """Let all holders answer, in as many processes as there are cores."""
    spool = folder / "spool"
    spool.mkdir()
    together = load.batch * len(groups(task)) if load.mode == "relay" else SINGLE_SHARD
    columns = (TextColumn("Holders privatize"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, TimeElapsedColumn(), console=console) as progress:
        bar = progress.add_task("", total=holders)
        return encode_population(
            task,
            holders,
            spool,
            shard=min(together, 1_000_000),
            processes=os.cpu_count() or 1,
            source=source,
            seed=load.seed,
            progress=lambda count: progress.advance(bar, count),
        )


def send(to: str, task: Task, shards: list[Shard], load: Load, outcomes: Outcomes) -> bool:
    """Send every report to a task's address; False if an interrupt ended it before."""
    return uvloop.run(_send(to, task, shards, load, outcomes))


def status(task_url: str) -> dict[str, Any]:
    """What the curator says of a task."""
    answer = httpx.get(f"{task_url}/status", timeout=60)
    answer.raise_for_status()
    found: dict[str, Any] = answer.json()
    return found


def fetch(task_url: str) -> Task:
    """The task at an address."""
    answer = httpx.get(task_url, headers={"Accept": TASK_MEDIA_TYPE}, timeout=60)
    answer.raise_for_status()
    return Task.parse(answer.content, task_url.rsplit("/", 1)[1])


def wait_for_relay(relay_task_url: str, most: int) -> None:
    """Wait until no more than ``most`` reports wait in a relay."""
    while httpx.get(f"{relay_task_url}/status", timeout=60).json()["waiting"] > most:
        time.sleep(LOOK_SECONDS / 5)


async def _send(to: str, task: Task, shards: list[Shard], load: Load, outcomes: Outcomes) -> bool:
    url = httpx.URL(to)
    call = "reports" if load.mode == "single" else "reports/batch"
    address = Address(url.host, url.port or 80, f"{url.path}/{call}", load.token)
    sender = Sender(
        address.host,
        address.port,
        _messages(task, shards, address, load),
        outcomes,
        connections=load.connections,
        depth=load.depth,
    )
    sending = asyncio.create_task(sender.run())
    with _interrupts(sender.stop) as interrupted, _progress(shards) as look:
        while not sending.done() and not interrupted:
            await asyncio.wait([sending], timeout=LOOK_SECONDS)
            look(outcomes)
        await _drained(sending)
    return not interrupted


def _messages(task: Task, shards: list[Shard], address: Address, load: Load) -> Iterator[Message]:
    if load.mode == "single":
        return singles(shards, task, address, load.mischief, random.Random(load.seed))
    return batches(shards, task, address, load.batch)


async def _drained(sending: "asyncio.Task[None]") -> None:
    """Wait for what is in flight, for a while."""
    _, late = await asyncio.wait([sending], timeout=DRAIN_SECONDS)
    for task in late:
        task.cancel()
    if not late:
        sending.result()


@contextmanager
def _interrupts(stop: Callable[[], None]) -> Iterator[list[int]]:
    """Within, SIGINT and SIGTERM call ``stop``; the list then has an entry per signal."""
    loop, heard = asyncio.get_running_loop(), list[int]()

    def hear(number: int) -> None:
        heard.append(number)
        stop()

    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, hear, number)
    try:
        yield heard
    finally:
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.remove_signal_handler(number)


@contextmanager
def _progress(shards: list[Shard]) -> Iterator[Callable[[Outcomes], None]]:
    columns = (TextColumn("Reports go out"), BarColumn(), MofNCompleteColumn())
    live = TextColumn("{task.fields[live]}")
    with Progress(*columns, live, console=console, auto_refresh=False) as progress:
        bar = progress.add_task("", total=sum(shard.rows for shard in shards), live="")

        def look(outcomes: Outcomes) -> None:
            progress.update(bar, completed=outcomes.acknowledged, live=_live(outcomes))
            progress.refresh()

        yield look


def _live(outcomes: Outcomes) -> str:
    p50, p99 = (1000 * latency for latency in outcomes.quantiles(0.5, 0.99))
    return f"{outcomes.rate:,.0f}/s  p50 {p50:.1f} ms  p99 {p99:.1f} ms  refused {outcomes.refused}"
