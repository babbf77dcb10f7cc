"""The features and the label of a record, and how a record becomes numbers.

One definition for holders, curators and simulations. A numeric feature becomes one column in
[0, 1]; a categorical feature becomes one 0/1 column per category. Values outside a numeric range
are moved to its nearest end, so they fall into the nearest cell.

A holder's record is read by ``encode_record``, which never fails and does the same work for every
record: whether a record fits must not show in what its device does.
"""

import contextlib
import itertools
import math
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from typing import Annotated, Any, Literal, NamedTuple, Self, TypeVar

import numpy as np
from numpy.typing import NDArray
from pydantic import AfterValidator, Field, model_validator

from .errors import InvalidRecord
from .limits import MAX_CATEGORY_LENGTH, MAX_CLASSES, MAX_COLUMNS, MAX_NAME_LENGTH
from .wire import Message, left_out

T = TypeVar("T")
Matrix = NDArray[np.float64]
ColumnValues = Sequence[Any] | NDArray[Any]

UNSHOWABLE = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
"""Control characters, line breaks, direction overrides and lone surrogates: with these a name could
look like another one or overwrite the text next to it."""


NUMBER = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?")
"""A number as text; ``float`` reads more (``1_000``, ``inf``, other scripts' digits)."""

MISSING_TEXTS = frozenset({"", "NA", "N/A", "NaN", "nan", "null", "NULL"})


def showable(name: str) -> str:
    """``name`` unless it has such characters; the ``ValueError`` says which one to remove."""
    match = UNSHOWABLE.search(name)
    if match is not None:
        msg = f"remove character {match.start() + 1}, the control character U+{ord(match[0]):04X}"
        raise ValueError(msg)
    return name


Name = Annotated[str, Field(min_length=1, max_length=MAX_NAME_LENGTH), AfterValidator(showable)]
Category = Annotated[
    str, Field(min_length=1, max_length=MAX_CATEGORY_LENGTH), AfterValidator(showable)
]


class Described(Message):
    """A field of a record, with what people who fill it in should know."""

    name: Name
    prompt: Category | None = left_out(None, "The question that people read, instead of the name.")
    description: Category | None = left_out(None, "Help with the answer, below the question.")


class Measured(Described):
    """A numeric field."""

    unit: Name | None = left_out(None, "Unit of the number.")


class Numeric(Measured):
    """A number, scaled so that [low, high] becomes [0, 1], and clipped to that range."""

    kind: Literal["numeric"] = "numeric"
    low: float
    high: float
    missing: float | None = Field(
        default=None,
        description="Replaces a missing value; if absent, missing values are refused.",
    )

    @model_validator(mode="after")
    def _check_range(self) -> Self:
        if self.low > self.high:
            msg = f"feature {self.name!r}: low {self.low} must not be above high {self.high}"
            raise ValueError(msg)
        _check_width(f"feature {self.name!r}", self.low, self.high)
        return self


class Categorical(Described):
    """One of several named categories; it becomes one 0/1 column per category."""

    kind: Literal["categorical"] = "categorical"
    categories: Annotated[
        tuple[Category, ...],
        Field(strict=False, fail_fast=True, min_length=1, max_length=MAX_COLUMNS),
    ]
    missing: str | None = Field(
        default=None,
        description="Replaces a missing value; if absent, missing values are refused.",
    )
    unknown: str | None = Field(
        default=None, description="Replaces an unlisted category; if absent, they are refused."
    )

    @model_validator(mode="after")
    def _check_categories(self) -> Self:
        _check_distinct(f"feature {self.name!r}: categories", self.categories)
        for rule in (self.missing, self.unknown):
            if rule is not None and rule not in self.categories:
                msg = (
                    f"feature {self.name!r}: the replacement {rule!r} is not one of its categories"
                )
                raise ValueError(msg)
        return self


Feature = Annotated[Numeric | Categorical, Field(discriminator="kind")]
Features = Sequence[Numeric | Categorical]


class Classes(Described):
    """A label that is one of several named classes."""

    kind: Literal["classes"] = "classes"
    classes: Annotated[
        tuple[Category, ...],
        Field(strict=False, fail_fast=True, min_length=2, max_length=MAX_CLASSES),
    ]

    @model_validator(mode="after")
    def _check_classes(self) -> Self:
        _check_distinct(f"label {self.name!r}: classes", self.classes)
        return self

    @property
    def slots(self) -> int:
        """Number of label values that a mechanism distinguishes."""
        return len(self.classes)

    @property
    def bounds(self) -> tuple[float, float]:
        """The least and greatest share of a class."""
        return 0.0, 1.0

    @property
    def span(self) -> float:
        """The greatest distance of two shares."""
        return 1.0


