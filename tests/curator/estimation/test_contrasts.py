"""Contrasts between counts and expected shares: moments, masses and what one report can move."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from privet.curator.estimation.contrasts import Contrasts, cell_masses, reported_masses
from privet.curator.estimation.counts import QuestionCounts
from privet.curator.estimation.tree_averaging import Posterior, average, mix
from privet.curator.trees import node_sums
from tests.curator.estimation.examples import complete, reports

RUNS = 300
SHARES = np.array([[0.9, 0.1], [0.3, 0.7], [0.5, 0.5], [0.05, 0.95]])
MASS = np.array([0.1, 0.2, 0.3, 0.4])


@cache
def drawn(seed: int, epsilon: float = 1.0, n: int = 4000) -> QuestionCounts:
    """Reports of a sample of n holders whose shares are ``SHARES`` and masses ``MASS``."""
    rng = np.random.default_rng(seed)
    counts = rng.multinomial(n, (MASS[:, None] * SHARES).ravel()).reshape(4, 2)
    return reports(complete(2), counts, epsilon, seed)


def test_contrasts_have_the_stated_mean_and_variance() -> None:
    """Around expected shares: mean n w (p - q) for another q, and the variance in closed form.

    300 runs: a mean strays 5 standard errors with probability 6e-7 per cell; a variance strays
    0.41 of itself (5 sqrt(2 / 300)) about as rarely.
    """
    q = np.clip(SHARES + np.array([[0.05, -0.05]]), 0, 1)
    all_runs = [Contrasts(drawn(seed), q, MASS, np.ones_like(q)) for seed in range(RUNS)]
    values = np.array([c.values for c in all_runs])
    expected = 4000 * MASS[:, None] * (SHARES - q)
    error = np.sqrt(all_runs[0].variance / RUNS)
    assert (np.abs(values.mean(axis=0) - expected) < 5 * error).all()
    np.testing.assert_allclose(values.var(axis=0), all_runs[0].variance, rtol=0.41)


def test_contrasts_of_holders_with_the_same_record_vary_more() -> None:
    """Where 40 holders share each record the stated variance is that of so few people.

    300 runs at epsilon 8, where most of the variance is in who was asked; a variance strays 0.41 of
    itself as in the test above. Without `holders_per_record` it would be stated 10 times too small.
    """
    values, stated = [], None
    for seed in range(RUNS):
        rng = np.random.default_rng(seed)
        people = rng.multinomial(100, (MASS[:, None] * SHARES).ravel()).reshape(4, 2)
        question = replace(reports(complete(2), 40 * people, 8.0, seed), holders_per_record=40.0)
        stated = Contrasts(question, SHARES, MASS, np.ones_like(SHARES))
        values.append(stated.values)
    assert stated is not None
    found = np.var(values, axis=0)
    np.testing.assert_allclose(found, stated.variance, rtol=0.41)
    blind = Contrasts(replace(stated.question, holders_per_record=1.0), SHARES, MASS, stated.scale)
    assert (blind.variance < found / 5).all()


def test_reported_masses_are_unbiased_and_uncorrelated_with_contrasts() -> None:
    """Noise moves a mass and a contrast independently, so it cannot pass for drift.

    The correlation of 300 independent pairs strays 5 / sqrt(300) with probability 6e-7 per cell.
    """
    masses, values = [], []
    for seed in range(RUNS):
        question = drawn(seed)
        mass, variance = reported_masses(question, SHARES, MASS)
        masses.append(mass)
        values.append(Contrasts(question, SHARES, MASS, np.ones_like(SHARES)).values[:, 1])
    spread = np.std(masses, axis=0)
    assert (np.abs(np.mean(masses, axis=0) - MASS) < 5 * spread / np.sqrt(RUNS)).all()
    np.testing.assert_allclose(spread, np.sqrt(variance), rtol=0.2)
    for cell in range(4):
        correlation = np.corrcoef(np.array(masses)[:, cell], np.array(values)[:, cell])[0, 1]
        assert abs(correlation) < 0.29


def test_masses_follow_the_reports_when_the_population_is_another() -> None:
    """With many reports and a public sample from elsewhere, masses are the holders' own."""
    question = drawn(1, epsilon=4.0, n=200_000)
    found = cell_masses(question, SHARES, points=np.array([400.0, 300.0, 200.0, 100.0]), rows=1000)
    np.testing.assert_allclose(found, MASS, atol=0.02)


