"""What estimators work on: counts from reports and from public data."""

import numpy as np
import pytest

from privet.learning.counts import QuestionCounts, public_counts
from privet.learning.public_data import PublicData
from privet.learning.trees import locate
from privet.protocol.label_scale import Centring, LabelScale
from privet.protocol.mechanisms import create_mechanism
from tests.learning.estimators.examples import BINARY, NUMBER, THREE, complete, public_rows, reports


def test_public_counts_count_each_class_in_each_cell() -> None:
    """Public counts equal counting rows one by one."""
    partition, public = complete(3), public_rows(THREE, 500, seed=1)
    counted = np.zeros((8, 3))
    for x, y in zip(public.X, public.y, strict=True):
        counted[partition.locate_one(x), int(y)] += 1
    np.testing.assert_array_equal(public_counts(THREE, public, partition), counted)


def test_public_counts_of_numbers_add_up_labels() -> None:
    """For a numeric label slot 1 holds the sum of t and both slots the number of rows."""
    partition, public = complete(2), public_rows(NUMBER, 300, seed=2)
    counts = public_counts(NUMBER, public, partition)
    cells = locate(partition, public.X)
    np.testing.assert_allclose(counts.sum(axis=1), np.bincount(cells, minlength=4))
    np.testing.assert_allclose(counts[:, 1], np.bincount(cells, (public.y + 2.0) / 8.0))


def test_public_counts_are_on_the_scale_that_holders_told_numbers_on() -> None:
    """With a centring, t is counted around each cell's centre, as one row after another has it."""
    partition, public = complete(2), public_rows(NUMBER, 300, seed=2)
    centres, radius = (0.5, -1.0, 4.0, 6.0), 1.5
    scale = LabelScale.of(NUMBER, 4, Centring(centres=centres, radius=radius))
    counted = np.zeros((4, 2))
    for x, y in zip(public.X, public.y, strict=True):
        cell = partition.locate_one(x)
        t = 0.5 + min(max(y - centres[cell], -radius), radius) / (2 * radius)
        counted[cell] += (1 - t, t)
    np.testing.assert_allclose(public_counts(NUMBER, public, partition, scale), counted)


def test_plausible_counts_are_possible() -> None:
    """Plausible counts are non-negative and add up to the number of reports."""
    question = reports(complete(4), np.full((16, 2), 20), epsilon=0.5, seed=3)
    assert question.counts.min() < 0
    assert question.plausible.min() >= 0
    np.testing.assert_allclose(question.plausible.sum(), 640)


def test_without_reports_all_counts_are_zero() -> None:
    """Before the first report all counts, noise and sampling variances are zero."""
    some = reports(complete(2), np.full((4, 2), 5), epsilon=1.0, seed=4)
    none = QuestionCounts(some.partition, some.mechanism, np.zeros_like(some.sums), 0)
    assert not none.counts.any()
    assert not none.total_covariance.any()


def test_public_rows_outside_the_cube_count_in_the_nearest_cell() -> None:
    """A public row on the upper edge is in the last cell."""
    counts = public_counts(BINARY, PublicData(np.ones((1, 2)), np.ones(1)), complete(2))
    np.testing.assert_array_equal(counts, [[0, 0], [0, 0], [0, 0], [0, 1]])


def test_count_influence_is_what_one_count_can_change_by() -> None:
    """For subset selection a count changes by 1 / (p - q) between in and out of the set."""
    question = reports(complete(2), np.full((4, 2), 5), epsilon=1.0, seed=5)
    one, other = (
        question.mechanism.estimate(s, 1)[0, 0] for s in (np.eye(9, dtype=int)[0], np.zeros(9, int))
    )
    np.testing.assert_allclose(question.count_influence, one - other)


@pytest.mark.parametrize("name", ["subset", "grr", "oue", "projective", "laplace"])
@pytest.mark.parametrize("epsilon", [0.5, 4.0])
def test_total_influence_bounds_what_any_two_reports_differ_by(name: str, epsilon: float) -> None:
    """No pair of 400 reports differs by more, weights included, and no count by more than its."""
    rng = np.random.default_rng(6)
    mechanism = create_mechanism(name, epsilon, 8, 2)
    question = QuestionCounts(complete(3), mechanism, np.zeros(mechanism.sum_size, np.int64), 0)
    drawn = []
    for category in rng.integers(16, size=400):
        payload = np.frombuffer(mechanism.privatize(int(category), rng.bytes), np.uint8)
        drawn.append(mechanism.estimate(mechanism.accumulate(payload[None, :]), 1))
    differences = np.abs(np.array(drawn)[:, None] - np.array(drawn)[None])
    assert (differences <= question.count_influence * (1 + 1e-9)).all()
    for weights in (np.ones((8, 2)), rng.random((8, 2)), np.eye(8, 2)):
        furthest = (weights * differences).sum(axis=(2, 3)).max()
        assert furthest <= question.total_influence(weights) * (1 + 1e-9)
