"""Simulated holders against a curator: rate, latency, and that no report is lost or doubled.

First every holder privatizes its own record, in worker processes, into a spool on disk; then the
reports are sent as fast as they are taken. Without ``--task`` a curator is started, with its
database in a temporary folder; with ``--through-relay`` a relay as well, which the reports go
through. Ctrl-C ends the sending: what is in flight is waited for, then checked and summed up.
"""

import os
import platform
import signal
import tempfile
import time
from contextlib import ExitStack
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Annotated, Literal

import typer

from privet.protocol.report import Report
from privet.protocol.task import Task
from scripts.load import people, population
from scripts.load.audit import audit
from scripts.load.meter import children_cpu
from scripts.load.outcomes import Outcomes
from scripts.load.run import Load, console, fetch, privatize, status
from scripts.load.spool import groups
from scripts.load.stage import Target, deliver, open_target
from scripts.load.summary import Summary, write
from scripts.load.traffic import Mischief
from scripts.pages import fill

PERFORMANCE = Path("docs/performance.md")
CONNECTIONS = {"single": 256, "relay": 2}
INTERRUPTED = 130


def main(
    holders: Annotated[int, typer.Option(min=1, help="Holders that answer.")] = 1_000_000,
    mode: Annotated[
        Literal["single", "relay"], typer.Option(help="One POST per holder, or a relay's batches.")
    ] = "single",
    task: Annotated[str, typer.Option(help="A task's address; by default one is made.")] = "",
    cells: Annotated[int, typer.Option(min=2, help="Cells of the task that is made.")] = 256,
    epsilon: Annotated[float, typer.Option(help="Epsilon of the task that is made.")] = 1.0,
    data: Annotated[
        Path | None, typer.Option(help="CSV to draw a given task's records from.")
    ] = None,
    through_relay: Annotated[
        bool, typer.Option("--through-relay", help="Send to a relay in front of the curator.")
    ] = False,
    connections: Annotated[
        int, typer.Option(min=0, help="Connections kept open; 0 takes what suits the mode.")
    ] = 0,
    depth: Annotated[int, typer.Option(min=1, help="Requests in flight on each.")] = 1,
    batch: Annotated[int, typer.Option(min=1, help="Reports per batch.")] = 50_000,
    workers: Annotated[int, typer.Option(min=1, help="Processes of the curator.")] = 1,
    duplicates: Annotated[float, typer.Option(min=0, max=100, help="% sent twice.")] = 0.0,
    malformed: Annotated[float, typer.Option(min=0, max=100, help="% broken as well.")] = 0.0,
    slow: Annotated[float, typer.Option(min=0, max=100, help="% sent slowly.")] = 0.0,
    retries: Annotated[
        float, typer.Option(min=0, max=100, help="% that hang up before the answer and try again.")
    ] = 0.0,
    seed: Annotated[int, typer.Option(help="Seed of records and mischief.")] = 0,
    out: Annotated[Path, typer.Option(help="Folder for the report.")] = Path("privet-data/load"),
    write_docs: Annotated[
        bool, typer.Option("--write-docs", help=f"Put the table into {PERFORMANCE} as well.")
    ] = False,
) -> None:
    """Run the load test; exit status 1 if a report was lost or counted twice, 130 after Ctrl-C."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    mischief = Mischief(duplicates / 100, malformed / 100, slow / 100, retries / 100)
    load = Load(mode, connections or CONNECTIONS[mode], depth, batch, mischief, seed)
    with tempfile.TemporaryDirectory(prefix="privet-load-") as name, ExitStack() as stack:
        try:
            settings = {"workers": str(workers)}
            target = stack.enter_context(open_target(task, Path(name), cells, epsilon, settings))
            summary = _run(target, holders, _source(task, data), load, through_relay)
        except KeyboardInterrupt:
            console.print("Interrupted before any report was sent: there is nothing to sum up.")
            raise typer.Exit(INTERRUPTED) from None
    console.print(summary.table())
    for path in write(summary, out):
        console.print(f"[dim]wrote {path}[/dim]")
    if write_docs:
        section = f"load {mode} through relay" if through_relay else f"load {mode}"
        fill(PERFORMANCE, {section: summary.markdown()})
    raise typer.Exit(1 if not summary.is_clean else INTERRUPTED if summary.interrupted else 0)


def _run(
    target: Target, holders: int, source: people.Source, load: Load, through_relay: bool
) -> Summary:
    task, started, outcomes = fetch(target.task_url), time.perf_counter(), Outcomes()
    cpu = children_cpu()
    shards = privatize(task, holders, target.folder, source, load)
    answer_seconds, answer_cpu = time.perf_counter() - started, children_cpu() - cpu
    before = status(target.task_url)
    delivery = deliver(target, task, shards, load, outcomes, through_relay=through_relay)
    after = status(target.task_url)
    found = audit(shards, before, after, sent=outcomes.sent, acknowledged=outcomes.acknowledged)
    p50, p99, p999 = outcomes.quantiles(0.5, 0.99, 0.999)
    sides = delivery.use.memory
    return Summary(
        mode=load.mode,
        through_relay=through_relay,
        interrupted=not delivery.finished,
        holders=holders,
        sent=outcomes.sent,
        acknowledged=outcomes.acknowledged,
        counted=int(after["reports"]) - int(before["reports"]),
        answer_seconds=answer_seconds,
        answer_cpu=answer_cpu,
        send_seconds=outcomes.seconds,
        deliver_seconds=delivery.seconds,
        p50=p50,
        p99=p99,
        p999=p999,
        bytes_per_report=_bytes_per_report(task),
        answers={f"{kind} {status}": n for (kind, status), n in outcomes.answers.items()},
        retries=outcomes.retries,
        reconnects=outcomes.reconnects,
        lost=found.lost,
        doubled=found.doubled,
        checksum_matches=found.checksum_matches,
        cpu_seconds=delivery.use.cpu,
        peak_memory={side: delivery.use.peak(side) for side in sides},
        memory_growth={side: delivery.use.growth(side) for side in sides},
        limited_by=delivery.use.limit(delivery.seconds),
        machine=_machine(),
        accuracy=_accuracy(target, task, holders) if delivery.finished else {},
    )


def _source(task: str, data: Path | None) -> people.Source:
    if data is not None:
        return partial(people.rows_of, data)
    return people.uniform if task else population.people


def _accuracy(target: Target, task: Task, holders: int) -> dict[str, float]:
    """Accuracies of the task that we made ourselves; none if they are not waited for."""
    if target.admin is None:
        return {}
    try:
        return population.accuracies(target.admin, target.task_url, task, holders)
    except KeyboardInterrupt:
        return {}


def _bytes_per_report(task: Task) -> float:
    """Mean length of a report's body over the groups that a holder may belong to."""
    lengths = [
        len(
            Report(
                task=bytes.fromhex(task.id),
                id=bytes(16),
                answers=tuple((q, bytes(task.mechanisms[q].report_bytes)) for q in questions),
            ).pack()
        )
        for questions in groups(task)
    ]
    return sum(lengths) / len(lengths)


def _machine() -> str:
    cpuinfo = Path("/proc/cpuinfo")
    lines = cpuinfo.read_text().splitlines() if cpuinfo.exists() else []
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    model = models[0] if models else platform.machine()
    today = datetime.now(UTC).date()
    return f"Measured {today} on {model}, {os.cpu_count()} cores, both sides together"


if __name__ == "__main__":
    typer.run(main)
