"""Ledgers that the programs of older commits wrote; ``tests/past/README.md`` says how."""

import json
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

LEDGERS = Path(__file__).parents[1] / "past" / "ledgers"
READ = sorted(path.stem for path in LEDGERS.glob("[4-7]-*.sqlite3"))
"""Those that are read; a file's name begins with its version."""
UNREAD = sorted(path.stem for path in LEDGERS.glob("[1-3]-*.sqlite3"))
PLAIN = {4: "4-bf6ca49c", 5: "5-6e58aa2c", 6: "6-7ba70e29", 7: "7-430c6922"}
"""Version -> a ledger that was of that version from its beginning."""


def copied(name: str, folder: Path) -> Path:
    """A copy of a ledger for this test."""
    path = folder / "ledger"
    shutil.copyfile(LEDGERS / f"{name}.sqlite3", path)
    path.chmod(0o600)
    return path


def printed(name: str) -> dict[str, Any]:
    """The values that the program which wrote a ledger printed of it."""
    values: dict[str, Any] = json.loads((LEDGERS / f"{name}.json").read_text())
    return values


def rows(path: Path) -> list[dict[str, Any]]:
    """The answers in a file, in the order in which they were stored, columns by today's names."""
    with closing(sqlite3.connect(path)) as db:
        db.row_factory = sqlite3.Row
        found = [dict(row) for row in db.execute("SELECT rowid, * FROM answers ORDER BY rowid")]
    for row in found:
        if "shown" in row:
            row["disclosed"] = row.pop("shown")
    return found
