"""What the most expensive calls cost a curator of its own on this machine.

Each is as large as the default settings allow. Time is that of all its processes on their
processors; memory is by how much they have grown at most (``VmHWM`` in /proc, on Linux only).
"""

import json
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import httpx
import numpy as np
import psutil

from bench.figures import Effort, Figure
from bench.traffic import TOKEN, keep_open, open_task, random_reports
from bench.worst_tasks import worst_tasks
from privet import CuratorClient
from privet.protocol.batch import BATCH_MEDIA_TYPE
from privet.protocol.task import Task
from scripts.load import population
from scripts.load_test import cpu_seconds, family_of
from scripts.servers import running_curator

JSON = "application/json"
REPORTS = {Effort.TINY: 50, Effort.QUICK: 100_000, Effort.FULL: 1_000_000}
BATCH_BYTES = {Effort.TINY: 10**4, Effort.QUICK: 2**23, Effort.FULL: 2**26 - 2**10}
ROWS = {Effort.TINY: 600, Effort.QUICK: 20_000, Effort.FULL: 20_000}
BODY_BYTES = {Effort.TINY: 10**4, Effort.QUICK: 2**23, Effort.FULL: 2**23}


@dataclass(frozen=True)
class Call:
    """A POST, and the status that answers it."""

    path: str
    body: bytes
    media_type: str = JSON
    status: int = 200

    @property
    def headers(self) -> dict[str, str]:
        """Those that it is sent with, but for the token."""
        return {"Content-Type": self.media_type}


def calling(effort: Effort) -> Iterator[Figure]:
    """Bytes, seconds and MiB of each call, after a small one of its kind."""
    with tempfile.TemporaryDirectory(prefix="privet-bench-") as name:
        database = f"sqlite:///{name}/worst.db"
        options = {"database": database, "admin_token": TOKEN}
        with running_curator(Path(name), **options) as curator:
            admin = CuratorClient(curator.url, TOKEN)
            headers = {"Authorization": f"Bearer {TOKEN}"}
            with httpx.Client(base_url=curator.url, headers=headers, timeout=600) as http:
                for case, make in _calls(database, admin, http, effort).items():
                    _cost(http, curator.process.pid, make(Effort.TINY))
                    call = make(effort)
                    seconds, mib = _cost(http, curator.process.pid, call)
                    yield Figure("worst_calls", case, "body", len(call.body), "B")
                    yield Figure("worst_calls", case, "time", seconds, "s")
                    yield Figure("worst_calls", case, "memory", mib, "MiB")


def _calls(
    database: str, admin: CuratorClient, http: httpx.Client, effort: Effort
) -> dict[str, Callable[[Effort], Call]]:
    small, wide = (
        open_task(database, 4),
        open_task(database, 2**8 if effort is Effort.TINY else 2**16),
    )
    largest = keep_open(database, Task.checked(worst_tasks()["most_random_numbers"]))
    task_url = population.publish(admin, cells=256, epsilon=1.0)
    predicting = task_url.removeprefix(admin.url)
    first = _batch(predicting, random_reports(population.fetch(task_url), 50).pack())
    http.post(first.path, content=first.body, headers=first.headers).raise_for_status()
    admin.fit(task_url, "drift")

    def most_reports(size: Effort) -> Call:
        return _batch(f"/v1/tasks/{small.id}", random_reports(small, REPORTS[size]).pack())

    def all_refused(size: Effort) -> Call:
        batch = random_reports(small, REPORTS[size])
        return _batch(
            f"/v1/tasks/{small.id}",
            replace(batch, payloads=np.full_like(batch.payloads, 255)).pack(),
        )

    def most_bytes(size: Effort) -> Call:
        width = 16 + wide.mechanisms[0].report_bytes
        return _batch(
            f"/v1/tasks/{wide.id}", random_reports(wide, BATCH_BYTES[size] // width).pack()
        )

    def most_rows(size: Effort) -> Call:
        rows = [{"x1": 0.2, "x2": 0.7}] * ROWS[size]
        return Call(f"{predicting}/predict", json.dumps({"records": rows}).encode())

    def empty_records(size: Effort) -> Call:
        body = b'{"records":[' + b",".join([b"{}"] * (BODY_BYTES[size] // 3 - 5)) + b"]}"
        return Call(f"{predicting}/predict", body, status=422 if size is Effort.TINY else 413)

    def report(size: Effort) -> Call:
        answers = b",".join([b'[0,""]'] * (min(BODY_BYTES[size], 2**21) // 7 - 1))
        return Call(f"/v1/tasks/{largest.id}/reports", b"[" + answers + b"]", status=400)

    return {
        "batch,most_reports": most_reports,
        "batch,all_refused": all_refused,
        "batch,most_bytes": most_bytes,
        "prediction,most_rows": most_rows,
        "prediction,empty_records": empty_records,
        "body,report": report,
    }


def _batch(task: str, body: bytes) -> Call:
    return Call(f"{task}/reports/batch", body, BATCH_MEDIA_TYPE)


def _cost(http: httpx.Client, curator: int, call: Call) -> tuple[float, float]:
    """Processor seconds and MiB that a call takes, at least a tick of the clock and a page.

    Raises ``RuntimeError`` for another answer than that call's.
    """
    family = family_of(curator)
    for process in family:
        Path(f"/proc/{process.pid}/clear_refs").write_text("5")  # the peak is what it has now
    used, resident = cpu_seconds(family), sum(process.memory_info().rss for process in family)
    answer = http.post(call.path, content=call.body, headers=call.headers)
    if answer.status_code != call.status:
        raise RuntimeError(f"{call.path} answered {answer.status_code}: {answer.text[:500]}")
    family = family_of(curator)
    grown = sum(map(_peak, family)) - resident
    return max(cpu_seconds(family) - used, 0.01), max(grown, 2**12) / 2**20


def _peak(process: psutil.Process) -> int:
    """Bytes that a process had in memory at most, since its peak was reset."""
    lines = Path(f"/proc/{process.pid}/status").read_text().splitlines()
    (peak,) = (line.split()[1] for line in lines if line.startswith("VmHWM:"))
    return 1024 * int(peak)
