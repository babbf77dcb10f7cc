"""Fits and new tasks in processes of their own: they end with their caller, and delay nobody."""

import asyncio
import multiprocessing
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path

import httpx
import pytest

from privet.curator.datastore import open_store
from privet.curator.workers import NICENESS, Cancelled, Workers
from privet.protocol.calls import REPORT_MEDIA_TYPE
from privet.protocol.errors import PrivetError, TooLarge
from scripts.servers import running_curator
from tests.curator import endless, samples
from tests.curator.datastore.made import open_task, report, task
from tests.keeping import keeps

SECRET = "token-for-tests-2Dq8cPZr5mTgVf7bNxWj"
ADMIN = {"Authorization": f"Bearer {SECRET}"}


@pytest.fixture(scope="module")
def workers() -> Iterator[Workers]:
    """A process, where most tests of the curator compute in threads."""
    made = Workers(1, 16)
    yield made
    made.close()


@dataclass(frozen=True)
class Served:
    """A curator with one task that has one report, and estimators of its own."""

    url: str
    process: subprocess.Popen[bytes]
    folder: Path

    def send(self, count: int) -> list[int]:
        """Send reports; the status of each answer."""
        headers = {"content-type": REPORT_MEDIA_TYPE}
        bodies = [report(MADE).pack() for _ in range(count)]
        with httpx.Client(base_url=self.url, timeout=30, headers=headers) as http:
            address = f"/v1/tasks/{MADE.id}/reports"
            return [http.post(address, content=body).status_code for body in bodies]

    def fit(self, estimator: str) -> httpx.Response:
        body = {"estimator": estimator}
        return httpx.post(f"{self.url}{MODELS}", json=body, headers=ADMIN, timeout=60)

    def jobs(self) -> int:
        """Fits under way or waiting, by its metrics."""
        text = httpx.get(f"{self.url}/metrics", headers=ADMIN, timeout=60).text
        return int(float(re.search(r"^privet_jobs (.+)$", text, re.M)[1]))  # type: ignore[index]

    def start_endless_fit(self, note: str = "note") -> tuple[socket.socket, list[int]]:
        """The connection of a fit that never ends, and the processes it runs in."""
        path = self.folder / note
        body = f'{{"estimator": "never_ends", "parameters": {{"note": "{path}"}}}}'
        address = httpx.URL(self.url)
        connection = socket.create_connection((address.host, address.port or 0), timeout=60)
        connection.sendall(
            f"POST {MODELS} HTTP/1.1\r\nHost: curator\r\nAuthorization: Bearer {SECRET}\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode()
        )
        wait_until(path.exists)
        return connection, [int(word) for word in path.read_text().split()[:2]]


MADE = task()
MODELS = f"/v1/tasks/{MADE.id}/models"


@contextmanager
def serving(folder: Path) -> Iterator[Served]:
    """A curator that computes one thing at a time and lets one wait."""
    database = f"sqlite:///{folder}/privet.db"
    store = open_store(database)
    open_task(store, MADE, 0.0)
    store.close()
    command = ["-c", endless.SCRIPT]
    with running_curator(folder, command=command, admin_token=SECRET) as running:
        curator = Served(running.url, running.process, folder)
        assert curator.send(1) == [201]
        yield curator


@pytest.fixture(scope="module")
def lasting(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serving(tmp_path_factory.mktemp("curator")) as curator:
        yield curator


@pytest.fixture
def curator(lasting: Served, tmp_path: Path) -> Served:
    """The curator of this file's tests, with a folder for each."""
    return replace(lasting, folder=tmp_path)


@pytest.fixture
def doomed(tmp_path: Path) -> Iterator[Served]:
    with serving(tmp_path) as curator:
        yield curator


def wait_until(condition: Callable[[], bool]) -> None:
    """Until it holds; a minute at most, on however busy a machine."""
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def ended(process: int) -> bool:
    """True if a process is gone, or dead and not yet buried."""
    try:
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return True
    return state == "Z"


@keeps(
    "deployment: a worker has no secrets in its environment",
    in_="curator/workers.py",
    instead_of="del os.environ[name]",
    plant="pass",
)
@keeps(
    "deployment: a call that ends kills its worker",
    in_="curator/workers.py",
    instead_of="""
            job.kill()
            self._ended(job)""",
    plant="""
            self._ended(job)""",
)
def test_a_fit_delays_no_report_knows_no_secret_and_ends_with_its_caller(curator: Served) -> None:
    """Its process is killed with all that it started, and the next fit has its place."""
    connection, processes = curator.start_endless_fit()
    assert (curator.folder / "note").read_text().split()[2:] == []
    for process in processes:
        assert SECRET.encode() not in Path(f"/proc/{process}/environ").read_bytes()
    assert curator.send(200) == [201] * 200
    assert not any(map(ended, processes))
    connection.close()
    wait_until(lambda: all(map(ended, processes)))
    assert curator.fit("own_public").status_code == 201


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_no_process_outlives_its_curator(doomed: Served, number: signal.Signals) -> None:
    """However that ends; told to stop, it tells the caller of a fit why there is no answer."""
    connection, processes = doomed.start_endless_fit()
    with closing(connection):
        doomed.process.send_signal(number)
        if number == signal.SIGTERM:
            answer = connection.makefile("rb").read()
            assert answer.startswith(b"HTTP/1.1 503 ")
            assert b"urn:privet:problem:overloaded" in answer
        doomed.process.wait(30)
        wait_until(lambda: all(map(ended, processes)))


ORPHANED = """
import asyncio, subprocess
from privet.curator.workers import Workers

shell = ["/bin/sh", "-c", "echo $PPID $$; exec sleep 600"]
work = Workers(1, 0, preloaded=[]).call(lambda run: run(subprocess.call, shell))
asyncio.run(work)
"""
"""Tells the process that works for it, and one that this started."""


@keeps(
    "threat-model: a worker does not outlive a killed curator",
    in_="curator/workers.py",
    instead_of="threading.Thread(target=_end_with_curator, daemon=True).start()",
    plant="pass",
)
def test_a_worker_ends_with_a_killed_curator() -> None:
    """With all that it started, in the middle of its work."""
    curator = subprocess.Popen([sys.executable, "-c", ORPHANED], stdout=subprocess.PIPE, text=True)
    with curator:
        assert curator.stdout is not None
        processes = list(map(int, curator.stdout.readline().split()))
        assert len(processes) == 2
        assert not any(map(ended, processes))
        curator.kill()
    try:
        wait_until(lambda: all(map(ended, processes)))
    finally:
        for process in processes:
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)


