"""``privet-relay``: run a relay until it is stopped, or ask one for its status.

Exit status: 0 done, or stopped by a signal; 1 the spool, the curator, the address or the answer is
at fault, as one sentence says; 2 wrong usage; 3 the relay ended by an error of its own, which is
in the log.
"""

import asyncio
import inspect
import json
import logging
import os
import signal
import time
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import urlsplit

import typer
from anyio import create_task_group, to_thread
from rich.console import Console

from privet.http_client.address import TaskAddress
from privet.http_client.errors import CuratorUnreachable, Moved, is_of_curator
from privet.http_client.report_client import ReportClient, Retry
from privet.http_server.addresses import read_proxies
from privet.http_server.tokens import fault_of_token
from privet.protocol.calls import API, TASKS
from privet.protocol.errors import (
    InsufficientScope,
    NotAuthorized,
    PrivetError,
    ReportNotFound,
    TaskNotFound,
)
from privet.protocol.help_texts import whole_paragraphs
from privet.protocol.installing import install_command
from privet.protocol.limits import BATCH
from privet.protocol.status import MOST_HELD, Holdings

from .curator_calls import CountingClient
from .errors import CannotServe
from .forwarding import Forwarder
from .spool import Spool
from .status import BatchSizes, RelayStatus
from .telling import NO_TASK, Teller

EXIT_FAULT, EXIT_BROKEN = 1, 3
STOP_SECONDS = 10
LOOK_SECONDS = 5.0
NO_REPORT = "0" * 32
VARIABLES = frozenset(
    {
        "PRIVET_RELAY_TOKEN",
        "PRIVET_RELAY_METRICS_TOKEN",
        "PRIVET_RELAY_LOG_FORMAT",
        "PRIVET_RELAY_RATE_LIMIT",
    }
)
"""Known PRIVET_RELAY_* variables, including one that belongs to the curator."""


class LogFormat(StrEnum):
    """The log's format: text for people, or JSON."""

    CONSOLE = "console"
    JSON = "json"


Insecure = Annotated[
    bool, typer.Option("--insecure-http", help="Allow plain http to other machines.")
]

log = logging.getLogger(__name__)
say = partial(typer.echo, err=True)

app = typer.Typer(
    help=whole_paragraphs(__doc__), no_args_is_help=True, pretty_exceptions_enable=False
)


def _token(token: str | None) -> str | None:
    """Refuse a token that others could guess."""
    fault = None if token is None else fault_of_token(token)
    if fault is not None:
        raise typer.BadParameter(fault)
    return token


def _proxies(proxies: str) -> str:
    """Refuse trusted proxies by which no address can be recognised."""
    try:
        return read_proxies(proxies)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None


@dataclass(frozen=True, kw_only=True)
class Settings:
    """The options of ``privet-relay serve``."""

    curator: Annotated[str, typer.Option(help=f"Address of the curator, without {API}.")]
    spool: Annotated[Path, typer.Option(help="File that holds reports until they are forwarded.")]
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1"
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="Port to listen on; 0 picks a free one.")
    ] = 8100
    least: Annotated[
        int,
        typer.Option(
            min=1,
            max=MOST_HELD,
            help="Reports that wait for each other, unless fewer are expected (relay.md).",
        ),
    ] = BATCH
    smallest_batch: Annotated[
        int,
        typer.Option(
            min=1, max=MOST_HELD, help="Fewest reports forwarded together, whatever a task says."
        ),
    ] = 1
    every: Annotated[float, typer.Option(min=0.01, help="Seconds between forwarding rounds.")] = (
        60.0
    )
    token: Annotated[
        str | None,
        typer.Option(
            envvar="PRIVET_RELAY_TOKEN",
            callback=_token,
            help="Token of scope relay from the curator; better set in the environment.",
        ),
    ] = None
    metrics_token: Annotated[
        str | None,
        typer.Option(
            envvar="PRIVET_RELAY_METRICS_TOKEN",
            callback=_token,
            help="Token for reading /metrics; without it there is no /metrics.",
        ),
    ] = None
    proxies: Annotated[
        str,
        typer.Option(
            callback=_proxies,
            help="Addresses of trusted proxies, separated by commas; * for all.",
        ),
    ] = ""
    batches: Annotated[
        str | None,
        typer.Option(
            help="Folder or object store to write batches to, for 'privet collect', instead of "
            "posting them."
        ),
    ] = None
    certificate: Annotated[
        Path | None,
        typer.Option(exists=True, dir_okay=False, help="Certificate (PEM), for https here."),
    ] = None
    certificate_key: Annotated[
        Path | None, typer.Option(exists=True, dir_okay=False, help="Its private key (PEM).")
    ] = None
    one_operator: Annotated[
        bool,
        typer.Option(
            "--one-operator",
            help="Say to people that curator and relay have one operator, for a trial.",
        ),
    ] = False
    log_format: Annotated[
        LogFormat,
        typer.Option(
            envvar="PRIVET_RELAY_LOG_FORMAT",
            help="Logs for people (console) or as JSON lines (json).",
        ),
    ] = LogFormat.CONSOLE
    insecure_http: Insecure = False


