"""Make every incident that an alert is for, and measure the seconds until somebody is called.

    python -m scripts.incidents --write
    python -m scripts.incidents CuratorDown ProxyDown

Each is made on `watched_stack`, whose durations are divided by ``--scale``; a webhook notes when
the alert arrives. Needs Debian's nginx-light with libnginx-mod-stream, prometheus and
prometheus-alertmanager; two incidents need the right to mount and to make control groups.
"""

import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from datetime import timedelta
from itertools import count
from math import inf
from pathlib import Path
from typing import Annotated, Any

import httpx
import numpy as np
import psycopg
import typer

from privet.admin.results import Scope
from privet.http_server.memory import FILES as MEMORY_FILES
from privet.http_server.metrics import ID_DIGITS
from privet.protocol.batch import Batch
from privet.protocol.calls import (
    BATCH_MEDIA_TYPE,
    REPORT_MEDIA_TYPE,
    TASK_MEDIA_TYPE,
    TASKS,
)
from privet.protocol.errors import PrivetError
from privet.protocol.report import Report
from privet.protocol.task import Task
from scripts.pages import fill, markdown, measured_on
from scripts.proxy import certify
from scripts.servers import free_port
from scripts.watched_stack import (
    LEAST,
    Heard,
    Server,
    Stack,
    seconds_of,
    shipped,
    shipped_rules,
    watched_stack,
)

PAGE = Path("docs/alerts.md")
TABLE = "incidents"
HEAD = ("alert", "incident", "shipped wait", "in all")
SCALE = 60.0
PATIENCE = 200.0
"""Seconds that an alert may take beyond what its rule says."""
ROUTE = shipped("alertmanager/alertmanager.yml")["route"]
GROUP_WAIT = seconds_of(ROUTE["group_wait"])
WATCHDOG_INTERVAL = seconds_of(ROUTE["routes"][0]["repeat_interval"])
LOOKS = sum(map(seconds_of, shipped("prometheus/prometheus.yml")["global"].values()))
"""Seconds between two looks of Prometheus at servers, and between two at its rules, together."""
LOOK_SECONDS = 0.1
PUBLIC = "x,y\n" + "\n".join(f"{x},{x % 2}" for x in range(400))


@dataclass
class Watch:
    """An alert that an incident waits for, of certain labels."""

    stack: Stack
    alert: str
    patience: float
    labels: Mapping[str, str] = field(default_factory=dict)
    begun: float = 0.0
    seconds: float = 0.0
    """From the incident until somebody was called."""

    def begin(self, task: Task | None = None) -> None:
        """The incident happens now, to ``task``; an earlier one of its alert is over first."""
        if task is not None:
            self.labels = {"task": task.id[:ID_DIGITS]}
        last = time.time() + PATIENCE
        while (self._firing() or self._pending()) and time.time() < last:
            time.sleep(LOOK_SECONDS)
        self.begun = time.time()

    @property
    def is_silent(self) -> bool:
        """True until somebody was called. Raises ``RuntimeError`` when that takes too long."""
        for heard in self._heard():
            if heard.at >= self.begun and heard.is_firing:
                self.seconds = heard.at - self.begun
                return False
        seconds = time.time() - self.begun
        if seconds > self.patience or self.stack.is_over:
            msg = f"{self.alert} did not sound within {seconds:.0f} s"
            raise RuntimeError(msg)
        return True

    def wait(self) -> None:
        while self.is_silent:
            time.sleep(LOOK_SECONDS)

    def wait_for_silence(self, interval: float) -> None:
        """Wait until nothing has come for two intervals."""
        while time.time() < (last := max(each.at for each in self._heard())) + 2 * interval:
            time.sleep(LOOK_SECONDS)
        self.seconds = last + 2 * interval - self.begun

    def _heard(self) -> list[Heard]:
        wanted = {"alertname": self.alert, **self.labels}.items()
        return [each for each in self.stack.receiver.heard if wanted <= each.labels.items()]

    def _firing(self) -> bool:
        latest = {tuple(sorted(each.labels.items())): each.is_firing for each in self._heard()}
        return any(latest.values())

    def _pending(self) -> bool:
        found = httpx.get(f"{self.stack.prometheus.url}/api/v1/alerts").raise_for_status().json()
        wanted = {"alertname": self.alert, **self.labels}.items()
        return any(wanted <= each["labels"].items() for each in found["data"]["alerts"])


