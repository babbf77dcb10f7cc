"""The options that many commands share."""

import json
from typing import Annotated, Any

import httpx
import typer

from privet.http_client.terminal import waiting
from privet.learning.task_building.settings import TaskSettings
from privet.protocol.errors import InvalidRequest

from ..admin_client import DEFAULT_URL, CuratorClient

Url = Annotated[str, typer.Option("--url", envvar="PRIVET_URL", help="Address of the curator.")]
Token = Annotated[
    str | None,
    typer.Option("--token", envvar="PRIVET_TOKEN", help="A token of the curator."),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, for scripts.")]
TaskName = Annotated[
    str, typer.Argument(metavar="TASK", help="Id of the task, its beginning, or the task's name.")
]
ModelNumber = Annotated[
    int | None, typer.Option("--model", help="Number of the model; by default the one that serves.")
]
Setting = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="NAME=JSON", help="Any other setting, for example seed=3."),
]

URL = DEFAULT_URL


class PatientClient(CuratorClient):
    """A client that says what it is ``doing`` where a call takes long."""

    def __init__(self, url: str, token: str | None, doing: str) -> None:
        super().__init__(url, token)
        self._doing = doing

    def call(self, method: str, path: str, **request: Any) -> httpx.Response:
        """As ``CuratorClient.call``."""
        with waiting(self._doing):
            return super().call(method, path, **request)


def connect(
    url: str, token: str | None = None, doing: str = "Waiting for the curator ..."
) -> CuratorClient:
    """A curator at ``url``."""
    return PatientClient(url, token, doing)


def parsed(pairs: list[str] | None, option: str = "--set") -> dict[str, Any]:
    """What an ``option`` was given as ``NAME=JSON``; raises ``InvalidRequest``."""
    parsed: dict[str, Any] = {}
    for pair in pairs or []:
        name, equals, value = pair.partition("=")
        if not equals:
            raise InvalidRequest(f"{option} {pair}: write it as NAME=VALUE, for example seed=3.")
        try:
            parsed[name] = json.loads(value)
        except json.JSONDecodeError:
            parsed[name] = value  # text without quotation marks
    return parsed


def read_settings(**values: Any) -> TaskSettings:
    """Checked settings; raises ``InvalidRequest`` naming the option at fault."""
    return TaskSettings.parse(json.dumps(values))
