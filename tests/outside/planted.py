"""Mechanisms that are wrong on purpose: every auditor must find its own."""

from collections.abc import Sequence
from fractions import Fraction

from privet.protocol.mechanisms import (
    GeneralizedResponse,
    Laplace,
    Mechanism,
    RandomizedResponse,
    SubsetSelection,
)
from privet.protocol.mechanisms.base import RandomBytes

EPSILON = 1.0
"""What all state."""
EXCESS = 1.15
"""By which factor ``Overspent`` spends more."""


class Overspent(GeneralizedResponse):
    """Draws with the words of a larger epsilon than it states."""

    @property
    def other_words(self) -> int:
        return GeneralizedResponse(EXCESS * self.epsilon, self.cells, self.slots).other_words


class Forgotten(RandomizedResponse):
    """Each vector has the whole budget, as if two holders differed in one of them."""

    @property
    def share(self) -> Fraction:
        return 2 * super().share


class Repeated(RandomizedResponse):
    """All bits of a report are decided by the same random word."""

    def privatize(self, category: int, randomness: RandomBytes) -> bytes:
        return super().privatize(category, lambda size: randomness(8) * (size // 8))


class ForgottenSplit(Laplace):
    """Every coordinate is given the whole budget, as if a holder had only one."""

    @property
    def share(self) -> Fraction:
        return 4 * super().share


class OwnComesLast(SubsetSelection):
    """The chosen indices are sent in the order of drawing, in which the own one comes last."""

    @property
    def _indexed(self) -> bool:
        return True

    def _encode(self, chosen: Sequence[int]) -> bytes:
        return bytes(chosen)


class NarrowSource(GeneralizedResponse):
    """The random words never reach the upper third of their range, as of a broken source."""

    def privatize(self, category: int, randomness: RandomBytes) -> bytes:
        def narrow(size: int) -> bytes:
            drawn = randomness(size)
            return drawn[:-1] + bytes([drawn[-1] * 2 // 3])

        return super().privatize(category, narrow)


PLANTED: tuple[Mechanism, ...] = (
    Overspent(EPSILON, 2, 2),
    Forgotten(EPSILON, 2, 2),
    Repeated(EPSILON, 2, 2),
    ForgottenSplit(EPSILON, 2, 2, regression=False, resolution=4),
    OwnComesLast(EPSILON, 3, 2, k=2),
    NarrowSource(EPSILON, 2, 2),
)
