"""Traces and metrics by OpenTelemetry (OTLP over HTTP), where the settings say so.

A span is a call or a statement of SQL within one. Of it leave only the attributes in ``SHOWN``, all
of them names that this code has: no path, id, value, address or text of an error. Single reports
and batches never come here, and traces begin here, whatever trace a caller says it is part of.
"""

import asyncio
import re
from collections.abc import Collection, Iterator, Sequence
from time import time_ns
from typing import Any, cast
from uuid import uuid4

from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.metrics import export as otlp
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import Status
from prometheus_client import CollectorRegistry
from prometheus_client.metrics_core import Metric
from prometheus_client.samples import Sample
from sqlalchemy import Connection, Engine, event
from starlette.concurrency import run_in_threadpool
from starlette.types import ASGIApp, Receive, Scope, Send

SHOWN = frozenset(
    {
        "db.collection.name",
        "db.operation.name",
        "db.system.name",
        "error.type",
        "http.request.method",
        "http.response.status_code",
        "http.route",
    }
)
OPERATIONS = frozenset({"BEGIN", "DELETE", "INSERT", "LOCK", "SELECT", "UPDATE", "WITH"})
TABLE = re.compile(r"\b(?:FROM|INTO|TABLE|UPDATE)\s+(\w+)", re.IGNORECASE)
CONTEXT = frozenset({b"baggage", b"traceparent", b"tracestate"})
SECONDS = 60.0
"""How often metrics are sent."""
ANSWER_SECONDS = 2.0
SPAN = "privet.span"


class Telemetry:
    """What one process sends to the collector at ``endpoint``."""

    def __init__(self, endpoint: str, registry: CollectorRegistry) -> None:
        root = endpoint.rstrip("/")
        named = {"service.name": "privet-curator", "service.instance.id": uuid4().hex}
        self._resource = Resource.create(named)
        self._registry, self._started = registry, time_ns()
        self._metrics = OTLPMetricExporter(f"{root}/v1/metrics", timeout=ANSWER_SECONDS)
        self.tracers = TracerProvider(resource=self._resource, shutdown_on_exit=False)
        spans = Shown(OTLPSpanExporter(f"{root}/v1/traces", timeout=ANSWER_SECONDS))
        self.tracers.add_span_processor(BatchSpanProcessor(spans))

    def watch(self, engine: Engine, tables: Collection[str]) -> None:
        """Make a span of each statement that a call executes, named by operation and table."""
        tracer = self.tracers.get_tracer(__name__)
        system = {"db.system.name": engine.dialect.name}

        @event.listens_for(engine, "before_cursor_execute")
        def begin(connection: Connection, _cursor: Any, statement: str, *_: object) -> None:
            if trace.get_current_span().is_recording():  # else nobody's call
                names = system | dict(_names(statement, tables))
                name = " ".join(list(names.values())[1:])
                connection.info[SPAN] = tracer.start_span(name, attributes=names)

        @event.listens_for(engine, "after_cursor_execute")
        def end(connection: Connection, *_: object) -> None:
            if SPAN in connection.info:
                connection.info.pop(SPAN).end()

        @event.listens_for(engine, "handle_error")
        def fail(context: Any) -> None:
            if context.connection is not None and SPAN in context.connection.info:
                span = context.connection.info.pop(SPAN)
                span.set_status(trace.StatusCode.ERROR)
                span.end()

    def around(self, app: ASGIApp) -> ASGIApp:
        """``app``, which does not learn which trace a caller says that a call is part of."""

        async def without_context(scope: Scope, receive: Receive, send: Send) -> None:
            if scope["type"] == "http":
                headers = scope["headers"]  # in place: outer layers read the route from the scope
                scope["headers"] = [header for header in headers if header[0] not in CONTEXT]
            await app(scope, receive, send)

        return without_context

    async def send(self) -> None:
        """Send metrics every minute, and all that is left when it is cancelled."""
        try:
            while True:
                await asyncio.sleep(SECONDS)
                await run_in_threadpool(self._send_metrics)
        finally:
            await run_in_threadpool(self._close)

    def _send_metrics(self) -> None:
        scope = otlp.ScopeMetrics(InstrumentationScope(__name__), list(self._collected()), "")
        resource = otlp.ResourceMetrics(self._resource, [scope], "")
        self._metrics.export(otlp.MetricsData([resource]))

    def _close(self) -> None:
        self._send_metrics()
        self._metrics.shutdown()
        self.tracers.shutdown()

    def _collected(self) -> Iterator[otlp.Metric]:
        """The metrics of this process, those of ``/metrics``."""
        now = time_ns()
        for family in self._registry.collect():
            data = _data(family, self._started, now)
            yield otlp.Metric(family.name, family.documentation, family.unit, data)


class Shown(SpanExporter):
    """Passes spans on without what is not in ``SHOWN``."""

    def __init__(self, exporter: SpanExporter) -> None:
        self._exporter = exporter

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        return self._exporter.export([_shown(span) for span in spans])

    def shutdown(self) -> None:
        self._exporter.shutdown()


def _shown(span: ReadableSpan) -> ReadableSpan:
    return ReadableSpan(
        name=span.name,
        context=span.context,
        parent=span.parent,
        resource=span.resource,
        attributes={name: v for name, v in (span.attributes or {}).items() if name in SHOWN},
        kind=span.kind,
        status=Status(span.status.status_code),
        start_time=span.start_time,
        end_time=span.end_time,
        instrumentation_scope=span.instrumentation_scope,
    )


def _names(statement: str, tables: Collection[str]) -> Iterator[tuple[str, str]]:
    """Operation and table of a statement, without anything else that it says."""
    operation = statement.split(maxsplit=1)[0].upper()
    yield "db.operation.name", operation if operation in OPERATIONS else "OTHER"
    table = TABLE.search(statement)
    if table is not None and table[1] in tables:
        yield "db.collection.name", table[1]


def _data(family: Metric, started: int, now: int) -> otlp.DataT:
    cumulative = otlp.AggregationTemporality.CUMULATIVE
    if family.type == "histogram":
        return otlp.Histogram(list(_histograms(family.samples, started, now)), cumulative)
    points = [
        otlp.NumberDataPoint(sample.labels, started, now, sample.value)
        for sample in family.samples
        if not sample.name.endswith("_created")
    ]
    if family.type == "counter":
        return otlp.Sum(points, cumulative, is_monotonic=True)
    return otlp.Gauge(points)


def _histograms(
    samples: Sequence[Sample], started: int, now: int
) -> Iterator[otlp.HistogramDataPoint]:
    """One point for each set of labels; Prometheus's buckets count all below their bounds."""
    below: list[float] = []
    bounds: list[float] = []
    for sample in samples:  # buckets, then count and sum, of each set of labels
        kind = sample.name.rpartition("_")[2]
        if kind == "bucket":
            below.append(sample.value)
            bounds.append(float(sample.labels["le"]))
        elif kind == "sum":
            counts = [
                int(upper - lower) for lower, upper in zip([0.0, *below], below, strict=False)
            ]
            yield otlp.HistogramDataPoint(
                sample.labels,
                started,
                now,
                int(below[-1]),
                sample.value,
                counts,
                bounds[:-1],
                min=cast("float", None),  # not known, so it is left out
                max=cast("float", None),
            )
            below, bounds = [], []
