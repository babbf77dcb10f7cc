"""Partitions distilled from a public model."""

import numpy as np
import pytest

from privet.learning.core.public_data import class_count
from privet.learning.core.trees import locate
from privet.learning.drift.distilled import distilled_depth
from privet.learning.drift.knowledge import public_knowledge
from privet.protocol.features import Classes, Range

from ..examples import EVERY_LABEL, public_rows
from ..test_growers import grow


@EVERY_LABEL
def test_cells_explain_the_model_better_the_more_there_are(label: Classes | Range) -> None:
    """The model's variance within cells falls from one depth to the next, within the limit."""
    public = public_rows(label, 80, seed=1)
    classes = class_count(label)
    known = public_knowledge(public.X, public.y, classes)
    spread = []
    for depth in (0, 2, 4, 6):
        tree = grow("distilled", public.X, public.y, classes, depth, seed=2, base=known.model)
        assert tree.cells <= 2**depth
        means, _ = known.cell_means(tree)
        spread.append(((known.scores - means[locate(tree, known.points)]) ** 2).mean())
    assert spread == sorted(spread, reverse=True)
    assert spread[-1] < 0.1 * spread[0]


@pytest.mark.parametrize("centred", [False, True])
def test_depth_follows_what_reports_can_tell_apart(centred: bool) -> None:
    """More holders or budget never give fewer cells; the depth stays within its limits.

    Before rounding a margin of .35 between n / K holders is two standard errors.
    """
    epsilons, holders = (0.1, 1.0, 3.0, 4.0, 4.6, 6.0, 20.0), (0, 10**3, 10**6)
    depths = [[distilled_depth(n, e, centred=centred) for e in epsilons] for n in holders]
    assert (np.diff(depths, axis=0) >= 0).all()
    assert (np.diff(depths, axis=1) >= 0).all()
    assert min(min(row) for row in depths) == 1
    assert max(max(row) for row in depths) == 12
    assert distilled_depth(10_000, 2.0) == 4
    for n, epsilon in ((2_000, 1.0), (10_000, 8.0), (10**6, 0.5)):
        cells = 2.0 ** distilled_depth(n, epsilon)
        noise = 4.0 * np.exp(epsilon) / (np.exp(epsilon) - 1.0) ** 2
        error = np.sqrt(cells / n + cells**2 * noise / n)
        assert 0.35 / np.sqrt(2.0) <= 2.0 * error <= 0.35 * 2.0
