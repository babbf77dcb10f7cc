"""dp-accounting's privacy-loss distributions (Google) beside our bounds.

They are given the exact laws: of the real ``privatize``, enumerated, and of shuffled batches.
"""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from math import exp, log
from typing import Any

import numpy as np
import pytest

from privet.protocol.mechanisms import Mechanism, create_mechanism
from privet.protocol.shuffling import Randomizer, central_epsilon
from tests.outside.planted import EPSILON, EXCESS, PLANTED
from tests.protocol.examples import make_task, question
from tests.protocol.mechanisms.laws import law
from tests.protocol.test_shuffling import trinomial

pytestmark = pytest.mark.slow

STEP = 1e-4
"""Privacy losses are rounded up to a multiple of this, or down."""
ORACLES = ("subset", "projective", "grr")


def distribution(laws: Sequence[Mapping[Any, float]], *, up: bool = True) -> Any:
    """The distribution of the privacy loss between two laws, given as logarithms."""
    from dp_accounting.pld import privacy_loss_distribution

    return privacy_loss_distribution.from_two_probability_mass_functions(
        *map(dict, laws), pessimistic_estimate=up, value_discretization_interval=STEP
    )


def logs(exact: Mapping[bytes, Fraction]) -> dict[bytes, float]:
    """As dp-accounting takes a law."""
    return {seen: log(chance) for seen, chance in exact.items() if chance}


def spent(mechanism: Mechanism) -> Any:
    """The privacy loss between two holders who differ in cell and label."""
    return distribution([logs(law(mechanism, x)) for x in (0, mechanism.misfit - 1)])


@pytest.mark.parametrize("name", ORACLES)
def test_mechanisms_spend_what_they_state(name: str) -> None:
    """At delta 0 to a step of the losses, and never more."""
    mechanism = create_mechanism(name, EPSILON, 2, 2)
    found = spent(mechanism).get_epsilon_for_delta(0.0)
    assert mechanism.log_ratio() - 1e-9 <= found <= mechanism.log_ratio() + STEP


def test_answers_to_two_questions_spend_the_sum() -> None:
    """As a task that asks both of every holder states."""
    asked = [question(epsilon=0.5, mechanism=name) for name in ("grr", "projective")]
    task = make_task(questions=asked)
    parts = [spent(mechanism) for mechanism in task.mechanisms]
    found = parts[0].compose(parts[1]).get_epsilon_for_delta(0.0)
    assert found == pytest.approx(task.log_ratio, abs=2 * STEP)


@pytest.mark.parametrize("planted", PLANTED[:2], ids=lambda planted: type(planted).__name__)
def test_planted_bugs_are_found(planted: Mechanism) -> None:
    """By the laws of what they really do."""
    assert spent(planted).get_epsilon_for_delta(0.0) > EPSILON * EXCESS - 2 * STEP


CASES = [(1.0, 300, 3, 1e-6), (1.0, 300, 20, 1e-6), (0.5, 200, 3, 1e-4), (2.0, 300, 20, 1e-3)]


@pytest.mark.parametrize(("epsilon", "reports", "m", "delta"), CASES)
def test_central_bounds_are_a_little_above_the_exact_ones(
    epsilon: float, reports: int, m: int, delta: float
) -> None:
    """By at most 7 %. A blanket as of half the variation, planted, is found."""
    p = exp(epsilon)
    seen = trinomial(reports, p, m)
    kept = {(a, b): log(seen[a, b]) for a, b in np.argwhere(seen > 1e-40).tolist()}
    laws = [kept, {(b, a): chance for (a, b), chance in kept.items()}]
    low, high = (distribution(laws, up=up).get_epsilon_for_delta(delta) for up in (False, True))
    stated = central_epsilon(Randomizer(p, (p - 1.0) / (p + m - 1.0)), reports, delta)
    assert low <= stated < 1.07 * high
    planted = central_epsilon(Randomizer(p, (p - 1.0) / (p + 2.0 * m - 1.0)), reports, delta)
    assert planted < low
