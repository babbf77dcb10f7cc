"""A curator as an operator runs it: ``privet serve`` in a process of its own, over SQLite."""

import json
import os
import re
import signal
import ssl
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, Self

import httpx

START_SECONDS = 120
STOP_SECONDS = 60
TLS = ssl.create_default_context()
"""Made once, since making one takes longer than all the rest of a short call."""


class RunningCurator:
    """``privet serve`` on a free port of this machine; started again it goes on where it was."""

    def __init__(self, folder: Path, *options: str) -> None:
        self.database = f"sqlite:///{folder / 'privet.db'}"
        self.url = ""
        self.token: str | None = None
        self._options = options
        self._log = folder / "serve.log"
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self) -> None:
        """Start it, and wait until it answers."""
        environment = {k: v for k, v in os.environ.items() if not k.startswith("PRIVET_")}
        command = [sys.executable, "-m", "privet.curator", "serve", "--port", "0"]
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                [*command, "--database", self.database, *self._options],
                stdout=log,
                stderr=log,
                env=environment,
                cwd=Path(__file__).parents[2],
            )
        self._read_first_words()
        self._wait_until_ready()

    def stop(self, how: signal.Signals = signal.SIGTERM) -> int:
        """Stop it, by default as an operator would; its exit code."""
        if self._process is None:
            return 0
        self._process.send_signal(how)
        try:
            return self._process.wait(STOP_SECONDS)
        finally:
            self._process.kill()
            self._process = None

    def restart(self, how: signal.Signals = signal.SIGTERM) -> None:
        """Stop and start it."""
        self.stop(how)
        self.start()

    def log(self) -> str:
        """What this run has printed so far."""
        return self._log.read_text()

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

    def post(self, path: str, body: Any = None) -> Any:
        """The JSON answer to an admin's POST."""
        with self.http() as http:
            response = http.post(path, json={} if body is None else body, headers=self.admin)
        assert response.is_success, response.text
        return response.json()

    def _read_first_words(self) -> None:
        deadline = time.monotonic() + START_SECONDS
        while not (found := re.search(r"Privet curator at (http://\S+?),", self.log())):
            assert self._process is not None
            assert self._process.poll() is None, self.log()
            assert time.monotonic() < deadline, self.log()
            time.sleep(0.05)
        self.url = found[1]
        if token := re.search(r"Admin token.*\n(\S+)\n", self.log()):
            self.token = token[1]

    def _wait_until_ready(self) -> None:
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline:
            try:
                if httpx.get(f"{self.url}/readyz", timeout=5, verify=TLS).is_success:
                    return
            except httpx.TransportError:
                time.sleep(0.05)
        raise AssertionError(self.log())
