"""A small curator over real HTTP: it publishes one task and counts reports, or misbehaves."""

import contextlib
import socket
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field

import msgpack
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from privet.protocol.errors import Overloaded, PrivetError, ReportConflict, TaskNotFound, problem_of
from privet.protocol.report import Report
from privet.protocol.signature import SIGNATURE_HEADER
from privet.protocol.task import Task


@dataclass
class StubCurator:
    """Counts every report once; answers 503 to the next ``busy`` calls."""

    task: Task
    root: str = ""
    busy: int = 0
    signature: str | None = None
    counted: dict[bytes, bytes] = field(default_factory=dict)
    posts: list[bytes] = field(default_factory=list)
    invitations: list[str | None] = field(default_factory=list)
    gets: int = 0
    looks: int = 0
    batches: list[int] = field(default_factory=list)

    @property
    def url(self) -> str:
        """The task's address."""
        return f"{self.root}/v1/tasks/{self.task.id}"

    async def get_task(self, request: Request) -> Response:
        """Publish the task's canonical bytes."""
        self.gets += 1
        if request.path_params["id"] != self.task.id:
            return problem(TaskNotFound("There is no such task: check its address."))
        signed = {} if self.signature is None else {SIGNATURE_HEADER: self.signature}
        return Response(self.task.canonical, 200, signed, request.headers["accept"])

    async def get_status(self, _: Request) -> Response:
        """The task takes reports from anybody."""
        self.looks += 1
        return JSONResponse({"collecting": True, "over": False, "invited": False})

    async def post_report(self, request: Request) -> Response:
        """Count a report by its id, as docs/calls.md says."""
        body = await request.body()
        self.posts.append(body)
        self.invitations.append(request.headers.get("privet-invitation"))
        if self.busy:
            self.busy -= 1
            return problem(Overloaded("Try again."), {"Retry-After": "0"})
        try:
            report = Report.unpack(body)
            report.check(self.task)
        except PrivetError as error:
            return problem(error)
        if self.counted.setdefault(report.id, body) != body:
            return problem(ReportConflict("This id was used with other bytes."))
        replay = self.posts.count(body) > 1
        receipt = {"report": report.id.hex(), "counted": not replay}
        return JSONResponse(receipt, status_code=200 if replay else 201)

    async def post_batch(self, request: Request) -> Response:
        """Count a relay's reports by their ids."""
        columns = msgpack.unpackb(await request.body())
        ids = [columns["ids"][at : at + 16] for at in range(0, len(columns["ids"]), 16)]
        width = len(columns["payloads"]) // len(ids)
        for place, report_id in enumerate(ids):
            self.counted[report_id] = columns["payloads"][place * width :][:width]
        self.batches.append(len(ids))
        return JSONResponse({"counted": len(ids), "replayed": 0, "failed": {}})

    def app(self) -> Starlette:
        """The two routes that holders use, and the one for relays."""
        return Starlette(
            routes=[
                Route("/v1/tasks/{id}", self.get_task),
                Route("/v1/tasks/{id}/status", self.get_status),
                Route("/v1/tasks/{id}/reports", self.post_report, methods=["POST"]),
                Route("/v1/tasks/{id}/reports/batch", self.post_batch, methods=["POST"]),
            ]
        )


def problem(error: PrivetError, headers: dict[str, str] | None = None) -> Response:
    """The problem document of an error."""
    kind = problem_of(error)
    body = {"type": kind.uri, "title": kind.title, "status": kind.status, "detail": error.detail}
    return JSONResponse(body, kind.status, headers, "application/problem+json")


@contextlib.contextmanager
def serving(curator: StubCurator) -> Iterator[StubCurator]:
    """The curator on a free port of this machine, until the block ends."""
    with on_a_port(curator.app()) as curator.root:
        yield curator


@contextlib.contextmanager
def on_a_port(app: Starlette) -> Iterator[str]:
    """The address of an application on a free port of this machine, until the block ends."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        server = uvicorn.Server(uvicorn.Config(app, log_config=None, lifespan="off"))
        thread = threading.Thread(target=server.run, args=([listener],), daemon=True)
        thread.start()
        while not server.started and thread.is_alive():
            time.sleep(0.005)
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join(10)
