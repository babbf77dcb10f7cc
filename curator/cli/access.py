"""``privet token`` and ``privet key``: who may call, and what holders know their curator by."""

from pathlib import Path
from typing import Annotated

import typer

from privet.admin.client import CuratorClient
from privet.admin.results import AuditLogEntry, CuratorKey, IssuedToken, Token
from privet.protocol.errors import InvalidRequest

from .options import command_of, remote
from .output import SHORT_ID, print_table, prints, say, when

tokens = typer.Typer(no_args_is_help=True, help="Issue and revoke tokens.")
keys = typer.Typer(no_args_is_help=True, help="The key that tasks are signed with.")


@prints(IssuedToken)
def _print_token(made: IssuedToken) -> None:
    typer.echo(made.token)
    say("It will not be shown again.")


@prints(list[Token])
def _print_tokens(tokens: list[Token]) -> None:
    rows = [
        (
            token.name,
            token.scope,
            token.source,
            when(token.created),
            "never" if token.expires is None else when(token.expires),
            "never" if token.used is None else when(token.used),
        )
        for token in tokens
    ]
    print_table("Tokens", ("name", "scope", "from", "created", "ends", "last used"), rows)


@prints(list[AuditLogEntry])
def _print_audit(entries: list[AuditLogEntry]) -> None:
    rows = [
        (
            str(entry.no),
            when(entry.at),
            entry.actor,
            entry.action + (f", {entry.times} times" if entry.times > 1 else ""),
            entry.subject[:SHORT_ID],
            entry.detail,
        )
        for entry in entries
    ]
    print_table("Audit log", ("no", "at", "who", "action", "of", "detail"), rows)


@prints(CuratorKey)
def _print_key(of: CuratorKey) -> None:
    if of.key is None:
        raise InvalidRequest(
            "This curator does not sign its tasks: make a key with 'privet key make', and start "
            "it with --signing-key."
        )
    typer.echo(of.key)


audit = command_of(CuratorClient.audit)
tokens.command("issue", epilog="Example: privet token issue alice --scope reader --days 90")(
    command_of(CuratorClient.issue_token)
)
tokens.command("list", epilog="Example: privet token list")(command_of(CuratorClient.tokens))
keys.command("show", epilog="Example: privet key show")(command_of(CuratorClient.key, token=False))


@tokens.command(epilog="Example: privet token revoke alice")
@remote()
def revoke(
    api: CuratorClient,
    name: Annotated[str, typer.Argument(metavar="NAME", help="Name of the token.")],
    last: Annotated[
        bool, typer.Option("--last", help="Allow this even for the last admin token.")
    ] = False,
) -> None:
    """End a token at once."""
    api.revoke_token(name, last=last)
    say(f"Token {name} is revoked.")


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
    say("Holders pin this with --curator-key. Keep the file secret.")
