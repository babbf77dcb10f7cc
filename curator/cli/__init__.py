"""``privet``: the curator's command line. It talks to a curator over HTTP; ``serve`` starts one.

Exit codes: 0 done, 1 refused or failed, 2 wrong usage, 3 newer than the backup (``verify``).
"""

from collections.abc import Sequence

import typer

from .on_use import Place, commands_on_use, run

PLACES = {
    "serve": Place(
        "serve:serve",
        "Start a curator; Ctrl-C ends it after finishing what has been accepted.",
        "serve --database sqlite:///clinic.db --port 8000",
    ),
    "pilot": Place(
        "pilot:pilot",
        "Try a collection: start curator, relay and answer page here, until Ctrl-C.",
        "pilot docs/examples/clinic.csv --label readmitted",
    ),
    "ask": Place(
        "ask:ask",
        "Publish one question without a file; print the link where people answer it, and the plan.",
        'ask "Have you ever driven after drinking?" yes no',
    ),
    "audit": Place(
        "access:audit",
        "Show who created, deleted, invited, fitted, promoted and issued what, the latest first.",
        "audit --limit 20",
    ),
    "fit": Place(
        "model:fit",
        "Fit a model from the reports so far, and keep it under the next number.",
        "fit Readmission --estimator weighted -p weight=2",
    ),
    "promote": Place(
        "model:promote",
        "Let a model predict from now on; an earlier one can be promoted again.",
        "promote Readmission 2",
    ),
    "compare": Place(
        "model:compare",
        "Show what changes from one model to another, in predictions for the public records.",
        "compare Readmission 1 2",
    ),
    "predict": Place(
        "model:predict",
        "Predict for one record, or for every row of a file.",
        "predict Readmission --csv docs/examples/clinic.csv --ignore readmitted --out out.csv",
    ),
    "export": Place(
        "model:export",
        "Export a model as a file that other programs can predict with.",
        "export Readmission --format onnx --out model.onnx",
    ),
    "status": Place(
        "model:status",
        "Show how a collection stands; without a token only about how many reports there are.",
        "status Readmission",
    ),
    "models": Place("model:models", "List the models of a task.", "models Readmission"),
    "card": Place(
        "model:card",
        "Print a model card in Markdown: the model, its data, its reliability.",
        "card Readmission --model 1",
    ),
    "insight": Place(
        "model:insight",
        "Compare holders with the public data: shares, groups that differ, what reports changed.",
        "insight Readmission",
    ),
    "plan": Place(
        "plan:plan",
        "Plan a collection: what reports would show, cost and gain, from public data if any.",
        "plan --public docs/examples/clinic.csv --label readmitted --holders 10000 --epsilon 1",
    ),
    "encode": Place(
        "offline:encode",
        "Show the encoded columns that a public model takes, and write the encoded records.",
        "encode docs/examples/clinic.csv --label readmitted --out encoded.csv",
    ),
    "backup": Place(
        "backups:backup",
        "Copy one moment of the database, of this version or an older one, into a new file.",
        "backup backup.db --database sqlite:///clinic.db",
    ),
    "restore": Place(
        "backups:restore",
        "Copy a backup into a new SQLite file or an empty PostgreSQL database.",
        "restore backup.db --database sqlite:///restored.db",
    ),
    "ask-again": Place(
        "backups:ask_again",
        "Ask holders for reports again, after a database was put back by other means.",
        "ask-again --database sqlite:///clinic.db",
    ),
    "recover": Place(
        "backups:recover",
        "List and check the backups in a folder, ask for one, and restore it.",
        "recover /var/backups/privet --database sqlite:///clinic.db",
    ),
    "verify": Place(
        "database:verify",
        "Recompute every count and checksum, the audit log, and a backup's digest.",
        "verify --database sqlite:///clinic.db",
    ),
    "migrate": Place(
        "database:migrate",
        "Bring the tables of a database or a backup up to this version; make a backup first.",
        "migrate --database sqlite:///clinic.db",
    ),
    "collect": Place(
        "database:collect",
        "Count the reports in batches that relays wrote to a folder (privet-relay serve "
        "--batches).",
        "collect /srv/batches --database sqlite:///clinic.db",
    ),
    "doctor": Place(
        "doctor:doctor",
        "Try what an operator should check of a curator or a relay, and say each in one sentence.",
        "doctor https://curator.example",
    ),
    "version": Place("offline:version", "Print the version.", "version"),
    "task": Place("task:app", "Create and manage tasks."),
    "panel": Place("panel:app", "Follow tasks that are asked in several waves."),
    "token": Place("access:tokens", "Issue and revoke tokens."),
    "key": Place("access:keys", "The key that tasks are signed with."),
}
"""Every command and group of commands, with its line as its own help has it."""

app = typer.Typer(
    cls=commands_on_use("privet", PLACES), no_args_is_help=True, pretty_exceptions_enable=False
)


@app.callback()
def privet() -> None:
    """Decision trees learned from people who never reveal their record."""


def main(arguments: Sequence[str] | None = None) -> int:
    return run(app, arguments)
