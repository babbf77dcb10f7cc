"""A curator as an operator runs it: ``privet serve`` in a process of its own, over SQLite."""

import itertools
import json
import signal
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Self

import httpx

from privet.protocol.calls import REPORT_MEDIA_TYPE, TASK_MEDIA_TYPE
from privet.protocol.task import Task
from scripts.servers import running_curator

NUMBERS = itertools.count(1)


class RunningCurator:
    """``privet serve`` on a free port of loopback; a restart keeps its database and token."""

    def __init__(self, folder: Path) -> None:
        self.database = f"sqlite:///{folder / 'privet.db'}"
        self.url = self.token = ""
        self._folder = folder
        self._running = ExitStack()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self) -> None:
        """Start it, and wait until it answers."""
        started = running_curator(self._folder, admin_token=None, token_tries="0")
        self._curator = self._running.enter_context(started)
        self.url, self.token = self._curator.url, self._curator.token or self.token
        self._http = self._running.enter_context(self.http())

    def stop(self, how: signal.Signals = signal.SIGTERM) -> None:
        """Stop it, by default as an operator would."""
        self._curator.process.send_signal(how)
        self._running.close()

    def restart(self, how: signal.Signals = signal.SIGTERM) -> None:
        """Stop and start it."""
        self.stop(how)
        self.start()

    def log(self) -> str:
        """What this run has printed so far."""
        return self._curator.log.read_text()

    def http(self) -> httpx.Client:
        """A new client of it, without a token."""
        return httpx.Client(base_url=self.url, timeout=60)

    @property
    def admin(self) -> dict[str, str]:
        """The header of admin calls."""
        return {"Authorization": f"Bearer {self.token}"}

    def call(self, method: str, path: str, **request: Any) -> httpx.Response:
        """The response to any call, over a connection that is kept."""
        return self._http.request(method, path, **request)

    def create(self, public: bytes, *, onnx: bytes | None = None, **settings: Any) -> str:
        """The id of a new task, which may bring a public model.

        Its name is new unless one is given: a curator gives the same settings the same task.
        """
        files = {"public": ("public.csv", public)}
        if onnx is not None:
            files["public_model"] = ("model.onnx", onnx)
        data = {"settings": json.dumps({"name": f"task {next(NUMBERS)}", **settings})}
        response = self.call("POST", "/v1/tasks", headers=self.admin, files=files, data=data)
        assert response.status_code == 201, response.text
        return str(response.json()["id"])

    def task(self, task_id: str) -> Task:
        """A published task, as holders get it."""
        got = self.call("GET", f"/v1/tasks/{task_id}", headers={"Accept": TASK_MEDIA_TYPE})
        return Task.parse(got.content, task_id)

    def report(self, task_id: str, body: Any, **headers: str) -> httpx.Response:
        """The response to one report's body."""
        given = {"Content-Type": REPORT_MEDIA_TYPE, **headers}
        return self.call("POST", f"/v1/tasks/{task_id}/reports", content=body, headers=given)

    def get(self, path: str) -> Any:
        """The JSON answer to a stranger's GET."""
        response = self.call("GET", path)
        assert response.status_code == 200, response.text
        return response.json()

    def status(self, task_id: str) -> Any:
        """How a collection stands, as an admin sees it."""
        response = self.call("GET", f"/v1/tasks/{task_id}/status", headers=self.admin)
        assert response.status_code == 200, response.text
        return response.json()

    def post(self, path: str, body: Any = None) -> Any:
        """The JSON answer to an admin's POST."""
        response = self.call("POST", path, json=body or {}, headers=self.admin)
        assert response.is_success, response.text
        return response.json()
