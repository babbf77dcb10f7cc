"""``privet fit``, ``models``, ``card``, ``insight``, ``export``, ``predict`` and ``status``."""

import csv
import json
from pathlib import Path
from typing import Annotated, Any

import typer

from privet.curator.admin_client import CuratorClient, Predictions
from privet.curator.cli.options import (
    URL,
    AsJson,
    ModelNumber,
    TaskName,
    Token,
    Url,
    connect,
    parsed,
)
from privet.curator.cli.output import PLAIN, err, print_facts, print_json, print_table, when
from privet.curator.publishing.table import read_table
from privet.protocol.errors import InvalidRequest, PrivetError

ROWS_SHOWN = 20

Parameter = Annotated[
    list[str] | None,
    typer.Option("--parameter", "-p", metavar="NAME=VALUE", help="A parameter of the estimator."),
]


def fit(
    task: TaskName,
    *,
    estimator: Annotated[str | None, typer.Option(help="Estimator; by default the best.")] = None,
    parameter: Parameter = None,
    promote: Annotated[
        bool, typer.Option("--promote", help="Let it serve; else only the first one does.")
    ] = False,
    url: Url = URL,
    token: Token = None,
    as_json: AsJson = False,
) -> None:
    """Fit a model from the reports so far, and keep it under the next number."""
    parameters = parsed(parameter, "--parameter")
    with err().status("Fitting ..."):
        model = connect(url, token).fit(task, estimator, promote=promote, **parameters)
    if as_json:
        print_json(model)
    else:
        print_facts(f"Model {model['number']}", _facts(model))


def models(task: TaskName, url: Url = URL, as_json: AsJson = False) -> None:
    """List the models of a task."""
    summaries = connect(url).models(task)
    if as_json:
        print_json(summaries)
        return
    columns = ("number", "aliases", "estimator", "parameters", "reports", "cells", "fitted")
    rows = [(*(m[column] for column in columns[:-1]), when(m["created"])) for m in summaries]
    print_table("Models", columns, rows, whole=("estimator",))


def promote(
    task: TaskName,
    number: Annotated[int, typer.Argument(metavar="NUMBER", help="Number of the model.")],
    alias: Annotated[str, typer.Option("--as", help="Another name for it.")] = "serving",
    url: Url = URL,
    token: Token = None,
    *,
    as_json: AsJson = False,
) -> None:
    """Let a model predict from now on; an earlier one can be promoted again."""
    promoted = connect(url, token).promote(task, number, alias)
    if as_json:
        print_json(promoted)
    else:
        err().print(f"Model {number} is {alias}.", **PLAIN)


def compare(
    task: TaskName,
    one: Annotated[int, typer.Argument(metavar="ONE", help="Number of a model.")],
    other: Annotated[int, typer.Argument(metavar="OTHER", help="Number of another.")],
    url: Url = URL,
    token: Token = None,
    *,
    as_json: AsJson = False,
) -> None:
    """Show what changes from one model to another, in predictions for the public records."""
    change = connect(url, token).compare(task, one, other)
    if as_json:
        print_json(change)
        return
    same = change["same_label"]
    facts = {"likeliest class stays": "-" if same is None else f"{same:.1%} of records"}
    facts |= {
        "mean change of a value": change["mean"],
        "largest change": change["largest"],
        "outside the first one's 95 % interval": f"{change['outside']:.1%} of records",
    }
    print_facts(f"From model {one} to {other}, on {change['records']} public records", facts)


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


def insight(
    task: TaskName, model: ModelNumber = None, url: Url = URL, as_json: AsJson = False
) -> None:
    """Compare the holders with the public data: shares, cells that differ, what reports changed."""
    found = connect(url).insight(task, model=model)
    if as_json:
        print_json(found)
        return
    columns = ("holders", "95 % interval", "public records")
    misfits = {"reported": found["misfits"]["value"], **found["misfits"], "public": 0.0}
    rows = [_compared(row["name"], row) for row in found["overall"]]
    rows.append(_compared("records that did not fit", misfits))
    print_table(f"What {found['reports']} reports say", ("", *columns), rows)
    rows = [
        _compared(f"{row['name'] or 'part of all'}, where {' and '.join(row['path'])}", row)
        for row in found["differences"][:ROWS_SHOWN]
    ]
    if rows:
        print_table("Cells that differ, the surest first", ("", *columns), rows)
    typer.echo(found["sentence"])


def _compared(name: str, row: dict[str, Any]) -> tuple[str, ...]:
    reported, low, high, public = (
        f"{row[key]:.3g}" for key in ("reported", "low", "high", "public")
    )
    return name, reported, f"{low} to {high}", public


def status(
    task: TaskName,
    relay: Annotated[
        str | None, typer.Option(help="Address of a relay; show what its shuffling adds.")
    ] = None,
    url: Url = URL,
    as_json: AsJson = False,
) -> None:
    """Show how a collection stands."""
    document = connect(url).status(task)
    if relay is not None:
        document["relay"] = _relay_status(relay, document["id"], document["reports"])
    if as_json:
        print_json(document)
        return
    facts = {
        "state": document["state"],
        "takes reports now": document["collecting"],
        "reports": document["reports"],
        "answers per question": document["answers"],
        "refused": document["rejects"],
        "models": document["models"],
        "checksum": document["checksum"],
    }
    if relay is not None:
        facts |= _relay_facts(document["relay"], document["reports"])
    print_facts(f"Task {document['id'][:12]}", facts)