class Range(Measured):
    """A numeric label, clipped to [low, high]."""

    kind: Literal["range"] = "range"
    low: float
    high: float

    @model_validator(mode="after")
    def _check_range(self) -> Self:
        if not self.low < self.high:
            msg = f"label {self.name!r}: low {self.low} must be below high {self.high}"
            raise ValueError(msg)
        _check_width(f"label {self.name!r}", self.low, self.high)
        return self

    @property
    def slots(self) -> int:
        """Two: the label is rounded at random to one of the ends of its range."""
        return 2

    @property
    def bounds(self) -> tuple[float, float]:
        """The least and greatest mean."""
        return self.low, self.high

    @property
    def span(self) -> float:
        """The greatest distance of two means."""
        return self.high - self.low


Label = Annotated[Classes | Range, Field(discriminator="kind")]


@dataclass(frozen=True)
class Column:
    """One encoded column: which feature it comes from, and which category if it is an indicator."""

    feature: Numeric | Categorical
    category: str | None = None


def columns_of(features: Features) -> tuple[Column, ...]:
    """The encoded columns in order, one per numeric feature and one per category."""
    return tuple(
        Column(feature, category)
        for feature in features
        for category in (feature.categories if isinstance(feature, Categorical) else (None,))
    )


class EncodedRecord(NamedTuple):
    """Columns ``x``, shape ``(columns,)``, label ``y``, and the ``faults`` of the record, in words.

    A record that fits has none; else it is a misfit, and ``x`` and ``y`` are partly stand-ins. For
    the features ``replaced`` another value counts, a stand-in or the task's replacement.
    """

    x: Matrix
    y: float
    faults: tuple[str, ...]
    replaced: tuple[str, ...] = ()


def encode_record(features: Features, label: Classes | Range, record: Any) -> EncodedRecord:
    """One record, label included, in numbers, and its faults, in words.

    A record does not fit if it is no mapping, has a missing or unknown field, a value of the wrong
    kind, NaN or infinity, or a category or class that is not listed and has no published
    replacement. Raises nothing.
    """
    faults: list[str] = []

    def read(encode: Callable[[Any], T], value: Any, stand_in: Any) -> T:
        try:
            return encode(value)
        except InvalidRecord as error:
            faults.append(error.detail)
        except Exception as error:  # noqa: BLE001 - an exception would leave the holder without a report
            faults.append(
                f"A value cannot be read ({type(error).__name__}): give text or a number."
            )
        return encode(stand_in)

    fields = read(_as_fields, record, {})
    names = {feature.name: None for feature in features}
    read(partial(_check_fields, features), {k: fields[k] for k in fields if k != label.name}, names)
    columns = [read(partial(encode_value, f), fields.get(f.name), stand_in(f)) for f in features]
    y = read(partial(label_value, label), fields.get(label.name), stand_in(label))
    x = np.array([*itertools.chain.from_iterable(columns)], dtype=np.float64)
    replaced = tuple(f.name for f in features if not _is_read(f, fields.get(f.name)))
    return EncodedRecord(x, y, tuple(faults), replaced)


def encode_table(features: Features, table: Mapping[str, ColumnValues]) -> Matrix:
    """Many records, as columns by name, encoded as a matrix of shape ``(rows, columns)``.

    Row i equals ``encode_record`` of record i. Raises ``InvalidRecord`` for a record that does not
    fit, which names the first row at fault in the first field at fault, and for columns of unequal
    length.
    """
    _check_fields(features, table)
    lengths = {len(values) for values in table.values()}
    if len(lengths) > 1:
        raise InvalidRecord("The columns have unequal lengths: give every record every field.")
    rows = lengths.pop() if lengths else 0
    blocks = [np.empty((rows, 0))]
    blocks += [_encode_column(f, table.get(f.name, [None] * rows)) for f in features]
    return np.hstack(blocks)


