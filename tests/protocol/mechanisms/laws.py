"""The exact distribution of a report, found by running ``privatize`` on all its randomness.

A mechanism compares each random word with a few thresholds, so its report is constant while a
word moves within a piece between two of them. Running the real code once per combination of
pieces, and weighing it with the pieces' lengths, gives every payload's probability as an exact
fraction. ``test_contract.py`` holds the code to being constant on the pieces.
"""

import io
import itertools
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Sequence
from fractions import Fraction
from functools import cache, singledispatch
from math import prod
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from privet.protocol.mechanisms import (
    GeneralizedResponse,
    LabelResponse,
    Laplace,
    Mechanism,
    ProjectiveResponse,
    RandomizedResponse,
    StratifiedMechanism,
    SubsetSelection,
)
from privet.protocol.mechanisms.discrete_laplace import DiscreteLaplace
from privet.protocol.mechanisms.exact import WORD

Outcome = TypeVar("Outcome", bound=Hashable)
Piece = range
Law = dict[bytes, Fraction]


def word(value: int) -> bytes:
    """A random word as mechanisms read it."""
    return value.to_bytes(8, "little")


def replay(parts: Iterable[bytes]) -> Callable[[int], bytes]:
    """A randomness source that gives out ``parts`` and fails when asked for more."""
    read = io.BytesIO(b"".join(parts)).read

    def randomness(size: int) -> bytes:
        drawn = read(size)
        assert len(drawn) == size, "more randomness was drawn than there is"
        return drawn

    return randomness


Word = list[tuple[bytes, int]]
"""Representatives of a random word, each with the number of words that act as it does."""


def words(mechanism: Mechanism) -> list[Word]:
    """A representative of every piece of every word that a report draws."""
    return [[(word(piece[0]), len_of(piece)) for piece in options] for options in pieces(mechanism)]


def law_of(
    drawn: Sequence[Word], act: Callable[[tuple[bytes, ...]], Outcome]
) -> dict[Outcome, Fraction]:
    """The probability of every outcome of ``act``, run once for each combination of ``drawn``."""
    weights: dict[Outcome, int] = defaultdict(int)
    for combination in itertools.product(*drawn):
        parts, counts = zip(*combination, strict=True)
        weights[act(parts)] += prod(counts)
    return {outcome: Fraction(n, WORD ** len(drawn)) for outcome, n in weights.items()}


@singledispatch
def pieces(mechanism: Mechanism) -> list[list[Piece]]:
    """For each word that a report draws, the pieces on which the report is constant."""
    match mechanism:
        case GeneralizedResponse():
            P, Q = mechanism.own_words, mechanism.other_words
            return [cut([P + i * Q for i in range(mechanism.categories - 1)])]
        case SubsetSelection():
            left = range(mechanism.categories - 1, mechanism.categories - 1 - mechanism.k, -1)
            return [cut([mechanism.threshold]), *map(_equal_parts, left)]
        case ProjectiveResponse():
            return [_projective_pieces(mechanism)]
        case RandomizedResponse():
            return [cut([mechanism.flip_words])] * mechanism.sum_size
        case Laplace():
            return [_noise_pieces(mechanism.lattice)] * mechanism.sum_size
        case StratifiedMechanism():
            return pieces(mechanism.inner)
        case LabelResponse():
            bits = [cut([mechanism.flip_words])] * (mechanism.cells + 1)
            return [_noise_pieces(mechanism.lattice), *bits]
    raise AssertionError(f"tell the tests how {mechanism.name} uses its random words")


@cache
def law(mechanism: Mechanism, category: int) -> Law:
    """Probability of every payload that a holder of ``category`` can send."""
    return law_of(words(mechanism), lambda parts: mechanism.privatize(category, replay(parts)))


def contributions(mechanism: Mechanism, payloads: Iterable[bytes]) -> NDArray[np.float64]:
    """What each payload adds to the counts and, last, to the number of misfits.

    Shape ``(payloads, cells * slots + 1)``.
    """
    sums = [sums_of(mechanism, [payload]) for payload in payloads]
    return np.array([[*mechanism.estimate(s, 1).ravel(), mechanism.misfits(s, 1)] for s in sums])


def sums_of(mechanism: Mechanism, payloads: Sequence[bytes]) -> NDArray[np.int64]:
    """``accumulate`` for a list of payloads."""
    return mechanism.accumulate(as_array(mechanism, payloads))


def as_array(mechanism: Mechanism, payloads: Sequence[bytes]) -> NDArray[np.uint8]:
    """Payloads as the array that the curator's half takes."""
    joined = np.frombuffer(b"".join(payloads), dtype=np.uint8)
    return joined.reshape(len(payloads), mechanism.report_bytes)


def len_of(piece: Piece) -> int:
    """Length of a range that may be too long for ``len``."""
    return piece.stop - piece.start


def cut(thresholds: Iterable[int]) -> list[Piece]:
    ends = sorted({0, WORD, *thresholds})
    return [range(start, stop) for start, stop in itertools.pairwise(ends)]


def _equal_parts(count: int) -> list[Piece]:
    """The words w with the same ``count * w >> 64``."""
    return cut([-(-j * WORD // count) for j in range(1, count)])


def _projective_pieces(mechanism: ProjectiveResponse) -> list[Piece]:
    (A, B), c = mechanism.words, mechanism.space.hyperplane_size
    others = mechanism.space.size - c
    return cut([*(i * A for i in range(c)), *(c * A + j * B for j in range(others))])


def _noise_pieces(noise: DiscreteLaplace) -> list[Piece]:
    return cut(itertools.accumulate(noise.weights))
