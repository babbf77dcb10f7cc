"""What was reported below a node: the holders' own figures, intervals that cover."""

from dataclasses import replace

import numpy as np
import pytest

from privet.learning.core.model import question_about
from privet.learning.core.trees import locate, node_sums
from privet.learning.figures.compare import insight
from privet.learning.figures.node_shares import BelowNodes, consistent_masses, node_masses
from privet.learning.figures.precision import narrowed, overall_precision
from privet.learning.methods import fit
from privet.protocol.features import Label
from tests.naive import path_to
from tests.stat_checks import ALPHA, clopper_pearson

from ..examples import (
    BINARY,
    EVERY_LABEL,
    NUMBER,
    REPORTS_ALONE,
    complete,
    public_rows,
    reports,
)
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
    found = BelowNodes(label, public, asked).shares(node)
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


@pytest.mark.parametrize("by_both", [True, False])
@EVERY_LABEL
def test_the_root_has_the_figures_of_all(label: Label, *, by_both: bool) -> None:
    """Also by those who were asked for the label alone, of whom no cell is known."""
    public = public_rows(label, PUBLIC, seed=1)
    counts, of_others = (counts_of(label, public_rows(label, HOLDERS, seed=s)) for s in (2, 3))
    is_number = label is NUMBER
    asked = reports(TREE, counts, 1.0, 3, regression=is_number)
    alone = reports(complete(0), of_others.sum(axis=0, keepdims=True), 1.0, 4, regression=is_number)
    questions = [asked, alone] if by_both else [asked]
    model = fit("weighted", label, public, questions, **REPORTS_ALONE)
    question = question_about(model, questions)
    assert question is not None
    found = BelowNodes(label, public, question, alone if by_both else None).shares(0)
    overall = insight(label, public, questions, model).overall
    assert [(row.reported.value, row.reported.low, row.reported.high) for row in found.rows] == [
        pytest.approx((row.reported, row.low, row.high)) for row in overall
    ]


def test_intervals_cover_the_share_of_those_who_reported() -> None:
    """95 % of 200 intervals hold the true share; a false alarm has probability 1e-6."""
    public = public_rows(BINARY, PUBLIC, seed=1)
    counts = counts_of(BINARY, public_rows(BINARY, 10 * HOLDERS, seed=2))
    inside = counts[cells_below(NODE)]
    truth = inside[:, 1].sum() / inside.sum()
    covered = 0
    for seed in range(200):
        asked = reports(TREE, counts, 1.0, seed)
        row = BelowNodes(BINARY, public, asked).shares(NODE).rows[1]
        covered += row.reported.low <= truth <= row.reported.high
    low, high = clopper_pearson(covered, 200, ALPHA)
    assert low <= 0.95 <= high, covered


@pytest.mark.parametrize("strata", [(), (0, 0, 0, 1, 1, 2, 2, 2)], ids=["hidden", "disclosed"])
def test_the_parts_of_a_tree_add_up(strata: tuple[int, ...]) -> None:
    """In 200 small collections no part exceeds that of its parent, and siblings add up to it; the
    figure is in its interval, which holds that of the node alone."""
    moved = 0
    rng = np.random.default_rng(1)
    for seed in range(200):
        holders = int(rng.integers(1, 500))
        counts = rng.multinomial(holders, rng.dirichlet(np.full(2 * TREE.cells, 0.3)))
        epsilon = float(rng.choice([0.5, 1.0, 4.0]))
        asked = reports(TREE, counts.reshape(TREE.cells, 2), epsilon, seed, strata=strata)
        found, alone = consistent_masses(asked), node_masses(asked)
        assert found[0].value == 1.0
        for node in range(TREE.nodes):
            left, right = int(TREE.left[node]), int(TREE.right[node])
            if left >= 0:
                both = found[left].value + found[right].value
                assert both == pytest.approx(found[node].value, abs=1e-9)
        for one, other in zip(found, alone, strict=True):
            assert 0.0 <= one.low <= one.value <= one.high <= 1.0 + 1e-9
            assert one.low <= other.low <= other.high <= one.high
            moved += abs(one.value - other.value) > 0.01
    assert moved > 200, "each alone, they do not add up"


def test_parts_that_add_up_are_nearer_to_the_truth() -> None:
    """In the mean square over all nodes, of 100 collections; each alone they need not add up."""
    counts = counts_of(BINARY, public_rows(BINARY, HOLDERS, seed=2))
    truth = node_sums(TREE, counts.sum(axis=1) / counts.sum())
    errors = np.zeros(2)
    for seed in range(100):
        asked = reports(TREE, counts, 0.5, seed)
        for place, of in enumerate((consistent_masses(asked), node_masses(asked))):
            errors[place] += ((np.array([each.value for each in of]) - truth) ** 2).mean()
    assert errors[0] < 0.95 * errors[1], errors


def test_where_the_mass_may_be_nothing_everything_is_possible() -> None:
    """A cell without holders, at a low epsilon: no share is claimed."""
    counts = counts_of(BINARY, public_rows(BINARY, HOLDERS, seed=2))
    counts[0] = 0
    asked = reports(TREE, counts, 0.1, 1)
    public = public_rows(BINARY, PUBLIC, seed=1)
    found = BelowNodes(BINARY, public, asked).shares(int(TREE.leaves[0]))
    assert [(row.reported.low, row.reported.high) for row in found.rows] == [(0.0, 1.0)] * 2


@pytest.mark.parametrize("label", [BINARY, NUMBER], ids=["two", "number"])
def test_so_many_reports_give_the_interval_that_was_wanted(label: Label) -> None:
    """The interval of 4 000 reports is reached with about 4 000, and a third of it with nine times
    as many."""
    public = public_rows(label, PUBLIC, seed=1)
    counts = counts_of(label, public_rows(label, HOLDERS, seed=2))
    found, _ = compared(label, counts, public, epsilon=2.0, seed=3)
    half = max(row.high - row.low for row in found.overall) / 2
    asked = reports(TREE, counts, 2.0, 3, regression=label is NUMBER)
    precision = overall_precision(label, asked)
    assert precision is not None
    assert precision.reports(half, None) == pytest.approx(HOLDERS, rel=0.1)
    assert precision.reports(half / 3, None) == pytest.approx(9 * HOLDERS, rel=0.1)


@pytest.mark.parametrize("label", [BINARY, NUMBER], ids=["two", "number"])
def test_a_few_reports_tell_no_precision(label: Label) -> None:
    """Of which it is not yet clear how many fit: their own variance may be anything."""
    for seed in range(20):
        few = counts_of(label, public_rows(label, 20, seed=seed))
        asked, none = (
            reports(TREE, counts, 1.0, seed, regression=label is NUMBER)
            for counts in (few, np.zeros_like(few))
        )
        assert overall_precision(label, asked) is overall_precision(label, none) is None


@pytest.mark.parametrize("planned", [None, 3_000.0])
def test_an_interval_narrows_with_as_many_reports_as_are_said(planned: float | None) -> None:
    counts = counts_of(BINARY, public_rows(BINARY, 1_000, seed=2))
    halves = []
    for times in (1, 9):
        asked = replace(reports(TREE, times * counts, 2.0, 3), planned=planned)
        found = asked.mean(np.array([-0.5, 0.5]) * np.ones((asked.partition.cells, 1)))
        halves.append(found.factor * found.variance**0.5)
    needed = narrowed(halves[0], 1_000, halves[1], planned)
    assert needed == pytest.approx(9_000, rel=0.05)
