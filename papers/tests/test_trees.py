"""LPCT, LPCT-prune, LPDT and trees without privacy on cases with a known answer."""

from typing import Any

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

from baselines import (
    LPCTClassifier,
    LPCTPruneClassifier,
    LPDTClassifier,
    LPDTRegressor,
    NonPrivateTreeClassifier,
    NonPrivateTreeRegressor,
    PublishedLPDTRegressor,
)
from baselines.base import Floats, Public
from baselines.trees import ask, theorem_4
from privet.learning.core.trees import locate

AMPLE = 64.0


def quadrants(n: int, seed: int = 0) -> tuple[Floats, Floats]:
    """P(y = 1) is .9 in the quadrant of large x, and .1 in the others."""
    rng = np.random.default_rng(seed)
    X = rng.random((n, 2))
    chance = np.where((X > 0.5).all(axis=1), 0.9, 0.1)
    return X, (rng.random(n) < chance).astype(float)


def corners(X: Floats, y: Floats) -> Public:
    """Public records with the corners of the unit square, so that scaling changes nothing."""
    return np.vstack([X, np.zeros(2), np.ones(2)]), np.concatenate([y, [0.0, 1.0]])


def test_beyond_the_cube_theorem_5_predicts_class_0_and_counts_nobody() -> None:
    """f times the indicator of [0, 1]^d: in the cube as if those beyond had not been asked, but for
    the noise of their reports; at the edge, as by default, they count.

    Labels are 1 everywhere. At ε = 64 no noise changes a count of hundreds.
    """
    rng = np.random.default_rng(0)
    X = 2.0 * rng.random((4000, 2))
    inside = (X <= 1.0).all(axis=1)
    public = (np.array([[0.2, 0.2], [0.8, 0.8]]), np.array([0.0, 1.0]))
    counts = {}
    for beyond in ("edge", "zero"):
        model = LPCTClassifier(AMPLE, depth=1, weight=0.0, beyond=beyond, random_state=0)
        model.fit(X, np.ones(len(X)), public, feature_range=(0.0, 1.0))
        counts[beyond] = model.question_.counts.sum()
        share = model.predict_proba(X)[:, 1]
        assert share[inside] == pytest.approx(1.0, abs=0.02)
        assert share[~inside] == pytest.approx(0.0 if beyond == "zero" else 1.0, abs=0.02)
    assert counts["edge"] == pytest.approx(len(X), rel=0.02)
    assert counts["zero"] == pytest.approx(inside.sum(), rel=0.02)
    with pytest.raises(ValueError, match="use edge or zero"):
        LPCTClassifier(beyond="clip").fit(X, np.ones(len(X)), public)


def test_theorem_5_does_without_a_public_record_in_the_cube() -> None:
    """Then public data say nothing, and splits are those of equal labels."""
    X, y = quadrants(2000)
    public = (np.array([[3.0, 3.0], [4.0, 5.0]]), np.array([0.0, 1.0]))
    model = LPCTClassifier(AMPLE, depth=2, weight=1.0, beyond="zero", random_state=0)
    model.fit(X, y, public, feature_range=(0.0, 1.0))
    assert model.question_.partition.cells == 4
    assert model.predict_proba([[0.9, 0.9], [0.1, 0.1], [2.0, 0.1]])[:, 1] == pytest.approx(
        [0.9, 0.1, 0.0], abs=0.05
    )


@pytest.mark.parametrize("mechanism", ["laplace", "subset"])
def test_lpct_is_equation_8_and_another_weight_needs_no_new_reports(mechanism: str) -> None:
    """η is (V_P + λ V_Q) / (U_P + λ U_Q) in each cell, for the limits of λ too.

    ``with_weight`` gives what a fit with that λ does and leaves the model as it was, and
    ``labels_at`` the class with the larger η.
    """
    X, y = quadrants(3000)
    public = corners(X[:60], y[:60])
    settings: dict[str, Any] = {"depth": 2, "mechanism": mechanism, "random_state": 1}
    first = LPCTClassifier(1.0, **settings).fit(X[60:], y[60:], public)
    deep = LPCTClassifier(0.5, **settings | {"depth": 6}).fit(X, y)
    before = first.predict_proba(X)
    assert first.question_.mechanism.name == mechanism
    assert first.question_.mechanism.log_ratio() <= 1.0
    cells = locate(first.question_.partition, np.asarray(public[0]))
    u_q = np.bincount(cells, minlength=4)
    v_q = np.bincount(cells, np.asarray(public[1]), minlength=4)
    u_p, v_p = first.question_.counts.sum(axis=1), first.question_.counts[:, 1]
    for weight in (0.0, 1.0, 30.0, np.inf):
        other = first.with_weight(weight)
        eta = v_q / u_q if weight == np.inf else (v_p + weight * v_q) / (u_p + weight * u_q)
        assert other.model_.values[:, 1] == pytest.approx(np.clip(eta, 0, 1))
        likelier = deep.with_weight(weight).model_.values.argmax(axis=1)
        assert np.array_equal(deep.labels_at(weight), likelier)
        anew = LPCTClassifier(1.0, weight=weight, **settings).fit(X[60:], y[60:], public)
        assert np.array_equal(other.predict_proba(X), anew.predict_proba(X))
    assert np.array_equal(first.predict_proba(X), before)


