"""Earlier waves of a panel: Bayes' rule for normal steps, and without them today's default."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from privet.learning.core.counts import QuestionCounts
from privet.learning.core.public_data import Floats
from privet.learning.drift.likelihood import Contrasts
from privet.learning.drift.posterior import shift_posterior
from privet.learning.drift.prior import Deviations, Expected, Prior
from privet.learning.drift.shift import estimate_shift, history_with
from privet.learning.drift.waves import KEPT, PSEUDO, STEPS, History
from privet.learning.simulation.sums import simulate_sums
from privet.protocol.mechanisms.registry import create_mechanism
from privet.protocol.partition import LEAF, Partition

TREE = Partition.build(
    1,
    [0, 0, 0, LEAF, LEAF, LEAF, LEAF],
    [0.5, 0.25, 0.75, 0, 0, 0, 0],
    [1, 3, 5, LEAF, LEAF, LEAF, LEAF],
    [2, 4, 6, LEAF, LEAF, LEAF, LEAF],
)
CELLS = 4
PRIOR = Prior((Deviations(0.3, 0.0, 0.2), Deviations(0.8, 0.5, 0.5)), 0.4)


def numbers(rng: np.random.Generator) -> tuple[Expected, Contrasts]:
    """A numeric label, where all is normal and linear."""
    t = rng.uniform(0.3, 0.7, CELLS)
    expected = Expected.numbers(t, t, np.full(CELLS, 9.0), 36)
    size = rng.uniform(50.0, 100.0, (CELLS, 1))
    values = rng.normal(0.0, 5.0, (CELLS, 1)) * np.array([[-1.0, 1.0]])
    return expected, Contrasts(expected.q, values, np.full((CELLS, 2), 20.0), size, 0.0)


def log_normal(x: Floats, covariance: Floats) -> float:
    _, log_det = np.linalg.slogdet(covariance)
    return float(-0.5 * (x @ np.linalg.solve(covariance, x) + log_det + len(x) * np.log(2 * np.pi)))


def twin(
    expected: Expected, contrasts: Contrasts, history: History, slot: int
) -> tuple[Floats, Floats]:
    """The posterior mean and variance by dense matrices: every prior with every step of every
    sequence, one by one."""
    of_cells = contrasts.size[:, 0] + 1e-9
    z = expected.slope - np.average(expected.slope, axis=0, weights=of_cells)
    spread = np.average(z**2, axis=0, weights=of_cells)
    steps, slopes = PRIOR.variances(TREE, spread)
    above = np.array(
        [[v in path for v in range(7)] for path in ((0, 1, 3), (0, 1, 4), (0, 2, 5), (0, 2, 6))]
    )
    weights, means, seconds = [], [], []
    arriving = [
        (*sequence, step)
        for sequence in zip(
            *(history.place, history.precision, history.odds, history.taken), strict=True
        )
        for step in range(len(PSEUDO))
    ]
    for place, precision, odds, taken, step in arriving:
        a, remembers = (place - expected.origin)[:, slot], step < len(STEPS)
        of_step = odds[slot] + np.log((PSEUDO + taken)[step] / (PSEUDO + taken).sum())
        own, common = STEPS[step] if remembers else (0.0, 0.0)
        of_past = np.diag(1.0 / precision[:, slot] + own**2) + common**2
        found: list[tuple[float, float, Floats, Floats]] = []
        for of_prior, t, slope in zip(PRIOR.probabilities, steps, slopes, strict=True):
            of_theta = (above * t) @ above.T + slope[slot] * np.outer(z[:, slot], z[:, slot])
            b = contrasts.size[:, 0] / 12.0
            D = np.diag(contrasts.variance[:, slot])
            seen, at = np.diag(b), contrasts.values[:, slot]
            past = log_normal(a, of_theta + of_past) if remembers else 0.0
            if remembers:
                seen, at = np.vstack([seen, np.eye(CELLS)]), np.concatenate([at, a])
                D = np.block([[D, np.zeros((CELLS, CELLS))], [np.zeros((CELLS, CELLS)), of_past]])
            of_seen = seen @ of_theta @ seen.T + D
            gain = of_theta @ seen.T @ np.linalg.inv(of_seen)
            both = log_normal(at, of_seen)
            found.append(
                (
                    np.log(of_prior) + past,
                    np.log(of_prior) + both,
                    gain @ at,
                    np.diag(of_theta - gain @ seen @ of_theta),
                )
            )
        known = np.logaddexp.reduce([each[0] for each in found])
        weights += [of_step - known + each[1] for each in found]
        means += [each[2] for each in found]
        seconds += [each[3] for each in found]
    shares = np.exp(np.array(weights) - np.logaddexp.reduce(weights))
    return shares @ np.array(means), shares @ np.array(seconds)


def test_earlier_waves_are_bayes_rule() -> None:
    """Against dense matrices: of each prior and step the posterior, and their weights by what they
    predict of this wave."""
    rng = np.random.default_rng(1)
    for _ in range(5):
        expected, contrasts = numbers(rng)
        place = expected.origin + rng.normal(0.0, 0.5, (CELLS, 1)) * np.array([[-1.0, 1.0]])
        history = History(
            np.stack([place, place[::-1]]),
            np.repeat(rng.uniform(0.5, 20.0, (2, CELLS, 1)), 2, axis=2),
            np.log([[0.3, 0.6], [0.7, 0.4]]),
            rng.uniform(0.0, 3.0, (2, len(PSEUDO))),
        )
        found = shift_posterior(TREE, contrasts, expected, PRIOR, history)
        for slot in (0, 1):
            mean, variance = twin(expected, contrasts, history, slot)
            assert found.mean(found.theta)[:, slot] == pytest.approx(mean, rel=1e-6)
            assert found.mean(found.variance)[:, slot] == pytest.approx(variance, rel=1e-6)


def questions(
    rng: np.random.Generator, theta: Floats, q: Floats, holders: int = 4_000
) -> QuestionCounts:
    """Counts of one wave at epsilon 2 whose log-odds are theta above those of ``q``."""
    mechanism = create_mechanism("subset", 2.0, CELLS, 2)
    p = 1.0 / (1.0 + np.exp(-(np.log(q / (1 - q)) + theta)))
    counts = rng.multinomial(holders, np.stack([1 - p, p], axis=1).ravel() / CELLS)
    sums = simulate_sums(mechanism, counts.reshape(CELLS, 2), rng)
    return QuestionCounts(TREE, mechanism, sums, holders)


def expected_of(q: Floats) -> Expected:
    return Expected.classes(np.stack([1 - q, q], axis=1), np.full(CELLS, 20.0), 80)


def fields(estimates: Any) -> list[Any]:
    return [estimates.shares, estimates.public_share, estimates.base_slope]


def test_the_first_wave_is_the_default() -> None:
    """Bit for bit; and so is a wave whose past says nothing, but for rounding."""
    rng = np.random.default_rng(2)
    q = rng.uniform(0.2, 0.8, CELLS)
    question, expected = questions(rng, np.full(CELLS, 0.3), q), expected_of(q)
    plain = fields(estimate_shift(question, expected))
    first = fields(estimate_shift(question, expected, history=None))
    assert all(np.array_equal(one, other) for one, other in zip(plain, first, strict=True))
    told = history_with(None, question, expected)
    silent = replace(told, precision=np.full_like(told.precision, 1e-12))
    again = estimate_shift(question, expected, history=silent)
    assert again.shares == pytest.approx(plain[0], abs=1e-6)
    assert again.base_slope == pytest.approx(plain[2], abs=1e-6)


def test_intervals_do_not_lean_on_earlier_waves() -> None:
    """They are the reports' own, so they hold whatever the past was."""
    rng = np.random.default_rng(5)
    q = rng.uniform(0.2, 0.8, CELLS)
    question, expected = questions(rng, np.full(CELLS, 0.3), q), expected_of(q)
    history = history_with(None, questions(rng, np.full(CELLS, -2.0), q), expected)
    alone, later = (estimate_shift(question, expected, history=h) for h in (None, history))
    assert np.array_equal(alone.low, later.low)
    assert np.array_equal(alone.high, later.high)
    assert not np.array_equal(alone.shares, later.shares)


