"""Message passing on the tree against dense Gaussian algebra."""

import numpy as np
import pytest

from privet.learning.drift.tree_smoothing import smooth
from privet.protocol.partition import Partition
from tests.naive import path_to

from ..examples import random_tree


def prior_covariance(tree: Partition, steps: np.ndarray) -> np.ndarray:
    """Two cells share the steps of all nodes that both lie below."""
    below = np.zeros((tree.nodes, tree.cells))
    for cell in range(tree.cells):
        below[path_to(tree, cell), cell] = 1.0
    return np.asarray(below.T @ np.diag(steps) @ below)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("cells", [1, 7])
def test_means_variances_and_evidence_are_those_of_dense_algebra(seed: int, cells: int) -> None:
    """Several priors and right-hand sides at once; steps of variance 0 and cells without data."""
    rng, tree = np.random.default_rng(seed), random_tree(seed, cells)
    steps = rng.gamma(1.0, 1.0, size=(3, tree.nodes)) * (rng.random((3, tree.nodes)) > 0.2)
    J = rng.gamma(2.0, 2.0, size=(3, cells, 2)) * (rng.random((3, cells, 2)) > 0.2)
    H = rng.standard_normal((2, 3, cells, 2))
    found = smooth(tree, steps, J, H)
    for prior in range(3):
        P = prior_covariance(tree, steps[prior])
        for slot in range(2):
            j, h = np.diag(J[prior, :, slot]), H[:, prior, :, slot]
            C = np.linalg.solve(np.eye(cells) + P @ j, P)
            np.testing.assert_allclose(found.means[:, prior, :, slot], h @ C.T, atol=1e-10)
            np.testing.assert_allclose(found.variance[prior, :, slot], np.diag(C), atol=1e-10)
            _, log_det = np.linalg.slogdet(np.eye(cells) + P @ j)
            evidence = 0.5 * h[0] @ C @ h[0] - 0.5 * log_det
            assert found.log_evidence[prior, slot] == pytest.approx(evidence, abs=1e-9)
