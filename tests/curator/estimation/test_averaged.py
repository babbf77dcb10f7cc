"""The reports' likelihood of a deviation from even shares, whatever they were contrasted with."""

import numpy as np
import pytest

from privet.curator.estimation.averaged import (
    information_from_public,
    information_from_reports,
    posterior_of_counts,
)
from privet.curator.estimation.contrasts import Contrasts
from privet.curator.estimation.tree_averaging import average
from tests.curator.estimation.examples import complete, reports


def contrasts(shares: np.ndarray, seed: int = 0) -> Contrasts:
    """Contrasts of scale 1 of 4 cells' reports against ``shares``."""
    question = reports(complete(2), np.full(shares.shape, 100), 1.0, seed=seed)
    return Contrasts(question, shares, np.full(4, 0.25), np.ones_like(shares))


@pytest.mark.parametrize("slots", [2, 3])
def test_a_likelihood_of_g_is_that_of_the_deviation_it_implies(slots: int) -> None:
    """H' g - J' g^2 / 2 + constant is H delta - J delta^2 / 2 at delta = g - (q - 1 / slots)."""
    rng = np.random.default_rng(slots)
    q = rng.dirichlet(np.ones(slots), size=4)
    private = contrasts(q)
    reported = private.information()
    shifted_information = information_from_reports(private)
    g = 0.2 * rng.standard_normal(q.shape)
    delta = g - (q - 1.0 / slots)
    direct = (reported.H * delta - 0.5 * reported.J * delta**2).sum()
    shifted = (shifted_information.H * g - 0.5 * shifted_information.J * g**2).sum()
    assert (
        shifted_information.independent * shifted + shifted_information.log_scale
        == pytest.approx(shifted_information.independent * direct)
    )


def test_evidence_of_counts_is_what_reports_add_to_the_public_ones() -> None:
    """Reports without information have evidence 1, whatever the public counts are."""
    private = contrasts(np.full((4, 2), 0.5))
    mute = Contrasts(private.question, private.q, np.full(4, 1e-12), private.scale)
    known = np.array([[5.0, 1.0], [2.0, 2.0], [0.0, 0.0], [1.0, 9.0]])
    assert posterior_of_counts(mute, known, 0.8).log_evidence == pytest.approx(0.0, abs=1e-6)


def test_cells_without_public_records_are_left_to_reports() -> None:
    """A cell that no public record is in carries no public information."""
    shown = information_from_public(np.array([[3.0, 1.0], [0.0, 0.0]]), 1.0, 0.1)
    assert (shown.J[0] > 0.0).all()
    np.testing.assert_array_equal(shown.J[1], 0.0)
    np.testing.assert_array_equal(shown.H[1], 0.0)


def test_public_counts_of_another_strength_say_less_of_small_deviations() -> None:
    """With strength 0 the public counts leave the prior's mean at an even share."""
    known = np.array([[90.0, 10.0]] * 4)
    ignored = average(complete(2), information_from_public(known, 0.0, 0.1), 0.3, 0.8)
    heeded = average(complete(2), information_from_public(known, 1.0, 0.1), 0.3, 0.8)
    np.testing.assert_allclose(ignored.mean, 0.0, atol=1e-12)
    assert (heeded.mean[:, 0] > 0.3).all()
