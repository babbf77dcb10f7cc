"""Mechanisms that are wrong on purpose: every auditor must find its own."""

from privet.protocol.mechanisms import (
    GeneralizedResponse,
    Mechanism,
    OptimizedUnary,
    SymmetricUnary,
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


class Forgotten(SymmetricUnary):
    """Each bit has the whole budget, as if two holders differed in one."""

    @property
    def other_words(self) -> int:
        return SymmetricUnary(2.0 * self.epsilon, self.cells, self.slots).other_words


class Repeated(OptimizedUnary):
    """All bits of a report are decided by the same random word."""

    def privatize(self, category: int, randomness: RandomBytes) -> bytes:
        return super().privatize(category, lambda size: randomness(8) * (size // 8))


PLANTED: tuple[Mechanism, ...] = (
    Overspent(EPSILON, 2, 2),
    Forgotten(EPSILON, 2, 2),
    Repeated(EPSILON, 2, 2),
)
