"""One of several categories as a feature: a column of 0 and 1 for each."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from ..errors import InvalidRecord
from ..limits import MAX_COLUMNS
from ..values import category_text, is_missing, listed_name, some_of
from .base import BaseFeature, Column, Condition
from .fields import NOBODYS, Category, Listed

EMPTY = "(missing)"
"""The category that public data give to cells in which nothing stands; nobody chooses it."""


class Categorical(Listed, BaseFeature):
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
        self.check_distinct(f"feature {self.name!r}: categories")
        for rule in (self.missing, self.unknown):
            if rule is not None and rule not in self.categories:
                msg = (
                    f"feature {self.name!r}: the replacement {rule!r} is not one of its categories"
                )
                raise ValueError(msg)
        return self

    @property
    def names(self) -> tuple[str, ...]:
        return self.categories

    @property
    def choices(self) -> tuple[str, ...]:
        """All categories but that of empty cells: who leaves the question open counts as it."""
        return tuple(name for name in self.categories if not name == EMPTY == self.missing)

    @property
    def columns(self) -> tuple[Column, ...]:
        return tuple(Indicator(self, category) for category in self.categories)

    def encode(self, value: Any) -> list[float]:
        name = listed_name(self.categories, value)
        if name is None and is_missing(value):
            return self.encode(self.replacement(self.missing))
        name = self.unknown if name is None else name
        if name is None:
            raise InvalidRecord(
                f"The field {self.name!r} is {category_text(value)!r}: "
                f"it must be one of {some_of(self.categories)}."
            )
        return [float(category == name) for category in self.categories]

    def is_read(self, value: Any) -> bool:
        return listed_name(self.categories, value) is not None

    def extent(self, number: Callable[[float], str]) -> str:  # noqa: ARG002 - it has none
        return ", ".join(self.choices)

    def in_short(self, said: Sequence[Condition]) -> list[Condition]:
        """The category, if only one is left; else those that it is not."""
        left = self._left(said)
        return [Condition(self, "is", left[0])] if len(left) == 1 else list(dict.fromkeys(said))

    def answers_in_words(self, said: Sequence[Condition]) -> str:
        """The categories that are left, or, where these are more, those that are not."""
        left = self._left(said)
        others = [category for category in self.categories if category not in left]
        if not left:
            return NOBODYS
        listed, before = (others, "any but ") if len(others) < len(left) else (left, "")
        return f"{before}{' or '.join(filter(None, (', '.join(listed[:-1]), listed[-1])))}"

    def _left(self, said: Sequence[Condition]) -> list[str]:
        return [
            category
            for category in self.categories
            if all((category == each.value) == (each.relation == "is") for each in said)
        ]

    def stand_in_meets(self, condition: Condition) -> bool:
        return (self.stand_in == condition.value) == (condition.relation == "is")


@dataclass(frozen=True)
class Indicator(Column):
    """1 in the rows of one category, else 0."""

    feature: Categorical
    category: str

    @property
    def name(self) -> str:
        return f"{self.feature.name}={self.category}"

    def condition(self, threshold: float, *, left: bool) -> Condition:  # noqa: ARG002 - any
        return Condition(self.feature, "is not" if left else "is", self.category)

    def cut(self, threshold: float) -> str:
        if self.splits(threshold):
            return self.category
        return " all right" if threshold <= 0.0 else " all left"  # no category begins with a space
