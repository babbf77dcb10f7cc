"""A curator on loopback, with something in front that listens and, where a scene says so, lies."""

import asyncio
import json
import socket
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from email.utils import formatdate
from hashlib import sha256
from itertools import count
from pathlib import Path

import numpy as np
import uvicorn
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from privet.curator.access.signing import Signer
from privet.curator.app import create_app
from privet.curator.datastore import Store, open_store
from privet.curator.settings import Settings
from privet.learning.core.public_data import PublicData
from privet.protocol.calls import (
    JSON_MEDIA_TYPE,
    PROBLEM_MEDIA_TYPE,
    SIGNATURE_HEADER,
    TASK_MEDIA_TYPE,
    TASKS,
)
from privet.protocol.errors import (
    MalformedReport,
    PrivetError,
    problem_of,
)
from privet.protocol.lifecycle import TaskState
from privet.protocol.report import Report
from privet.protocol.task import Task


@dataclass(frozen=True)
class RecordedCall:
    """A request of a holder: ``path`` follows the task's address, ``at`` is in seconds."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes
    at: float


Script = Callable[[RecordedCall, int], Response | None]
"""The answer to a call in the curator's place, or None to let the curator answer; with the number
of calls of this method before."""


@dataclass
class Scene:
    """A task at an address, what answers there, and all that was sent there."""

    task_id: str
    url: str
    name: str = ""
    script: Script = lambda _call, _before: None
    calls: list[RecordedCall] = field(default_factory=list)
    clock_ahead: float = 0.0
    """Seconds by which the server's clock is ahead of the right time."""

    @property
    def posts(self) -> list[RecordedCall]:
        """The reports that were sent."""
        return [call for call in self.calls if call.method == "POST"]

    @property
    def bodies(self) -> set[bytes]:
        """The different reports that were sent."""
        return {call.body for call in self.posts}


class Wire:
    """ASGI wrapper that records calls and may answer in the curator's place."""

    def __init__(self, app: ASGIApp, clock: Callable[[], float] = time.time) -> None:
        self._app = app
        self.scenes: dict[str, Scene] = {}
        self._clock = clock

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Note a call, and answer it or pass it on; every answer tries to leave a cookie."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request = Request(scope, receive)
        task_id, _, path = scope["path"].removeprefix(f"{TASKS}/").partition("/")
        body = await request.body()
        scene = self.scenes.get(task_id)
        answer = None
        if scene is not None:
            before = sum(call.method == request.method for call in scene.calls)
            call = RecordedCall(request.method, path, dict(request.headers), body, time.monotonic())
            scene.calls.append(call)
            answer = scene.script(call, before)
        given = iter([{"type": "http.request", "body": body, "more_body": False}])

        async def again() -> Message:
            message = next(given, None)
            return message if message is not None else await receive()

        async def marked(message: Message) -> None:
            if message["type"] == "http.response.start":
                ahead = 0.0 if scene is None else scene.clock_ahead
                date = formatdate(self._clock() + ahead, usegmt=True).encode()
                more = [(b"set-cookie", b"seen=1"), (b"date", date)]
                message = {**message, "headers": [*message["headers"], *more]}
            await send(message)

        await (answer or self._app)(scope, again, marked)


class Bench:
    """Builder of test scenes at ``root``, whose curator signs with ``key``."""

    def __init__(self, store: Store, signer: Signer) -> None:
        self._store = store
        self.signer = signer
        app = create_app(Settings(rate_limit=0), store=store, signer=signer)
        self.wire = Wire(app.stack)
        self.root = ""
        self.tasks: dict[str, Task] = {}
        """The curator's published tasks, by id."""
        self._numbers = count()

    @property
    def key(self) -> str:
        """The curator's public key, in hexadecimal."""
        return self.signer.key.hex()

    def publish(self, task: Task, script: Script | None = None, invitation: str = "") -> Scene:
        """Open a task at the curator, under a name that no other scene has."""
        made = task.model_copy(update={"name": f"{task.name} {next(self._numbers)}"})
        public = PublicData(np.zeros((1, len(made.columns))), np.zeros(1))
        self._store.tasks.create(made, {}, public, time.time(), TaskState.OPEN)
        if invitation:
            self._store.invitations.issue(made.id, [sha256(invitation.encode()).digest()])
        self.tasks[made.id] = made
        return self._scene(made.id, task.name, script)

    def waves(self, scene: Scene) -> list[Scene]:
        """Scenes of the waves of a panel that was published."""
        waves = self.tasks[scene.task_id].waves
        self.tasks |= {wave.id: wave for wave in waves}
        return [self._scene(wave.id, scene.name, None) for wave in waves]

    def offer(self, task_id: str, content: bytes, signature: str | None = None) -> Scene:
        """Serve these bytes as a task that the curator does not know."""
        headers = {} if signature is None else {SIGNATURE_HEADER: signature}

        def script(call: RecordedCall, _before: int) -> Response | None:
            if call.method == "GET" and not call.path:
                return Response(content, headers=headers, media_type=TASK_MEDIA_TYPE)
            return receipt(call) if call.method == "POST" else None

        return self._scene(task_id, "", script)

    def counted(self, scene: Scene) -> int:
        """Number of reports that the curator counts for a published task."""
        return self._store.standing.read(scene.task_id).reports

    def _scene(self, task_id: str, name: str, script: Script | None) -> Scene:
        scene = Scene(task_id, f"{self.root}{TASKS}/{task_id}", name)
        scene.script = script or scene.script
        self.wire.scenes[task_id] = scene
        return scene


def receipt(call: RecordedCall, status: int = 201, report_id: str | None = None) -> Response:
    """A receipt for a report, true or false."""
    try:
        sent_id = Report.unpack(call.body).id.hex()
    except PrivetError:
        return problem(MalformedReport("A test."))
    receipt = {"report": report_id or sent_id, "counted": status == 201}
    return Response(json.dumps(receipt), status, media_type=JSON_MEDIA_TYPE)


def problem(error: PrivetError, retry_after: int | None = None) -> Response:
    kind = problem_of(error)
    document = {"type": kind.uri, "title": kind.title, "status": kind.status, "detail": "A test."}
    headers = {} if retry_after is None else {"Retry-After": str(retry_after)}
    return Response(json.dumps(document), kind.status, headers, PROBLEM_MEDIA_TYPE)


@contextmanager
def open_bench() -> Iterator[Bench]:
    """A bench on a free port of this machine, over a database that is removed at the end."""
    with tempfile.TemporaryDirectory(prefix="privet-conformance-") as folder:
        store = open_store(f"sqlite:///{Path(folder)}/curator.db")
        bench = Bench(store, Signer(Ed25519PrivateKey.generate()))
        with socket.create_server(("127.0.0.1", 0), backlog=128) as listener:
            bench.root = "http://127.0.0.1:{1}".format(*listener.getsockname())
            config = uvicorn.Config(
                bench.wire, log_config=None, lifespan="off", access_log=False, date_header=False
            )
            server = uvicorn.Server(config)
            thread = threading.Thread(target=lambda: asyncio.run(server.serve([listener])))
            thread.start()
            try:
                while not server.started and thread.is_alive():
                    time.sleep(0.01)
                yield bench
            finally:
                server.should_exit = True
                thread.join()
                store.close()
