"""Exact simulation of whole populations: how good would the model be, for which settings?

    python -m scripts.simulate --holders 1e9
    python -m scripts.simulate --holders 1e4,1e6 --epsilon 0.5,1,2 --depth 4,8 --seeds 0-9
    python -m scripts.simulate --public people.csv --label smokes --epsilon 1,2 --seeds 0-4
    python -m scripts.simulate --seeds 0-99 --backend dask --scheduler tcp://10.0.0.5:8786

The sums that the curator would hold are drawn exactly in distribution, at a cost that hardly
depends on the number of holders. Options with several values, separated by commas, make a sweep
over all their combinations. Without ``--public`` the population is LPCT's synthetic design.
"""

import csv
import json
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from itertools import groupby
from math import sqrt
from pathlib import Path
from statistics import mean, stdev
from time import perf_counter
from typing import Annotated, Any

import typer
from pydantic import ValidationError
from rich.console import Console
from rich.table import Table

from privet.curator.publishing.table import read_table
from privet.protocol.errors import PrivetError
from privet.protocol.wire import first_fault
from scripts.populations import DesignSource, Source, TableSource
from scripts.sweep import ESTIMATOR, Backend, Outcome, grid, sweep

SWEPT = ("estimator", "grower", "mechanism", "epsilon", "depth")
console = Console()


def main(
    *,
    holders: Annotated[str, typer.Option(help="Holders, as in 1e6 or 1e4,1e9.")] = "1e6",
    epsilon: Annotated[str, typer.Option(help="What a holder spends.")] = "",
    depth: Annotated[str, typer.Option(help="By default from holders, epsilon, features.")] = "",
    grower: Annotated[str, typer.Option(help="How cells are grown.")] = "",
    mechanism: Annotated[str, typer.Option(help="How answers are perturbed.")] = "",
    estimator: Annotated[str, typer.Option(help="How models are fitted.")] = ESTIMATOR,
    seeds: Annotated[str, typer.Option(help="Replications, as in 0 or 0,1 or 0-9.")] = "0",
    public: Annotated[Path | None, typer.Option(help="CSV or Parquet with public rows.")] = None,
    label: Annotated[str, typer.Option(help="The column to predict, with --public.")] = "",
    population: Annotated[
        Path | None, typer.Option(help="Rows that holders are drawn from; else --public's own.")
    ] = None,
    public_share: Annotated[float, typer.Option(help="Public part of a single table.")] = 0.1,
    test_share: Annotated[float, typer.Option(help="Part of the rest kept for judging.")] = 0.2,
    settings: Annotated[Path | None, typer.Option(help="JSON with a task's settings.")] = None,
    gamma: Annotated[float, typer.Option(help="Strength of the design's public data.")] = 0.5,
    n_public: Annotated[int, typer.Option(help="Public records of the design.")] = 1000,
    backend: Annotated[Backend, typer.Option(help="What runs the jobs.")] = "loky",
    scheduler: Annotated[str | None, typer.Option(help="Address of a Dask scheduler.")] = None,
    workers: Annotated[int, typer.Option(help="At a time; -1 for all there are.")] = -1,
    out: Annotated[Path, typer.Option(help="Folder.")] = Path("privet-data/simulate"),
) -> None:
    """Simulate collections, judge their models, and keep what came of each."""
    source: Source = DesignSource(gamma, n_public)
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
        outcomes = sweep(
            source, jobs, chosen, backend=backend, scheduler=scheduler, workers=workers
        )
    except PrivetError as error:
        raise typer.BadParameter(error.detail) from error
    except ValidationError as error:
        raise typer.BadParameter(first_fault(error)) from error
    except (ValueError, OSError) as error:
        raise typer.BadParameter(str(error)) from error
    console.print(table(outcomes))
    took = perf_counter() - started
    collections = "1 collection" if len(outcomes) == 1 else f"{len(outcomes)} collections"
    console.print(f"{collections} in {took:.2f} s", highlight=False)
    for path in write(outcomes, out):
        console.print(f"[dim]wrote {path}[/dim]")


def table(outcomes: Sequence[Outcome]) -> Table:
    """One line per combination: the mean over its seeds and the standard error of that.

    Settings that no job chose are left out.
    """
    shown = Table()
    chosen = [name for name in SWEPT if any(getattr(o.job, name) is not None for o in outcomes)]
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


def write(outcomes: Sequence[Outcome], folder: Path) -> list[Path]:
    """One row per collection as CSV and as JSON; returns the paths."""
    folder.mkdir(parents=True, exist_ok=True)
    rows = [outcome.row() for outcome in outcomes]
    paths = [folder / "simulate.csv", folder / "simulate.json"]
    with paths[0].open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    paths[1].write_text(json.dumps(rows, indent=1), encoding="utf-8")
    return paths


def _tables(
    public: Path, population: Path | None, label: str, public_share: float, test_share: float
) -> TableSource:
    columns = read_table(public.read_bytes())
    if label not in columns:
        listed = ", ".join(columns)
        msg = f"--label must name a column of {public}: {listed}"
        raise ValueError(msg)
    others = None if population is None else read_table(population.read_bytes())
    return TableSource(columns, label, others, public_share, test_share)


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
    typer.run(main)
