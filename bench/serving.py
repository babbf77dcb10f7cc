"""A curator of its own over HTTP on this machine: taking reports in, and predicting."""

import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

import httpx

from bench import intake
from bench.figures import Effort, Figure, Work
from bench.http_load import Load, run_load
from bench.samples import records
from protocol.task import Task
from scripts.collection import Admin
from scripts.load import population
from scripts.servers import running_curator

ROUNDS = {Effort.TINY: 1, Effort.QUICK: 2, Effort.FULL: 3}
SINGLES = {Effort.TINY: 100, Effort.QUICK: 5_000, Effort.FULL: 20_000}
BATCH = {Effort.TINY: 50, Effort.QUICK: 20_000, Effort.FULL: 100_000}
CALLS = {Effort.TINY: 5, Effort.QUICK: 100, Effort.FULL: 500}
ROWS = {Effort.TINY: 20, Effort.QUICK: 10_000, Effort.FULL: 10_000}


def taking_in(effort: Effort) -> Iterator[Figure]:
    """Durable reports per second: one per POST, beside a route that does nothing; in batches."""
    with tempfile.TemporaryDirectory(prefix="privet-bench-") as name:
        database = f"sqlite:///{name}/intake.db"
        task = intake.open_task(database)
        settings = {"PRIVET_DATABASE": database}
        with (
            intake.serving("bench.intake:empty_app", {}) as (empty, _),
            intake.serving("bench.intake:curator_app", settings) as (port, _),
        ):
            yield from _singles(task, empty, port, effort)
            yield _batches(task, port, effort)
        taken = ROUNDS[effort] * (SINGLES[effort] + BATCH[effort])
        size = sum(path.stat().st_size for path in Path(name).glob("intake.db*"))
        case = f"sqlite,reports={taken}"
        yield Figure("intake", case, "database", size / taken, "B/report")


def answering(effort: Effort) -> Iterator[Figure]:
    """Predictions by POST over one kept connection: one record, and rows in columns."""
    with (
        tempfile.TemporaryDirectory(prefix="privet-bench-") as name,
        running_curator(Path(name)) as curator,
        httpx.Client(timeout=120) as http,
    ):
        admin = Admin(curator.url, curator.token)
        path = population.publish(admin, cells=256, epsilon=1.0)
        admin.fit(path, "public")
        X = records(ROWS[effort], 2).X
        ask = partial(_ask, http, f"{path}/predict")
        one = {"records": [{"x1": 0.2, "x2": 0.7}]}
        times = [_timed(partial(ask, one)) for _ in range(CALLS[effort])]
        yield Figure("rest_predict", "one_record", "time", median(times), "s")
        yield Figure("rest_predict", "one_record", "rate", len(times) / sum(times), "rows/s")
        many = {"columns": {"x1": X[:, 0].tolist(), "x2": X[:, 1].tolist()}}
        taken = min(_timed(partial(ask, many)) for _ in range(ROUNDS[effort]))
        yield Figure("rest_predict", f"columns_of_{len(X)}", "time", taken, "s")
        yield Figure("rest_predict", f"columns_of_{len(X)}", "rate", len(X) / taken, "rows/s")


def _singles(task: Task, empty: int, port: int, effort: Effort) -> Iterator[Figure]:
    runs: dict[int, list[Load]] = {empty: [], port: []}
    for _ in range(ROUNDS[effort]):
        for target, loads in runs.items():
            requests = intake.single_posts(task, SINGLES[effort])
            loads.append(run_load([target], requests, intake.CONNECTIONS))
    if any(set(load.statuses) != {201} for load in (*runs[empty], *runs[port])):
        msg = "a report of the benchmark was refused"
        raise RuntimeError(msg)
    rate, most = (median(load.rate for load in runs[target]) for target in (port, empty))
    case = f"single,categories={intake.CATEGORIES}"
    yield Figure("intake", case, "rate", rate, "reports/s")
    yield Figure("intake", case, "p99", median(r.percentile(99) for r in runs[port]), "ms")
    yield Figure("intake", case, "over_empty_route", most / rate, "x")


def _batches(task: Task, port: int, effort: Effort) -> Figure:
    url = f"http://127.0.0.1:{port}/v1/tasks/{task.id}/reports/batch"
    times = []
    with httpx.Client(timeout=120) as http:
        for _ in range(ROUNDS[effort]):
            body = intake.batch(task, BATCH[effort])
            times.append(_timed(partial(_send, http, url, body, BATCH[effort])))
    case = f"batch={BATCH[effort]},categories={intake.CATEGORIES}"
    return Figure("intake", case, "rate", BATCH[effort] / median(times), "reports/s")


def _send(http: httpx.Client, url: str, body: bytes, count: int) -> None:
    if http.post(url, content=body).json()["counted"] != count:
        msg = "a batch of the benchmark was not counted whole"
        raise RuntimeError(msg)


def _ask(http: httpx.Client, url: str, body: dict[str, Any]) -> None:
    http.post(url, json=body).raise_for_status()


def _timed(work: Work) -> float:
    started = perf_counter()
    work()
    return perf_counter() - started
