"""``privet mechanisms`` and ``privet encode``, which need no curator."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from privet.learning.task_building.mechanism_comparison import MechanismSummary, compare_mechanisms
from privet.learning.task_building.settings import TaskSettings

from .options import AsJson, PublicFile, with_settings
from .output import err, print_json, print_table

OF_FILE = ("encoding", "separator", "decimal")
OF_COLUMNS = (
    "label",
    "ignore",
    "features",
    "label_type",
    "classes",
    "label_range",
    "rename",
    *OF_FILE,
)
"""Settings of a task that the encoding of its public data follows from."""
COLUMNS = ("mechanism", "ε", "bytes", "variance", "/ best", "drawn", "influence")


def mechanisms(
    epsilon: Annotated[float, typer.Option(help="Epsilon spent by one answer.")],
    cells: Annotated[int, typer.Option(help="Cells of the partition.")],
    classes: Annotated[int, typer.Option(help="Classes of the label.")] = 2,
    *,
    number: Annotated[bool, typer.Option("--number", help="The label is a number.")] = False,
    max_bytes: Annotated[
        int | None, typer.Option(help="Maximum bytes of an answer, for auto.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Compare the mechanisms for one question, the least variance first.

    ε is what the implemented integers spend, bytes the answer's size. The variance is that of one
    cell's count of the last label per holder, and "/ best" divides it by the best known bound.
    "drawn" are the random bytes an answer takes, and "influence" is the most that one dishonest
    answer can add to a count or take from it.
    """
    with err().status("Comparing ..."):
        rows = compare_mechanisms(
            epsilon, cells, 2 if number else classes, max_bytes, regression=number
        )
    if as_json:
        print_json([asdict(row) for row in rows])
        return
    labels = "a number" if number else f"{classes} classes"
    table = [
        (
            f"{row.name}{_remark(row)}",
            row.log_ratio,
            row.report_bytes,
            row.variance,
            row.ratio,
            row.random_bytes,
            row.influence,
        )
        for row in rows
    ]
    print_table(f"epsilon {epsilon:g}, {cells} cells, {labels}", COLUMNS, table)
    if not any(row.chosen for row in rows):
        err().print(
            f"No mechanism's report fits into {max_bytes} bytes: allow more, or use fewer cells."
        )


def _remark(row: MechanismSummary) -> str:
    if row.chosen:
        return " (auto)"
    return "" if row.fits else " (too long)"


@with_settings(TaskSettings, required=("label",), only=OF_COLUMNS)
def encode(
    public: PublicFile,
    *,
    settings: dict[str, Any],
    file: Annotated[
        Path | None, typer.Option("--out", help="CSV file to write the encoded records to.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show the encoded columns that a public model takes, and write the encoded records.

    Give the same options as when the task is created; the encoding follows from them and from the
    file. The last column of the records is the label: the index of the class, or
    the number.
    """
    from privet.learning.task_building.encoded_table import as_csv, encoded_table
    from privet.learning.task_building.table import read_table

    asked = TaskSettings.parse(json.dumps({"name": "encoded", "epsilon": 1.0, **settings}))
    with err().status("Encoding ..."):
        table = encoded_table(read_table(public.read_bytes(), asked.stated), asked)
    *columns, _ = table.column_names
    if as_json:
        print_json({"columns": columns, "label": asked.label, "rows": table.num_rows})
    else:
        print_table("Encoded columns", ("place", "column"), enumerate(columns))
    if file is not None:
        file.write_bytes(as_csv(table))
        err().print(f"Wrote {table.num_rows} encoded records to {file}.")


def version() -> None:
    """Print the version."""
    from importlib.metadata import version as installed_version  # slow to import

    typer.echo(f"privet {installed_version('privet')}")
