"""Columns that probably mean something else than what would be published."""

import json
import re
import time
from collections import Counter
from collections.abc import Sequence

import numpy as np
import pytest

from privet.learning.task_building.renaming import prepared, resemblances
from privet.learning.task_building.review import propose, review
from privet.learning.task_building.settings import TaskSettings
from privet.learning.task_building.table import read_table
from privet.protocol.features import Numeric
from privet.protocol.values import text_counts

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
        ([1, "", ""] * 9, "has one number or nothing"),
        (["76.8 kg", '"1,080.5 kg"', "", "k. A."] * 9, "'kg': .*such as '1,080.5 kg' as 1080.5,"),
        (
            ["70 kg", "71.5 kg", "82 kg", "heavy"] * 9,
            r"27 numbers written such as '70 kg' and 9 other texts \('heavy'\), so it becomes 4",
        ),
        (["$5", "$ 12.50"] * 9, r"with the unit '\$'"),
        ([7] * 30, "same value in every row"),
        (["a"] * 30, "same value in every row"),
        (["Ja", "ja", "nein", "JA "] * 9, "differ only in case or spaces"),
        (["1.5", '"2,5"', '"3,5"', '"4,5"'] * 9, "27 texts that are numbers with a decimal comma"),
        (["10%", "0.2", "12.5 %"] * 9, "18 texts that are numbers"),
        (["2024-01-05", "2024-02-06"] * 9, "holds dates or times"),
        (["05.01.2024", "6.2.24"] * 9, "holds dates or times"),
        (["10:00", "11:30:15"] * 9, "holds dates or times"),
        (["farm", "shop", "-", "k.A."] * 9, r"has '-', 'k\.A\.' among its categories"),
        (["farm", "#NV"] * 9, "has '#NV' among its categories"),
        (["DE", "NA", "FR"] * 9, "Namibia"),
    ],
)
def test_what_looks_wrong_is_said(values: list[object], said: str) -> None:
    """A remark starts with the column's name and says what looks wrong."""
    remark, *at_once = remarks(values)
    assert all("at once (rename=" in each for each in at_once)
    assert remark.startswith("'x' ")
    assert re.search(said, remark)


