"""What a curator sends by OpenTelemetry, and all that it never does."""

import gzip
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx
import pytest
from opentelemetry import trace
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from prometheus_client import CollectorRegistry
from pydantic import ValidationError
from sqlalchemy import create_engine, text
from sqlalchemy.exc import OperationalError
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from privet.curator.settings import Settings
from privet.curator.telemetry import SHOWN, Telemetry
from privet.curator.workers import Workers
from tests.client.stub_curator import on_a_port
from tests.curator.access.openid_provider import running
from tests.curator.access.test_oidc import ADMIN, sign_in
from tests.curator.http.conftest import TOKEN, serving
from tests.manual_clock import ManualClock

NAMING = {
    "User-Agent": "agent-of-somebody",
    "X-Forwarded-For": "203.0.113.9",
    "Privet-Invitation": "invitation-of-somebody",
    "X-Request-ID": "f" * 32,
}
"""Headers that tell calls apart."""
TRACE = "0af7651916cd43dd8448eb211c80319c"


@dataclass
class Collector:
    """Reads OTLP as a collector does."""

    root: str = ""
    bodies: list[bytes] = field(default_factory=list)
    spans: list[Any] = field(default_factory=list)
    metrics: dict[str, Any] = field(default_factory=dict)

    async def take_traces(self, request: Request) -> Response:
        asked = ExportTraceServiceRequest.FromString(await self._body(request))
        for resource in asked.resource_spans:
            self.spans += [span for scope in resource.scope_spans for span in scope.spans]
        return Response(b"", media_type="application/x-protobuf")

    async def take_metrics(self, request: Request) -> Response:
        asked = ExportMetricsServiceRequest.FromString(await self._body(request))
        for resource in asked.resource_metrics:
            self.metrics |= {m.name: m for scope in resource.scope_metrics for m in scope.metrics}
        return Response(b"", media_type="application/x-protobuf")

    async def _body(self, request: Request) -> bytes:
        body = await request.body()
        if request.headers.get("content-encoding") == "gzip":
            body = gzip.decompress(body)
        self.bodies.append(body)
        return body

    def named(self, name: str) -> list[Any]:
        return [span for span in self.spans if span.name == name]


@contextmanager
def collecting() -> Iterator[Collector]:
    """A collector on a free port of this machine, until the block ends."""
    collector = Collector()
    routes = [
        Route("/v1/traces", collector.take_traces, methods=["POST"]),
        Route("/v1/metrics", collector.take_metrics, methods=["POST"]),
    ]
    with on_a_port(Starlette(routes=routes)) as collector.root:
        yield collector


@pytest.fixture
def collector() -> Iterator[Collector]:
    with collecting() as made:
        yield made


def attributes(span: Any) -> dict[str, Any]:
    return {a.key: a.value.string_value or a.value.int_value for a in span.attributes}


async def test_calls_and_their_statements_are_spans(collector: Collector, workers: Workers) -> None:
    """Named by route, and by operation and table; statements are within their call. Traces begin
    here: a caller can neither name nor forbid them."""
    async with serving(workers, otlp_endpoint=collector.root) as http:
        for flags in ("00", "01"):
            named = {"traceparent": f"00-{TRACE}-b7ad6b7169203331-{flags}", "baggage": "a=somebody"}
            await http.get("/v1/tasks", headers=named)
        await http.get(f"/v1/tasks/{'0' * 64}")
        await http.get("/nowhere")
    call, other = collector.named("GET /v1/tasks")
    assert attributes(call) == {
        "http.request.method": "GET",
        "http.route": "/v1/tasks",
        "http.response.status_code": 200,
    }
    inside = [s for s in collector.spans if s.parent_span_id == call.span_id]
    assert {"SELECT tasks"} <= {span.name for span in inside}
    assert {span.trace_id for span in inside} == {call.trace_id}
    assert attributes(inside[0])["db.system.name"] == "sqlite"
    (missing,) = collector.named("GET /v1/tasks/{task_id}")
    assert attributes(missing)["http.response.status_code"] == 404
    assert attributes(collector.named("GET")[0])["http.response.status_code"] == 404
    assert not call.parent_span_id
    assert not other.parent_span_id
    assert TRACE not in {span.trace_id.hex() for span in collector.spans}
    assert b"somebody" not in b"".join(collector.bodies)


