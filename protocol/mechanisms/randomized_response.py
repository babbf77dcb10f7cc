"""The papers' randomized response: every bit of U and V flipped on its own.

LPCT section 3.3 names it ("since both U and V are binary vectors"); LPDT equation 3 gives it for
U. A bit is kept with probability

    P = e^{ε/4} / (1 + e^{ε/4})

and flipped with probability Q = 1 - P. Two holders differ in at most two bits of U and two of V,
so U costs ε/2 and V costs ε/2; where fewer can differ each costs more (``coordinates_apart``).
In the symbols of ``vector_pair``, a = Q, g = 1 - 2 Q and s = Q (1 - Q). A numeric label has a form
of its own in ``label_response``.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import ClassVar, Self

import numpy as np

from ..errors import InvalidTask
from .base import Words
from .exact import WORD, flip_threshold
from .payloads import BitPayloads, pack_bits
from .vector_pair import Coordinate, VectorPair


@dataclass(frozen=True)
class RandomizedResponse(BitPayloads, VectorPair):
    """The bits of U and V, each flipped with probability Q."""

    name: ClassVar[str] = "randomized_response"

    @classmethod
    def create(cls, epsilon: float, cells: int, slots: int, *, regression: bool = False) -> Self:
        """See ``Mechanism.create``; InvalidTask for a numeric label."""
        if regression:
            raise InvalidTask("a numeric label is sent by LabelResponse; use create_mechanism")
        return super().create(epsilon, cells, slots)

    @cached_property
    def flip_words(self) -> int:
        """Words at which a bit is flipped."""
        return flip_threshold(self.share)

    @property
    def integers(self) -> dict[str, int]:
        return {"turned": self.flip_words}

    @property
    def coordinate(self) -> Coordinate:
        q = Fraction(self.flip_words, WORD)
        noise = q * (1 - q)
        return Coordinate(
            offset=q, gain=1 - 2 * q, noise=noise, bounds=(0, 1), kurtosis=float(1 / noise) - 3
        )

    @property
    def coordinate_ratio(self) -> Fraction:
        return Fraction(WORD - self.flip_words, self.flip_words)

    def payload(self, category: int, words: Words) -> bytes:
        U, V = self.one_hot(*divmod(category, self.slots))
        bits = np.concatenate([U, V.ravel()])
        return pack_bits(bits ^ (words < np.uint64(self.flip_words)))
