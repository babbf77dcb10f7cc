"""Numbers as people type them."""

import pytest

from privet.protocol.errors import InvalidRequest
from privet.protocol.features import Categorical, Numeric
from privet.tables.cells import typed_value


def test_numbers_may_be_typed_as_people_write_them() -> None:
    number, text = Numeric(name="x", low=0, high=9), Categorical(name="w", categories=("1,5", "b"))
    said = {"37,5": "37.5", "37.5": "37.5", "1.234,5": "1234.5", "1,234.5": "1234.5"}
    said |= {"1 234,5": "1234.5", "1,234,567": "1234567", "\u22123": "-3", "many": "many"}
    assert {typed: typed_value(number, typed) for typed in said} == said
    assert typed_value(text, "1,5") == "1,5"


def test_a_typed_comma_before_three_digits_is_no_point_and_no_thousand() -> None:
    """Unless only one of both is in the range: ``0,125`` and ``1.125`` are what pages write."""
    small, large = Numeric(name="x", low=0, high=9), Numeric(name="x", low=10_000, high=95_000)
    said = {"0,125": "0.125", "1.125": "1.125", "1,125": "1.125", "1,1250": "1.1250"}
    assert {typed: typed_value(small, typed) for typed in said} == said
    assert typed_value(large, "20,000") == "20000"
    for typed in ("1,125", "-20,000"):  # in neither range, or in none
        with pytest.raises(InvalidRequest, match=rf"^{typed} may be -?\d+ or -?\d+\.\d+: write"):
            typed_value(large, typed)
