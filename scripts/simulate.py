"""Exact simulation of whole populations: how good would the model be, for which settings?

    python -m scripts.simulate --holders 1e9
    python -m scripts.simulate --holders 1e4,1e6 --epsilon 0.5,1,2 --depth 4,8 --seeds 0-9
    python -m scripts.simulate --public people.csv --label smokes --epsilon 1,2 --seeds 0-4
    python -m scripts.simulate --seeds 0-99 --scheduler tcp://10.0.0.5:8786

The sums that the curator would hold are drawn exactly in distribution, at a cost that hardly
depends on the number of holders. Options with several values, separated by commas, make a sweep
over all their combinations. Without ``--public`` the population is LPCT's synthetic design.

What a job gives depends on the population, the settings and the job alone, never on the worker,
the order, or the other jobs: its random numbers are seeded by the job's own content. The records
depend on the job's seed only, so that jobs compare on equal ones.
"""

import json
import math
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import lru_cache
from hashlib import sha256
from importlib.metadata import version
from itertools import groupby, product
from math import sqrt
from pathlib import Path
from statistics import mean, stdev
from time import perf_counter
from typing import Annotated, Any, Literal, Protocol

import numpy as np
import typer
from joblib import Parallel, delayed
from numpy.typing import NDArray
from pydantic import ValidationError
from rich.console import Console
from rich.measure import Measurement
from rich.table import Table

from privet.learning.estimators import DEFAULT_ESTIMATOR, Model, fit
from privet.learning.simulation import simulate_counts
from privet.learning.task_building.build import build_task, encode_labels
from privet.learning.task_building.schema import infer_label
from privet.learning.task_building.settings import TaskSettings
from privet.learning.task_building.table import Columns, count_rows, read_table
from privet.protocol.errors import PrivetError
from privet.protocol.features import Classes, ColumnValues, encode_table
from privet.protocol.task import Task
from privet.protocol.wire import first_fault
from scripts import pages
from scripts.reproduce.lpct_design import draw, fine_grid

Floats = NDArray[np.float64]

TASK_FIELDS = ("grower", "mechanism", "epsilon", "depth")
UNIT = {"low": 0.0, "high": 1.0}
console = Console()


@dataclass(frozen=True, eq=False)
class World:
    """Public records, the records holders have, and those that predictions are tested on.

    ``holder_weights`` and ``test_weights``, one per record and adding up to 1, say how common a
    record is. ``settings`` is what the task must declare for its label and features.
    """

    public: Columns
    holders: Columns
    holder_weights: Floats
    test: Columns
    test_weights: Floats
    settings: Mapping[str, Any]


class Population(Hashable, Protocol):
    """Where records come from; the same seed gives the same world, on any machine."""

    def world(self, seed: int) -> World:
        """The world of one replication."""


@dataclass(frozen=True)
class Design:
    """LPCT's synthetic design: ``rows`` public records, a population given by its law.

    Holders and tests are the 512 x 512 midpoints of a grid, labels weighed by eta: exact for
    partitions that halve edges, at most nine times per axis.
    """

    gamma: float = 0.5
    rows: int = 1_000

    def world(self, seed: int) -> World:
        public = draw(self.rows, self.gamma, np.random.default_rng(seed))
        X, y, weights = weighted_points()
        holders = _named(X, y)
        settings = {"label": "y", "classes": ("0", "1"), "features": {"x1": UNIT, "x2": UNIT}}
        return World(_named(public.X, public.y), holders, weights, holders, weights, settings)


def weighted_points() -> tuple[Floats, Floats, Floats]:
    """The design's points ``(records, 2)`` with either label, and how common each record is."""
    points, chance = fine_grid()
    weights = np.concatenate([1.0 - chance, chance]) / len(points)
    return np.tile(points, (2, 1)), np.repeat([0.0, 1.0], len(points)), weights


