"""What a task says about records: features, label, and the text form of category names."""

import math
import re
from decimal import Decimal
from typing import Annotated, Any, Literal, Self

import numpy as np
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from privet.protocol.limits import MAX_CLASSES, MAX_COLUMNS

UNSHOWABLE = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
"""Control characters, line breaks, direction overrides, lone surrogates: what could make a name
look like another one, or write over what stands beside it."""


def showable(name: str) -> str:
    """``name``, if it shows as what it is; raises ``ValueError`` that says what to remove."""
    found = UNSHOWABLE.search(name)
    if found is not None:
        msg = f"remove character {found.start() + 1}, the control character U+{ord(found[0]):04X}"
        raise ValueError(msg)
    return name


Name = Annotated[str, Field(min_length=1, max_length=200), AfterValidator(showable)]
Category = Annotated[str, Field(min_length=1, max_length=1_000), AfterValidator(showable)]


class Published(BaseModel):
    """Base of everything that crosses the wire: immutable, no other fields, no conversions.

    The one freedom is that a list may stand for a tuple, since msgpack and JSON know only lists.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)


class Numeric(Published):
    """A number; it is scaled so that [low, high] becomes [0, 1], and clipped to that range."""

    kind: Literal["numeric"] = "numeric"
    name: Name
    low: float
    high: float
    missing: float | None = Field(
        default=None, description="Stands in for a missing value; without it one is refused."
    )

    @model_validator(mode="after")
    def _check_range(self) -> Self:
        if self.low > self.high:
            msg = f"feature {self.name!r}: low {self.low} must not be above high {self.high}"
            raise ValueError(msg)
        _check_width(f"feature {self.name!r}", self.low, self.high)
        return self


class Categorical(Published):
    """One of several named categories; it becomes one 0/1 column per category."""

    kind: Literal["categorical"] = "categorical"
    name: Name
    categories: Annotated[
        tuple[Category, ...],
        Field(strict=False, fail_fast=True, min_length=1, max_length=MAX_COLUMNS),
    ]
    missing: str | None = Field(
        default=None, description="Stands in for a missing value; without it one is refused."
    )
    unknown: str | None = Field(
        default=None, description="Stands in for an unlisted category; without it one is refused."
    )

    @model_validator(mode="after")
    def _check_categories(self) -> Self:
        _check_distinct(f"feature {self.name!r}: categories", self.categories)
        for rule in (self.missing, self.unknown):
            if rule is not None and rule not in self.categories:
                msg = f"feature {self.name!r}: stand-in {rule!r} is not one of its categories"
                raise ValueError(msg)
        return self


Feature = Annotated[Numeric | Categorical, Field(discriminator="kind")]


class Classes(Published):
    """A label that is one of several named classes."""

    kind: Literal["classes"] = "classes"
    name: Name
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
        """Number of label values a mechanism tells apart."""
        return len(self.classes)


class Range(Published):
    """A numeric label, clipped to [low, high]."""

    kind: Literal["range"] = "range"
    name: Name
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
        """Two: the label is told as a random draw between the ends of its range."""
        return 2


Label = Annotated[Classes | Range, Field(discriminator="kind")]


def category_text(value: Any) -> str:
    """The name under which a raw value is a category or class.

    Whole numbers lose their fraction and truth values become ``0`` and ``1``, so that ``1``,
    ``1.0``, ``True`` and ``"1"`` name the same class whether they come from CSV, Parquet or JSON.
    """
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, str):
        return value.strip()
    if isinstance(value, bool):
        return str(int(value))
    if isinstance(value, float | Decimal) and math.isfinite(value) and value == int(value):
        return str(int(value))
    return str(value)


def is_missing(value: Any) -> bool:
    """Whether a raw value counts as missing: None, NaN or an empty string."""
    if isinstance(value, str):
        return not value.strip()
    return value is None or (isinstance(value, float) and math.isnan(value))


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
