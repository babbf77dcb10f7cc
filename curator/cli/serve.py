"""``privet serve``: its options are made from the fields of ``curator.settings.Settings``."""

import inspect
from typing import Any, get_args

import typer
from pydantic import ValidationError
from pydantic.fields import FieldInfo

from privet.curator.cli.options import parsed_value
from privet.curator.cli.output import err
from privet.curator.settings import Settings
from privet.protocol.errors import InvalidRequest
from privet.protocol.wire import first_fault

BY_ENVIRONMENT_ONLY = frozenset({"admin_token"})
"""Not an option, since other users of a machine see the options of running programs."""


def serve(**options: Any) -> None:
    """Start a curator; Ctrl-C ends it after finishing what has been accepted.

    Every option can also be set as an environment variable, PRIVET_DATABASE and so on. The admin
    token is read from PRIVET_ADMIN_TOKEN; without it one is made and shown once, at first start.
    """
    from privet.curator.server import serve as serve_until_stopped

    serve_until_stopped(read_settings(options), show=announce)


def read_settings(options: dict[str, Any]) -> Settings:
    """Settings from the given options, the environment and the defaults, in this order.

    Raises ``InvalidRequest`` naming the setting at fault.
    """
    set_options = {name: value for name, value in options.items() if value is not None}
    if "cors_origins" in set_options:
        set_options["cors_origins"] = parsed_value(set_options["cors_origins"])
    try:
        return Settings(**set_options)
    except ValidationError as error:
        raise InvalidRequest(f"The settings are not possible: {first_fault(error)}") from None


def announce(address: str, token: str | None) -> None:
    """Tell the operator where the curator listens, and the first admin token once."""
    console = err()
    if token is not None:
        console.print("[bold]Admin token[/] (shown this once; keep it):")
        console.print(token, style="bold green", soft_wrap=True, highlight=False)
        console.print("Use it with --token or PRIVET_ADMIN_TOKEN.")
    console.print(f"Privet curator at {address}, documentation at {address}/docs", soft_wrap=True)


def _option(name: str, field: FieldInfo) -> inspect.Parameter:
    """The command line's option for one setting; None means that it was not given."""
    default = field.default if field.default not in (None, (), "") else "not set"
    option = typer.Option(
        None,
        f"--{name.replace('_', '-')}",
        help=f"{field.description} Default: {default}.",
        show_default=False,
    )
    annotation = _number(field) | None
    return inspect.Parameter(
        name, inspect.Parameter.KEYWORD_ONLY, default=option, annotation=annotation
    )


def _number(field: FieldInfo) -> type:
    """The setting's type if it is a number, else text, which the settings read further."""
    kinds = {field.annotation, *get_args(field.annotation)}
    return next((kind for kind in (int, float) if kind in kinds), str)


_OPTIONS = [
    _option(name, field)
    for name, field in Settings.model_fields.items()
    if name not in BY_ENVIRONMENT_ONLY
]
serve.__signature__ = inspect.Signature(_OPTIONS)  # type: ignore[attr-defined]
serve.__annotations__ = {option.name: option.annotation for option in _OPTIONS}