def serve(**options: Any) -> None:
    """Take holders' reports, forget who sent them, and forward them in shuffled batches.

    Holders use this relay's address in place of the curator's. Reports that are too few to hide
    among stay in the spool. How few may go together is what a task says, and no fewer than
    --smallest-batch.
    """
    settings = Settings(**options)
    as_json = settings.log_format is LogFormat.JSON
    if as_json:
        _log_as_json(settings)
    with _faults(log.critical if as_json else say):
        for name in sorted(os.environ):
            if name.startswith("PRIVET_RELAY_") and name not in VARIABLES:
                raise CannotServe(
                    f"There is no setting {name}; privet-relay serve --help lists all. Remove it "
                    "from the environment."
                )
            if name in VARIABLES and not os.environ[name]:
                raise CannotServe(f"{name} is empty: set it, or take it out of the environment.")
        with asyncio.Runner(loop_factory=_loop()) as runner:
            runner.run(_serve(settings))


serve.__signature__ = inspect.signature(Settings)  # type: ignore[attr-defined]
serve.__annotations__ = Settings.__annotations__
app.command(
    help=whole_paragraphs(serve.__doc__),
    epilog="Example: privet-relay serve --curator https://curator.example --spool spool.db",
)(serve)


@app.command(epilog=f"Example: privet-relay status https://relay.example{TASKS}/c463082017fb")
def status(
    url: Annotated[
        str, typer.Argument(metavar="TASK-URL", help="The task's address at the relay.")
    ],
    *,
    insecure_http: Insecure = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON for programs.")] = False,
) -> None:
    """Ask a relay what it has delivered of a task, and what its shuffling adds to epsilon."""
    with _faults(), Console(stderr=True).status("Waiting for the relay ..."):
        answer = RelayStatus.parse(asyncio.run(_status(url, insecure_http=insecure_http)))
    if as_json:
        print(json.dumps(answer.model_dump(), indent=2))
        return
    console = Console(highlight=False, soft_wrap=True, markup=False)
    for name, value in answer.lines():
        console.print(f"{name:<26}{value}")


def main() -> None:
    app()


def _log_as_json(settings: Settings) -> None:
    from privet.http_server.logs import JsonLines, log_to_stderr

    tokens = (settings.token, settings.metrics_token)
    log_to_stderr(JsonLines([token for token in tokens if token]), "warning")
    logging.getLogger("privet").setLevel(logging.INFO)


@contextmanager
def _faults(tell: Callable[[str], None] = say) -> Iterator[None]:
    try:
        yield
    except PrivetError as error:
        tell(error.detail)
        raise typer.Exit(EXIT_FAULT) from None
    except ExceptionGroup as failure:
        log.critical("the relay cannot go on", exc_info=failure)
        raise typer.Exit(EXIT_BROKEN) from None


async def _status(url: str, *, insecure_http: bool) -> bytes:
    async with ReportClient(insecure_http=insecure_http, retry=Retry(attempts=2)) as client:
        return await client.status(client.address(url))


async def _check_curator(settings: Settings) -> None:
    """Raise ``CannotServe`` unless the curator takes this relay's batches.

    One that does not answer may be asked later, by a relay that has a spool already.
    """
    where, folder = settings.curator.rstrip("/"), settings.spool.absolute().parent
    if not folder.is_dir():
        raise CannotServe(f"There is no folder {folder} for --spool: make it, or name another.")
    if where.endswith(API):
        raise CannotServe(f"Give --curator without {API}: {where.removesuffix(API)}.")
    if settings.token is None and settings.batches is None:
        raise CannotServe(
            "The curator takes batches only with a token: put one of scope relay into "
            "PRIVET_RELAY_TOKEN (its admin runs 'privet token issue NAME --scope relay')."
        )
    retry = Retry(attempts=1)
    async with ReportClient(
        insecure_http=settings.insecure_http, retry=retry, token=settings.token
    ) as client:
        nowhere = _address_at(client, where)
        try:
            async with asyncio.timeout(LOOK_SECONDS):
                await _refuse_relay(client, nowhere)
                await client.curator_key(nowhere)
                if settings.token is not None:
                    await _try_token(client, nowhere)
        except CannotServe:
            raise
        except (PrivetError, TimeoutError) as error:
            if is_of_curator(error):
                fault = f"The curator at {where} takes no calls now: {error}"
            elif isinstance(error, Moved):
                fault = error.detail
            else:
                is_silent = type(error) in {CuratorUnreachable, TimeoutError}
                found = "Nobody answers" if is_silent else "What answers is no curator"
                fault = f"{found} at {where}: give the curator's address with --curator."
            if not settings.spool.exists():
                raise CannotServe(fault) from None
            log.warning("%s Reports are kept meanwhile.", fault)


