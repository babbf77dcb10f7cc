"""A figure explains itself with the interval that is stated of it."""

import pickle
import re
from dataclasses import replace

import numpy as np
import pytest

from privet.learning.core.labels import kind_of
from privet.learning.figures.compare import Insight, insight
from privet.learning.figures.figure import Figure, Reports
from privet.learning.figures.power import POWER
from privet.learning.methods import fit
from privet.protocol.features import Label

from ..examples import BINARY, EVERY_LABEL, NUMBER, REPORTS_ALONE, public_rows, reports
from .test_insight import PUBLIC, TREE, counts_of


def compared(label: Label, planned: float | None) -> Insight:
    public = public_rows(label, PUBLIC, seed=1)
    counts = counts_of(label, public_rows(label, 4_000, seed=2))
    asked = reports(TREE, counts, 2.0, 3, regression=label is NUMBER)
    asked = replace(asked, planned=planned)
    model = fit("weighted", label, public, [asked], **REPORTS_ALONE)
    return insight(label, public, [asked], model)


@EVERY_LABEL
@pytest.mark.parametrize("planned", [None, 4_000.0])
def test_a_figure_explains_how_it_came_about(label: Label, planned: float | None) -> None:
    """In three lines: counts, noise and looks, with the interval of its comparison; and it is kept
    with a fitted estimator."""
    found = pickle.loads(pickle.dumps(compared(label, planned)))
    assert len(found.figures) == len(found.overall)
    for figure, row in zip(found.figures, found.overall, strict=True):
        counts, noise, looks = figure.explain().splitlines()
        assert "by 4\u202f000 reports." in counts
        error = float(figure.variance) ** 0.5
        reported = re.search(r"standard error of ([\d.]+)( points)?;", noise)
        assert reported is not None
        assert float(reported[1]) == pytest.approx(
            error * (100.0 if reported[2] else 1.0), rel=0.06
        )
        assert (figure.stated.low, figure.stated.high) == (row.low, row.high)
        assert f"{'1.96' if planned is None else '3.04'} standard errors" in looks


@pytest.mark.parametrize("planned", [None, 8_000.0])
def test_two_figures_are_tested_against_each_other(planned: float | None) -> None:
    """One that is moved by what is detected with a power of .8 differs, and itself does not."""

    def share(of_yes: float) -> Figure:
        counts = np.tile([round(1_000 * (1.0 - of_yes)), round(1_000 * of_yes)], (8, 1))
        asked = replace(reports(TREE, counts, 4.0, 3), planned=planned)
        return Reports(kind_of(BINARY), asked).overall()[1]

    before = share(0.3)
    assert before.p_value(before) == 1.0
    change = before.to_detect(before, tests=1)
    least = change.smallest()
    assert least is not None
    assert change.power(least) == pytest.approx(POWER)
    assert before.p_value(share(0.3 + 2.0 * least)) < 0.001
    assert before.p_value(share(0.3 + 0.2 * least)) > 0.05