def test_holders_whose_record_does_not_fit_count_as_such() -> None:
    """At an ε at which every answer is the true one."""
    X, y = quadrants(500)
    model = LPCTClassifier(AMPLE, depth=1, random_state=0).fit(X, y)
    cells, rng = model.question_.partition, np.random.default_rng(0)
    asked = ask("subset", AMPLE, model.model_.label, cells, X, y, rng, misfits=50)
    assert asked.n == 550
    assert asked.counts.sum() == pytest.approx(500.0)


def test_a_cell_without_noisy_mass_is_empty() -> None:
    """It predicts the middle of the range; hardly any ε, so that about half of 64 are."""
    X, y = quadrants(500)
    model = LPDTRegressor(0.01, depth=6, min_leaf=0, label_range=(0.0, 3.0), random_state=0)
    model.fit(X, y)
    empty = model.question_.counts.sum(axis=1) <= 0
    assert 10 < empty.sum() < 54  # by chance outside: 2e-8
    assert (model.model_.values[empty] == 1.5).all()
    assert (model.model_.values[~empty] != 1.5).any()


def test_by_the_published_rules_it_predicts_the_public_mean() -> None:
    """With hardly any ε about half of 64 cells have a negative mass; the others leave the range."""
    X, y = quadrants(1000)
    public = corners(X[:500], y[:500])
    model = PublishedLPDTRegressor(0.01, depth=6, label_range=(0.0, 1.0), random_state=0)
    model.fit(X[500:], y[500:], public)
    cells = locate(model.cells_, np.asarray(public[0]))
    means = np.bincount(cells, np.asarray(public[1])) / np.bincount(cells)
    given_up = np.isclose(model.means_, means)
    assert 10 < given_up.sum() < 54  # by chance outside: 2e-8
    assert model.means_[~given_up].max() > 1.0


@pytest.mark.parametrize("share", [0.3, 0.7])
def test_the_published_share_of_epsilon_is_that_of_the_bits(share: float) -> None:
    """One cell, all labels in the middle: Σ ξ c / Σ c, c a centred bit that is kept but by chance.

    c is 1 - q with probability 1 - q, else -q, q = 1 / (1 + e^(share ε / 2)); ξ has scale
    2M / ((1 - share) ε). Var Σ c is n q (1 - q), 3 % of (n (1 - 2q))² at most: left out. The
    variance of 200 is off by 10 % as a rule, by 40 % once in 10 000 trials.
    """
    epsilon, n = 4.0, 2000
    rng = np.random.default_rng(0)
    X, public = rng.random((n, 1)), (np.array([[0.0], [1.0]]), np.zeros(2))
    model = PublishedLPDTRegressor(epsilon, depth=1, min_leaf=2, share=share, label_range=(-1, 1))
    found = [
        model.set_params(random_state=seed).fit(X, np.zeros(n), public).means_[0]
        for seed in range(200)
    ]
    q = 1.0 / (1.0 + np.exp(share * epsilon / 2.0))
    of_bits = ((1 - q) ** 3 + q**3) / (1 - 2 * q) ** 2
    noise = 2.0 * (2.0 / ((1 - share) * epsilon)) ** 2
    assert np.var(found) == pytest.approx(noise * of_bits / n, rel=0.4)


@pytest.mark.parametrize("partition", ["max_edge", "cart"])
def test_informed_partitions_split_the_column_that_matters(partition: str) -> None:
    """Where y depends on the second column alone, depth 1 splits there; LPCT-R does not know."""
    rng = np.random.default_rng(0)
    X = rng.random((500, 2))
    y = (X[:, 1] > 0.5).astype(int)
    model = LPCTClassifier(AMPLE, partition=partition, depth=1, random_state=0).fit(X, y)
    assert model.question_.partition.feature[0] == 1
    assert model.score(X, y) > 0.95
    at_random = {
        LPCTClassifier(AMPLE, partition="random", depth=1, random_state=seed)
        .fit(X, y)
        .question_.partition.feature[0]
        for seed in range(30)  # all on one column by chance: 2^-29
    }
    assert at_random == {0, 1}


def test_ranges_are_the_public_records_unless_declared() -> None:
    """Theorem 5's scaling; a declared range makes the same cells whatever the public records."""
    X, y = quadrants(1000)
    public = 0.5 * X[:50], y[:50]
    model = LPCTClassifier(AMPLE, depth=1, random_state=0).fit(X, y, public)
    assert np.allclose(model.low_, public[0].min(axis=0))
    assert np.allclose(model.low_ + model.width_, public[0].max(axis=0))
    declared = LPCTClassifier(AMPLE, depth=1, random_state=0).fit(X, y, public, (0.0, [2.0, 4.0]))
    assert declared.width_.tolist() == [2.0, 4.0]
    with pytest.raises(ValueError, match=r"give \(low, high\)"):
        LPCTClassifier().fit(X, y, public, (1.0, 0.0))


