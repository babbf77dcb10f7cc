"""The options that many commands share."""

import inspect
import json
from collections.abc import Callable, Collection
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args

import typer

from privet.admin.client import DEFAULT_URL, CuratorClient
from privet.learning.task_building.inputs import Input, inputs_of
from privet.learning.task_building.settings import TaskSettings
from privet.protocol.errors import InvalidRequest

from .output import PRINTERS, err, print_json

if TYPE_CHECKING:
    import httpx

FILE: dict[str, Any] = {"exists": True, "dir_okay": False, "readable": True}
"""Checks of a file that a command reads."""

Url = Annotated[str, typer.Option("--url", envvar="PRIVET_URL", help="Address of the curator.")]
Token = Annotated[
    str | None, typer.Option("--token", envvar="PRIVET_TOKEN", help="API token of the curator.")
]
Insecure = Annotated[
    bool, typer.Option("--insecure-http", help="Allow plain http to other machines.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, for scripts.")]
TaskName = Annotated[
    str, typer.Argument(metavar="TASK", help="Id of the task, its beginning, or the task's name.")
]
ModelNumber = Annotated[
    int | None, typer.Option("--model", help="Number of the model; by default the one that serves.")
]
Register = Annotated[
    Path | None,
    typer.Option(
        **FILE,
        help="CSV, Parquet or Excel file of the people asked: their disclosed columns, or all "
        "features if none is disclosed, without labels.",
    ),
]
PublicFile = Annotated[Path, typer.Argument(**FILE, help="CSV, Parquet or Excel file.")]
MaybePublicFile = Annotated[
    Path | None,
    typer.Argument(
        **FILE,
        help="CSV, Parquet or Excel file; without one the label alone is asked, so give --classes "
        "or --label-range.",
    ),
]
ExportFile = Annotated[
    Path | None,
    typer.Option(
        "--out", "-o", help="File to write, by default in this folder; - for standard output."
    ),
]
Force = Annotated[bool, typer.Option("--force", help="Overwrite the file.")]
Yes = Annotated[bool, typer.Option("--yes", help="Do not ask.")]

WAITING = "Waiting for the curator ..."


class PatientClient(CuratorClient):
    """A client that says what it is ``doing`` where a call takes long."""

    def __init__(self, url: str, token: str | None, doing: str, *, insecure_http: bool) -> None:
        super().__init__(url, token, insecure_http=insecure_http)
        self._doing = doing

    def call(self, method: str, path: str, **request: Any) -> "httpx.Response":
        with err().status(self._doing):
            return super().call(method, path, **request)


