"""The measurement of the book of ids, on a tiny size."""

import pytest
from typer.testing import CliRunner

from bench import report_ids
from privet.curator.datastore import report_ids as book


@pytest.mark.parametrize("arguments", [[], ["--rows"]])
def test_it_measures_runs_and_rows(arguments: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """It prints a line for each tenth of the ids and one for the restart."""
    monkeypatch.setattr(book, "BULK", book.BULK)  # --rows changes it
    sizes = ["--ids", "50000", "--batch", "5000"]
    answer = CliRunner().invoke(report_ids.app, [*sizes, *arguments])
    assert answer.exit_code == 0, answer.output
    lines = answer.output.splitlines()
    assert [line.split(" ids:")[0].strip() for line in lines[:-1]] == [
        f"{count:,}" for count in range(5_000, 50_001, 5_000)
    ]
    assert lines[-1].startswith("first claim after a restart")
