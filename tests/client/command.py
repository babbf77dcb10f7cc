"""The command line of a holder, with a ledger and a record of its own."""

import json
from pathlib import Path
from typing import Any

from typer.testing import CliRunner, Result

from privet.client import SqliteLedger
from privet.client.cli import app
from tests.protocol.examples import RECORD


class Command:
    """`privet-holder` with a ledger of its own and a record on disk."""

    def __init__(self, folder: Path, record: dict[str, Any] = RECORD) -> None:
        self.ledger = SqliteLedger(folder / "ledger")
        self.record = folder / "record.json"
        self.record.write_text(json.dumps(record))

    def __call__(self, *arguments: str, stdin: str | None = None) -> Result:
        ledger = [] if arguments[0] == "show" else ["--ledger", str(self.ledger.path)]
        return CliRunner().invoke(app, [*arguments, *ledger], input=stdin)

    def answer_lines(
        self, url: str, lines: str, *arguments: str, stdin: str | None = None
    ) -> Result:
        """Answer for every line of a file whose subjects are in the column ``who``."""
        file = self.record.with_name("site.csv")
        file.write_text(f"who,{','.join(json.loads(self.record.read_text()))}\n{lines}")
        csv = ("--csv", str(file), "--subject-column", "who")
        return self("answer", url, *csv, *arguments, stdin=stdin)

    def answer(self, url: str, *arguments: str, stdin: str | None = None) -> Result:
        return self("answer", url, "--record", str(self.record), *arguments, stdin=stdin)