def test_a_wave_without_reports_is_what_the_waves_before_say() -> None:
    """And as a link in the chain it loses nothing but what a step in time costs."""
    rng = np.random.default_rng(3)
    q, shift = np.full(CELLS, 0.5), np.array([1.0, 1.0, -1.0, -1.0])
    expected, history = expected_of(q), None
    for _ in range(3):
        history = history_with(history, questions(rng, shift, q), expected)
    nobody = replace(
        questions(rng, shift, q), sums=np.zeros_like(questions(rng, shift, q).sums), n=0
    )
    shares = estimate_shift(nobody, expected, history=history).shares[:, 1]
    truth = 1.0 / (1.0 + np.exp(-shift))
    assert np.abs(shares - truth).max() < 0.12
    passed = history_with(history, nobody, expected)
    assert history is not None
    before, after = (
        np.einsum("hs,hks->ks", np.exp(each.odds), each.precision) for each in (history, passed)
    )
    assert (after < before).all()
    best = passed.odds[:, 1].argmax()
    assert passed.place[best] == pytest.approx(history.place[history.odds[:, 1].argmax()], abs=0.15)


@pytest.mark.slow
@pytest.mark.parametrize("change", ["none", "sudden"])
def test_waves_lend_each_other_strength_and_leave_behind_what_has_changed(change: str) -> None:
    """Where nothing changes the error falls; after a sudden change it grows by no more than
    noise, in cells and in all."""
    rng = np.random.default_rng(4)
    before: History | None
    errors: dict[str, list[float]] = {"alone": [], "waves": []}
    for _ in range(30):
        q, shift = rng.uniform(0.3, 0.7, CELLS), rng.normal(0.0, 0.4, CELLS)
        expected, history = expected_of(q), None
        for wave in range(3):
            if change == "sudden" and wave == 2:
                shift = shift + 1.5
            question = questions(rng, shift, q)
            if wave == 2:
                truth = 1.0 / (1.0 + np.exp(-(np.log(q / (1 - q)) + shift)))
                for name, before in (("alone", None), ("waves", history)):
                    shares = estimate_shift(question, expected, history=before).shares[:, 1]
                    errors[name].append(float(((shares - truth) ** 2).mean()))
            history = history_with(history, question, expected)
    alone, waves_ = np.array(errors["alone"]), np.array(errors["waves"])
    if change == "none":
        assert waves_.mean() < 0.8 * alone.mean()
    else:
        spread = (waves_ - alone).std() / np.sqrt(len(alone))
        assert waves_.mean() < alone.mean() + 2.0 * spread


