"""Reports that cannot all be honest: alarms are rare among honest ones, and bounds are true."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import binom

from privet.learning.core.amounts import thousands
from privet.learning.core.counts import Estimate, EventCounts, QuestionCounts
from privet.learning.figures.compare import insight
from privet.learning.figures.impossible import (
    FALSE_ALARMS,
    Impossible,
    impossible,
    least_by_events,
    least_false,
)
from privet.learning.figures.node_shares import BelowNodes
from privet.learning.methods import fit
from privet.learning.simulation import simulate_sums
from privet.protocol.mechanisms import MECHANISMS, SubsetSelection, create_mechanism
from privet.protocol.mechanisms.base import Mechanism, Payloads, Sums, as_row
from tests.keeping import keeps
from tests.stat_checks import ALPHA

from ..examples import BINARY, complete, public_rows, reports

TRIED = 0.05
"""The level at which false alarms are counted, as those of ``FALSE_ALARMS`` are too rare."""
REPORTS = 3_000
TREE = complete(4)
STRATA = tuple(cell // 4 for cell in range(TREE.cells))


def populations(seed: int) -> list[np.ndarray]:
    """Even counts, all in one category, and few large ones."""
    rng = np.random.default_rng(seed)
    weights = rng.gamma(0.1, size=(TREE.cells, 2)) + 1e-12
    few = np.floor(REPORTS * weights / weights.sum()).astype(np.int64)
    one = np.zeros((TREE.cells, 2), dtype=np.int64)
    one[rng.integers(TREE.cells), rng.integers(2)] = REPORTS
    return [np.full((TREE.cells, 2), REPORTS // 2 // TREE.cells), one, few]


def with_false(honest: QuestionCounts, false: int, seed: int) -> QuestionCounts:
    """``honest`` reports and ``false`` copies of one payload more."""
    rng = np.random.default_rng(seed)
    payload = honest.mechanism.privatize(int(rng.integers(20)), rng.bytes)
    added: Sums = false * honest.mechanism.accumulate(as_row(payload))
    return replace(honest, sums=honest.sums + added, n=honest.n + false)


@keeps(
    "threat-model: an alarm is as rare as it says",
    in_="learning/figures/impossible.py",
    instead_of="* (dimensions * log1p(x) + 2.0 * evidence)",
    plant="* (dimensions * log1p(x) + evidence / 4.0)",
)
@pytest.mark.parametrize("strata", [(), STRATA], ids=["hidden", "disclosed"])
@pytest.mark.parametrize("mechanism", [name for name in MECHANISMS if name != "laplace"])
def test_honest_reports_are_rarely_called_false(mechanism: str, strata: tuple[int, ...]) -> None:
    """In at most 5 % of collections at that level, whatever the population, also if few report.

    More alarms than allowed here have a probability below 1e-6 if that is so.
    """
    alarms = collections = 0
    for epsilon in (0.5, 4.0):
        for seed in range(3):
            for counts in populations(seed):
                for part in (counts, counts // 100):
                    if part.sum() == 0:
                        continue
                    misfits = seed % 2 * int(part.sum()) // 5
                    asked = reports(
                        TREE, part, epsilon, seed, mechanism, strata=strata, misfits=misfits
                    )
                    alarms += least_false(asked, TRIED) > 0
                    collections += 1
    assert alarms <= binom.isf(ALPHA, collections, TRIED)


@pytest.mark.slow
@pytest.mark.parametrize("strata", [(), STRATA], ids=["hidden", "disclosed"])
def test_an_alarm_is_as_rare_at_every_look(strata: tuple[int, ...]) -> None:
    """With 60 looks at each of 40 collections, from the first reports to twice the planned end.

    More alarms than allowed here have a probability below 1e-6 if 5 % have one at some look.
    """
    mechanism = create_mechanism("subset", 1.0, TREE.cells, 2, strata=strata)
    alarms = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        weights = rng.dirichlet(np.full(2 * TREE.cells, 0.3))
        asked = QuestionCounts(
            TREE, mechanism, np.zeros(mechanism.sum_size, dtype=np.int64), 0, planned=REPORTS
        )
        found = False
        for n in np.geomspace(10, 2 * REPORTS, 60).astype(int):
            drawn = rng.choice(weights.size, n - asked.n, p=weights)
            new = np.bincount(drawn, minlength=weights.size).reshape(TREE.cells, 2)
            asked = replace(asked, sums=asked.sums + simulate_sums(mechanism, new, rng), n=int(n))
            found = found or least_false(asked, TRIED) > 0
        alarms += found
    assert alarms <= binom.isf(ALPHA, 40, TRIED)


@keeps(
    "threat-model: reports that cannot all be honest are called so",
    in_="learning/figures/impossible.py",
    instead_of="found = [of_strata, _least",
    plant="return 0 and [of_strata, _least",
)
@pytest.mark.parametrize("strata", [(), STRATA], ids=["hidden", "disclosed"])
@pytest.mark.parametrize("mechanism", [name for name in MECHANISMS if name != "laplace"])
def test_one_payload_sent_again_and_again_is_found_and_not_overstated(
    mechanism: str, strata: tuple[int, ...]
) -> None:
    """A fifth is always found, to a quarter of it at least; no bound is above the truth."""
    for seed, counts in enumerate(populations(1) + populations(2)):
        honest = reports(TREE, counts, 0.5, seed, mechanism, strata=strata)
        stated = [least_false(with_false(honest, false, seed), 1e-6) for false in (30, 150, 750)]
        assert stated[0] <= 30
        assert stated[1] <= 150
        assert 750 / 4 <= stated[2] <= 750, (seed, stated)


def test_what_cannot_be_is_withheld() -> None:
    """No share is certain: every interval is all there can be, nothing differs, and it is said.

    Before, these collections were said to be "yes for 100 % [100 %, 100 %] of holders".
    """
    public, counts = public_rows(BINARY, 400, seed=1), np.full((TREE.cells, 2), 150)
    asked = with_false(reports(TREE, counts, 1.0, seed=2), 1_200, seed=3)
    model = fit("weighted", BINARY, public, [asked])
    found = insight(BINARY, public, [asked], model)
    assert isinstance(found.impossible, Impossible)
    assert 0 < found.impossible.least <= 1_200
    assert found.sentence.startswith("These reports cannot all be honest: at least ")
    assert [(row.low, row.high, row.p_value) for row in found.overall] == [(0.0, 1.0, 1.0)] * 2
    assert (found.misfits.low, found.misfits.high, found.differences) == (0.0, 1.0, ())
    assert np.all(model.low == 0.0)
    assert np.all(model.high == 1.0)
    least = thousands(found.impossible.least)
    assert model.facts["false reports"] == f"at least {least} of {thousands(asked.n)}"
    below = BelowNodes(BINARY, public, asked).shares(1)
    assert {(row.reported.low, row.reported.high) for row in below.rows} == {(0.0, 1.0)}
    assert (below.mass.reported.low, below.mass.reported.high) == (0.0, 1.0)


def test_a_single_number_suffices() -> None:
    """Misfits of -26 %, or of more than all, although all else could be."""
    mechanism = SubsetSelection.create(1.0, TREE.cells, 2)
    honest = reports(TREE, np.full((TREE.cells, 2), 100), 1.0, seed=0)
    for share in (-0.26, -0.5):
        sums = honest.sums.astype(np.float64)
        gap = float(mechanism.p - mechanism.q)
        sums[-1] = honest.n * (float(mechanism.q) + share * gap)
        sums[:-1] += (honest.sums[-1] - sums[-1]) / mechanism.misfit
        asked = replace(honest, sums=np.rint(sums).astype(np.int64))
        assert least_false(asked, FALSE_ALARMS) > 0


def test_nothing_is_found_without_reports() -> None:
    asked = reports(TREE, np.zeros((TREE.cells, 2), dtype=int), 1.0, seed=0)
    assert impossible([asked]) is None


def test_an_interval_outside_the_range_is_no_certainty() -> None:
    """A count far below 0 left an interval of [0, 0]."""
    found = Estimate(-0.5, 0.01).interval(0.0, 1.0)
    assert (found.value, found.low) == (0.0, 0.0)
    assert found.high == pytest.approx(0.196, abs=1e-3)


def payloads(
    shares: np.ndarray, n: int, rng: np.random.Generator, mechanism: Mechanism
) -> Payloads:
    """Of ``n`` honest people with these shares of the categories."""
    categories = rng.choice(len(shares), n, p=shares / shares.sum())
    drawn = b"".join(mechanism.privatize(int(each), rng.bytes) for each in categories)
    return np.frombuffer(drawn, dtype=np.uint8).reshape(n, -1)


def events_of(question: QuestionCounts, rows: Payloads, closings: int = 1) -> QuestionCounts:
    """The same question, answered by these payloads."""
    mechanism = question.mechanism
    of_all = EventCounts("", len(rows), closings, mechanism.event_counts(rows))
    return replace(question, sums=mechanism.accumulate(rows), n=len(rows), events=(of_all,))


SMALL = reports(complete(3), np.full((8, 2), 10), 1.0, 1, "subset")
"""The default: 17 categories, at ε 1."""


def test_events_of_honest_payloads_are_rarely_called_false() -> None:
    """Of 200 collections of populations of all kinds, at a level of 5 %; more than 30 alarms have a
    probability below 1e-6 if that is so."""
    rng, alarms = np.random.default_rng(1), 0
    for _ in range(200):
        shares = rng.gamma(rng.choice([0.05, 1.0]), size=17) + 1e-9
        rows = payloads(shares, 400, rng, SMALL.mechanism)
        alarms += least_by_events(events_of(SMALL, rows), TRIED) > 0
    assert alarms <= 30


@pytest.mark.parametrize("kind", ["copies", "chosen"])
def test_false_reports_that_no_sum_shows_are_found_by_their_events(kind: str) -> None:
    """Of 5 000 at the defaults: 5 % copies of one payload, and 10 % of payloads that honest people
    can send, chosen for effect; and no more are called false than are. Sums alone say nothing."""
    mechanism, rng = SMALL.mechanism, np.random.default_rng(2)
    shares = np.append(np.tile([0.8, 0.2], 8), 0.0)
    false = {"copies": 250, "chosen": 500}[kind]
    honest = payloads(shares, 5_000 - false, rng, mechanism)
    pool = payloads(np.eye(17)[1], 400, rng, mechanism)
    effect = np.array(
        [mechanism.estimate(one, 1)[:, 1].sum() for one in map(mechanism.accumulate, pool[:, None])]
    )
    best = np.argsort(effect)[-1:] if kind == "copies" else np.argsort(effect)[-20:]
    rows = np.vstack([honest, pool[rng.choice(best, false)]])
    question = events_of(SMALL, rows, closings=5)
    assert least_false(question) == 0
    assert 0.1 * false < least_by_events(question) <= false
    assert impossible([question]) is not None
