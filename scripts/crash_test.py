"""Kill a curator under load, again and again, and count what was lost or doubled.

    python -m scripts.crash_test --database sqlite --trials 50
    python -m scripts.crash_test --database postgresql --trials 50

Every trial opens a task whose reports each set one category of their own, sends them over many
connections, and kills the curators with SIGKILL at a random moment; on PostgreSQL two curators
share the load, and in every fifth trial the database server crashes as well. After a new start
everything that was acknowledged must be there; then what was not is sent once more, and a part of
what was. In the end every entry of the sums must be 1: a 0 is a loss, a 2 was counted twice.
"""

import http.client
import os
import random
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from itertools import cycle
from pathlib import Path
from typing import Annotated, Literal
from urllib.parse import urlsplit

import numpy as np
import typer

from privet.curator.datastore import open_store
from privet.curator.datastore.store import Store
from privet.learning.core.public_data import PublicData
from privet.protocol.calls import REPORT_MEDIA_TYPE
from privet.protocol.features import Classes, Numeric
from privet.protocol.lifecycle import Move, TaskState
from privet.protocol.mechanisms.base import as_row
from privet.protocol.partition import Tree
from privet.protocol.report import Report
from privet.protocol.task import Question, Task
from scripts.postgres import PostgresServer, postgres_server
from scripts.servers import RunningCurator, running_curator

CONNECTIONS = 16
KILL_AFTER = (0.1, 1.2)
TRUTHFUL = 14.0
"""An epsilon at which nearly every answer is the true category alone."""


@dataclass
class Count:
    """Totals of what trials sent and received."""

    trials: int = 0
    sent: int = 0
    acknowledged: int = 0
    missing: int = 0
    """Acknowledged before the crash and not in the sums after it."""
    lost: int = 0
    doubled: int = 0


@dataclass
class Curators:
    """Curator processes that share one database."""

    folder: Path
    database: str
    number: int
    running: list[RunningCurator] = field(default_factory=list)
    _stack: ExitStack = field(default_factory=ExitStack)

    def start(self) -> None:
        for place in range(self.number):
            started = running_curator(self.folder / str(place), database=self.database)
            self.running.append(self._stack.enter_context(started))

    def kill(self) -> None:
        """Kill all processes."""
        for curator in self.running:
            curator.process.kill()

    def wait(self) -> None:
        """Wait until the processes have ended."""
        self._stack.close()
        self.running.clear()


@dataclass
class Sender:
    """Sends bodies until they are done or the curator is gone; notes which were acknowledged."""

    bodies: Sequence[bytes]
    path: str
    acknowledged: set[int] = field(default_factory=set)

    def send(self, urls: Sequence[str], places: Sequence[int]) -> None:
        """Send the bodies at ``places`` over several connections at once."""
        shares = [places[i::CONNECTIONS] for i in range(CONNECTIONS)]
        with ThreadPoolExecutor(CONNECTIONS) as pool:
            list(pool.map(self._send, cycle(urls), shares))

    def _send(self, url: str, places: Sequence[int]) -> None:
        connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=60)
        headers = {"Content-Type": REPORT_MEDIA_TYPE}
        with suppress(OSError, http.client.HTTPException):  # the curator is gone
            for place in places:
                connection.request("POST", self.path, self.bodies[place], headers)
                response = connection.getresponse()
                response.read()
                if response.status in (200, 201):
                    self.acknowledged.add(place)
        connection.close()


