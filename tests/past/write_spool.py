"""Write a relay's spool by the program of an older commit.

It runs in a checkout of that commit, as README.md shows, with the file to write, FILE.sqlite3.gz.
The task's document is FILE.task. One batch has gone out and was counted but for two reports, one is
sealed, and twenty reports wait.
"""

import gzip
import os
import sqlite3
import sys
import tempfile
from contextlib import closing
from importlib import import_module
from pathlib import Path
from typing import Any

from privet.protocol.report import make_report
from privet.relay.spool import Spool
from tests.protocol.examples import RECORD, make_task

DAY = 21_000


def named(name: str) -> Any:
    """A class that moved between the relay's modules."""
    for module in ("spool", "outcomes", "batches"):
        try:
            return getattr(import_module(f"privet.relay.{module}"), name)
        except (ImportError, AttributeError):
            continue
    raise LookupError(name)


def main() -> None:
    target, task = Path(sys.argv[1]), make_task()
    stored, account = named("StoredReport"), named("Account")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "spool"
        spool: Any = Spool(path)

        def add(count: int) -> None:
            made = [make_report(task, RECORD, os.urandom) for _ in range(count)]
            rows = []
            for report in made:
                questions, payloads = zip(*report.answers, strict=True)
                rows.append(stored(task.id, questions, report.id, b"".join(payloads)))
            assert spool.add(rows) == ["held"] * count

        def seal() -> int:
            before = set(spool.sealed())
            assert spool.seal(task.id, (0,), 20, 30)
            (number,) = set(spool.sealed()) - before
            return int(number)

        add(30)
        number = seal()
        refused = [row.tobytes() for row in spool.batch(number).ids[:2]]
        spool.settle(number, account({"counted": 28}, {"wrong-payload": refused}), DAY)
        add(30)
        seal()
        add(20)
        spool.close()
        with closing(sqlite3.connect(path)) as db:
            db.execute("VACUUM")
            db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        target.write_bytes(gzip.compress(path.read_bytes(), mtime=0))
    target.with_name(target.name.replace(".sqlite3.gz", ".task")).write_bytes(task.canonical)


main()
