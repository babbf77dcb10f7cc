"""The tables of docs/accuracy.md: what is measured anew replaces what was, and ranks are sums."""

from pathlib import Path

import numpy as np
import pytest

from scripts.pages import Rows, read, write
from scripts.reproduce.accuracy import merged, on_split, section, summary
from scripts.reproduce.datasets import DESIGNS, REGRESSION, deal, missing
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
    file = tmp_path / "accuracy.csv"
    write(file, MEASURED)
    found = merged(read(file), [row("rice", 1.0, "drift", 0.96)])
    assert len(found) == len(MEASURED)
    assert read(tmp_path / "none.csv") == []
    shown = section("rice", [each for each in found if each["set"] == "rice"])
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


def test_of_a_grid_the_best_point_is_kept() -> None:
    """The largest accuracy, or the smallest error; a method without a grid is left as it is."""
    scores = {(1.0, "LPCT|1|5"): [0.5, 0.7], (1.0, "LPCT|2|5"): [0.9, 0.7], (1.0, "drift"): [0.6]}
    best, drift = summary("set", scores, sign=1.0)
    assert (best["method"], best["mean"]) == ("LPCT, tuned on the test rows", 0.8)
    assert best["standard_error"] == pytest.approx(0.1)
    assert (drift["method"], drift["mean"], drift["standard_error"]) == ("drift", 0.6, 0.0)
    assert summary("set", scores, sign=-1.0)[0]["mean"] == 0.6


def test_designs_need_no_files(tmp_path: Path) -> None:
    """The synthetic design is always there; a data set needs its file."""
    assert all(missing(tmp_path, name) == [] for name in DESIGNS)
    assert missing(tmp_path, REGRESSION[0]) == [tmp_path / f"{REGRESSION[0]}.csv.gz"]


@pytest.mark.slow
def test_a_family_has_the_same_figures_alone(tmp_path: Path) -> None:
    """Families draw from generators of their own; the paper's method has its whole grid."""
    split = deal(tmp_path, next(iter(DESIGNS)), 0)
    together = list(on_split(split, "design", 0, ["max_edge", "papers"]))
    assert list(on_split(split, "design", 0, ["max_edge"])) == [
        each for each in together if each[1] == "averaged, max-edge cells"
    ]
    assert len(together) == 5 * (1 + 10 * 17)
    np.testing.assert_array_less(0.2, [value for *_, value in together])
