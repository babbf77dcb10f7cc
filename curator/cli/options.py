"""The options that many commands share."""

import inspect
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any

import httpx
import typer

from privet.admin.client import DEFAULT_URL, CuratorClient
from privet.learning.task_building.settings import TaskSettings
from privet.protocol.errors import InvalidRequest
from privet.protocol.limits import DEEPEST

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
Setting = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="NAME=JSON", help="Any other setting, for example seed=3."),
]
OF_TASK: dict[str, Any] = {
    "grower": Annotated[str | None, typer.Option(help="How the partition is grown.")],
    "depth": Annotated[
        int | None, typer.Option(min=0, max=DEEPEST, help="Splits per path; by default chosen.")
    ],
    "mechanism": Annotated[str | None, typer.Option(help="How answers are perturbed.")],
    "ignore": Ignore,
    "shown": Annotated[
        list[str] | None,
        typer.Option(help="A column that reports may tell openly: it costs no epsilon."),
    ],
    "hidden_depth": Annotated[
        int | None,
        typer.Option(min=0, max=DEEPEST, help="Splits on hidden columns below shown ones."),
    ],
    "crowd": Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Fewest holders expected in a shown cell; by default 20. With 1 it may be one "
            "person.",
        ),
    ],
    "more": Setting,
}
"""Settings of a task that its creation and its plan take as options."""
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


def with_settings(function: Callable[..., Any]) -> Callable[..., Any]:
    """Make a command that has the options ``OF_TASK`` in place of its parameter ``settings``.

    The function gets those that were given as a dict.
    """

    def command(*arguments: Any, **options: Any) -> Any:
        settings = given(**{name: options.pop(name) for name in OF_TASK if name != "more"})
        return function(*arguments, settings=settings | parsed(options.pop("more")), **options)

    parameters: list[inspect.Parameter] = []
    for parameter in inspect.signature(function, eval_str=True).parameters.values():
        parameters += _options(OF_TASK) if parameter.name == "settings" else [parameter]
    return _declared(command, function, parameters)


def remote(
    show: Callable[[Any], None] | None = None, *, token: bool = True, doing: str = WAITING
) -> Callable[[Callable[..., Any]], Callable[..., None]]:
    """Make a command of a function whose first parameter is a client of the curator.

    The command also has the options --url, --token if ``token``, and --json if there is a ``show``,
    which prints for people what the function returns.
    """
    shared = _options({"url": Url}, DEFAULT_URL)
    shared += _options({"token": Token}) if token else []
    shared += _options({"as_json": AsJson}, default=False) if show else []

    def decorate(function: Callable[..., Any]) -> Callable[..., None]:
        def command(url: str, token: str | None = None, **options: Any) -> None:
            as_json = show is not None and options.pop("as_json")
            result = function(PatientClient(url, token, doing), **options)
            if as_json:
                print_json(result)
            elif show:
                show(result)

        _, *own = inspect.signature(function, eval_str=True).parameters.values()
        keyword = inspect.Parameter.KEYWORD_ONLY
        return _declared(command, function, [p.replace(kind=keyword) for p in own] + shared)

    return decorate


def _options(annotations: Mapping[str, Any], default: Any = None) -> list[inspect.Parameter]:
    keyword = inspect.Parameter.KEYWORD_ONLY
    return [
        inspect.Parameter(name, keyword, default=default, annotation=annotation)
        for name, annotation in annotations.items()
    ]


def _declared(
    command: Callable[..., Any], function: Callable[..., Any], parameters: list[inspect.Parameter]
) -> Callable[..., Any]:
    """The command under the function's name, whose options are the parameters."""
    command.__name__, command.__doc__ = function.__name__, function.__doc__
    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return command


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
    """The options that were given, lists with something in them."""
    return {name: value for name, value in options.items() if value not in (None, [])}


def read_settings(**values: Any) -> TaskSettings:
    """Checked settings; raises ``InvalidRequest`` naming the option at fault."""
    return TaskSettings.parse(json.dumps(values))
