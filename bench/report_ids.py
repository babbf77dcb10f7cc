"""What keeping report ids costs as they become many: time per id, memory, disk, restart.

    python -m bench.report_ids --ids 100_000_000 --folder /large/disk
    python -m bench.report_ids --ids 100_000_000 --folder /large/disk --rows

Feeds the book of ids (``curator/datastore/report_ids/``) over a SQLite file with random ids, one
transaction per batch, and prints a line for each tenth; ``--rows`` keeps every id in a row of its
own, for comparison with runs. Needs about 30 bytes of disk per id in runs and 60 in rows.
"""

import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import numpy as np
import psutil
import typer
from sqlalchemy import Engine, func, select

from privet.curator.datastore import open_engine, report_ids, sqlite
from privet.curator.datastore.migrate import upgrade
from privet.curator.datastore.report_ids import Ids, ReportIds, distinct
from privet.curator.datastore.schema import id_runs

TASK_NO = 1
LINES = 10
AFTER_RESTART = 1_000


def random_ids(count: int, rng: np.random.Generator) -> Ids:
    """Distinct ascending ids, shape ``(count, 16)``."""
    ids = np.frombuffer(rng.bytes(16 * count), dtype=np.uint8).reshape(-1, 16)
    return ids[distinct(ids)[0]]


def claim(engine: Engine, book: ReportIds, ids: Ids) -> None:
    """Claim new ids in a transaction of their own."""
    writing = engine.connect().execution_options(privet_writes=True)
    with writing as connection, connection.begin():
        last_run = connection.scalar(
            select(func.max(id_runs.c.run)).where(id_runs.c.task_no == TASK_NO)
        )
        cursor = sqlite.cursor_of(connection.connection)
        claimed = book.claim(cursor, TASK_NO, last_run, ids, np.zeros(len(ids), dtype=np.int64))
    assert not claimed.there.any()


def claim_all(
    engine: Engine, database: Path, ids: int, batch: int, log_words: int
) -> Iterator[str]:
    """A line of figures after each tenth of the ids."""
    rng, book, process = np.random.default_rng(), ReportIds(sqlite, log_words), psutil.Process()
    done, slowest, used, began = 0, 0.0, time.process_time(), time.perf_counter()
    for line in range(1, LINES + 1):
        first = done
        while done < ids * line // LINES:
            started = time.perf_counter()
            claim(engine, book, random_ids(min(batch, ids - done), rng))
            slowest = max(slowest, time.perf_counter() - started)
            done += min(batch, ids - done)
        if done == first:
            continue
        size = sum(path.stat().st_size for path in database.parent.glob(database.name + "*"))
        processor = (time.process_time() - used) / (done - first) * 1e6
        clock = (time.perf_counter() - began) / (done - first) * 1e6
        yield (
            f"{done:>13,} ids: {processor:.2f} us of processor time and {clock:.2f} us per id, "
            f"slowest batch {slowest:.2f} s, {process.memory_info().rss / 2**20:,.0f} MiB of "
            f"memory, {size / done:.1f} bytes of disk per id"
        )
        slowest, used, began = 0.0, time.process_time(), time.perf_counter()


app = typer.Typer()


@app.command()
def main(
    *,
    ids: Annotated[int, typer.Option(help="Ids in all.")] = 1_000_000,
    batch: Annotated[int, typer.Option(help="Ids per transaction.")] = 100_000,
    rows: Annotated[bool, typer.Option("--rows", help="Every id in a row of its own.")] = False,
    log_words: Annotated[
        int, typer.Option(help="First size of the filter, log2 of 8-byte words.")
    ] = 23,
    folder: Annotated[Path | None, typer.Option(help="Where the database is made.")] = None,
) -> None:
    """Measure and print."""
    if rows:
        report_ids.BULK = batch + 1
    with tempfile.TemporaryDirectory(prefix="privet-ids-", dir=folder) as name:
        database = Path(name) / "ids.db"
        engine = open_engine(f"sqlite:///{database}")
        upgrade(engine)
        for line in claim_all(engine, database, ids, batch, log_words):
            print(line, flush=True)
        started = time.perf_counter()
        claim(
            engine, ReportIds(sqlite, log_words), random_ids(AFTER_RESTART, np.random.default_rng())
        )
        print(f"first claim after a restart: {time.perf_counter() - started:.2f} s")
        engine.dispose()


if __name__ == "__main__":
    app()