def label_value(label: Classes | Range, value: Any) -> float:
    """The label as a number: the index of its class, or y clipped to the published range.

    Raises ``InvalidRecord`` for a missing label, an unlisted class, or a label that is no number.
    """
    name = listed_name(label.classes, value) if isinstance(label, Classes) else None
    if name is None and is_missing(value):
        raise InvalidRecord(f"The label {label.name!r} is missing: give it a value.")
    if isinstance(label, Range):
        return min(max(_number(label.name, value), label.low), label.high)
    if name is None:
        raise InvalidRecord(
            f"The label {label.name!r} is {category_text(value)!r}: "
            f"it must be one of {_listed(label.classes)}."
        )
    return float(sum(level for level, each in enumerate(label.classes) if each == name))


def _as_fields(record: Any) -> dict[Any, Any]:
    if not isinstance(record, Mapping):
        raise InvalidRecord("The record must be a mapping: give a value for every feature's name.")
    return dict(record) if type(record) is dict else {k: _given(record, k) for k in record}


class _Unreadable:
    """A value that its mapping does not give: a fault of its own field, and of no other."""

    def __repr__(self) -> str:
        msg = "not given"
        raise TypeError(msg)


def _given(record: Mapping[Any, Any], name: Any) -> Any:
    try:
        return record[name]
    except Exception:  # noqa: BLE001 - as in ``encode_record``
        return _Unreadable()


def stand_in(field: Numeric | Categorical | Classes | Range) -> float | str:
    """The value that counts in the place of one that does not fit."""
    match field:
        case Categorical():
            return field.categories[0]
        case Classes():
            return field.classes[0]
    return field.low


def _check_fields(features: Features, record: Mapping[str, Any]) -> None:
    names = {feature.name for feature in features}
    unknown = sorted(map(repr, set(record) - names))
    if unknown:
        raise InvalidRecord(
            f"Unknown fields {_listed(unknown)}: the task asks for {_listed(sorted(names))}."
        )
    required = {feature.name for feature in features if feature.missing is None}
    absent = sorted(required - set(record))
    if absent:
        raise InvalidRecord(f"Missing fields {_listed(map(repr, absent))}: give each a value.")


def encode_value(feature: Numeric | Categorical, value: Any) -> list[float]:
    """A feature's columns, in order; raises ``InvalidRecord`` for a value that does not fit."""
    name = listed_name(feature.categories, value) if isinstance(feature, Categorical) else None
    if name is None and is_missing(value):
        if feature.missing is None:
            raise InvalidRecord(f"The field {feature.name!r} is missing: give it a value.")
        return encode_value(feature, feature.missing)
    if isinstance(feature, Numeric):
        number, width = _number(feature.name, value), feature.high - feature.low
        return [min(max((number - feature.low) / width, 0.0), 1.0) if width else 0.0]
    name = feature.unknown if name is None else name
    if name is None:
        raise InvalidRecord(
            f"The field {feature.name!r} is {category_text(value)!r}: "
            f"it must be one of {_listed(feature.categories)}."
        )
    return [float(category == name) for category in feature.categories]


def _is_read(feature: Numeric | Categorical, value: Any) -> bool:
    """True if the value is used as given."""
    try:
        if isinstance(feature, Categorical):
            return listed_name(feature.categories, value) is not None
        return math.isfinite(_number(feature.name, value))
    except Exception:  # noqa: BLE001 - as in ``encode_record``
        return False


def listed_name(names: tuple[str, ...], value: Any) -> str | None:
    """The category or class that is a raw value's name; None if it is not listed."""
    name = category_text(value)
    return name if names.count(name) else None  # compares with all of them


def number_value(value: Any) -> float:
    """A raw value as a float, which may be infinite; ValueError or TypeError if it is no number."""
    if isinstance(value, str) and not NUMBER.fullmatch(value):
        msg = "not a number"
        raise ValueError(msg)
    return float(value)


def _number(name: str, value: Any) -> float:
    try:
        number = number_value(value)
    except (TypeError, ValueError, OverflowError):
        raise InvalidRecord(f"The field {name!r} is {value!r}: it must be a number.") from None
    if not math.isfinite(number):
        raise InvalidRecord(f"The field {name!r} is {value!r}: it must be a finite number.")
    return number


def _encode_column(feature: Numeric | Categorical, values: ColumnValues) -> Matrix:
    if isinstance(feature, Categorical):
        return _encode_categories(feature, values)
    numbers = _as_numbers(values)
    if numbers is not None:
        return _encode_numbers(feature, numbers)
    return np.array([_encode_row(feature, row, v) for row, v in enumerate(values)]).reshape(-1, 1)


