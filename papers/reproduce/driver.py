"""Running experiments: every method on every replication, on all cores, each result kept.

A result is found again by what made it: its job and seed, the files of its problem, and the code of
the installed package's statistics and of this project. So an interrupted run goes on, and what
changed is measured anew.
"""

import hashlib
import importlib.util
import json
import os
import subprocess
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache
from importlib.metadata import version
from itertools import chain, groupby
from pathlib import Path
from typing import Any

import pandas as pd
from joblib import Parallel, delayed, effective_n_jobs, parallel_config
from threadpoolctl import threadpool_limits

from reproduce import PRIVET, ROOT
from reproduce.contestants import Point
from reproduce.experiment import Experiment, Job
from reproduce.methods import METHODS
from reproduce.problems import PROBLEMS, split_of

SOURCES = ("learning", "protocol", "tables")
"""The parts of the installed package that a score may depend on."""
NOT_MEASURING = (
    "__main__",
    "derived",
    "driver",
    "experiment",
    "experiments",
    "compare_mechanisms",
    "illustrations",
    "markdown",
    "effects",
    "pages",
    "rates",
    "release",
)
"""Files of this folder that no score depends on."""
BUILT_IN = frozenset((*METHODS, *PROBLEMS))


@dataclass(frozen=True)
class Store:
    """Paths of results and data sets, and a researcher's file, if any."""

    kept: Path
    data: Path
    plugin: Path | None = None

    def file(self, job: Job, seed: int) -> Path:
        """The file of one result."""
        sources = [*self.needs(job)]
        if self.plugin is not None and not {job.method, job.problem} <= BUILT_IN:
            sources.append(self.plugin)
        key = repr((job, seed, fingerprint(), *map(digest, sources)))
        return self.kept / f"{hashlib.sha256(key.encode()).hexdigest()}.json"

    def needs(self, job: Job) -> list[Path]:
        """The files that a job's problem is made of."""
        return [self.data / name for name in getattr(PROBLEMS[job.problem], "files", ())]

    def absent(self, job: Job) -> list[str]:
        """The missing files, and what else is missing."""
        lacking = getattr(PROBLEMS[job.problem], "lacking", list)
        return [*(str(file) for file in self.needs(job) if not file.exists()), *lacking()]


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
    skipped = {job.problem: ", ".join(files) for job in wanted if (files := store.absent(job))}
    # a method's jobs on one split share what it fits to public records
    ordered = sorted(wanted, key=_shared)
    todo = [job for job in ordered if job.problem not in skipped]
    store.kept.mkdir(parents=True, exist_ok=True)
    rows: list[Point] = []
    with cluster(n_jobs, scheduler):
        for seed in range(max((wanted[job] for job in todo), default=0)):
            now = [job for job in todo if seed < wanted[job]]
            results = Parallel(batch_size=1)(
                delayed(_all_measured)(list(same), seed, store) for _, same in groupby(now, _shared)
            )
            spent, left = 0.0, 0.0
            for job, (seconds, points) in zip(now, chain(*results), strict=True):
                spent += seconds
                left += seconds * (wanted[job] - seed - 1)
                rows += points
            done = f"Replication {seed + 1}: {len(now)} jobs, {spent:.0f} s"
            print(
                f"{done}; at most {left / effective_n_jobs(n_jobs) / 60:.0f} min left.", flush=True
            )
    return pd.DataFrame(rows), skipped


@contextmanager
def cluster(n_jobs: int, scheduler: str) -> Iterator[None]:
    """A joblib backend: processes here, or the Dask cluster at ``scheduler``."""
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
    columns: Point = {"job": repr(job), "problem": job.problem, "method": job.method}
    columns |= {"epsilon": job.epsilon, **dict(job.settings)}
    with threadpool_limits(1):
        rows = [
            {**columns, "series": series, **point, "seed": seed, **scores}
            for series, point, scores in METHODS[job.method](split, job.epsilon, seed)
        ]
    seconds = time.perf_counter() - started
    # whole or not at all, also if this process is killed
    unfinished = file.with_suffix(f".{os.getpid()}")
    unfinished.write_text(json.dumps([seconds, rows]))
    unfinished.replace(file)
    return seconds, rows


