"""The label of a record: one of several classes, or a number in a range."""

from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from ..errors import InvalidRecord
from ..limits import MAX_CLASSES
from ..values import category_text, is_missing, listed_name, some_of
from ..wire import left_out
from .fields import Category, Listed, Measured, check_width, finite_number


class Classes(Listed):
    """A label that is one of several named classes."""

    kind: Literal["classes"] = "classes"
    classes: Annotated[
        tuple[Category, ...],
        Field(strict=False, fail_fast=True, min_length=2, max_length=MAX_CLASSES),
    ]
    headline: Category | None = left_out(
        None, "The class of which a headline speaks; the second, if left out, of two."
    )

    @model_validator(mode="after")
    def _check_classes(self) -> Self:
        self.check_distinct(f"label {self.name!r}: classes")
        if self.headline is not None and self.headline not in self.classes:
            msg = f"label {self.name!r}: the headline {self.headline!r} is not one of its classes"
            raise ValueError(msg)
        return self

    @property
    def names(self) -> tuple[str, ...]:
        return self.classes

    @property
    def slots(self) -> int:
        """Number of label values that a mechanism distinguishes."""
        return len(self.classes)

    @property
    def headline_level(self) -> int | None:
        """The index of the class of which a headline speaks; None of three and more, unless one
        is chosen."""
        if self.headline is not None:
            return self.classes.index(self.headline)
        return 1 if self.slots == 2 else None

    @property
    def bounds(self) -> tuple[float, float]:
        """The least and greatest share of a class."""
        return 0.0, 1.0

    @property
    def span(self) -> float:
        """The greatest distance of two shares."""
        return 1.0

    def encode(self, value: Any) -> float:
        """The index of a value's class; raises ``InvalidRecord`` if it is missing or not listed."""
        name = listed_name(self.classes, value)
        if name is None and is_missing(value):
            raise _missing(self.name)
        if name is None:
            raise InvalidRecord(
                f"The label {self.name!r} is {category_text(value)!r}: "
                f"it must be one of {some_of(self.classes)}."
            )
        return float(sum(level for level, each in enumerate(self.classes) if each == name))


class Range(Measured):
    """A numeric label, clipped to [low, high]."""

    kind: Literal["range"] = "range"

    @model_validator(mode="after")
    def _check_range(self) -> Self:
        if not self.low < self.high:
            msg = f"label {self.name!r}: low {self.low} must be below high {self.high}"
            raise ValueError(msg)
        check_width(f"label {self.name!r}", self.low, self.high)
        return self

    @property
    def slots(self) -> int:
        """Two: the label is rounded at random to one of the ends of its range.

        A question may ask for more levels (``Task.slots_of``).
        """
        return 2

    @property
    def bounds(self) -> tuple[float, float]:
        """The least and greatest mean."""
        return self.low, self.high

    @property
    def span(self) -> float:
        """The greatest distance of two means."""
        return self.high - self.low

    def encode(self, value: Any) -> float:
        """The value clipped to the range; raises ``InvalidRecord`` if it is missing or no
        number."""
        if is_missing(value):
            raise _missing(self.name)
        return min(max(finite_number(self.name, value), self.low), self.high)


def _missing(name: str) -> InvalidRecord:
    return InvalidRecord(f"The label {name!r} is missing: give it a value.")


Label = Annotated[Classes | Range, Field(discriminator="kind")]
