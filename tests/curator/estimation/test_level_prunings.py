"""The recursion with information about inner nodes, against all prunings one by one."""

from dataclasses import replace

import numpy as np
import pytest

from privet.curator.estimation import level_prunings, prunings
from privet.curator.estimation.prunings import Information, Inner, Posterior
from privet.curator.trees import node_sums
from privet.protocol.partition import Partition
from tests.curator.estimation.trees import cells_below, random_tree
from tests.curator.estimation.trees import prunings as all_prunings

CELLS, SLOTS, DEVIATION = 6, 2, 0.3


@pytest.mark.parametrize("seed", range(4))
def test_without_inner_information_the_recursion_is_the_plain_one(seed: int) -> None:
    """Nothing known above the cells: everything as ``prunings.average`` has it, reach included."""
    tree = random_tree(seed, CELLS)
    told = information(seed, tree, [])
    plain = replace(told, inner=None)
    ranges = np.random.default_rng(seed).random((tree.nodes, SLOTS))
    wanted = prunings.average(tree, plain, DEVIATION, 0.7, ranges)
    found = level_prunings.average(tree, told, DEVIATION, 0.7, ranges)
    assert_same(found, wanted)
    np.testing.assert_allclose(found.reach, wanted.reach)
    assert_same(level_prunings.average(tree, plain, DEVIATION, 0.7, ranges), wanted)


@pytest.mark.parametrize("seed", range(4))
def test_information_just_above_the_cells_is_used_exactly(seed: int) -> None:
    """Where no pruning divides a node's children, the sum over all prunings gives the same."""
    tree = random_tree(seed, CELLS)
    lowest = [v for v in above(tree) if tree.is_leaf[[tree.left[v], tree.right[v]]].all()]
    told = information(seed, tree, lowest)
    found = level_prunings.average(tree, told, DEVIATION, 0.7)
    assert_same(found, enumerated(tree, told, DEVIATION, 0.7))


@pytest.mark.parametrize("seed", range(4))
def test_one_pruning_is_averaged_exactly(seed: int) -> None:
    """With information everywhere and all nodes divided, the posterior is the dense normal one."""
    tree = random_tree(seed, CELLS)
    told, split = information(seed, tree, above(tree)), 1.0 - 1e-14
    found = level_prunings.average(tree, told, DEVIATION, split)
    assert_same(found, enumerated(tree, told, DEVIATION, split))


@pytest.mark.parametrize("seed", range(6))
def test_the_approximation_stays_near_the_sum_over_all_prunings(seed: int) -> None:
    """With information everywhere: within a tenth of a posterior deviation of the exact mean."""
    tree = random_tree(seed, CELLS)
    told = information(seed, tree, above(tree))
    found = level_prunings.average(tree, told, DEVIATION, 0.7)
    exact = enumerated(tree, told, DEVIATION, 0.7)
    assert (np.abs(found.mean - exact.mean) < 0.1 * np.sqrt(exact.variance)).all()


@pytest.mark.parametrize("seed", range(6))
def test_reach_bounds_what_a_change_within_ranges_moves(seed: int) -> None:
    """With all nodes divided, no change of H by less than half its range moves a mean further."""
    rng, tree = np.random.default_rng(seed), random_tree(seed, CELLS)
    told, split = information(seed, tree, above(tree)), 1.0 - 1e-14
    own = told.inner.ranges.copy()
    own[tree.leaves] = rng.random((CELLS, SLOTS))
    below = np.stack([own[subtree(tree, v)].sum(axis=0) for v in range(tree.nodes)])
    found = level_prunings.average(tree, told, DEVIATION, split, below)
    for _ in range(20):
        change = own * rng.choice([-0.5, 0.5], size=own.shape)
        inner = replace(told.inner, H=told.inner.H + np.where(tree.is_leaf[:, None], 0.0, change))
        moved = replace(told, H=told.H + change[tree.leaves], inner=inner)
        mean = level_prunings.average(tree, moved, DEVIATION, split, below).mean
        assert (np.abs(mean - found.mean) <= 0.5 * found.reach * (1.0 + 1e-9)).all()


