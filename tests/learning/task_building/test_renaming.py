"""Categories that are renamed and merged before anything is inferred."""

import pytest

from privet.learning.task_building.build import encode_columns
from privet.learning.task_building.renaming import years_of
from privet.learning.task_building.settings import TaskSettings
from privet.learning.task_building.table import read_table
from privet.protocol.errors import InvalidPublicData
from privet.protocol.features import Categorical, Classes, Numeric, Range

DATA = b"work,y\nNA,NO\nfarm,No\nFarm,no\n-,YES\nshop,yes\nshop,yes\n"


def made(rename: dict[str, dict[str, str]], data: bytes = DATA) -> tuple[Categorical, Classes]:
    """The feature and the label with these new names."""
    settings = TaskSettings(name="t", label="y", epsilon=1.0, rename=rename)
    (feature,), label, _ = encode_columns(settings, read_table(data))
    assert isinstance(feature, Categorical)
    assert isinstance(label, Classes)
    return feature, label


def test_categories_are_merged_renamed_and_emptied() -> None:
    """Of a feature and of the label; what counts as missing may get a name, and the reverse."""
    classes = {"NO": "no", "No": "no", "YES": "yes"}
    feature, label = made({"y": classes, "work": {"NA": "none", "Farm": "farm", "-": ""}})
    assert label.classes == ("no", "yes")
    assert feature.categories == ("farm", "none", "shop", "(missing)")
    assert made({"y": classes})[0].categories == ("-", "Farm", "farm", "shop", "(missing)")


def test_numbers_and_truth_values_get_names() -> None:
    """By their names as categories."""
    feature, label = made(
        {"x": {"1": "low", "2": "high"}, "y": {"True": "yes", "False": "no"}},
        b"x,y\n1,TRUE\n2,FALSE\n1,TRUE\n",
    )
    assert feature.categories == ("high", "low")
    assert label.classes == ("no", "yes")


def test_a_missing_number_stays_missing_where_the_others_get_names() -> None:
    """Of a column of 0 and 1 with gaps."""
    data = b"x,y\n1,a\n0,b\n,a\n0,b\n"
    feature, _ = made({"x": {"0": "no", "1": "yes"}}, data)
    assert feature.categories == ("no", "yes", "(missing)")


def test_the_year_of_a_date_counts() -> None:
    """As a number, whatever the date is written in; a date without one is named."""
    data = b"born,y\n21.01.1950,a\n1962-02-03,b\n,a\nMay 4 1970,b\n"
    settings = TaskSettings(name="t", label="y", epsilon=1.0, years=("born",))
    (feature,), _, public = encode_columns(settings, read_table(data))
    assert isinstance(feature, Numeric)
    assert (feature.low, feature.high, feature.missing) == (1950.0, 1970.0, 1962.0)
    assert public.X[:, 0].tolist() == pytest.approx([0.0, 0.6, 0.6, 1.0])
    wrong = settings.model_copy(update={"years": ("y",)})
    with pytest.raises(InvalidPublicData, match="Row 1 of the column 'y' is 'a': it is no date"):
        encode_columns(wrong, read_table(data))
    nowhere = settings.model_copy(update={"years": ("z",)})
    with pytest.raises(InvalidPublicData, match="no column 'z' of whose dates"):
        encode_columns(nowhere, read_table(data))


@pytest.mark.parametrize(
    ("cells", "numbers", "unit"),
    [
        (["76,8 kg", "1.080,5 kg", "k. A."], [76.8, 1080.5, None], "kg"),
        (["1.234,56 €", "12,00 €", ""], [1234.56, 12.0, None], "€"),
        (["$1,234", "$ 12.50", "-"], [1234.0, 12.5, None], "$"),
        (["120 mmol/l", "\u22123 mmol/l", "4 mmol/l"], [120.0, -3.0, 4.0], "mmol/l"),
    ],
)
def test_numbers_are_taken_from_cells_with_their_unit(
    cells: list[str], numbers: list[float | None], unit: str
) -> None:
    """Whatever decimal mark the file has, if all cells have one; people are asked in the unit."""
    data = "\n".join(["x;y", *(f"{cell};{row % 2}" for row, cell in enumerate(cells * 6))])
    settings = TaskSettings(name="t", label="y", epsilon=1.0, numbers=("x",))
    (feature,), _, _ = encode_columns(settings, read_table(data.encode()))
    assert isinstance(feature, Numeric)
    found = [number for number in numbers if number is not None]
    assert (feature.low, feature.high, feature.unit) == (min(found), max(found), unit)
    assert (feature.missing is None) == (None not in numbers)


