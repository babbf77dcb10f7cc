"""``privet canary``: made-up reports that must count, and an alarm when they do not."""

import os
import signal
import time
from datetime import UTC, datetime
from typing import Annotated

import anyio
import typer
from prometheus_client import start_http_server

from privet.http_client.report_client import printable
from privet.protocol.errors import InvalidRequest

from ..admin_client import DEFAULT_URL, CuratorClient, Document
from ..canary import DONE, Canary, CanaryFailed, CanaryMetrics, Round, make_task
from .options import Token, Url, remote
from .output import PLAIN, err
from .task import print_view

app = typer.Typer(
    no_args_is_help=True, help="Made-up reports that must count, and an alarm when they do not."
)


@app.command(epilog="Example: privet canary make")
@remote(print_view, doing="Publishing ...")
def make(api: CuratorClient) -> Document:
    """Publish the canary's task, with an admin's token; the same again changes nothing."""
    return make_task(api)


@app.command(epilog="Example: privet canary run --relay https://relay.example --port 9102")
def run(
    *,
    relay: Annotated[
        str | None,
        typer.Option(help="Relay that the reports go through; by default none."),
    ] = None,
    every: Annotated[float, typer.Option(min=1, help="Seconds from a round to the next.")] = 300.0,
    within: Annotated[float, typer.Option(min=1, help="Seconds that a round may take.")] = 120.0,
    fit_every: Annotated[
        float, typer.Option(min=0, help="Seconds after which a round fits a model again.")
    ] = 3600.0,
    once: Annotated[
        bool, typer.Option("--once", help="One round; the exit code is 1 if it fails.")
    ] = False,
    port: Annotated[
        int | None, typer.Option(min=1, max=65535, help="Port for Prometheus; by default none.")
    ] = None,
    host: Annotated[str, typer.Option(help="Address of that port.")] = "127.0.0.1",
    insecure_http: Annotated[
        bool, typer.Option("--insecure-http", help="Allow plain http to other machines.")
    ] = False,
    url: Url = DEFAULT_URL,
    token: Token = None,
) -> None:
    """Send reports the way that holders do, see them counted, fit and predict, again and again.

    Takes a token of scope fitter, and the task that `privet canary make` published.
    """
    canary = Canary(url, token, relay or url, within, insecure_http=insecure_http)
    metrics = CanaryMetrics(every)
    if port is not None:
        try:
            start_http_server(port, host, registry=metrics.registry)
        except OSError as error:
            raise InvalidRequest(f"{host}:{port} cannot be listened on: {error}.") from None
    if not once:
        # at once, though threads may wait for a curator: a canary has nothing to put away
        signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
    fitted = float("-inf")
    while True:
        began, seen = time.monotonic(), Round()
        fit = began >= fitted + fit_every
        said = anyio.run(_round, canary, seen, fit)
        metrics.ended(seen.stage, seen.seconds)
        err().print(f"{datetime.now(UTC):%Y-%m-%d %H:%M:%S} UTC {said}", **PLAIN)
        if once:
            raise typer.Exit(seen.stage != DONE)
        fitted = began if fit and seen.stage == DONE else fitted
        time.sleep(max(0.0, began + every - time.monotonic()))


async def _round(canary: Canary, seen: Round, fit: bool) -> str:
    """A round, and how it ended in words."""
    try:
        await canary.round(seen, fit=fit)
    except CanaryFailed as error:
        return f"failed to {seen.stage}: {printable(error.detail)}"
    took = sum(seen.seconds.values())
    return f"done in {took:.1f} s: {seen.sent} more count, and model {seen.model} predicts them"
