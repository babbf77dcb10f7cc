"""A curator as an operator runs it: ``privet serve`` in a process of its own, over SQLite."""

import json
import signal
import ssl
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Self

import httpx

from scripts.servers import running_curator

TLS = ssl.create_default_context()
"""Made once, since making one takes longer than all the rest of a short call."""


class RunningCurator:
    """``privet serve`` on a free port of this machine; started again it goes on where it was."""

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
        """A client of it, without a token."""
        return httpx.Client(base_url=self.url, timeout=60, verify=TLS)

    @property
    def admin(self) -> dict[str, str]:
        """The header of admin calls."""
        return {"Authorization": f"Bearer {self.token}"}

    def create(self, public: bytes, **settings: Any) -> str:
        """The id of a new task."""
        with self.http() as http:
            response = http.post(
                "/v1/tasks",
                headers=self.admin,
                files={"public": ("public.csv", public)},
                data={"settings": json.dumps({"name": "a task", **settings})},
            )
        assert response.status_code == 201, response.text
        return str(response.json()["id"])

    def get(self, path: str) -> Any:
        """The JSON answer to a GET."""
        with self.http() as http:
            response = http.get(path)
        assert response.status_code == 200, response.text
        return response.json()

    def status(self, task_id: str) -> Any:
        """How a collection stands, as an admin sees it."""
        with self.http() as http:
            response = http.get(f"/v1/tasks/{task_id}/status", headers=self.admin)
        assert response.status_code == 200, response.text
        return response.json()

    def post(self, path: str, body: Any = None) -> Any:
        """The JSON answer to an admin's POST."""
        with self.http() as http:
            response = http.post(path, json={} if body is None else body, headers=self.admin)
        assert response.is_success, response.text
        return response.json()
