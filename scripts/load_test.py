"""Simulated holders against a curator: rate, latency, and that no report is lost or doubled.

First every holder privatizes its own record, in worker processes, into a spool on disk; then the
reports are sent as fast as the curator takes them, and only this second part is timed as load.
Without ``--task`` a curator of its own is started, with its database in a temporary folder.
"""

import asyncio
import os
import random
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

import httpx
import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from protocol.task import TASK_MEDIA_TYPE, Task
from scripts.collection import Admin
from scripts.load import population
from scripts.load.audit import audit
from scripts.load.holders import Source, encode_population, records_from_csv, uniform_records
from scripts.load.meter import Meter
from scripts.load.sender import Address, Message, Outcomes, send_all
from scripts.load.summary import Summary, write
from scripts.load.traffic import Mischief, batches, singles
from scripts.servers import running_curator

BATCH_CONNECTIONS = 2
LOOK_SECONDS = 0.5
console = Console()


@dataclass(frozen=True)
class Target:
    """A task to load: its address, who owns it if we do, and the curator's process if ours."""

    task_url: str
    admin: Admin | None = None
    process: int | None = None


@dataclass(frozen=True)
class Load:
    """How the reports go out."""

    mode: Literal["single", "relay"]
    connections: int
    depth: int
    batch: int
    mischief: Mischief
    seed: int


def main(
    holders: Annotated[int, typer.Option(min=1, help="Holders that answer.")] = 1_000_000,
    mode: Annotated[
        Literal["single", "relay"], typer.Option(help="One POST per holder, or batches.")
    ] = "single",
    task: Annotated[str, typer.Option(help="A task's address; by default one is made.")] = "",
    cells: Annotated[int, typer.Option(min=2, help="Cells of the task that is made.")] = 256,
    epsilon: Annotated[float, typer.Option(help="Epsilon of the task that is made.")] = 1.0,
    data: Annotated[
        Path | None, typer.Option(help="CSV to draw a given task's records from.")
    ] = None,
    connections: Annotated[int, typer.Option(min=1, help="Connections kept open.")] = 64,
    depth: Annotated[int, typer.Option(min=1, help="Requests in flight on each.")] = 1,
    batch: Annotated[int, typer.Option(min=1, help="Reports per batch.")] = 20_000,
    duplicates: Annotated[float, typer.Option(min=0, max=100, help="% sent twice.")] = 0.0,
    malformed: Annotated[float, typer.Option(min=0, max=100, help="% broken as well.")] = 0.0,
    slow: Annotated[float, typer.Option(min=0, max=100, help="% sent slowly.")] = 0.0,
    seed: Annotated[int, typer.Option(help="Seed of records and mischief.")] = 0,
    out: Annotated[Path, typer.Option(help="Folder for the report.")] = Path("privet-data/load"),
) -> None:
    """Run the load test; exit code 1 if a report was lost or counted twice."""
    mischief = Mischief(duplicates / 100, malformed / 100, slow / 100)
    load = Load(mode, connections, depth, batch, mischief, seed)
    with tempfile.TemporaryDirectory(prefix="privet-load-") as name:
        folder = Path(name)
        with _target(task, folder, cells, epsilon) as target:
            summary, outcomes = _run(target, folder, holders, _source(task, data), load)
    console.print(summary.table())
    for path in write(summary, outcomes, out):
        console.print(f"[dim]wrote {path}[/dim]")
    raise typer.Exit(0 if summary.is_clean else 1)


def _run(
    target: Target, folder: Path, holders: int, source: Source, load: Load
) -> tuple[Summary, Outcomes]:
    known = _fetch(target.task_url)
    started = time.perf_counter()
    paths = _privatize(known, holders, folder, source, load.seed)
    encoded = time.perf_counter() - started
    before, outcomes, meter = _status(target), Outcomes(), Meter(target.process)
    asyncio.run(_send(target, known, paths, holders, load, outcomes))
    use, after = meter.stop(), _status(target)
    found = audit(paths, before, after)
    accuracy = {}
    if target.admin is not None:
        accuracy = population.accuracies(target.admin, target.task_url, known, holders)
    summary = Summary(
        mode=load.mode,
        holders=holders,
        encode_seconds=encoded,
        send_seconds=outcomes.seconds,
        reports_per_second=(int(after["reports"]) - int(before["reports"])) / outcomes.seconds,
        p50=outcomes.latencies.quantile(0.5),
        p99=outcomes.latencies.quantile(0.99),
        p999=outcomes.latencies.quantile(0.999),
        bytes_per_report=sum(path.stat().st_size for path in paths) / holders - 4,
        answers={f"{kind} {status}": n for (kind, status), n in outcomes.answers.items()},
        retries=outcomes.retries,
        reconnects=outcomes.reconnects,
        lost=found.lost,
        doubled=found.doubled,
        checksum_matches=found.checksum_matches,
        curator_cpu_seconds=use.curator_cpu,
        sender_cpu_seconds=use.own_cpu,
        curator_peak_memory=use.curator_peak_memory,
        limited_by=use.limit(outcomes.seconds),
        accuracy=accuracy,
    )
    return summary, outcomes


