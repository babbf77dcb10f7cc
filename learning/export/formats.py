"""Models as files for other programs: a name becomes a format in one dict. Never a pickle."""

import csv
import io
import json
from collections.abc import Callable
from dataclasses import dataclass

from privet.protocol.features import Classes
from privet.protocol.task import Task

from ..core.escaping import csv_cell
from ..core.model import FittedModel
from ..core.trees import describe_path


@dataclass(frozen=True)
class Export:
    """One file format: how a model of a task is written in it."""

    media_type: str
    suffix: str
    purpose: str
    """The use of the file, in a sentence."""
    write: Callable[[Task, FittedModel], bytes]
    takes_long: bool = False
    """True if a server should write it in a process of its own."""


def write_json(task: Task, fitted: FittedModel) -> bytes:
    """The whole model with the features it reads and the task it belongs to, as JSON."""
    document = {
        "features": [feature.model_dump(mode="json") for feature in task.features],
        **fitted.to_document(),
    }
    return json.dumps(document, allow_nan=False).encode()


def write_onnx(task: Task, fitted: FittedModel) -> bytes:
    """The model as an ONNX graph over raw features."""
    from . import onnx

    return onnx.write_onnx(task, fitted)


def write_csv(task: Task, fitted: FittedModel) -> bytes:
    """The cells as a table: their splits in words, and each value with its interval.

    With a public model predictions also vary within a cell; the table has what a cell adds up to.
    """
    model, text = fitted.model, io.StringIO()
    names = task.label.classes if isinstance(task.label, Classes) else (task.label.name,)
    kinds = ("values", "low", "high")
    writer = csv.writer(text)
    heads = [f"{name} {kind.removesuffix('s')}" for name in names for kind in kinds]
    writer.writerow(map(csv_cell, ["group", "splits", *heads, "public share"]))
    for cell in range(model.partition.cells):
        splits = " and ".join(describe_path(model.partition, task.columns, cell))
        row = [getattr(model, kind)[cell, slot] for slot in range(len(names)) for kind in kinds]
        writer.writerow([cell, csv_cell(splits), *row, model.public_share[cell]])
    return text.getvalue().encode()


EXPORTS: dict[str, Export] = {
    "json": Export(
        "application/json",
        "json",
        "The whole model, to keep, or to draw in a notebook.",
        write_json,
    ),
    "csv": Export("text/csv", "csv", "A row for each group, for a spreadsheet.", write_csv),
    "onnx": Export(
        "application/octet-stream",
        "onnx",
        "To predict in other programs, by any ONNX runtime and without Privet.",
        write_onnx,
        takes_long=True,
    ),
}
