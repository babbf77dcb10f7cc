"""Running experiments: every method on every replication, on all cores, each result kept.

A result is found again by what made it: its job and seed, the files of its problem, and the code of
the statistics and of this folder. So an interrupted run goes on, and what changed is measured anew.
"""

import hashlib
import importlib.util
import json
import os
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache
from itertools import chain, groupby
from pathlib import Path
from typing import Any

import pandas as pd
from joblib import Parallel, delayed, effective_n_jobs, parallel_config
from threadpoolctl import threadpool_limits

from scripts.reproduce.contestants import Point
from scripts.reproduce.experiment import Experiment, Job
from scripts.reproduce.methods import METHODS
from scripts.reproduce.problems import PROBLEMS, split_of

ROOT = Path(__file__).parents[2]
SOURCES = (
    "baselines",
    "learning/estimators",
    "learning/partitions",
    "learning/planning",
    "learning/public_model",
    "learning/task_building",
    "learning/sklearn",
    "learning/simulation.py",
    "learning/trees",
    "protocol/mechanisms",
)
NOT_MEASURING = ("__main__", "derived", "driver", "experiment", "experiments", "pages")
"""Files of this folder that no score depends on."""
BUILT_IN = frozenset((*METHODS, *PROBLEMS))


@dataclass(frozen=True)
class Store:
    """Where results are kept, where data sets are, and a researcher's file, if any."""

    kept: Path
    data: Path
    plugin: Path | None = None

    def file(self, job: Job, seed: int) -> Path:
        """The file of one result."""
        own = (repr((job, seed)), fingerprint(), *(digest(file) for file in self.needs(job)))
        if self.plugin is not None and not {job.method, job.problem} <= BUILT_IN:
            own += (digest(self.plugin),)
        return self.kept / f"{hashlib.sha256(repr(own).encode()).hexdigest()}.json"

    def needs(self, job: Job) -> list[Path]:
        """The files that a job's problem is made of."""
        return [self.data / name for name in getattr(PROBLEMS[job.problem], "files", ())]

    def absent(self, job: Job) -> list[str]:
        """Those that are not there."""
        return [str(file) for file in self.needs(job) if not file.exists()]


def run(
    experiments: Iterable[Experiment], store: Store, *, n_jobs: int = -1, scheduler: str = ""
) -> tuple[pd.DataFrame, dict[str, str]]:
    """Scores of all experiments, and the problems that were skipped with what is missing.

    One row per job, seed and point of the grid: job, problem, method, epsilon, the problem's
    settings, series, the method's parameters, seed and scores. After every replication the time
    that is left is printed. ``scheduler`` is the address of a Dask cluster, which has to see the
    store.
    """
    load(store.plugin)
    wanted: dict[Job, int] = {}
    for experiment in experiments:
        for job in experiment.jobs:
            wanted[job] = max(wanted.get(job, 0), experiment.replications)
    skipped = {job.problem: ", ".join(found) for job in wanted if (found := store.absent(job))}
    # a method's jobs on one split share what it fits to public records
    ordered = sorted(wanted, key=_shared)
    todo = [job for job in ordered if job.problem not in skipped]
    store.kept.mkdir(parents=True, exist_ok=True)
    rows: list[Point] = []
    seconds: dict[Job, float] = {}
    with cluster(n_jobs, scheduler):
        for seed in range(max((wanted[job] for job in todo), default=0)):
            now = [job for job in todo if seed < wanted[job]]
            results = Parallel(batch_size=1)(
                delayed(_all_measured)(list(same), seed, store) for _, same in groupby(now, _shared)
            )
            for job, (spent, points) in zip(now, chain(*results), strict=True):
                seconds[job] = spent
                rows += points
            left = sum(seconds[job] * (wanted[job] - seed - 1) for job in now)
            done = f"Replication {seed + 1}: {len(now)} jobs, {sum(seconds[j] for j in now):.0f} s"
            print(f"{done}; at most {left / effective_n_jobs() / 60:.0f} min left.", flush=True)
    return pd.DataFrame(rows), skipped


@contextmanager
def cluster(n_jobs: int, scheduler: str) -> Iterator[None]:
    """Where joblib runs jobs: in processes here, or on the Dask cluster at ``scheduler``."""
    if not scheduler:
        with parallel_config("loky", n_jobs=n_jobs):
            yield
        return
    from distributed import Client

    client = Client(scheduler)
    with client, parallel_config("dask", n_jobs=n_jobs):
        yield


def _shared(job: Job) -> tuple[str, str, str]:
    return job.problem, repr(job.settings), job.method


