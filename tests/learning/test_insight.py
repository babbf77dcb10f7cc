"""Insight: true figures, intervals that cover, few false discoveries."""

import numpy as np
import pytest

from privet.learning.counts import Label
from privet.learning.estimators import Model, QuestionCounts, fit
from privet.learning.insight import FALSE_DISCOVERY_RATE, Insight, insight
from privet.learning.public_data import Floats, PublicData
from privet.learning.trees import locate
from privet.protocol.errors import InvalidRequest
from tests.learning.estimators.examples import BINARY, NUMBER, THREE, complete, public_rows, reports
from tests.stat_checks import ALPHA, clopper_pearson

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
    model = fit("private", label, public, [asked])
    return insight(label, public, [asked], model), model


@pytest.mark.parametrize("label", [BINARY, THREE, NUMBER], ids=["two", "three", "number"])
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
        assert sum(row.public for row in found.overall) == pytest.approx(1.0)
    assert all(row.low <= row.reported <= row.high for row in found.overall)
    assert {row.cell for row in found.differences if row.name is not None} == {5}
    assert (found.reports, found.public_records, found.cells) == (HOLDERS, PUBLIC, 8)


def test_intervals_cover_the_share_of_those_who_reported() -> None:
    """95 % of 400 intervals hold the true share; a false alarm has probability 1e-6."""
    public = public_rows(BINARY, PUBLIC, seed=1)
    counts = counts_of(BINARY, public_rows(BINARY, HOLDERS, seed=2))
    truth = counts[:, 1].sum() / HOLDERS
    covered = 0
    for seed in range(400):
        found, _ = compared(BINARY, counts, public, epsilon=1.0, seed=seed)
        covered += found.overall[1].low <= truth <= found.overall[1].high
    low, high = clopper_pearson(covered, 400, ALPHA)
    assert low <= 0.95 <= high, covered


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


def test_a_population_that_differs_is_found_and_said() -> None:
    """Every second "yes" is missing from the public records."""
    public = public_rows(BINARY, 2 * PUBLIC, seed=1)
    kept = (public.y == 0.0) | (np.arange(len(public)) % 2 == 0)
    volunteers = PublicData(public.X[kept], public.y[kept])
    counts = counts_of(BINARY, public_rows(BINARY, HOLDERS, seed=2))
    found, model = compared(BINARY, counts, volunteers, epsilon=4.0, seed=3)
    assert found.sentence.startswith("The holders differ from the public records: y is ")
    assert found.overall[1].low > found.overall[1].public
    assert found.moved > 0.05
    assert found.relabelled is not None
    assert found.relabelled > 0
    assert model.n == found.reports


def test_no_difference_is_said_as_such() -> None:
    """Few reports under little epsilon show nothing."""
    public = public_rows(NUMBER, PUBLIC, seed=1)
    counts = counts_of(NUMBER, public_rows(NUMBER, 200, seed=2))
    found, _ = compared(NUMBER, counts, public, epsilon=0.5, seed=3)
    assert found.sentence.startswith("Nothing shows that the holders differ")
    assert found.relabelled is None


def test_without_reports_about_the_labels_there_is_nothing_to_say() -> None:
    """No report, or a question about other cells."""
    public = public_rows(BINARY, PUBLIC, seed=1)
    counts = counts_of(BINARY, public_rows(BINARY, HOLDERS, seed=2))
    _, model = compared(BINARY, counts, public, epsilon=1.0, seed=3)
    other = complete(2)
    elsewhere = reports(other, np.ones((4, 2)), 1.0, seed=0)
    mechanism = reports(TREE, counts, 1.0, seed=0).mechanism
    silent = QuestionCounts(TREE, mechanism, np.zeros(mechanism.sum_size, dtype=np.int64), 0)
    for asked in (elsewhere, silent):
        with pytest.raises(InvalidRequest, match="wait for holders"):
            insight(BINARY, public, [asked], model)
