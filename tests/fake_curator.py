"""A curator in a few lines: it publishes tasks and counts each report once, or misbehaves."""

import asyncio
import contextlib
import re
import socket
import threading
import time
from collections.abc import Iterator, Mapping

import httpx
import uvicorn
from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from privet.protocol.batch import Batch
from privet.protocol.calls import KEY, SIGNATURE_HEADER, TASK_MEDIA_TYPE
from privet.protocol.errors import (
    Overloaded,
    PrivetError,
    ReportConflict,
    TaskNotFound,
    problem_of,
)
from privet.protocol.report import Report
from privet.protocol.task import Task

CALL = re.compile(r"/v1/tasks/(?P<task>\w+)(?P<call>|/status|/reports|/reports/batch)")


class FakeCurator:
    """Answers a request when called with it, as ``httpx.MockTransport`` does; see ``serving``.

    The next ``busy`` reports are answered 503, and so is every call while it is ``down``.
    """

    def __init__(self, *tasks: Task, busy: int = 0, signature: str | None = None) -> None:
        self.tasks = {task.id: task for task in tasks}
        self.task = tasks[0]
        self.root = "https://curator.example"
        self.busy = busy
        self.down = False
        self.signature = signature
        """The header that tasks come with."""
        self.says: Mapping[str, bool | str] = {}
        """More of its status."""
        self.calls: list[str] = []
        """The paths below ``/v1/tasks/{id}`` that were asked for."""
        self.posts: list[bytes] = []
        self.invitations: list[str | None] = []
        """Those that came with the posts."""
        self.counted: dict[bytes, bytes] = {}
        """By their ids: the bodies of reports, and the payloads of those in batches."""
        self.batches: list[Batch] = []

    @property
    def url(self) -> str:
        """The first task's address."""
        return f"{self.root}/v1/tasks/{self.task.id}"

    def __call__(self, request: httpx.Request) -> httpx.Response:
        if request.url.path == KEY:
            return httpx.Response(200, json={"key": None})
        found = CALL.fullmatch(request.url.path)
        task = self.tasks.get(found["task"]) if found else None
        if self.down:
            return problem(Overloaded("Come back later."))
        if found is None or task is None:
            return problem(TaskNotFound("There is no such task: check its address."))
        self.calls.append(found["call"])
        if request.method == "GET":
            return self._status() if found["call"] else self._publish(task)
        return (self._batch if found["call"] == "/reports/batch" else self._report)(task, request)

    def _publish(self, task: Task) -> httpx.Response:
        signed = {} if self.signature is None else {SIGNATURE_HEADER: self.signature}
        headers = {"Content-Type": TASK_MEDIA_TYPE, **signed}
        return httpx.Response(200, content=task.canonical, headers=headers)

    def _status(self) -> httpx.Response:
        said = {"phase": "open", "invited": False}
        return httpx.Response(200, json={**said, **self.says})

    def _report(self, task: Task, request: httpx.Request) -> httpx.Response:
        body = request.content
        self.posts.append(body)
        self.invitations.append(request.headers.get("privet-invitation"))
        if self.busy:
            self.busy -= 1
            return problem(Overloaded("Try again."), headers={"Retry-After": "0"})
        try:
            report = Report.unpack(body)
            report.check(task)
        except PrivetError as error:
            return problem(error)
        new = report.id not in self.counted
        if self.counted.setdefault(report.id, body) != body:
            return problem(ReportConflict("This id was used with other bytes."))
        return httpx.Response(201 if new else 200, json={"report": report.id.hex(), "counted": new})

    def _batch(self, task: Task, request: httpx.Request) -> httpx.Response:
        batch = Batch.unpack(request.content, task)
        self.batches.append(batch)
        self.counted |= {
            own.tobytes(): payload.tobytes()
            for own, payload in zip(batch.ids, batch.payloads, strict=True)
        }
        return httpx.Response(200, json={"counted": len(batch), "replayed": 0, "failed": {}})


def problem(
    error: PrivetError, status: int | None = None, headers: dict[str, str] | None = None
) -> httpx.Response:
    """The problem document that a curator answers with."""
    kind = problem_of(error)
    body = {"type": kind.uri, "title": kind.title, "detail": error.detail}
    headers = {"Content-Type": "application/problem+json", **(headers or {})}
    return httpx.Response(status or kind.status, json=body, headers=headers)


@contextlib.contextmanager
def serving(curator: FakeCurator) -> Iterator[FakeCurator]:
    """The curator at a free port of this machine, its ``root``, until the block ends."""

    async def answer(request: Request) -> Response:
        try:
            body = await request.body()
        except ClientDisconnect:  # a killed holder's
            return Response()
        headers = request.headers.raw
        asked = httpx.Request(request.method, str(request.url), headers=headers, content=body)
        answer = await asyncio.to_thread(curator, asked)
        return Response(answer.content, answer.status_code, dict(answer.headers))

    every = Route("/{path:path}", answer, methods=["GET", "POST"])
    with on_a_port(Starlette(routes=[every])) as curator.root:
        yield curator


@contextlib.contextmanager
def on_a_port(app: Starlette, *, dated: bool = True) -> Iterator[str]:
    """The address of an application at a free port of this machine, until the block ends.

    Unless ``dated``, its answers have no ``Date`` but their own.
    """
    with socket.create_server(("127.0.0.1", 0)) as listener:
        server = uvicorn.Server(
            uvicorn.Config(app, log_config=None, lifespan="off", date_header=dated)
        )
        thread = threading.Thread(target=server.run, args=([listener],), daemon=True)
        thread.start()
        while not server.started and thread.is_alive():
            time.sleep(0.005)
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join(10)
