"""A mechanism behind a stratum, proved report by report."""

import itertools
import os
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray

from privet.protocol.errors import InvalidTask
from privet.protocol.mechanisms import MECHANISMS, StratifiedMechanism, create_mechanism
from privet.protocol.mechanisms.exact import exp_below
from tests.protocol.mechanisms.cases import Case
from tests.protocol.mechanisms.laws import as_array, sums_of
from tests.protocol.mechanisms.test_contract import added, laws, moments

STRATIFIED = (0, 1, 1, 0, 2)
"""Five cells in three strata, of two, two and one."""
SLOTS = 2


def stratified_case(
    name: str, strata: tuple[int, ...] = STRATIFIED, *, regression: bool = False, **parameters: int
) -> Case:
    return Case(name, 1.0, len(strata), SLOTS, regression, parameters, strata)


def build(case: Case) -> StratifiedMechanism:
    built = case.build()
    assert isinstance(built, StratifiedMechanism)
    return built


cases = pytest.mark.parametrize(
    "case",
    [
        *(stratified_case(name) for name in ("grr", "subset", "projective")),
        stratified_case("subset", (0, 1, 2), k=1),
        stratified_case("grr", regression=True),
        stratified_case("grr", (0, 0)),
    ],
    ids=str,
)


def stratum_of(mechanism: StratifiedMechanism, category: int) -> int:
    if category < mechanism.misfit:
        return mechanism.strata[category // mechanism.levels]
    return category - mechanism.misfit


def truth(mechanism: StratifiedMechanism) -> NDArray[np.float64]:
    """What a category counts as: its cell and slot, and last the misfits of all strata."""
    values = np.eye(mechanism.categories)
    return np.column_stack(
        [values[:, : mechanism.misfit], values[:, mechanism.misfit :].sum(axis=1)]
    )


@cases
def test_privacy_within_a_stratum(case: Case) -> None:
    """By enumeration: e^ε within a stratum, which is told for certain, and exact as stated."""
    mechanism, worst = build(case), Fraction(1)
    numbered = list(enumerate(laws(case)))
    for (one, law), (other, another) in itertools.permutations(numbered, 2):
        if stratum_of(mechanism, one) == stratum_of(mechanism, other):
            assert law.keys() == another.keys()
            worst = max([worst, *(law[payload] / another[payload] for payload in law)])
        else:
            assert not law.keys() & another.keys()
    assert mechanism.worst_ratio() * Fraction(1 - 10**-6) <= worst <= mechanism.worst_ratio()
    assert worst <= exp_below(Fraction(mechanism.epsilon))
    for category, found in numbered:
        payloads = as_array(mechanism, sorted(found))
        assert mechanism.valid(payloads).all()
        assert (mechanism.read_strata(payloads) == stratum_of(mechanism, category)).all()


@cases
def test_estimates_are_unbiased_with_the_variances_stated(case: Case) -> None:
    """From every report of every category; misfits as common in one stratum as in another."""
    mechanism, (means, covariances) = build(case), moments(case)
    np.testing.assert_allclose(means, truth(mechanism), atol=1e-9)
    # ten holders of each category of a stratum's cells, and a tenth as many misfits in it
    counts = np.full((mechanism.cells, SLOTS), 10)
    per_stratum = np.bincount(mechanism.stratum_of_cell) * SLOTS * 10
    holders = np.concatenate([counts.ravel(), per_stratum // 10])
    covariance = np.einsum("c,cij->ij", holders, covariances)
    n, scale = int(holders.sum()), covariance.diagonal().max()
    cells = mechanism.cells * SLOTS
    variance = mechanism.variance(n, counts.astype(float))
    np.testing.assert_allclose(variance.ravel(), covariance.diagonal()[:cells], rtol=1e-9)
    blocks = covariance[:cells, :cells].reshape(mechanism.cells, SLOTS, mechanism.cells, SLOTS)
    of_slots = np.stack([blocks[c, :, c] for c in range(mechanism.cells)])
    stated = mechanism.slot_covariance(n, counts.astype(float))
    np.testing.assert_allclose(stated, of_slots, atol=1e-9 * scale)
    misfit_variance = mechanism.misfit_variance(n, float(holders[cells:].sum()))
    np.testing.assert_allclose(misfit_variance, covariance[cells, cells], rtol=1e-9)
    weights = np.random.default_rng(1).normal(size=(mechanism.cells, SLOTS))
    linear = mechanism.linear_variance(weights, n, counts.astype(float))
    flat = weights.ravel()
    np.testing.assert_allclose(linear, flat @ covariance[:cells, :cells] @ flat, rtol=1e-9)
    reach = added(case)[:, :cells] @ flat
    low, high = mechanism.influence(weights)
    np.testing.assert_allclose([low, high], [reach.min(), reach.max()], rtol=1e-9)


@pytest.mark.parametrize("regression", [False, True])
@pytest.mark.parametrize("name", sorted(MECHANISMS))
def test_sums_of_all_mechanisms(name: str, regression: bool) -> None:
    """Sums add up and say exactly how many came from each stratum; payloads have one length."""
    mechanism = build(stratified_case(name, regression=regression))
    drawn = [
        mechanism.privatize(category, os.urandom)
        for category in range(mechanism.categories)
        for _ in range(3)
    ]
    assert {len(payload) for payload in drawn} == {mechanism.report_bytes}
    sums = sums_of(mechanism, drawn)
    parts = sums_of(mechanism, drawn[::2]) + sums_of(mechanism, drawn[1::2])
    np.testing.assert_array_equal(sums, parts)
    strata = [stratum_of(mechanism, category) for category in range(mechanism.categories)]
    np.testing.assert_array_equal(mechanism.reported(sums, len(drawn)), 3 * np.bincount(strata))
    assert mechanism.valid(as_array(mechanism, drawn)).all()


@pytest.mark.parametrize("name", MECHANISMS)
def test_variances_of_expected_counts_are_not_rounded(name: str) -> None:
    """Of two hundred strata with .3 holders each they are .3 of those with one holder each."""
    cells = 200
    mechanism = build(stratified_case(name, tuple(range(cells))))
    one = np.zeros((cells, SLOTS))
    one[:, 0] = 1.0
    weights = np.random.default_rng(1).random((cells, SLOTS))
    for stated in (mechanism.variance, mechanism.slot_covariance):
        np.testing.assert_allclose(stated(0.3 * cells, 0.3 * one), 0.3 * stated(cells, one))
    few = mechanism.linear_variance(weights, 0.3 * cells, 0.3 * one)
    assert few == pytest.approx(0.3 * mechanism.linear_variance(weights, cells, one))
    assert few > 0.0


def test_sums_are_bounded() -> None:
    """Uneven strata cannot ask for tables above the limit."""
    strata = (*range(40_000), *[0] * 20_000)
    with pytest.raises(InvalidTask, match="sums, above"):
        create_mechanism("grr", 1.0, len(strata), 2, strata=strata)