def test_theorem_4_has_its_orders() -> None:
    """p and λ by hand for one case; deeper with more data, and Q weighs less the larger γ is."""
    depth, weight = theorem_4(10_000, 1000, 2.0, columns=2, alpha=0.5, gamma=1.0)
    log_n = np.log(11_000)
    delta = (40_000 / log_n + (1000 / log_n) ** (5 / 3)) ** -0.4
    assert depth == round(np.log2(1 / delta))
    assert weight == pytest.approx(delta**-0.5)  # (γα - α) = 0 is above 2γα - d = -1
    depths = [theorem_4(n, 50, 1.0, columns=2, alpha=1.0, gamma=1.0)[0] for n in (10**3, 10**5)]
    assert depths[0] < depths[1]
    weights = [theorem_4(10**4, 50, 1.0, columns=2, alpha=1.0, gamma=g)[1] for g in (0.5, 1, 2, 5)]
    assert weights == sorted(weights, reverse=True)


@pytest.mark.parametrize("fallback", [True, False])
@pytest.mark.parametrize("constants", ["paper", "published", "calibrated"])
def test_lpct_prune_finds_the_quadrants(fallback: bool, constants: str) -> None:
    """With many records calibrated cells are clear; the questions together spend ε.

    As printed, private noise outweighs public signal in half of the quadrants here. The published
    constants ask one question.
    """
    X, y = quadrants(60_000)
    model = LPCTPruneClassifier(8.0, constants=constants, fallback=fallback, random_state=0)
    model.fit(X[200:], y[200:], public=corners(X[:200], y[:200]))
    rows, _ = quadrants(2000, seed=1)
    expected = (rows > 0.5).all(axis=1)
    least = {"paper": 0.6, "published": 0.8, "calibrated": 0.9}[constants]
    assert (model.predict(rows) == expected).mean() > least
    spent = sum(question.mechanism.log_ratio() for question in model.questions_)
    assert len(model.questions_) == 1 + (fallback and constants != "published")
    assert 0.9 * 8.0 < spent <= 8.0


def test_lpdt_estimates_cell_means() -> None:
    """Equation 5 is within 5 standard errors of each quadrant's mean (one in 4e5 trials fails)."""
    rng = np.random.default_rng(5)
    X = rng.random((200_000, 2))
    y = 10.0 + 5.0 * (X > 0.5).all(axis=1) + rng.uniform(-1, 1, len(X))
    model = LPDTRegressor(4.0, depth=2, min_leaf=1, label_range=(5.0, 20.0), random_state=0)
    model.fit(X, y, public=corners(X[:100], y[:100]))
    middles = np.array([[0.25, 0.25], [0.25, 0.75], [0.75, 0.25], [0.75, 0.75]])
    cells = locate(model.model_.partition, middles)
    error = model.predict(middles) - [10.0, 10.0, 10.0, 15.0]
    assert (np.abs(error) < 5 * model.model_.standard_error[cells, 0]).all()
    assert model.model_.standard_error.max() < 0.5


def test_lpdt_for_classes_is_the_regression_of_0_and_1() -> None:
    """The same reports, cut at 1/2: only the criterion of the splits differs."""
    X, y = quadrants(5000)
    public = corners(X[:100], y[:100])
    settings: dict[str, Any] = {"depth": 2, "min_leaf": 1, "random_state": 2}
    share = LPDTRegressor(2.0, label_range=(0.0, 1.0), **settings).fit(X, y, public).predict(X)
    model = LPDTClassifier(2.0, **settings).fit(X, y, public)
    assert np.allclose(model.predict_proba(X)[:, 1], share)
    assert np.array_equal(model.predict(X), share > 0.5)


def test_trees_without_privacy_are_scikit_learns() -> None:
    """CT-Q is a tree of the public records, CT-W of all; DT of the private ones fits them."""
    X, y = quadrants(1000)
    X[:2] = [0.0, 0.0], [1.0, 1.0]
    public = X[:100], y[:100]
    tree = DecisionTreeClassifier(max_depth=3, random_state=0).fit(*public)
    ours = NonPrivateTreeClassifier("public", max_depth=3, random_state=0)
    assert (ours.fit(X[100:], y[100:], public).predict(X) == tree.predict(X)).all()
    assert NonPrivateTreeClassifier("all").fit(X[100:], y[100:], public).score(X, y) == 1.0
    private = NonPrivateTreeRegressor("private")
    assert private.fit(X[100:], y[100:], public).score(X[100:], y[100:]) == 1.0