IDLE = """
import asyncio, os, sys
from privet.curator import workers

workers.IDLE_SECONDS = 0.05

async def use():
    pool = workers.Workers(1, 0, preloaded=[])
    for _ in range(2):
        own = await pool.call(lambda run: [run(os.getpid), run(os.getppid)])
        print(*own, flush=True)
        await asyncio.to_thread(sys.stdin.readline)
    pool.close()

asyncio.run(use())
"""
"""Tells, twice, the process that works for it and the fork server, and goes on when told to."""


async def test_a_process_that_was_started_ahead_answers_the_next_call() -> None:
    """There is one, however often it is asked for."""
    ahead, before = Workers(2, 0), set(multiprocessing.active_children())
    for _ in range(2):
        ahead.warm()
        await asyncio.to_thread(wait_until, lambda: not len(ahead))
    (started,) = set(multiprocessing.active_children()) - before
    assert await ahead.call(lambda run: run(os.getpid)) == started.pid
    ahead.close()


async def test_an_idle_worker_ends(workers: Workers, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that has just been used by somebody else goes on."""
    other = await workers.call(lambda run: run(os.getpid))
    monkeypatch.setattr("privet.curator.workers.IDLE_SECONDS", 0.01)
    idle = Workers(1, 0)
    process = await idle.call(lambda run: run(os.getpid))
    await asyncio.to_thread(wait_until, lambda: ended(process))
    assert not ended(other)
    idle.close()


@pytest.mark.slow
def test_what_is_idle_ends_with_its_fork_server_and_starts_again() -> None:
    """The memory of both is free, and the next call has another process."""
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen([sys.executable, "-c", IDLE], **pipes) as curator:  # type: ignore[call-overload]
        seen = list[int]()
        for _ in range(2):
            processes = list(map(int, curator.stdout.readline().split()))
            assert len(processes) == 2
            assert not {*processes} & {*seen}
            wait_until(lambda own=tuple(processes): all(map(ended, own)))  # type: ignore[misc]
            seen += processes
            curator.stdin.write("\n")
            curator.stdin.flush()
        assert curator.wait(30) == 0


@keeps(
    "deployment: a worker yields to reports",
    in_="curator/workers.py",
    instead_of="os.nice(NICENESS)",
    plant="os.nice(0)",
)
async def test_a_worker_yields_to_reports(workers: Workers) -> None:
    """Its priority is lower than that of what started it, which has the curator's."""
    parent = await workers.call(lambda run: run(os.getppid))
    started = os.getpriority(os.PRIO_PROCESS, parent)  # this process may have another by now
    assert await workers.call(lambda run: run(os.nice, 0)) == min(started + NICENESS, 19)


async def test_closing_ends_what_goes_on(tmp_path: Path) -> None:
    """The process is killed with all that it started, and its caller need not wait."""
    workers, note = Workers(1, 0), tmp_path / "note"
    call = asyncio.create_task(workers.call(lambda run: run(endless.never_ends, note=str(note))))
    await asyncio.to_thread(wait_until, note.exists)
    workers.close()
    with pytest.raises(Cancelled):
        await call
    processes = [int(word) for word in note.read_text().split()[:2]]
    wait_until(lambda: all(map(ended, processes)))


@keeps(
    "threat-model: workers take no more than may wait",
    in_="curator/workers.py",
    instead_of="if len(self) >= self._limit:",
    plant="if False:",
)
def test_so_many_go_on_and_so_many_wait(curator: Served) -> None:
    """One goes on, one waits, and the third is refused; the one that waits gets the place."""
    connection, _ = curator.start_endless_fit()
    answers: list[httpx.Response] = []
    waiting = threading.Thread(target=lambda: answers.append(curator.fit("own_public")))
    waiting.start()
    wait_until(lambda: curator.jobs() == 2)
    refused = curator.fit("own_public")
    assert refused.status_code == 503
    assert refused.headers["retry-after"]
    assert refused.json()["type"] == "urn:privet:problem:overloaded"
    assert answers == []
    connection.close()
    waiting.join()
    assert answers[0].status_code == 201


def test_a_process_that_dies_is_named_and_replaced(curator: Served) -> None:
    """The caller gets a problem that says so, and the next fit a new process."""
    answer = curator.fit("dies")
    assert answer.status_code == 500
    assert "died (exit code -9)" in answer.json()["detail"]
    failed = curator.fit("fails")
    assert failed.status_code == 500
    assert "a bug of its own" not in failed.text
    assert curator.fit("own_public").status_code == 201


def test_a_grower_of_ones_own_makes_a_task(curator: Served) -> None:
    """What is registered in the curator's process is known to its workers."""
    answer = httpx.post(
        f"{curator.url}/v1/tasks",
        headers=ADMIN,
        files={"public": ("public.csv", samples.survey())},
        data={"settings": '{"name": "t", "label": "label", "epsilon": 1, "grower": "mine"}'},
        timeout=60,
    )
    assert answer.status_code == 201, answer.text


async def test_who_leaves_while_a_process_starts_holds_up_nobody(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The event loop waits for no process, and the one that was not used serves the next call."""
    starting, may_start, started = threading.Event(), threading.Event(), list[bool]()

    def slowly(_: object) -> None:
        starting.set()
        started.append(may_start.wait(30))

    monkeypatch.setattr("privet.curator.workers._start_server", slowly)
    pool = Workers(1, 0)
    left = asyncio.create_task(pool.call(lambda run: run(os.getpid)))
    await asyncio.to_thread(starting.wait)
    release = threading.Timer(5.0, may_start.set)
    release.start()
    left.cancel()
    await asyncio.wait([left])
    assert not may_start.is_set(), "the event loop waited until the process had started"
    release.cancel()
    may_start.set()
    assert await pool.call(lambda run: run(os.getpid)) != os.getpid()
    assert started == [True]
    pool.close()


async def test_a_function_that_cannot_be_imported_is_refused(workers: Workers) -> None:
    """What to do is said, instead of a failure that only the log explains."""
    with pytest.raises(PrivetError, match="at the top of a module that can be imported"):
        await workers.call(lambda run: run(lambda: 1))


def test_processes_are_used_again(curator: Served) -> None:
    """What one fit has worked out, as the public model, serves the next."""
    assert curator.fit("own_public").status_code == 201
    before = workers_of(curator)
    assert curator.fit("own_public").status_code == 201
    assert workers_of(curator) == before


def workers_of(curator: Served) -> set[int]:
    """The processes that compute for a curator: they lead sessions of their own."""
    processes = {int(folder.name) for folder in Path("/proc").glob("[0-9]*")}
    ours = {process for process in processes if ancestor(process, curator.process.pid)}
    return {process for process in ours if os.getsid(process) == process}


def ancestor(process: int, wanted: int) -> bool:
    """Whether ``wanted`` started a process, directly or not."""
    while process > 1:
        try:
            process = int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1])
        except (FileNotFoundError, ProcessLookupError):
            return False
        if process == wanted:
            return True
    return False


@keeps(
    "threat-model: a process has no more than its memory",
    in_="curator/workers.py",
    instead_of="resource.setrlimit(resource.RLIMIT_DATA, (memory, memory))",
    plant="pass",
)
@pytest.mark.slow
async def test_a_process_has_no_more_than_its_memory() -> None:
    """What takes more is refused by name, and the process goes on with what comes next."""
    workers = Workers(1, 0, memory=2**30)
    with pytest.raises(TooLarge, match="PRIVET_WORKER_MEMORY"):
        await workers.call(lambda run: run(bytes, 2**31))
    with pytest.raises(TooLarge, match="PRIVET_WORKER_MEMORY"):
        await workers.call(lambda run: run(endless.fails_after_want_of_memory))
    assert await workers.call(lambda run: run(len, bytes(2**20))) == 2**20
    workers.close()


@pytest.mark.parametrize(
    "fails",
    [
        endless.fails_after_want_of_memory,
        endless.cannot_map_a_library,
        endless.lacks_memory_for_a_process,
    ],
)
async def test_whoever_refuses_the_memory_the_call_was_too_large(
    fails: Callable[[], None],
) -> None:
    """The interpreter, the linker or the system."""
    workers = Workers(1, 0)
    with pytest.raises(TooLarge, match="PRIVET_WORKER_MEMORY"):
        await workers.call(lambda run: run(fails))
    workers.close()


async def test_a_process_that_lacks_memory_from_the_start_ends_its_call() -> None:
    """Its caller does not wait for ever, and neither does whoever comes next."""
    workers = Workers(1, 0, memory=2**20)
    try:
        async with asyncio.timeout(60):
            with pytest.raises(TooLarge):
                await workers.call(lambda run: run(endless.fails_after_want_of_memory))
    finally:
        workers.close()
