"""``privet``: the curator's command line. It talks to a curator over HTTP; ``serve`` starts one.

Exit codes: 0 done, 1 refused or failed, 2 wrong usage.
"""

from collections.abc import Sequence
from importlib.metadata import version as installed_version

import typer

from privet.curator.cli import (
    access,
    database,
    model,
    offline,
    plan,
    serve,
    task,
)
from privet.curator.cli.output import print_error
from privet.protocol.errors import PrivetError

app = typer.Typer(
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
    help="Decision trees learned from people who never reveal their record.",
)
app.command()(serve.serve)
app.add_typer(task.app, name="task")
app.add_typer(access.tokens, name="token")
app.add_typer(access.keys, name="key")
app.command()(access.audit)
app.command()(model.fit)
app.command()(model.promote)
app.command()(model.compare)
app.command()(model.predict)
app.command()(model.export)
app.command()(model.status)
app.command()(model.models)
app.command()(model.card)
app.command()(model.insight)
app.command()(plan.plan)
app.command()(offline.encode)
app.command()(offline.mechanisms)
app.command()(database.backup)
app.command()(database.restore)
app.command()(database.verify)
app.command()(database.migrate)


@app.command()
def version() -> None:
    """Print the version."""
    typer.echo(f"privet {installed_version('privet')}")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; the exit code."""
    try:
        app(arguments)
    except PrivetError as error:
        print_error(error.detail)
        return 1
    except SystemExit as left:
        return left.code if isinstance(left.code, int) else 0
    return 0
