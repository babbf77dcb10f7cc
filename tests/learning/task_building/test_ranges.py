"""Ranges that a spreadsheet made days of are asked about, and true months and days are not."""

import datetime as dt
from collections import Counter

import numpy as np
import pytest

from privet.learning.task_building.ranges import excels_months
from privet.learning.task_building.review import propose, review
from privet.learning.task_building.settings import TaskSettings
from privet.learning.task_building.table import read_table

SETTINGS = TaskSettings(name="t", label="y", epsilon=1.0)


def made(texts: list[str]) -> dict[str, str]:
    return {each.old: each.new for each in excels_months(Counter(texts * 9))}


@pytest.mark.parametrize(
    ("texts", "ranges"),
    [
        (["2-Jan", "4-Mar", "9-May", "12-Oct"], ["1-2", "3-4", "5-9", "10-12"]),
        (["01. Feb", "03. Apr"], ["1-2", "3-4"]),
        (["2026-01-02", "2026-03-04", "2026-05-09"], ["1-2", "3-4", "5-9"]),
        (["2026-02-01", "2026-04-03", "2019-10-01"], ["1-2", "3-4", "10-19"]),
        (["1/2/2026", "3/4/2026", "5/9/26"], []),  # of two years
        (["1/2/2026", "3/4/2026", "5/9/2026"], ["1-2", "3-4", "5-9"]),
        (["01.02.2026", "03.04.2026", "01.10.2019"], ["1-2", "3-4", "10-19"]),
        (["Jan-20", "Feb-20", "Mar-20"], []),
        (["2024-02-01", "2024-03-01", "2024-04-01"], []),
        (["2026-01-15", "2026-04-15", "2026-07-15"], []),
        (["2026-01-02", "2026-03-04"], []),
        (["2-Jan", "yes", "no"], []),
    ],
)
def test_days_are_ranges_if_none_of_these_overlap(texts: list[str], ranges: list[str]) -> None:
    assert made(texts) == dict(zip(texts, ranges, strict=False))


def test_days_beside_ranges_or_a_word_are_ranges_too() -> None:
    """As cells of dates in a workbook are read."""
    assert made(["2026-01-02", "3-4", "50+"]) == {"2026-01-02": "1-2"}
    assert made(["2019-10-01", "20-49", "<10"]) == {"2019-10-01": "10-19"}
    assert made(["2-Jan", "4-Mar", "9-May", "none"]) == {
        "2-Jan": "1-2", "4-Mar": "3-4", "9-May": "5-9"
    }  # fmt: skip


def test_true_days_are_seldom_taken_for_ranges() -> None:
    """In 1 of 100 columns at most, of 3 to 12 days of one year, of which none is close."""
    rng = np.random.default_rng(0)
    first, asked = dt.date(2026, 1, 1), 0
    for _ in range(600):
        days = rng.choice(365, rng.integers(3, 13), replace=False).tolist()
        asked += bool(made([(first + dt.timedelta(days=day)).isoformat() for day in days]))
    assert asked <= 6


def test_a_column_of_such_days_alone_is_asked_about() -> None:
    """In place of the question on dates, and a renaming is ready; the year is none to ask for."""
    lines = ["size,y", *["2026-01-02,a", "2026-03-04,b", "2026-05-09,b"] * 9]
    table = read_table("\n".join(lines).encode())
    said, at_once = review(table, SETTINGS)
    assert said == (
        "'size' has dates that a spreadsheet made of its ranges: rename '2026-01-02' to '1-2', "
        "'2026-03-04' to '3-4', '2026-05-09' to '5-9' (rename=…)."
    )
    assert '"2026-01-02": "1-2"' in at_once
    of_size, _ = propose(table)
    assert of_size.years is None
    assert len(of_size.merges) == 3
    rename = {each.old: each.new for each in of_size.merges}
    assert review(table, SETTINGS.model_copy(update={"rename": {"size": rename}})) == []


def test_the_year_of_days_of_one_year_is_no_answer() -> None:
    """It is not offered."""
    table = read_table(b"day,y\n" + b"2026-01-05,a\n2026-01-06,b\n2026-02-06,b\n" * 9)
    (said,) = review(table, SETTINGS)
    assert "years" not in said
    assert propose(table)[0].years is None