def test_sequences_of_steps_start_from_every_wave_and_the_likely_ones_are_kept() -> None:
    """One that forgets is the wave alone; probabilities add up to one; how often each step was
    taken is counted."""
    rng = np.random.default_rng(6)
    q = np.full(CELLS, 0.5)
    expected, history = expected_of(q), None
    for wave in range(5):
        question = questions(rng, np.full(CELLS, 0.5), q)
        history = history_with(history, question, expected)
        assert len(history.odds) == min(KEPT, (1, 3, 7, 15, 31)[wave])
        assert np.exp(history.odds).sum(axis=0) == pytest.approx(1.0)
        assert history.taken.sum(axis=1) == pytest.approx(wave)
        if wave == 1:
            alone = history_with(None, question, expected)
            forgot = history.precision[history.taken[:, -1] == 1.0]
            assert forgot == pytest.approx(alone.precision, rel=0.2)
            assert (history.precision >= forgot - 1e-9).all()


def test_how_often_people_change_is_learned() -> None:
    """After waves that are alike forgetting is expected less, and after waves that are not more."""
    rng = np.random.default_rng(7)
    q = np.full(CELLS, 0.5)
    expected, forgetting = expected_of(q), {}
    for name, jump in (("alike", 0.0), ("apart", 2.5)):
        history: History | None = None
        for wave in range(6):
            at = np.full(CELLS, jump * (wave % 2 - 0.5))
            history = history_with(history, questions(rng, at, q, 40_000), expected)
        assert history is not None
        *_, odds = history.next_odds
        forgetting[name] = np.exp(np.logaddexp.reduce(odds, axis=0))[1]
    first = PSEUDO[-1] / PSEUDO.sum()
    assert forgetting["alike"] < 0.6 * first
    assert forgetting["apart"] > first
