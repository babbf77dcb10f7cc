"""Assembly of the application: store, clock, uploads, worker processes, routes, middleware."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from functools import partial

from fastapi import FastAPI
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import State
from starlette.types import ASGIApp, Receive, Scope, Send

from privet.http_server import cors
from privet.http_server.bodies import BodyBudget, BodyLimit, BodyLimits
from privet.http_server.metrics import CountCalls

from . import dashboard
from .access.audit import NOBODY
from .access.rate_limit import Rate
from .access.signing import Signer
from .access.tokens import Tokens
from .collection.batch import BatchUpload
from .collection.rejects import Rejects
from .collection.task_cache import TaskCache
from .collection.upload import ReportUpload
from .collection.writer import Writer
from .dashboard import wizard
from .datastore import Store, open_store
from .datastore.garbage_collection import collect_garbage
from .http import ROUTERS, health, openapi
from .http.middleware import (
    HEADERS,
    HeadCalls,
    RateLimit,
    SecurityHeaders,
    TokenTries,
)
from .http.problems import add_problem_handlers
from .metrics import Metrics
from .service import Curator
from .settings import Settings
from .workers import Workers

REFRESH_SECONDS = 5.0
WAITING_PREDICTIONS = 8
"""Large predictions, exports and comparisons that may wait; above it the answer is 503."""
DESCRIPTION = "Learns decision trees from people who never reveal their record."


class CuratorApp:
    """The ASGI application; ``state`` is what its routes share.

    ``stack`` is what it passes every call to, for a server that calls it directly.
    """

    def __init__(self, api: FastAPI, stack: ASGIApp) -> None:
        self.api = api
        self.stack = stack

    @property
    def state(self) -> State:
        """The state of the FastAPI application inside."""
        return self.api.state

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self.stack(scope, receive, send)


def create_app(
    settings: Settings,
    *,
    store: Store | None = None,
    clock: Callable[[], float] = time.time,
    signer: Signer | None = None,
    workers: Workers | None = None,
) -> CuratorApp:
    """A curator's application over ``store``, or over the one that ``settings`` name.

    Tasks are signed by ``signer``, and not without one.

    Reports are taken in as soon as it is called; the lifespan's end finishes what has been
    accepted and closes the store. Raises ``StorageFailed`` if the store cannot be opened.
    """
    store = store or open_store(settings.database, settings.bucket_seconds)
    metrics = Metrics()
    writer = Writer(store, clock, metrics, max_queue=settings.max_queue)
    rejects = Rejects(store.count_rejects)
    memory = settings.worker_memory
    if workers is None:
        workers = Workers(settings.max_jobs, settings.max_waiting_jobs, memory)
    predictors = Workers(settings.max_predictions, WAITING_PREDICTIONS, memory)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        garbage = asyncio.create_task(
            collect_garbage(store, settings, clock, partial(tokens.audit.note, NOBODY))
        )
        figures = asyncio.create_task(_refresh(metrics, writer, workers))
        yield
        for task in (garbage, figures):
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
        await run_in_threadpool(workers.close)
        await run_in_threadpool(predictors.close)
        await run_in_threadpool(writer.stop)
        await run_in_threadpool(rejects.close)
        store.close()

    api = FastAPI(
        title="Privet",
        description=DESCRIPTION,
        version="1",
        lifespan=lifespan,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,  # a redirect would go to whatever the header Host says
    )
    token = None if settings.admin_token is None else settings.admin_token.get_secret_value()
    api.state.curator = Curator(store, clock, settings.max_predict_rows)
    tokens = Tokens(store, clock, token)
    api.state.tokens = tokens
    api.state.signer = signer
    api.state.metrics = metrics
    api.state.guard_models = settings.guard_models
    api.state.open_metrics = settings.open_metrics
    api.state.writer = writer
    api.state.rejects = rejects
    api.state.workers = workers
    api.state.predictors = predictors
    api.state.token_tries = Rate(settings.token_tries)
    budget = BodyBudget(max(settings.max_body_memory, settings.max_batch_bytes))
    _add_routes(api, settings, budget)
    tasks = TaskCache(store)
    batch = BatchUpload(
        api, tasks, writer, rejects, metrics, settings, budget, tokens, store, clock
    )
    others: ASGIApp = SecurityHeaders(TokenTries(batch, api.state.token_tries))
    others = CountCalls(others, metrics)
    single = ReportUpload(
        cors.HolderCors(others) if settings.cors_holders else others,
        tasks,
        writer,
        rejects,
        metrics,
        budget,
        body_seconds=settings.body_seconds,
        headers=(*HEADERS, *cors.HEADERS) if settings.cors_holders else HEADERS,
    )
    return CuratorApp(api, _around(single, settings))


async def _refresh(metrics: Metrics, writer: Writer, workers: Workers) -> None:
    """Take the gauges of this process every few seconds: another one may be asked for them."""
    while True:
        metrics.wait(writer.waiting, len(workers))
        metrics.refresh()
        await asyncio.sleep(REFRESH_SECONDS)


def _add_routes(api: FastAPI, settings: Settings, budget: BodyBudget) -> None:
    pages = dashboard.ROUTERS if settings.dashboard else ()
    for router in (*ROUTERS, health.router, openapi.router, *pages):
        api.include_router(router)
    openapi.complete_document(api)
    add_problem_handlers(api)
    upload = BodyLimit(settings.max_public_bytes, settings.upload_seconds)
    api.add_middleware(
        BodyLimits,
        limit=BodyLimit(settings.max_request_bytes, settings.body_seconds),
        exceptional=dict.fromkeys(("/v1/tasks", *(wizard.UPLOADS if pages else ())), upload),
        budget=budget,
    )
    api.add_middleware(HeadCalls)


def _around(app: ASGIApp, settings: Settings) -> ASGIApp:
    """Add the rate limit of all calls, if there is one; reports pay for no other middleware."""
    if not settings.rate_limit:
        return app
    app = RateLimit(app, Rate(settings.rate_limit))
    return SecurityHeaders(cors.HolderCors(app) if settings.cors_holders else app)
