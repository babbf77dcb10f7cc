"""``privet-relay``: run a relay until it is stopped, or ask one for its status."""

import asyncio
import json
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from privet.protocol.errors import PrivetError
from privet.relay.app import RelayApp
from privet.relay.forwarding import Forwarder
from privet.relay.intake import Intake
from privet.relay.spool import Spool
from privet.relay.status import RelayStatus
from privet.transport.curator_client import ReportClient
from privet.transport.errors import HolderError
from privet.transport.retry import Retry

app = typer.Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)


@app.command()
def serve(
    curator: Annotated[str, typer.Option(help="The curator's address, without /v1.")],
    *,
    spool: Annotated[Path, typer.Option(help="The file that keeps reports on their way.")],
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to listen on.")] = 8100,
    least: Annotated[
        int, typer.Option(min=1, help="Fewest reports that are forwarded together.")
    ] = 1_000,
    every: Annotated[float, typer.Option(min=0.01, help="Seconds between two forwardings.")] = 60.0,
    insecure_http: Annotated[
        bool, typer.Option("--insecure-http", help="Allow plain http to other machines.")
    ] = False,
) -> None:
    """Take holders' reports, forget who sent them, and forward them in shuffled batches.

    Holders use this relay's address in place of the curator's. Reports that are too few to hide
    among stay in the spool; a smaller --least lets them go.
    """
    with _faults():
        asyncio.run(_serve(curator, spool, (host, port), least, every, insecure_http=insecure_http))


@app.command()
def status(
    url: Annotated[
        str, typer.Argument(metavar="TASK-URL", help="The task's address at the relay.")
    ],
    *,
    insecure_http: Annotated[
        bool, typer.Option("--insecure-http", help="Allow plain http to other machines.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON for programs.")] = False,
) -> None:
    """Ask a relay what it has delivered of a task, and what its shuffling adds to epsilon."""
    with _faults():
        found = RelayStatus.parse(asyncio.run(_status(url, insecure_http=insecure_http)))
    if as_json:
        print(json.dumps(found.model_dump(), indent=2))
        return
    console = Console(highlight=False, soft_wrap=True, markup=False)
    for name, value in found.lines():
        console.print(f"{name:<26}{value}")


def main() -> None:
    """The console script."""
    app()


@contextmanager
def _faults() -> Iterator[None]:
    try:
        yield
    except PrivetError as error:
        typer.echo(error.detail, err=True)
        raise typer.Exit(1) from None


async def _status(url: str, *, insecure_http: bool) -> bytes:
    async with ReportClient(insecure_http=insecure_http, retry=Retry(attempts=2)) as client:
        return await client.status(client.address(url))


async def _serve(
    curator: str, path: Path, at: tuple[str, int], least: int, every: float, *, insecure_http: bool
) -> None:
    uvicorn = _server()
    spool = Spool(path)
    try:
        async with ReportClient(insecure_http=insecure_http) as client:
            intake = Intake(client, curator, spool)
            intake.address("0" * 64)
            app = RelayApp(intake, Forwarder(client, intake, spool, least), spool, every)
            with _listener(at) as listener:
                address = "http://{}:{}".format(*listener.getsockname())
                typer.echo(f"Relay for {curator} at {address}", err=True)
                config = uvicorn.Config(app, access_log=False, log_level="warning", lifespan="on")
                await uvicorn.Server(config).serve([listener])
    finally:
        spool.close()


def _server() -> Any:
    try:
        import uvicorn
    except ImportError:
        raise HolderError("A relay needs a web server: pip install 'privet[relay]'.") from None
    return uvicorn


def _listener(at: tuple[str, int]) -> socket.socket:
    try:
        return socket.create_server(at)
    except OSError as error:
        raise HolderError(
            f"Cannot listen on {at[0]}:{at[1]} ({error.strerror}): choose another --port."
        ) from None
