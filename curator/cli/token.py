"""``privet token``: issue (which also rotates), list, revoke."""

from typing import Annotated

import typer

from privet.curator.cli.options import URL, AsJson, Token, Url, connect
from privet.curator.cli.output import err, print_json, print_table, when

app = typer.Typer(no_args_is_help=True, help="Give and take admin tokens.")

TokenName = Annotated[str, typer.Argument(metavar="NAME", help="What the token is called.")]


@app.command()
def issue(
    name: TokenName,
    scope: Annotated[str, typer.Option(help="admin or reader.")] = "admin",
    url: Url = URL,
    token: Token = None,
    *,
    as_json: AsJson = False,
) -> None:
    """Make a token; an earlier one of that name ends at once, so this also rotates it."""
    made = connect(url, token).call("PUT", f"/v1/tokens/{name}", json={"scope": scope}).json()
    if as_json:
        print_json(made)
        return
    typer.echo(made["token"])
    err().print("It is shown this once.")


@app.command("list")
def list_tokens(url: Url = URL, token: Token = None, as_json: AsJson = False) -> None:
    """List names and scopes, never the tokens themselves."""
    found = connect(url, token).get("/v1/tokens")
    if as_json:
        print_json(found)
        return
    rows = [(kept["name"], kept["scope"], when(kept["created"])) for kept in found]
    print_table("Tokens", ("name", "scope", "created"), rows)


@app.command()
def revoke(name: TokenName, url: Url = URL, token: Token = None) -> None:
    """End a token at once."""
    connect(url, token).call("DELETE", f"/v1/tokens/{name}")
    err().print(f"Token {name} is no longer good.")
