"""The options that many commands share."""

import inspect
import json
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import httpx
import typer

from privet.learning.task_building.settings import TaskSettings
from privet.protocol.errors import InvalidRequest
from privet.protocol.limits import DEEPEST

from ..admin_client import DEFAULT_URL, CuratorClient
from .output import err, print_json

FILE: dict[str, Any] = {"exists": True, "dir_okay": False, "readable": True}
"""Checks of a file that a command reads."""

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
PublicFile = Annotated[Path, typer.Argument(**FILE, help="CSV or Parquet file.")]
Label = Annotated[str, typer.Option(help="The public column to be predicted.")]
Ignore = Annotated[list[str] | None, typer.Option(help="A column to leave out.")]
Shown = Annotated[
    list[str] | None,
    typer.Option(help="A column that reports may tell openly: it costs no epsilon."),
]
HiddenDepth = Annotated[
    int | None,
    typer.Option(min=0, max=DEEPEST, help="Splits on hidden columns below shown ones."),
]
Crowd = Annotated[
    int | None,
    typer.Option(
        min=1,
        help="Fewest holders expected in a shown cell; by default 20. With 1 it may be one person.",
    ),
]
Grower = Annotated[str | None, typer.Option(help="How the partition is grown.")]
MechanismName = Annotated[str | None, typer.Option(help="How answers are perturbed.")]
Setting = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="NAME=JSON", help="Any other setting, for example seed=3."),
]
Force = Annotated[bool, typer.Option("--force", help="Overwrite the file.")]
Yes = Annotated[bool, typer.Option("--yes", help="Do not ask.")]

WAITING = "Waiting for the curator ..."


class PatientClient(CuratorClient):
    """A client that says what it is ``doing`` where a call takes long."""

    def __init__(self, url: str, token: str | None, doing: str) -> None:
        super().__init__(url, token)
        self._doing = doing

    def call(self, method: str, path: str, **request: Any) -> httpx.Response:
        with err().status(self._doing):
            return super().call(method, path, **request)


def remote(
    show: Callable[[Any], None] | None = None, *, token: bool = True, doing: str = WAITING
) -> Callable[[Callable[..., Any]], Callable[..., None]]:
    """Make a command of a function whose first parameter is a client of the curator.

    The command also has the options --url, --token if ``token``, and --json if there is a ``show``,
    which prints for people what the function returns.
    """
    shared: list[tuple[str, Any, Any]] = [("url", Url, DEFAULT_URL)]
    shared += [("token", Token, None)] if token else []
    shared += [("as_json", AsJson, False)] if show else []

    def decorate(function: Callable[..., Any]) -> Callable[..., None]:
        def command(url: str, token: str | None = None, **options: Any) -> None:
            as_json = show is not None and options.pop("as_json")
            result = function(PatientClient(url, token, doing), **options)
            if as_json:
                print_json(result)
            elif show:
                show(result)

        keyword = inspect.Parameter.KEYWORD_ONLY
        _, *options_of_function = inspect.signature(function, eval_str=True).parameters.values()
        parameters = [parameter.replace(kind=keyword) for parameter in options_of_function]
        parameters += [
            inspect.Parameter(name, keyword, default=default, annotation=annotation)
            for name, annotation, default in shared
        ]
        command.__name__, command.__doc__ = function.__name__, function.__doc__
        command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        command.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
        return command

    return decorate


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


def given(**options: Any) -> dict[str, Any]:
    """The options that are not None."""
    return {name: value for name, value in options.items() if value is not None}


def read_settings(**values: Any) -> TaskSettings:
    """Checked settings; raises ``InvalidRequest`` naming the option at fault."""
    return TaskSettings.parse(json.dumps(values))
