"""Insight: true figures, intervals that cover, few false discoveries."""

import re

import numpy as np
import pytest
from scipy.stats import binom

from privet.learning.core.amounts import figure, thousands
from privet.learning.core.counts import Interval, QuestionCounts
from privet.learning.core.growth import GrowthSpec
from privet.learning.core.labels import kind_of
from privet.learning.core.model import Model
from privet.learning.core.public_data import Floats, PublicData
from privet.learning.core.trees import locate
from privet.learning.figures.compare import Insight, cell_differences, insight
from privet.learning.figures.figure import Reports
from privet.learning.figures.node_shares import BelowNodes
from privet.learning.figures.power import POWER
from privet.learning.figures.select import FALSE_DISCOVERY_RATE
from privet.learning.methods import GROWERS, fit
from privet.learning.simulation import simulate_question, simulate_sums
from privet.protocol.errors import InvalidRequest
from privet.protocol.features import Classes, Label
from privet.protocol.label_scale import LabelScale
from privet.protocol.mechanisms import create_mechanism
from privet.protocol.results import Comparison
from tests.stat_checks import ALPHA, clopper_pearson

from ..examples import (
    BINARY,
    EVERY_LABEL,
    NUMBER,
    REPORTS_ALONE,
    THREE,
    complete,
    public_rows,
    reports,
    unasked,
)

TREE = complete(3)
HOLDERS, PUBLIC = 4_000, 400


def counts_of(label: Label, data: PublicData) -> Floats:
    """Exact counts of records per cell and slot; numbers are rounded to an end at random."""
    cells = locate(TREE, data.X)
    if label is NUMBER:
        t = (data.y - NUMBER.low) / (NUMBER.high - NUMBER.low)
        slots = np.random.default_rng(0).random(len(t)) < t
    else:
        slots = data.y.astype(int)
    counts = np.zeros((TREE.cells, label.slots))
    np.add.at(counts, (cells, slots.astype(int)), 1)
    return counts


def compared(
    label: Label, counts: Floats, public: PublicData, *, epsilon: float, seed: int
) -> tuple[Insight, Model]:
    asked = reports(TREE, counts, epsilon, seed, regression=label is NUMBER)
    model = fit("weighted", label, public, [asked], **REPORTS_ALONE)
    return insight(label, public, [asked], model), model


@EVERY_LABEL
def test_without_noise_the_figures_are_the_holders_own(label: Label) -> None:
    """At epsilon 60 nothing is perturbed: shares and the mean are exact, and so is what differs."""
    public = public_rows(label, PUBLIC, seed=1)
    counts = counts_of(label, public_rows(label, HOLDERS, seed=2))
    counts[5] = np.roll(counts[5], 1)  # one cell's labels are exchanged
    found, _ = compared(label, counts, public, epsilon=60.0, seed=3)
    if label is NUMBER:
        mean = NUMBER.low + (NUMBER.high - NUMBER.low) * counts[:, 1].sum() / HOLDERS
        assert [row.reported for row in found.overall] == pytest.approx([mean])
        assert found.overall[0].public == pytest.approx(public.y.mean())
    else:
        shares = counts.sum(axis=0) / HOLDERS
        assert [row.reported for row in found.overall] == pytest.approx(shares)
        assert sum(row.public or 0.0 for row in found.overall) == pytest.approx(1.0)
    assert all(row.low <= row.reported <= row.high for row in found.overall)
    assert {row.cell for row in found.differences if row.name is not None} == {5}
    assert (found.reports, found.public_records, found.cells) == (HOLDERS, PUBLIC, 8)


@pytest.mark.parametrize("mechanism", ["laplace", "projective", "subset"])
@pytest.mark.parametrize("label", [BINARY, THREE], ids=["two", "three"])
def test_shares_add_up_to_one_and_two_complement_each_other(label: Label, mechanism: str) -> None:
    """Of all holders and below a node, also where noise makes counts negative or too many."""
    public, rare = public_rows(label, PUBLIC, seed=1), 0
    counts = counts_of(label, public_rows(label, 300, seed=2))
    counts[:, 0] = 0
    for seed in range(4):
        asked = reports(TREE, counts, 0.5, seed, mechanism)
        model = fit("weighted", label, public, [asked], **REPORTS_ALONE)
        overall = insight(label, public, [asked], model).overall
        intervals = [Interval(row.reported, row.low, row.high) for row in overall]
        inside = [row.reported for row in BelowNodes(label, public, asked).shares(2).rows]
        for shares in (intervals, inside):
            assert sum(share.value for share in shares) == pytest.approx(1.0)
            assert all(0.0 <= s.low <= s.value <= s.high <= 1.0 for s in shares)
            if label is BINARY:
                assert shares[0].low == pytest.approx(1.0 - shares[1].high)
                assert shares[0].high == pytest.approx(1.0 - shares[1].low)
        rare += intervals[0].value == 0.0
    assert rare > 0, "some estimates were negative"


