"""The stack of docker-compose.yml as processes on loopback, watched by Prometheus and Alertmanager.

Curators share a PostgreSQL server behind nginx, beside two relays. The rules, the scraping and the
routing are those of deploy/, with each duration divided by ``scale``; the intervals at which
servers look at their database, backups and certificate are their own.
"""

import json
import os
import re
import secrets
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field
from getpass import getuser
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx
import yaml

from privet import CuratorClient
from privet.admin.results import Scope
from privet.protocol.status import MOST_HELD
from scripts.postgres import PostgresServer, postgres_server
from scripts.proxy import free_ports, running_proxy
from scripts.servers import free_port, running_curator, running_relay

DEPLOY = Path(__file__).parents[1] / "deploy"
SECONDS = {"ms": 0.001, "s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 604_800}
DURATION = re.compile(r"\b(\d+)(ms|[smhdw])\b")
AGE = re.compile(r"(?<=[<>] )\d{5,}")
"""Seconds that a rule compares with the time since something."""
SCRAPE_SECONDS = 1.0
"""The shortest interval of scraping and of evaluating rules."""
LEAST = 5
"""Reports that wait for each other at the relay of most incidents."""
START_SECONDS = 60.0


def seconds_of(duration: str) -> float:
    """The seconds of a duration such as 90s or 1h30m; of an empty one none."""
    return sum(int(number) * SECONDS[unit] for number, unit in DURATION.findall(duration))


def scaled(text: str, scale: float) -> str:
    """A text with each duration divided by ``scale``, to the millisecond."""
    return DURATION.sub(lambda found: f"{round(1_000 * seconds_of(found[0]) / scale)}ms", text)


def scaled_rule(rule: Mapping[str, Any], scale: float) -> dict[str, Any]:
    """A rule whose windows, offsets, ages and ``for`` are divided by ``scale``."""
    expression = re.sub(r"\[[^\]]+\]|offset \w+", lambda at: scaled(at[0], scale), rule["expr"])
    if "time()" in expression:
        expression = AGE.sub(lambda age: str(float(age[0]) / scale), expression)
    changed = {"expr": expression}
    if "for" in rule:
        changed["for"] = scaled(rule["for"], scale)
    return {**rule, **changed}


def shipped_rules() -> list[dict[str, Any]]:
    """The rules of deploy/prometheus/alerts.yml."""
    return list(shipped("prometheus/alerts.yml")["groups"][0]["rules"])


def shipped(name: str) -> Any:
    """A file of deploy/, which is YAML."""
    return yaml.safe_load((DEPLOY / name).read_text(encoding="utf-8"))


@dataclass
class Server:
    """A server that can be killed, stopped and started again at the same address."""

    port: int
    begin: Callable[[], AbstractContextManager[Any]]
    process_of: Callable[[Any], subprocess.Popen[bytes]] = lambda running: running.process
    _running: Any = None
    _stack: ExitStack = field(default_factory=ExitStack)

    def start(self) -> None:
        """Start it, unless it runs."""
        if self._running is None:
            self._running = self._stack.enter_context(self.begin())

    def stop(self) -> None:
        """Stop it, if it runs."""
        self._running = None
        self._stack.close()

    def kill(self) -> None:
        """Kill it with all its processes, as the end of a container does."""
        os.killpg(self.process.pid, signal.SIGKILL)
        self.stop()

    @property
    def process(self) -> subprocess.Popen[bytes]:
        return self.process_of(self._running)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"


@dataclass(frozen=True)
class Heard:
    """An alert as a webhook got it."""

    at: float
    """Unix time at which it arrived."""
    receiver: str
    is_firing: bool
    labels: Mapping[str, str]


@dataclass
class Receiver:
    """The webhooks of page, ticket and watchdog, and all alerts that they got."""

    heard: list[Heard] = field(default_factory=list)
    port: int = 0

    @contextmanager
    def serving(self) -> Iterator[None]:
        heard = self.heard

        class Webhook(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                receiver = self.path.strip("/")
                heard.extend(
                    Heard(time.time(), receiver, each["status"] == "firing", each["labels"])
                    for each in body["alerts"]
                )
                self.send_response(200)
                self.end_headers()

            def log_message(self, *_: object) -> None:
                """Nothing."""

        with ThreadingHTTPServer(("127.0.0.1", 0), Webhook) as server:
            self.port = server.server_port
            threading.Thread(target=server.serve_forever, daemon=True).start()
            yield
            server.shutdown()


@dataclass
class Stack:
    """The running stack; ``curators`` are announced to Prometheus, as are ``relays``."""

    folder: Path
    scale: float
    admin_token: str
    database: PostgresServer
    receiver: Receiver
    curators: list[Server]
    relays: dict[str, Server]
    """``busy`` sends what it gets, ``quiet`` holds everything."""
    relay_tokens: dict[str, str]
    proxy: Server
    proxy_url: str
    prometheus: Server
    alertmanager: Server
    is_over: bool = False
    """True once nobody waits for an alert any more."""

    @property
    def backups(self) -> Path:
        return self.folder / "backups"

    @property
    def disk(self) -> Path:
        """The folder whose disk curators watch."""
        return self.folder / "disk"

    @property
    def admin(self) -> CuratorClient:
        """The API of the first curator."""
        return CuratorClient(self.curators[0].url, self.admin_token, timeout=120.0)

    def curator(self, folder: str, port: int, **settings: str) -> Server:
        """A curator that is not started yet, with ``settings`` besides those of the stack."""
        given = {
            "admin_token": self.admin_token,
            "backups": str(self.backups),
            "database": self.database.url,
            "database_disk": str(self.disk),
            "port": str(port),
            "trusted_proxies": "127.0.0.1",
            **settings,
        }
        return Server(port, lambda: running_curator(self.folder / folder, **given))

    def relay(self, name: str, port: int, least: int) -> Server:
        """A relay that is not started yet; it starts with its token in ``relay_tokens``."""

        def begin() -> AbstractContextManager[Any]:
            return running_relay(
                self.folder / name,
                self.curators[0].url,
                self.relay_tokens[name],
                least=least,
                every=1.0,
                port=port,
                metrics_token=self.admin_token,
            )

        return Server(port, begin)

    def start_all(self) -> None:
        """Start all that was stopped, and announce all."""
        for server in (*self.curators, *self.relays.values(), self.proxy):
            server.start()
        self.alertmanager.start()
        self.prometheus.start()
        self.announce()

    def announce(
        self, curators: Sequence[Server] | None = None, relays: Sequence[Server] | None = None
    ) -> None:
        """Give Prometheus the addresses that a name server would; by default all."""
        found = {"curator": curators, "relay": relays}
        known = {"curator": self.curators, "relay": list(self.relays.values())}
        for job, servers in found.items():
            chosen = known[job] if servers is None else servers
            targets = [f"127.0.0.1:{server.port}" for server in chosen]
            _replace(self.folder / f"{job}.json", json.dumps([{"targets": targets}]))


@contextmanager
def watched_stack(folder: Path, *, curators: int = 4, scale: float = 60.0) -> Iterator[Stack]:
    """Start the stack with its files in ``folder``, an empty one; stop it at the end."""
    with ExitStack() as running:
        database = running.enter_context(postgres_server())
        receiver = Receiver()
        running.enter_context(receiver.serving())
        ports = free_ports()
        stack = Stack(
            folder,
            scale,
            secrets.token_urlsafe(24),
            database,
            receiver,
            [],
            {},
            {},
            Server(ports.curators, lambda: _proxy(stack, ports), lambda both: both[1]),
            f"https://127.0.0.1:{ports.curators}",
            _program_server(lambda port: _prometheus(stack, port)),
            _program_server(lambda port: _alertmanager(stack, port)),
        )
        for place in (stack.backups, stack.disk, folder / "proxy"):
            place.mkdir()
        watched = {"certificate_of": f"127.0.0.1:{ports.curators}"}
        for number in range(curators):
            stack.curators.append(stack.curator(f"curator-{number}", free_port(), **watched))
        for name, least in (("busy", LEAST), ("quiet", MOST_HELD)):
            stack.relays[name] = stack.relay(name, free_port(), least)
        _start(stack, running)
        yield stack


def _start(stack: Stack, running: ExitStack) -> None:
    servers = [stack.proxy, *stack.curators, *stack.relays.values()]
    for server in (*servers, stack.alertmanager, stack.prometheus):
        running.callback(server.stop)
    stack.curators[0].start()  # makes the tables
    starting = [threading.Thread(target=each.start) for each in stack.curators[1:]]
    for thread in starting:
        thread.start()
    for name, relay in stack.relays.items():
        stack.relay_tokens[name] = stack.admin.issue_token(name, Scope.RELAY).token
        relay.start()
    for thread in starting:
        thread.join()
    stack.proxy.start()
    stack.announce()
    stack.alertmanager.start()
    stack.prometheus.start()


def _proxy(stack: Stack, ports: Any) -> AbstractContextManager[Any]:
    behind = [server.port for server in stack.curators]
    how = f"user {getuser()};"  # as root, workers would run as a user who cannot open the folder
    return running_proxy(stack.folder / "proxy", behind, stack.relays["busy"].port, how, ports)


def _program_server(start: Callable[[int], AbstractContextManager[Any]]) -> Server:
    port = free_port()
    return Server(port, lambda: start(port), lambda process: process)


@contextmanager
def _prometheus(stack: Stack, port: int) -> Iterator[subprocess.Popen[bytes]]:
    """Prometheus with the configuration of the stack, over targets and a token in files."""
    folder, scale = stack.folder, stack.scale
    rules = shipped("prometheus/alerts.yml")
    for group in rules["groups"]:
        group["rules"] = [scaled_rule(rule, scale) for rule in group["rules"]]
    (folder / "alerts.yml").write_text(yaml.safe_dump(rules))
    token = folder / "token"
    token.write_text(stack.admin_token)
    config = shipped("prometheus/prometheus.yml")
    every = max(SCRAPE_SECONDS, seconds_of(config["global"]["scrape_interval"]) / scale)
    config["global"] = dict.fromkeys(config["global"], f"{round(1_000 * every)}ms")
    (alerting,) = config["alerting"]["alertmanagers"]
    alerting["static_configs"][0]["targets"] = [f"127.0.0.1:{stack.alertmanager.port}"]
    for job in config["scrape_configs"]:
        job.pop("dns_sd_configs", None)
        job.pop("static_configs", None)
        job["authorization"]["credentials_file"] = str(token)
        job["file_sd_configs"] = [{"files": [str(folder / f"{job['job_name']}.json")]}]
    (folder / "prometheus.yml").write_text(yaml.safe_dump(config))
    options = {
        "config.file": folder / "prometheus.yml",
        "storage.tsdb.path": folder / "prometheus",
        "web.listen-address": f"127.0.0.1:{port}",
        "rules.alert.resend-delay": scaled("1m", scale),
        "query.lookback-delta": scaled("5m", scale),
    }
    with _program(folder, "prometheus", options, f"http://127.0.0.1:{port}/-/ready") as process:
        yield process


@contextmanager
def _alertmanager(stack: Stack, port: int) -> Iterator[subprocess.Popen[bytes]]:
    """Alertmanager with the routing of the stack, whose webhooks are the receiver's."""
    text = (DEPLOY / "alertmanager/alertmanager.yml").read_text(encoding="utf-8")
    waits = r"(?<=(?:wait|rval): )\w+"
    text = re.sub(waits, lambda wait: scaled(wait[0], stack.scale), text)
    text = re.sub(r"url_file: /tmp/", f"url: http://127.0.0.1:{stack.receiver.port}/", text)
    (stack.folder / "alertmanager.yml").write_text(text)
    options = {
        "config.file": stack.folder / "alertmanager.yml",
        "storage.path": stack.folder / "alertmanager",
        "web.listen-address": f"127.0.0.1:{port}",
        "cluster.listen-address": "",
    }
    name = "prometheus-alertmanager" if shutil.which("prometheus-alertmanager") else "alertmanager"
    with _program(stack.folder, name, options, f"http://127.0.0.1:{port}/-/ready") as process:
        yield process


@contextmanager
def _program(
    folder: Path, name: str, options: Mapping[str, object], ready: str
) -> Iterator[subprocess.Popen[bytes]]:
    """Start a program with its log in ``folder``, once it is ready; stop it at the end."""
    given = [f"--{option}={value}" for option, value in options.items()]
    path = folder / f"{name}.log"
    with path.open("ab") as log:
        process = subprocess.Popen([name, *given], stdout=log, stderr=log, start_new_session=True)
    try:
        last = time.monotonic() + START_SECONDS
        while not _answers(ready):
            if process.poll() is not None or time.monotonic() > last:
                raise RuntimeError(path.read_text(errors="replace")[-2_000:])
            time.sleep(0.05)
        yield process
    finally:
        process.terminate()
        process.wait()


def _answers(url: str) -> bool:
    try:
        return httpx.get(url, timeout=1.0).is_success
    except httpx.TransportError:
        return False


def _replace(path: Path, text: str) -> None:
    partial = path.with_suffix(".partial")
    partial.write_text(text)
    partial.replace(path)
