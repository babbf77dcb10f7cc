"""AUC with its standard error."""

import numpy as np
import pytest
from scipy.stats import binom, norm

from privet.learning.core.ranking import auc
from tests.stat_checks import ALPHA


def test_an_auc_is_the_part_of_pairs_in_order() -> None:
    """Of six pairs four are in order and one is a tie."""
    score, of_class = np.array([0.1, 0.4, 0.35, 0.8, 0.4]), np.array([0, 0, 1, 1, 0], dtype=bool)
    assert auc(score, of_class)[0] == pytest.approx(4.0 / 6.0)
    assert auc(np.ones(5), of_class) == (0.5, 0.0)


def test_its_error_is_that_of_many_samples() -> None:
    """Of 200 intervals 95 % hold, with 20 rare records among 400; fewer by chance below 1e-6."""
    rng, held = np.random.default_rng(0), 0
    truth = norm.cdf(1.0 / np.sqrt(2.0))
    for _ in range(200):
        of_class = np.arange(400) < 20
        value, error = auc(rng.standard_normal(400) + of_class, of_class)
        held += abs(value - truth) < 1.96 * error
    assert held >= binom.ppf(ALPHA, 200, 0.93)
