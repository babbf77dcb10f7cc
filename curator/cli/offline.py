"""``privet encode`` and ``privet version``, which need no curator."""

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from privet.learning.task_building.settings import TaskSettings
from privet.tables.text_format import OF_FILE

from .options import AsJson, PublicFile, with_settings
from .output import err, print_json, print_table, say

OF_COLUMNS = (
    *("label", "ignore", "features", "label_type", "classes", "label_range", "rename"),
    *OF_FILE,
)
"""Settings of a task that the encoding of its public data follows from."""


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
        say(f"Wrote {table.num_rows} encoded records to {file}.")


def version() -> None:
    """Print the version."""
    from importlib.metadata import version as installed_version  # slow to import

    typer.echo(f"privet {installed_version('privet')}")