@pytest.mark.parametrize(
    ("cells", "said"),
    [
        (["76 kg", "80 lb"], "not have one unit in all cells: 'kg', 'lb'"),
        (["76 kg", "80"], "not have one unit in all cells"),
        (["<5 kg", "<6"], "not have one unit in all cells"),
        (["1.5 kg", "2,5 kg"], "several decimal marks"),
        (["76 kg", "(8 kg)"], r"Row 2 of the column 'x' is '\(8 kg\)': it is no number"),
        (["76 kg", "heavy"], "Row 2 of the column 'x' is 'heavy': it is no number"),
    ],
)
def test_numbers_with_several_units_are_refused(cells: list[str], said: str) -> None:
    settings = TaskSettings(name="t", label="y", epsilon=1.0, numbers=("x",))
    with pytest.raises(InvalidPublicData, match=said):
        encode_columns(settings, {"x": cells, "y": ["a", "b"]})
    with pytest.raises(InvalidPublicData, match="no column 'x' whose numbers"):
        encode_columns(settings, {"z": cells, "y": ["a", "b"]})


def test_a_time_of_day_has_no_year() -> None:
    """Nor have its fraction and its offset, which may have four digits."""
    dates = ["1962-02-03T10:00:00.1234Z", "1962-02-03 10:00:00+0100", "Sat Feb 3 10:00 -0500 1962"]
    assert years_of("born", [*dates, "03.02.1962 1:05"]).tolist() == [1962.0] * 4


@pytest.mark.parametrize(
    ("rename", "said"),
    [
        ({"job": {"a": "b"}}, "no column 'job'"),
        (
            {"work": {"fram": "farm"}},
            "no category 'fram' to rename: its categories are 'NA', 'fa",
        ),
    ],
)
def test_what_is_not_there_is_not_renamed(rename: dict[str, dict[str, str]], said: str) -> None:
    """A misspelt name would leave two categories of one."""
    with pytest.raises(InvalidPublicData, match=said):
        made(rename)


def test_a_merge_leaves_one_spelling() -> None:
    """“n” counted as “no” beside “No” would leave two categories of one answer."""
    data = b"x,y\nNo,a\nno,b\nn,a\nYes,b\nYES,a\nn,b\nYes,b\nYES,a\n"
    with pytest.raises(InvalidPublicData, match=r"No.*no.*rename all of them to one"):
        made({"x": {"n": "no"}}, data)
    feature, _ = made({"x": {"n": "no", "No": "no"}}, data)
    assert feature.categories == ("YES", "Yes", "no")
    feature, _ = made({"x": {"n": "perhaps"}}, data)
    assert feature.categories[:2] == ("No", "YES")


EMPTY = b"x,y\n1,often\n2,\n3,never\n4,often\n5,NA\n6,never\n"
"""Two rows without a label, one of which has NA."""


@pytest.mark.parametrize(
    ("names", "classes", "rows"),
    [
        ({"": ""}, ("never", "often"), 4),
        ({"": "no answer"}, ("never", "no answer", "often"), 6),
        ({"": "no answer", "NA": ""}, ("never", "no answer", "often"), 5),
        ({"": "", "NA": "none"}, ("never", "none", "often"), 5),
    ],
)
def test_rows_without_a_label_are_left_out_or_an_answer(
    names: dict[str, str], classes: tuple[str, ...], rows: int
) -> None:
    """All that count as missing, unless a text of them is named."""
    settings = TaskSettings(name="t", label="y", epsilon=1.0, rename={"y": names})
    _, label, public = encode_columns(settings, read_table(EMPTY))
    assert isinstance(label, Classes)
    assert (label.classes, len(public)) == (classes, rows)


def test_rows_without_a_number_are_left_out() -> None:
    """Which stays a number; a column without gaps has nothing to rename."""
    data = b"x,y\na,1\nb,\na,17.5\nb,3\n"
    left_out = TaskSettings(name="t", label="y", epsilon=1.0, rename={"y": {"": ""}})
    _, label, public = encode_columns(left_out, read_table(data))
    assert isinstance(label, Range)
    assert (label.low, label.high, len(public)) == (1.0, 17.5, 3)
    nothing = left_out.model_copy(update={"rename": {"x": {"": ""}}})
    with pytest.raises(InvalidPublicData, match="'x' has no missing value to rename"):
        encode_columns(nothing, read_table(data))


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (
            EMPTY,
            "2 rows, the first is row 2, have no label 'y': leave them out "
            '(rename={"y": {"": ""}}), make them an answer (rename={"y": {"": "no answer"}}), or '
            "fill them in.",
        ),
        (
            b"x,y\na,1\nb,\na,17.5\nb,3\n",
            'Row 2 has no label \'y\': leave it out (rename={"y": {"": ""}}), or fill it in.',
        ),
    ],
)
def test_all_rows_without_a_label_are_refused_at_once(data: bytes, said: str) -> None:
    """With the settings that leave them out, or, of texts, make an answer of them."""
    with pytest.raises(InvalidPublicData) as refused:
        encode_columns(TaskSettings(name="t", label="y", epsilon=1.0), read_table(data))
    assert refused.value.detail == said
