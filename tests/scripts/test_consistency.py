"""The parts of the experiments that compare variants on the same reports."""

import math
from pathlib import Path

import numpy as np
import pytest

from scripts.reproduce.consistency import (
    STEPS,
    Processed,
    gains,
    projected,
    settings,
    summary,
    write,
)
from scripts.reproduce.real import read
from tests.curator.estimation.examples import complete, reports


def test_differences_are_paired() -> None:
    """What both variants share cancels out, in the difference and in its standard error."""
    shared = np.random.default_rng(0).random(10)
    gain = np.array([0.1, 0.2, 0.3, 0.4, 0.5, 0.5, 0.4, 0.3, 0.2, 0.1])
    scores = {
        (1.0, "drift", "plain"): list(shared),
        (1.0, "drift", "other"): list(shared + gain),
    }
    plain, other = summary("set", scores, "plain")
    assert (plain["difference"], plain["standard_error"]) == (0.0, 0.0)
    assert other["difference"] == pytest.approx(0.3)
    assert other["standard_error"] == pytest.approx(gain.std(ddof=1) / math.sqrt(10), abs=1e-5)
    assert other["mean"] == pytest.approx(shared.mean() + 0.3, abs=1e-5)
    assert other["runs"] == 10


def test_rows_are_read_as_they_were_written(tmp_path: Path) -> None:
    """An interrupted run keeps the settings it has finished."""
    rows = summary("set", {(2.0, "ratio", "plain"): [1.5, 2.5]}, "plain")
    write(tmp_path / "rows.csv", rows)
    assert read(tmp_path / "rows.csv") == [{k: str(v) for k, v in rows[0].items()}]
    assert read(tmp_path / "none.csv") == []


def test_settings_without_files_are_left_out(tmp_path: Path) -> None:
    """The synthetic design needs no file; a data set does."""
    assert settings(tmp_path, "", numbers=True) == ["gamma 0.5, 50 public", "gamma 5, 1000 public"]
    (tmp_path / "abalone.csv.gz").touch()
    assert settings(tmp_path, "abalone;rice", numbers=True) == ["abalone"]


def test_projection_subtracts_one_amount_from_all_that_stay() -> None:
    """Norm-Sub, found the slow way by bisecting the amount."""
    counts = np.random.default_rng(1).normal(10.0, 30.0, size=(16, 2))
    low, high = -1e3, 1e3
    for _ in range(200):
        middle = (low + high) / 2
        left = np.maximum(counts - middle, 0.0).sum()
        low, high = (middle, high) if left > 300 else (low, middle)
    np.testing.assert_allclose(projected(counts, 300), np.maximum(counts - low, 0.0), atol=1e-9)


@pytest.mark.parametrize("name", ["clipped", "clipped and scaled", "projected"])
def test_steps_leave_consistent_counts(name: str) -> None:
    """None is negative; n in all, but for clipping alone."""
    asked = reports(complete(4), np.full((16, 2), 10), 0.3, seed=2)
    done = Processed(asked.partition, asked.mechanism, asked.sums, asked.n, step=STEPS[name])
    assert (asked.counts < 0.0).any()
    assert (done.counts >= 0.0).all()
    if name != "clipped":
        assert done.counts.sum() == pytest.approx(asked.n)


def row(
    name: str, epsilon: float, variant: str, mean: float, difference: float, error: float
) -> dict[str, str | float]:
    return {
        "set": name,
        "epsilon": epsilon,
        "method": "drift",
        "variant": variant,
        "mean": mean,
        "difference": difference,
        "standard_error": error,
        "runs": 2,
    }


def test_points_of_accuracy_over_all_settings() -> None:
    """Of +1, -3 and +0.1 points the first two are beyond two standard errors."""
    rows = [
        row("rice", epsilon, variant, 0.9 + difference, difference, 0.004)
        for epsilon, gain in ((0.5, 0.01), (2.0, -0.03), (8.0, 0.001))
        for variant, difference in (("plain", 0.0), ("other", gain))
    ]
    assert gains(rows, "plain").splitlines()[2:] == [
        "| drift | other | -0.6, -3.0, +1.0 | 1 / 1 of 3 |"
    ]


def test_a_smaller_error_of_numbers_is_a_gain_in_per_cent() -> None:
    """From 5 to 4.5 is a gain of 10 %; sets with classes are left out."""
    rows = [
        row("abalone", 2.0, "plain", 5.0, 0.0, 0.0),
        row("abalone", 2.0, "other", 4.5, -0.5, 0.1),
        row("rice", 2.0, "plain", 0.9, 0.0, 0.0),
        row("rice", 2.0, "other", 0.8, -0.1, 0.01),
    ]
    assert gains(rows, "plain", numbers=True).splitlines()[2:] == [
        "| drift | other | +10.0, +10.0, +10.0 | 1 / 0 of 1 |"
    ]
