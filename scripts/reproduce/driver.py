"""Running experiments: every method on every replication, on all cores, each result kept.

A result is found again by what made it: its arguments, and the code of the statistics and of this
folder. So an interrupted run goes on, and changed code is measured anew.
"""

import hashlib
import importlib.util
import json
import os
import time
from collections.abc import Iterable
from dataclasses import replace
from functools import cache
from pathlib import Path

import pandas as pd
from joblib import Parallel, delayed

from scripts.reproduce.contestants import METHODS, Point
from scripts.reproduce.experiments import Experiment, Job
from scripts.reproduce.problems import PROBLEMS, split_of

ROOT = Path(__file__).parents[2]
SOURCES = (
    "baselines",
    "curator/estimation",
    "curator/partitioning",
    "curator/trees",
    "protocol/mechanisms",
)
THIS_FOLDER = ("contestants", "datasets", "lpct_design", "problems")


def run(
    experiments: Iterable[Experiment],
    folder: Path,
    cache_folder: Path,
    *,
    n_jobs: int = -1,
    plugin: Path | None = None,
) -> tuple[pd.DataFrame, dict[str, str]]:
    """Scores of all experiments, and the problems that were skipped with what is missing.

    One row per job, seed and point of the grid: job, problem, method, epsilon, the problem's
    settings, series, the method's parameters, seed, score and seconds.
    """
    wanted: dict[Job, int] = {}
    for experiment in experiments:
        for job in experiment.jobs:
            wanted[job] = max(wanted.get(job, 0), experiment.replications)
    load(plugin)
    skipped = absent(wanted, folder)
    # seeds outermost: neighbours share their split
    tasks = [
        (job, seed)
        for seed in range(max(wanted.values(), default=0))
        for job in sorted(wanted, key=lambda job: (job.problem, repr(job.settings)))
        if seed < wanted[job] and job.problem not in skipped
    ]
    kept = cache_folder / fingerprint(plugin)
    kept.mkdir(parents=True, exist_ok=True)
    results = Parallel(n_jobs=n_jobs, batch_size=1, verbose=5)(
        delayed(measured)(job, seed, folder, kept, plugin) for job, seed in tasks
    )
    rows = [row for found in results for row in found]
    return pd.DataFrame(rows), skipped


def measured(job: Job, seed: int, folder: Path, kept: Path, plugin: Path | None) -> list[Point]:
    """The scores of one method on one replication, from ``kept`` if they are there."""
    name = hashlib.sha256(repr((job, seed)).encode()).hexdigest()
    file = kept / f"{name}.json"
    if file.exists():
        rows: list[Point] = json.loads(file.read_text())
        return rows
    load(plugin)
    split = split_of(job.problem, job.settings, folder, seed)
    started = time.process_time()
    scores = list(METHODS[job.method](split, job.epsilon, seed))
    seconds = (time.process_time() - started) / max(1, len(scores))
    own: Point = {"job": repr(job), "problem": job.problem, "method": job.method}
    own |= {"epsilon": job.epsilon, **dict(job.settings)}
    rows = [
        {**own, "series": series, **point, "seed": seed, "score": score, "seconds": seconds}
        for series, point, score in scores
    ]
    # whole or not at all, also if this process is killed
    unfinished = file.with_suffix(f".{os.getpid()}")
    unfinished.write_text(json.dumps(rows))
    unfinished.replace(file)
    return rows


def absent(jobs: Iterable[Job], folder: Path) -> dict[str, str]:
    """Problems whose files are missing, and which."""
    found = {}
    for job in {job.problem: job for job in jobs}.values():
        try:
            PROBLEMS[job.problem](folder, 0, **dict(job.settings))
        except FileNotFoundError as error:
            found[job.problem] = str(error)
    return found


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


def fingerprint(plugin: Path | None) -> str:
    """A hash of the code that the scores depend on."""
    files = [file for source in SOURCES for file in sorted((ROOT / source).rglob("*.py"))]
    files += [Path(__file__).with_name(f"{name}.py") for name in THIS_FOLDER]
    if plugin is not None:
        files.append(plugin)
    digest = hashlib.sha256()
    for file in files:
        digest.update(file.read_bytes())
    return digest.hexdigest()


def limited(experiment: Experiment, *, quick: bool, most: int) -> Experiment:
    """With fewer replications; ``most`` = 0 sets no limit."""
    number = experiment.quick if quick else experiment.replications
    return replace(experiment, replications=min(number, most or number))


def summarized(experiment: Experiment, scores: pd.DataFrame) -> pd.DataFrame:
    """Per line and x the best point with mean, standard error and number of replications.

    Columns: those of ``line``, ``x``, ``mean``, ``standard_error``, ``replications``, and the
    other parameters of the point.
    """
    group = [*experiment.line, experiment.x]
    if scores.empty:
        return pd.DataFrame(columns=[*group, "mean", "standard_error", "replications"])
    own = scores[scores["job"].isin([repr(job) for job in experiment.jobs])]
    own = own[own["series"].isin(experiment.series)]
    own = own[own["seed"] < experiment.replications]
    own = own.dropna(axis=1, how="all")
    if own.empty:
        return pd.DataFrame(columns=[*group, "mean", "standard_error", "replications"])
    point = [c for c in own if c not in {*group, "job", "method", "seed", "score", "seconds"}]
    of_point = own.groupby([*group, *point], dropna=False, sort=False)[experiment.column]
    table = of_point.agg(mean="mean", standard_error="sem", replications="count").reset_index()
    means = table.groupby(group, dropna=False, sort=False)["mean"]
    chosen = means.idxmax() if experiment.best == "max" else means.idxmin()
    best = table.loc[chosen].reset_index(drop=True)
    order = [*group, "mean", "standard_error", "replications", *point]
    return best[order].sort_values(group, kind="stable", ignore_index=True)
