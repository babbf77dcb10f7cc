"""``privet``: the curator's command line. It talks to a curator over HTTP; ``serve`` starts one.

Exit codes: 0 done, 1 refused or failed, 2 wrong usage, 3 newer than the backup (``verify``).
"""

from collections.abc import Sequence

import typer

from . import (
    access,
    backups,
    database,
    model,
    offline,
    panel,
    pilot,
    plan,
    serve,
    task,
)
from .output import run

app = typer.Typer(
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    help="Decision trees learned from people who never reveal their record.",
)
app.add_typer(task.app, name="task")
app.add_typer(panel.app, name="panel")
app.add_typer(access.tokens, name="token")
app.add_typer(access.keys, name="key")
for command, example in (
    (serve.serve, "serve --database sqlite:///clinic.db --port 8000"),
    (pilot.pilot, "pilot docs/examples/clinic.csv --label readmitted"),
    (access.audit, "audit --limit 20"),
    (model.fit, "fit Readmission --estimator weighted -p weight=2"),
    (model.promote, "promote Readmission 2"),
    (model.compare, "compare Readmission 1 2"),
    (
        model.predict,
        "predict Readmission --csv docs/examples/clinic.csv --ignore readmitted --out out.csv",
    ),
    (model.export, "export Readmission --format onnx --out model.onnx"),
    (model.status, "status Readmission"),
    (model.models, "models Readmission"),
    (model.card, "card Readmission --model 1"),
    (model.insight, "insight Readmission"),
    (
        plan.plan,
        "plan --public docs/examples/clinic.csv --label readmitted --holders 10000 --epsilon 1",
    ),
    (offline.encode, "encode docs/examples/clinic.csv --label readmitted --out encoded.csv"),
    (offline.mechanisms, "mechanisms --epsilon 1 --cells 16 --classes 3"),
    (backups.backup, "backup backup.db --database sqlite:///clinic.db"),
    (backups.restore, "restore backup.db --database sqlite:///restored.db"),
    (backups.recover, "recover /var/backups/privet --database sqlite:///clinic.db"),
    (database.verify, "verify --database sqlite:///clinic.db"),
    (database.migrate, "migrate --database sqlite:///clinic.db"),
    (database.collect, "collect /srv/batches --database sqlite:///clinic.db"),
):
    app.command(epilog=f"Example: privet {example}")(command)


@app.command(epilog="Example: privet version")
def version() -> None:
    """Print the version."""
    from importlib.metadata import version as installed_version  # slow to import

    typer.echo(f"privet {installed_version('privet')}")


def main(arguments: Sequence[str] | None = None) -> int:
    return run(app, arguments)
