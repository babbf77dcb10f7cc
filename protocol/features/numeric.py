"""A number as a feature: one column in [0, 1]."""

import contextlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Context, Decimal
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from ..values import ColumnValues, is_missing
from .base import BaseFeature, Column, Condition, Matrix, Relation
from .fields import NOBODYS, Measured, check_width, finite_number

ENDS: dict[Relation, tuple[str, str]] = {
    "<": ("under ", ""),
    "<=": ("", " or less"),
    ">=": ("", " or more"),
    ">": ("over ", ""),
}
"""The words before and behind a number that is an end."""
SIX_DIGITS = Context(prec=6, rounding=ROUND_HALF_UP)


class Scaled(BaseFeature):
    """A feature of numbers, scaled so that [low, high] becomes [0, 1], and clipped to that
    range."""

    kind: str
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
        check_width(f"feature {self.name!r}", self.low, self.high)
        return self

    def number(self, value: Any) -> float:
        """The number of a raw value that is not missing; raises ``InvalidRecord`` if it has
        none."""
        return finite_number(self.name, value)

    @property
    def columns(self) -> tuple[Column, ...]:
        return (ScaledColumn(self),)

    def encode(self, value: Any) -> list[float]:
        if is_missing(value):
            value = self.replacement(self.missing)
        number, width = self.number(value), self.high - self.low
        return [min(max((number - self.low) / width, 0.0), 1.0) if width else 0.0]

    def encode_all(self, values: ColumnValues) -> Matrix:
        numbers = _as_numbers(values)
        if numbers is None:
            return super().encode_all(values)
        if self.missing is not None:
            numbers = np.where(np.isnan(numbers), self.missing, numbers)
        faulty = np.flatnonzero(~np.isfinite(numbers))
        if faulty.size:
            self.encode_row(int(faulty[0]), float(numbers[faulty[0]]))
        if self.low == self.high:
            return np.zeros((len(numbers), 1))
        with np.errstate(over="ignore"):
            scaled = (numbers - self.low) / (self.high - self.low)
        return np.clip(scaled, 0.0, 1.0).reshape(-1, 1)

    def is_read(self, value: Any) -> bool:
        self.number(value)
        return True

    def outside(self, values: ColumnValues) -> NDArray[np.bool_]:
        numbers = np.asarray(values)
        if numbers.dtype.kind not in "biuf":
            given = (np.nan if is_missing(value) else self.number(value) for value in values)
            numbers = np.fromiter(given, dtype=np.float64)
        return np.asarray((numbers < self.low) | (numbers > self.high))

    def extent(self, number: Callable[[float], str]) -> str:
        return f"{number(self.low)} to {number(self.high)}"

    def in_short(self, said: Sequence[Condition]) -> list[Condition]:
        """The closest bounds, the lower one first."""
        said = sorted(said, key=lambda each: (each.value, each.relation in ("<=", ">")))
        lower = [each for each in said if each.relation in (">=", ">")]
        upper = [each for each in said if each.relation in ("<", "<=")]
        return lower[-1:] + upper[:1]

    def answers_in_words(self, said: Sequence[Condition]) -> str:
        """A fraction is an answer too, so that no bound is moved to a whole number."""
        ends = {each.relation: each.bound for each in self.in_short(said)}
        if len(ends) == 1:
            ((relation, bound),) = ends.items()
            before, after = ENDS[relation]
            return f"{before}{bound}{self._behind}{after}"
        first, last = (float(each.value) for each in self.in_short(said))
        if last < first or (first == last and set(ends) != {">=", "<="}):
            return NOBODYS
        lower = f"over {ends['>']}" if ">" in ends else ends[">="]
        upper = f"under {ends['<']}" if "<" in ends else ends["<="]
        return f"{lower} to {upper}{self._behind}"

    @property
    def _behind(self) -> str:
        return f" {self.in_unit}" if self.in_unit else ""

    def stand_in_meets(self, condition: Condition) -> bool:
        return condition.relation in ("<", "<=")  # it is the lowest there is


class Numeric(Scaled, Measured):
    """A number, scaled so that [low, high] becomes [0, 1], and clipped to that range."""

    kind: Literal["numeric"] = "numeric"


@dataclass(frozen=True)
class ScaledColumn(Column):
    """A number, scaled from its range to [0, 1]."""

    feature: Scaled

    def splits(self, threshold: float) -> bool:
        return super().splits(threshold) and self.feature.low < self.feature.high

    def condition(self, threshold: float, *, left: bool) -> Condition:
        low, width = self.feature.low, self.feature.high - self.feature.low
        at = _readable(low + threshold * width, width)
        if at % 1 == 0 and width and (at - low) / width < threshold:  # itself goes left
            return Condition(self.feature, "<=" if left else ">", at)
        return Condition(self.feature, "<" if left else ">=", at)

    def cut(self, threshold: float) -> str:
        return repr(threshold)


def _as_numbers(values: ColumnValues) -> Matrix | None:
    """A column of numbers and missing values, these as NaN; None if it holds anything else."""
    if isinstance(values, np.ndarray) and values.dtype.kind in "fiu":
        return values.astype(np.float64)
    if set(map(type, values)) <= {float, int, type(None)}:
        with contextlib.suppress(OverflowError):
            return np.array(values, dtype=np.float64)
    return None


def _readable(value: float, width: float) -> float:
    """Six digits, or one decimal from 1e5 on; 0 for the noise of rounding."""
    if abs(value) < min(1e-7 * width, 0.005):
        return 0.0
    if abs(value) < 1e5:
        return float(SIX_DIGITS.plus(Decimal(value)))
    if abs(value) < 1e15:
        return float(Decimal(value).quantize(Decimal("0.1"), ROUND_HALF_UP))
    return value
