"""``privet fit``, ``models``, ``card``, ``insight``, ``export``, ``predict`` and ``status``."""

import json
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any

import typer

from privet.admin.calls import ApiCall
from privet.admin.client import CuratorClient, Document, PredictionColumns
from privet.admin.results import IntervalFigure
from privet.learning.core.amounts import (
    TOO_FEW_ANSWERS,
    amount,
    figure,
    in_digits,
    percent,
    tells_nothing,
    thousands,
)
from privet.learning.core.labels import LabelKind, kind_of
from privet.learning.core.looks import MEANING
from privet.learning.figures.sentences import scores_in_words, which_is_better
from privet.learning.task_building.predicting import RowsToPredict, as_csv
from privet.protocol.errors import InvalidRequest, PrivetError
from privet.protocol.features import Label
from privet.protocol.task import Task
from privet.tables.cells import Decimal
from privet.tables.text_format import HELP, Encoding, Separator, Stated, TextFormat

from .options import AsJson, ExportFile, Force, ModelNumber, TaskName, command_of, parsed, remote
from .output import (
    check_free,
    lost_in,
    naming_target,
    print_facts,
    print_json,
    print_table,
    say,
    show_reading,
    when,
    write_export,
)

ROWS_LISTED = 20
HALF = 0.5
FIGURE_COLUMNS = ("", "estimate", "95 % interval")

Parameter = Annotated[
    list[str] | None,
    typer.Option("--parameter", "-p", metavar="NAME=VALUE", help="A parameter of the estimator."),
]


def _print_model(model: Document, kind: LabelKind) -> None:
    facts = {
        "estimator": model["estimator"],
        "parameters": model["parameters"],
        "reports": model["reports"],
        **{_named(way): _way(kind, way, model["reports"]) for way in model["ways"]},
        **_one(kind, model["worst_of_one"]),
        "groups": model["cells"],
        **scores_in_words(_intervals(model["scores"])),
        "fitted": when(model["created"]),
        **model["facts"],
    }
    print_facts(f"Model {model['number']}", facts)
    if (same := model.get("same_as")) is not None:
        typer.echo(f"Model {same} has the same answers and settings, so it predicts the same.")
    typer.echo(_who_serves(model))
    _print_sentence(model["growth"])


def _who_serves(model: Document) -> str:
    """A sentence on whether a new model serves, and how to let it."""
    number, serving = model["number"], model["serving"]
    if serving == number:
        return f"Model {number} serves: predictions come from it."
    return (
        f"Model {number} does not serve, model {serving} does. To let it: "
        f"privet promote {model['task'][:12]} {number}"
    )


def _print_sentence(sentence: str) -> None:
    if sentence:
        typer.echo(sentence)


