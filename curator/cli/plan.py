"""``privet plan``: expected accuracy from public data; needs no curator and spends no privacy."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich import box
from rich.table import Table

from privet.protocol.limits import DEEPEST

from .options import AsJson, Grower, Ignore, Label, MechanismName, Setting, parsed
from .output import err, out, print_facts, print_json, shown

if TYPE_CHECKING:
    from privet.learning.planning import Plan

BAR = 30
"""Characters of the longest bar."""


def plan(
    public: Annotated[
        Path, typer.Option(exists=True, dir_okay=False, help="CSV or Parquet file of public data.")
    ],
    label: Label,
    holders: Annotated[int, typer.Option(min=1, help="Reports expected.")],
    epsilon: Annotated[float, typer.Option(help="What one holder would spend.")],
    *,
    grower: Grower = None,
    depth: Annotated[
        int | None, typer.Option(min=0, max=DEEPEST, help="Splits per path; by default chosen.")
    ] = None,
    mechanism: MechanismName = None,
    ignore: Ignore = None,
    more: Setting = None,
    estimator: Annotated[
        str | None,
        typer.Option(help="Estimator to plan for; by default that of a fit."),
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of the simulations.")] = 0,
    as_json: AsJson = False,
) -> None:
    """From public data alone: what to expect, which shifts reports would show, and their worth."""
    from privet.learning.planning import plan as make_plan

    named = {"grower": grower, "depth": depth, "mechanism": mechanism, "ignore": ignore or None}
    settings = {name: value for name, value in named.items() if value is not None}
    with err().status("Simulating collections ..."):
        result = make_plan(
            public,
            label=label,
            epsilon=epsilon,
            holders=holders,
            estimator=estimator,
            simulation_seed=seed,
            **settings,
            **parsed(more),
        )
    if as_json:
        print_json(result.to_document())
    else:
        print_plan(result)


def print_plan(plan: "Plan") -> None:
    """The plan in words, with a table of other numbers of holders and other epsilons."""
    title = f"{plan.holders:,} holders at epsilon {plan.epsilon:g}".replace(",", " ")
    facts = {
        f"expected {plan.score}, if fair": f"{plan.expected.value:.4g} "
        f"± {plan.expected.standard_error:.2g}",
        "questions": "; ".join(
            f"{question['mechanism']} over {question['cells']} cells" for question in plan.questions
        ),
        "report": f"{plan.report_bytes} bytes",
        "verdict": str(plan.verdict),
    }
    print_facts(title, facts)
    out().print(prospects(plan))
    print_facts("Largest gain", bars(plan))
    out().print(plan.reason, highlight=False)


def prospects(plan: "Plan") -> Table:
    """Smallest shifts found, and gains by what misleads."""
    unit = "points" if plan.score == "accuracy" else "% of the variance"
    table = Table(
        title=f"Smallest shifts that reports reveal, and gains in {unit}",
        title_justify="left",
        box=box.SIMPLE_HEAD,
        pad_edge=False,
        padding=(0, 1, 0, 0),
    )
    for heading in ("holders", "ε", "cells", "overall", "in a cell", *plan.here.gains):
        table.add_column(heading, justify="right", no_wrap=True)
    for prospect in plan.prospects:
        table.add_row(
            shown(prospect.holders),
            f"{prospect.epsilon:g}",
            str(prospect.cells),
            _shift(plan, prospect.overall_shift),
            _shift(plan, prospect.cell_shift),
            *map(percent, prospect.gains.values()),
        )
    return table


def bars(plan: "Plan") -> dict[str, str]:
    """A bar for the largest gain of each, by holders and epsilon."""
    best = [max(*prospect.gains.values(), 0.0) for prospect in plan.prospects]
    longest = max(*best, 1e-9)
    return {
        f"{shown(prospect.holders)}, ε = {prospect.epsilon:g}": "█" * round(BAR * gain / longest)
        + (" ◀ you are here" if prospect is plan.here else "")
        for prospect, gain in zip(plan.prospects, best, strict=True)
    }


def percent(gain: float) -> str:
    """A gain in percent, with its sign."""
    return f"{round(100.0 * gain, 1) + 0.0:+.1f}"  # never -0.0


def _shift(plan: "Plan", shift: float | None) -> str:
    if shift is None:
        return "none"
    return f"{100 * shift:.1f}" if plan.score == "accuracy" else f"{shift:.3g}"
