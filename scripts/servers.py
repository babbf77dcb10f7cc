"""A curator and a relay of one's own, as processes on loopback, to demonstrate and to measure.

They do not hear the terminal's Ctrl-C: whoever started them stops them when it is done.
"""

import os
import secrets
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx

START_SECONDS = 60.0


@dataclass(frozen=True)
class RunningCurator:
    """Where a started curator answers, and the token that rules it."""

    url: str
    token: str
    process: int
    log: Path


@contextmanager
def running_curator(folder: Path, **settings: str) -> Iterator[RunningCurator]:
    """Start ``privet serve`` with its database and log in ``folder``; stop it at the end.

    ``settings`` are those of ``curator.settings``, by name. Raises ``RuntimeError`` with the log's
    last lines if the curator does not come up.
    """
    folder.mkdir(parents=True, exist_ok=True)
    token = settings.get("admin_token") or secrets.token_urlsafe(24)
    port = settings.get("port") or str(_free_port())
    chosen = {
        "database": f"sqlite:///{(folder / 'privet.db').absolute()}",
        **settings,
        "port": port,
        "admin_token": token,
    }
    environment = os.environ | {f"PRIVET_{name.upper()}": value for name, value in chosen.items()}
    log = folder / "curator.log"
    with log.open("ab") as output:
        command = [sys.executable, "-m", "privet.curator", "serve"]
        process = subprocess.Popen(
            command, env=environment, stdout=output, stderr=output, start_new_session=True
        )
    try:
        url = f"http://127.0.0.1:{port}"
        _wait_until_ready(url, process, log)
        yield RunningCurator(url, token, process.pid, log)
    finally:
        process.terminate()
        process.wait(timeout=30)


@dataclass(frozen=True)
class RunningRelay:
    """Where a started relay answers."""

    url: str
    process: int


@contextmanager
def running_relay(
    folder: Path, curator: str, token: str, *, least: int, every: float
) -> Iterator[RunningRelay]:
    """Start ``privet-relay serve`` with its spool in ``folder``; stop it at the end.

    ``token`` is one that the curator takes batches with.

    Raises ``RuntimeError`` if it does not come up.
    """
    folder.mkdir(parents=True, exist_ok=True)
    options = {"curator": curator, "spool": folder / "relay.db", "port": 0}
    options |= {"least": least, "every": every}
    command = [sys.executable, "-m", "privet.relay", "serve"]
    command += [f"--{name}={value}" for name, value in options.items()]
    environment = os.environ | {"PRIVET_RELAY_TOKEN": token}
    process = subprocess.Popen(
        command, env=environment, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    try:
        assert process.stderr is not None
        first = process.stderr.readline()
        if " at http" not in first:
            msg = f"the relay did not come up; it said: {first}"
            raise RuntimeError(msg)
        yield RunningRelay(first.rsplit(" ", 1)[1].strip(), process.pid)
    finally:
        process.terminate()
        process.communicate(timeout=60)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _wait_until_ready(url: str, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        try:
            if httpx.get(f"{url}/readyz", timeout=1.0).status_code == httpx.codes.OK:
                return
        except httpx.TransportError:
            pass  # not listening yet
        time.sleep(0.05)
    tail = "\n".join(log.read_text(errors="replace").splitlines()[-15:])
    msg = f"the curator did not come up; its log {log} ends with:\n{tail}"
    raise RuntimeError(msg)
