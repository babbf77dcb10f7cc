"""Columns that probably mean something else than what would be published."""

import re
from collections.abc import Sequence

import pytest

from privet.learning.task_building.review import review
from privet.learning.task_building.settings import TaskSettings
from privet.learning.task_building.table import read_table

SETTINGS = TaskSettings(name="t", label="y", epsilon=1.0)


def remarks(values: Sequence[object], settings: TaskSettings = SETTINGS) -> list[str]:
    """What is said of a column x with these values."""
    lines = [f"{value},{row % 2}" for row, value in enumerate(values)]
    return review(read_table("\n".join(["x,y", *lines]).encode()), settings)


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ([*range(600), "ill"], r"600 numbers and 1 texts \('ill'\), so it becomes 601 categories"),
        ([1, 2, 3, "<5"] * 9, "27 numbers and 9 texts"),
        ([*range(1000, 1030)], "ignore it if it is an id"),
        ([7] * 30, "same value in every row"),
        (["a"] * 30, "same value in every row"),
        (["Ja", "ja", "nein", "JA "] * 9, "differ only in case or spaces"),
    ],
)
def test_what_looks_wrong_is_said(values: list[object], said: str) -> None:
    """A remark starts with the column's name and says what looks wrong."""
    (remark,) = remarks(values)
    assert remark.startswith("'x' ")
    assert re.search(said, remark)


@pytest.mark.parametrize(
    "values",
    [
        [*range(20, 60), 20],
        [row / 7 for row in range(50)],
        ["yes", "no"] * 20,
        [1, "", 2] * 20,
        ["1", "a", "b", "c"] * 9,
    ],
)
def test_the_usual_is_not_remarked_on(values: list[object]) -> None:
    """Repeated numbers, fractions, clean categories, gaps and mostly textual codes pass."""
    assert remarks(values) == []


def test_what_is_declared_is_believed() -> None:
    """A column that is ignored or described is meant as it is."""
    ids = list(range(1000, 1030))
    for declared in ({"ignore": ["x"]}, {"features": {"x": {"kind": "numeric"}}}):
        settings = TaskSettings.model_validate({**SETTINGS.model_dump(), **declared})
        assert remarks(ids, settings) == []
