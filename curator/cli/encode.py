"""``privet encode``: the public data as models read it, to train one of your own on."""

from pathlib import Path
from typing import Annotated

import typer

from privet.curator.cli.options import AsJson, parsed, read_settings
from privet.curator.cli.output import err, print_json, print_table
from privet.curator.cli.task import Setting
from privet.curator.publishing.table import read_table


def encode(
    public: Annotated[
        Path,
        typer.Argument(exists=True, dir_okay=False, readable=True, help="CSV or Parquet file."),
    ],
    *,
    label: Annotated[str, typer.Option(help="The public column to be predicted.")],
    ignore: Annotated[list[str] | None, typer.Option(help="A column to leave out.")] = None,
    more: Setting = None,
    file: Annotated[
        Path | None, typer.Option("--out", help="CSV file to write the encoded records to.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show the encoded columns that a public model takes, and write the encoded records.

    Give the same label, --ignore and --set as when the task is created; the encoding follows from
    them and from the file. The last column of the records is the label: the index of the class, or
    the number.
    """
    from privet.curator.models.encode import as_csv, encoded_table

    settings = read_settings(
        **{"name": "encoded", "label": label, "epsilon": 1.0, "ignore": ignore or []}
        | parsed(more or [])
    )
    table = encoded_table(read_table(public.read_bytes()), settings)
    *columns, _ = table.column_names
    if as_json:
        print_json({"columns": columns, "label": label, "rows": table.num_rows})
    else:
        print_table("Encoded columns", ("place", "column"), enumerate(columns))
    if file is not None:
        file.write_bytes(as_csv(table))
        err().print(f"Wrote {table.num_rows} encoded records to {file}.")