def _all_measured(jobs: list[Job], seed: int, store: Store) -> list[tuple[float, list[Point]]]:
    return [measured(job, seed, store) for job in jobs]


def measured(job: Job, seed: int, store: Store) -> tuple[float, list[Point]]:
    """Seconds and scores of one method on one replication, kept if they were measured before."""
    load(store.plugin)
    file = store.file(job, seed)
    if file.exists():
        seconds, rows = json.loads(file.read_text())
        return seconds, rows
    started = time.perf_counter()
    split = split_of(job.problem, job.settings, store.data, seed)
    own: Point = {"job": repr(job), "problem": job.problem, "method": job.method}
    own |= {"epsilon": job.epsilon, **dict(job.settings)}
    with threadpool_limits(1):
        rows = [
            {**own, "series": series, **point, "seed": seed, **scores}
            for series, point, scores in METHODS[job.method](split, job.epsilon, seed)
        ]
    seconds = time.perf_counter() - started
    # whole or not at all, also if this process is killed
    unfinished = file.with_suffix(f".{os.getpid()}")
    unfinished.write_text(json.dumps([seconds, rows]))
    unfinished.replace(file)
    return seconds, rows


def load(plugin: Path | None) -> None:
    """Run a researcher's file, which adds to ``METHODS``, ``PROBLEMS`` or ``EXPERIMENTS``, once."""
    if plugin is not None:
        _load(plugin)


@cache
def _load(plugin: Path) -> None:
    spec = importlib.util.spec_from_file_location("plugin", plugin)
    if spec is None or spec.loader is None or not plugin.exists():
        msg = f"{plugin} is not a Python file."
        raise FileNotFoundError(msg)
    spec.loader.exec_module(importlib.util.module_from_spec(spec))


@cache
def digest(file: Path) -> str:
    """A hash of a file's bytes."""
    return hashlib.sha256(file.read_bytes()).hexdigest()


@cache
def fingerprint() -> str:
    """A hash of the code that the scores depend on."""
    files = [file for source in SOURCES for file in _python(ROOT / source)]
    here = sorted(Path(__file__).parent.glob("*.py"))
    files += [file for file in here if file.stem not in NOT_MEASURING]
    return hashlib.sha256("".join(map(digest, files)).encode()).hexdigest()


def _python(source: Path) -> list[Path]:
    return [source] if source.is_file() else sorted(source.rglob("*.py"))


def narrowed(
    experiment: Experiment,
    *,
    most: int,
    methods: Iterable[str],
    problems: Iterable[str],
) -> Experiment:
    """With fewer replications and jobs; ``most`` = 0 and empty names set no limit."""
    number = experiment.replications
    kept = tuple(
        job
        for job in experiment.jobs
        if (not methods or job.method in methods) and (not problems or job.problem in problems)
    )
    return replace(experiment, jobs=kept, replications=min(number, most or number))


def summarized(experiment: Experiment, scores: pd.DataFrame) -> pd.DataFrame:
    """Per panel, line and x the best point with mean, standard error and number of replications.

    Columns: those of the experiment's ``key``, ``mean``, ``standard_error``, ``replications``, for
    each further measure its mean under its name with its error, and the point's other parameters.
    """
    first, *others = experiment.measures
    stated = ["mean", "standard_error", "replications"]
    if scores.empty:
        return pd.DataFrame(columns=[*experiment.key, *stated])
    own = scores[scores["job"].isin([repr(job) for job in experiment.jobs])]
    own = own[own["series"].isin(experiment.series) & (own["seed"] < experiment.replications)]
    own = own.dropna(axis=1, how="all")
    if own.empty:
        return pd.DataFrame(columns=[*experiment.key, *stated])
    fixed = {*experiment.key, "job", "method", "seed", *MEASURES}
    point = [column for column in own if column not in fixed]
    wanted: dict[str, Any] = {
        "mean": (first, "mean"),
        "standard_error": (first, "sem"),
        "replications": (first, "count"),
    }
    for measure in others:
        wanted |= {measure: (measure, "mean"), f"{measure}_error": (measure, "sem")}
    of_point = own.groupby([*experiment.key, *point], dropna=False, sort=False)
    table = of_point.agg(**wanted).reset_index()
    means = table.groupby(experiment.key, dropna=False, sort=False)["mean"]
    chosen = means.idxmax() if experiment.best == "max" else means.idxmin()
    return table.loc[chosen].reset_index(drop=True)[[*experiment.key, *wanted, *point]]


MEASURES = ("score", "brier", "log_loss", "coverage", "seconds")