Make = Callable[[Stack, Watch], None]
"""Brings an incident about, and waits until its alert sounds."""


@dataclass(frozen=True)
class Incident:
    """One way in which an alert comes about."""

    alert: str
    text: str
    """The words of the table."""
    age: str
    """The shipped duration that has to pass besides the rule's ``for``."""
    make: Make

    @property
    def waits(self) -> float:
        """Seconds that the shipped rule waits."""
        (rule,) = (rule for rule in shipped_rules() if rule["alert"] == self.alert)
        return seconds_of(rule.get("for", "")) + seconds_of(self.age)


INCIDENTS: list[Incident] = []


def incident(alert: str, text: str, age: str = "") -> Callable[[Make], Make]:
    """Declare an incident."""

    def declare(make: Make) -> Make:
        INCIDENTS.append(Incident(alert, text, age, make))
        return make

    return declare


# those that take long, which are made while the others are


@incident("TaskSilent", "a task counts no more", age="2h")
def task_falls_silent(stack: Stack, watch: Watch) -> None:
    task = published(stack)
    post(stack.curators[0].url, task, 20)
    watch.begin(task)
    watch.wait()


@incident("TaskNeverCounted", "nobody gets a task's link", age="1d")
def task_never_counts(stack: Stack, watch: Watch) -> None:
    watch.begin(published(stack))
    watch.wait()


@incident("RelayHoldsMuch", "three answer through a relay")
def relay_holds_much(stack: Stack, watch: Watch) -> None:
    task = published(stack)
    watch.begin(task)
    post(stack.relays["quiet"].url, task, 3)
    watch.wait()


@incident(
    "RelayHoldsForADay",
    "three answer through a relay",
    age="1d",
)
def relay_holds_for_a_day(stack: Stack, watch: Watch) -> None:
    task = published(stack)
    watch.begin(task)
    post(stack.relays["quiet"].url, task, 3)
    watch.wait()


LONG = len(INCIDENTS)

# the others, one after the other


@incident("CuratorGone", "two of four curators vanish")
def curators_are_gone(stack: Stack, watch: Watch) -> None:
    half = len(stack.curators) // 2
    time.sleep(10.0)  # until the rule has looked at all of them
    watch.begin()
    gone = stack.curators[half:]
    for server in gone:
        server.kill()
    del stack.curators[half:]
    stack.announce()
    watch.wait()


@incident("CuratorDown", "a curator is killed")
def curator_is_killed(stack: Stack, watch: Watch) -> None:
    server = stack.curators[-1]
    watch.begin()
    server.kill()
    watch.wait()


@incident("RelayDown", "a relay is killed")
def relay_is_killed(stack: Stack, watch: Watch) -> None:
    relay = stack.relays["busy"]
    watch.begin()
    relay.kill()
    watch.wait()


@incident("RelayDown", "a relay vanishes")
def relay_is_gone(stack: Stack, watch: Watch) -> None:
    relay = stack.relays["busy"]
    watch.begin()
    relay.kill()
    stack.announce(relays=[stack.relays["quiet"]])
    watch.wait()


@incident("Restarts", "a relay is killed and started three times")
def relay_restarts(stack: Stack, watch: Watch) -> None:
    relay = stack.relays["busy"]
    watch.begin()
    for _ in range(3):
        relay.kill()
        relay.start()
        time.sleep(2.5)  # a look of Prometheus
    watch.wait()


@incident("WrongTokens", "2000 wrong tokens from one address")
def tokens_are_guessed(stack: Stack, watch: Watch) -> None:
    url = f"{stack.proxy_url}/v1/tokens"
    watch.begin()
    with httpx.Client(verify=False, timeout=60) as client, ThreadPoolExecutor(8) as pool:
        guesses = [{"Authorization": f"Bearer guess-{number}"} for number in range(2_000)]
        answers = list(pool.map(lambda guess: client.get(url, headers=guess), guesses))
    assert {answer.status_code for answer in answers} <= {401, 429}
    watch.wait()


