"""Gains over simpler answers, and the public model that cross-validation chooses."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from privet.learning.core.public_data import PublicData
from privet.protocol.features import Range
from reproduce.contestants import Scored
from reproduce.datasets import CLASSES, Split
from reproduce.effects import by_set, effects, gain_over
from reproduce.experiment import EXPECTED
from reproduce.ours import CrossValidated


def losses(*rows: tuple[str, str, float, float]) -> pd.DataFrame:
    """A table of errors by row, series and ε."""
    return pd.DataFrame(rows, columns=["problem", "series", "epsilon", "mean"])


TWO_KINDS = losses(
    *(("a, fair", "public stack", 0.0, 0.20), ("a, found", "public stack", 0.0, 0.20)),
    *(("b, fair", "public stack", 0.0, 0.10), ("b, fair", "public linear", 0.0, 0.08)),
    *(("a, fair", "Privet", 1.0, 0.16), ("a, found", "Privet", 1.0, 0.20)),
    ("b, fair", "Privet", 1.0, 0.09),
    *(("a, fair", "randomized response", 1.0, 0.32), ("a, found", "randomized response", 1.0, 0.4)),
    ("b, fair", "randomized response", 1.0, 0.18),
)


def test_the_rows_of_a_set_count_once() -> None:
    """Gains of 20 and 0 % of one set and 10 % of another: means of sets 10 and 10, so 10 ± 0.

    Three rows as one each would have 10 ± 5.8. The best public model is the linear one of b.
    """
    text = effects(TWO_KINDS, best="min").splitlines()
    assert text[0] == "| gain, % | ε = 1 |"
    assert text[2:4] == [
        "| over its own public model: mean | +10.00 ± 0.00 |",
        "| median | +10.00 |",
    ]
    assert "| over the label alone, at the same ε: mean | +50.00 ± 0.00 |" in text
    assert "| over the public model that cross-validation chooses: mean | – |" in text
    at_best = "| over the best public model, chosen afterwards: mean | −1.25 ± 11.25 |"
    assert at_best in text
    assert text[-1].startswith("Means over 2 sets, each set's rows averaged first")
    assert text[-1].endswith("medians over 3 rows for each ε.")


def test_accuracy_is_in_points_and_a_brier_score_is_preferred() -> None:
    """Of one set: .75 over .70 is 5 points; where the table has Brier scores, they count."""
    table = losses(("s", "public stack", 0.0, 0.70), ("s", "Privet", 2.0, 0.75))
    text = effects(table, best="max")
    assert "| gain, points of accuracy | ε = 2 |" in text
    assert "| over its own public model: mean | +5.00 |" in text
    text = effects(table.assign(brier=[0.2, 0.25]), best="max")
    assert "| over its own public model: mean | −25.00 |" in text


def test_the_first_blind_bench_has_the_gains_that_its_page_states() -> None:
    """Each set once, by ε."""
    tables = [pd.read_csv(EXPECTED / f"blind-{name}.csv") for name in ("classes", "numbers")]
    table = pd.concat(
        [one.assign(row=one["problem"], loss=one["mean"]) for one in tables], ignore_index=True
    )
    means = []
    for epsilon in (0.5, 1.0, 2.0, 4.0):
        gains = gain_over(table, "public stack", epsilon, in_points=False)
        assert (len(gains), len(by_set(gains))) == (14, 7)
        means.append(f"{by_set(gains).mean():.2f}")
    said = f"{', '.join(means[:-1])} and {means[-1]} %"
    page = " ".join((Path(EXPECTED).parent / "tables" / "blind.md").read_text().split())
    assert f"its mean gain is {said} at ε = 0.5, 1, 2 and 4" in page


class Constant:
    """A model that predicts one number, and remembers how often it was tested."""

    def __init__(self, value: float) -> None:
        self.value, self.tested = value, 0

    def __call__(self, split: Split, _epsilon: float, _seed: int) -> Any:
        self.tested += len(split.test)
        error = float(((self.value - split.test.y) ** 2).mean())
        point: Scored = ("constant", {}, {"score": error})
        yield point


def test_cross_validation_takes_what_is_best_on_public_rows() -> None:
    """Also where the other would have been better on the test rows; each row is tested once."""
    rng = np.random.default_rng(0)
    X, zeros = rng.random((50, 1)), np.zeros(50)
    label = Range(name="y", low=0.0, high=1.0)
    split = Split(PublicData(X, zeros), PublicData(X, zeros), PublicData(X, zeros + 1.0), label)
    low, high = Constant(0.1), Constant(0.9)
    ((name, _, scored),) = CrossValidated("chosen", [high, low])(split, 0.0, 0)
    assert name == "chosen"
    assert scored["score"] == pytest.approx(0.81)
    assert high.tested == 50


def test_a_class_of_one_public_row_is_never_tested() -> None:
    """Nor does any fold lack a class to learn from."""
    X, y = np.random.default_rng(0).random((21, 1)), np.array([0.0] * 12 + [1.0] * 8 + [2.0])
    data = PublicData(X, y)
    folds = [*CrossValidated("chosen", []).folds(Split(data, data, data, CLASSES))]
    assert len(folds) == 5
    assert np.concatenate([fold.test.y for fold in folds]).tolist().count(2.0) == 0
    assert sum(len(fold.test) for fold in folds) == 20
    assert all({*fold.public.y} == {0.0, 1.0, 2.0} for fold in folds)
