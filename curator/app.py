"""The one place where everything meets: store, clock, intake, routes."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from fastapi import FastAPI
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import State
from starlette.types import Receive, Scope, Send

from curator.api import ROUTERS, health
from curator.api.body_limits import BodyLimits
from curator.api.problems import add_problem_handlers
from curator.api.reports import add_report_docs
from curator.clock import Clock, SystemClock
from curator.config import Settings
from curator.intake.batches import BatchIntake, BatchLimits
from curator.intake.committer import Committer
from curator.intake.endpoint import SingleIntake
from curator.intake.gates import Gates
from curator.intake.rejects import Rejects
from curator.metrics import Metrics
from curator.storage import Store, open_store
from curator.tasks import Curator
from curator.tokens import Tokens

Handler = Callable[[Scope, Receive, Send], Awaitable[None]]

PREFIX = "/v1/tasks/"
DESCRIPTION = "Learns decision trees from people who never reveal their record."


class CuratorApp:
    """The ASGI application: report calls go to the intake, all others to the framework."""

    def __init__(self, api: FastAPI, single: SingleIntake, batch: BatchIntake) -> None:
        self.api = api
        self._single = single
        self._batch = batch

    @property
    def state(self) -> State:
        """What the routes share."""
        return self.api.state

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["method"] == "POST":
            path = scope["path"]
            if path.startswith(PREFIX):
                task_id, _, call = path[len(PREFIX) :].partition("/")
                if call == "reports":
                    await self._single.answer(task_id, scope, receive, send)
                    return
                if call == "reports/batch":
                    await self._batch.answer(task_id, scope, receive, send)
                    return
        await self.api(scope, receive, send)


def create_app(
    settings: Settings, *, store: Store | None = None, clock: Clock | None = None
) -> CuratorApp:
    """A curator's application over ``store``, or over the one that ``settings`` name.

    Reports are taken in as soon as it is called; the lifespan's end finishes what has been
    accepted and closes the store. Raises ``StorageFailed`` if the store cannot be opened.
    """
    clock = clock or SystemClock()
    store = store or open_store(settings.database, settings.bucket_seconds)
    metrics = Metrics()
    committer = Committer(store, clock, metrics, max_queue=settings.max_queue)
    rejects = Rejects(store.count_rejects)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        yield
        await run_in_threadpool(committer.stop)
        await run_in_threadpool(rejects.close)
        store.close()

    api = FastAPI(title="Privet", description=DESCRIPTION, version="1", lifespan=lifespan)
    token = None if settings.admin_token is None else settings.admin_token.get_secret_value()
    api.state.curator = Curator(store, clock)
    api.state.tokens = Tokens(store, clock, token)
    api.state.metrics = metrics
    api.state.committer = committer
    for router in (*ROUTERS, health.router):
        api.include_router(router)
    add_report_docs(api)
    add_problem_handlers(api)
    api.add_middleware(
        BodyLimits, uploads=settings.max_public_bytes, others=settings.max_request_bytes
    )
    gates = Gates(store)
    limits = BatchLimits(
        settings.max_batch_bytes,
        settings.max_batch_reports,
        settings.max_batches,
        settings.body_seconds,
    )
    return CuratorApp(
        api,
        SingleIntake(gates, committer, rejects, metrics, body_seconds=settings.body_seconds),
        BatchIntake(gates, committer, rejects, metrics, limits),
    )
