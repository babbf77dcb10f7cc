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
from curator.intake.committer import Committer
from curator.intake.endpoint import PREFIX, SINGLE, Intake
from curator.intake.rejects import Rejects
from curator.metrics import Metrics
from curator.storage import Store, open_store
from curator.tasks import Curator
from curator.tokens import Tokens

Handler = Callable[[Scope, Receive, Send], Awaitable[None]]

DESCRIPTION = "Learns decision trees from people who never reveal their record."


class CuratorApp:
    """The ASGI application: report calls go to the intake, all others to the framework."""

    def __init__(self, api: FastAPI, intake: Intake) -> None:
        self.api = api
        self._intake = intake

    @property
    def state(self) -> State:
        """What the routes share."""
        return self.api.state

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["method"] == "POST" and _is_report(scope["path"]):
            await self._intake(scope, receive, send)
        else:
            await self.api(scope, receive, send)


def _is_report(path: str) -> bool:
    return path.endswith(SINGLE) and path.startswith(PREFIX) and path.count("/") == PATH_SLASHES


PATH_SLASHES = 4


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
    committer = Committer(
        store, clock, metrics, max_queue=settings.max_queue, max_batches=settings.max_batches
    )
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
    intake = Intake(store, committer, rejects, metrics, body_seconds=settings.body_seconds)
    return CuratorApp(api, intake)
