"""What estimators work on: counts from reports and from public data."""

from collections.abc import Sequence

import numpy as np
import pytest

from privet.learning.core.counts import QuestionCounts, public_counts
from privet.protocol.features import Label
from privet.protocol.label_scale import Centring, LabelScale
from privet.protocol.mechanisms import create_mechanism

from ..examples import NUMBER, THREE, complete, public_rows, reports, unasked

CENTRES, RADIUS = (0.5, -1.0, 4.0, 6.0), 1.5
AROUND = LabelScale.of(NUMBER, 4, Centring(centres=CENTRES, radius=RADIUS))


@pytest.mark.parametrize(("label", "scale"), [(THREE, None), (NUMBER, None), (NUMBER, AROUND)])
def test_public_counts_add_up_the_rows_of_each_cell(label: Label, scale: LabelScale | None) -> None:
    """Each class's rows; for a number the sums of 1 - t and t, on the range or around centres.

    A row on the upper edge is in the last cell.
    """
    tree, public = complete(2), public_rows(label, 300, seed=2)
    public.X[0] = 1.0
    counted = np.zeros((4, label.slots))
    for x, y in zip(public.X, public.y, strict=True):
        cell, t = tree.locate_one(x), (y + 2.0) / 8.0
        if scale is not None:
            t = 0.5 + min(max(y - CENTRES[cell], -RADIUS), RADIUS) / (2 * RADIUS)
        counted[cell] += np.eye(3)[int(y)] if label is THREE else (1.0 - t, t)
    assert tree.locate_one(public.X[0]) == 3
    np.testing.assert_allclose(public_counts(label, public, tree, scale), counted)


def test_plausible_counts_are_possible() -> None:
    """Plausible counts are non-negative and add up to the number of reports."""
    question = reports(complete(4), np.full((16, 2), 20), epsilon=0.5, seed=3)
    assert question.counts.min() < 0
    assert question.plausible.min() >= 0
    np.testing.assert_allclose(question.plausible.sum(), 640)


def test_without_reports_all_counts_are_zero() -> None:
    """Before the first report all counts, noise and sampling variances are zero."""
    none = unasked(reports(complete(2), np.full((4, 2), 5), epsilon=1.0, seed=4))
    assert not none.counts.any()
    assert not none.total_covariance.any()


def test_count_influence_is_what_one_count_can_change_by() -> None:
    """For subset selection a count changes by 1 / (p - q) between in and out of the set."""
    question = reports(complete(2), np.full((4, 2), 5), epsilon=1.0, seed=5)
    one, other = (
        question.mechanism.estimate(s, 1)[0, 0] for s in (np.eye(9, dtype=int)[0], np.zeros(9, int))
    )
    np.testing.assert_allclose(question.count_influence, one - other)


@pytest.mark.parametrize(
    ("name", "strata"),
    [
        *((name, ()) for name in ("subset", "grr", "projective", "laplace")),
        *(("subset", strata) for strata in ((0,) * 8, (0, 0, 1, 1, 1, 2, 2, 2), range(8))),
    ],
)
@pytest.mark.parametrize("epsilon", [0.5, 4.0])
def test_total_influence_bounds_what_any_two_reports_differ_by(
    name: str, epsilon: float, strata: Sequence[int]
) -> None:
    """No pair of 150 reports differs by more, weights included, and no count by more than its."""
    rng = np.random.default_rng(6)
    mechanism = create_mechanism(name, epsilon, 8, 2, strata=strata)
    question = QuestionCounts(complete(3), mechanism, np.zeros(mechanism.sum_size, np.int64), 0)
    drawn = []
    for category in rng.integers(16, size=150):
        payload = np.frombuffer(mechanism.privatize(int(category), rng.bytes), np.uint8)
        drawn.append(mechanism.estimate(mechanism.accumulate(payload[None, :]), 1))
    differences = np.abs(np.array(drawn)[:, None] - np.array(drawn)[None])
    assert (differences <= question.count_influence * (1 + 1e-9)).all()
    for weights in (np.ones((8, 2)), rng.random((8, 2)), np.eye(8, 2)):
        furthest = (weights * differences).sum(axis=(2, 3)).max()
        assert furthest <= question.total_influence(weights) * (1 + 1e-9)
