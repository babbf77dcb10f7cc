"""Taking reports in over HTTP, durably, by curators of its own on this machine.

Singles are compared with a FastAPI route that reads the body and answers, by runs that alternate
and their medians, and so is a task that shows a column with one that hides it. In a full run two
curators share a PostgreSQL database as well, and memory is watched over 10^7 reports: that of the
server and all that it started, in pages of which shared ones count once.
"""

import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median

import psutil

from bench.figures import Effort, Figure
from bench.traffic import (
    CATEGORIES,
    CONNECTIONS,
    batch_post,
    check_counted,
    curator_server,
    empty_server,
    open_task,
    run_load,
    single_posts,
)
from privet.protocol.task import Task
from scripts.load.sender import Outcomes, QueuedPost
from scripts.load_test import cpu_seconds, family_memory
from scripts.postgres import postgres_server

ROUNDS = {Effort.QUICK: 1, Effort.FULL: 5}
SINGLES = {Effort.QUICK: 200, Effort.FULL: 20_000}
BATCH = {Effort.QUICK: 1_000, Effort.FULL: 100_000}
MORE_CONNECTIONS = 256
DISCLOSING_CATEGORIES = 64
CLOCK = 0.01
"""Seconds, the resolution of processor time."""
AT_A_TIME = 3
"""Batches under way at the same time."""
MANY_SINGLES, MANY = 1_000_000, 10_000_000


def intake(effort: Effort) -> Iterator[Figure]:
    """Rates and processor time; with full effort two curators and memory as well."""
    measurements = [singles, batches, disclosed_columns]
    measurements += [two_curators, memory] if effort is Effort.FULL else []
    for measure in measurements:
        with tempfile.TemporaryDirectory(prefix="privet-bench-") as folder:
            yield from measure(Path(folder), effort)


def singles(folder: Path, effort: Effort) -> Iterator[Figure]:
    """Durable single POSTs and the empty route, same client, alternating."""
    database, count = f"sqlite:///{folder}/singles.db", SINGLES[effort]
    task = open_task(database)
    with empty_server() as empty, curator_server(folder, database) as curator:
        for connections in (CONNECTIONS, MORE_CONNECTIONS):
            runs: dict[str, list[Outcomes]] = {"empty route": [], "single": []}
            work: dict[str, list[float]] = {"empty route": [], "single": []}
            for _ in range(ROUNDS[effort]):
                for name, (port, pid) in (("empty route", empty), ("single", curator)):
                    requests, server = single_posts(task, count), [psutil.Process(pid)]
                    before = cpu_seconds(server)
                    runs[name].append(_sent([port], requests, connections))
                    work[name].append((cpu_seconds(server) - before) / count * 1e6)
            rates = {name: median(load.rate for load in loads) for name, loads in runs.items()}
            for name in runs:
                case = f"{name},connections={connections}"
                yield _figure(case, "rate", rates[name], "reports/s")
                yield _figure(case, "processor", median(work[name]), "us/report")
            over = rates["empty route"] / rates["single"]
            yield _figure(f"single,connections={connections}", "over_empty_route", over, "x")


def batches(folder: Path, effort: Effort) -> Iterator[Figure]:
    """Batches over HTTP, some of them under way at the same time; size of the database."""
    database, count, rounds = f"sqlite:///{folder}/batches.db", BATCH[effort], ROUNDS[effort]
    task = open_task(database)
    with curator_server(folder, database) as (port, pid):
        before = cpu_seconds([psutil.Process(pid)])
        rates = [_batch_round(port, task, count, AT_A_TIME) for _ in range(rounds)]
        used = cpu_seconds([psutil.Process(pid)]) - before
    sent = rounds * 2 * AT_A_TIME * count
    check_counted(database, task, sent)
    case = f"batch={count},categories={CATEGORIES}"
    yield _figure(case, "rate", median(rates), "reports/s")
    yield _figure(case, "processor", used / sent * 1e6, "us/report")
    size = sum(path.stat().st_size for path in folder.glob("batches.db*"))
    yield _figure(case, "database", size / sent, "B/report")


