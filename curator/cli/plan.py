"""``privet plan``: what to expect before anybody is asked. It needs no curator and no privacy."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.progress import Progress

from privet.curator.cli.options import AsJson
from privet.curator.cli.output import err, out, print_facts, print_json, print_table, shown
from privet.curator.publishing.settings import DEEPEST, TaskSettings
from privet.curator.publishing.table import read_table
from privet.protocol.errors import InvalidRequest
from privet.protocol.mechanisms import AUTO

if TYPE_CHECKING:
    from privet.curator.planning import Figure, Plan

SHOWN = 10
CHOSEN = ("grower", "depth", "mechanism")


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
    grower: Annotated[
        list[str] | None, typer.Option(help="Grower to try; may be repeated; by default all.")
    ] = None,
    depth: Annotated[
        list[int] | None, typer.Option(min=0, max=DEEPEST, help="Depth to try; may be repeated.")
    ] = None,
    mechanism: Annotated[
        list[str] | None, typer.Option(help="Mechanism to try; may be repeated; by default all.")
    ] = None,
    ignore: Annotated[list[str] | None, typer.Option(help="A column to leave out.")] = None,
    more: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=JSON", help="Any other setting of the task."),
    ] = None,
    estimator: Annotated[
        str | None,
        typer.Option(help="Estimator to plan for; by default that of a fit."),
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of the simulations.")] = 0,
    as_json: AsJson = False,
) -> None:
    """Simulate collections from public data: expected accuracy, best choice, and whether to ask."""
    from privet.curator.cli.task import parsed  # which takes this module's plans

    given = {"name": "plan", "label": label, "epsilon": epsilon, "holders": holders}
    settings = read_settings(**given, ignore=ignore or [], **parsed(more or []))
    found = make_plan(
        public,
        settings,
        growers=grower,
        depths=depth,
        mechanisms=mechanism,
        wanted=wanted,
        estimator=estimator,
        seed=seed,
    )
    if as_json:
        print_json(found.to_document())
    else:
        print_plan(found)


def read_settings(**given: Any) -> TaskSettings:
    """Checked settings; raises ``InvalidRequest`` naming the option at fault."""
    return TaskSettings.parse(json.dumps(given))


def make_plan(public: Path, settings: TaskSettings, **options: Any) -> "Plan":
    """The plan for a public file, with a progress bar."""
    from privet.curator.planning import plan_table

    columns = read_table(public.read_bytes())
    with Progress(console=err(), transient=True) as progress:
        bar = progress.add_task("Simulating collections")
        return plan_table(
            columns,
            settings,
            progress=lambda done, total: progress.update(bar, completed=done, total=total),
            **options,
        )


def plan_for(public: Path, given: Mapping[str, Any]) -> dict[str, Any]:
    """The settings that a plan chooses for a task whose others are ``given``.

    What is given of grower, depth and mechanism stays; verdict and choice go to standard error.
    """
    settings = read_settings(**given)
    if len(settings.questions) > 1:
        raise InvalidRequest("A plan is for a task with one question: leave out --auto.")
    asked = {
        f"{name}s": [given[name]] for name in CHOSEN if given.get(name, AUTO) not in (None, AUTO)
    }
    found = make_plan(public, settings, **asked)
    told = ", ".join(f"{name} {value}" for name, value in vars(found.best.choice).items())
    err().print(f"{found.reason} The task is made with {told}.")
    chosen = {**given, **vars(found.best.choice)}
    return {name: chosen[name] for name in CHOSEN} | {"min_leaf": given.get("min_leaf", 0)}


def print_plan(found: "Plan") -> None:
    """The plan in words and two tables."""
    best = found.best
    title = f"{found.holders:,} holders at epsilon {found.epsilon:g}".replace(",", " ")
    facts = {
        f"expected {found.score}": _figure(found.expected),
        "public data alone": _figure(found.public_only),
        "gain by reports": _figure(found.gain),
        "worth of reports": _worth(found),
        "best choice": ", ".join(f"{k} {v}" for k, v in vars(best.choice).items()),
        "bytes per answer": best.report_bytes,
        "verdict": str(found.verdict),
    }
    print_facts(title, facts)
    classes = found.score == "accuracy"
    rows = [
        (
            outlook.choice.grower,
            outlook.choice.depth,
            outlook.choice.mechanism,
            _score(found, outlook.loss),
            *([f"{outlook.strict.value:.4f}"] if classes else []),
            outlook.cells,
            outlook.report_bytes,
        )
        for outlook in found.outlooks[:SHOWN]
    ]
    brier = ["Brier"] if classes else []
    names = ["grower", "depth", "mechanism", found.score, *brier, "cells", "bytes"]
    print_table("The chosen one and the best others, on two fifths of the records", names, rows)
    if found.required is not None:
        print_requirement(found)
    out().print(found.reason)


def print_requirement(found: "Plan") -> None:
    """What it takes to reach the wanted score."""
    required = found.required
    if required is None:
        return
    wanted = f"{found.score} {required.wanted:g}"
    least = "most" if found.score == "accuracy" else "least"

    def out_of_reach(best: float) -> str:
        return f"out of reach: {best:.4g} was the {least} that was seen"

    facts = {
        f"holders at epsilon {found.epsilon:g}": shown(required.holders)
        if required.holders
        else out_of_reach(required.most_holders),
        f"epsilon with {shown(found.holders)} holders": f"{required.epsilon:.2g}"
        if required.epsilon
        else out_of_reach(required.most_epsilon),
        "or public records without reports": shown(required.public_records)
        if required.public_records
        else "out of reach",
    }
    print_facts(f"To reach {wanted}", facts)


def _figure(figure: "Figure") -> str:
    return f"{figure.value:.4g} ± {figure.standard_error:.2g}"


def _score(found: "Plan", loss: "Figure") -> str:
    value = 1.0 - loss.value if found.score == "accuracy" else loss.value
    return f"{value:.4g} ± {loss.standard_error:.2g}"


def _worth(found: "Plan") -> str:
    records = found.to_document()["worth"]
    if found.gain.value <= 0.0:
        return "nothing that shows"
    if records is None:
        return "more than any number of public records"
    return f"as much as {shown(round(records))} more public records"