@incident("DatabaseFails", "PostgreSQL is killed")
def database_is_killed(stack: Stack, watch: Watch) -> None:
    watch.begin()
    stack.database.stop()
    try:
        watch.wait()
    finally:
        stack.database.start()


@incident("ServerErrors", "forty ask a relay without curators")
def curators_are_killed(stack: Stack, watch: Watch) -> None:
    watch.begin()
    for server in stack.curators:
        server.kill()
    url = f"{stack.relays['busy'].url}{TASKS}"

    def ask(number: int) -> None:
        transport = httpx.HTTPTransport(local_address=f"127.0.0.{2 + number}")
        with httpx.Client(transport=transport, timeout=60) as client:
            while watch.is_silent:
                client.get(f"{url}/{os.urandom(32).hex()}")

    with ThreadPoolExecutor(40) as pool:
        list(pool.map(ask, range(40)))


@incident("RefusedForLoad", "reports are locked while batches come")
def disk_is_overtaken(stack: Stack, watch: Watch) -> None:
    task = published(stack)
    url = f"{stack.curators[0].url}{TASKS}/{task.id}/reports/batch"
    headers = {"Authorization": f"Bearer {stack.relay_tokens['busy']}"}
    headers["Content-Type"] = BATCH_MEDIA_TYPE

    def send() -> None:
        with httpx.Client(timeout=120) as client:
            while not over.is_set():
                client.post(url, content=batch(task, 1), headers=headers)
                over.wait(0.2)

    over = threading.Event()
    with ThreadPoolExecutor(80) as pool:
        watch.begin()
        with locked(stack):
            for _ in range(80):
                pool.submit(send)
            try:
                watch.wait()
            finally:
                over.set()


@incident("SlowCommits", "reports are locked for 1.5 s, repeatedly")
def commits_are_slow(stack: Stack, watch: Watch) -> None:
    task = published(stack)
    watch.begin()
    with ThreadPoolExecutor(1) as pool:
        while watch.is_silent:
            with locked(stack):
                sent = pool.submit(post, stack.curators[0].url, task, 1)
                time.sleep(1.5)
            sent.result()


@incident("ReportsRefused", "every second report is malformed")
def reports_are_refused(stack: Stack, watch: Watch) -> None:
    task = published(stack)
    url, headers = f"{TASKS}/{task.id}/reports", {"Content-Type": REPORT_MEDIA_TYPE}
    with httpx.Client(base_url=stack.curators[0].url) as client:
        post(str(client.base_url), task, 1)
        time.sleep(2.0)  # a look of Prometheus
        watch.begin(task)
        while watch.is_silent:
            for body in (b"no report", report(task)):
                client.post(url, content=body, headers=headers)


@incident("RelayCutOff", "a relay's token is revoked")
def relay_is_cut_off(stack: Stack, watch: Watch) -> None:
    task = published(stack)
    watch.begin()
    with cut_off(stack) as relay:
        while watch.is_silent:
            post(relay.url, task, LEAST)
            time.sleep(0.5)


@incident("RelayHolds", "10001 report to a relay cut off")
def relay_holds(stack: Stack, watch: Watch) -> None:
    task = published(stack)
    with cut_off(stack) as relay:
        watch.begin(task)
        post(relay.url, task, 10_001)
        watch.wait()


@incident("ReportsLost", "a relay's spool with reports is deleted")
def spool_is_lost(stack: Stack, watch: Watch) -> None:
    task, relay = published(stack, smallest_batch=10), stack.relays["busy"]
    post(relay.url, task, 3)
    stack.admin.close(task.id)
    while not held(stack, task):
        time.sleep(LOOK_SECONDS)
    relay.kill()
    watch.begin(task)
    for file in (stack.folder / "busy").glob("relay.db*"):
        file.unlink()
    relay.start()
    watch.wait()


@incident("FitsFail", "a fit lacks memory")
def fit_fails(stack: Stack, watch: Watch) -> None:
    task = published(stack)
    post(stack.curators[0].url, task, 200)
    poor = stack.curator("poor", stack.curators[-1].port, worker_memory="1000000")
    stack.curators[-1].stop()
    poor.start()
    time.sleep(3.0)  # looks of Prometheus
    watch.begin()
    answer = httpx.post(
        f"{poor.url}{TASKS}/{task.id}/models",
        json={},
        headers={"Authorization": f"Bearer {stack.admin_token}"},
        timeout=120,
    )
    assert answer.is_error, answer.text
    try:
        watch.wait()
    finally:
        poor.stop()


