"""``privet plan``: expected accuracy from public data; needs no curator and spends no privacy."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from privet.curator.cli.options import AsJson, parsed
from privet.curator.cli.output import err, out, print_facts, print_json, shown
from privet.curator.publishing.settings import DEEPEST

if TYPE_CHECKING:
    from privet.curator.planning import Figure, Plan


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
    grower: Annotated[str | None, typer.Option(help="How the partition is grown.")] = None,
    depth: Annotated[
        int | None, typer.Option(min=0, max=DEEPEST, help="Splits per path; by default chosen.")
    ] = None,
    mechanism: Annotated[str | None, typer.Option(help="How answers are perturbed.")] = None,
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
    """Simulate collections from public data: expected accuracy, and whether to ask at all."""
    from privet.curator.planning import plan as make_plan

    named = {"grower": grower, "depth": depth, "mechanism": mechanism, "ignore": ignore or None}
    settings = {name: value for name, value in named.items() if value is not None}
    with err().status("Simulating collections ..."):
        result = make_plan(
            public,
            label=label,
            epsilon=epsilon,
            holders=holders,
            estimator=estimator,
            wanted=wanted,
            simulation_seed=seed,
            **settings,
            **parsed(more),
        )
    if as_json:
        print_json(result.to_document())
    else:
        print_plan(result)


def print_plan(plan: "Plan") -> None:
    """The plan in words and tables."""
    title = f"{plan.holders:,} holders at epsilon {plan.epsilon:g}".replace(",", " ")
    facts = {
        f"expected {plan.score}": _figure(plan.expected),
        "public data alone": _figure(plan.public_only),
        "gain by reports": _figure(plan.gain),
        "worth of reports": _worth(plan),
        "questions": "; ".join(
            f"{each['mechanism']} over {each['cells']} cells" for each in plan.questions
        ),
        "report": f"{plan.report_bytes} bytes",
        "verdict": str(plan.verdict),
    }
    print_facts(title, facts)
    if plan.required is not None:
        _print_requirement(plan)
    out().print(plan.reason)


def _print_requirement(plan: "Plan") -> None:
    """Print what it takes to achieve the wanted score."""
    required = plan.required
    assert required is not None  # noqa: S101
    best = "most" if plan.score == "accuracy" else "least"

    def out_of_reach(score: float) -> str:
        return f"out of reach: {score:.4g} was the {best} that was seen"

    facts = {
        f"holders at epsilon {plan.epsilon:g}": shown(required.holders)
        if required.holders
        else out_of_reach(required.best_by_holders),
        f"epsilon with {shown(plan.holders)} holders": f"{required.epsilon:.2g}"
        if required.epsilon
        else out_of_reach(required.best_by_epsilon),
        "or public records without reports": shown(required.public_records)
        if required.public_records
        else "out of reach",
    }
    print_facts(f"To reach {plan.score} {required.wanted:g}", facts)


def _figure(figure: "Figure") -> str:
    return f"{figure.value:.4g} ± {figure.standard_error:.2g}"


def _worth(plan: "Plan") -> str:
    if plan.gain.value <= 0.0:
        return "nothing that shows"
    if plan.worth == float("inf"):
        return "more than any number of public records"
    return f"as much as {shown(round(plan.worth))} more public records"
