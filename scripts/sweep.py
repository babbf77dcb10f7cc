"""Simulated collections by the hundred, on all cores here or on a cluster elsewhere.

    source = DesignSource()
    jobs = grid(holders=[10**6, 10**9], epsilon=[0.5, 1.0], seed=range(10))
    outcomes = sweep(source, jobs)

What a job gives depends on the source, the settings and the job alone, never on the worker, the
order, or the other jobs: its random numbers are seeded by the job's own content. The world, in
particular the public records, depends on the job's seed only, so that jobs compare on equal worlds.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from hashlib import sha256
from itertools import product
from time import perf_counter
from typing import Any, Literal

import numpy as np
from joblib import Parallel, delayed, parallel_config
from numpy.typing import NDArray

from privet.curator.estimation import Model, fit
from privet.curator.publishing.build import build_task, encode_labels
from privet.curator.publishing.settings import TaskSettings
from privet.curator.publishing.table import Columns
from privet.curator.simulation import simulate_counts
from privet.protocol.features import Classes, encode_table
from privet.protocol.task import Task
from scripts.populations import Source, World

Floats = NDArray[np.float64]
Backend = Literal["loky", "threading", "dask"]

ESTIMATOR = "averaged"
TASK_FIELDS = ("epsilon", "depth", "grower", "mechanism")


@dataclass(frozen=True)
class Job:
    """One simulated collection; what is None is left to the task's settings and their defaults."""

    seed: int = 0
    holders: int = 1_000_000
    epsilon: float | None = None
    depth: int | None = None
    grower: str | None = None
    mechanism: str | None = None
    estimator: str = ESTIMATOR

    @property
    def entropy(self) -> int:
        """What the job's random numbers are seeded by."""
        content = json.dumps(asdict(self), sort_keys=True)
        return int.from_bytes(sha256(content.encode()).digest())


@dataclass(frozen=True)
class Outcome:
    """How good the model of one job is on the test records: accuracy, or mean squared error.

    ``public_score`` is that of the public counts alone, in the first question's cells.
    ``report_bytes`` is the length of all answers to the task's questions.
    """

    job: Job
    measure: Literal["accuracy", "mse"]
    score: float
    public_score: float
    cells: int
    report_bytes: int
    seconds: float = field(compare=False)

    def row(self) -> dict[str, Any]:
        """The job and what came of it, in one flat dict."""
        row = asdict(self)
        return {**row.pop("job"), **row}


def grid(**values: Sequence[Any]) -> list[Job]:
    """A job for every combination of values; names are those of ``Job``."""
    return [Job(**dict(zip(values, found, strict=True))) for found in product(*values.values())]


def sweep(
    source: Source,
    jobs: Sequence[Job],
    settings: Mapping[str, Any] | None = None,
    *,
    backend: Backend | None = None,
    scheduler: str | None = None,
    workers: int = -1,
) -> list[Outcome]:
    """What came of each job, in the order of ``jobs``.

    ``settings`` are those of a task, by name; jobs override them. Without a ``backend`` the one
    that joblib is configured for is used. ``dask`` needs the ``scheduler``'s address.
    """
    run = delayed(simulate)
    with _workers(backend, scheduler, workers if len(jobs) > 1 else 1, source):
        return list(Parallel()(run(source, job, settings) for job in jobs))


def simulate(source: Source, job: Job, settings: Mapping[str, Any] | None = None) -> Outcome:
    """Publish a task, let all holders answer, fit, and judge.

    Holders are drawn independently from the world's people. Raises ``PrivetError`` for settings
    or data that no task can be made of.
    """
    started, world = perf_counter(), _world(source, job.seed)
    task, public = build_task(_task_settings(world, job, settings or {}), world.public)
    rng = np.random.default_rng(job.entropy)
    X, y = _encoded(task, world.people)
    copies = rng.multinomial(job.holders, world.people_weights)
    questions = simulate_counts(task, X, y, rng, copies=copies)
    model = fit(job.estimator, task.label, public, questions)
    test = _encoded(task, world.test) if world.test is not world.people else (X, y)
    return Outcome(
        job=job,
        measure="accuracy" if isinstance(task.label, Classes) else "mse",
        score=_score(model, *test, world.test_weights),
        public_score=_score(
            fit("public", task.label, public, questions[:1]), *test, world.test_weights
        ),
        cells=model.partition.cells,
        report_bytes=sum(mechanism.report_bytes for mechanism in task.mechanisms),
        seconds=perf_counter() - started,
    )


@contextmanager
def _workers(
    backend: Backend | None, scheduler: str | None, workers: int, source: Source
) -> Iterator[None]:
    """Where joblib runs jobs; a cluster gets the source once, not with every job."""
    if backend is None:
        yield
    elif backend != "dask":
        with parallel_config(backend, n_jobs=workers):
            yield
    elif scheduler is None:
        msg = "the backend dask needs the scheduler's address, as in tcp://10.0.0.5:8786"
        raise ValueError(msg)
    else:
        from distributed import Client

        client = Client(scheduler)  # type: ignore[no-untyped-call]  # distributed has few types
        with client, parallel_config("dask", n_jobs=workers, scatter=[source]):
            yield


@lru_cache(maxsize=4)
def _world(source: Source, seed: int) -> World:
    return source.world(seed)


def _task_settings(world: World, job: Job, settings: Mapping[str, Any]) -> TaskSettings:
    chosen = {name: getattr(job, name) for name in TASK_FIELDS if getattr(job, name) is not None}
    declared = dict(world.settings)
    if settings.keys() & {"classes", "label_range", "label_type"}:
        declared = {name: declared[name] for name in declared.keys() - {"classes", "label_range"}}
    return TaskSettings.model_validate(
        {
            "name": "simulation",
            "epsilon": 1.0,
            "min_leaf": 0,
            **declared,
            **settings,
            **chosen,
            "holders": job.holders,
        }
    )


def _encoded(task: Task, columns: Columns) -> tuple[Floats, Floats]:
    features = {feature.name: columns[feature.name] for feature in task.features}
    return encode_table(task.features, features), encode_labels(
        task.label, columns[task.label.name]
    )


def _score(model: Model, X: Floats, y: Floats, weights: Floats) -> float:
    values = model.predict(X).values
    if isinstance(model.label, Classes):
        return float(weights[values.argmax(axis=1) == y].sum())
    return float((weights * (values[:, 0] - y) ** 2).sum())