def disclosed_columns(folder: Path, effort: Effort) -> Iterator[Figure]:
    """Processor time of a task that shows its only column, over that of one that hides it."""
    database, singles, batch = f"sqlite:///{folder}/disclosed.db", SINGLES[effort], BATCH[effort]
    tasks = [
        open_task(database, DISCLOSING_CATEGORIES, disclosed=disclosed)
        for disclosed in (False, True)
    ]
    used: dict[str, list[list[float]]] = {"single": [], f"batch={batch}": []}
    with curator_server(folder, database) as (port, pid):
        server = [psutil.Process(pid)]
        for _ in range(ROUNDS[effort]):
            for case, work in used.items():
                of_task = []
                for task in tasks:
                    before = cpu_seconds(server)
                    if case == "single":
                        _sent([port], single_posts(task, singles), CONNECTIONS)
                    else:
                        _batch_round(port, task, batch, AT_A_TIME)
                    of_task.append(max(cpu_seconds(server) - before, CLOCK))
                work.append(of_task)
    for case, work in used.items():
        ratio = median(disclosed / hidden for hidden, disclosed in work)
        yield _figure(f"disclosed,{case}", "over_hidden", ratio, "x")


def two_curators(folder: Path, effort: Effort) -> Iterator[Figure]:
    """Single POSTs to one curator and to two, over one PostgreSQL database."""
    count = SINGLES[effort]
    one, two = [], []
    with (
        postgres_server() as server,
        curator_server(folder / "first", server.url) as (first, _),
        curator_server(folder / "second", server.url) as (second, _),
    ):
        task = open_task(server.url)
        for _ in range(ROUNDS[effort]):
            one.append(_sent([first], single_posts(task, count), CONNECTIONS).rate)
            two.append(_sent([first, second], single_posts(task, count), CONNECTIONS).rate)
    yield _figure("single,postgresql,1 curator", "rate", median(one), "reports/s")
    yield _figure("single,postgresql,2 curators", "rate", median(two), "reports/s")


def memory(folder: Path, effort: Effort) -> Iterator[Figure]:
    """Memory of a curator after 10^6 single reports, and 10^7 in batches."""
    database, batch = f"sqlite:///{folder}/memory.db", BATCH[effort] // 4
    task, sent = open_task(database), 0
    with curator_server(folder, database) as (port, pid):
        while sent < MANY_SINGLES:
            _sent([port], single_posts(task, SINGLES[effort]), MORE_CONNECTIONS)
            sent += SINGLES[effort]
        size = family_memory(pid) / 2**20
        yield _figure(f"after {sent:.0e} single reports", "memory", size, "MiB")
        while sent < MANY:
            _batch_round(port, task, batch, 1)
            sent += 2 * batch
        size = family_memory(pid) / 2**20
        yield _figure(f"after {sent:.0e} reports", "memory", size, "MiB")
    check_counted(database, task, sent)


def _figure(case: str, what: str, value: float, unit: str) -> Figure:
    return Figure("intake", case, what, value, unit)


def _sent(ports: Sequence[int], messages: Sequence[QueuedPost], connections: int) -> Outcomes:
    """All messages sent over all ports at once; connections are shared out between them."""
    load = run_load(ports, messages, connections)
    if set(load.answers) != {201}:
        msg = f"a report of the benchmark was refused: {dict(load.answers)}"
        raise RuntimeError(msg)
    return load


def _batch_round(port: int, task: Task, count: int, at_a_time: int) -> float:
    """Reports per second of two rounds of batches, ``at_a_time`` under way."""
    messages = [batch_post(task, count) for _ in range(2 * at_a_time)]
    return run_load([port], messages, at_a_time).rate
