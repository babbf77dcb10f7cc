"""LPCT's synthetic design."""

import numpy as np
import pytest

from scripts.reproduce.lpct_design import bayes_accuracy, draw, eta


def test_the_design_is_the_papers() -> None:
    """Bayes accuracy is the authors' .7861, probabilities lie in [0.1, 0.9], Q agrees with P."""
    assert bayes_accuracy() == pytest.approx(0.7861, abs=5e-5)
    X = np.random.default_rng(0).random((10_000, 2))
    assert eta(X).min() >= 0.1
    assert eta(X).max() <= 0.9
    np.testing.assert_array_equal(np.sign(eta(X) - 0.5), np.sign(eta(X, 5.0) - 0.5))


def test_labels_follow_eta() -> None:
    """Labels are drawn from eta: the mean residual is within 4.9 standard errors at 1e-6."""
    data = draw(50_000, 1.0, np.random.default_rng(1))
    residual = data.y - eta(data.X)
    assert abs(residual.mean()) < 4.9 * residual.std() / np.sqrt(len(residual))
