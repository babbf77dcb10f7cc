"""Growth of intake with processes: curators over one PostgreSQL, relays in front of one curator.

Each server has a sending process of its own. A full run takes as many servers as the machine has
processors for, up to eight; where there are two, read a ratio together with the waits for locks
and the processor time, since servers, senders and the database share them.
"""

import multiprocessing
import os
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from queue import Queue
from statistics import median
from typing import Any

import psutil
import psycopg

from bench.figures import Effort, Figure
from bench.traffic import (
    TOKEN,
    batch_post,
    check_counted,
    curator_server,
    open_task,
    run_load,
    single_posts,
)
from privet.protocol.task import Task
from scripts.load.sender import QueuedPost
from scripts.load_test import cpu_seconds
from scripts.postgres import PostgresServer, postgres_server
from scripts.servers import running_relay

SINGLES = {Effort.QUICK: 200, Effort.FULL: 20_000}
"""Reports that each sender sends one by one."""
BATCHES = {Effort.QUICK: (2, 5_000), Effort.FULL: (12, 100_000)}
"""Batches of each sender, and their size."""
SINGLES_AT_ONCE, BATCHES_AT_ONCE = 64, 2
"""Connections of each sender."""
MOST_SERVERS = 8
CORES_OF_A_SERVER = 2
"""Processors for a server with its sender and its share of the database."""
LOOK_SECONDS = 0.01
SETTINGS = ("max_connections=200", "shared_buffers=512MB", "max_wal_size=8GB")
WAITING = """
SELECT count(*) FILTER (WHERE wait_event_type = 'Lock'), count(*) FROM pg_stat_activity
WHERE application_name LIKE 'privet curator%' AND state <> 'idle'
"""
LOG_POSITION = "SELECT pg_current_wal_insert_lsn() - '0/0'::pg_lsn"


@dataclass
class DatabaseWork:
    """The work of a PostgreSQL server during a measurement."""

    processor: float = 0.0
    """Seconds."""
    log: int = 0
    """Bytes."""
    waits: list[float] = field(default_factory=list)
    """The share of sessions that waited for a lock, each time that any was at work."""


def scaling(effort: Effort) -> Iterator[Figure]:
    """Rates by number of servers, and what one more adds."""
    for measure in (curators, relays):
        rates: dict[str, float] = {}
        for count in server_counts(effort):
            with tempfile.TemporaryDirectory(prefix="privet-bench-") as folder:
                for figure in measure(Path(folder), effort, count):
                    yield figure
                    what = figure.case.partition(",")[2]
                    if figure.what == "rate":
                        one = rates.setdefault(what, figure.value)
                        if count > 1:
                            times = figure.value / one
                            yield Figure("scaling", figure.case, "times_one", times, "times")


def server_counts(effort: Effort) -> list[int]:
    """1, 2, 4 and 8, as far as there are processors; at least 1 and 2."""
    room = 1 if effort is Effort.QUICK else (os.cpu_count() or 1) // CORES_OF_A_SERVER
    return [count for count in (1, 2, 4, MOST_SERVERS) if count <= max(room, 2)]


def curators(folder: Path, effort: Effort, count: int) -> Iterator[Figure]:
    """Curators that share a PostgreSQL database: singles, then batches of other tasks."""
    with ExitStack() as stack:
        server = stack.enter_context(postgres_server(*SETTINGS))
        started = [
            stack.enter_context(curator_server(folder / str(number), server.url))
            for number in range(count)
        ]
        ports, pids = [port for port, _ in started], [pid for _, pid in started]
        batches, size = BATCHES[effort]
        for case, each, at_once in (
            ("singles", SINGLES[effort], SINGLES_AT_ONCE),
            (f"batches of {size}", batches, BATCHES_AT_ONCE),
        ):
            task = open_task(server.url)
            before = cpu_seconds(_processes(pids))
            with watching(server) as work:
                sent = send(ports, task, each, at_once, 1 if case == "singles" else size)
            used = cpu_seconds(_processes(pids)) - before
            check_counted(server.url, task, sent.reports)
            yield from _figures(f"{_number(count, 'curator')},{case}", sent, used)
            name = f"{_number(count, 'curator')},{case}"
            per_report = work.processor / sent.reports * 1e6
            yield Figure("scaling", name, "postgresql", per_report, "us/report")
            yield Figure("scaling", name, "log", work.log / sent.reports, "B/report")
            waits = 100 * sum(work.waits) / max(len(work.waits), 1)
            yield Figure("scaling", name, "waiting_for_locks", waits, "%")