@pytest.mark.quick("rounded, shifted")
@pytest.mark.parametrize(
    ("epsilon", "moved", "runs", "least"),
    [(8.0, 0.0, 60, 46), (6.0, 1.0, 30, 20)],
    ids=["rounded", "rounded, shifted"],
)
def test_intervals_cover_the_mean_of_those_who_reported(
    epsilon: float, moved: float, runs: int, least: int
) -> None:
    """Of 60 intervals 95 % should hold the true mean, although numbers are rounded to two levels.
    45 or fewer do so with a probability below 1e-6, and 19 of 30."""
    public, scale = public_rows(NUMBER, PUBLIC, seed=1), LabelScale.of(NUMBER, TREE.cells, None)
    mechanism = create_mechanism("subset", epsilon, TREE.cells, 2, regression=True)
    copies, covered = np.ones(HOLDERS, dtype=np.int64), 0
    for seed in range(runs):
        rng = np.random.default_rng(seed)
        holders = public_rows(NUMBER, HOLDERS, seed=1000 + seed)
        y = np.clip(holders.y + moved, NUMBER.low, NUMBER.high)
        sums = simulate_question(
            TREE, mechanism, label=NUMBER, X=holders.X, y=y, copies=copies, rng=rng, scale=scale
        )
        asked = QuestionCounts(TREE, mechanism, sums, HOLDERS)
        found = insight(
            NUMBER, public, [asked], fit("weighted", NUMBER, public, [asked], **REPORTS_ALONE)
        )
        covered += found.overall[0].low <= y.mean() <= found.overall[0].high
    assert covered >= least


@pytest.mark.slow
def test_alike_populations_are_seldom_said_to_differ() -> None:
    """Both from one population: any difference is false, so one shows in 5 % of 400 runs at most.

    A false alarm has probability 1e-6.
    """
    false = 0
    for seed in range(400):
        public = public_rows(BINARY, PUBLIC, seed=2 * seed)
        counts = counts_of(BINARY, public_rows(BINARY, HOLDERS, seed=2 * seed + 1))
        found, _ = compared(BINARY, counts, public, epsilon=2.0, seed=seed)
        false += bool(found.differences)
    low, _ = clopper_pearson(false, 400, ALPHA)
    assert low <= FALSE_DISCOVERY_RATE, false


