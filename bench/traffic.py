"""Parts shared by measurements of intake: servers, an open task, requests, batches."""

import asyncio
import os
import secrets
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np
import uvloop

from bench.samples import EPSILON, reports
from privet.curator.datastore import open_store
from privet.learning.core.public_data import PublicData
from privet.protocol.batch import Batch
from privet.protocol.calls import BATCH_MEDIA_TYPE, SEND_REPORT, TASKS
from privet.protocol.lifecycle import TaskState
from privet.protocol.task import Task
from scripts.crash_test import unique_task
from scripts.load.sender import Outcomes, QueuedPost, Sender
from scripts.load.traffic import Address, requests
from scripts.servers import free_port, running_curator, wait_for_port

CONNECTIONS = 64
CATEGORIES = 512
TOKEN = secrets.token_urlsafe(24)

Server = tuple[int, int]
"""Port and process id."""


@contextmanager
def empty_server() -> Iterator[Server]:
    """A FastAPI route that does nothing, served as uvicorn serves by default."""
    port = free_port()
    application = ["--factory", "bench.traffic:empty_app", "--port", str(port)]
    quiet = ["--log-level", "warning", "--no-access-log"]
    process = subprocess.Popen([sys.executable, "-m", "uvicorn", *application, *quiet])
    try:
        wait_for_port(port, process)
        yield port, process.pid
    finally:
        process.terminate()
        process.wait(60)


@contextmanager
def curator_server(folder: Path, database: str) -> Iterator[Server]:
    """``privet serve`` over a database, with its log in ``folder``."""
    with running_curator(folder, database=database, admin_token=TOKEN) as curator:
        port = urlsplit(curator.url).port
        assert port is not None
        yield port, curator.process.pid


def empty_app() -> object:
    """A FastAPI application whose report call reads the body and does nothing."""
    from fastapi import FastAPI, Request

    app = FastAPI()

    @app.post(SEND_REPORT.path, status_code=201)
    async def take(task_id: str, request: Request) -> dict[str, str | bool]:  # noqa: ARG001
        await request.body()
        return {"report": "0" * 32, "counted": True}

    return app


def open_task(database: str, categories: int = CATEGORIES, *, disclosed: bool = False) -> Task:
    """A new open task of ``categories`` categories, whose column is hidden or disclosed."""
    task = unique_task(f"bench {time.time_ns()}", categories, EPSILON, disclosed=disclosed)
    public = PublicData(np.zeros((2, 1)), np.arange(2.0))
    with closing(open_store(database)) as store:
        store.tasks.create(task, {}, public, time.time(), TaskState.OPEN)
    return task


def random_reports(task: Task, count: int) -> Batch:
    """Reports under fresh ids; payloads repeat."""
    ids = np.frombuffer(os.urandom(16 * count), dtype=np.uint8).reshape(count, 16)
    return Batch((0,), ids, reports(task.mechanisms[0], count))


def single_posts(task: Task, count: int) -> list[QueuedPost]:
    address = Address("127.0.0.1", 80, f"{TASKS}/{task.id}/reports")
    batch = random_reports(task, count)
    return [QueuedPost(one) for one in requests(task, address, batch.ids, batch.payloads)]


def batch_post(task: Task, count: int) -> QueuedPost:
    address = Address("127.0.0.1", 80, f"{TASKS}/{task.id}/reports/batch", TOKEN)
    body = random_reports(task, count).pack()
    return QueuedPost(address.head(BATCH_MEDIA_TYPE, len(body)) + body, count)


def run_load(ports: Sequence[int], messages: Sequence[QueuedPost], connections: int) -> Outcomes:
    """Send all messages to servers on this machine, which share the connections."""
    outcomes, left = Outcomes(), iter(messages)

    async def send() -> None:
        share = connections // len(ports)
        senders = [Sender("127.0.0.1", port, left, outcomes, connections=share) for port in ports]
        await asyncio.gather(*(sender.run() for sender in senders))

    uvloop.run(send())
    return outcomes


def check_counted(database: str, task: Task, sent: int) -> None:
    """Raise ``RuntimeError`` unless a database has counted what was sent."""
    with closing(open_store(database)) as store:
        counted = store.standing.read(task.id).reports
    if counted != sent:
        msg = f"of {sent} reports of the benchmark {counted} were counted"
        raise RuntimeError(msg)
