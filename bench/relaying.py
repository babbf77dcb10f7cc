"""A relay before a curator: taking reports in, and sending them on.

A relay that forwards nothing yet, the curator and an empty FastAPI route take the same single POSTs
in turn. Then a relay that takes nothing forwards what is in the first one's spool.
"""

import tempfile
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from statistics import median
from urllib.parse import urlsplit

import psutil

from bench.figures import Effort, Figure
from bench.traffic import (
    CONNECTIONS,
    TOKEN,
    curator_server,
    empty_server,
    open_task,
    run_load,
    single_posts,
)
from privet.curator.datastore import open_store
from privet.protocol.task import Task
from scripts.load_test import cpu_seconds
from scripts.servers import RunningRelay, running_relay

ROUNDS = {Effort.QUICK: 1, Effort.FULL: 5}
SINGLES = {Effort.QUICK: 200, Effort.FULL: 20_000}
NEVER, SOON = 3600.0, 3.0
"""Seconds between the rounds of a relay that only takes reports, and of one that begins to forward
when its processor time has been read."""
LOOK_SECONDS, REST_SECONDS, CLOCK = 0.05, 1.0, 0.02
"""Between two looks; without work; about the resolution of processor time."""
MOST_SECONDS = 600.0


def relaying(effort: Effort) -> Iterator[Figure]:
    """Processor time of a relay, beside a curator's and an empty route's."""
    with tempfile.TemporaryDirectory(prefix="privet-bench-") as folder:
        yield from _measured(Path(folder), effort)


def _measured(folder: Path, effort: Effort) -> Iterator[Figure]:
    database, count = f"sqlite:///{folder}/taken.db", SINGLES[effort]
    task = open_task(database)
    work: dict[str, list[float]] = {"empty route": [], "curator": [], "relay": []}
    with empty_server() as empty, curator_server(folder / "curator", database) as curator:
        address, spool = f"http://127.0.0.1:{curator[0]}", folder / "relay"
        with running_relay(spool, address, TOKEN, least=1, every=NEVER) as relay:
            servers = {"empty route": empty, "curator": curator, "relay": _server(relay)}
            for _ in range(ROUNDS[effort]):
                for name, (port, pid) in servers.items():
                    requests, before = single_posts(task, count), _used(pid)
                    run_load([port], requests, CONNECTIONS)
                    work[name].append((_used(pid) - before) / count * 1e6)
        for name, used in work.items():
            yield _figure(f"taking,{name}", "processor", median(used), "us/report")
        over = median(work["relay"]) / max(median(work["curator"]), 1.0)
        yield _figure("taking,relay", "over_curator", over, "x")
        held = count * ROUNDS[effort]
        with running_relay(spool, address, TOKEN, least=1, every=SOON) as relay:
            before = _used(relay.process.pid)
            _wait_for(database, task, 2 * held)
            _wait_until_settled(relay.process.pid)
            spent = (_used(relay.process.pid) - before) / held * 1e6
        yield _figure("forwarding", "processor", spent, "us/report")


def _figure(case: str, what: str, value: float, unit: str) -> Figure:
    return Figure("relaying", case, what, value, unit)


def _server(relay: RunningRelay) -> tuple[int, int]:
    port = urlsplit(relay.url).port
    assert port is not None
    return port, relay.process.pid


def _used(pid: int) -> float:
    return cpu_seconds([psutil.Process(pid)])


def _wait_until_settled(pid: int) -> None:
    """Wait until a relay has noted what became of its reports, and does nothing more."""
    before = -1.0
    while _used(pid) - before > CLOCK:
        before = _used(pid)
        time.sleep(REST_SECONDS)


def _wait_for(database: str, task: Task, reports: int) -> None:
    """Wait until so many are counted, and no more; raise ``RuntimeError`` otherwise."""
    deadline = time.monotonic() + MOST_SECONDS
    with closing(open_store(database)) as store:
        while (counted := store.standing.read(task.id).reports) < reports:
            if time.monotonic() > deadline:
                break
            time.sleep(LOOK_SECONDS)
    if counted != reports:
        msg = f"of {reports} reports of the benchmark {counted} were counted"
        raise RuntimeError(msg)
