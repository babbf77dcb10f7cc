"""What estimators work on: counts from reports and from public data."""

import numpy as np
import pytest

from privet.learning.core.counts import public_counts
from privet.protocol.features import Label
from privet.protocol.label_scale import Centring, LabelScale

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
