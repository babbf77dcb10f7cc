"""The options that many commands share."""

from pathlib import Path
from typing import Annotated

import typer

TaskUrl = Annotated[str, typer.Argument(metavar="TASK-URL", help="Where the task is published.")]
Subject = Annotated[
    str, typer.Option(help="Whom the record is about; epsilon adds up per subject.")
]
Cap = Annotated[
    float,
    typer.Option(min=0.0, envvar="PRIVET_HOLDER_CAP", help="Most epsilon a subject may spend."),
]
LedgerPath = Annotated[
    Path | None,
    typer.Option(
        envvar="PRIVET_HOLDER_LEDGER",
        help="The file that keeps answers and epsilon; by default in your data folder.",
    ),
]
CuratorKey = Annotated[
    str | None,
    typer.Option(
        envvar="PRIVET_HOLDER_CURATOR_KEY",
        help="Answer only tasks signed with this key of the curator's, 64 hexadecimal digits.",
    ),
]
Insecure = Annotated[
    bool, typer.Option("--insecure-http", help="Allow plain http to other machines.")
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]
