"""Write a curator's database and its relay's spool by the program of an older commit.

It runs in a checkout of that commit, as README.md shows, with the file to write, FILE.sqlite3.gz;
the spool is FILE.spool.gz. A task that collects has 20 reports at the curator and 30 at the relay.
One that has 10 asks by ``oue``, where that program knew it. FILE.json has the status of each, by
name. The key that signs tasks, and every token, are thrown away.
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

from scripts.servers import running_relay
from tests.curator import samples
from tests.end_to_end import population

RunningCurator: Any = import_module("tests.end_to_end.running_curator").RunningCurator
SETTINGS: Any = {"label": "label", "epsilon": 1.0, "grower": "cart", "depth": 2, "holders": 300}
KNEW_OUE = "869d6533"


def compressed(path: Path) -> bytes:
    with closing(sqlite3.connect(path)) as db:
        db.execute("VACUUM")
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return gzip.compress(path.read_bytes(), mtime=0)


def main() -> None:
    target = Path(sys.argv[1])
    said: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        with RunningCurator(Path(folder)) as curator:
            called = ["collecting", *["by oue"] * (KNEW_OUE in target.name)]
            for name in called:
                chosen = {"mechanism": "oue"} if name == "by oue" else {}
                task = curator.create(samples.survey(), name=name, **SETTINGS, **chosen)
                url = f"{curator.url}/v1/tasks/{task}"
                holders = 10 if name == "by oue" else 20
                population.answer_all(url, population.survey(holders, seed=1))
                said[name] = curator.status(task)
            asked = {"scope": "relay"}
            token = curator.call("PUT", "/v1/tokens/relay", headers=curator.admin, json=asked)
            task = said["collecting"]["id"]
            with running_relay(
                Path(folder), curator.url, token.json()["token"], least=25, every=3600
            ) as relay:
                population.answer_all(f"{relay.url}/v1/tasks/{task}", population.survey(30, seed=2))
        target.write_bytes(compressed(Path(folder) / "privet.db"))
        spool = target.with_name(target.name.replace(".sqlite3.gz", ".spool.gz"))
        spool.write_bytes(compressed(Path(folder) / "relay.db"))
    values = json.dumps(said, indent=1, sort_keys=True) + "\n"
    target.with_name(target.name.replace(".sqlite3.gz", ".json")).write_text(values)


if __name__ == "__main__":  # its processes import it
    main()
