"""``privet token`` and ``privet key``: who may call, and what holders know their curator by."""

from pathlib import Path
from typing import Annotated
from urllib.parse import quote

import typer

from privet.protocol.errors import InvalidRequest

from .options import URL, AsJson, Token, Url, connect
from .output import SHORT_ID, err, print_json, print_table, when

tokens = typer.Typer(no_args_is_help=True, help="Give and take tokens.")
keys = typer.Typer(no_args_is_help=True, help="The key that tasks are signed with.")

Last = Annotated[bool, typer.Option("--last", help="Do it to the last admin token too.")]
TokenName = Annotated[str, typer.Argument(metavar="NAME", help="What the token is called.")]


@tokens.command(epilog="Example: privet token issue alice --scope reader --days 90")
def issue(
    name: TokenName,
    scope: Annotated[str, typer.Option(help="admin, reader or relay.")] = "admin",
    days: Annotated[
        float | None, typer.Option(help="Days until it ends; by default never.")
    ] = None,
    last: Last = False,
    url: Url = URL,
    token: Token = None,
    *,
    as_json: AsJson = False,
) -> None:
    """Make a token; an earlier one of that name ends at once, so this also rotates it."""
    asked = {"scope": scope, "days": days}
    params = {"last": last}
    made = connect(url, token).call("PUT", _address(name), json=asked, params=params).json()
    if as_json:
        print_json(made)
        return
    typer.echo(made["token"])
    err().print("It is shown this once.")


@tokens.command("list", epilog="Example: privet token list")
def list_tokens(url: Url = URL, token: Token = None, as_json: AsJson = False) -> None:
    """List all tokens, never themselves: scope, where from, end, last use."""
    found = connect(url, token).get("/v1/tokens")
    if as_json:
        print_json(found)
        return
    rows = [
        (
            stored["name"],
            stored["scope"],
            stored["source"],
            when(stored["created"]),
            "never" if stored["expires"] is None else when(stored["expires"]),
            "never" if stored["used"] is None else when(stored["used"]),
        )
        for stored in found
    ]
    print_table("Tokens", ("name", "scope", "from", "created", "ends", "last used"), rows)


@tokens.command(epilog="Example: privet token revoke alice")
def revoke(name: TokenName, last: Last = False, url: Url = URL, token: Token = None) -> None:
    """End a token at once."""
    connect(url, token).call("DELETE", _address(name), params={"last": last})
    err().print(f"Token {name} is no longer good.")


def audit(
    limit: Annotated[int, typer.Option(min=1, max=1_000, help="Most entries to show.")] = 50,
    before: Annotated[int | None, typer.Option(help="Entries before this number.")] = None,
    url: Url = URL,
    token: Token = None,
    *,
    as_json: AsJson = False,
) -> None:
    """Show who created, deleted, invited, fitted, promoted and issued what, the latest first."""
    beyond = {} if before is None else {"before": before}
    found = connect(url, token).get("/v1/audit", limit=limit, **beyond)
    if as_json:
        print_json(found)
        return
    rows = [
        (
            str(entry["no"]),
            when(entry["at"]),
            entry["actor"],
            entry["action"] + (f", {entry['times']} times" if entry["times"] > 1 else ""),
            entry["subject"][:SHORT_ID],
            entry["detail"],
        )
        for entry in found
    ]
    print_table("Audit log", ("no", "at", "token", "action", "of", "detail"), rows)


def _address(name: str) -> str:
    return f"/v1/tokens/{quote(name, safe='')}"


@keys.command(epilog="Example: privet key make clinic.key")
def make(
    path: Annotated[Path, typer.Argument(metavar="FILE", help="Where to write the key.")],
) -> None:
    """Make a key for --signing-key; every curator of one database gets a copy of the file."""
    from ..access.signing import make_key, read_key

    try:
        make_key(path)
    except FileExistsError:
        raise InvalidRequest(f"{path} is there already: keep it, or name another file.") from None
    typer.echo(read_key(path).key.hex())
    err().print("Holders pin this with --curator-key. Keep the file: nobody else may read it.")


@keys.command(epilog="Example: privet key show")
def show(url: Url = URL, as_json: AsJson = False) -> None:
    """Show the key that a curator signs with, for holders to pin."""
    document = connect(url).get("/v1/key")
    if as_json:
        print_json(document)
    elif document["key"] is None:
        raise InvalidRequest(
            "This curator does not sign its tasks: make a key with 'privet key make', and start "
            "it with --signing-key."
        )
    else:
        typer.echo(document["key"])