def with_settings(
    model: type[TaskSettings], required: Collection[str] = (), only: Collection[str] | None = None
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Make a command with an option for each setting of ``model``, or ``only`` for some.

    They stand where the function has its parameter ``settings``, and it gets those that were given
    as a dict.
    """
    inputs = [each for each in inputs_of(model).values() if only is None or each.name in only]

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        def command(*arguments: Any, **options: Any) -> Any:
            settings = {}
            for each in inputs:
                given = options.pop(each.name)
                if given not in (None, []):
                    settings[each.name] = _read(each, given)
            return function(*arguments, settings=settings, **options)

        parameters: list[inspect.Parameter] = []
        for parameter in inspect.signature(function, eval_str=True).parameters.values():
            if parameter.name == "settings":
                parameters += [_option_of(each, each.name in required) for each in inputs]
            else:
                parameters.append(parameter)
        return _declared(command, function, parameters)

    return decorate


def _option_of(setting: Input, required: bool) -> inspect.Parameter:
    """The option for a setting; None means that it was not given."""
    kinds: dict[str, Any] = {
        "flag": bool,
        "integer": int,
        "number": float,
        "text": str,
        "choice": Literal[setting.choices],
        "texts": list[str],
        "numbers": list[str],
        "json": str,
    }
    metavars = {"json": "JSON|FILE", "numbers": "NAME=NUMBER"}
    more: dict[str, Any] = {"metavar": metavars.get(setting.kind)}
    if setting.kind == "integer":
        more = {"min": setting.low, "max": setting.high}
    help_text = setting.help
    if setting.kind in ("texts", "numbers"):
        help_text = f"{help_text} The option may be repeated."
    if setting.fewest > 1:
        help_text = f"{help_text[:-1]}, or given once with commas."
    if setting.default not in (None, False) and not required:
        help_text = f"{help_text} Default: {setting.default}."
    flag = setting.name.replace("_", "-")
    names = [f"--{flag}/--no-{flag}"] if setting.kind == "flag" else [f"--{flag}"]
    option = typer.Option(*names, help=help_text, show_default=False, **more)
    kind = kinds[setting.kind]
    if required:
        return _keyword(setting.name, Annotated[kind, option], inspect.Parameter.empty)
    return _keyword(setting.name, Annotated[kind | None, option])


def _read(setting: Input, given: Any) -> Any:
    """The value of an option that was given."""
    if setting.kind == "json":
        return _json_of(setting.name, given)
    if setting.kind == "texts" and setting.fewest > 1 and len(given) == 1:
        return [text.strip() for text in given[0].split(",")]
    return setting.value("\n".join(given)) if setting.kind == "numbers" else given


def _json_of(name: str, written: str) -> Any:
    """JSON as it stands, or what a file of that name holds."""
    option = f"--{name.replace('_', '-')}"
    text: str | bytes = written
    if written.lstrip()[:1] not in ("{", "["):
        try:
            text = Path(written).read_bytes()
        except OSError as error:
            raise typer.BadParameter(
                f"{written!r} is neither JSON nor a file that can be read: {error.strerror}.",
                param_hint=option,
            ) from None
    try:
        return json.loads(text)
    except ValueError as error:
        raise typer.BadParameter(f"{written} is not JSON: {error}.", param_hint=option) from None


def remote(
    show: Callable[[Any], None] | None = None, *, token: bool = True, doing: str = WAITING
) -> Callable[[Callable[..., Any]], Callable[..., None]]:
    """Make a command of a function whose first parameter is a client of the curator.

    The command also has --url, --insecure-http, --token if ``token``, and --json if there is a
    ``show``, which prints for people what the function returns.
    """
    shared = [_keyword("url", Url, DEFAULT_URL), _keyword("insecure_http", Insecure, default=False)]
    shared += [_keyword("token", Token)] if token else []
    shared += [_keyword("as_json", AsJson, default=False)] if show else []

    def decorate(function: Callable[..., Any]) -> Callable[..., None]:
        def command(
            url: str, insecure_http: bool, token: str | None = None, **options: Any
        ) -> None:
            as_json = show is not None and options.pop("as_json")
            api = PatientClient(url, token, doing, insecure_http=insecure_http)
            result = function(api, **options)
            if as_json:
                print_json(result)
            elif show:
                show(result)

        _, *own = inspect.signature(function, eval_str=True).parameters.values()
        keyword = inspect.Parameter.KEYWORD_ONLY
        return _declared(command, function, [p.replace(kind=keyword) for p in own] + shared)

    return decorate


def command_of(
    method: Callable[..., Any],
    show: Callable[[Any], None] | None = None,
    *,
    token: bool = True,
    doing: str = WAITING,
) -> Callable[..., None]:
    """The command of a client's method, whose result ``show`` prints, or the printer of its type.

    Its parameters are arguments, and those with a default options. Each but ``task`` and ``model``
    is ``Annotated[type, "help"]``; the docstring is the command's help. A result's type has a
    printer by ``@prints``: a method without a result is made a command by ``remote``.
    """
    signature = inspect.signature(method, eval_str=True)
    api, *own = signature.parameters.values()

    def function(client: CuratorClient, **options: Any) -> Any:
        return getattr(client, method.__name__)(**options)

    declared = _declared(function, method, [api, *map(_parameter_of, own)])
    show = show or PRINTERS[signature.return_annotation]
    return remote(show, token=token, doing=doing)(declared)


SHARED: dict[str, Any] = {"task": TaskName, "model": ModelNumber}
"""Parameters that are the same in all commands."""


def _parameter_of(parameter: inspect.Parameter) -> inspect.Parameter:
    """A parameter of a client's method as a command has it."""
    if parameter.name in SHARED:
        return parameter.replace(annotation=SHARED[parameter.name])
    kind, text = get_args(parameter.annotation)
    name = parameter.name
    if parameter.default is inspect.Parameter.empty:
        option = typer.Argument(metavar=name.upper(), help=text)
    else:
        option = typer.Option(f"--{name.replace('_', '-')}", help=text)
    return parameter.replace(annotation=Annotated[kind, option])


def _keyword(name: str, annotation: Any, default: Any = None) -> inspect.Parameter:
    kind = inspect.Parameter.KEYWORD_ONLY
    return inspect.Parameter(name, kind, default=default, annotation=annotation)


def _declared(
    command: Callable[..., Any], function: Callable[..., Any], parameters: list[inspect.Parameter]
) -> Callable[..., Any]:
    """The command under the function's name, whose options are the parameters."""
    command.__name__, command.__doc__ = function.__name__, function.__doc__
    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return command


def parsed(pairs: list[str] | None) -> dict[str, Any]:
    """The values of --parameter, given as ``NAME=JSON``; raises ``InvalidRequest``."""
    parsed: dict[str, Any] = {}
    for pair in pairs or []:
        name, equals, value = pair.partition("=")
        if not equals:
            raise InvalidRequest(f"--parameter {pair}: write it as NAME=VALUE, for example seed=3.")
        try:
            parsed[name] = json.loads(value)
        except json.JSONDecodeError:
            parsed[name] = value  # text without quotation marks
    return parsed