def _address_at(client: ReportClient, where: str) -> TaskAddress:
    """The address at ``where`` of a task that nobody has."""
    parsed = urlsplit(where)
    if parsed.scheme not in {"http", "https"} or not parsed.netloc:
        raise CannotServe(
            f"--curator {where!r} is no address: give the curator's, such as "
            "https://curator.example."
        )
    return client.address(f"{where}{TASKS}/{NO_TASK}")


async def _refuse_relay(client: ReportClient, nowhere: TaskAddress) -> None:
    """Raise ``CannotServe`` if a relay answers, as only relays know states of reports."""
    try:
        await client.report_status(nowhere, NO_REPORT)
    except ReportNotFound:
        raise CannotServe(
            "The address given with --curator is a relay's: relays forward to curators only. Give "
            "the curator's own address."
        ) from None
    except PrivetError:
        pass


async def _try_token(client: ReportClient, nowhere: TaskAddress) -> None:
    """Raise ``CannotServe`` if the curator refuses the token."""
    try:
        await client.tell_holdings(nowhere, Holdings(reports=0, least=1, lost={}))
    except NotAuthorized:
        raise CannotServe(
            "The curator does not know the token in PRIVET_RELAY_TOKEN, or no longer: get one by "
            "'privet token issue NAME --scope relay'."
        ) from None
    except InsufficientScope:
        raise CannotServe(
            "The token in PRIVET_RELAY_TOKEN is of another scope: give one of scope relay."
        ) from None
    except TaskNotFound:
        pass  # it was taken


def _loop() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """The event loop that servers use, where it is installed."""
    try:
        import uvloop
    except ImportError:  # there is none for this system, or no server at all
        return None
    return uvloop.new_event_loop


async def _serve(settings: Settings) -> None:
    try:
        import uvicorn

        from privet.http_server.background import Background
        from privet.http_server.connections import (
            ConnectionLimits,
            accepting,
            address_of,
            allow_connections,
            listen,
            server_config,
        )

        from .app import Relay, create_app
        from .metrics import RelayMetrics
    except ImportError:
        raise CannotServe(f"A relay needs a web server: {install_command('relay')}.") from None
    folder, tls = None, _tls(settings)
    limits = ConnectionLimits(proxies=settings.proxies)
    if settings.batches is not None:
        from .batch_writer import BatchWriter

        folder = BatchWriter(settings.batches)
    await _check_curator(settings)
    async with CountingClient(insecure_http=settings.insecure_http, token=settings.token) as client:
        with (
            Spool(settings.spool) as spool,
            listen(settings.host, settings.port) as listener,
        ):
            sizes = BatchSizes(settings.least, settings.smallest_batch)
            relay = Relay(
                client,
                settings.curator,
                spool,
                sizes,
                as_files=folder is not None,
                one_operator=settings.one_operator,
            )
            teller = Teller(client, relay.address, spool, sizes, relay.watch, time.time)
            forwarder = Forwarder(
                client,
                relay.address,
                spool,
                sizes,
                relay.watch,
                folder=folder,
                teller=None if settings.token is None else teller,
            )
            allow_connections(limits.connections)
            metrics = RelayMetrics(spool, client) if settings.metrics_token else None
            application = create_app(relay, metrics, settings.metrics_token)
            more = {"log_level": "error", "lifespan": "off", "proxy_headers": False}
            more |= tls
            server = uvicorn.Server(server_config(application, limits, STOP_SECONDS, **more))
            for number in (signal.SIGINT, signal.SIGTERM):
                signal.signal(number, server.handle_exit)  # also before it serves, and after
            address = address_of(listener, "https" if tls else "http")
            if settings.log_format is LogFormat.JSON:
                started = {"url": address, "curator": settings.curator}
                log.info("relay started", extra=started)
            else:
                say(f"Relay for {settings.curator} at {address}")
            working = Background(_together(relay.watch.run, partial(forwarder.run, settings.every)))
            working.task.add_done_callback(lambda _: setattr(server, "should_exit", True))
            await server.serve(accepting(listener))
            await to_thread.run_sync(relay.writer.stop)
            await working.stop()


def _tls(settings: Settings) -> dict[str, Any]:
    """uvicorn's options for https; raises ``CannotServe`` for half a pair of files."""
    files = {"ssl_certfile": settings.certificate, "ssl_keyfile": settings.certificate_key}
    if not any(files.values()):
        return {}
    if not all(files.values()):
        raise CannotServe("https needs both --certificate and --certificate-key: give both.")
    return files


async def _together(*work: Callable[[], Coroutine[Any, Any, None]]) -> None:
    """Run all concurrently, until one fails or this is cancelled."""
    async with create_task_group() as group:
        for each in work:
            group.start_soon(each)
