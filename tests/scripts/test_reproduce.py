"""The tables of docs/accuracy.md: what is measured anew replaces what was, and ranks are sums."""

import io
from pathlib import Path

from rich.console import Console

from scripts.reproduce.real import Rows, merged, read, table, write
from scripts.reproduce.tables import ranks


def row(name: str, epsilon: float, method: str, mean: float) -> dict[str, str | float]:
    return {
        "set": name,
        "epsilon": epsilon,
        "method": method,
        "mean": mean,
        "standard_error": 0.0,
        "splits": 2,
    }


MEASURED: Rows = [
    row("rice", 0.0, "public tree", 0.9),
    row("rice", 1.0, "drift", 0.95),
    row("rice", 1.0, "averaged", 0.99),
    row("email", 0.0, "public tree", 0.8),
    row("email", 1.0, "drift", 0.8),
]


def test_only_what_was_measured_anew_is_replaced() -> None:
    """The order stays, a new figure takes the old one's place, and new methods come last."""
    new: Rows = [row("rice", 1.0, "drift", 0.96), row("rice", 1.0, "pruned", 0.7)]
    found = merged(MEASURED, new)
    assert [each["mean"] for each in found] == [0.9, 0.96, 0.99, 0.8, 0.8, 0.7]
    assert MEASURED[1]["mean"] == 0.95


def test_figures_that_were_written_before_are_replaced_and_shown(tmp_path: Path) -> None:
    """A file that is read again has texts for numbers; the same row is the same row."""
    file = tmp_path / "real.csv"
    write(file, MEASURED)
    found = merged(read(file), [row("rice", 1.0, "drift", 0.96)])
    assert len(found) == len(MEASURED)
    console = Console(width=120, file=io.StringIO(), record=True)
    console.print(table("rice", [each for each in found if each["set"] == "rice"]))
    shown = console.export_text()
    assert "0.9600" in shown
    assert "0.9500" not in shown


def test_ranks_add_up_over_sets_and_ties_share_theirs() -> None:
    """drift is first on rice and shares the first two places on email; averaged is not ranked."""
    lines = ranks(MEASURED, ["rice", "email"], best_first=True).splitlines()
    assert lines[0] == "| rank sums over 2 sets | ε = 1 | all |"
    assert lines[2:] == ["| drift | 2.5 | 2.5 |", "| public tree | 3.5 | 3.5 |"]


def test_with_errors_the_least_comes_first() -> None:
    """For mean squared errors the order is reversed."""
    lines = ranks(MEASURED, ["rice"], best_first=False).splitlines()
    assert lines[2].startswith("| public tree | 1 ")
