"""Simulated holders against a curator: rate, latency, and that no report is lost or doubled.

First every holder privatizes its own record, in worker processes, into a spool on disk; then the
reports are sent as fast as they are taken, to a curator with its database in a temporary folder,
or with ``--through-relay`` to a relay in front of it, or to one that runs already (``--curator``).
Ctrl-C ends the sending: what is in flight is waited for, then checked and summed up.
"""

import asyncio
import os
import random
import signal
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import httpx
import psutil
import typer
import uvloop
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from privet import CuratorClient
from privet.curator.datastore.base import CHECKSUM_MODULUS, checksum
from privet.protocol.task import Task
from scripts.load import population
from scripts.load.holders import Shard, privatize
from scripts.load.sender import Outcomes, Sender
from scripts.load.summary import Summary, write
from scripts.load.traffic import Address, Mischief, batches, singles
from scripts.pages import fill, measured_on
from scripts.servers import running_curator, running_relay

PERFORMANCE = Path("docs/tables/performance.md")
CONNECTIONS = {"single": 256, "relay": 2}
SINGLE_SHARD = 20_000
INTERRUPTED = 130
LEAST, EVERY = 1_000, 0.2
"""Fewest reports that the relay forwards together while the load lasts, and how often it looks."""
LOOK_SECONDS, DRAIN_SECONDS = 0.5, 10.0
LIVE = 20_000
"""Answers that the latencies on show are those of."""
console = Console()


@dataclass(frozen=True)
class Load:
    """How the reports go out, and through what."""

    mode: Literal["single", "relay"]
    through_relay: bool
    connections: int
    batch: int
    mischief: Mischief
    seed: int


@dataclass(frozen=True)
class Target:
    """The curator to load, and the ids of its processes if they are on this machine."""

    url: str
    token: str
    processes: dict[str, int]


