"""``privet serve``: its options are made from the fields of ``curator.settings.Settings``."""

import inspect
import json
import logging
import os
import sys
from functools import partial
from typing import Any, get_args

import typer
from pydantic import ValidationError
from pydantic.fields import FieldInfo

from privet.protocol.errors import InvalidRequest, PrivetError
from privet.protocol.wire import first_fault

from ..settings import Settings, unknown_variable
from .output import err

BY_ENVIRONMENT_ONLY = frozenset({"admin_token", "oidc_client_secret"})
"""Secrets are no options: other users of a machine see the options of running programs."""


def serve(**options: Any) -> None:
    """Start a curator; Ctrl-C ends it after finishing what has been accepted.

    Every option can also be set as an environment variable, PRIVET_DATABASE and so on. An admin
    token is read from PRIVET_ADMIN_TOKEN; at a start without any, one is made and shown once.
    """
    from ..logs import set_up_logs
    from ..server import serve as serve_until_stopped

    as_json = (options.get("log_format") or os.environ.get("PRIVET_LOG_FORMAT")) == "json"
    try:
        settings = read_settings(options)
        serve_until_stopped(settings, show=partial(announce, settings))
    except PrivetError as error:
        if not as_json:
            raise
        set_up_logs("json")
        logging.getLogger("privet").critical(error.detail)
        raise typer.Exit(1) from None


def read_settings(options: dict[str, Any]) -> Settings:
    """Settings from the given options, the environment and the defaults, in this order.

    Raises ``InvalidRequest`` naming the setting at fault.
    """
    unknown = unknown_variable(os.environ)
    if unknown is not None:
        raise InvalidRequest(unknown)
    set_options = {name: value for name, value in options.items() if value is not None}
    try:
        return Settings(**set_options)
    except ValidationError as error:
        raise InvalidRequest(f"Invalid settings: {first_fault(error)}") from None


def announce(settings: Settings, address: str, token: str | None) -> None:
    """Tell the operator where the curator listens, over which database, and a new admin token once.

    With JSON logs these are JSON lines too.
    """
    from ..datastore import printable_address

    database = printable_address(settings.database)
    if settings.log_format == "json":
        line = {"level": "warning", "logger": "privet", "admin_token": token}
        if token is not None:
            event = "an admin token was made; it is shown only once"
            print(json.dumps({**line, "event": event}), file=sys.stderr, flush=True)
        said = {"url": address, "database": database, "documentation": f"{address}/docs"}
        logging.getLogger("privet").info("curator started", extra=said)
        return
    console = err()
    if token is not None:
        console.print("[bold]Admin token[/] (shown only once; keep it):")
        console.print(token, style="bold green", soft_wrap=True, highlight=False)
        console.print("Use it with --token or PRIVET_TOKEN.")
    console.print(
        f"Privet curator at {address}, documentation at {address}/docs, database {database}",
        soft_wrap=True,
    )


def _option(name: str, field: FieldInfo) -> inspect.Parameter:
    """The command line's option for one setting; None means that it was not given."""
    default = field.default if field.default not in (None, "") else "not set"
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
