import json
import math
import time
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from privet.protocol.errors import InvalidRecord
from privet.protocol.features import (
    Categorical,
    Classes,
    Label,
    Numeric,
    Range,
    encode_record,
    encode_table,
    showable,
)
from privet.protocol.values import category_text
from tests.protocol.examples import CLASSES, FEATURES, encoded
from tests.strategies import feature_lists, values_of


@given(st.data())
def test_a_table_is_encoded_row_by_row(data: st.DataObject) -> None:
    """Row i of a table is exactly what encode_record makes of record i."""
    features = data.draw(feature_lists())
    record = st.fixed_dictionaries({feature.name: values_of(feature) for feature in features})
    rows = data.draw(st.lists(record, min_size=1, max_size=6))
    table = {feature.name: [row[feature.name] for row in rows] for feature in features}
    expected = np.array([encoded(features, row) for row in rows])
    assert np.array_equal(encode_table(features, table), expected)
    assert encode_table(features, dict.fromkeys(table, ())).shape == (0, expected.shape[1])
    assert ((expected >= 0) & (expected <= 1)).all()


@pytest.mark.parametrize("dtype", ["float64", "float32", "int64", "uint8"])
def test_numeric_arrays_are_encoded_like_their_values(dtype: str) -> None:
    """numpy columns take the fast way and end where the single values do."""
    values = np.array([0, 19, 20, 33, 60, 255], dtype=dtype)
    table: dict[str, Any] = {"age": values, "work": ["farm"] * len(values)}
    rows = [{"age": value, "work": "farm"} for value in values.tolist()]
    assert np.array_equal(
        encode_table(FEATURES, table), np.array([encoded(FEATURES, row) for row in rows])
    )


def test_values_outside_the_range_go_to_its_ends() -> None:
    """Out of range means the nearest end, however far out; a range of width zero is 0."""
    feature = (Numeric(name="x", low=-1.0, high=3.0),)
    for value, expected in [(-1e308, 0.0), (-1, 0.0), (1, 0.5), ("2", 0.75), (9e307, 1.0)]:
        assert encoded(feature, {"x": value}).tolist() == [expected]
    assert encoded((Numeric(name="x", low=2.0, high=2.0),), {"x": 5}).tolist() == [0.0]


def test_published_rules_replace_missing_and_unknown_values() -> None:
    """NaN and an absent field are replaced; so is an unlisted category."""
    for record in ({"age": 20}, {"age": 20, "work": math.nan}, {"age": 20, "work": "circus"}):
        assert encoded(FEATURES, record).tolist() == [0.0, 0.0, 0.0, 1.0]


BAD_RECORDS = {
    "missing field": ({"work": "farm"}, "Missing fields 'age'"),
    "unknown field": ({"age": 30, "height": 2}, "Unknown fields 'height'"),
    "unknown field that is no text": ({"age": 30, 7: 2}, "Unknown fields 7"),
    "missing value": ({"age": None}, "'age' is missing"),
    "text": ({"age": "old"}, "must be a number"),
    "numpy's NaN": ({"age": np.float32("nan")}, "is missing"),
    "infinity": ({"age": math.inf}, "finite"),
    "a huge integer": ({"age": 10**400}, "must be a number"),
}


@pytest.mark.parametrize(("record", "fault"), BAD_RECORDS.values(), ids=BAD_RECORDS.keys())
def test_records_that_do_not_fit_are_refused(record: dict[Any, Any], fault: str) -> None:
    """The fault names the field, alone and in a table."""
    with pytest.raises(InvalidRecord, match=fault):
        encoded(FEATURES, record)
    with pytest.raises(InvalidRecord, match=fault):
        encode_table(FEATURES, {name: [value] for name, value in record.items()})


class Unreadable:
    """What no JSON has: a value that cannot even be shown."""

    def __float__(self) -> float:
        raise RuntimeError

    __str__ = __repr__ = None  # type: ignore[assignment]


@pytest.mark.parametrize(
    "record",
    [
        None,
        [],
        "text",
        {"age": 30},
        {"age": 30, "answer": "maybe"},
        {"age": 30, "answer": Unreadable()},
        {"age": Unreadable(), "answer": "yes"},
        {"age": 10**5000, "answer": "yes"},
    ],
    ids=lambda record: type(record).__name__,
)
def test_whatever_the_record_is_it_is_encoded(record: Any) -> None:
    """No exception ever: columns, a label and the reason, for what is no record at all too."""
    x, y, faults, _ = encode_record(FEATURES, CLASSES, record)
    assert all(faults)
    assert faults
    assert x.shape == (4,)
    assert y in (0.0, 1.0)
    assert set(x.tolist()) <= {0.0, 0.25, 1.0}


def test_an_unlisted_category_without_a_rule_is_refused_with_the_list() -> None:
    """The message shows the categories, but never thousands of them."""
    feature = Categorical(name="c", categories=tuple(str(i) for i in range(1000)))
    with pytest.raises(InvalidRecord, match=r"'c' is 'x': it must be one of 0, 1, .*, 19 and more"):
        encoded((feature,), {"c": "x"})
    with pytest.raises(InvalidRecord, match="must be one of"):
        encoded((feature,), {"c": ["a", "list"]})