@pytest.mark.parametrize("seed", range(4))
def test_a_shifted_quantity_has_the_same_likelihood(seed: int) -> None:
    """The log-likelihood of g = x + c, its constant included, is that of x, on all levels."""
    rng, tree = np.random.default_rng(seed), random_tree(seed, CELLS)
    told = information(seed, tree, above(tree))
    x, c = rng.standard_normal((2, CELLS, SLOTS))
    wanted, found = log_likelihood(told, x), log_likelihood(told.shifted(c), x + c)
    assert found == pytest.approx(wanted)


def log_likelihood(told: Information, x: np.ndarray) -> float:
    """Of values per cell, as an average over slots that say part of it twice."""
    means = told.inner.node_means(x)
    cells = (told.H * x - 0.5 * told.J * x**2).sum()
    nodes = (told.inner.H * means - 0.5 * told.inner.J * means**2).sum()
    return float(told.independent * (cells + nodes) + told.log_scale)


def above(tree: Partition) -> list[int]:
    """The nodes above the cells."""
    return np.flatnonzero(~tree.is_leaf).tolist()


def subtree(tree: Partition, node: int) -> list[int]:
    """A node and all nodes below it."""
    return [
        v for v in range(tree.nodes) if set(cells_below(tree, v)) <= set(cells_below(tree, node))
    ]


def information(seed: int, tree: Partition, inner: list[int]) -> Information:
    """Random information about all cells and the nodes ``inner``."""
    rng = np.random.default_rng(seed)
    J, H, ranges = np.zeros((3, tree.nodes, SLOTS))
    nodes = [*tree.leaves.tolist(), *inner]
    J[nodes] = rng.gamma(2.0, 20.0, size=(len(nodes), SLOTS))
    H[nodes] = 10.0 * rng.standard_normal((len(nodes), SLOTS))
    ranges[inner] = rng.random((len(inner), SLOTS))
    of_cells = J[tree.leaves].copy(), H[tree.leaves].copy()
    J[tree.leaves] = H[tree.leaves] = 0.0
    weights = node_sums(tree, rng.random((CELLS, SLOTS)) + 0.1)
    return Information(*of_cells, 0.25, 0.5, Inner(tree, J, H, ranges, weights))


def enumerated(tree: Partition, told: Information, deviation: float, split: float) -> Posterior:
    """The posterior as the sum over prunings, each a dense normal model of its constants."""
    J, H = told.inner.J.copy(), told.inner.H.copy()
    J[tree.leaves], H[tree.leaves] = told.J, told.H
    logs, moments = [], []
    for prior, stops in all_prunings(tree, 0, split):
        log, mean, variance = np.log(prior), *np.zeros((2, CELLS, SLOTS))
        members = [cells_below(tree, node) for node in stops]
        for slot in range(SLOTS):
            design = parts(tree, members, told.inner.weights[tree.leaves, slot])
            precision = np.eye(len(stops)) / deviation**2 + (design.T * J[:, slot]) @ design
            score, covariance = design.T @ H[:, slot], np.linalg.inv(precision)
            size = np.linalg.slogdet(precision * deviation**2)[1]
            log += told.independent * 0.5 * (score @ covariance @ score - size)
            for cells, m, v in zip(members, covariance @ score, np.diag(covariance), strict=True):
                mean[cells, slot], variance[cells, slot] = m, v
        logs.append(log)
        moments.append((mean, variance + mean**2, variance, 1.0 - variance / deviation**2))
    total = np.logaddexp.reduce(logs)
    weights = np.exp(np.array(logs) - total)
    mean, second, within, share = np.tensordot(weights, np.array(moments), 1)
    evidence = float(total) + told.log_scale
    return Posterior(mean, second - mean**2, within, share, np.zeros_like(mean), evidence)


def parts(tree: Partition, members: list[list[int]], weights: np.ndarray) -> np.ndarray:
    """What each set of cells counts for in each node's mean, ``(nodes, sets)``."""
    found = np.zeros((tree.nodes, len(members)))
    for node in range(tree.nodes):
        below = cells_below(tree, node)
        for i, cells in enumerate(members):
            found[node, i] = weights[[c for c in cells if c in below]].sum() / weights[below].sum()
    return found


def assert_same(found: Posterior, wanted: Posterior) -> None:
    """Equal but for what one report can move."""
    for name in ("mean", "variance", "within", "data_share", "log_evidence"):
        np.testing.assert_allclose(getattr(found, name), getattr(wanted, name), rtol=1e-7)
