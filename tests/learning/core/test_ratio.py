"""Ratios of noisy counts: order kept, nothing outside [0, 1], intervals that cover."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from privet.learning.core.looks import ONE_LOOK
from privet.learning.core.ratio import fieller_interval, project_on_simplex, shares

NOISY_COUNTS = arrays(np.float64, (5, 3), elements=st.floats(-1e6, 1e6, width=32))


@given(NOISY_COUNTS)
def test_shares_are_probabilities_in_the_order_of_the_counts(counts: np.ndarray) -> None:
    """Shares are in [0, 1], add up to 1, and a larger count never has the smaller share."""
    result = shares(counts, np.tile(np.eye(3) * 100.0, (5, 1, 1)))
    assert (result >= 0).all()
    np.testing.assert_allclose(result.sum(axis=1), 1.0)
    larger = counts[:, :, None] > counts[:, None, :]
    assert (result[:, :, None] >= result[:, None, :])[larger].all()


@given(NOISY_COUNTS)
def test_projection_is_the_nearest_probability_vector(points: np.ndarray) -> None:
    """No vertex of the simplex, nor its centre, lies in the direction of the point."""
    nearest = project_on_simplex(points)
    corners = np.vstack([np.eye(3), np.full((1, 3), 1 / 3)])
    for point, found in zip(points, nearest, strict=True):
        angles = (corners - found) @ (point - found)
        assert angles.max() <= 1e-6 * (1 + np.abs(point).max())


def test_shares_are_ratios_where_counts_allow_it() -> None:
    """Where no count is negative a share is count over mass, eq. 8's ratio.

    With a negative mass the ratio 3 / -2 is below 1/2, yet the larger count is class 1's. A cell
    without counts and without noise, 0/0, has equal shares.
    """
    counts = np.array([[3.0, 1.0], [0.0, 5.0]])
    np.testing.assert_allclose(shares(counts, np.zeros((2, 2, 2))), [[0.75, 0.25], [0.0, 1.0]])
    negative = np.array([[-5.0, 3.0], [-1.0, -9.0]])
    assert shares(negative, np.tile(np.eye(2) * 25.0, (2, 1, 1))).argmax(axis=1).tolist() == [1, 0]
    np.testing.assert_allclose(shares(np.zeros((1, 4)), np.zeros((1, 4, 4))), np.full((1, 4), 0.25))


@pytest.mark.parametrize(
    ("counts", "holders"),
    [([30.0, 50.0], 0.0), ([30.0, 50.0], 80.0), ([80.0, 0.5], 80.0), ([1.0, 1.0], 0.0)],
)
def test_fieller_interval_is_the_set_of_acceptable_ratios(
    counts: list[float], holders: float
) -> None:
    """Its ends, found by scanning, are where |A - v B| equals z standard deviations.

    Sampled holders add their share's variance, n v (1 - v), to that of the noise. A mass that may
    be zero allows every share.
    """
    covariance = np.array([[[40.0, 5.0], [5.0, 60.0]]]) / (10.0 if holders else 1.0)
    low, high = fieller_interval(np.array([counts]), covariance, np.array([[holders]]))
    v = np.linspace(0, 1, 200_001)
    weights = np.stack([-v, 1 - v], axis=1)
    spread = np.einsum("vi,ij,vj->v", weights, covariance[0], weights) + holders * v * (1 - v)
    inside = v[(weights @ counts) ** 2 <= ONE_LOOK**2 * spread]
    assert low[0, 1] == pytest.approx(inside.min(), abs=1e-5)
    assert high[0, 1] == pytest.approx(inside.max(), abs=1e-5)
