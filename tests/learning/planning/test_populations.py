"""Populations differ from the public model as they are said to."""

import numpy as np
import pytest

from privet.learning.planning.populations import (
    CHANGED,
    HIGHER,
    RARER,
    SCARCE,
    TILTED,
    Population,
    few_rows,
    place_of,
)

rng = np.random.default_rng(0)
POINTS = rng.random((500, 3)) * [3.0, 1.0, 1.0]
SHARES = rng.dirichlet([4.0, 1.0], size=500)


def test_volunteers_are_rarer_by_their_odds() -> None:
    """Among holders the rarest class has 4.5 times the odds, overall and at every point."""
    fair = Population.fair(POINTS, SHARES)
    holders = fair.volunteers(1.0)
    odds, fair_odds = (
        (world.weights @ world.truth)[1] / (world.weights @ world.truth)[0]
        for world in (holders, fair)
    )
    assert odds == pytest.approx(RARER * fair_odds)
    at_points = holders.truth[:, 1] / holders.truth[:, 0] / (SHARES[:, 1] / SHARES[:, 0])
    np.testing.assert_allclose(at_points, RARER)
    assert holders.weights.sum() == pytest.approx(1.0)


def test_a_part_has_other_labels() -> None:
    """30 % at one end of the first component have the next class, and nobody else."""
    changed = Population.fair(POINTS, SHARES).changed()
    moved = (changed.truth != SHARES).any(axis=1)
    assert moved.mean() == pytest.approx(CHANGED, abs=0.005)
    np.testing.assert_array_equal(changed.truth[moved], SHARES[moved][:, ::-1])
    assert abs(np.corrcoef(moved, POINTS[:, 0])[0, 1]) > 0.7


def test_numbers_move_too() -> None:
    """Volunteers' numbers are lower by half a deviation; others are mirrored at the mean."""
    means = POINTS[:, :1]
    fair = Population.fair(POINTS, means)
    np.testing.assert_allclose(fair.volunteers(2.0).truth, means + 2.0 * HIGHER)
    other = fair.changed().truth
    moved = other != means
    np.testing.assert_allclose(other[moved] - means.mean(), means.mean() - means[moved])


def test_few_rows_are_chosen_by_chance_or_by_tilt() -> None:
    """A quarter of the rows without repetition; tilted ones lie further along the component."""
    chosen = dict(few_rows(POINTS, 20, np.random.default_rng(1)))
    assert [len(set(rows.tolist())) for rows in chosen.values()] == [125, 125]
    place = place_of(POINTS)
    assert place[chosen[TILTED]].mean() > place[chosen[SCARCE]].mean() + 0.15
    assert all(len(rows) == 10 for _, rows in few_rows(POINTS[:10], 20, rng))