@incident("JobsWait", "sixteen ask for fits, repeatedly")
def fits_wait(stack: Stack, watch: Watch) -> None:
    task = published(stack)
    post(stack.curators[0].url, task, 200)

    def fit() -> None:
        while not over.is_set():
            stack.admin.fit(task.id)

    over = threading.Event()
    with ThreadPoolExecutor(16) as pool:
        watch.begin()
        for _ in range(16):
            pool.submit(fit)
        try:
            watch.wait()
        finally:
            over.set()


@incident("FilesRunOut", "3600 connections to a relay")
def files_run_out(stack: Stack, watch: Watch) -> None:
    to = ("127.0.0.1", stack.relays["busy"].port)
    watch.begin()
    while watch.is_silent:
        with ExitStack() as opened, suppress(OSError):
            for number in range(3_600):
                opened.enter_context(
                    socket.create_connection(to, source_address=(f"127.0.0.{2 + number % 4}", 0))
                )
            last = time.time() + 8.0  # who says nothing for ten is cut off
            while watch.is_silent and time.time() < last:
                time.sleep(LOOK_SECONDS)


@incident("DiskFillsUp", "the database's disk is filled")
def disk_fills_up(stack: Stack, watch: Watch) -> None:
    run("mount", "-t", "tmpfs", "-o", "size=16m", "tmpfs", str(stack.disk))
    try:
        watch.begin()
        (stack.disk / "filling").write_bytes(bytes(15 << 20))
        watch.wait()
    finally:
        run("umount", str(stack.disk))


