"""What was reported below a node: the holders' own figures, intervals that cover."""

from dataclasses import replace

import numpy as np
import pytest

from privet.learning.core.trees import locate
from privet.learning.figures.node_shares import node_shares
from privet.learning.figures.precision import overall_precision
from privet.learning.methods import fit
from privet.protocol.features import Label
from tests.naive import path_to
from tests.stat_checks import ALPHA, clopper_pearson

from ..examples import BINARY, EVERY_LABEL, NUMBER, REPORTS_ALONE, complete, public_rows, reports
from .test_insight import HOLDERS, PUBLIC, TREE, compared, counts_of

NODE = 2
"""The root's right child, whose cells are the last four."""


def cells_below(node: int) -> np.ndarray:
    """True if each cell's path meets a node."""
    return np.array([node in path_to(TREE, cell) for cell in range(TREE.cells)])


@pytest.mark.parametrize("node", [0, NODE, 3])
@EVERY_LABEL
def test_without_noise_the_figures_are_the_holders_own(label: Label, node: int) -> None:
    """At epsilon 60 nothing is perturbed: mass, shares and mean are exact, beside public ones."""
    public = public_rows(label, PUBLIC, seed=1)
    counts = counts_of(label, public_rows(label, HOLDERS, seed=2))
    asked = reports(TREE, counts, 60.0, 3, regression=label is NUMBER)
    model = fit("weighted", label, public, [asked], **REPORTS_ALONE)
    found = node_shares(label, public, asked, model, node)
    below = cells_below(node)
    inside = counts[below]
    assert found.mass.reported.value == pytest.approx(inside.sum() / HOLDERS)
    there = below[locate(TREE, public.X)]
    assert found.mass.public == pytest.approx(there.mean())
    values = [row.reported.value for row in found.rows]
    if label is NUMBER:
        mean = NUMBER.low + (NUMBER.high - NUMBER.low) * inside[:, 1].sum() / inside.sum()
        assert values == pytest.approx([mean])
        assert found.rows[0].public == pytest.approx(public.y[there].mean())
    else:
        assert values == pytest.approx(inside.sum(axis=0) / inside.sum())
        shares = [(public.y[there] == slot).mean() for slot in range(label.slots)]
        assert [row.public for row in found.rows] == pytest.approx(shares)


def test_intervals_cover_the_share_of_those_who_reported() -> None:
    """95 % of 200 intervals hold the true share; a false alarm has probability 1e-6."""
    public = public_rows(BINARY, PUBLIC, seed=1)
    counts = counts_of(BINARY, public_rows(BINARY, 10 * HOLDERS, seed=2))
    inside = counts[cells_below(NODE)]
    truth = inside[:, 1].sum() / inside.sum()
    model = fit("weighted", BINARY, public, [reports(TREE, counts, 1.0, 0)], **REPORTS_ALONE)
    covered = 0
    for seed in range(200):
        asked = reports(TREE, counts, 1.0, seed)
        row = node_shares(BINARY, public, asked, model, NODE).rows[1]
        covered += row.reported.low <= truth <= row.reported.high
    low, high = clopper_pearson(covered, 200, ALPHA)
    assert low <= 0.95 <= high, covered


def test_where_the_mass_may_be_nothing_everything_is_possible() -> None:
    """A cell without holders, at a low epsilon: no share is claimed."""
    counts = counts_of(BINARY, public_rows(BINARY, HOLDERS, seed=2))
    counts[0] = 0
    asked = reports(TREE, counts, 0.1, 1)
    public = public_rows(BINARY, PUBLIC, seed=1)
    model = fit("weighted", BINARY, public, [asked], **REPORTS_ALONE)
    found = node_shares(BINARY, public, asked, model, int(TREE.leaves[0]))
    assert [(row.reported.low, row.reported.high) for row in found.rows] == [(0.0, 1.0)] * 2


@pytest.mark.parametrize("label", [BINARY, NUMBER], ids=["two", "number"])
def test_so_many_reports_give_the_interval_that_was_wanted(label: Label) -> None:
    """The interval of 4 000 reports is reached with about 4 000, and a third of it with nine times
    as many; before the first report the order of magnitude is known."""
    public = public_rows(label, PUBLIC, seed=1)
    counts = counts_of(label, public_rows(label, HOLDERS, seed=2))
    found, _ = compared(label, counts, public, epsilon=2.0, seed=3)
    half = max(row.high - row.low for row in found.overall) / 2
    asked = reports(TREE, counts, 2.0, 3, regression=label is NUMBER)
    precision = overall_precision(label, public, asked)
    assert precision.reports(half, None) == pytest.approx(HOLDERS, rel=0.1)
    assert precision.reports(half / 3, None) == pytest.approx(9 * HOLDERS, rel=0.1)
    none = reports(complete(3), np.zeros_like(counts), 2.0, 3, regression=label is NUMBER)
    before = overall_precision(label, public, none).reports(half, None)
    assert before is not None
    assert HOLDERS / 3 < before < 3 * HOLDERS


@pytest.mark.parametrize("label", [BINARY, NUMBER], ids=["two", "number"])
def test_a_few_reports_ask_for_no_other_number_than_none(label: Label) -> None:
    """Of which it is not yet clear how many fit: their own variance may be anything."""
    public = public_rows(label, 10, seed=1)
    for seed in range(20):
        few = counts_of(label, public_rows(label, 20, seed=seed))
        asked, none = (
            reports(TREE, counts, 1.0, seed, regression=label is NUMBER)
            for counts in (few, np.zeros_like(few))
        )
        of_few, of_none = (
            overall_precision(label, public, each).reports(0.1, None) for each in (asked, none)
        )
        assert of_few == of_none


@pytest.mark.parametrize("planned", [None, 3_000.0])
def test_an_interval_narrows_with_as_many_reports_as_are_said(planned: float | None) -> None:
    counts = counts_of(BINARY, public_rows(BINARY, 1_000, seed=2))
    halves = []
    for times in (1, 9):
        asked = replace(reports(TREE, times * counts, 2.0, 3), planned=planned)
        found = asked.mean(np.array([-0.5, 0.5]) * np.ones((asked.partition.cells, 1)))
        halves.append(found.factor * found.variance**0.5)
    public = public_rows(BINARY, 10, seed=1)
    precision = overall_precision(BINARY, public, asked)
    needed = precision.narrowed(halves[0], 1_000, halves[1], planned)
    assert needed == pytest.approx(9_000, rel=0.05)
