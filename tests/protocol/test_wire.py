from typing import Any

import msgpack
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy
from pydantic import ValidationError

from privet.protocol import wire
from privet.protocol.errors import InvalidTask, MalformedReport
from privet.protocol.features import Numeric
from privet.protocol.limits import MAX_REPORT_BYTES
from privet.protocol.report import Report
from privet.protocol.task import Task

BOUNDS = wire.Bounds(total=10_000, longest=50, containers=20, items=1_000, text=100, binary=100)
WIDE = wire.Bounds(total=10**6, longest=50, containers=10**4, items=10**4, text=100, binary=100)
"""Above whatever is drawn: leaves are few, but empty lists are none."""
scalars: SearchStrategy[Any] = st.one_of(
    st.integers(-(2**63), 2**64 - 1),
    st.floats(allow_nan=False),
    st.text(max_size=20),
    st.binary(max_size=20),
)
values = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(st.dictionaries(st.text(max_size=5), values, max_size=3))
def test_packing_is_undone_and_does_not_depend_on_order(value: dict[str, object]) -> None:
    """What is packed is read back, and the order in which keys were put in leaves no trace."""
    packed = wire.pack(value)
    assert wire.unpack(packed, WIDE) == value
    assert wire.pack(dict(reversed(value.items()))) == packed


BAD_BYTES = {
    "a number": b"\x01",
    "number keys": msgpack.packb({1: 2}),
    "bytes as keys": msgpack.packb({b"a": 2}),
    "a list as key": b"\x81\x90\x01",
    "a key twice": b"\x82\xa1a\x01\xa1a\x02",
    "invalid UTF-8": b"\x81\xa1\xff\x01",
    "an extension type": msgpack.packb({"a": msgpack.ExtType(5, b"x")}),
    "a list that claims billions": b"\x81\xa1a\xdd\xff\xff\xff\xff",
    "a map that claims billions": b"\xdf\xff\xff\xff\xff",
    "text that claims billions": b"\x81\xa1a\xdb\xff\xff\xff\xff",
    "a long list": msgpack.packb({"a": [0] * 51}),
    "a long text": msgpack.packb({"a": "x" * 101}),
    "many containers": msgpack.packb({"a": [[]] * 21}),
    "too long": msgpack.packb({"a": b"\x00" * 10_000}),
    "a tower": b"\x81\xa1a" + b"\x91" * 9_000 + b"\x00",
}


@pytest.mark.parametrize("data", BAD_BYTES.values(), ids=BAD_BYTES.keys())
def test_hostile_bytes_are_a_value_error(data: bytes) -> None:
    """Whatever is not a bounded map with text keys raises ValueError with a reason."""
    with pytest.raises(ValueError, match=r"\w"):
        wire.unpack(data, BOUNDS)
    with pytest.raises(InvalidTask):
        Task.parse(data)
    with pytest.raises(MalformedReport):
        Report.unpack(data)


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"low": 2.0}, "Feature 'x': low 2.0 must not be above high 1.0."),
        ({"hihg": 1.0}, "hihg: there is no such field: leave it out"),
    ],
)
def test_a_fault_is_described_in_our_words(changes: dict[str, float], text: str) -> None:
    """What a model's own check says is passed on without the framework's preamble."""
    with pytest.raises(ValidationError) as caught:
        Numeric.model_validate({"name": "x", "low": 0.0, "high": 1.0, **changes})
    assert wire.first_fault(caught.value).startswith(text)


@given(st.binary(max_size=200))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    """No byte string makes the readers fail in an unforeseen way."""
    for read, refusal in ((Task.parse, InvalidTask), (Report.unpack, MalformedReport)):
        with pytest.raises(refusal):
            read(data)


def test_a_report_above_the_limit_is_refused_unread() -> None:
    """The size is checked first, so the message names the limit."""
    with pytest.raises(MalformedReport, match=str(MAX_REPORT_BYTES)):
        Report.unpack(b"\x00" * (MAX_REPORT_BYTES + 1))


def test_texts_for_terminals_have_spaces_and_no_control_characters() -> None:
    """Nothing that moves what is read, but the spaces within numbers and before French marks."""
    kept = "2\u202f500\u202f000, 31\u00a0%, 一\u3000二, a b\n"
    assert wire.printable(kept) == kept
    for lost in "\x00\x1b\x85\r\t\u2028\u2029\u202e\u200b\ufeff\ud800":
        assert wire.printable(f"a{lost}b") == "a\ufffdb"
    assert wire.printable("abcdef", 5) == "ab..."
