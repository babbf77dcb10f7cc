"""Simulated holders against a curator: rate, latency, and that no report is lost or doubled.

First every holder privatizes its own record, in worker processes, into a spool on disk; then the
reports are sent as fast as they are taken, to a curator with its database in a temporary folder,
or with ``--through-relay`` to a relay in front of it, or to one that runs already (``--curator``).
"""

import asyncio
import os
import signal
import tempfile
import time
from collections.abc import Iterable
from contextlib import ExitStack
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
from privet.curator.datastore.reports import CHECKSUM_MODULUS, checksum
from privet.protocol.calls import TASKS
from privet.protocol.task import Task
from scripts.load import population
from scripts.load.holders import Shard, privatize
from scripts.load.sender import Outcomes, Sender
from scripts.load.summary import Summary
from scripts.load.traffic import Address, batches, singles
from scripts.pages import fill, measured_on
from scripts.servers import running_curator, running_relay, wait_for_reports

PERFORMANCE = Path("docs/performance.md")
CONNECTIONS = {"single": 256, "relay": 2}
SINGLE_SHARD = 20_000
LEAST, EVERY = 1_000, 0.2
"""Fewest reports that the relay forwards together while the load lasts, and how often it looks."""
LOOK_SECONDS = 0.5
LIVE = 20_000
"""Number of recent answers the live latencies cover."""
console = Console()


@dataclass(frozen=True)
class Load:
    """The mode of sending and the curator, with its process if it runs on this machine."""

    mode: Literal["single", "relay"]
    through_relay: bool
    batch: int
    curator: str
    token: str
    processes: dict[str, int]


