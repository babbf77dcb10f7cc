"""The options that many commands share."""

from typing import Annotated

import typer

from privet.curator.admin_client import DEFAULT_URL, CuratorClient

Url = Annotated[str, typer.Option("--url", envvar="PRIVET_URL", help="Address of the curator.")]
Token = Annotated[
    str | None,
    typer.Option("--token", envvar="PRIVET_ADMIN_TOKEN", help="Admin token of the curator."),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, for scripts.")]
TaskName = Annotated[
    str, typer.Argument(metavar="TASK", help="Id of the task, its beginning, or the task's name.")
]
ModelNumber = Annotated[
    int | None, typer.Option("--model", help="Number of the model; by default the latest.")
]

URL = DEFAULT_URL


def connect(url: str, token: str | None = None) -> CuratorClient:
    """A curator at ``url``."""
    return CuratorClient(url, token)