@pytest.mark.parametrize(("runs", "most"), [(20, 8), pytest.param(60, 14, marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    ("slots", "depth", "even"), [(2, 7, False), (5, 5, True)], ids=["masses 1/k", "five classes"]
)
def test_cells_with_few_public_rows_are_seldom_listed(
    slots: int, depth: int, even: bool, runs: int, most: int
) -> None:
    """200 public rows and 50 000 holders of one population: a list in 5 % of 60 runs at most.

    15 or more, and 9 or more of 20, have a probability below 1e-6.
    """
    tree = complete(depth)
    mechanism = create_mechanism("subset", 4.0, tree.cells, slots)
    label = Classes(name="y", classes=tuple("abcde"[:slots]))
    masses = np.ones(tree.cells) if even else 1.0 / np.arange(1, tree.cells + 1)
    listed = 0
    for seed in range(runs):
        rng = np.random.default_rng(seed)
        p = rng.dirichlet(np.full(slots, 2.0), tree.cells) * (masses / masses.sum())[:, None]
        by_cell, counts = (
            rng.multinomial(rows, p.ravel() / p.sum()).reshape(p.shape) for rows in (200, 50_000)
        )
        asked = QuestionCounts(tree, mechanism, simulate_sums(mechanism, counts, rng), 50_000)
        listed += bool(
            cell_differences(Reports(kind_of(label), asked), by_cell.astype(float), selection=1.0)
        )
    assert listed <= most


@pytest.mark.parametrize("planned", [None, 1_000_000])
def test_fewer_holders_are_listed_only_of_cells_with_ten_public_records(
    planned: int | None,
) -> None:
    """Many more where there is no record are; a million holders, hardly any noise, 2 500 rows."""
    tree, rows = complete(2), np.array([0.0, 30.0, 1500.0, 970.0])
    for few, listed in ((9.0, {0}), (30.0, {0, 1})):
        rows[1] = few
        holders = np.array([100_000, 0, 520_000, 380_000])
        sums = np.stack([holders, 0 * holders], axis=1)
        mechanism = create_mechanism("subset", 12.0, tree.cells, 2)
        drawn = simulate_sums(mechanism, sums, np.random.default_rng(0))
        asked = QuestionCounts(tree, mechanism, drawn, 1_000_000, planned=planned)
        by_cell = np.stack([rows, 0.0 * rows], axis=1)
        found = cell_differences(Reports(kind_of(BINARY), asked), by_cell, selection=1.0)
        assert {row.cell for row in found if row.name is None} & {0, 1} == listed


@pytest.mark.slow
@pytest.mark.parametrize("planned", [None, 2_000])
@pytest.mark.parametrize(("slots", "depth", "n", "m"), [(2, 7, 2_000, 1_000), (5, 0, 2_000, 50)])
def test_noise_and_rare_classes_are_no_difference(
    slots: int, depth: int, n: int, m: int, planned: int | None
) -> None:
    """At epsilon 1 in 128 cells, and of rare classes in 50 public rows: 40 alike collections.

    13 or more with a difference have a probability below 1e-6 at 5 %.
    """
    tree, label = complete(depth), Classes(name="y", classes=tuple("abcde"[:slots]))
    mechanism, differing = create_mechanism("subset", 1.0, tree.cells, slots), 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        p = np.array([0.96, 0.01, 0.01, 0.01, 0.01]) if depth == 0 else np.full(slots, 1 / slots)
        law = np.tile(p, tree.cells) / tree.cells
        X, y = rng.random((m, 2)), rng.choice(slots, m, p=p).astype(float)
        counts = rng.multinomial(n, law).reshape(tree.cells, slots)
        sums = simulate_sums(mechanism, counts, rng)
        asked = QuestionCounts(tree, mechanism, sums, n, planned=planned)
        model = fit("weighted", label, PublicData(X, y), [asked], **REPORTS_ALONE)
        said = insight(label, PublicData(X, y), [asked], model)
        overall = min(row.p_value for row in said.overall) * slots <= FALSE_DISCOVERY_RATE
        differing += overall or bool(said.differences)
    assert differing < 13


@pytest.mark.parametrize(
    ("grower", "runs", "most"),
    [
        ("cart", 15, 7),
        *(pytest.param(name, 30, 10, marks=pytest.mark.slow) for name in ("cart", "distilled")),
    ],
)
def test_cells_grown_on_the_labels_that_they_are_compared_with(
    grower: str, runs: int, most: int
) -> None:
    """Growing finds cells in which public labels differ by chance; they are not listed for that.

    11 or more of 30 collections, and 8 or more of 15, have a probability below 1e-6 at 5 %.
    """
    listed = 0
    for seed in range(runs):
        public, holders = (
            public_rows(BINARY, rows, seed=100 * seed + rows, columns=6) for rows in (200, 20_000)
        )
        tree = GROWERS[grower](public.X, public.y, GrowthSpec(depth=4), classes=2)
        mechanism = create_mechanism("subset", 4.0, tree.cells, 2)
        counts = np.zeros((tree.cells, 2), dtype=np.int64)
        np.add.at(counts, (locate(tree, holders.X), holders.y.astype(int)), 1)
        sums = simulate_sums(mechanism, counts, np.random.default_rng(seed))
        asked = QuestionCounts(tree, mechanism, sums, 20_000)
        model = fit("weighted", BINARY, public, [asked], **REPORTS_ALONE)
        listed += bool(insight(BINARY, public, [asked], model).differences)
    assert listed <= most


@pytest.mark.parametrize(("planned", "shift"), [(None, 0.06), (4_000, 0.12)])
def test_intervals_of_what_is_listed_cover(planned: int | None, shift: float) -> None:
    """One listed comparison in twenty may miss; small shifts are listed where noise adds to them.

    With at most .05 each, more than the bound miss with probability 1e-6.
    """
    tree, rng = complete(4), np.random.default_rng(0)
    mechanism = create_mechanism("subset", 4.0, tree.cells, 2)
    public = np.full((tree.cells, 2), 500.0)
    missed = listed = 0
    for _ in range(60):
        share = 0.5 + rng.choice([-shift, shift], tree.cells)
        law = np.stack([1.0 - share, share], axis=1) / tree.cells
        counts = rng.multinomial(4_000, law.ravel()).reshape(law.shape)
        question = QuestionCounts(
            tree, mechanism, simulate_sums(mechanism, counts, rng), 4_000, planned=planned
        )
        for row in cell_differences(Reports(kind_of(BINARY), question), public, 1.0):
            mass = counts[row.cell].sum()
            truth = mass / 4_000
            if row.name is not None:
                truth = counts[row.cell, BINARY.classes.index(row.name)] / mass
            listed += 1
            missed += not row.low <= truth <= row.high
    assert listed > 10
    assert missed <= binom.isf(ALPHA, listed, 0.05)


def test_a_population_that_differs_is_found_and_said() -> None:
    """If public records lack every second "yes", insight finds more of them among holders."""
    public = public_rows(BINARY, 2 * PUBLIC, seed=1)
    kept = (public.y == 0.0) | (np.arange(len(public)) % 2 == 0)
    volunteers = PublicData(public.X[kept], public.y[kept])
    counts = counts_of(BINARY, public_rows(BINARY, HOLDERS, seed=2))
    found, model = compared(BINARY, counts, volunteers, epsilon=4.0, seed=3)
    assert found.sentence.startswith(found.headline)
    assert re.fullmatch(
        r"\d+\s% say yes \(.*\), more than the \d+\s% in your file\.", found.headline
    )
    assert found.overall[1].low > (found.overall[1].public or 1.0)
    assert found.moved > 0.05
    assert found.relabelled is not None
    assert found.relabelled > 0
    assert model.n == found.reports


def test_no_difference_is_said_without_the_least_that_would_have_shown() -> None:
    """No sentence claims likeness: before, "the holders resemble the public records"."""
    public = public_rows(NUMBER, PUBLIC, seed=1)
    counts = counts_of(NUMBER, public_rows(NUMBER, 4_000, seed=2))
    found, _ = compared(NUMBER, counts, public, epsilon=0.5, seed=3)
    assert found.sentence.startswith(found.headline)
    assert "too close to call" in found.headline
    assert found.relabelled is None
    least = found.overall[0].seen_from
    assert least is not None
    likely = "or more would have shown 8 times in 10"
    assert f"A difference of {least:.3g} {likely}" in found.headline
    of = found.overall[0]
    assert figure(of.reported, of.low, of.high, is_share=False) in found.sentence
    assert found.seen_in_a_cell is None
    said = (
        "In none of the model's 8 groups is a difference sure: in half of them no difference, "
        "however large, would have"
    )
    assert f" {said} shown 8 times in 10. Together the answers moved" in found.sentence
    few = counts_of(NUMBER, public_rows(NUMBER, 200, seed=2))
    found, _ = compared(NUMBER, few, public, epsilon=0.5, seed=3)
    assert found.overall[0].seen_from is None
    assert found.headline == "These 200 answers tell nothing yet."


@pytest.mark.quick("number, one look")
@pytest.mark.parametrize(
    ("label", "planned"),
    [(BINARY, None), (BINARY, 4_000), (NUMBER, None), (NUMBER, 4_000)],
    ids=["classes, one look", "classes, every look", "number, one look", "number, every look"],
)
def test_a_difference_that_would_have_shown_shows(label: Label, planned: int | None) -> None:
    """Of holders further away, up or down, by as much as stated, 80 % and more are told.

    Fewer than allowed here have a probability below 1e-6 if it is 80 %. That much less is told less
    often, so the statement is not empty.
    """
    public, runs = public_rows(label, PUBLIC, seed=1), 40
    share = public.y.mean() if label is BINARY else (public.y.mean() + 2.0) / 8.0
    mechanism = create_mechanism("subset", 2.0, TREE.cells, 2, regression=label is NUMBER)
    model = fit("weighted", label, public, [unasked(reports(TREE, np.ones((8, 2)), 2.0, 0))])

    def told(moved: float, seed: int) -> Comparison:
        rng = np.random.default_rng(seed)
        law = np.outer(np.ones(TREE.cells), [1.0 - share - moved, share + moved]) / TREE.cells
        counts = rng.multinomial(HOLDERS, law.ravel()).reshape(law.shape)
        sums = simulate_sums(mechanism, counts, rng)
        asked = QuestionCounts(TREE, mechanism, sums, HOLDERS, planned=planned)
        return insight(label, public, [asked], model).overall[-1]

    least = told(0.0, 0).seen_from
    assert least is not None
    least /= 1.0 if label is BINARY else 8.0
    for sign in (-1.0, 1.0):
        found = [told(sign * least, seed).p_value <= FALSE_DISCOVERY_RATE for seed in range(runs)]
        less = [told(sign * least / 2, seed).p_value <= FALSE_DISCOVERY_RATE for seed in range(9)]
        assert sum(found) >= binom.ppf(ALPHA, runs, POWER)
        assert sum(less) < 9


def test_a_difference_in_a_cell_that_would_have_shown_shows() -> None:
    """Of one class of five, in cells that are alike, with the noise where the holders are then:
    before, with that where public records are, it showed in a third of the collections."""
    label, runs, n = Classes(name="y", classes=tuple("abcde")), 40, 20_000
    X = np.random.default_rng(0).random((4_000, 2))
    X = X[np.concatenate([np.flatnonzero(locate(TREE, X) == cell)[:125] for cell in range(8)])]
    public = PublicData(X, np.tile(np.arange(125) % 5, 8).astype(np.float64))
    mechanism = create_mechanism("subset", 1.5, TREE.cells, 5)
    model = fit("weighted", label, public, [unasked(reports(TREE, np.ones((8, 5)), 1.5, 0))])

    def said(moved: float, seed: int) -> Insight:
        rng, law = np.random.default_rng(seed), np.full((8, 5), 0.2)
        law[3] += moved * np.array([-0.25, -0.25, -0.25, -0.25, 1.0])
        counts = rng.multinomial(n, law.ravel() / 8.0).reshape(law.shape)
        asked = QuestionCounts(TREE, mechanism, simulate_sums(mechanism, counts, rng), n, planned=n)
        return insight(label, public, [asked], model)

    least = said(0.0, 1).seen_in_a_cell
    assert least is not None
    found = [
        any(row.cell == 3 and row.name == "e" for row in said(least, seed).differences)
        for seed in range(runs)
    ]
    assert sum(found) >= binom.ppf(ALPHA, runs, POWER)


def test_a_share_of_nothing_up_to_noise_does_not_show_that_all_are_alike() -> None:
    """One public record of a class in a cell of few holders, whose share is below 0 by noise: what
    growing cells adds was 0 there, and the cell was listed."""
    mechanism = create_mechanism("subset", 8.0, TREE.cells, 2)
    counts = np.array([[9_000, 180], *[[9_000, 180]] * 6, [60, 1]])
    public = np.array([[120.0, 2.0]] * 7 + [[0.0, 1.0]])
    n, nothing = int(counts.sum()), 0
    for seed in range(20):
        sums = simulate_sums(mechanism, counts, np.random.default_rng(seed))
        asked = QuestionCounts(TREE, mechanism, sums, n)
        nothing += bool(asked.counts[7, 1] < 0.0)
        listed = cell_differences(Reports(kind_of(BINARY), asked), public, selection=5.0)
        assert not any(row.cell == 7 and row.name is not None for row in listed)
    assert nothing > 3


def test_without_reports_about_the_labels_there_is_nothing_to_say() -> None:
    """Without a report, or with a question about other cells, insight is refused."""
    public = public_rows(BINARY, PUBLIC, seed=1)
    counts = counts_of(BINARY, public_rows(BINARY, HOLDERS, seed=2))
    _, model = compared(BINARY, counts, public, epsilon=1.0, seed=3)
    elsewhere = reports(complete(2), np.ones((4, 2)), 1.0, seed=0)
    for asked in (elsewhere, unasked(reports(TREE, counts, 1.0, seed=0))):
        with pytest.raises(InvalidRequest, match="wait for holders"):
            insight(BINARY, public, [asked], model)


def test_insights_of_two_models_cannot_be_exchanged() -> None:
    """Each names the answers that its own model was fitted to, and what these moved; the headline,
    which is of all answers, is the same."""
    public = public_rows(BINARY, PUBLIC, seed=1)
    counts = counts_of(BINARY, public_rows(BINARY, HOLDERS, seed=2))
    every = reports(TREE, counts, 4.0, 3)
    some = reports(TREE, counts // 4, 4.0, 4)
    models = [fit("weighted", BINARY, public, [of], **REPORTS_ALONE) for of in (some, every)]
    early, late = (insight(BINARY, public, [every], model) for model in models)
    assert early.headline == late.headline
    assert (early.model_reports, late.model_reports) == (some.n, every.n)
    assert f"Together the {thousands(some.n)} answers of this model moved" in early.sentence
    assert "Together the answers moved" in late.sentence
    assert early.moved != late.moved