@dataclass(frozen=True, eq=False)
class Records:
    """Records of a table, or of two: ``population`` has the holders if it is given.

    Of one table, ``public_share`` of the rows is public. Of the other rows ``test_share`` is the
    test set, and holders have the rest. Holders are drawn with replacement, so there may be many
    more holders than rows.
    """

    columns: Columns
    label: str
    population: Columns | None = None
    public_share: float = 0.1
    test_share: float = 0.2

    def world(self, seed: int) -> World:
        rng = np.random.default_rng(seed)
        public, others = self.columns, self.population
        if others is None:
            public, others = _split(self.columns, self.public_share, rng)
        test, holders = _split(others, self.test_share, rng)
        return World(public, holders, _equal(holders), test, _equal(test), self._declared())

    def _declared(self) -> dict[str, Any]:
        """All classes, or the label's range."""
        asked = TaskSettings(name="label", label=self.label, epsilon=1.0)
        label = infer_label(self.columns, asked)
        if isinstance(label, Classes):
            return {"label": self.label, "classes": label.classes}
        return {"label": self.label, "label_range": (label.low, label.high)}


@dataclass(frozen=True)
class Job:
    """One simulated collection; what is None is left to the task's settings and their defaults."""

    seed: int = 0
    holders: int = 1_000_000
    epsilon: float | None = None
    depth: int | None = None
    grower: str | None = None
    mechanism: str | None = None
    estimator: str = DEFAULT_ESTIMATOR

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


def grid(**values: Sequence[Any]) -> list[Job]:
    """A job for every combination of values; names are those of ``Job``."""
    return [Job(**dict(zip(values, found, strict=True))) for found in product(*values.values())]


def sweep(
    population: Population,
    jobs: Sequence[Job],
    settings: Mapping[str, Any] | None = None,
    *,
    workers: int = 1,
    scheduler: str = "",
) -> list[Outcome]:
    """What came of each job, in the order of ``jobs``.

    ``settings`` are those of a task, by name; jobs override them. ``workers`` run at a time, -1 for
    all cores; ``scheduler`` is the address of a Dask cluster to run them on instead.
    """
    from scripts.reproduce.driver import cluster  # needs more than one simulation does

    run = delayed(simulate)
    with cluster(workers if len(jobs) > 1 else 1, scheduler):
        return list(Parallel()(run(population, job, settings) for job in jobs))


def simulate(
    population: Population, job: Job, settings: Mapping[str, Any] | None = None
) -> Outcome:
    """Publish a task, let all holders answer, fit, and test.

    Holders are drawn independently from the world's. Raises ``PrivetError`` for settings or data
    that no task can be made of.
    """
    started, world = perf_counter(), _world(population, job.seed)
    task, public = build_task(_task_settings(world, job, settings or {}), world.public)
    rng = np.random.default_rng(job.entropy)
    X, y = _encoded(task, world.holders)
    copies = rng.multinomial(job.holders, world.holder_weights)
    questions = simulate_counts(task, X, y, rng, copies=copies)
    test = _encoded(task, world.test) if world.test is not world.holders else (X, y)
    model = fit(job.estimator, task.label, public, questions)
    public_model = fit("public", task.label, public, questions[:1])
    return Outcome(
        job=job,
        measure="accuracy" if isinstance(task.label, Classes) else "mse",
        score=_score(model, *test, world.test_weights),
        public_score=_score(public_model, *test, world.test_weights),
        cells=model.partition.cells,
        report_bytes=sum(mechanism.report_bytes for mechanism in task.mechanisms),
        seconds=perf_counter() - started,
    )


@lru_cache(maxsize=4)
def _world(population: Population, seed: int) -> World:
    return population.world(seed)


def _task_settings(world: World, job: Job, settings: Mapping[str, Any]) -> TaskSettings:
    chosen = {name: getattr(job, name) for name in TASK_FIELDS if getattr(job, name) is not None}
    declared = dict(world.settings)
    if settings.keys() & {"classes", "label_range", "label_type"}:
        declared = {name: declared[name] for name in declared.keys() - {"classes", "label_range"}}
    defaults = {"name": "simulation", "epsilon": 1.0, "min_leaf": 0}
    return TaskSettings.model_validate(
        {**defaults, **declared, **settings, **chosen, "holders": job.holders}
    )


