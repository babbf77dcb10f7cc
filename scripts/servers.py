"""Start a curator or a relay as a process on loopback, for demonstrations and measurements.

They ignore the terminal's Ctrl-C, as do processes that start while ``interrupts_held``; the caller
stops them.
"""

import os
import re
import secrets
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from privet import CuratorClient

SERVE = ("-m", "privet.curator", "serve")
START_SECONDS = 120.0
TOKEN_LINE = r'(?:Admin token.*\n|"admin_token": ")([\w-]+)'
ADDRESS_LINE = r'(?:Privet curator at |Relay for \S+ at |"url": ")(http://[\w.:]+)'
"""The address of a server in its log, for people and as JSON."""
STOP_SECONDS = 60.0
LOOK_SECONDS = 0.1


@dataclass(frozen=True)
class RunningCurator:
    """A started curator: its address, its admin token, if it is known, and the log of this run."""

    url: str
    token: str
    process: subprocess.Popen[bytes]
    log: Path


@contextmanager
def running_curator(
    folder: Path, *, command: Sequence[str] = SERVE, **settings: str | None
) -> Iterator[RunningCurator]:
    """Start ``privet serve`` with its database and log in ``folder``; stop it at the end.

    ``settings`` are those of ``curator.settings``, by name; None leaves one to its default, and no
    other comes from the environment. With ``admin_token=None`` the curator makes a token, which is
    known after its first start. Raises ``RuntimeError`` with the log's last lines if the curator
    does not come up.
    """
    folder.mkdir(parents=True, exist_ok=True)
    chosen = {
        "database": f"sqlite:///{(folder / 'privet.db').absolute()}",
        "port": "0",
        "admin_token": secrets.token_urlsafe(24),
        **settings,
    }
    environment = {k: v for k, v in os.environ.items() if not k.startswith("PRIVET_")}
    environment |= {f"PRIVET_{k.upper()}": v for k, v in chosen.items() if v is not None}
    log = folder / "curator.log"
    with _running(command, environment, log) as (url, process):
        found = re.search(TOKEN_LINE, log.read_text())
        token = chosen["admin_token"] or (found[1] if found else "")
        yield RunningCurator(url, token, process, log)


@dataclass(frozen=True)
class RunningRelay:
    """The address of a started relay."""

    url: str
    process: subprocess.Popen[bytes]


@contextmanager
def running_relay(
    folder: Path,
    curator: str,
    token: str,
    *,
    least: int,
    every: float,
    port: int = 0,
    metrics_token: str | None = None,
) -> Iterator[RunningRelay]:
    """Start ``privet-relay serve`` with its spool and log in ``folder``; stop it at the end.

    The curator takes batches with ``token``; ``metrics_token`` opens ``/metrics``. Raises
    ``RuntimeError`` with the log's last lines if the relay does not come up.
    """
    folder.mkdir(parents=True, exist_ok=True)
    options = {"curator": curator, "spool": folder / "relay.db", "port": port}
    options |= {"least": least, "every": every}
    command = ["-m", "privet.relay", "serve", *(f"--{k}={v}" for k, v in options.items())]
    tokens = {"PRIVET_RELAY_TOKEN": token}
    if metrics_token is not None:
        tokens["PRIVET_RELAY_METRICS_TOKEN"] = metrics_token
    with _running(command, os.environ | tokens, folder / "relay.log") as (url, process):
        yield RunningRelay(url, process)


def wait_for_reports(admin: CuratorClient, task: str, least: int) -> None:
    """Wait until ``task``'s curator has counted ``least`` reports."""
    while admin.status(task)["reports"] < least:
        time.sleep(LOOK_SECONDS)


@contextmanager
def _running(
    command: Sequence[str], environment: Mapping[str, str], log: Path
) -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
    """A server, as Python's arguments, and the address at which it is ready."""
    with log.open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, *command],
            env=environment,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
    try:
        yield _wait_until_ready(process, log), process
    finally:
        process.terminate()
        try:
            process.wait(STOP_SECONDS)
        finally:
            process.kill()


def _wait_until_ready(process: subprocess.Popen[bytes], log: Path) -> str:
    """The address in a server's first words, once it is ready."""
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        found = re.search(ADDRESS_LINE, log.read_text(errors="replace"))
        try:
            if found and httpx.get(f"{found[1]}/readyz", timeout=5.0, verify=False).is_success:
                return found[1]
        except httpx.TransportError:
            pass  # the port is bound before it is shown, and served a little later
        time.sleep(0.05)
    tail = "\n".join(log.read_text(errors="replace").splitlines()[-15:])
    msg = f"the server did not come up; its log {log} ends with:\n{tail}"
    raise RuntimeError(msg)


def free_port() -> int:
    """A port of loopback that nobody listens on."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


def wait_for_port(port: int, process: subprocess.Popen[Any]) -> None:
    """Wait until a process listens at a port of loopback."""
    last = time.monotonic() + START_SECONDS
    while process.poll() is None and time.monotonic() < last:
        try:
            socket.create_connection(("127.0.0.1", port)).close()
        except OSError:
            time.sleep(0.02)
        else:
            return
    msg = f"nothing listens at port {port}"
    raise RuntimeError(msg)


@contextmanager
def interrupts_held() -> Iterator[None]:
    """Keep SIGINT from processes that start within; this one gets it at the end, if one came."""
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
