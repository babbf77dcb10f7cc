"""Write a relay's spool of tasks for invited holders by the program of an older commit.

It runs in a checkout of that commit, as README.md shows, with the file to write, FILE.sqlite3.gz.
Of 25 reports with invitations 10 were asked about, of which 8 are admitted; 10 are asked about now,
and 5 wait. Of another task 10 wait that came singly and, where relays stood behind relays, 10 that
came from one; of a third, where a relay wrote batches as files, 10 are in one. FILE.json has the
tallies of each task and the states of their reports, as that program says.
"""

import gzip
import hashlib
import json
import os
import sqlite3
import sys
import tempfile
from contextlib import closing, suppress
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

from privet.protocol.batch import Batch
from privet.protocol.report import make_report
from privet.relay.spool import Spool
from tests.protocol.examples import RECORD, make_task

DAY = 21_000


def named(name: str) -> Any:
    """A class that moved between the relay's modules."""
    for module in ("spool", "outcomes", "batches"):
        with suppress(ImportError, AttributeError):
            return getattr(import_module(f"privet.relay.{module}"), name)
    raise LookupError(name)


def main() -> None:
    target = Path(sys.argv[1])
    stored, account = named("StoredReport"), named("Account")
    invited, mixed, filed = (make_task(name=name).id for name in ("invited", "mixed", "filed"))
    task, reports = make_task(), list[tuple[str, bytes]]()

    def made(of: str, count: int) -> list[Any]:
        rows = []
        for _ in range(count):
            report = make_report(task, RECORD, os.urandom)
            ((_, payload),) = report.answers
            rows.append(stored(of, (0,), report.id, payload))
            reports.append((of, report.id))
        return rows

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "spool"
        spool: Any = Spool(path)
        spool.add([replace(row, invitation=os.urandom(32)) for row in made(invited, 20)])
        assert spool.draw(invited, (0,), 10, 10)
        ((number, _),) = spool.drawn().items()
        (asked,) = spool.admissions(number)
        spool.admit(number, {bytes(own) for own in asked.digests[:2]}, DAY)
        assert spool.draw(invited, (0,), 10, 10)
        spool.add([replace(row, invitation=os.urandom(32)) for row in made(invited, 5)])
        spool.add(made(mixed, 10))
        with suppress(AttributeError):
            rows = made(mixed, 10)
            columns = (named("_rows")([getattr(row, c) for row in rows]) for c in ("id", "payload"))
            batch = Batch((0,), *columns)
            spool.add_batch(mixed, batch, hashlib.sha256(batch.pack()).digest(), DAY)
        with suppress(AttributeError):
            spool.files()
            spool.add(made(filed, 10))
            assert spool.seal(filed, (0,), 10, 10)
            ((number, _),) = spool.sealed().items()
            spool.settle(number, account({"held": 10}), DAY, file="a.parquet")
        state = getattr(spool, "state", None) or spool.fate
        said = {
            "tallies": {of: spool.tallies(of) for of in (invited, mixed, filed)},
            "states": [(of, i.hex(), state(of, i)) for of, i in reports],
        }
        spool.close()
        with closing(sqlite3.connect(path)) as db:
            db.execute("VACUUM")
            db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        target.write_bytes(gzip.compress(path.read_bytes(), mtime=0))
    values = json.dumps(said, indent=1, sort_keys=True) + "\n"
    target.with_name(target.name.replace(".sqlite3.gz", ".json")).write_text(values)


main()