def _encoded(task: Task, columns: Columns) -> tuple[Floats, Floats]:
    features = {feature.name: columns[feature.name] for feature in task.features}
    labels = encode_labels(task.label, columns[task.label.name])
    return encode_table(task.features, features), labels


def _score(model: Model, X: Floats, y: Floats, weights: Floats) -> float:
    values = model.predict(X).values
    if isinstance(model.label, Classes):
        return float(weights[values.argmax(axis=1) == y].sum())
    return float((weights * (values[:, 0] - y) ** 2).sum())


def _named(X: Floats, y: Floats) -> dict[str, Any]:
    return {"x1": X[:, 0], "x2": X[:, 1], "y": y}


def _split(columns: Columns, share: float, rng: np.random.Generator) -> tuple[Columns, Columns]:
    """A random share of the rows, and the others."""
    order = rng.permutation(count_rows(columns))
    first = round(share * len(order))
    return take(columns, order[:first]), take(columns, order[first:])


def take(columns: Columns, rows: NDArray[np.int64]) -> dict[str, ColumnValues]:
    """Some rows of every column."""
    return {
        name: values[rows] if isinstance(values, np.ndarray) else [values[row] for row in rows]
        for name, values in columns.items()
    }


def _equal(columns: Columns) -> Floats:
    rows = count_rows(columns)
    if not rows:
        msg = "a share leaves no record: give the table more rows, or choose other shares"
        raise ValueError(msg)
    return np.full(rows, 1.0 / rows)


def main(
    *,
    holders: Annotated[str, typer.Option(help="Holders, as in 1e6 or 1e4,1e9.")] = "1e6",
    epsilon: Annotated[str, typer.Option(help="What a holder spends.")] = "",
    depth: Annotated[str, typer.Option(help="By default from holders, epsilon, features.")] = "",
    grower: Annotated[str, typer.Option(help="How cells are grown.")] = "",
    mechanism: Annotated[str, typer.Option(help="How answers are perturbed.")] = "",
    estimator: Annotated[str, typer.Option(help="How models are fitted.")] = DEFAULT_ESTIMATOR,
    seeds: Annotated[str, typer.Option(help="Replications, as in 0 or 0,1 or 0-9.")] = "0",
    public: Annotated[Path | None, typer.Option(help="CSV or Parquet with public rows.")] = None,
    label: Annotated[str, typer.Option(help="The column to predict, with --public.")] = "",
    population: Annotated[
        Path | None, typer.Option(help="Rows that holders are drawn from; else --public's own.")
    ] = None,
    public_share: Annotated[float, typer.Option(help="Public part of a single table.")] = 0.1,
    test_share: Annotated[float, typer.Option(help="Part of the rest used for tests.")] = 0.2,
    settings: Annotated[Path | None, typer.Option(help="JSON with a task's settings.")] = None,
    gamma: Annotated[float, typer.Option(help="Strength of the design's public data.")] = 0.5,
    n_public: Annotated[int, typer.Option(help="Public records of the design.")] = 1000,
    workers: Annotated[int, typer.Option(help="Jobs at a time; -1 for all cores.")] = -1,
    scheduler: Annotated[
        str, typer.Option(help="Address of a Dask scheduler whose workers run them instead.")
    ] = "",
    out: Annotated[Path, typer.Option(help="Folder.")] = Path("privet-data/simulate"),
) -> None:
    """Simulate collections, test their models, and keep what came of each."""
    source: Population = Design(gamma, n_public)
    try:
        if public is not None:
            source = _tables(public, population, label, public_share, test_share)
        jobs = grid(
            estimator=_values(estimator, str),
            grower=_values(grower, str),
            mechanism=_values(mechanism, str),
            epsilon=_values(epsilon, _number),
            depth=_values(depth, int),
            holders=_values(holders, _whole),
            seed=list(_seeds(seeds)),
        )
        chosen = json.loads(settings.read_bytes()) if settings else {}
        started = perf_counter()
        outcomes = sweep(source, jobs, chosen, workers=workers, scheduler=scheduler)
    except PrivetError as error:
        raise typer.BadParameter(error.detail) from error
    except ValidationError as error:
        raise typer.BadParameter(first_fault(error)) from error
    except (ValueError, OSError) as error:
        raise typer.BadParameter(str(error)) from error
    shown = table(outcomes)
    whole = Measurement.get(console, console.options.update(max_width=10_000), shown).maximum
    console.width = max(whole, console.width)
    console.print(shown)
    took = perf_counter() - started
    collections = "1 collection" if len(outcomes) == 1 else f"{len(outcomes)} collections"
    console.print(f"{collections} in {took:.2f} s", highlight=False)
    made_with = {"version": version("privet"), "settings": json.dumps(chosen)}
    if public is None:
        made_with |= {"gamma": str(gamma), "n_public": str(n_public)}
    else:
        made_with |= {"public": str(public), "population": str(population or public)}
        made_with |= {"public_share": str(public_share), "test_share": str(test_share)}
    console.print(f"[dim]wrote {write(outcomes, out, made_with)}[/dim]")


