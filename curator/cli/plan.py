"""``privet plan``: what to expect before anybody is asked. It needs no curator and no privacy."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.progress import Progress

from curator.cli.options import AsJson
from curator.cli.output import err, out, print_facts, print_json, print_table, shown
from curator.tables import read_table
from curator.task_settings import TaskSettings

if TYPE_CHECKING:
    from curator.planning import Figure, Plan

SHOWN = 10


def plan(
    public: Annotated[
        Path, typer.Option(exists=True, dir_okay=False, help="CSV or Parquet file of public data.")
    ],
    label: Annotated[str, typer.Option(help="The public column to be predicted.")],
    holders: Annotated[int, typer.Option(min=1, help="Reports expected.")],
    epsilon: Annotated[float, typer.Option(help="What one holder would spend.")],
    *,
    wanted: Annotated[
        float | None, typer.Option(help="Accuracy to reach (or mean squared error).")
    ] = None,
    ignore: Annotated[list[str] | None, typer.Option(help="A column to leave out.")] = None,
    estimator: Annotated[
        str | None,
        typer.Option(help="Estimator to plan for; by default the best, the slowest too."),
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of the simulations.")] = 0,
    as_json: AsJson = False,
) -> None:
    """Simulate collections from public data: expected accuracy, best choice, and whether to ask."""
    settings = read_settings(
        name="plan", label=label, epsilon=epsilon, holders=holders, ignore=ignore or []
    )
    found = make_plan(public, settings, wanted=wanted, estimator=estimator, seed=seed)
    if as_json:
        print_json(found.to_document())
    else:
        print_plan(found)


def read_settings(**given: Any) -> TaskSettings:
    """Checked settings; raises ``InvalidRequest`` naming the option at fault."""
    return TaskSettings.parse(json.dumps(given))


def make_plan(public: Path, settings: TaskSettings, **options: Any) -> "Plan":
    """The plan for a public file, with a progress bar."""
    from curator.planning import plan_table

    columns = read_table(public.read_bytes())
    with Progress(console=err(), transient=True) as progress:
        bar = progress.add_task("Simulating collections")
        return plan_table(
            columns,
            settings,
            progress=lambda done, total: progress.update(bar, completed=done, total=total),
            **options,
        )


def print_plan(found: "Plan") -> None:
    """The plan in words and two tables."""
    best = found.best
    title = f"{found.holders:,} holders at epsilon {found.epsilon:g}".replace(",", " ")
    facts = {
        f"expected {found.score}": _figure(found.expected),
        "public data alone": _figure(found.public_only),
        "gain": _figure(found.gain),
        "worth": _worth(found),
        "best choice": ", ".join(f"{k} {v}" for k, v in vars(best.choice).items()),
        "bytes per answer": best.report_bytes,
        "verdict": str(found.verdict),
    }
    print_facts(title, facts)
    rows = [
        (
            outlook.choice.grower,
            outlook.choice.depth,
            outlook.choice.mechanism,
            _score(found, outlook.loss),
            outlook.cells,
            outlook.report_bytes,
        )
        for outlook in found.outlooks[:SHOWN]
    ]
    names = ("grower", "depth", "mechanism", found.score, "cells", "bytes")
    print_table("The best of what was tried, on held-out public records", names, rows)
    if found.required is not None:
        print_requirement(found)
    out().print(found.reason)


def print_requirement(found: "Plan") -> None:
    """What it takes to reach the wanted score."""
    required = found.required
    if required is None:
        return
    wanted = f"{found.score} {required.wanted:g}"
    nothing = "nothing that was tried reaches it"
    facts = {
        f"holders at epsilon {found.epsilon:g}": required.holders or nothing,
        f"epsilon with {found.holders} holders": required.epsilon or nothing,
    }
    print_facts(f"To reach {wanted}", facts)


def _figure(figure: "Figure") -> str:
    return f"{figure.value:.4g} ± {figure.standard_error:.2g}"


def _score(found: "Plan", loss: "Figure") -> str:
    value = 1.0 - loss.value if found.score == "accuracy" else loss.value
    return f"{value:.4g} ± {loss.standard_error:.2g}"


def _worth(found: "Plan") -> str:
    records = found.to_document()["worth"]
    if records is None:
        return "more than any number of public records"
    return f"as much as {shown(round(records))} more public records"
