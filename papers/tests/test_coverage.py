"""Intervals at the default depth, over a small part of the grid that the script measures."""

import numpy as np
import pandas as pd
import pytest

from reproduce import DOCS
from reproduce.coverage import CASES, Quadrants, covered
from reproduce.experiment import EXPECTED
from reproduce.experiments import COLLECTIONS


def in_short(number: float, digits: int) -> str:
    return f"{number:.{digits}f}".removeprefix("0")


def test_the_page_states_the_least_coverage() -> None:
    """Of cells, and by name with few holders in strata."""
    page = " ".join((DOCS / "robustness.md").read_text(encoding="utf-8").split())
    cells = pd.read_csv(EXPECTED / "coverage.csv")
    of_classes = cells.loc[cells["series"].str.endswith("classes"), "mean"]
    ends = " to ".join(in_short(end, 3) for end in (of_classes.min(), of_classes.max()))
    assert f"coverage for classes is {ends}, " in page
    few = pd.read_csv(EXPECTED / "coverage-disclosed.csv")
    gather = few["series"] == "misfits gather"
    assert few.loc[gather, "mean"].max() <= 0.01
    assert "at most .01 of collections" in page
    few = few[~gather].assign(holders=few["strata"] * few["each"])
    of_numbers = few["kind"] == "number"
    means_at_four = of_numbers & (few["epsilon"] == 4.0)
    least = [few.loc[rows, "mean"].min() for rows in (~of_numbers, of_numbers & ~means_at_four)]
    classes, numbers = (in_short(each, 3) for each in least)
    assert f"at least {classes} hold by name for classes and {numbers} for numbers" in page
    worst = few[means_at_four].groupby("holders")["mean"].min()
    assert list(worst.index) == [10, 40, 80, 400]
    ten, forty, eighty, many = (in_short(each, 2) for each in worst)
    said = f"{ten} of ten holders, {forty} of forty, {eighty} of eighty and {many} of 400 hold"
    assert said in page


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize(("holders", "epsilon"), COLLECTIONS[:4])
def test_intervals_cover_at_the_default_depth(name: str, holders: int, epsilon: float) -> None:
    """At least 93 % of cells, under a shift that the prior does not know.

    Runs are repeated until there are 600 intervals. If they covered 95 %, fewer than 93 % are
    covered by chance, at a standard error of 0.9 points, once in 75 trials; seeds are fixed.
    """
    held: list[bool] = []
    while len(held) < 600:
        held += covered(CASES[name], Quadrants(holders, 0.1), epsilon, run=len(held)).tolist()
    assert np.mean(held) >= 0.93