@incident("MemoryRunsOut", "a relay uses 95 % of its memory")
def memory_runs_out(stack: Stack, watch: Watch) -> None:
    version = 1 if Path("/sys/fs/cgroup/memory").is_dir() else 2
    folder, limit, used, _ = MEMORY_FILES[version]
    top, relay = Path("/", folder), stack.relays["busy"]
    group = top / f"privet-incident-{os.getpid()}"
    group.mkdir()
    relay.stop()
    try:
        with inside(group, own_group(top, version)):
            relay.start()
        watch.begin()
        taken = int((group / used).read_text())
        (group / limit).write_text(str(taken + taken // 20))
        watch.wait()
    finally:
        relay.stop()
        group.rmdir()


@incident("ReportsImpossible", "3000 copies of one report")
def reports_are_copied(stack: Stack, watch: Watch) -> None:
    task = published(stack)
    watch.begin()
    httpx.post(
        f"{stack.curators[0].url}{TASKS}/{task.id}/reports/batch",
        content=batch(task, 3_000),
        headers={
            "Authorization": f"Bearer {stack.relay_tokens['busy']}",
            "Content-Type": BATCH_MEDIA_TYPE,
        },
    ).raise_for_status()
    watch.wait()


@incident("ReportsMissing", "an SQLite file is put back")
def database_is_put_back(stack: Stack, watch: Watch) -> None:
    file = stack.folder / "alone" / "privet.db"
    alone = stack.curator("alone", free_port(), database=f"sqlite:///{file}")
    alone.start()
    task = published(stack, alone)
    alone.stop()
    kept = file.with_suffix(".kept")
    shutil.copy(file, kept)
    alone.start()
    stack.announce([*stack.curators, alone])
    post(alone.url, task, 30)
    alone.stop()
    watch.begin()
    shutil.copy(kept, file)
    alone.start()
    try:
        watch.wait()
    finally:
        alone.stop()


@incident("BackupOld", "all backups are deleted")
def backups_are_deleted(stack: Stack, watch: Watch) -> None:
    command = (sys.executable, "-m", "privet.curator", "backup", str(stack.backups))
    run(*command, "--database", stack.database.url)
    while metric(stack, "privet_backup_timestamp_seconds") == 0:
        time.sleep(1.0)
    watch.begin()
    for each in stack.backups.iterdir():
        each.unlink()
    watch.wait()


@incident("CertificateEnds", "a certificate that ends within an hour")
def certificate_ends(stack: Stack, watch: Watch) -> None:
    watch.begin()
    replace_certificate(stack, timedelta(hours=1))
    watch.wait()
    replace_certificate(stack, timedelta(days=30))


@incident("ProxyDown", "nginx is killed")
def proxy_is_killed(stack: Stack, watch: Watch) -> None:
    watch.begin()
    stack.proxy.kill()
    watch.wait()


@incident("Watchdog", "Prometheus is killed")
def prometheus_is_killed(stack: Stack, watch: Watch) -> None:
    silenced(stack, watch, stack.prometheus)


@incident("Watchdog", "Alertmanager is killed")
def alertmanager_is_killed(stack: Stack, watch: Watch) -> None:
    silenced(stack, watch, stack.alertmanager)


# what incidents are made of


def published(stack: Stack, curator: Server | None = None, **settings: Any) -> Task:
    """A new open task."""
    admin = stack.admin
    if curator is not None:
        admin.url = curator.url
    made = admin.create(
        PUBLIC.encode(),
        name=f"Incident {next(NUMBERS)}",
        label="y",
        epsilon=1.0,
        features={"x": {"low": 0, "high": 400}},
        classes=["0", "1"],
        label_part=0.0,  # one question, so that all reports are alike
        **settings,
    )
    url = admin.task_url(made)
    answer = httpx.get(url, headers={"Accept": TASK_MEDIA_TYPE}, timeout=60).raise_for_status()
    return Task.parse(answer.content, url.rsplit("/", 1)[1])


NUMBERS = count(1)


def report(task: Task) -> bytes:
    """An honest report of a task with one question."""
    (mechanism,) = task.mechanisms
    payload = mechanism.privatize(0, os.urandom)
    return Report(task=bytes.fromhex(task.id), id=os.urandom(16), answers=((0, payload),)).pack()


def batch(task: Task, reports: int) -> bytes:
    """A batch of reports with one payload."""
    payload = np.frombuffer(task.mechanisms[0].privatize(0, os.urandom), dtype=np.uint8)
    ids = np.frombuffer(os.urandom(16 * reports), dtype=np.uint8).reshape(reports, 16)
    return Batch((0,), ids, np.tile(payload, (reports, 1))).pack(task.version)


def post(server: str, task: Task, reports: int) -> None:
    """Send reports to a server; each is taken."""
    url, headers = f"{server}{TASKS}/{task.id}/reports", {"Content-Type": REPORT_MEDIA_TYPE}
    with httpx.Client(verify=False, timeout=60) as client, ThreadPoolExecutor(16) as pool:
        bodies = (report(task) for _ in range(reports))
        for answer in pool.map(
            lambda body: client.post(url, content=body, headers=headers), bodies
        ):
            answer.raise_for_status()


@contextmanager
def locked(stack: Stack) -> Iterator[None]:
    """Nobody else adds reports within."""
    with psycopg.connect(stack.database.url) as connection:
        connection.execute("LOCK TABLE report_ids IN SHARE MODE")
        yield
        connection.rollback()


@contextmanager
def cut_off(stack: Stack) -> Iterator[Server]:
    """The curator does not know the token of a relay within."""
    relay = stack.relays["busy"]
    stack.admin.revoke_token("busy")
    try:
        yield relay
    finally:
        stack.relay_tokens["busy"] = stack.admin.issue_token("busy", Scope.RELAY).token
        relay.stop()
        relay.start()


@contextmanager
def inside(group: Path, own: Path) -> Iterator[None]:
    """Processes that start within belong to a control group, this one afterwards to its own."""
    processes = "cgroup.procs"
    (group / processes).write_text(str(os.getpid()))
    try:
        yield
    finally:
        (own / processes).write_text(str(os.getpid()))


def own_group(top: Path, version: int) -> Path:
    """The control group that limits this process's memory, below ``top``."""
    for line in Path("/proc/self/cgroup").read_text(encoding="ascii").splitlines():
        _, kinds, path = line.split(":", 2)
        if "memory" in kinds.split(",") if version == 1 else not kinds:
            own = top / path.lstrip("/")
            return own if own.is_dir() else top
    return top


def held(stack: Stack, task: Task) -> int:
    """Reports of a task that the curator knows to be at relays."""
    return sum(int(relay["held"]) for relay in stack.admin.status(task.id)["relays"])


def metric(stack: Stack, name: str) -> float:
    """The largest value of a metric, as Prometheus has it."""
    answer = httpx.get(f"{stack.prometheus.url}/api/v1/query", params={"query": f"max({name})"})
    found = answer.raise_for_status().json()["data"]["result"]
    return float(found[0]["value"][1]) if found else 0.0


def replace_certificate(stack: Stack, lasts: timedelta) -> None:
    certify(stack.folder / "proxy", lasts)
    stack.proxy.process.send_signal(1)  # SIGHUP


def silenced(stack: Stack, watch: Watch, server: Server) -> None:
    """Kill a server without which the watchdog is not heard; then start it again."""
    watch.begun = time.time()
    watch.wait()
    watch.begun = time.time()
    server.kill()
    watch.wait_for_silence(WATCHDOG_INTERVAL / stack.scale)


def run(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        msg = f"{' '.join(command)}: {done.stderr[-1_000:]}"
        raise RuntimeError(msg)


# the run and its table


def make(stack: Stack, chosen: list[Incident]) -> Iterator[tuple[Incident, float]]:
    """Make incidents; each with the seconds until its alert sounded, as they come.

    Those that take long are made in threads while the others are, one after the other. Infinite
    are the seconds of one that failed, whose traceback is printed.
    """

    def seconds(each: Incident) -> float:
        watch = Watch(stack, each.alert, PATIENCE + each.waits / stack.scale)
        try:
            each.make(stack, watch)
        except (AssertionError, RuntimeError, OSError, httpx.HTTPError, PrivetError):
            traceback.print_exc()
            return inf
        return watch.seconds

    long = [each for each in chosen if each in INCIDENTS[:LONG]]
    with ThreadPoolExecutor(LONG) as pool:
        waiting = {each: pool.submit(seconds, each) for each in long}
        try:
            for each in chosen:
                if each not in waiting:
                    yield each, seconds(each)
                    stack.start_all()
            for each, done in waiting.items():
                yield each, done.result()
        finally:
            stack.is_over = True


def rows(measured: dict[Incident, float], scale: float) -> Iterator[list[str]]:
    """A row per incident, in the order of the rules."""
    order = [rule["alert"] for rule in shipped_rules()]
    for each in sorted(measured, key=lambda each: order.index(each.alert)):
        seconds = measured[each]
        is_silence = each.alert == "Watchdog"
        more = 2 * WATCHDOG_INTERVAL if is_silence else each.waits + GROUP_WAIT + LOOKS
        whole = seconds + more * (1 - 1 / scale)
        name = f"[{each.alert}](#{each.alert.lower()})"
        yield [name, each.text, f"{seconds:.0f}", as_time(each.waits), as_time(whole)]


def as_time(seconds: float) -> str:
    """A duration as hours, minutes and seconds."""
    minutes, left = divmod(round(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02}:{left:02}"


def main(
    names: Annotated[list[str] | None, typer.Argument(help="Alerts; all by default.")] = None,
    *,
    scale: Annotated[float, typer.Option(min=1, help="Divisor of all durations.")] = SCALE,
    write: Annotated[bool, typer.Option("--write", help=f"Put the table into {PAGE}.")] = False,
) -> None:
    """Make the incidents, and print how long each took to be heard."""
    chosen = [each for each in INCIDENTS if not names or each.alert in names]
    measured: dict[Incident, float] = {}
    with (
        tempfile.TemporaryDirectory(prefix="privet-incidents-") as folder,
        watched_stack(Path(folder), scale=scale) as stack,
    ):
        for each, seconds in make(stack, chosen):
            print(f"{each.alert:<20}{seconds:6.1f} s  {each.text}", flush=True)
            measured[each] = seconds
    if inf in measured.values():
        raise typer.Exit(1)
    table = markdown((*HEAD[:2], f"s at 1/{scale:.0f}", *HEAD[2:]), rows(measured, scale))
    print(table)
    if write:
        fill(PAGE, {TABLE: f"{table}\n{measured_on()}.\n"})


if __name__ == "__main__":
    typer.run(main)