def table(outcomes: Sequence[Outcome]) -> Table:
    """One line per combination: the mean over its seeds and the standard error of that.

    Settings that no job chose are left out.
    """
    shown = Table()
    chosen = [
        name
        for name in ("estimator", *TASK_FIELDS)
        if any(getattr(o.job, name) is not None for o in outcomes)
    ]
    for heading in (*chosen, "holders", "cells", "report", outcomes[0].measure, "public alone"):
        shown.add_column(heading, justify="right", no_wrap=True)
    for _, found in groupby(outcomes, lambda outcome: replace(outcome.job, seed=0)):
        same = list(found)
        job = same[0].job
        shown.add_row(
            *(f"{getattr(job, name)}" for name in chosen),
            f"{job.holders:.4g}",
            f"{mean(outcome.cells for outcome in same):.4g}",
            f"{mean(outcome.report_bytes for outcome in same):.4g} B",
            _with_error([outcome.score for outcome in same]),
            _with_error([outcome.public_score for outcome in same]),
        )
    return shown


def write(
    outcomes: Sequence[Outcome], folder: Path, made_with: Mapping[str, Any] | None = None
) -> Path:
    """One row per collection as CSV, with what they were ``made_with``; the file."""
    rows = [{**asdict(outcome.job), **asdict(outcome), **(made_with or {})} for outcome in outcomes]
    for row in rows:
        del row["job"]
    file = folder / "simulate.csv"
    pages.write(file, rows)
    return file


def _tables(
    public: Path, population: Path | None, label: str, public_share: float, test_share: float
) -> Records:
    columns = read_table(public.read_bytes())
    if label not in columns:
        listed = ", ".join(columns)
        msg = f"--label must name a column of {public}: {listed}"
        raise ValueError(msg)
    others = None if population is None else read_table(population.read_bytes())
    return Records(columns, label, others, public_share, test_share)


def _values(text: str, kind: Callable[[str], Any]) -> list[Any]:
    """The values between commas; nothing at all is one value left to its default."""
    return [kind(value.strip()) for value in text.split(",")] if text else [None]


def _whole(text: str) -> int:
    number = _number(text)
    if not 1 <= number < math.inf or number != int(number):
        msg = f"{text} is no number of holders: give a whole number of at least 1"
        raise ValueError(msg)
    return int(number)


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        msg = f"{text} is not a number: give numbers with commas between them, as in 0.5,1e6"
        raise ValueError(msg) from None


def _seeds(text: str) -> Iterable[int]:
    for part in text.split(","):
        first, _, last = part.partition("-")
        yield from range(int(first), int(last or first) + 1)


def _with_error(scores: Sequence[float]) -> str:
    error = f" ± {stdev(scores) / sqrt(len(scores)):.4f}" if len(scores) > 1 else ""
    return f"{mean(scores):.4f}{error}"


if __name__ == "__main__":
    from scripts import simulate as module  # noqa: PLW0406 - by this name workers find what they run

    typer.run(module.main)
