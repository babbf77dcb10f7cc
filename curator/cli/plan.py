"""``privet plan``: expected accuracy from public data; needs no curator and spends no privacy."""

from pathlib import Path
from textwrap import fill
from typing import Annotated, Any

import typer

from privet.learning.task_building.settings import TaskSettings
from privet.protocol.limits import BATCH, DELTA
from privet.protocol.panel import Mode

from .options import FILE, AsJson, Register, with_settings
from .output import err, out, print_json, print_remarks


@with_settings(TaskSettings, required=("label", "holders"))
def plan(
    public: Annotated[
        Path | None,
        typer.Option(
            **FILE,
            help="CSV, Parquet or Excel file of public data; without it the label alone is asked.",
        ),
    ] = None,
    *,
    settings: dict[str, Any],
    register: Register = None,
    central_epsilon: Annotated[
        float | None,
        typer.Option(
            help="Central epsilon to reach by shuffling at a relay; --epsilon is then the most "
            "that a holder may spend."
        ),
    ] = None,
    delta: Annotated[float, typer.Option(help="The delta of the central epsilon.")] = DELTA,
    batch: Annotated[
        int,
        typer.Option(help="Minimum number of reports that the relay sends together, its --least."),
    ] = BATCH,
    estimator: Annotated[
        str | None, typer.Option(help="Estimator to plan for; by default drift.")
    ] = None,
    target_shift: Annotated[
        float | None,
        typer.Option(
            help="Shift, or change between waves, to detect: a share, by default .05, or in the "
            "label's units."
        ),
    ] = None,
    power: Annotated[float, typer.Option(help="Power: the probability of detecting it.")] = 0.8,
    half_width: Annotated[
        float | None,
        typer.Option(help="Precision of overall figures: a share, by default .02, or in units."),
    ] = None,
    waves: Annotated[
        int | None,
        typer.Option(
            help="Number of waves of a panel: what changes between them are found, and by how "
            "many people. Holders are then those of each wave."
        ),
    ] = None,
    mode: Annotated[
        Mode, typer.Option(help="Whether holders answer one wave (rotate) or each (repeat).")
    ] = "rotate",
    board: Annotated[
        bool, typer.Option("--board", help="Print a paragraph for an ethics board instead.")
    ] = False,
    simulation_seed: Annotated[int, typer.Option(help="Seed of the simulations.")] = 0,
    as_json: AsJson = False,
) -> None:
    """Plan a collection: what reports would show, cost and gain, from public data if any."""
    from privet.learning.planning import plan as make_plan

    asked = {
        "central_epsilon": central_epsilon,
        "delta": delta,
        "batch": batch,
        "target_shift": target_shift,
        "power": power,
        "half_width": half_width,
        "estimator": estimator,
        "register": register,
        "waves": waves,
        "mode": mode,
        "simulation_seed": simulation_seed,
    }
    with err().status("Simulating collections ..."):
        result = make_plan(public, **asked | settings)
    print_remarks(result.remarks)
    if as_json:
        print_json(result.to_document())
    elif board:
        typer.echo(result.board)
    else:
        width = out().width
        for line in str(result).splitlines():
            typer.echo(fill(line, width, break_on_hyphens=False))
