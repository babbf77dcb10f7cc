"""Taking reports in over HTTP by a curator of its own on this machine."""

import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from statistics import median

import httpx

from bench import traffic
from bench.figures import Effort, Figure, timed
from bench.http_load import Load, run_load
from privet.protocol.task import Task

ROUNDS = {Effort.TINY: 1, Effort.QUICK: 2, Effort.FULL: 3}
SINGLES = {Effort.TINY: 100, Effort.QUICK: 5_000, Effort.FULL: 20_000}
BATCH = {Effort.TINY: 50, Effort.QUICK: 20_000, Effort.FULL: 100_000}


def taking_in(effort: Effort) -> Iterator[Figure]:
    """Durable reports per second: one per POST, beside a route that does nothing; in batches."""
    with tempfile.TemporaryDirectory(prefix="privet-bench-") as name:
        database = f"sqlite:///{name}/intake.db"
        task = traffic.open_task(database)
        with (
            traffic.empty_server() as (empty, _),
            traffic.curator_server(Path(name), database) as (port, _),
        ):
            yield from _singles(task, empty, port, effort)
            yield _batches(task, port, effort)
        taken = ROUNDS[effort] * (SINGLES[effort] + BATCH[effort])
        size = sum(path.stat().st_size for path in Path(name).glob("intake.db*"))
        case = f"sqlite,reports={taken}"
        yield Figure("intake", case, "database", size / taken, "B/report")


def _singles(task: Task, empty: int, port: int, effort: Effort) -> Iterator[Figure]:
    runs: dict[int, list[Load]] = {empty: [], port: []}
    for _ in range(ROUNDS[effort]):
        for target, loads in runs.items():
            requests = traffic.single_posts(task, SINGLES[effort])
            loads.append(run_load([target], iter(requests), traffic.CONNECTIONS))
    if any(set(load.statuses) != {201} for load in (*runs[empty], *runs[port])):
        msg = "a report of the benchmark was refused"
        raise RuntimeError(msg)
    rate, most = (median(load.rate for load in runs[target]) for target in (port, empty))
    case = f"single,categories={traffic.CATEGORIES}"
    yield Figure("intake", case, "rate", rate, "reports/s")
    yield Figure("intake", case, "p99", median(r.percentile(99) for r in runs[port]), "ms")
    yield Figure("intake", case, "over_empty_route", most / rate, "x")


def _batches(task: Task, port: int, effort: Effort) -> Figure:
    url = f"http://127.0.0.1:{port}/v1/tasks/{task.id}/reports/batch"
    times = []
    with httpx.Client(timeout=120) as http:
        for _ in range(ROUNDS[effort]):
            body = traffic.batch(task, BATCH[effort])
            times.append(timed(partial(_send, http, url, body, BATCH[effort])))
    case = f"batch={BATCH[effort]},categories={traffic.CATEGORIES}"
    return Figure("intake", case, "rate", BATCH[effort] / median(times), "reports/s")


def _send(http: httpx.Client, url: str, body: bytes, count: int) -> None:
    if http.post(url, content=body).json()["counted"] != count:
        msg = "a batch of the benchmark was not counted whole"
        raise RuntimeError(msg)
