"""Write a ledger of version 1, with one answer and, where it has that, an invitation.

It runs in a checkout of the first commits that had a ledger, as README.md shows.
"""

import sys
from dataclasses import fields
from importlib import import_module
from pathlib import Path
from typing import Any

Answer: Any = import_module("client.ledger").Answer
SqliteLedger: Any = import_module("client.sqlite_ledger").SqliteLedger
TASK = "0f" * 32
given: dict[str, Any] = {
    "subject": "first",
    "task": TASK,
    "url": f"https://curator.example/v1/tasks/{TASK}",
    "epsilon": 1.0,
    "report_id": "0e" * 16,
    "report": b"\x81\x00",
    "drawn": 1_820_000_000.0,
    "invitation": "code-0",
}
names = {each.name for each in fields(Answer)}
SqliteLedger(Path(sys.argv[1])).keep(Answer(**{k: v for k, v in given.items() if k in names}))