@pytest.mark.parametrize(
    "values",
    [
        [*range(20, 60), 20],
        [row / 7 for row in range(50)],
        ["inf", "-inf", 1, 2.5] * 9,
        ["yes", "no"] * 20,
        [1, "", 2] * 20,
        ["1", "a", "b", "c"] * 9,
        ["shop", "NA", "farm"] * 9,
        ["None", "some"] * 9,
        ["bus", ""] * 20,
        ["3 rooms", "house", "flat"] * 9,
        ["1 kg", "1 g", "2 kg", "heavy"] * 9,
        [f"10.0.{row}.7" for row in range(20)],
        [f"12345678901234567{row:02d}" for row in range(20)],
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


def test_the_label_is_reviewed_as_features_are() -> None:
    """Six classes of two answers are said, unless they are declared; a label may be whole numbers
    that all differ."""
    data = b"x,y\n" + b"1,NO\n2,No\n3,no\n4,YES\n5,Yes\n6,yes\n" * 3
    no, yes, _ = review(read_table(data), SETTINGS)
    assert no.startswith("'y' has categories that differ only in case or spaces ('NO', 'No', 'no')")
    assert "'YES', 'Yes', 'yes'" in yes
    classes = ("NO", "No", "no", "YES", "Yes", "yes")
    assert review(read_table(data), SETTINGS.model_copy(update={"classes": classes})) == []
    renaming = {"y": {"NO": "no", "No": "no", "YES": "yes", "Yes": "yes"}}
    assert review(read_table(data), SETTINGS.model_copy(update={"rename": renaming})) == []
    ids = read_table("\n".join(["y,x", *(f"{row},{row % 3}" for row in range(40))]).encode())
    assert review(ids, SETTINGS) == []


def test_the_wizard_says_what_the_command_says() -> None:
    """One review of the same file, and the spelling to keep of each category: the commonest."""
    data = "x,y\n" + "\n".join(["Ja,a", "ja,b", "ja,a", "nein,b", "-,a"] * 3)
    table = read_table(data.encode())
    of_x, of_y = propose(table)
    said, *alike, at_once = review(table, SETTINGS)
    assert "'-' among its categories" in said  # the wizard asks, as of those that are alike
    assert (of_x.remarks, of_x.blanks) == ((), {"-": 3})
    assert [(each.old, each.new) for each in of_x.merges] == [("Ja", "ja")]
    assert len(alike) == 1
    assert "('Ja', 'ja')" in alike[0]
    assert at_once.endswith('(rename={"x": {"Ja": "ja"}}).')
    assert of_y.merges == ()
    assert of_x.rows == {"Ja": 3, "ja": 6, "nein": 3, "-": 3}


def test_the_ready_renaming_leaves_nothing_that_looks_alike() -> None:
    """Also where one is another's initial and that differs in case, and what was stated is kept."""
    data = "sex,ill\n" + "F,yes\nFemale,ja\nfemale,no\nfemale,YES\nM,nein\nMale,no\nx,yes\n" * 9
    settings = SETTINGS.model_copy(update={"label": "ill", "rename": {"sex": {"x": "M"}}})
    ready = review(read_table(data.encode()), settings)[-1]
    rename = json.loads(ready.partition("(rename=")[2].removesuffix(")."))
    assert rename["sex"] == {"F": "female", "Female": "female", "M": "Male", "x": "Male"}
    agreed = SETTINGS.model_copy(update={"label": "ill", "rename": rename})
    assert review(read_table(data.encode()), agreed) == []
    assert set(prepared(read_table(data.encode()), agreed)["ill"]) == {"no", "yes"}


@pytest.mark.parametrize(
    ("rows", "merges"),
    [
        ({"male": 190, "female": 201, "femal": 2, "Male": 3}, {"femal": "female", "Male": "male"}),
        ({"south": 80, "west": 70, "Suoth": 1, "wset": 1}, {"Suoth": "south", "wset": "west"}),
        ({"Hessen": 60, "Hesen": 2, "Hamburg": 3}, {"Hesen": "Hessen"}),
        ({"Thüringen": 50, "Thueringen": 2}, {"Thueringen": "Thüringen"}),
        ({"Zürich": 50, "Zurich": 40}, {"Zurich": "Zürich"}),
        ({"St. Gallen": 5, "St Gallen": 4, "Sankt Gallen": 3}, {"St Gallen": "St. Gallen"}),
        ({"Iran": 60, "Iraq": 20}, {}),
        ({"yes": 60, "Nein": 20, "no": 50, "ja": 40}, {"ja": "yes", "Nein": "no"}),
        ({"A1": 100, "A2": 1, "level 10": 200, "level 11": 2}, {}),
        ({"yes": 100, "no": 3, "Monday": 100, "Sunday": 2}, {}),
        ({"Österreich": 90, "Ostereich": 3, "": 1, "–": 2}, {"Ostereich": "Österreich"}),
    ],
)
def test_likely_misspellings_are_found(rows: dict[str, int], merges: dict[str, str]) -> None:
    """Rare ones; two that are both frequent, short or codes are two answers."""
    found = resemblances(rows)
    assert {each.old: each.new for each in found} == merges
    assert all(each.old_rows <= each.new_rows for each in found)


def test_many_long_categories_are_compared_in_a_second() -> None:
    """As sentences are: 46 seconds where each is held against each letter by letter."""
    rng = np.random.default_rng(0)
    texts = ["".join(rng.choice([*"abcdefghij klmnop"], 60)) for _ in range(199)]
    rows = {text: 10 if place % 2 else 1_000 for place, text in enumerate(texts)}
    slip = f"{texts[0][:30]}x{texts[0][32:]}"
    started = time.process_time()
    assert [each.old for each in resemblances({**rows, slip: 1})] == [slip]
    assert time.process_time() - started < 3.0


def test_a_column_is_counted_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """However much is asked about it; those of new names are looked up in the file's own."""
    table, counted = read_table(b"x,y\n" + b"Red,0\nred,1\nBlue,0\nblue,1\n" * 9), list[int]()

    def count(values: Sequence[object]) -> Counter[str]:
        counted.append(1)
        return text_counts(values)

    monkeypatch.setattr("privet.learning.task_building.remarks.text_counts", count)
    propose(table)
    assert len(counted) == 1
    assert "All renamings" in review(table, SETTINGS)[-1]
    assert len(counted) <= 1 + 2


def test_a_misspelling_is_remarked_on() -> None:
    """With the rows of both."""
    assert remarks(["north"] * 30 + ["south"] * 20 + ["nort"]) == [
        "'x' has 'nort' in 1 and 'north' in 30 rows: rename one if they are the same.",
        'All renamings of categories that look alike at once (rename={"x": {"nort": "north"}}).',
    ]


@pytest.mark.parametrize(
    ("low", "high", "ends"),
    [
        (0.1, 15.1, (0.0, 16.0)),
        (18.0, 79.0, (15.0, 80.0)),
        (1.0, 5.0, (1.0, 5.0)),
        (12_345.0, 98_765.0, (10_000.0, 100_000.0)),
        (-0.37, 0.02, (-0.38, 0.02)),
        (3.0, 3.0, (3.0, 3.0)),
    ],
)
def test_round_ends_are_proposed(low: float, high: float, ends: tuple[float, float]) -> None:
    """They hold the range, and are at most a tenth of it wider on each side."""
    (proposal, _) = propose({"x": np.array([low, high]), "y": ["a", "b"]})
    assert proposal.round == pytest.approx(ends)


def test_percents_are_published_with_their_unit() -> None:
    """So that people are asked for them, and sites' files are read, as the public file is."""
    rate, label = propose(read_table(b"rate,y\n10%,a\n12.5 %,b\n"))
    assert isinstance(rate.feature, Numeric)
    assert (rate.feature.unit, rate.feature.low, rate.feature.high) == ("%", 10.0, 12.5)
    (pay, _) = propose(read_table(b"pay;y\n6.141;a\n37,5;b\n"))
    assert pay.note == "It has '6.141', which is read as 6141."
    assert rate.note == "It has '10%', which is read as 10 %."
    assert label.note == ""