@contextmanager
def _target(task: str, folder: Path, cells: int, epsilon: float) -> Iterator[Target]:
    """The given task, or one that a curator of our own publishes."""
    if task:
        yield Target(task)
        return
    with running_curator(folder / "curator") as curator:
        admin = Admin(curator.url, curator.token)
        yield Target(population.publish(admin, cells, epsilon), admin, curator.process)


def _source(task: str, data: Path | None) -> Source:
    if data is not None:
        return partial(records_from_csv, data)
    return uniform_records if task else population.records


def _privatize(task: Task, holders: int, folder: Path, source: Source, seed: int) -> list[Path]:
    spool = folder / "spool"
    spool.mkdir()
    columns = (TextColumn("Holders privatize"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, TimeElapsedColumn(), console=console) as progress:
        bar = progress.add_task("", total=holders)
        return encode_population(
            task,
            holders,
            spool,
            processes=os.cpu_count() or 1,
            source=source,
            seed=seed,
            progress=lambda count: progress.advance(bar, count),
        )


async def _send(
    target: Target, task: Task, paths: list[Path], holders: int, load: Load, outcomes: Outcomes
) -> None:
    """Send everything; an interrupt stops sending and keeps what was measured."""
    messages, path, lanes, depth = _plan(target, task, paths, load)
    url = httpx.URL(target.task_url)
    address = Address(url.host, url.port or 80, path)
    sending = asyncio.create_task(
        send_all(address, messages, outcomes, connections=lanes, depth=depth)
    )
    total = holders if load.mode == "single" else -(-holders // load.batch)
    with Progress(
        TextColumn("Holders send"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[told]}"),
        console=console,
    ) as progress:
        bar = progress.add_task("", total=total, told="")
        try:
            while not sending.done():
                await asyncio.wait([sending], timeout=LOOK_SECONDS)
                progress.update(bar, completed=outcomes.total, told=_live(outcomes))
            await sending
        except asyncio.CancelledError:
            sending.cancel()
            console.print("Interrupted: what was not sent is listed as lost.")


def _plan(
    target: Target, task: Task, paths: list[Path], load: Load
) -> tuple[Iterator[Message], str, int, int]:
    """The messages, where they go, and over how many connections, how many at a time."""
    base = httpx.URL(target.task_url).path
    if load.mode == "single":
        messages = singles(paths, load.mischief, random.Random(load.seed))
        return messages, f"{base}/reports", load.connections, load.depth
    messages = batches(paths, task, load.batch)
    return messages, f"{base}/reports/batch", BATCH_CONNECTIONS, 1


def _live(outcomes: Outcomes) -> str:
    refused = sum(n for (_, status), n in outcomes.answers.items() if status >= 300)
    p50, p99 = (1000 * outcomes.latencies.quantile(q) for q in (0.5, 0.99))
    rate = outcomes.total / outcomes.seconds
    return f"{rate:,.0f}/s  p50 {p50:.1f} ms  p99 {p99:.1f} ms  refused {refused}"


def _fetch(task_url: str) -> Task:
    answer = httpx.get(task_url, headers={"Accept": TASK_MEDIA_TYPE}, timeout=60)
    answer.raise_for_status()
    return Task.parse(answer.content, task_url.rsplit("/", 1)[1])


def _status(target: Target) -> dict[str, Any]:
    answer = httpx.get(f"{target.task_url}/status", timeout=60)
    answer.raise_for_status()
    found: dict[str, Any] = answer.json()
    return found


if __name__ == "__main__":
    typer.run(main)
