"""Assembly of the application: store, clock, uploads, worker processes, routes, middleware."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from fastapi import FastAPI
from starlette.concurrency import run_in_threadpool
from starlette.types import ASGIApp, Receive, Scope, Send

from privet.http_server.acceptance import BODY_SECONDS
from privet.http_server.background import Background
from privet.http_server.bodies import BodyBudget, BodyLimit, BodyLimits
from privet.http_server.headers import CORS, SECURITY, AddHeaders, HeadCalls
from privet.http_server.metrics import CountCalls
from privet.http_server.readiness import Readiness
from privet.http_server.request_ids import RequestIds
from privet.http_server.task_calls import Answer, TaskCalls
from privet.http_server.turns import FairTurns
from privet.intake.upload import ReportUpload
from privet.learning.methods import ESTIMATORS
from privet.protocol.calls import GET_RECEIPT, SEND_REPORT, TASKS, Call
from privet.protocol.errors import PrivetError, StorageFailed
from privet.protocol.installing import install_command

from . import dashboard
from .access.audit import NOBODY
from .access.rate_limit import Rate
from .access.signing import Signer
from .access.tokens import Tokens
from .collection.batch import BatchUpload
from .collection.intake import Intake
from .collection.receipts import ReceiptCall
from .collection.rejects import Rejects
from .collection.task_cache import task_cache
from .collection.writer import Writer
from .dashboard import wizard
from .dashboard.visitor import sender_of
from .datastore import Store, file_of, open_store
from .datastore.garbage_collection import collect_garbage
from .http import ROUTES, health, openapi
from .http.problems import add_problem_handlers
from .http.rate_limit import RateLimit
from .http.state import State
from .limits import LIMITS, Limits
from .metrics import Metrics
from .operations.curator import Curator
from .put_back import ReportMark, compare
from .settings import Settings
from .watch import watch, watch_database
from .workers import Workers

if TYPE_CHECKING:
    from fastapi.telemetry import TelemetryConfig

    from .access.oidc import Provider

REFRESH_SECONDS = 5.0
MAX_WAITING_JOBS = 16
"""Fits and task creations that may wait; above it the answer is 503."""
MAX_WAITING = 8
"""Large predictions that may wait, as may exports and comparisons; above it the answer is 503."""
BODIES_IN_MEMORY = 256 * 2**20
"""Bytes of all bodies that a process has in memory, uploads of public data aside."""
UPLOAD_SECONDS = 600.0
"""Time within which an upload of public data must have arrived."""
NO_TELEMETRY: "TelemetryConfig" = {
    "tracing": False,
    "operation_spans": False,
    "metrics": False,
    "logs": False,
    "auto_configure": False,
}
"""FastAPI's own spans have paths and queries: they stay off, whatever the environment says."""
DESCRIPTION = "Learns decision trees from people who never reveal their record."


class CuratorApp:
    """The ASGI application; ``state`` is what its routes share.

    ``stack`` is what it passes every call to, for a server that calls it directly.
    """

    def __init__(self, api: FastAPI, state: State, stack: ASGIApp) -> None:
        self.api = api
        self.state = state
        self.stack = RequestIds(stack)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self.stack(scope, receive, send)


def create_app(
    settings: Settings,
    *,
    store: Store | None = None,
    clock: Callable[[], float] = time.time,
    signer: Signer | None = None,
    workers: Workers | None = None,
    limits: Limits = LIMITS,
) -> CuratorApp:
    """A curator's application over ``store``, or over the one that ``settings`` name.

    Tasks are signed by ``signer``, and not without one.

    Reports are taken in as soon as it is called; the lifespan's end finishes what has been
    accepted and closes the store. Raises ``StorageFailed`` if the store cannot be opened.
    """
    state = _state(settings, store, clock, signer, workers)
    curator, metrics = state.curator, state.curator.metrics
    store, tokens = curator.store, curator.tokens
    look = partial(compare, curator, ReportMark.of(store))

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        background = [
            collect_garbage(
                store.expiry, settings, clock, partial(curator.audit.add_entry, NOBODY)
            ),
            _refresh(state),
            watch(metrics, store, look, settings.certificate_of, clock, settings.backups),
            watch_database(metrics, state.readiness, tokens.listed),
        ]
        await run_in_threadpool(tokens.listed)  # metrics' readers serve on if the database fails
        running = [Background(each) for each in background]
        yield
        for each in running:
            await each.stop()
        for pool in (curator.workers, curator.predictors, curator.exporters):
            await run_in_threadpool(pool.close)
        await run_in_threadpool(state.writer.stop)
        await run_in_threadpool(state.rejects.close)
        with suppress(StorageFailed):
            await run_in_threadpool(look)
        store.close()

    api = FastAPI(
        title="Privet",
        description=DESCRIPTION,
        version="1",
        lifespan=lifespan,
        openapi_url=None,  # which would write it anew for each call
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,  # a redirect would go to whatever the header Host says
        telemetry=NO_TELEMETRY,
    )
    api.state.shared = state
    budget = BodyBudget(BODIES_IN_MEMORY)
    _add_routes(api, settings, limits, budget, metrics)
    intake = Intake(task_cache(store), state.writer, state.rejects, metrics, budget, signer)
    holders = settings.cors_holders
    inner = FairTurns(CountCalls(AddHeaders(api, cors=holders), metrics))
    rate = settings.relay_rate_limit
    batch = BatchUpload(intake, rate, tokens, store, clock, limits, SECURITY)
    headers = (*SECURITY, *CORS) if holders else SECURITY
    upload = ReportUpload(intake, headers)
    answers: dict[Call, Answer] = {SEND_REPORT: upload, **batch.answers()}
    if signer is not None:
        answers[GET_RECEIPT] = ReceiptCall(upload, signer, headers)
    stack: ASGIApp = TaskCalls(inner, answers)
    if settings.rate_limit:  # of all posts, single reports among them
        stack = AddHeaders(RateLimit(stack, state.rate, state.sender_of), cors=holders)
    return CuratorApp(api, state, stack)


