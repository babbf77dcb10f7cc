"""The suite of shifts: whom its public rows are, and what its table says."""

from pathlib import Path

import numpy as np
import pytest

from privet.curator.public_data import PublicData
from scripts.pages import Row, Rows
from scripts.reproduce import shifts
from scripts.reproduce.datasets import CLASSES, Split
from tests.curator.estimation.examples import complete

SPLIT = slice(3200), slice(3200, None)


@pytest.fixture(autouse=True)
def pool(monkeypatch: pytest.MonkeyPatch) -> None:
    """A set of 4 000 rows along one line, half of each class, instead of files."""

    def dealt(_folder: Path, _name: str, seed: int, *, public: int) -> Split:
        assert public == 0
        rng = np.random.default_rng(seed)
        X = rng.random((4000, 1)) * [1.0, 0.1, 0.1]
        data = PublicData(X, (rng.random(4000) < 0.5).astype(float))
        private, test = (PublicData(data.X[part], data.y[part]) for part in SPLIT)
        return Split(PublicData(X[:0], data.y[:0]), private, test, CLASSES)

    monkeypatch.setattr(shifts, "shuffled", dealt)


@pytest.mark.parametrize("shift", shifts.SHIFTS)
def test_public_rows_are_taken_from_the_holders(shift: str) -> None:
    """No public row is a holder's, and all others of the pool are."""
    split = shifts.shifted(Path(), "set", shift, 1)
    assert len(split.public) == (50 if shift == "scarce" else 200)
    assert len(split.private) == 3200 - len(split.public)
    assert not {*split.public.X[:, 0]} & {*split.private.X[:, 0]}


def test_shifts_are_what_they_say() -> None:
    """Of 200 rows the second class is 2 / 11 among volunteers, give or take 5 errors of .027."""
    volunteers = shifts.shifted(Path(), "set", "volunteers", 1).public
    assert volunteers.y.mean() == pytest.approx(2 / 11, abs=0.14)
    tilted = shifts.shifted(Path(), "set", "tilted", 1).public.X[:, 0].mean()
    assert abs(tilted - 0.5) > 0.15
    same, changed = (
        shifts.shifted(Path(), "set", shift, 1).public for shift in ("as it is", "changed")
    )
    assert (same.y != changed.y).mean() == pytest.approx(shifts.CHANGED, abs=0.16)


def test_the_table_shows_the_share_of_the_way_to_raw_records() -> None:
    """Half of the way where the Brier score lies half way."""
    scores = {"public stack": 0.3, "everybody's raw records": 0.1}
    rows: Rows = []
    for method, brier in scores.items():
        row: Row = {"set": "s", "shift": "scarce", "epsilon": 0.0, "method": method, "splits": 3}
        rows.append(row | {"accuracy": 0.7, "brier": brier, "coverage": float("nan")})
    rows.append({**rows[0], "epsilon": 2.0, "method": "drift", "brier": 0.2, "coverage": 0.95})
    shown = shifts.tables(rows)
    assert "| drift, share of the way | 0.50 |" in shown
    assert "| drift | 0.700, 0.2000, 0.95 |" in shown


def test_a_trusted_curator_counts_with_central_noise() -> None:
    """Counts of 16 entries, off by a standard deviation of 2 sqrt(2) / epsilon each.

    Over 200 draws the mean square is within 5 standard errors, each 8 % at most, false alarm below
    1e-5.
    """
    split = shifts.shifted(Path(), "set", "as it is", 1)
    tree, rng = complete(3, columns=3), np.random.default_rng(0)
    exact = np.round(shifts.ask_centrally(split, tree, 64.0, rng).counts)
    assert exact.sum() == len(split.private)
    off = [shifts.ask_centrally(split, tree, 1.0, rng).counts - exact for _ in range(200)]
    assert np.mean(np.square(off)) == pytest.approx(8.0, rel=0.2)
    assert shifts.ask_centrally(split, tree, 1.0, rng).noise[0, 0, 0] == 8.0
