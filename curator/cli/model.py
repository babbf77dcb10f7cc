"""``privet fit``, ``models``, ``card``, ``export`` and ``status``."""

from pathlib import Path
from typing import Annotated, Any

import typer

from privet.curator.cli.options import (
    URL,
    AsJson,
    ModelNumber,
    TaskName,
    Token,
    Url,
    connect,
    parsed_value,
)
from privet.curator.cli.output import err, print_facts, print_json, print_table, when
from privet.curator.cli.relays import relay_facts, relay_status
from privet.protocol.errors import InvalidRequest, PrivetError

Parameter = Annotated[
    list[str] | None,
    typer.Option("--parameter", "-p", metavar="NAME=VALUE", help="A parameter of the estimator."),
]


def fit(
    task: TaskName,
    *,
    estimator: Annotated[str | None, typer.Option(help="Estimator; by default the best.")] = None,
    parameter: Parameter = None,
    url: Url = URL,
    token: Token = None,
    as_json: AsJson = False,
) -> None:
    """Fit a model from the reports so far, and keep it under the next number."""
    api = connect(url, token)
    body: dict[str, Any] = {"parameters": _parameters(parameter or [])}
    if estimator is not None:
        body["estimator"] = estimator
    task_id = api.task_id(task)
    with err().status("Fitting ..."):
        model = api.post(f"/v1/tasks/{task_id}/models", body)
    if as_json:
        print_json(model)
    else:
        print_facts(f"Model {model['number']}", _facts(model))


def models(task: TaskName, url: Url = URL, as_json: AsJson = False) -> None:
    """List the models of a task."""
    api = connect(url)
    found = api.get(f"/v1/tasks/{api.task_id(task)}/models")
    if as_json:
        print_json(found)
        return
    columns = ("number", "estimator", "parameters", "reports", "cells", "fitted")
    rows = [
        (m["number"], m["estimator"], m["parameters"], m["reports"], m["cells"], when(m["created"]))
        for m in found
    ]
    print_table("Models", columns, rows, whole=("estimator",))


def export(
    task: TaskName,
    *,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", help="File; by default a name of its own, - for standard output."
        ),
    ] = None,
    format_: Annotated[str, typer.Option("--format", help="json or onnx.")] = "json",
    model: ModelNumber = None,
    url: Url = URL,
) -> None:
    """Export a model as a file that other programs can predict with."""
    api = connect(url)
    task_id = api.task_id(task)
    number = api.model_number(task_id) if model is None else model
    content = api.export(task_id, model=number, format=format_)
    if str(out) == "-":
        typer.get_binary_stream("stdout").write(content)
        return
    target = out or Path(f"privet-{task_id[:12]}-{number}.{format_}")
    try:
        target.write_bytes(content)
    except OSError as error:
        raise PrivetError(f"Cannot write {target}: {error.strerror}.") from None
    err().print(f"Wrote model {number} to {target} ({len(content)} bytes).")


def card(task: TaskName, model: ModelNumber = None, url: Url = URL) -> None:
    """Print a model's card in Markdown: what it is, from what, how far to trust it."""
    typer.echo(connect(url).card(task, model=model))


def status(
    task: TaskName,
    relay: Annotated[
        str | None, typer.Option(help="Address of a relay; show what its shuffling adds.")
    ] = None,
    url: Url = URL,
    as_json: AsJson = False,
) -> None:
    """Show how a collection stands."""
    api = connect(url)
    found = api.get(f"/v1/tasks/{api.task_id(task)}/status")
    if relay is not None:
        found["relay"] = relay_status(relay, found["id"], found["reports"])
    if as_json:
        print_json(found)
        return
    facts = {
        "state": found["state"],
        "takes reports now": found["collecting"],
        "reports": found["reports"],
        "answers per question": found["answers"],
        "refused": found["rejects"],
        "models": found["models"],
        "checksum": found["checksum"],
    }
    if relay is not None:
        facts |= relay_facts(found["relay"], found["reports"])
    print_facts(f"Task {found['id'][:12]}", facts)


def _facts(model: dict[str, Any]) -> dict[str, Any]:
    return {
        "estimator": model["estimator"],
        "parameters": model["parameters"],
        "reports": model["reports"],
        "cells": model["cells"],
        "fitted": when(model["created"]),
        **model["facts"],
    }


def _parameters(given: list[str]) -> dict[str, Any]:
    parsed = {}
    for parameter in given:
        name, equals, value = parameter.partition("=")
        if not equals:
            raise InvalidRequest(f"--parameter {parameter}: write it as NAME=VALUE.")
        parsed[name] = parsed_value(value)
    return parsed
