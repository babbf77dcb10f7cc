"""``privet-relay``: run a relay until it is stopped, or ask one for its status.

Exit status: 0 done, or stopped by a signal; 1 the spool, the curator, the address or the answer is
at fault, as one sentence says; 2 wrong usage; 3 the relay ended by an error of its own, which is
in the log.
"""

import asyncio
import json
import logging
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Annotated, cast

import typer
from rich.console import Console

from privet.http_client.report_client import ReportClient, Retry
from privet.http_client.terminal import waiting
from privet.protocol.errors import PrivetError

from .errors import CannotServe
from .forwarding import KEEP_FATES_DAYS, Forwarder
from .spool import MAX_BODY_MEMORY, MAX_SPOOL_BYTES, Spool
from .status import RelayStatus

FAULT, BROKEN = 1, 3
KEEP_ALIVE_SECONDS = 30
STOP_SECONDS = 10

Insecure = Annotated[
    bool, typer.Option("--insecure-http", help="Allow plain http to other machines.")
]

log = logging.getLogger(__name__)


app = typer.Typer(help=__doc__, no_args_is_help=True, pretty_exceptions_enable=False)


@app.command(
    epilog="Example: privet-relay serve --curator https://curator.example --spool spool.db"
)
def serve(
    curator: Annotated[str, typer.Option(help="The curator's address, without /v1.")],
    *,
    spool: Annotated[Path, typer.Option(help="The file that keeps reports on their way.")],
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="Port to listen on; 0 takes a free one.")
    ] = 8100,
    least: Annotated[
        int, typer.Option(min=1, help="Fewest reports that are forwarded together.")
    ] = 1_000,
    every: Annotated[float, typer.Option(min=0.01, help="Seconds between two forwardings.")] = 60.0,
    token: Annotated[
        str | None,
        typer.Option(
            envvar="PRIVET_RELAY_TOKEN",
            help="The curator's token of scope relay; better in the environment than here.",
        ),
    ] = None,
    peer_token: Annotated[
        str | None,
        typer.Option(
            envvar="PRIVET_RELAY_PEER_TOKEN",
            help="What other relays send batches with; without it no batch is taken.",
        ),
    ] = None,
    metrics_token: Annotated[
        str | None,
        typer.Option(
            envvar="PRIVET_RELAY_METRICS_TOKEN",
            help="What Prometheus reads /metrics with; without it there is none.",
        ),
    ] = None,
    keep_fates_days: Annotated[
        int, typer.Option(min=0, help="Days for which it is known what became of a report.")
    ] = KEEP_FATES_DAYS,
    max_spool_bytes: Annotated[
        int, typer.Option(min=1, help="Bytes in the spool above which no more is taken.")
    ] = MAX_SPOOL_BYTES,
    max_body_memory: Annotated[
        int, typer.Option(min=1, help="Bytes of all bodies in memory; at least one batch's 16 MiB.")
    ] = MAX_BODY_MEMORY,
    batches: Annotated[
        str | None,
        typer.Option(
            help="A folder or object store to write batches to, for 'privet collect', in place of "
            "posting them."
        ),
    ] = None,
    insecure_http: Insecure = False,
) -> None:
    """Take holders' reports, forget who sent them, and forward them in shuffled batches.

    Holders use this relay's address in place of the curator's. Reports that are too few to hide
    among stay in the spool; a smaller --least lets them go.
    """
    with _faults():
        asyncio.run(
            _serve(
                curator,
                spool,
                listen_at=(host, port),
                least=least,
                every=every,
                token=token,
                peer_token=peer_token,
                metrics_token=metrics_token,
                keep_days=keep_fates_days,
                spool_bytes=max_spool_bytes,
                body_memory=max_body_memory,
                batches=batches,
                insecure_http=insecure_http,
            )
        )


@app.command(epilog="Example: privet-relay status https://relay.example/v1/tasks/c463082017fb")
def status(
    url: Annotated[
        str, typer.Argument(metavar="TASK-URL", help="The task's address at the relay.")
    ],
    *,
    insecure_http: Insecure = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON for programs.")] = False,
) -> None:
    """Ask a relay what it has delivered of a task, and what its shuffling adds to epsilon."""
    with _faults(), waiting("Waiting for the relay ..."):
        answer = RelayStatus.parse(asyncio.run(_status(url, insecure_http=insecure_http)))
    if as_json:
        print(json.dumps(answer.model_dump(), indent=2))
        return
    console = Console(highlight=False, soft_wrap=True, markup=False)
    for name, value in answer.lines():
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
        raise typer.Exit(FAULT) from None
    except ExceptionGroup as failure:
        log.critical("the relay cannot go on", exc_info=failure)
        raise typer.Exit(BROKEN) from None


async def _status(url: str, *, insecure_http: bool) -> bytes:
    async with ReportClient(insecure_http=insecure_http, retry=Retry(attempts=2)) as client:
        return await client.status(client.address(url))


async def _serve(
    curator: str,
    path: Path,
    *,
    listen_at: tuple[str, int],
    least: int,
    every: float,
    token: str | None,
    peer_token: str | None,
    metrics_token: str | None,
    keep_days: int,
    spool_bytes: int,
    body_memory: int,
    batches: str | None,
    insecure_http: bool,
) -> None:
    try:
        import uvicorn

        from privet.http_server.connections import (
            BoundedConnection,
            ConnectionLimits,
            allow_connections,
            listen,
        )

        from .app import Relay, create_app
        from .metrics import RelayMetrics
    except ImportError:
        raise CannotServe("A relay needs a web server: pip install 'privet[relay]'.") from None
    limits, folder = ConnectionLimits(), None
    if batches is not None:
        from tests.batch_folder import BatchFolder

        folder = BatchFolder(batches)
    async with ReportClient(insecure_http=insecure_http, token=token) as client:
        with Spool(path, spool_bytes) as spool, listen(*listen_at) as listener:
            relay = Relay(
                client, curator, spool, least, body_memory=body_memory, peer_token=peer_token
            )
            forwarder = Forwarder(
                client, relay.address, spool, least, relay.watch, keep_days=keep_days, folder=folder
            )
            allow_connections(limits.connections)
            config = uvicorn.Config(
                create_app(relay, RelayMetrics(spool) if metrics_token else None, metrics_token),
                access_log=False,
                log_level="error",
                http=cast("type[asyncio.Protocol]", partial(BoundedConnection, limits)),
                ws="none",
                lifespan="off",
                server_header=False,
                timeout_keep_alive=KEEP_ALIVE_SECONDS,
                timeout_graceful_shutdown=STOP_SECONDS,
            )
            server = uvicorn.Server(config)
            for number in (signal.SIGINT, signal.SIGTERM):
                signal.signal(number, server.handle_exit)  # also before it serves, and after
            address = "http://{}:{}".format(*listener.getsockname())
            typer.echo(f"Relay for {curator} at {address}", err=True)
            async with asyncio.TaskGroup() as group:
                workers = [group.create_task(relay.run()), group.create_task(forwarder.run(every))]
                await server.serve([listener])
                for worker in workers:
                    worker.cancel()
