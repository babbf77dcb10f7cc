"""What estimators work on: counts from reports and from public data."""

import numpy as np

from privet.curator.estimation.counts import QuestionCounts, public_counts
from privet.curator.public_data import PublicData
from privet.curator.trees import locate
from privet.protocol.label_scale import Centring, Scale
from tests.curator.estimation.examples import BINARY, NUMBER, THREE, complete, public_rows, reports


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
    centres, reach = (0.5, -1.0, 4.0, 6.0), 1.5
    scale = Scale.of(NUMBER, 4, Centring(centres=centres, reach=reach))
    counted = np.zeros((4, 2))
    for x, y in zip(public.X, public.y, strict=True):
        cell = partition.locate_one(x)
        t = 0.5 + min(max(y - centres[cell], -reach), reach) / (2 * reach)
        counted[cell] += (1 - t, t)
    np.testing.assert_allclose(public_counts(NUMBER, public, partition, scale), counted)


def test_plausible_counts_are_possible() -> None:
    """Plausible counts are non-negative and add up to the number of reports."""
    evidence = reports(complete(4), np.full((16, 2), 20), epsilon=0.5, seed=3)
    assert evidence.counts.min() < 0
    assert evidence.plausible.min() >= 0
    np.testing.assert_allclose(evidence.plausible.sum(), 640)


def test_no_reports_are_no_evidence() -> None:
    """Before the first report all counts, noise and sampling variances are zero."""
    some = reports(complete(2), np.full((4, 2), 5), epsilon=1.0, seed=4)
    none = QuestionCounts(some.partition, some.mechanism, np.zeros_like(some.sums), 0)
    assert not none.counts.any()
    assert not none.total_covariance.any()


def test_public_rows_outside_the_cube_count_in_the_nearest_cell() -> None:
    """A public row on the upper edge is in the last cell."""
    counts = public_counts(BINARY, PublicData(np.ones((1, 2)), np.ones(1)), complete(2))
    np.testing.assert_array_equal(counts, [[0, 0], [0, 0], [0, 0], [0, 1]])
