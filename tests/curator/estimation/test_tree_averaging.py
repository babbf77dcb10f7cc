"""The linear-time recursion against all prunings, one by one."""

import numpy as np
import pytest

from privet.curator.estimation.tree_averaging import Information, average, mix
from tests.curator.estimation.trees import cells_below, prunings, random_tree


@pytest.mark.parametrize("seed", range(6))
def test_recursion_equals_the_sum_over_all_prunings(seed: int) -> None:
    """Mean, variances, data share, influence and evidence are those of explicit enumeration."""
    rng = np.random.default_rng(seed)
    tree = random_tree(seed, cells=6)
    J, H = rng.gamma(2.0, 20.0, size=(6, 2)), 30.0 * rng.standard_normal((6, 2))
    of_nodes = rng.random((tree.nodes, 2))
    deviation, split, independent = 0.3, 0.7, 0.5
    total = 0.0
    first, second, inner, share, influence = (np.zeros((6, 2)) for _ in range(5))
    for prior, stops in prunings(tree, 0, split):
        weight = prior
        moments = []
        for node in stops:
            cells = cells_below(tree, node)
            j, h = J[cells].sum(axis=0), H[cells].sum(axis=0)
            shrink = deviation**2 / (1 + j * deviation**2)
            log_density = -0.5 * np.log(1 + j * deviation**2) + 0.5 * h**2 * shrink
            weight *= float(np.exp(independent * log_density.sum()))
            moments.append((cells, h * shrink, shrink, j * shrink, of_nodes[node] * shrink))
        total += weight
        for cells, mean, variance, of_data, moved in moments:
            first[cells] += weight * mean
            second[cells] += weight * (variance + mean**2)
            inner[cells] += weight * variance
            share[cells] += weight * of_data
            influence[cells] += weight * moved
    found = average(tree, Information(J, H, of_nodes, independent=independent), deviation, split)
    np.testing.assert_allclose(found.mean, first / total)
    np.testing.assert_allclose(found.variance, second / total - (first / total) ** 2, rtol=1e-9)
    np.testing.assert_allclose(found.variance - found.between, inner / total)
    np.testing.assert_allclose(found.data_share, share / total)
    np.testing.assert_allclose(found.influence, influence / total)
    assert found.log_evidence == pytest.approx(np.log(total))


def test_prior_probabilities_of_all_prunings_add_up_to_one() -> None:
    """The twin itself is a distribution over prunings."""
    assert sum(p for p, _ in prunings(random_tree(1, 7), 0, 0.8)) == pytest.approx(1.0)


def test_without_information_the_prior_comes_back() -> None:
    """No information: mean 0, the prior's variance, evidence 1, nothing from data."""
    none = np.zeros((5, 2))
    found = average(random_tree(2, 5), Information(none, none), deviation=0.4, split=0.8)
    np.testing.assert_allclose(found.mean, 0.0)
    np.testing.assert_allclose(found.variance, 0.16)
    np.testing.assert_allclose(found.data_share, 0.0)
    assert found.log_evidence == pytest.approx(0.0)


def test_overwhelming_information_is_followed_in_each_cell() -> None:
    """With plenty of information every cell gets its own estimate H / J."""
    wanted = np.array([[-0.4], [0.1], [0.5], [-0.2]])
    J = np.full((4, 1), 1e6)
    found = average(random_tree(3, 4), Information(J, J * wanted), deviation=0.3, split=0.8)
    np.testing.assert_allclose(found.mean, wanted, atol=1e-4)


def test_mix_weighs_by_evidence_and_prior() -> None:
    """The mixture's mean, variance and evidence are those of the two-point mixture."""
    tree, J, H = random_tree(4, 3), np.full((3, 1), 10.0), np.array([[2.0], [-1.0], [4.0]])
    parts = [average(tree, Information(J, H), s, 0.8) for s in (0.1, 0.5)]
    prior = np.array([0.3, 0.7])
    weights = prior * np.exp([p.log_evidence for p in parts])
    found = mix(parts, np.log(prior))
    assert found.log_evidence == pytest.approx(np.log(weights.sum()))
    weights /= weights.sum()
    mean = sum(w * p.mean for w, p in zip(weights, parts, strict=True))
    second = sum(w * (p.variance + p.mean**2) for w, p in zip(weights, parts, strict=True))
    np.testing.assert_allclose(found.mean, mean)
    np.testing.assert_allclose(found.variance, second - mean**2)


def test_a_single_cell_is_plain_shrinkage() -> None:
    """On an undivided space the posterior is the normal one."""
    found = average(random_tree(0, 1), Information(np.array([[30.0]]), np.array([[6.0]])), 0.5, 0.8)
    assert found.mean[0, 0] == pytest.approx(6 / (30 + 4))
    assert found.variance[0, 0] == pytest.approx(1 / (30 + 4))