@cache
def load(plugin: Path | None) -> None:
    """Run a researcher's file, which adds to ``METHODS``, ``PROBLEMS`` or ``EXPERIMENTS``, once."""
    if plugin is None:
        return
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
    own = Path(__file__).parent.glob("*.py")
    files = [
        *(file for source in SOURCES for file in sorted((PRIVET / source).rglob("*.py"))),
        *sorted((ROOT / "baselines").rglob("*.py")),
        *sorted(file for file in own if file.stem not in NOT_MEASURING),
    ]
    return hashlib.sha256("".join(map(digest, files)).encode()).hexdigest()


@cache
def release(root: Path = ROOT.parent) -> str:
    """The installed version; with the commit, unless it is the tag of that version.

    ``-changed`` follows where code that measurements load is not that of the commit.
    """
    number = version("privet")

    def git(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = ["git", "-C", str(root), *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    commit = git("describe", "--tags", "--always", "--match", "v*").stdout.strip()
    code = (*SOURCES, "papers/baselines", "papers/reproduce")
    commit += "-changed" if git("diff", "--quiet", "HEAD", "--", *code).returncode else ""
    return number if commit == f"v{number}" else f"{number}+{commit}"


def narrowed(
    experiment: Experiment, *, most: int, methods: Iterable[str], problems: Iterable[str]
) -> Experiment:
    """The experiments with fewer replications and jobs; 0 and empty names set no limit."""
    jobs = tuple(
        job
        for job in experiment.jobs
        if (not methods or job.method in methods) and (not problems or job.problem in problems)
    )
    number = experiment.replications
    return replace(experiment, jobs=jobs, replications=min(number, most or number))


def summarized(experiment: Experiment, scores: pd.DataFrame) -> pd.DataFrame:
    """Per panel, line and x the best point with mean, standard error and every replication's score.

    Columns: those of the experiment's ``key``, ``mean``, ``standard_error``, ``replications``,
    ``scores`` by seed, for each further measure its mean under its name with its error, and the
    point's other parameters.
    """
    first, *others = experiment.measures
    wanted: dict[str, Any] = {
        "mean": (first, "mean"),
        "standard_error": (first, "sem"),
        "replications": (first, "count"),
        "scores": (first, _listed),
    }
    if not scores.empty:
        scores = scores[scores["job"].isin([repr(job) for job in experiment.jobs])]
        scores = scores[scores["series"].isin(experiment.series)]
        scores = scores[scores["seed"] < experiment.replications]
        scores = scores.sort_values("seed", kind="stable").dropna(axis=1, how="all")
    if scores.empty:
        return pd.DataFrame(columns=[*experiment.key, *wanted])
    scores = scores.reindex(columns=[*dict.fromkeys((*scores, *others))])
    fixed = {*experiment.key, "job", "method", "seed", *MEASURES}
    point = [column for column in scores if column not in fixed]
    for measure in others:
        wanted |= {measure: (measure, "mean"), f"{measure}_error": (measure, "sem")}
    by_point = scores.groupby([*experiment.key, *point], dropna=False, sort=False)
    table = by_point.agg(**wanted).reset_index()
    means = table.groupby(experiment.key, dropna=False, sort=False)["mean"]
    chosen = means.idxmax() if experiment.best == "max" else means.idxmin()
    return table.loc[chosen].reset_index(drop=True)[[*experiment.key, *wanted, *point]]


def _listed(scores: "pd.Series[float]") -> str:
    return " ".join(f"{score:.9g}" for score in scores)


MEASURES = (
    *("score", "found", "brier", "log_loss", "coverage", "seconds"),
    *("changes", "missed", "listed"),
)
