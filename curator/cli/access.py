"""``privet token`` and ``privet key``: who may call, and what holders know their curator by."""

from pathlib import Path
from typing import Annotated, Any
from urllib.parse import quote

import typer

from privet.admin.client import CuratorClient, Document
from privet.protocol.calls import AUDIT, KEY, TOKENS
from privet.protocol.errors import InvalidRequest

from .options import remote
from .output import SHORT_ID, err, print_table, when

tokens = typer.Typer(no_args_is_help=True, help="Issue and revoke tokens.")
keys = typer.Typer(no_args_is_help=True, help="The key that tasks are signed with.")

Last = Annotated[bool, typer.Option("--last", help="Allow this even for the last admin token.")]
TokenName = Annotated[str, typer.Argument(metavar="NAME", help="Name of the token.")]


def _print_token(made: Document) -> None:
    typer.echo(made["token"])
    err().print("It will not be shown again.")


@tokens.command(epilog="Example: privet token issue alice --scope reader --days 90")
@remote(_print_token)
def issue(
    api: CuratorClient,
    name: TokenName,
    scope: Annotated[str, typer.Option(help="admin, fitter, reader or relay.")] = "admin",
    days: Annotated[
        float | None, typer.Option(help="Days until it expires; by default never.")
    ] = None,
    overlap_hours: Annotated[
        float | None,
        typer.Option(help="Hours for which an earlier token of that name stays good."),
    ] = None,
    last: Last = False,
) -> Document:
    """Make a token; an earlier one of that name ends, at once by default: this rotates it."""
    asked = {"scope": scope, "days": days, "overlap_hours": overlap_hours}
    made: Document = api.call("PUT", _address(name), json=asked, params={"last": last}).json()
    return made


def _print_tokens(tokens: list[Document]) -> None:
    rows = [
        (
            token["name"],
            token["scope"],
            token["source"],
            when(token["created"]),
            "never" if token["expires"] is None else when(token["expires"]),
            "never" if token["used"] is None else when(token["used"]),
        )
        for token in tokens
    ]
    print_table("Tokens", ("name", "scope", "from", "created", "ends", "last used"), rows)


@tokens.command("list", epilog="Example: privet token list")
@remote(_print_tokens)
def list_tokens(api: CuratorClient) -> Any:
    """List all tokens, never themselves: scope, where from, end, last use."""
    return api.get(TOKENS)


@tokens.command(epilog="Example: privet token revoke alice")
@remote()
def revoke(api: CuratorClient, name: TokenName, last: Last = False) -> None:
    """End a token at once."""
    api.call("DELETE", _address(name), params={"last": last})
    err().print(f"Token {name} is revoked.")


def _print_audit(entries: list[Document]) -> None:
    rows = [
        (
            str(entry["no"]),
            when(entry["at"]),
            entry["actor"],
            entry["action"] + (f", {entry['times']} times" if entry["times"] > 1 else ""),
            entry["subject"][:SHORT_ID],
            entry["detail"],
        )
        for entry in entries
    ]
    print_table("Audit log", ("no", "at", "who", "action", "of", "detail"), rows)


@remote(_print_audit)
def audit(
    api: CuratorClient,
    limit: Annotated[
        int, typer.Option(min=1, max=1_000, help="Maximum number of entries to show.")
    ] = 50,
    before: Annotated[int | None, typer.Option(help="Entries before this number.")] = None,
) -> Any:
    """Show who created, deleted, invited, fitted, promoted and issued what, the latest first."""
    beyond = {} if before is None else {"before": before}
    return api.get(AUDIT, limit=limit, **beyond)


def _address(name: str) -> str:
    return f"{TOKENS}/{quote(name, safe='')}"


@keys.command(epilog="Example: privet key make clinic.key")
def make(
    path: Annotated[Path, typer.Argument(metavar="FILE", help="Where to write the key.")],
) -> None:
    """Make a key for --signing-key; every curator of one database gets a copy of the file."""
    from ..access.signing import make_key, read_key

    try:
        make_key(path)
    except FileExistsError:
        raise InvalidRequest(f"{path} already exists: keep it, or name another file.") from None
    typer.echo(read_key(path).key.hex())
    err().print("Holders pin this with --curator-key. Keep the file secret.")


def _print_key(document: Document) -> None:
    if document["key"] is None:
        raise InvalidRequest(
            "This curator does not sign its tasks: make a key with 'privet key make', and start "
            "it with --signing-key."
        )
    typer.echo(document["key"])


@keys.command(epilog="Example: privet key show")
@remote(_print_key, token=False)
def show(api: CuratorClient) -> Any:
    """Show the key that a curator signs with, for holders to pin."""
    return api.get(KEY)
