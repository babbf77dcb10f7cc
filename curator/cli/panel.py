"""``privet panel``: the waves of a panel beside each other, and their models."""

from typing import Annotated, Any

import typer

from privet.admin.client import CuratorClient, Document
from privet.learning.core.amounts import amount, figure
from privet.protocol.lifecycle import Phase

from .options import ExportFile, Force, TaskName, command_of, remote
from .output import SHORT_ID, print_table, say, when, write_export

ROWS_LISTED = 20

app = typer.Typer(no_args_is_help=True, help="Follow tasks that are asked in several waves.")


def _print_panel(panel: Document) -> None:
    rows: list[Any] = [
        (
            wave["wave"],
            wave["id"][:SHORT_ID],
            " to ".join(when(wave[end]).removesuffix(" UTC") for end in ("opens", "closes")),
            Phase(wave["phase"]).in_words,
            wave["reports"] if wave["honest"] else f"{wave['reports']}, not all honest",
            wave["models"],
        )
        for wave in panel["waves"]
    ]
    print_table("Waves", ("wave", "task", "dates, in UTC", "state", "reports", "models"), rows)
    for wave in panel["waves"]:
        if wave["held"] or wave["lost"]:
            typer.echo(
                f"Of wave {wave['wave']} relays hold about {wave['held']} reports, and lost "
                f"{wave['lost']}, too late or too few to be sent on."
            )
    numbers = sorted({each["wave"] for line in panel["lines"] for each in line["figures"]})
    rows = [(line["name"], *map(_figure, line["figures"])) for line in panel["lines"]]
    if rows:
        print_table("All people", ("", *(f"wave {number}" for number in numbers)), rows)
    rows = [
        (
            " and ".join(change["path"]) or "all people",
            change["name"],
            f"{change['since']} to {change['wave']}",
            f"{amount(change['before'])} to {amount(change['after'])}",
            f"{_signed(change['low'])} to {_signed(change['high'])}",
        )
        for change in panel["changes"][:ROWS_LISTED]
    ]
    if rows:
        columns = ("where", "", "waves", "from and to", "change, 95 % interval")
        print_table("Changes, the most certain first", columns, rows)
    typer.echo(panel["sentence"])


def _signed(number: float) -> str:
    return f"{'+' * (number > 0)}{amount(float(f'{number:.3g}'))}"


def _figure(of: Document) -> str:
    return figure(of["value"], of["low"], of["high"], is_share=False)


app.command("status", epilog="Example: privet panel status Months")(
    command_of(CuratorClient.waves, _print_panel)
)


def _print_models(models: list[Document]) -> None:
    if not models:
        typer.echo("Every wave has a model of all its reports.")
        return
    rows = [(each["wave"], each["number"], each["estimator"]) for each in models]
    print_table("Models", ("wave", "model", "estimator"), rows)


@app.command(epilog="Example: privet panel fit Months")
@remote(_print_models, doing="Fitting wave by wave ...")
def fit(api: CuratorClient, task: TaskName) -> list[Document]:
    """Fit a model to each wave that has none of all its reports; it starts from the waves before.

    Each is kept before the next is fitted, so that whatever stops this takes none of them back.
    """
    models = []
    for model in api.fit_waves(task):
        say(f"Wave {model['wave']} has model {model['number']}.")
        models.append(model)
    return models


@app.command(epilog="Example: privet panel export Months --format csv --out months.csv")
@remote()
def export(
    api: CuratorClient,
    task: TaskName,
    *,
    target: ExportFile = None,
    format_: Annotated[str, typer.Option("--format", help="json or csv.")] = "json",
    force: Force = False,
) -> None:
    """Export the waves, each class over time and what changed beyond chance as a file."""
    task_id = api.task_id(task)
    content = api.export_waves(task_id, format=format_)
    default = f"privet-{task_id[:12]}-waves.{format_}"
    write_export(content, "the waves", target, default, force=force)
