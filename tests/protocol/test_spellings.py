"""Readers of tables know the other spellings of a record's values."""

import json
import re
import time
from decimal import Decimal
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from privet.protocol.errors import InvalidRecord
from privet.protocol.features import (
    Categorical,
    Classes,
    Numeric,
    Range,
)
from privet.protocol.spellings import (
    SPACES,
    tidy,
)

GROUPS = json.loads(Path(__file__).with_name("cells.json").read_text())


@pytest.mark.parametrize("group", GROUPS)
def test_cells_are_read_as_the_table_says(group: dict[str, Any]) -> None:
    """As a feature and as a label; null means that the cell does not fit."""
    for cell, read in group["reads"]:
        check_reading(group, cell, read)


def check_reading(group: dict[str, Any], cell: Any, read: Any) -> None:
    missing, unknown = group.get("missing"), group.get("unknown")
    field: Numeric | Categorical
    label: Range | Classes
    if "low" in group:
        field = Numeric(name="x", low=group["low"], high=group["high"], missing=missing)
        label = Range(name="x", low=group["low"], high=group["high"])
    else:
        names = tuple(group["listed"])
        field = Categorical(name="x", categories=names, missing=missing, unknown=unknown)
        label = Classes(name="x", classes=names)
    value = field.read_cell(cell)
    if read is None:
        with pytest.raises(InvalidRecord):
            field.encode(value)
        with pytest.raises(InvalidRecord):
            label.encode(value)
        return
    columns = field.encode(value)
    if isinstance(field, Categorical):
        assert columns == [float(name == read) for name in field.categories]
    else:
        assert columns == [read / field.high]
    if missing is None and unknown is None:
        assert label.encode(value) == (names.index(read) if "listed" in group else read)


@pytest.mark.parametrize("listed", [("False", "True"), ("0", "1"), ("false", "true")])
def test_one_and_true_are_one_category_in_every_library(listed: tuple[str, str]) -> None:
    """Python's and numpy's, as numbers, truth values and texts, in one column."""
    cells = [1, 1.0, True, "1", " 1 ", np.int64(1), np.float32(1), np.bool_(True), Decimal("1.00")]
    cells += ["true", "TRUE", np.array(["True"])[0]]
    field = Categorical(name="c", categories=listed)
    assert field.read_cells([0, *cells]) == [listed[0], *[listed[1]] * len(cells)]


def test_a_cell_is_read_by_its_field() -> None:
    """As its category, or as the number that it spells."""
    assert Categorical(name="c", categories=("1",)).read_cell("01") == "1"
    assert Numeric(name="x", low=0, high=9).read_cell(" TRUE ") == "1"


def test_spaces_are_those_of_unicode() -> None:
    """What has the property White_Space is cut off a text's ends, and nothing else is."""
    field = Numeric(name="x", low=0, high=1)
    assert field.read_cell("\u3000\x85 a b\xa0\n") == "a b"
    assert field.read_cell("\x1ca\ufeff") == "\x1ca\ufeff"
    assert set(SPACES) == {c for c in map(chr, range(0x3001)) if c.isspace()} - set(
        "\x1c\x1d\x1e\x1f"
    )


@pytest.mark.parametrize("many", [" " * 30_000, "\u0300" * 20_000 + "\u0327" * 20_000])
def test_no_text_takes_long_to_be_made_tidy(many: str) -> None:
    """Whatever a stranger writes where a value belongs: spaces, or accents on one letter."""
    started = time.process_time()
    assert tidy(f" a{many}b\n") == f"a{many}b"
    assert time.process_time() - started < 0.5


def test_many_values_of_spaces_take_no_time() -> None:
    """As one form may have; a line break is a space, with all spaces around it."""
    started = time.process_time()
    for _ in range(100):
        tidy("a" + " " * 3_900 + "b\nc")
    assert time.process_time() - started < 0.5
    for text in map("".join, product("a \t\n\r", repeat=6)):
        assert tidy(text) == re.sub(r"[ \t]*[\r\n]+[ \t]*", " ", text.strip(SPACES))
