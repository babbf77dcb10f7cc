"""Columns of which no question can be made are said to be, with what to do."""

from collections.abc import Iterator, Sequence

import numpy as np
import pytest

from privet.learning.task_building.no_questions import several_answers
from privet.learning.task_building.review import propose, review
from privet.learning.task_building.settings import TaskSettings
from privet.learning.task_building.table import read_table

SETTINGS = TaskSettings(name="t", label="y", epsilon=1.0)
COLOURS = ("Red", "Blue", "Green", "Grey")


def remarks(values: Sequence[object]) -> list[str]:
    lines = [f'"{value}",{row % 2}' for row, value in enumerate(values)]
    return review(read_table("\n".join(["x,y", *lines]).encode()), SETTINGS)


def ticked(rows: int, seed: int = 0) -> Iterator[list[str]]:
    rng = np.random.default_rng(seed)
    for _ in range(rows):
        yield [colour for colour in COLOURS if rng.random() < 0.5]


@pytest.mark.parametrize(
    "values",
    [
        [*range(120)],
        [*range(1, 26)],
        [*range(400), *range(500)],
        [f"{row}.0" for row in range(40)],
    ],
)
def test_row_numbers_are_left_out(values: list[object]) -> None:
    """As pandas and R write them, also where two tables were joined."""
    said = "'x' numbers the rows, which nobody can be asked: leave it out (ignore=…)."
    assert remarks(values) == [said]


def test_other_numbers_in_steps_are_no_row_numbers() -> None:
    """Such as ages in their order, hours, or ids, which are asked about as these."""
    assert remarks([*range(24)] * 9) == []
    assert remarks([*range(20, 60), 20]) == []
    assert remarks([*range(1000, 1030)])[0].endswith("ignore it if it is an id.")
    assert remarks([0, 1, 1, 2, 2, 3] * 9) == []


@pytest.mark.parametrize("mark", [", ", ";", "; "])
def test_cells_with_several_answers_are_to_be_divided(mark: str) -> None:
    """As Google's and Microsoft's forms write them, with an answer of somebody's own."""
    cells = [mark.join(each) for each in ticked(60)]
    (said,) = remarks([*cells, f"Red{mark}a colour of mine"])
    assert said.startswith("'x' has several answers in one cell, such as '")
    assert said.endswith("or leave the column out (ignore=…).")
    assert all(repr(colour) in said for colour in COLOURS)
    table = read_table("\n".join(["x,y", *(f'"{each}",1' for each in cells)]).encode())
    (proposal, _) = propose(table)
    assert proposal.merges == ()
    assert len(proposal.remarks) == 1


@pytest.mark.parametrize(
    "texts",
    [
        ["Bern, Switzerland", "Paris, France", "Rome, Italy", "Lyon, France"],
        ["Yes, often", "Yes, rarely", "No, never", "No"],
        ["adult, m", "adult, f", "child, m", "child, f", "old, m", "old, f", "young, m"],
        ["farm", "shop"],
        ["few, once", "many, once", "few, twice", "many, twice", "none"],
        ["1,5", "2,5", "1"],
    ],
)
def test_commas_within_one_answer_are_none_between_two(texts: list[str]) -> None:
    assert several_answers(texts) is None


def test_remarks_and_names_are_no_categories() -> None:
    """Also where few people wrote one, which would publish their texts."""
    said = "'x' has 12 different texts in 12 rows, as names and remarks are: leave the column out"
    assert remarks(["", *[f"so I said {row}" for row in range(12)], *[""] * 99])[0].startswith(said)
    (said,) = remarks([f"p{row}@example.org" for row in range(60)])
    assert "60 different texts in 60 rows" in said


def test_names_of_blocks_belong_to_the_rows_below() -> None:
    """A label in the first row of each block would be a category of one row."""
    blocks = ["North", *[""] * 29, "South", *[""] * 29]
    (said,) = remarks(blocks)
    assert said == (
        "'x' has 2 different texts in 2 rows, as names and remarks are: write each in the rows "
        "below it if it is theirs, or leave the column out (ignore=…)."
    )


def test_a_column_that_people_ticked_is_a_question() -> None:
    assert remarks(["Bus", "", ""] * 20) == []
    assert remarks(["a", "b", "c", ""] * 9) == []


def test_a_file_of_a_form_is_said_at_once() -> None:
    """A time, an address, several answers and free text, each as such."""
    lines = [
        f'5/{1 + row % 28}/2026 9:{row % 60:02}:00,p{row}@example.org,{20 + row % 50},"'
        f'{", ".join(each)}","it was so, and {row} times",{"yes" if row % 3 else "no"}'
        for row, each in enumerate(ticked(80))
    ]
    header = "Timestamp,Email Address,How old?,Colours?,Comments,Ill?"
    table = read_table("\n".join([header, *lines]).encode())
    settings = SETTINGS.model_copy(update={"label": "Ill?"})
    time, address, colours, comments = review(table, settings)
    assert time.startswith("'Timestamp' holds dates or times")
    assert address.startswith("'Email Address' has 80 different texts")
    assert colours.startswith("'Colours?' has several answers in one cell")
    assert comments.startswith("'Comments' has 80 different texts")
    assert all("(ignore=…)" in each for each in (time, address, colours, comments))
