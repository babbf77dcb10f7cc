"""Every mechanism passes the audit, and mechanisms with a planted bug do not."""

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import pytest

from privet.protocol.mechanisms import (
    MECHANISMS,
    GeneralizedResponse,
    LabelResponse,
    Laplace,
    Mechanism,
    OptimizedUnary,
    SubsetSelection,
    create_mechanism,
)
from privet.protocol.mechanisms.base import RandomBytes
from tests.protocol.mechanisms.audit import Feature, epsilon_lower_bound
from tests.stat_checks import ALPHA

EPSILON = 1.0
TRIALS = 8_000


def audit(mechanism: Mechanism, misfit: bool = False) -> float:
    """The bound for two holders who differ in cell and label, at false-alarm rate ALPHA.

    With ``misfit`` the second one's record does not fit.
    """
    return epsilon_lower_bound(
        mechanism,
        (mechanism.levels - 1, mechanism.misfit - (not misfit)),
        feature_of(mechanism),
        trials=TRIALS,
        alpha=ALPHA / 2,
        randomness=np.random.default_rng(21).bytes,
    )


def feature_of(mechanism: Mechanism) -> Feature:
    """The whole report, but of a number on a lattice only on which side of the middle it is."""
    if isinstance(mechanism, Laplace):
        middle = mechanism.lattice.radius - mechanism.resolution / 2
        number = f"<u{mechanism.report_bytes // mechanism.sum_size}"
        return lambda payload: (np.frombuffer(payload, dtype=number) > middle).tobytes()
    if isinstance(mechanism, LabelResponse):
        middle = mechanism.lattice.radius - mechanism.resolution
        return lambda payload: (int.from_bytes(payload[:2], "little") > middle, payload[2:])
    return bytes


@pytest.mark.parametrize("misfit", [False, pytest.param(True, marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    ("name", "regression"),
    [*((name, False) for name in MECHANISMS), ("laplace", True), ("randomized_response", True)],
)
def test_mechanisms_pass(name: str, regression: bool, misfit: bool) -> None:
    """The audit finds no more than ε (false alarm: 1e-6), but a good part of it."""
    found = audit(create_mechanism(name, EPSILON, 2, 2, regression=regression), misfit)
    assert EPSILON / 5 < found <= EPSILON


class ForgottenSplit(Laplace):
    """Every coordinate is given the whole budget, as if a holder had only one."""

    @property
    def share(self) -> Fraction:
        return 4 * super().share


class DoubleBudget(OptimizedUnary):
    """The other bits are flipped as if ε were twice what it is."""

    @property
    def other_words(self) -> int:
        return OptimizedUnary(2 * self.epsilon, self.cells, self.slots).other_words


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


@pytest.mark.parametrize(
    "broken",
    [
        ForgottenSplit(EPSILON, 2, 2, regression=False, resolution=4),
        DoubleBudget(EPSILON, 2, 2),
        OwnComesLast(EPSILON, 3, 2, k=2),
        NarrowSource(EPSILON, 2, 2),
    ],
    ids=lambda broken: type(broken).__name__,
)
def test_planted_bugs_are_found(broken: Mechanism) -> None:
    """A mechanism that spends more than it states fails the same audit."""
    assert audit(broken) > EPSILON