def _as_numbers(values: ColumnValues) -> Matrix | None:
    """A column of numbers and missing values, these as NaN; None if it holds anything else."""
    if isinstance(values, np.ndarray) and values.dtype.kind in "fiu":
        return values.astype(np.float64)
    if set(map(type, values)) <= {float, int, type(None)}:
        with contextlib.suppress(OverflowError):
            return np.array(values, dtype=np.float64)
    return None


def _encode_row(feature: Numeric | Categorical, row: int, value: Any) -> list[float]:
    try:
        return encode_value(feature, value)
    except InvalidRecord as error:
        raise InvalidRecord(f"Row {row + 1}: {error.detail}") from None


def _encode_categories(feature: Categorical, values: ColumnValues) -> Matrix:
    """Encodes each distinct text or integer once; ``True`` equals 1 and has another name."""
    encoded: list[list[float]] = []
    index_of: dict[Any, int] = {}
    index = np.empty(len(values), dtype=np.intp)
    for row, value in enumerate(values):
        key = (type(value), value) if isinstance(value, str | int) else None
        code = index_of.get(key)
        if code is None:
            code = len(encoded)
            encoded.append(_encode_row(feature, row, value))
            if key is not None:
                index_of[key] = code
        index[row] = code
    return np.array(encoded, dtype=np.float64).reshape(-1, len(feature.categories))[index]


def _encode_numbers(feature: Numeric, values: Matrix) -> Matrix:
    if feature.missing is not None:
        values = np.where(np.isnan(values), feature.missing, values)
    faulty = np.flatnonzero(~np.isfinite(values))
    if faulty.size:
        row = int(faulty[0])
        _encode_row(feature, row, float(values[row]))
    if feature.high == feature.low:
        return np.zeros((len(values), 1))
    with np.errstate(over="ignore"):
        scaled = (values - feature.low) / (feature.high - feature.low)
    return np.clip(scaled, 0.0, 1.0).reshape(-1, 1)


def _listed(names: Iterable[str]) -> str:
    """At most twenty names, so that a message stays readable."""
    short = [*itertools.islice(names, 21)]
    return ", ".join(short[:20]) + (" and more" if len(short) > 20 else "")


def quoted(names: Iterable[str]) -> str:
    """At most twenty names, each in quotes, so that none is a word of the sentence around it."""
    return ", ".join(map(repr, itertools.islice(names, 20)))


def category_text(value: Any) -> str:
    """The name under which a raw value is a category or class.

    A text is its own name. Numbers are spelled as ECMAScript and RFC 8785 spell the 64-bit float
    (``1``, ``0.5``, ``1e-7``), truth values as ``True`` and ``False``.
    """
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, str):
        return value
    is_number = isinstance(value, int | float | Decimal) and not isinstance(value, bool)
    return number_text(value) if is_number else str(value)


def number_text(value: float | Decimal) -> str:
    """A number as ECMAScript spells the 64-bit float."""
    number = float(Decimal(value))
    if abs(number) < 2**53 and number == int(number):
        return str(int(number))
    shortest = Decimal(repr(number)).normalize()
    return format(shortest, "f" if -6 <= shortest.adjusted() <= 20 else "e")


def is_missing(value: Any, listed: Collection[str] = ()) -> bool:
    """True if a raw value is None, NaN, or one of ``MISSING_TEXTS`` that is not ``listed``."""
    if isinstance(value, str):
        return value in MISSING_TEXTS and value not in listed
    return value is None or (isinstance(value, float | np.floating) and math.isnan(value))


def text_counts(values: Iterable[Any], listed: Collection[str] = ()) -> Counter[str]:
    """The number of values with each text; missing ones count only if they are ``listed``."""
    return Counter(category_text(value) for value in values if not is_missing(value, listed))


def _check_width(what: str, low: float, high: float) -> None:
    if not math.isfinite(high - low):
        msg = f"{what}: the range from {low} to {high} is too wide; give a smaller one"
        raise ValueError(msg)


def _check_distinct(what: str, names: tuple[str, ...]) -> None:
    if len(set(names)) != len(names):
        msg = f"{what} must all be different"
        raise ValueError(msg)
    if not all(names) or any(name != name.strip() for name in names):
        msg = f"{what} must not be empty or padded with spaces"
        raise ValueError(msg)