def predict(
    task: TaskName,
    *,
    record: Annotated[str | None, typer.Option(help="One record as a JSON object.")] = None,
    csv_file: Annotated[
        Path | None,
        typer.Option("--csv", exists=True, dir_okay=False, help="CSV or Parquet file of records."),
    ] = None,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="CSV file to write.")] = None,
    model: ModelNumber = None,
    url: Url = URL,
    token: Token = None,
    as_json: AsJson = False,
) -> None:
    """Predict for one record, or for every row of a file."""
    if (record is None) == (csv_file is None):
        raise typer.BadParameter("give either --record or --csv")
    if record is not None and out is not None:
        raise typer.BadParameter("--out goes with --csv")
    api = connect(url, token)
    if record is not None:
        _predict_record(api, f"/v1/tasks/{api.task_id(task)}/predict", model, record, as_json)
    elif csv_file is not None:
        columns = read_table(csv_file.read_bytes())
        with err().status("Predicting ..."):
            predicted = api.predict(task, columns, model=model)
        _deliver(predicted, out, as_json)


def _predict_record(
    api: CuratorClient, address: str, model: int | None, text: str, as_json: bool
) -> None:
    try:
        record = json.loads(text)
    except json.JSONDecodeError as error:
        raise InvalidRequest(f"--record is not JSON ({error}): write it as {{...}}.") from None
    found = api.post(address, {"model": model, "records": [record]})
    prediction = found["predictions"][0]
    if as_json:
        print_json({"model": found["model"], **prediction})
        return
    facts = {"label": prediction["label"]}
    if prediction.get("probabilities") is None:
        facts["95 % interval"] = f"{prediction['low']:.4g} to {prediction['high']:.4g}"
    else:
        for name, p in prediction["probabilities"].items():
            low, high = prediction["low"][name], prediction["high"][name]
            facts[f"P({name})"] = f"{p:.4f}, 95 % interval {low:.4f} to {high:.4f}"
    facts |= {"because": " and ".join(prediction["path"]) or "there is one cell only"}
    print_facts(f"Prediction of model {found['model']}", facts)


def _deliver(predicted: Predictions, out: Path | None, as_json: bool) -> None:
    if as_json:
        print_json(predicted)
    elif out is not None:
        _write(out, predicted)
        err().print(f"Wrote {len(predicted['label'])} predictions to {out}.")
    else:
        header, rows = _rows(predicted)
        print_table(f"Predictions of model {predicted['model']}", header, rows[:ROWS_SHOWN])
        if len(rows) > ROWS_SHOWN:
            err().print(f"The first {ROWS_SHOWN} of {len(rows)} rows; --out writes them all.")


def _rows(predicted: Predictions) -> tuple[list[str], list[list[Any]]]:
    classes = predicted["classes"]
    names = [""] if classes is None else [f" {name}" for name in classes]
    kinds = ("low", "high") if classes is None else ("p", "low", "high")
    header = ["prediction", *(kind + name for name in names for kind in kinds), "cell"]
    values = {"p": predicted["values"], "low": predicted["low"], "high": predicted["high"]}
    rows = [
        [
            label,
            *(values[kind][row][i] for i in range(len(names)) for kind in kinds),
            predicted["cell"][row],
        ]
        for row, label in enumerate(predicted["label"])
    ]
    return header, rows


def _write(target: Path, predicted: Predictions) -> None:
    header, rows = _rows(predicted)
    try:
        with target.open("w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows([header, *rows])
    except OSError as error:
        raise PrivetError(f"Cannot write {target}: {error.strerror}.") from None


def _relay_status(relay_url: str, task_id: str, reports: int) -> dict[str, Any]:
    """The relay's own status of a task that the curator has counted ``reports`` of.

    Raises ``PrivetError`` if it is no relay's, or speaks of more reports than were counted.
    """
    document: dict[str, Any] = CuratorClient(relay_url).get(f"/v1/tasks/{task_id}/status")
    if not {"counted", "local_epsilon", "central"} <= set(document):
        raise PrivetError(f"{relay_url} is not a relay: give the address that holders send to.")
    if document["counted"] > reports:
        raise PrivetError(
            f"The relay states that it delivered {document['counted']} reports and this curator "
            f"counted {reports}: it is a relay of another curator."
        )
    return document


def _relay_facts(status: dict[str, Any], reports: int) -> dict[str, Any]:
    """The two guarantees, each on a line of its own."""
    through = f"{status['counted']} of {reports} reports, which came through this relay"
    central = status["central"]
    stated = f"no more than the local one, for {through}: too few went together"
    if central is not None:
        stated = (
            f"({central['epsilon']:.3g}, {central['delta']:g}) against who sees the curator's "
            f"side alone, for {through} in shuffled batches of {central['reports']} or more, "
            f"{central['condition']}"
        )
    return {
        "local epsilon": f"{status['local_epsilon']:g} against everybody, for every report",
        "central (epsilon, delta)": stated,
    }


def _facts(model: dict[str, Any]) -> dict[str, Any]:
    return {
        "estimator": model["estimator"],
        "parameters": model["parameters"],
        "reports": model["reports"],
        "cells": model["cells"],
        "fitted": when(model["created"]),
        **model["facts"],
    }