def test_table_errors_name_the_first_row_at_fault() -> None:
    """Both the fast and the general way count rows from one."""
    pair: list[Any] = [[30, None, None], np.array([30.0, np.nan, np.nan])]
    for values in pair:
        with pytest.raises(InvalidRecord, match=r"^Row 2: .*'age' is missing"):
            encode_table(FEATURES, {"age": values})
    endless: Any = np.array([1.0, 2.0, np.inf])
    with pytest.raises(InvalidRecord, match=r"^Row 3: .*finite"):
        encode_table(FEATURES, {"age": endless})
    with pytest.raises(InvalidRecord, match="unequal lengths"):
        encode_table(FEATURES, {"age": [1, 2], "work": ["farm"]})


GROUPS = json.loads(Path(__file__).parents[1].joinpath("vectors", "values.json").read_text())


@pytest.mark.parametrize("group", GROUPS)
def test_values_are_read_as_the_table_says(group: dict[str, Any]) -> None:
    """In a record, in a table and as a label alike; null means that the value does not fit."""
    for value, read in group["reads"]:
        check_reading(group, value, read)


def check_reading(group: dict[str, Any], value: Any, read: Any) -> None:
    missing, unknown = group.get("missing"), group.get("unknown")
    if "low" in group:
        low, high = group["low"], group["high"]
        feature: Numeric | Categorical = Numeric(name="x", low=low, high=high, missing=missing)
        label: Label = Range(name="x", low=low, high=high)
        wanted = None if read is None else [read / high]
        as_label = read
    else:
        names = tuple(group["listed"])
        feature = Categorical(name="x", categories=names, missing=missing, unknown=unknown)
        label = Classes(name="x", classes=names)
        wanted = None if read is None else [float(name == read) for name in names]
        as_label = None if read is None else names.index(read)
    assert misfit_or(lambda: encoded((feature,), {"x": value}).tolist()) == wanted
    table = misfit_or(lambda: encode_table((feature,), {"x": [value]}).tolist()[0])
    assert table == wanted
    if missing is None and unknown is None:
        assert misfit_or(lambda: label.encode(value)) == as_label


def misfit_or(read: Callable[[], Any]) -> Any:
    """What ``read`` returns, or None if the record does not fit."""
    try:
        return read()
    except InvalidRecord:
        return None


def test_a_long_text_is_read_at_once() -> None:
    """The pattern of a number looks at each character once."""
    started = time.process_time()
    with pytest.raises(InvalidRecord, match="must be a number"):
        encoded(FEATURES, {"age": "1" * 100_000 + "x"})
    assert time.process_time() - started < 1.0


NUMBERS = [
    (1e-7, "1e-7"),
    (1e-6, "0.000001"),
    (-0.0, "0"),
    (0.1, "0.1"),
    (-2.5, "-2.5"),
    (1e20, "100000000000000000000"),
    (1.5e21, "1.5e+21"),
    (2**53, "9007199254740992"),
    (2**60, "1152921504606847000"),
    (2**60 + 1, "1152921504606847000"),
    (10**400, "Infinity"),
    (Decimal("0.10"), "0.1"),
    (np.float32(0.1), "0.10000000149011612"),
    (5e-324, "5e-324"),
]


@pytest.mark.parametrize(("value", "text"), NUMBERS, ids=repr)
def test_numbers_are_spelled_as_ecmascript_spells_them(value: Any, text: str) -> None:
    """One published spelling, the shortest that reads back as the same 64-bit float."""
    assert category_text(value) == text


@pytest.mark.parametrize("value", [1, 1.0, np.int64(1), np.float32(1), Decimal("1.00"), "1"])
def test_a_number_is_one_category_in_every_library(value: Any) -> None:
    """Python's and numpy's; a truth value, and another spelling, are none of the number's."""
    column = encode_table((Categorical(name="c", categories=("1", "True")),), {"c": [value]})
    assert column.tolist() == [[1.0, 0.0]]
    column = encode_table((Categorical(name="c", categories=("1", "True")),), {"c": [True]})
    assert column.tolist() == [[0.0, 1.0]]
    with pytest.raises(InvalidRecord, match="'c' is ' 1'"):
        encoded((Categorical(name="c", categories=("1", "True")),), {"c": f" {int(value)}"})


NAMES = ["Zwölf Äpfel 🍎", "wide\u00a0space", "می\u200cخواهم", "👩\u200d🔬", "<b>&amp;[red]"]


@pytest.mark.parametrize("name", NAMES)
def test_text_of_all_languages_is_a_name(name: str) -> None:
    """Joiners, emoji, spaces of all widths and markup are text like any other."""
    assert showable(name) == name
    assert Numeric(name=name, low=0.0, high=1.0).name == name
    assert Classes(name="y", classes=(name, "other")).classes[0] == name


@pytest.mark.parametrize("character", "\x00\n\t\x1b\x7f\x85\u2028\u202e\u2066\ud800")
def test_what_hides_or_overwrites_text_is_refused(character: str) -> None:
    """In names, categories and classes alike; the fault says which character, and where."""
    name = f"a{character}b"
    fault = rf"remove character 2, the control character U\+{ord(character):04X}"
    with pytest.raises(ValueError, match=fault):
        showable(name)
    for make in (
        lambda: Numeric(name=name, low=0.0, high=1.0),
        lambda: Categorical(name="x", categories=(name,)),
        lambda: Classes(name="y", classes=(name, "other")),
    ):
        with pytest.raises(ValidationError):
            make()
