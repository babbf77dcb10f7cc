"""``privet predict``: for one record, or for the rows of a CSV or Parquet file."""

import csv
import json
from pathlib import Path
from typing import Annotated, Any

import typer

from privet.curator.admin_client import CuratorClient, Predictions
from privet.curator.cli.options import URL, AsJson, ModelNumber, TaskName, Token, Url, connect
from privet.curator.cli.output import err, print_facts, print_json, print_table
from privet.curator.publishing.table import read_table
from privet.protocol.errors import InvalidRequest, PrivetError

ROWS_SHOWN = 20


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
            found = api.predict(task, columns, model=model)
        _deliver(found, out, as_json)


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


def _deliver(found: Predictions, out: Path | None, as_json: bool) -> None:
    if as_json:
        print_json(found)
    elif out is not None:
        _write(out, found)
        err().print(f"Wrote {len(found['label'])} predictions to {out}.")
    else:
        header, rows = _rows(found)
        print_table(f"Predictions of model {found['model']}", header, rows[:ROWS_SHOWN])
        if len(rows) > ROWS_SHOWN:
            err().print(f"The first {ROWS_SHOWN} of {len(rows)} rows; --out writes them all.")


def _rows(found: Predictions) -> tuple[list[str], list[list[Any]]]:
    classes = found["classes"]
    names = [""] if classes is None else [f" {name}" for name in classes]
    kinds = ("low", "high") if classes is None else ("p", "low", "high")
    header = ["prediction", *(kind + name for name in names for kind in kinds), "cell"]
    values = {"p": found["values"], "low": found["low"], "high": found["high"]}
    rows = [
        [
            label,
            *(values[kind][row][i] for i in range(len(names)) for kind in kinds),
            found["cell"][row],
        ]
        for row, label in enumerate(found["label"])
    ]
    return header, rows


def _write(target: Path, found: Predictions) -> None:
    header, rows = _rows(found)
    try:
        with target.open("w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows([header, *rows])
    except OSError as error:
        raise PrivetError(f"Cannot write {target}: {error.strerror}.") from None