def test_masses_stay_public_when_the_reports_say_nothing() -> None:
    """With few reports at a small budget, masses are those of the public data."""
    question = drawn(2, epsilon=0.1, n=500)
    points = np.array([100.0, 200.0, 300.0, 400.0])
    found = cell_masses(question, SHARES, points, rows=1000)
    np.testing.assert_allclose(found, MASS, atol=0.02)


def test_masses_are_positive_and_add_up_to_one() -> None:
    """Whatever the noise, every cell keeps some mass."""
    for seed in range(20):
        found = cell_masses(drawn(seed, 0.3, 300), SHARES, np.array([0.0, 5.0, 5.0, 40.0]), 50)
        assert (found > 0).all()
        assert found.sum() == pytest.approx(1.0)


def test_influence_bounds_the_first_order_effect_of_replacing_a_report() -> None:
    """By finite differences, for 300 pairs of reports: also how the weights of prunings change."""
    question = drawn(3)
    q = np.clip(SHARES + np.array([[0.1, -0.1], [-0.1, 0.1]] * 2), 0, 1)
    contrasts = Contrasts(question, q, MASS, np.ones_like(q))
    tree, mechanism, information = question.partition, question.mechanism, contrasts.information()

    def posterior(H: np.ndarray) -> Posterior:
        changed = replace(information, H=H)
        return mix([average(tree, changed, s, 0.8) for s in (0.03, 0.1, 0.3)], [0.0] * 3)

    now = posterior(information.H)
    stated = contrasts.estimates(now).influence
    rng, found, step = np.random.default_rng(5), [], 1e-4
    for _ in range(300):
        counts = []
        for category in rng.integers(8, size=2):
            payload = np.frombuffer(mechanism.privatize(int(category), rng.bytes), np.uint8)
            counts.append(mechanism.estimate(mechanism.accumulate(payload[None, :]), 1))
        change = counts[1] - counts[0]
        change = change - q * change.sum(axis=1, keepdims=True)
        H = information.H + step * 4000 * MASS[:, None] / contrasts.variance * change
        found.append(np.abs(posterior(H).mean - now.mean) / step)
    assert (now.between > 0.2 * now.variance).any(), "the weights of prunings matter here"
    assert (np.array(found) <= stated * 1.01).all()
    assert (np.max(found, axis=0) >= 0.3 * stated).all()


def test_node_influence_bounds_what_any_report_changes() -> None:
    """No pair of reports moves a node's H further apart than stated; some come within a half."""
    question = drawn(3)
    contrasts = Contrasts(question, SHARES, MASS, np.ones_like(SHARES))
    tree, mechanism = question.partition, question.mechanism
    influence = contrasts.node_influence()
    rng = np.random.default_rng(4)
    moved = []
    for _ in range(300):
        payload = np.frombuffer(mechanism.privatize(int(rng.integers(8)), rng.bytes), np.uint8)
        one = QuestionCounts(tree, mechanism, mechanism.accumulate(payload[None, :]), 1)
        changed = one.counts - SHARES * one.counts.sum(axis=1, keepdims=True)
        slope = 4000 * MASS[:, None] / contrasts.variance
        moved.append(node_sums(tree, slope * changed))
    furthest = np.ptp(np.array(moved), axis=0)
    assert (furthest <= influence * (1 + 1e-9)).all()
    assert (furthest >= 0.5 * influence).any()
