"""Health checks and metrics for operators."""

from fastapi import APIRouter, Request, Response
from prometheus_client import CONTENT_TYPE_LATEST

from privet.protocol.errors import StorageFailed

from .problems import described
from .requests import MetricsReader
from .state import state_of

router = APIRouter(tags=["operation"])


@router.get("/healthz", summary="Is the process alive?")
async def alive() -> dict[str, str]:
    """Answers as long as the process runs."""
    return {"status": "ok"}


@router.get("/readyz", summary="Can it take reports?", responses=described(StorageFailed))
async def ready(request: Request) -> dict[str, str]:
    """Answers 200 only if the database has been written within the last seconds."""
    await state_of(request).readiness.check()
    return {"status": "ready"}


@router.get(
    "/metrics", summary="Prometheus metrics", response_class=Response, dependencies=[MetricsReader]
)
def metrics(request: Request) -> Response:
    """The counters of all processes of this curator, and gauges that are seconds old."""
    state = state_of(request)
    metrics = state.curator.metrics
    metrics.wait(state.writer.waiting, len(state.curator.workers))
    return Response(metrics.text(), media_type=CONTENT_TYPE_LATEST)