def _state(
    settings: Settings,
    store: Store | None,
    clock: Callable[[], float],
    signer: Signer | None,
    workers: Workers | None,
) -> State:
    """The curator that the settings describe, on ``store`` or on their database."""
    provider = _provider_of(settings, clock)
    store = store or open_store(settings.database)
    file = file_of(settings.database)
    folder = Path(settings.database_disk) if settings.database_disk else file and file.parent
    metrics = Metrics(folder, estimators=ESTIMATORS, certified=bool(settings.certificate_of))
    admin = None if settings.admin_token is None else settings.admin_token.get_secret_value()
    bearer = None if provider is None else provider.bearer
    memory = settings.worker_memory
    if workers is None:  # not those without work, which are false
        workers = Workers(1, MAX_WAITING_JOBS, memory)
    curator = Curator(
        store,
        clock,
        Tokens(store, clock, admin, settings.token_tries, bearer, metrics.wrong_tokens.inc),
        metrics,
        workers,
        predictors=Workers(1, MAX_WAITING, memory),
        exporters=Workers(1, MAX_WAITING, memory),
        guard_models=settings.guard_models,
        signer=signer,
    )
    return State(
        curator,
        Writer(store, clock, metrics),
        Rejects(store.standing.count_rejects),
        Readiness(store.check),
        Rate(settings.rate_limit),
        partial(sender_of, curator, provider),
        provider,
        settings.dashboard,
        settings.root_path,
    )


@contextmanager
def _naming_extra(setting: str, extra: str) -> Iterator[None]:
    """Raise ``PrivetError`` that says what to install for a setting whose package is missing."""
    try:
        yield
    except ModuleNotFoundError as error:
        raise PrivetError(
            f"{setting} needs {error.name}, which is not installed: "
            f"{install_command(f'curator,{extra}')}."
        ) from None


def _provider_of(settings: Settings, clock: Callable[[], float]) -> "Provider | None":
    """The OpenID provider of the settings."""
    if not settings.oidc_issuer:
        return None
    with _naming_extra("PRIVET_OIDC_ISSUER", "oidc"):
        from .access.oidc import Provider
    return Provider(settings, clock)


async def _refresh(state: State) -> None:
    """Store this process's gauges every few seconds, so that any process can report them."""
    metrics = state.curator.metrics
    while True:
        metrics.wait(state.writer.waiting, len(state.curator.workers))
        metrics.refresh()
        await asyncio.sleep(REFRESH_SECONDS)


def _add_routes(
    api: FastAPI, settings: Settings, limits: Limits, budget: BodyBudget, metrics: Metrics
) -> None:
    pages = dashboard.ROUTERS if settings.dashboard else ()
    last = dashboard.LAST if settings.dashboard else ()
    after = (health.router, openapi.router, *last)
    parts = (*(r.routes for r in pages), ROUTES, *(r.routes for r in after))
    for routes in parts:
        api.router.routes += routes  # as they are: included, each would be built anew
        metrics.expect(routes)
    openapi.keep_document(api)
    add_problem_handlers(api)
    upload = BodyLimit(limits.public_bytes, UPLOAD_SECONDS)
    api.add_middleware(
        BodyLimits,
        limit=BodyLimit(limits.request_bytes, BODY_SECONDS),
        exceptional=dict.fromkeys((TASKS, *(wizard.UPLOADS if pages else ())), upload),
        budget=budget,
    )
    api.add_middleware(HeadCalls)
