"""Predictions over HTTP by a curator of its own on this machine, single and in columns."""

import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import httpx

from bench import traffic
from bench.figures import Effort, Figure, timed
from bench.samples import Floats, records
from privet import CuratorClient
from scripts.load import population
from scripts.servers import running_curator

ROUNDS = {Effort.QUICK: 1, Effort.FULL: 3}
CALLS = {Effort.QUICK: 5, Effort.FULL: 300}
ROWS = {Effort.QUICK: 20, Effort.FULL: 10_000}
REPORTS = {Effort.QUICK: 50, Effort.FULL: 20_000}
ESTIMATORS = ("weighted", "drift")


def answering(effort: Effort) -> Iterator[Figure]:
    """Seconds per call over one kept connection, by a tree alone and by the default estimator."""
    with (
        tempfile.TemporaryDirectory(prefix="privet-bench-") as name,
        running_curator(Path(name)) as curator,
        httpx.Client(timeout=300) as http,
    ):
        admin = CuratorClient(curator.url, curator.token)
        task_url = population.publish(admin, cells=256)
        body = traffic.random_reports(population.fetch(task_url), REPORTS[effort]).pack()
        headers = {"Authorization": f"Bearer {curator.token}"}
        http.post(f"{task_url}/reports/batch", content=body, headers=headers).raise_for_status()
        X = records(ROWS[effort], 2).X
        for estimator in ESTIMATORS:
            model = admin.fit(task_url, estimator)["number"]
            ask = partial(_ask, http, f"{task_url}/predict", model)
            yield from _times(effort, estimator, ask, X)


def _times(effort: Effort, estimator: str, ask: partial[None], X: Floats) -> Iterator[Figure]:
    one = partial(ask, records=[{"x1": 0.2, "x2": 0.7}])
    many = partial(ask, columns={"x1": X[:, 0].tolist(), "x2": X[:, 1].tolist()})
    yield Figure("rest_predict", f"{estimator},first_record", "time", timed(one), "s")
    times = [timed(one) for _ in range(CALLS[effort])]
    yield Figure("rest_predict", f"{estimator},one_record", "time", median(times), "s")
    yield Figure(
        "rest_predict", f"{estimator},one_record", "rate", len(times) / sum(times), "rows/s"
    )
    elapsed, case = (
        min(timed(many) for _ in range(ROUNDS[effort])),
        f"{estimator},columns_of_{len(X)}",
    )
    yield Figure("rest_predict", case, "time", elapsed, "s")
    yield Figure("rest_predict", case, "rate", len(X) / elapsed, "rows/s")


def _ask(http: httpx.Client, url: str, model: int, **asked: Any) -> None:
    http.post(url, json={"model": model, **asked}).raise_for_status()