@remote(doing="Fitting ...")
def fit(
    api: CuratorClient,
    task: TaskName,
    *,
    estimator: Annotated[str | None, typer.Option(help="Estimator; by default drift.")] = None,
    parameter: Parameter = None,
    promote: Annotated[
        bool, typer.Option("--promote", help="Let it serve; by default only the first model does.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Fit a model from the reports so far, and keep it under the next number."""
    fitted = api.fit(task, estimator, promote=promote, **parsed(parameter))
    status = api.status(task)
    model = {**fitted, "growth": status["growth"], "serving": status["serving"]}
    if as_json:
        print_json(model)
    else:
        _print_model(model, kind_of(_label(api, task)))


def _print_models(summaries: list[Document]) -> None:
    columns = ("number", "aliases", "estimator", "parameters", "reports", "cells")
    rows = [(*(m[column] for column in columns), when(m["created"])) for m in summaries]
    print_table("Models", ("no", *columns[1:-1], "groups", "fitted"), rows, whole=("estimator",))


models = command_of(CuratorClient.models, _print_models)


def _print_promoted(model: Document) -> None:
    say(f"Model {model['number']} is {' and '.join(model['aliases'])}.")


@remote(_print_promoted)
def promote(
    api: CuratorClient,
    task: TaskName,
    number: Annotated[int, typer.Argument(metavar="NUMBER", help="Number of the model.")],
    alias: Annotated[str, typer.Option("--as", help="Alias of the model.")] = "serving",
) -> Document:
    """Let a model predict from now on; an earlier one can be promoted again."""
    return api.promote(task, number, alias)


@remote()
def compare(
    api: CuratorClient,
    task: TaskName,
    one: Annotated[int, typer.Argument(metavar="ONE", help="Number of a model.")],
    other: Annotated[int, typer.Argument(metavar="OTHER", help="Number of another.")],
    *,
    as_json: AsJson = False,
) -> None:
    """Show what changes from one model to another, in predictions for the public records."""
    change = api.compare(task, one, other)
    if as_json:
        print_json(change)
        return
    same = change["same_label"]
    label = _label(api, task)
    moved = kind_of(label).moved
    facts = {} if same is None else {"same likeliest class": f"{percent(same)} of records"}
    facts |= {
        "mean change of a value": moved(change["mean"]),
        "largest change": moved(change["largest"]),
        "value outside the first model's 95 % interval": f"{percent(change['outside'])} of records",
    }
    scores = change["scores"] or {}
    facts |= {
        f"{name} of model {other}'s groups less model {one}'s": _with_ends(of)
        for name, of in scores.items()
    }
    print_facts(f"From model {one} to {other}, on {change['records']} public records", facts)
    if change["scores"] is not None:
        typer.echo(which_is_better(label, f"model {one}", f"model {other}", _intervals(scores)))


@remote()
def export(
    api: CuratorClient,
    task: TaskName,
    *,
    out: ExportFile = None,
    format_: Annotated[str, typer.Option("--format", help="json, csv or onnx.")] = "json",
    force: Force = False,
    model: ModelNumber = None,
) -> None:
    """Export a model as a file that other programs can predict with."""
    task_id = api.task_id(task)
    number = api.model_number(task_id) if model is None else model
    content = api.export(task_id, model=number, format=format_)
    default = f"privet-{task_id[:12]}-{number}.{format_}"
    write_export(content, f"model {number}", out, default, force=force)


@remote()
def card(api: CuratorClient, task: TaskName, model: ModelNumber = None) -> None:
    """Print a model card in Markdown: the model, its data, its reliability."""
    typer.echo(api.card(task, model=model))


def _print_insight(insight: Document) -> None:
    if insight.get("impossible"):
        typer.echo(insight["sentence"])
        return
    headline = insight["headline"]
    typer.echo(" ".join(filter(None, (headline, insight["of_register"]))))
    if insight["model"] is None:
        _print_figures(insight)
        return
    columns = ("holders", "95 % interval", "public records")
    misfits = {"reported": insight["misfits"]["value"], **insight["misfits"], "public": 0.0}
    shares = len(insight["overall"]) > 1
    rows = [_compared(row["name"], row, shares) for row in insight["overall"]]
    rows.append(_compared("records that did not fit", misfits, True))
    title = f"Holders compared with public records (reports: {thousands(insight['reports'])})"
    title += f", and model {insight['model']} (reports: {thousands(insight['model_reports'])})"
    print_table(title, ("", *columns), rows)
    rows = [
        _compared(
            f"{of['name']}, where {' and '.join(group['path'])}",
            {**of, "reported": of["value"]},
            shares,
        )
        for group in insight["groups"]
        for of in group["figures"]
    ]
    if rows:
        print_table("By group", ("", *columns), rows)
    rows = [
        _compared(f"{row['name'] or 'share of all'}, where {' and '.join(row['path'])}", row, False)
        for row in insight["differences"][:ROWS_LISTED]
    ]
    if rows:
        print_table("Groups that differ, the most certain first", ("", *columns), rows)
    rest = insight["sentence"].removeprefix(headline)
    typer.echo(f"{rest} {insight['gathered']}".strip())
    _print_sentence(insight["if_false"])
    typer.echo(f"Intervals and differences {MEANING[insight['looks']]}.")


def _print_figures(insight: Document) -> None:
    """The insight of a task without features."""
    rows = [_interval(row["name"], {**row, "value": row["reported"]}) for row in insight["overall"]]
    rows.append(_interval("answers that did not fit", insight["misfits"]))
    print_table(f"Everybody who answered ({thousands(insight['reports'])})", FIGURE_COLUMNS, rows)
    _print_distribution(insight["distribution"])
    _print_sentence(insight["if_false"])
    typer.echo(f"Intervals {MEANING[insight['looks']]}.")


def _print_distribution(found: Document | None) -> None:
    """Bins and quantiles of a number, if it was asked in bins."""
    if found is None:
        return
    rows = [
        (*_interval(amount(of["level"]), {**of, "value": of["share"]}, (0.0, 1.0)), _up_to(of))
        for of in found["bins"]
    ]
    print_table("Shares around values", ("value", *FIGURE_COLUMNS[1:], "up to it"), rows)
    ends = found["bins"][0]["level"], found["bins"][-1]["level"]
    quantiles = [_interval(_quantile(of["part"]), of, ends) for of in found["quantiles"]]
    print_table("Quantiles", FIGURE_COLUMNS, quantiles)


def _up_to(of: Document) -> str:
    low, high = of["up_to_low"], of["up_to_high"]
    return " to ".join(in_digits((high - low) / 2.0, low, high))


def _quantile(part: float) -> str:
    return "median" if part == HALF else percent(part)


def _interval(
    name: str, of: Document, bounds: tuple[float, float] | None = None
) -> tuple[str, str, str]:
    """A row of a table; ``bounds`` are all that is possible, if known."""
    keys = "value", "low", "high"
    value, low, high = in_digits((of["high"] - of["low"]) / 2.0, *(of[key] for key in keys))
    if bounds is not None and tells_nothing(of["low"], of["high"], *bounds):
        value = TOO_FEW_ANSWERS
    return name, value, f"{low} to {high}"


insight = command_of(CuratorClient.insight, _print_insight)


def _compared(name: str, row: Document, is_share: bool) -> tuple[str, ...]:
    keys = "reported", "low", "high", "public"
    half = (row["high"] - row["low"]) / 2.0
    reported, low, high, public = in_digits(half, *(row[key] for key in keys))
    if is_share and tells_nothing(row["low"], row["high"], 0.0, 1.0):
        reported = TOO_FEW_ANSWERS
    return name, reported, f"{low} to {high}", public


def _label(api: CuratorClient, task: str) -> Label:
    return Task.checked(api.task(task)["task"]).label


def _intervals(figures: Document) -> dict[str, IntervalFigure]:
    return {name: IntervalFigure.model_validate(of) for name, of in figures.items()}


def _with_ends(of: Document) -> str:
    return figure(of["value"], of["low"], of["high"], is_share=False)


def _print_status(document: Document) -> None:
    reports, step = document["reports"], document["step"]
    facts = {
        "state": document["state"],
        "takes reports now": document["collecting"],
        "reports": reports if step == 1 else f"{reports} or up to {2 * step} more",
        "models": document["models"],
    }
    if document.get("serving") is not None:
        facts["serves"] = f"model {document['serving']}"
    if step == 1:
        facts |= {
            "answers per question": document["answers"],
            "refused": document["rejects"],
            "checksum": document["checksum"],
        }
    relays = document.get("relays") or ()
    for relay in relays:
        facts[f"held at {relay['relay']}"] = relay["held"]
    for reason, count in lost_in(relays).items():
        facts[f"lost, because {reason}"] = count
    print_facts(f"Task {document['id'][:12]}", facts)
    _print_sentence(document["headline"])
    if results := document.get("results"):
        rows = [_interval(row["name"], row) for row in results["figures"]]
        print_table("Everybody who answered", FIGURE_COLUMNS, rows)
        _print_distribution(results.get("distribution"))
    _print_sentence(document["growth"])


@remote(_print_status)
def status(api: CuratorClient, task: TaskName) -> Document:
    """Show how a collection stands; without a token only about how many reports there are."""
    document, headline = api.status(task), ""
    if document["step"] == 1 and document["reports"]:
        with suppress(PrivetError):  # neither a model nor a task without features
            headline = api.insight(task)["headline"]
    return {**document, "headline": headline}


@remote(doing="Predicting ...")
def predict(
    api: CuratorClient,
    task: TaskName,
    *,
    record: Annotated[str | None, typer.Option(help="One record as a JSON object.")] = None,
    csv_file: Annotated[
        Path | None,
        typer.Option(
            "--csv", exists=True, dir_okay=False, help="CSV, Parquet or Excel file of records."
        ),
    ] = None,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="CSV file to write.")] = None,
    ignore: Annotated[list[str] | None, typer.Option(help="A column to leave out.")] = None,
    keep: Annotated[
        list[str] | None, typer.Option(help="A column to copy to the output, such as an id.")
    ] = None,
    encoding: Annotated[Encoding | None, typer.Option(help=HELP["encoding"])] = None,
    separator: Annotated[Separator | None, typer.Option(help=HELP["separator"])] = None,
    decimal: Annotated[Decimal | None, typer.Option(help=HELP["decimal"])] = None,
    sheet: Annotated[str | None, typer.Option(help=HELP["sheet"])] = None,
    force: Force = False,
    model: ModelNumber = None,
    as_json: AsJson = False,
) -> None:
    """Predict for one record, or for every row of a file.

    A row that does not fit the task, as with a category that it does not know, has no prediction;
    if no row fits, the exit status is 1. Columns to copy stay as the file has them.
    """
    if (record is None) == (csv_file is None):
        raise typer.BadParameter("give either --record or --csv")
    if record is not None and (out or ignore or keep):
        raise typer.BadParameter("--out, --ignore and --keep go with --csv")
    check_free(out, force)
    if record is not None:
        _predict_record(api, task, model, record, as_json)
    elif csv_file is not None:
        from privet.learning.task_building.table import read_table  # pyarrow is slow to import

        columns = read_table(
            csv_file.read_bytes(), Stated(encoding, separator, decimal, sheet, "none")
        )
        show_reading(columns)
        asked = Task.checked(api.task(task)["task"])
        table = RowsToPredict.of(columns, asked, ignore or (), keep or ())
        predicted = api.predict(task, table.fitting, model=model)
        _deliver(table, predicted, out, as_json)


def _predict_record(
    api: CuratorClient, task: str, model: int | None, text: str, as_json: bool
) -> None:
    try:
        record = json.loads(text)
    except json.JSONDecodeError as error:
        raise InvalidRequest(f"--record is not JSON ({error}): write it as {{...}}.") from None
    asked = {"model": model, "records": [record]}
    answer = api.answer(ApiCall.PREDICT, task, json=asked).json()
    prediction = answer["predictions"][0]
    if as_json:
        print_json({"model": answer["model"], **prediction})
        return
    facts = {"label": prediction["label"]}
    of_cell = [prediction[kind] for kind in ("cell_value", "cell_low", "cell_high")]
    if prediction.get("probabilities") is None:
        facts["mean of its group"] = _in_cell(_label(api, task).bounds, *of_cell)
    else:
        facts |= {f"P({name})": f"{p:.4f}" for name, p in prediction["probabilities"].items()}
        for name in prediction["probabilities"]:
            of_class = [each[name] for each in of_cell]
            facts[f"share of {name} in its group"] = _in_cell((0.0, 1.0), *of_class)
    facts |= {"because": " and ".join(prediction["path"]) or "there is one group only"}
    print_facts(f"Prediction of model {answer['model']}", facts)
    _warn_of_outside([prediction["outside"]])


def _in_cell(bounds: tuple[float, float], value: float, low: float, high: float) -> str:
    if tells_nothing(low, high, *bounds):
        return TOO_FEW_ANSWERS
    said, *ends = in_digits((high - low) / 2.0, value, low, high)
    return f"{said}, 95 % interval {' to '.join(ends)}"


def _deliver(
    table: RowsToPredict, predicted: PredictionColumns, out: Path | None, as_json: bool
) -> None:
    header, rows = table.with_predictions(predicted, every=out is not None)
    wrong = [problem for problem in table.problems if problem]
    if as_json:
        kept = {name: list(map(_as_json, values)) for name, values in table.kept.items()}
        copied: Document = {"kept": kept} if kept else {}
        print_json({**predicted, **copied, **({"problems": table.problems} if wrong else {})})
    elif out is not None:
        write_predictions(out, header, rows, table.format)
        say(f"Wrote {len(rows)} rows to {out}.")
    else:
        print_table(f"Predictions of model {predicted['model']}", header, rows[:ROWS_LISTED])
        if len(rows) > ROWS_LISTED:
            say(f"The first {ROWS_LISTED} of {len(rows)} rows; --out writes them all.")
    _warn_of_outside(predicted["outside"])
    if wrong:
        say(f"{len(wrong)} rows have no prediction, the first: {wrong[0]}")
    if len(wrong) == len(table.problems):
        raise typer.Exit(1)


def _as_json(value: Any) -> Any:
    """A copied value as JSON has it; dates and the like as text."""
    return value if isinstance(value, str | int | float | None) else str(value)


def _warn_of_outside(outside: Sequence[Sequence[str]]) -> None:
    rows = sum(map(bool, outside))
    names = ", ".join(dict.fromkeys(name for of_row in outside for name in of_row))
    if rows:
        say(
            f"{rows} of {len(outside)} records have a value outside the published range of "
            f"{names}, which counts as the nearest end of the range."
        )


def write_predictions(
    target: Path, header: list[str], rows: list[list[Any]], form: TextFormat | None = None
) -> None:
    with naming_target(target):
        target.write_bytes(as_csv(header, rows, form))


def _one(kind: LabelKind, moved: float | None) -> Document:
    """The farthest that one false report was found to move a value, if that was tried."""
    if moved is None:
        return {}
    found = f"moved a group's figure by {kind.moved(moved)} in the worst case found"
    return {"one false report": found}


def _named(way: Document) -> str:
    return "direct reports" if way["relay"] is None else f"reports in batches of {way['relay']}"


def _way(kind: LabelKind, way: Document, reports: int) -> str:
    """The reports that came in one way, and how far they could move a prediction: where all of the
    ``reports`` did, anywhere."""
    count = thousands(way["reports"])
    if way["worst_found"] is None or way["reports"] == reports:
        return count
    return (
        f"{count}; that many false reports moved a group's figure by "
        f"{kind.moved(way['worst_found'])} in the worst case found"
    )
