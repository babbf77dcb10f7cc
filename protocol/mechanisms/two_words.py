"""Mechanisms without parameters in which two numbers of words say everything.

Of the 2^64 values of a random word, ``own_words`` make a report support its holder's category, and
``other_words`` make it support any particular other one.
"""

from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Self

from privet.protocol.mechanisms.exact import WORD
from privet.protocol.mechanisms.exchangeable import ExchangeableMechanism
from privet.protocol.mechanisms.limits import check_known, check_shape, checked_epsilon


@dataclass(frozen=True)
class TwoWordMechanism(ExchangeableMechanism):
    """A mechanism that follows from epsilon and the number of categories alone."""

    @classmethod
    def create(
        cls, epsilon: float, cells: int, slots: int, *, regression: bool = False, **parameters: Any
    ) -> Self:
        epsilon = checked_epsilon(epsilon)
        check_shape(cells, slots, regression=regression)
        check_known(cls.name, parameters)
        return cls(epsilon, cells, slots)

    def parameters(self) -> dict[str, int | float | str]:
        return {}

    @property
    @abstractmethod
    def own_words(self) -> int:
        """Words at which the holder's own category is supported."""

    @property
    @abstractmethod
    def other_words(self) -> int:
        """Words at which one particular other category is supported."""

    @property
    def p(self) -> Fraction:
        return Fraction(self.own_words, WORD)

    @property
    def q(self) -> Fraction:
        return Fraction(self.other_words, WORD)
