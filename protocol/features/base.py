"""The contract of a feature: how a kind of column is read, encoded and said."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..errors import InvalidRecord
from ..values import ColumnValues, number_text
from .fields import Described

T = TypeVar("T")
Matrix = NDArray[np.float64]
Relation = Literal["<", ">=", "<=", ">", "is", "is not"]
IN_WORDS: dict[Relation, str] = {
    "<": "is below",
    ">=": "is at least",
    "<=": "is at most",
    ">": "is above",
    "is": "is",
    "is not": "is not",
}


@dataclass(frozen=True)
class Condition:
    """One such as ``age >= 37.5`` or ``occupation is not farming``."""

    feature: "BaseFeature"
    relation: Relation
    value: float | str

    def __str__(self) -> str:
        return f"{self.feature.name} {self.relation} {self.bound}"

    @property
    def in_words(self) -> str:
        """Such as ``age is at least 37.5``."""
        return f"{self.feature.name} {IN_WORDS[self.relation]} {self.bound}"

    @property
    def bound(self) -> str:
        """The number or category as text."""
        return self.feature.text_of(self.value)


@dataclass(frozen=True)
class Column(ABC):
    """One encoded column, with values from 0 to 1; what is below a tree's threshold goes left."""

    feature: "BaseFeature"

    @property
    def name(self) -> str:
        """Its name among a feature's columns; the feature's own where it has one."""
        return self.feature.name

    def splits(self, threshold: float) -> bool:
        """True unless a threshold sends all records one way."""
        return 0.0 < threshold <= 1.0

    @abstractmethod
    def condition(self, threshold: float, *, left: bool) -> Condition:
        """The condition under which a record goes ``left`` (or else right) at a threshold."""

    @abstractmethod
    def cut(self, threshold: float) -> str:
        """A threshold as text, equal for thresholds that split all records alike."""


class BaseFeature(Described):
    """A feature of one kind: how its values are read, encoded and said."""

    @property
    @abstractmethod
    def columns(self) -> tuple[Column, ...]:
        """The encoded columns, in order."""

    @abstractmethod
    def encode(self, value: Any) -> list[float]:
        """The columns of a raw value; raises ``InvalidRecord`` for one that does not fit."""

    def encode_all(self, values: ColumnValues) -> Matrix:
        """``encode`` of each value, shape ``(rows, columns)``.

        Raises ``InvalidRecord`` that names the first row at fault. Encodes each distinct text or
        integer once; ``True`` equals 1 and has another name.
        """
        encoded: list[list[float]] = []
        index_of: dict[Any, int] = {}
        index = np.empty(len(values), dtype=np.intp)
        for row, value in enumerate(values):
            key = (type(value), value) if isinstance(value, str | int) else None
            code = index_of.get(key)
            if code is None:
                code = len(encoded)
                encoded.append(self.encode_row(row, value))
                if key is not None:
                    index_of[key] = code
            index[row] = code
        return np.array(encoded, dtype=np.float64).reshape(-1, len(self.columns))[index]

    def encode_row(self, row: int, value: Any) -> list[float]:
        """``encode``, whose fault names the row, counted from 0."""
        try:
            return self.encode(value)
        except InvalidRecord as error:
            raise InvalidRecord(f"Row {row + 1}: {error.detail}") from None

    @abstractmethod
    def is_read(self, value: Any) -> bool:
        """True if a raw value counts as given, and neither a stand-in nor a replacement does.

        May raise anything for a value that cannot be read.
        """

    def replacement(self, missing: T | None) -> T:
        """``missing``, which replaces a missing value; raises ``InvalidRecord`` if it is None."""
        if missing is None:
            raise InvalidRecord(f"The field {self.name!r} is missing: give it a value.")
        return missing

    def outside(self, values: ColumnValues) -> NDArray[np.bool_]:
        """The values that are clipped to a range, ``(rows,)``, of those that fit the feature."""
        return np.zeros(len(values), dtype=np.bool_)

    @abstractmethod
    def extent(self, number: Callable[[float], str]) -> str:
        """All values in short, numbers written by ``number``: ``0 to 10``, or ``farm, shop``."""

    def text_of(self, value: float | str) -> str:
        """The value of a condition as text."""
        return value if isinstance(value, str) else number_text(value)

    @abstractmethod
    def in_short(self, said: Sequence[Condition]) -> list[Condition]:
        """The fewest conditions that say the same of this feature as those that are ``said``."""

    @abstractmethod
    def answers_in_words(self, said: Sequence[Condition]) -> str:
        """The answers that meet these conditions, as pages name them: ``28.5 to under 40.5``."""

    @abstractmethod
    def stand_in_meets(self, condition: Condition) -> bool:
        """True if ``stand_in`` meets a condition on this feature."""
