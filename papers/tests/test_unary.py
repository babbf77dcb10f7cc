"""Unary encoding keeps the contract of all mechanisms, and no task asks for it."""

from collections.abc import Callable
from dataclasses import dataclass

import pytest

from baselines.unary import UNARY
from privet.protocol.mechanisms import MECHANISMS, Mechanism
from tests.baselines import unary_laws  # noqa: F401 - registers the laws
from tests.learning.simulation import test_sums as simulation
from tests.protocol.mechanisms import test_contract as contract
from tests.protocol.mechanisms.cases import ENDS, EPSILONS, SHAPES, Case, quick_and

BUILT = {each.name: each for each in UNARY}


@dataclass(frozen=True)
class UnaryCase(Case):
    """One that no task may ask for."""

    def build(self) -> Mechanism:
        return BUILT[self.name].create(
            self.epsilon, self.cells, self.slots, regression=self.regression
        )

    __str__ = Case.__str__


ENUMERABLE = [UnaryCase(name, e, *shape) for name in BUILT for shape in SHAPES for e in EPSILONS]
LONG = [case for case in ENUMERABLE if case.epsilon != 1.0 and (case.cells, case.slots) not in ENDS]
USUAL = [
    *(UnaryCase(name, e, 3, 2) for name in BUILT for e in (0.5, 2.0)),
    *(UnaryCase(name, 1.0, 4, 1) for name in BUILT),
    *(UnaryCase(name, 1.0, 3, 2, regression=True) for name in BUILT),
]
EXTREME = [
    UnaryCase(name, e, cells, 2)
    for name in BUILT
    for e in (0.001, 0.02, 50.0, 64.0)
    for cells in (1, 256)
]


def named(check: Callable[[Case], None]) -> str:
    return check.__name__.removeprefix("test_")


@pytest.mark.parametrize("case", quick_and(LONG, ENUMERABLE))
@pytest.mark.parametrize(
    "check",
    [
        contract.test_probabilities_are_whole,
        contract.test_report_is_constant_on_pieces,
        contract.test_privacy_by_enumeration,
        contract.test_unbiased_by_enumeration,
        contract.test_variance_by_enumeration,
        contract.test_influence_by_enumeration,
        contract.test_valid_is_what_holders_can_send,
    ],
    ids=named,
)
def test_every_report_is_as_stated(check: Callable[[Case], None], case: UnaryCase) -> None:
    """Of all categories and random words."""
    check(case)


@pytest.mark.parametrize("case", USUAL, ids=str)
@pytest.mark.parametrize(
    "check",
    [
        contract.test_sums_add_up,
        contract.test_randomness_does_not_depend_on_the_category,
        contract.test_odd_categories_and_short_randomness_are_refused,
        simulation.test_moments_are_the_stated_ones,
        simulation.test_simulation_and_messages_agree,
    ],
    ids=named,
)
def test_ordinary_questions(check: Callable[[Case], None], case: UnaryCase) -> None:
    """As of the mechanisms that tasks ask for."""
    check(case)


@pytest.mark.parametrize("case", EXTREME, ids=str)
def test_extremes_keep_the_promise(case: UnaryCase) -> None:
    """At the ends of ε, and with two or many categories."""
    contract.test_extremes_keep_the_promise(case)


@pytest.mark.parametrize("name", BUILT)
def test_few_holders_exactly(name: str) -> None:
    """Every possible sum comes with its exact probability."""
    simulation.test_few_holders_exactly(UnaryCase(name, 1.0, 2, 2))


def test_no_task_asks_for_it() -> None:
    """What tasks ask for has other names."""
    assert not BUILT.keys() & MECHANISMS.keys()