async def test_nothing_of_people_or_secrets_is_sent(collector: Collector, workers: Workers) -> None:
    """Whatever a call has in its path, query, headers, body or answer; errors included."""
    with running(ManualClock(time.time())) as provider:
        given = {**provider.settings, "otlp_endpoint": collector.root}
        async with serving(workers, **given) as http:
            http.headers.update(NAMING)
            task = await http.task(name="secret-name")
            await http.fit(task, estimator="public")
            record = {"columns": {"age": [50], "hours": [40], "job": ["smith"], "member": [True]}}
            predicted = await http.post(f"/v1/tasks/{task}/predict", json=record)
            assert predicted.status_code == 200
            record["columns"]["job"] = ["occupation-of-somebody"]
            await http.post(f"/v1/tasks/{task}/predict", json=record)
            await http.post(f"/v1/tasks/{task}/predict?x=query-of-somebody", content=b"{not json")
            assert (await http.report(task)).status_code == 201
            issued = await http.put("/v1/tokens/name-of-token", headers=http.admin, json={})
            await http.get("/v1/tokens", headers={"Authorization": "Bearer wrong-token"})
            http.base_url = httpx.URL("http://host-of-curator")
            await sign_in(http, provider, subject="subject-of-somebody", **ADMIN)
            await http.get("/access")
    sent = b"\n".join(collector.bodies)
    assert b"GET /sign-in/callback" in sent
    assert b"POST /v1/tasks/{task_id}/predict" in sent
    code, attempt = next(iter(provider.people)), provider.people
    for known in (
        *(task, TOKEN, issued.json()["token"], "wrong-token", "name-of-token", "secret-name"),
        *("smith", "occupation-of-somebody", "query-of-somebody", "not json", "invitation-of"),
        *("203.0.113.9", "127.0.0.1", "agent-of-somebody", "f" * 32, "subject-of-somebody"),
        *(code, attempt[code]["nonce"], "host-of-curator"),
    ):
        assert known.encode() not in sent, known
    shown = {attribute.key for span in collector.spans for attribute in span.attributes}
    assert shown <= SHOWN
    assert all(not span.events and not span.links for span in collector.spans)
    assert not any(span.status.message for span in collector.spans)


def test_a_statement_that_fails_says_so_and_no_more(collector: Collector) -> None:
    """Its span is an error, without the text of it or of the statement."""
    telemetry = Telemetry(collector.root, CollectorRegistry())
    engine = create_engine("sqlite://")
    telemetry.watch(engine, ["tasks"])
    call = telemetry.tracers.get_tracer("test").start_span("call")
    with trace.use_span(call), engine.connect() as connection:
        with pytest.raises(OperationalError):
            connection.execute(text("SELECT secret FROM tasks"))
        connection.execute(text("SELECT 1"))
    call.end()
    engine.dispose()
    telemetry._close()
    failed, worked = collector.spans[:2]
    assert (failed.name, worked.name) == ("SELECT tasks", "SELECT")
    assert (failed.status.code, worked.status.code) == (2, 0)
    assert failed.parent_span_id == call.get_span_context().span_id.to_bytes(8, "big")
    assert b"secret" not in b"".join(collector.bodies)


async def test_reports_leave_no_span(collector: Collector, workers: Workers) -> None:
    """Neither of their call nor of what it writes: the moment of a report stays here."""
    async with serving(workers, otlp_endpoint=collector.root) as http:
        task = await http.task()
        assert (await http.report(task)).status_code == 201
    assert not [span for span in collector.spans if "reports" in span.name]
    calls = [span for span in collector.spans if not span.parent_span_id]
    assert {span.name.split()[0] for span in calls} == {"GET", "POST"}
    assert {span.trace_id for span in collector.spans} == {span.trace_id for span in calls}


async def test_metrics_are_those_of_prometheus(collector: Collector, workers: Workers) -> None:
    """The same names, labels and values, as the processes' own."""
    async with serving(workers, otlp_endpoint=collector.root) as http:
        task = await http.task()
        assert (await http.report(task)).status_code == 201
        for _ in range(3):
            await http.get("/v1/tasks")
        text = (await http.get("/metrics", headers=http.admin)).text
    counted = {
        point.attributes[0].value.string_value: point.as_double
        for point in collector.metrics["privet_reports"].sum.data_points
    }
    assert counted["counted"] == 1
    assert collector.metrics["privet_reports"].sum.is_monotonic
    (commits,) = collector.metrics["privet_commit_reports"].histogram.data_points
    assert (commits.count, commits.sum, commits.bucket_counts[0]) == (1, 1, 1)
    assert sum(commits.bucket_counts) == 1
    assert len(commits.bucket_counts) == len(commits.explicit_bounds) + 1
    routes = {
        {a.key: a.value.string_value for a in point.attributes}["route"]: point
        for point in collector.metrics["privet_http_seconds"].histogram.data_points
    }
    assert routes["/v1/tasks"].count == 4
    families = set(re.findall(r"^# TYPE (privet_\w+?)(?:_total)? ", text, re.MULTILINE))
    assert {name for name in families if not name.endswith("_created")} == set(collector.metrics)


async def test_without_the_setting_nothing_is_sent(
    collector: Collector, workers: Workers, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever the environment says to libraries, or a provider of the whole process."""
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    seen, provider = InMemorySpanExporter(), TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(seen))
    monkeypatch.setattr(trace, "get_tracer_provider", lambda: provider)
    monkeypatch.setenv("FASTAPI_OTEL_AUTO_CONFIGURE", "true")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.root)
    async with serving(workers) as http:
        assert (await http.get("/v1/tasks")).status_code == 200
    provider.shutdown()
    assert seen.get_finished_spans() == ()
    assert collector.bodies == []


async def test_a_collector_that_is_down_changes_nothing(workers: Workers) -> None:
    """Calls are answered, and the curator stops."""
    with collecting() as gone:
        pass
    async with serving(workers, otlp_endpoint=gone.root) as http:
        assert (await http.get("/v1/tasks")).status_code == 200


def test_an_address_that_is_none_is_refused() -> None:
    """At the start."""
    for endpoint in ("127.0.0.1:4318", "grpc://collector:4317", "http://", "http://u:p@host/"):
        with pytest.raises(ValidationError, match="it is no address"):
            Settings(otlp_endpoint=endpoint)