def unique_task(
    name: str, reports: int, epsilon: float = TRUTHFUL, *, disclosed: bool = False
) -> Task:
    """A task with a category for each of an even number of reports, and one more for misfits.

    Its only column is hidden, or disclosed with group sizes that any holder accepts.
    """
    return Task(
        name=name,
        features=(Numeric(name="x", low=0.0, high=1.0),),
        label=Classes(name="y", classes=("no", "yes")),
        partitions=(Tree.complete(reports // 2),),
        questions=(Question(partition=0, mechanism="subset", epsilon=epsilon),),
        disclosed=("x",) if disclosed else (),
        group_sizes=(1_000,) * (reports // 2) if disclosed else (),
    )


def unique_bodies(task: Task) -> list[bytes]:
    """One report per category, each of which adds exactly 1 at its own place of the sums."""
    return [_body(task, category) for category in range(task.mechanisms[0].categories)]


def _body(task: Task, category: int) -> bytes:
    (mechanism,), sums = task.mechanisms, np.zeros(1, dtype=np.int64)
    while sums.sum() != 1 or sums[category] != 1:
        payload = mechanism.privatize(category, os.urandom)
        sums = mechanism.accumulate(as_row(payload))
    task_id, report_id = bytes.fromhex(task.id), os.urandom(16)
    return Report(task=task_id, id=report_id, answers=((0, payload),)).pack()


def run_trial(
    store: Store, curators: Curators, count: Count, reports: int, crash: Callable[[], None]
) -> None:
    """One task from its first report to its last, with a crash and a new start in between."""
    task = unique_task(f"crash {count.trials} {time.time()}", reports)
    public = PublicData(np.zeros((2, 1)), np.arange(2.0))
    store.tasks.create(task, {}, public, time.time(), TaskState.OPEN)
    sender = Sender(unique_bodies(task), f"/v1/tasks/{task.id}/reports")
    reports = len(sender.bodies)
    killer = threading.Timer(random.uniform(*KILL_AFTER), crash)
    killer.start()
    sender.send([curator.url for curator in curators.running], range(reports))
    killer.join()
    curators.wait()
    curators.start()
    count.trials += 1
    count.sent += reports
    count.acknowledged += len(sender.acknowledged)
    sums = store.standing.collected(task.id).sums[0].vector
    count.missing += sum(int(sums[place] < 1) for place in sender.acknowledged)
    _send_the_rest(sender, curators, reports)
    question = store.standing.collected(task.id).sums[0]
    count.lost += int(np.count_nonzero(question.vector < 1))
    count.doubled += int(np.count_nonzero(question.vector > 1)) + max(0, question.n - reports)
    store.tasks.move(task.id, Move.DELETE, time.time())


def _send_the_rest(sender: Sender, curators: Curators, reports: int) -> None:
    """Send what was not acknowledged, and a quarter of what was, to the other curators."""
    urls = [curator.url for curator in reversed(curators.running)]
    replays = random.sample(sorted(sender.acknowledged), len(sender.acknowledged) // 4)
    missing = [place for place in range(reports) if place not in sender.acknowledged]
    sender.send(urls, missing + replays)
    if len(sender.acknowledged) < reports:
        msg = f"only {len(sender.acknowledged)} of {reports} reports were taken after the restart"
        raise RuntimeError(msg)


def run_trials(
    curators: Curators, trials: int, reports: int, server: PostgresServer | None = None
) -> Count:
    """Trials one after the other; in every fifth the database's server crashes, if it has one.

    Prints every ten what it has.
    """
    count = Count()
    store = open_store(curators.database)
    curators.start()

    def crash() -> None:
        if server is not None and count.trials % 5 == 4:
            server.stop()
            server.start()
        curators.kill()

    while count.trials < trials:
        run_trial(store, curators, count, reports, crash)
        if count.trials % 10 == 0:
            print(count, flush=True)
    curators.wait()
    store.close()
    return count


def main(
    *,
    database: Annotated[Literal["sqlite", "postgresql"], typer.Option()] = "sqlite",
    trials: Annotated[int, typer.Option(min=1)] = 50,
    reports: Annotated[int, typer.Option(min=2, help="Reports per trial that fit, even.")] = 1_000,
) -> None:
    """Run the trials; exit status 1 if anything was lost or doubled."""
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        if database == "sqlite":
            curators = Curators(Path(folder), f"sqlite:///{folder}/privet.db", 1)
            count = run_trials(curators, trials, reports)
        else:
            server = stack.enter_context(postgres_server())
            curators = Curators(Path(folder), server.url, 2)
            count = run_trials(curators, trials, reports, server)
    print(
        f"| {database} | {count.trials} | {count.sent} | {count.acknowledged} "
        f"| {count.missing} | {count.lost} | {count.doubled} |"
    )
    if count.missing or count.lost or count.doubled:
        raise typer.Exit(1)


if __name__ == "__main__":
    typer.run(main)