def main(
    holders: Annotated[int, typer.Option(min=1, help="Holders that answer.")] = 1_000_000,
    mode: Annotated[
        Literal["single", "relay"], typer.Option(help="One POST per holder, or a relay's batches.")
    ] = "single",
    cells: Annotated[int, typer.Option(min=2, help="Cells of the task.")] = 256,
    epsilon: Annotated[float, typer.Option(help="Epsilon of the task.")] = 1.0,
    through_relay: Annotated[
        bool, typer.Option("--through-relay", help="Send to a relay in front of the curator.")
    ] = False,
    connections: Annotated[
        int, typer.Option(min=0, help="Connections kept open; 0 takes what suits the mode.")
    ] = 0,
    batch: Annotated[int, typer.Option(min=1, help="Reports per batch.")] = 50_000,
    workers: Annotated[int, typer.Option(min=1, help="Processes of the curator.")] = 1,
    duplicates: Annotated[float, typer.Option(min=0, max=100, help="% sent twice.")] = 0.0,
    malformed: Annotated[float, typer.Option(min=0, max=100, help="% broken as well.")] = 0.0,
    slow: Annotated[float, typer.Option(min=0, max=100, help="% sent slowly.")] = 0.0,
    retries: Annotated[
        float, typer.Option(min=0, max=100, help="% that hang up before the answer and try again.")
    ] = 0.0,
    curator: Annotated[
        str | None,
        typer.Option(help="A running curator, whose admin token is in PRIVET_TOKEN."),
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of records and mischief.")] = 0,
    out: Annotated[Path, typer.Option(help="Folder for the report.")] = Path("privet-data/load"),
    write_docs: Annotated[
        bool, typer.Option("--write-docs", help=f"Put the table into {PERFORMANCE} as well.")
    ] = False,
) -> None:
    """Run the load test; exit status 1 if a report was lost or counted twice, 130 after Ctrl-C."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    mischief = Mischief(duplicates / 100, malformed / 100, slow / 100, retries / 100)
    load = Load(mode, through_relay, connections or CONNECTIONS[mode], batch, mischief, seed)
    with tempfile.TemporaryDirectory(prefix="privet-load-") as name:
        folder = Path(name)
        try:
            with _target(folder / "curator", workers, curator) as target:
                admin = CuratorClient(target.url, target.token)
                task_url = population.publish(admin, cells, epsilon)
                summary = run(load, target, admin, task_url, folder, holders)
        except KeyboardInterrupt:
            console.print("Interrupted before any report was sent: there is nothing to sum up.")
            raise typer.Exit(INTERRUPTED) from None
    console.print(summary.table())
    console.print(f"[dim]wrote {write(summary, out)}[/dim]")
    if write_docs:
        section = f"load {mode} through relay" if through_relay else f"load {mode}"
        fill(PERFORMANCE, {section: summary.markdown()})
    raise typer.Exit(1 if not summary.is_clean else INTERRUPTED if summary.interrupted else 0)


@contextmanager
def _target(folder: Path, workers: int, url: str | None) -> Iterator[Target]:
    """The curator at ``url``, or one that is started in ``folder``."""
    if url is not None:
        yield Target(url, os.environ["PRIVET_TOKEN"], {})
        return
    with running_curator(folder, workers=str(workers)) as own:
        yield Target(own.url, own.token, {"curator": own.process.pid})


def run(
    load: Load,
    curator: Target,
    admin: CuratorClient,
    task_url: str,
    folder: Path,
    holders: int,
) -> Summary:
    """Let holders privatize, send, wait until all is counted, check and sum up."""
    task, started, cpu = population.fetch(task_url), time.perf_counter(), children_cpu()
    shards = _privatized(task, holders, folder, load)
    answer_seconds, answer_cpu = time.perf_counter() - started, children_cpu() - cpu
    before, outcomes = admin.status(task_url), Outcomes()
    finished, seconds, cpu_seconds, memory = _delivered(
        load, task, task_url, folder, shards, curator, outcomes
    )
    after = admin.status(task_url)
    lost, doubled, matches = audit(
        task, shards, before, after, outcomes.sent, outcomes.acknowledged
    )
    p50, p99, p999 = outcomes.quantiles(0.5, 0.99, 0.999)
    return Summary(
        mode=load.mode,
        through_relay=load.through_relay,
        interrupted=not finished,
        holders=holders,
        sent=outcomes.sent,
        acknowledged=outcomes.acknowledged,
        counted=int(after["reports"]) - int(before["reports"]),
        answer_seconds=answer_seconds,
        answer_cpu=answer_cpu,
        send_seconds=outcomes.seconds,
        deliver_seconds=seconds,
        p50=p50,
        p99=p99,
        p999=p999,
        bytes_per_report=task.longest_report,
        answers={f"{kind} {status}": n for (kind, status), n in outcomes.answers.items()},
        retries=outcomes.retries,
        reconnects=outcomes.reconnects,
        lost=lost,
        doubled=doubled,
        checksum_matches=matches,
        cpu_seconds=cpu_seconds,
        memory=memory,
        machine=f"{measured_on()}, both sides together",
        accuracy=_accuracies(admin, task_url, task, holders) if finished else {},
    )


def _privatized(task: Task, holders: int, folder: Path, load: Load) -> list[Shard]:
    spool = folder / "spool"
    spool.mkdir()
    shard = load.batch if load.mode == "relay" else SINGLE_SHARD
    columns = (TextColumn("Holders privatize"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, TimeElapsedColumn(), console=console) as progress:
        bar = progress.add_task("", total=holders)
        advance = lambda count: progress.advance(bar, count)  # noqa: E731
        return privatize(task, holders, spool, shard=shard, seed=load.seed, progress=advance)


def _delivered(
    load: Load,
    task: Task,
    task_url: str,
    folder: Path,
    shards: list[Shard],
    curator: Target,
    outcomes: Outcomes,
) -> tuple[bool, float, dict[str, float], dict[str, int]]:
    """Send all reports and wait until the curator has them.

    Whether sending went to its end, seconds until all was counted, and per side seconds of the
    processor and resident bytes at the end. A relay is started again with a ``least`` of 1, to
    forward the rest.
    """
    servers, token = curator.processes, curator.token if load.mode == "relay" else ""
    if not load.through_relay:
        before = cpu_of(servers)
        finished = uvloop.run(_sent(task_url, task, shards, load, outcomes, token))
        used = {side: cpu - before[side] for side, cpu in cpu_of(servers).items()}
        return finished, outcomes.seconds, used, memory_of(servers)
    own = folder / "relay"
    with running_relay(own, curator.url, curator.token, least=LEAST, every=EVERY) as relay:
        url, servers = f"{relay.url}/v1/tasks/{task.id}", servers | {"relay": relay.process.pid}
        before = cpu_of(servers)
        finished = uvloop.run(_sent(url, task, shards, load, outcomes, token))
        _wait_for_relay(url, LEAST - 1)
        used = {side: cpu - before[side] for side, cpu in cpu_of(servers).items()}
        memory = memory_of(servers)
    with running_relay(own, curator.url, curator.token, least=1, every=EVERY) as relay:
        _wait_for_relay(f"{relay.url}/v1/tasks/{task.id}", 0)
    return finished, time.perf_counter() - outcomes.started, used, memory


def _wait_for_relay(relay_task_url: str, most: int) -> None:
    """Wait until no more than ``most`` reports wait in a relay."""
    while httpx.get(f"{relay_task_url}/status", timeout=60).json()["waiting"] > most:
        time.sleep(LOOK_SECONDS / 5)


async def _sent(
    task_url: str, task: Task, shards: list[Shard], load: Load, outcomes: Outcomes, token: str
) -> bool:
    """Send every report to a task's address; False if an interrupt ended it before."""
    url, is_single = httpx.URL(task_url), load.mode == "single"
    call = "reports" if is_single else "reports/batch"
    to = Address(url.host, url.port or 80, f"{url.path}/{call}", token)
    rng = random.Random(load.seed)
    messages = singles(shards, task, to, load.mischief, rng) if is_single else batches(shards, to)
    sender = Sender(to.host, to.port, messages, outcomes, connections=load.connections)
    sending = asyncio.create_task(sender.run())
    with _interrupts(sender.stop) as interrupted, _progress(shards) as look:
        while not sending.done() and not interrupted:
            await asyncio.wait([sending], timeout=LOOK_SECONDS)
            look(outcomes)
        _, late = await asyncio.wait([sending], timeout=DRAIN_SECONDS)
    for each in late:
        each.cancel()
    if not late:
        sending.result()
    return not interrupted


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
        bar = progress.add_task("", total=sum(shard.reports for shard in shards), live="")

        def look(outcomes: Outcomes) -> None:
            p50, p99 = (1000 * each for each in outcomes.quantiles(0.5, 0.99, last=LIVE))
            live = f"{outcomes.rate:,.0f}/s  p50 {p50:.1f} ms  p99 {p99:.1f} ms"
            live += f"  refused {outcomes.refused}"
            progress.update(bar, completed=outcomes.acknowledged, live=live)
            progress.refresh()

        yield look


def audit(
    task: Task,
    shards: Sequence[Shard],
    before: dict[str, Any],
    after: dict[str, Any],
    sent: int,
    acknowledged: int,
) -> tuple[int, int, bool | None]:
    """Compare the first ``sent`` spooled reports with a task's status before and after them.

    Reports counted too few, and too many, and whether exactly the sent ids were counted: None where
    some reports were sent and not answered, since nobody can know whether those count.
    """
    counted = int(after["reports"]) - int(before["reports"])
    matches = None
    if sent == acknowledged:
        difference = int(after["checksum"], 16) - int(before["checksum"], 16)
        matches = difference % CHECKSUM_MODULUS == _checksum(task, shards, sent)
    return max(acknowledged - counted, 0), max(counted - sent, 0), matches


def _checksum(task: Task, shards: Sequence[Shard], count: int) -> int:
    """The checksum of the ids of the first ``count`` reports."""
    total = 0
    for shard in shards:
        if count > 0:
            ids = shard.batch(task).ids[:count]
            total += checksum(ids)
            count -= len(ids)
    return total % CHECKSUM_MODULUS


def cpu_of(servers: dict[str, int]) -> dict[str, float]:
    """Processor seconds so far of servers, their workers included, and of this process."""
    families = {side: family_of(process) for side, process in servers.items()}
    families["sender"] = [psutil.Process()]
    return {side: cpu_seconds(family) for side, family in families.items()}


def memory_of(servers: dict[str, int]) -> dict[str, int]:
    """Resident bytes of servers, their workers included."""
    return {
        side: sum(each.memory_info().rss for each in family_of(process))
        for side, process in servers.items()
    }


def children_cpu() -> float:
    """Processor seconds of this process's children that have ended."""
    times = psutil.Process().cpu_times()
    return float(times.children_user + times.children_system)


def family_of(process: int) -> list[psutil.Process]:
    """A process, and all that it has started."""
    parent = psutil.Process(process)
    return [parent, *parent.children(recursive=True)]


def cpu_seconds(processes: Iterable[psutil.Process]) -> float:
    """Processor time that processes have used so far."""
    times = [each.cpu_times() for each in processes]
    return float(sum(each.user + each.system for each in times))


def _accuracies(admin: CuratorClient, task_url: str, task: Task, holders: int) -> dict[str, float]:
    """None if an interrupt ends the wait for them."""
    try:
        return population.accuracies(admin, task_url, task, holders)
    except KeyboardInterrupt:
        return {}


if __name__ == "__main__":
    typer.run(main)
