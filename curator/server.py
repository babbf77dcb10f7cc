"""Run a curator: check its settings, show the first admin token, serve until a stop signal."""

import gc
import os
import time
from collections.abc import Callable
from functools import partial
from tempfile import TemporaryDirectory

import uvicorn
from starlette.types import ASGIApp
from uvicorn.supervisors import Multiprocess

from privet.http_server.connections import (
    ConnectionLimits,
    accepting,
    address_of,
    allow_connections,
    listen,
    server_config,
)
from privet.http_server.metrics import FOLDER

from .access.audit import Audit
from .access.signing import record_signing_key, signer_for
from .access.tokens import Tokens
from .app import create_app
from .datastore import open_store
from .datastore.audit import SIGNING_KEY
from .datastore.schema_watch import watching_schema
from .logs import set_up_logs
from .settings import Settings

HEADER_SECONDS = 10.0
"""Time within which the head of a request must arrive, as in ``deploy/nginx.conf``."""
SHUTDOWN_SECONDS = 10
"""Time to finish accepted requests before stopping."""
WORKER_SECONDS = 120
"""Time a process has to start, or to answer its supervisor, before it is replaced."""


class Processes(Multiprocess):
    """Server processes, of which one that ends is replaced at once.

    uvicorn asks each whether it is alive, and keeps the other end of the pipe open itself: of one
    that ends meanwhile it would wait ``WORKER_SECONDS`` for an answer, and heed no signal.
    """

    def init_processes(self) -> None:
        super().init_processes()
        self._let_go()

    def keep_subprocess_alive(self) -> None:
        super().keep_subprocess_alive()
        self._let_go()

    def _let_go(self) -> None:
        for process in self.processes:
            process.child_conn.close()


def serve(settings: Settings, *, show: Callable[[str, str | None], None]) -> None:
    """Serve until a signal says stop; then finish what has been accepted.

    ``show(address, token)`` is called once the port is bound; ``token`` is the first admin token,
    made just now, or None. Raises ``StorageFailed`` for a database that cannot be used, or that
    another version migrates meanwhile, and ``PrivetError`` for an address that cannot be listened
    on.
    """
    set_up_logs(settings.log_format, settings.secrets)
    allow_connections(_limits(settings).connections)
    with listen(settings.host, settings.port) as listener:
        token = _prepare(settings)
        show(address_of(listener), token)
        config = uvicorn_config(settings)
        if settings.workers == 1:
            server = uvicorn.Server(config)
            with watching_schema(settings.database, partial(setattr, server, "should_exit", True)):
                server.run(sockets=accepting(listener))
        else:
            with TemporaryDirectory(prefix="privet-metrics-") as folder:
                os.environ[FOLDER] = folder
                processes = Processes(config, accepting(listener))
                with watching_schema(settings.database, processes.should_exit.set):
                    processes.run()


def _prepare(settings: Settings) -> str | None:
    """Open the database; make the signing key and the first token if there are none yet."""
    store = open_store(settings.database)
    token = settings.admin_token
    try:
        known = store.facts.read(SIGNING_KEY) or ""
        record_signing_key(store, Audit(store, time.time), known, signer_for(settings, known))
        return Tokens(
            store, time.time, None if token is None else token.get_secret_value()
        ).first_start()
    finally:
        store.close()


def _limits(settings: Settings) -> ConnectionLimits:
    return ConnectionLimits(HEADER_SECONDS, proxies=settings.trusted_proxies)


def uvicorn_config(settings: Settings) -> uvicorn.Config:
    return server_config(
        partial(application_of, settings),
        _limits(settings),
        SHUTDOWN_SECONDS,
        factory=True,
        proxy_headers=bool(settings.trusted_proxies),
        forwarded_allow_ips=settings.trusted_proxies or None,
        timeout_worker_healthcheck=WORKER_SECONDS,
        workers=settings.workers,
    )


def application_of(settings: Settings) -> ASGIApp:
    """The application of one server process, which has its own logs to set up."""
    set_up_logs(settings.log_format, settings.secrets)
    app = create_app(settings, signer=signer_for(settings))
    gc.collect()
    gc.freeze()  # what a start makes stays, so no report waits while it is scanned again
    return app.stack