def main(
    holders: Annotated[int, typer.Option(min=1, help="Holders that answer.")] = 1_000_000,
    mode: Annotated[
        Literal["single", "relay"], typer.Option(help="One POST per holder, or a relay's batches.")
    ] = "single",
    cells: Annotated[int, typer.Option(min=2, help="Cells of the task.")] = 256,
    through_relay: Annotated[
        bool, typer.Option("--through-relay", help="Send to a relay in front of the curator.")
    ] = False,
    batch: Annotated[int, typer.Option(min=1, help="Reports per batch.")] = 50_000,
    curator: Annotated[
        str | None, typer.Option(help="A running curator, whose admin token is in PRIVET_TOKEN.")
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder for the report.")] = Path("privet-data/load"),
    write_docs: Annotated[
        bool, typer.Option("--write-docs", help=f"Put the table into {PERFORMANCE} as well.")
    ] = False,
) -> None:
    """Run the load test; exit status 1 if a report was lost or counted twice."""
    if through_relay and mode != "single":
        raise typer.BadParameter("A relay takes single reports: leave --mode out.")
    signal.signal(signal.SIGTERM, lambda *_: signal.raise_signal(signal.SIGINT))
    with tempfile.TemporaryDirectory(prefix="privet-load-") as name, ExitStack() as stack:
        folder = Path(name)
        if curator is None:
            started = stack.enter_context(running_curator(folder / "curator"))
            known = started.url, started.token, {"curator": started.process.pid}
        else:
            known = curator.rstrip("/"), os.environ["PRIVET_TOKEN"], {}
        summary = run(Load(mode, through_relay, batch, *known), folder, holders, cells)
    console.print(summary.table())
    console.print(f"[dim]wrote {summary.write(out)}[/dim]")
    if write_docs:
        section = f"load {mode} through relay" if through_relay else f"load {mode}"
        fill(PERFORMANCE, {section: summary.markdown()})
    raise typer.Exit(0 if summary.is_clean else 1)


def run(load: Load, folder: Path, holders: int, cells: int) -> Summary:
    """Let holders privatize, send, wait until all is counted, check and sum up."""
    admin = CuratorClient(load.curator, load.token)
    task_url = population.publish(admin, cells)
    task = population.fetch(task_url)
    shards = _privatized(task, holders, folder, load)
    before, outcomes = admin.status(task_url), Outcomes()
    seconds, cpu_seconds, memory = _delivered(load, admin, task, folder, shards, outcomes)
    counted, matches = audit(task, shards, before, admin.status(task_url))
    return Summary(
        mode=load.mode,
        through_relay=load.through_relay,
        holders=holders,
        outcomes=outcomes,
        counted=counted,
        checksum_matches=matches,
        deliver_seconds=seconds,
        bytes_per_report=task.longest_report,
        cpu_seconds=cpu_seconds,
        memory=memory,
        machine=f"{measured_on()}, both sides together",
    )


def _privatized(task: Task, holders: int, folder: Path, load: Load) -> list[Shard]:
    spool = folder / "spool"
    spool.mkdir()
    shard = load.batch if load.mode == "relay" else SINGLE_SHARD
    columns = (TextColumn("Holders privatize"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, TimeElapsedColumn(), console=console) as progress:
        bar = progress.add_task("", total=holders)
        advance = lambda count: progress.advance(bar, count)  # noqa: E731
        return privatize(task, holders, spool, shard=shard, progress=advance)


def _delivered(
    load: Load,
    admin: CuratorClient,
    task: Task,
    folder: Path,
    shards: list[Shard],
    outcomes: Outcomes,
) -> tuple[float, dict[str, float], dict[str, int]]:
    """Send all reports and wait until the curator has them.

    Returns the seconds until all was counted, and per side the processor's seconds and the
    resident bytes at the end. A relay is started again with a ``least`` of 1, to forward the rest.
    """
    servers = load.processes
    if not load.through_relay:
        before = cpu_of(servers)
        uvloop.run(_sent(load.curator, task, shards, load, outcomes))
        used = {side: cpu - before[side] for side, cpu in cpu_of(servers).items()}
        return outcomes.seconds, used, memory_of(servers)
    spool, counted = folder / "relay", int(admin.status(task.id)["reports"])
    counted += sum(shard.reports for shard in shards)
    with running_relay(spool, load.curator, load.token, least=LEAST, every=EVERY) as relay:
        servers = servers | {"relay": relay.process.pid}
        before = cpu_of(servers)
        uvloop.run(_sent(relay.url, task, shards, load, outcomes))
        wait_for_reports(admin, task.id, counted - LEAST + 1)
        used = {side: cpu - before[side] for side, cpu in cpu_of(servers).items()}
        memory = memory_of(servers)
    with running_relay(spool, load.curator, load.token, least=1, every=EVERY):
        wait_for_reports(admin, task.id, counted)
    return time.perf_counter() - outcomes.started, used, memory


async def _sent(
    server: str, task: Task, shards: list[Shard], load: Load, outcomes: Outcomes
) -> None:
    """Send every report to a server, and show how far it is."""
    is_single = load.mode == "single"
    call, token = ("reports", "") if is_single else ("reports/batch", load.token)
    url = httpx.URL(f"{server}{TASKS}/{task.id}/{call}")
    to = Address(url.host, url.port or 80, url.path, token)
    messages = singles(shards, task, to) if is_single else batches(shards, to)
    sender = Sender(to.host, to.port, messages, outcomes, connections=CONNECTIONS[load.mode])
    columns = (TextColumn("Reports go out"), BarColumn(), MofNCompleteColumn())
    live = TextColumn("{task.fields[live]}")
    with Progress(*columns, live, console=console, auto_refresh=False) as progress:
        bar = progress.add_task("", total=sum(shard.reports for shard in shards), live="")
        sending = asyncio.create_task(sender.run())
        while not sending.done():
            await asyncio.wait([sending], timeout=LOOK_SECONDS)
            p50, p99 = (1000 * s for s in outcomes.quantiles(0.5, 0.99, last=LIVE))
            figures = f"{outcomes.rate:,.0f}/s  p50 {p50:.1f} ms  p99 {p99:.1f} ms"
            figures += f"  refused {outcomes.refused}"
            progress.update(bar, completed=outcomes.acknowledged, live=figures)
            progress.refresh()
        sending.result()


def audit(
    task: Task, shards: Iterable[Shard], before: dict[str, Any], after: dict[str, Any]
) -> tuple[int, bool]:
    """Compare the spooled reports with a task's status before and after they were sent.

    Returns how many reports were counted, and whether their ids are exactly the spooled ones, by
    the curator's checksum.
    """
    expected = sum(checksum(shard.batch(task).ids) for shard in shards)
    counted = int(after["checksum"], 16) - int(before["checksum"], 16)
    matches = (counted - expected) % CHECKSUM_MODULUS == 0
    return int(after["reports"]) - int(before["reports"]), matches


def cpu_of(servers: dict[str, int]) -> dict[str, float]:
    """Processor seconds so far of servers, their workers included, and of this process."""
    families = {side: family_of(process) for side, process in servers.items()}
    families["sender"] = [psutil.Process()]
    return {side: cpu_seconds(family) for side, family in families.items()}


def memory_of(servers: dict[str, int]) -> dict[str, int]:
    """Bytes of servers, their workers included; see ``family_memory``."""
    return {side: family_memory(process) for side, process in servers.items()}


def family_memory(process: int) -> int:
    """Bytes of a process and all that it started: pages that several share count once (PSS)."""
    return sum(member.memory_full_info().pss for member in family_of(process))


def family_of(process: int) -> list[psutil.Process]:
    parent = psutil.Process(process)
    return [parent, *parent.children(recursive=True)]


def cpu_seconds(processes: Iterable[psutil.Process]) -> float:
    times = [process.cpu_times() for process in processes]
    return float(sum(t.user + t.system for t in times))


if __name__ == "__main__":
    typer.run(main)
