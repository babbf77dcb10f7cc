"""Write a curator's database by the program of an older commit.

It runs in a checkout of that commit, as README.md shows, with the file to write, FILE.sqlite3.gz,
and the name of an estimator: a task with 40 reports and two models, the second of which serves, and
one that still collects, with 20. FILE.json is beside it, with what that curator says of both. The
key that signs tasks, and every token, are thrown away.
"""

import gzip
import json
import sqlite3
import sys
import tempfile
from contextlib import closing
from importlib import import_module
from pathlib import Path
from typing import Any

from tests.curator import samples
from tests.end_to_end import population

RunningCurator: Any = import_module("tests.end_to_end.running_curator").RunningCurator
SETTINGS: Any = {"label": "label", "epsilon": 1.0, "grower": "cart", "depth": 2, "holders": 300}
RECORDS = {"records": [{"age": 30, "hours": 20.0, "job": "nurse", "member": True}]}


def main() -> None:
    target, estimator = Path(sys.argv[1]), sys.argv[2]
    said: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        with RunningCurator(Path(folder)) as curator:
            for name, holders, models in (("fitted", 40, 2), ("collecting", 20, 0)):
                task = curator.create(samples.survey(), name=name, **SETTINGS)
                url = f"/v1/tasks/{task}"
                population.answer_all(curator.url + url, population.survey(holders, seed=1))
                of_task = said[task] = {"status": curator.status(task)}
                for number in range(models):
                    asked = {"estimator": estimator, "promote": number > 0}
                    curator.post(f"{url}/models", asked)
                of_task["models"] = curator.get(f"{url}/models")
                if models:
                    of_task["predicted"] = curator.post(f"{url}/predict", RECORDS)
        path = Path(folder) / "privet.db"
        with closing(sqlite3.connect(path)) as db:
            db.execute("VACUUM")
            db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        target.write_bytes(gzip.compress(path.read_bytes(), mtime=0))
    values = json.dumps(said, indent=1, sort_keys=True) + "\n"
    target.with_name(target.name.replace(".sqlite3.gz", ".json")).write_text(values)


if __name__ == "__main__":  # its processes import it
    main()