def relays(folder: Path, effort: Effort, count: int) -> Iterator[Figure]:
    """Relays that forward to one curator, over SQLite, until it has counted all."""
    database = f"sqlite:///{folder}/curator.db"
    with ExitStack() as stack:
        task = open_task(database)
        port, _ = stack.enter_context(curator_server(folder / "curator", database))
        curator, least = f"http://127.0.0.1:{port}", min(1_000, SINGLES[effort])
        started = [
            stack.enter_context(
                running_relay(folder / str(number), curator, TOKEN, least=least, every=0.2)
            )
            for number in range(count)
        ]
        ports = [int(relay.url.rsplit(":", 1)[1]) for relay in started]
        pids = [relay.process.pid for relay in started]
        before, begun = cpu_seconds(_processes(pids)), time.perf_counter()
        sent = send(ports, task, SINGLES[effort], SINGLES_AT_ONCE, 1)
        while not _are_counted(database, task, sent.reports):
            time.sleep(LOOK_SECONDS)
        sent.seconds = time.perf_counter() - begun
        used = cpu_seconds(_processes(pids)) - before
        yield from _figures(f"{_number(count, 'relay')},until counted", sent, used)


@dataclass
class Sent:
    """The messages of all senders of a measurement."""

    reports: int
    seconds: float
    median: float
    """Seconds until an answer, the longest of the senders' medians."""


def send(ports: Sequence[int], task: Task, each: int, at_once: int, size: int) -> Sent:
    """``each`` messages of ``size`` reports to every port, by processes that begin together.

    Raises ``RuntimeError`` if one was refused.
    """
    context: Any = multiprocessing.get_context("fork")
    ready, results = context.Barrier(len(ports)), context.Queue()
    parts = [(port, task, each, at_once, size, ready, results) for port in ports]
    senders = [context.Process(target=_send, args=part) for part in parts]
    for sender in senders:
        sender.start()
    rows = [results.get(timeout=600) for _ in senders]
    for sender in senders:
        sender.join()
    reports, begun, ended, medians, refused = zip(*rows, strict=True)
    if any(refused):
        msg = f"{sum(refused)} messages of the benchmark were refused"
        raise RuntimeError(msg)
    return Sent(sum(reports), max(ended) - min(begun), max(medians))


def _send(
    port: int, task: Task, each: int, at_once: int, size: int, ready: Any, results: Queue[Any]
) -> None:
    messages: list[QueuedPost] = (
        single_posts(task, each) if size == 1 else [batch_post(task, size) for _ in range(each)]
    )
    ready.wait()
    load = run_load([port], messages, at_once)
    results.put(
        (load.acknowledged, load.started, load.finished, median(load.latencies), load.refused)
    )


@contextmanager
def watching(server: PostgresServer) -> Iterator[DatabaseWork]:
    """Watch a server; what it did is known when the context ends."""
    work, ended = DatabaseWork(), threading.Event()

    def look() -> None:
        with psycopg.connect(server.url, autocommit=True) as connection:
            while not ended.wait(LOOK_SECONDS):
                waiting, at_work = connection.execute(WAITING).fetchone() or (0, 0)
                if at_work:
                    work.waits.append(waiting / at_work)

    watcher = threading.Thread(target=look)
    with psycopg.connect(server.url, autocommit=True) as connection:
        ((begun,),) = connection.execute(LOG_POSITION).fetchall()
        before = _with_sessions(server.pid)
        watcher.start()
        try:
            yield work
        finally:
            ended.set()
            watcher.join()
        work.processor = _with_sessions(server.pid) - before
        ((now,),) = connection.execute(LOG_POSITION).fetchall()
        work.log = int(now - begun)


def _figures(case: str, sent: Sent, used: float) -> Iterator[Figure]:
    yield Figure("scaling", case, "rate", sent.reports / sent.seconds, "reports/s")
    yield Figure("scaling", case, "p50", 1e3 * sent.median, "ms")
    yield Figure("scaling", case, "processor", used / sent.reports * 1e6, "us/report")


def _are_counted(database: str, task: Task, reports: int) -> bool:
    try:
        check_counted(database, task, reports)
    except RuntimeError:
        return False
    return True


def _with_sessions(pid: int) -> float:
    """Processor seconds of a database server and of its sessions, also of those that have ended."""
    server = psutil.Process(pid)
    seconds = 0.0
    for session in server.children():
        with suppress(psutil.NoSuchProcess):
            seconds += cpu_seconds([session])
    times = server.cpu_times()
    return seconds + float(sum(times[:2]) + times.children_user + times.children_system)


def _processes(pids: Sequence[int]) -> list[psutil.Process]:
    return [psutil.Process(pid) for pid in pids]


def _number(count: int, what: str) -> str:
    return f"{count} {what}" if count == 1 else f"{count} {what}s"
