"""``privet key``: make the key that tasks are signed with, and show what holders pin."""

from pathlib import Path
from typing import Annotated

import typer

from privet.curator.cli.options import URL, AsJson, Url, connect
from privet.curator.cli.output import err, print_json
from privet.protocol.errors import InvalidRequest

app = typer.Typer(no_args_is_help=True, help="The key that tasks are signed with.")


@app.command()
def make(
    path: Annotated[Path, typer.Argument(metavar="FILE", help="Where to write the key.")],
) -> None:
    """Make a key for --signing-key; every curator of one database gets a copy of the file."""
    from privet.curator.signing import make_key, read_key

    try:
        make_key(path)
    except FileExistsError:
        raise InvalidRequest(f"{path} is there already: keep it, or name another file.") from None
    typer.echo(read_key(path).key.hex())
    err().print("Holders pin this with --curator-key. Keep the file: nobody else may read it.")


@app.command()
def show(url: Url = URL, as_json: AsJson = False) -> None:
    """Show the key that a curator signs with, for holders to pin."""
    found = connect(url).get("/v1/key")
    if as_json:
        print_json(found)
    elif found["key"] is None:
        raise InvalidRequest(
            "This curator does not sign its tasks: make a key with 'privet key make', and start "
            "it with --signing-key."
        )
    else:
        typer.echo(found["key"])
