"""From losses to promises."""

import math
from collections.abc import Iterable

import numpy as np
import pytest

from privet.curator.planning.inverse import first_reaching, most_trials, search
from privet.curator.planning.judgement import (
    LearningCurve,
    Prospect,
    best_choice,
    chosen_losses,
    mean_figure,
    verdict_on,
)
from privet.curator.planning.losses import Losses
from privet.curator.planning.outlook import Choice, Figure, Verdict
from privet.curator.planning.rotations import deal
from privet.curator.public_data import Floats

ROWS = 1000


def trials(losses: Iterable[Floats]) -> dict[Choice, Losses]:
    return {Choice("cart", depth, "subset"): Losses(x, x) for depth, x in enumerate(losses)}


def test_the_best_of_equals_is_not_promised_more():
    """Of forty choices that are all alike the chosen one is promised their common loss.

    The least of forty means would be 2.2 standard errors too low on average; the honest mean is
    within 4.9 standard errors of the truth at 1e-6, and 40 repetitions make them 1/40 as wide.
    """
    rng = np.random.default_rng(0)
    rotations = deal(rng.integers(0, 2, ROWS).astype(float), 0)
    promised, least = [], []
    for _ in range(40):
        losses = trials((rng.random((40, ROWS)) < 0.3).astype(float))
        promised.append(chosen_losses(losses, None, rotations).mean())
        least.append(min(x.loss.mean() for x in losses.values()))
    error = math.sqrt(0.3 * 0.7 / ROWS / 40)
    assert abs(np.mean(promised) - 0.3) < 4.9 * error
    assert np.mean(least) < 0.3 - 4.9 * error


def test_a_choice_that_is_really_better_is_made():
    """A choice that loses less on all parts is the one that is promised."""
    rng = np.random.default_rng(1)
    rotations = deal(rng.integers(0, 2, ROWS).astype(float), 0)
    losses = trials([constant(0.4), constant(0.1)])
    usual = next(iter(losses))
    assert chosen_losses(losses, None, rotations).mean() == pytest.approx(0.1)
    assert chosen_losses(losses, usual, rotations).mean() == pytest.approx(0.1)


def test_the_usual_choice_gives_way_only_to_what_is_surely_better():
    """One standard error ahead is not enough to overrule the usual choice; ten are."""
    rng = np.random.default_rng(3)
    noise = rng.normal(0.0, 1.0, ROWS)
    noise = (noise - noise.mean()) / noise.std(ddof=1)
    everyone = np.ones(ROWS, dtype=bool)
    for errors, wins in ((1.0, False), (10.0, True)):
        losses = trials([constant(1.0), 1.0 - errors / math.sqrt(ROWS) + noise])
        usual, other = losses
        assert best_choice(losses, usual, everyone) == (other if wins else usual)
        assert best_choice(losses, None, everyone) == other


def test_learning_curve_goes_through_its_points():
    """On a curve that is a straight line in ln n, loss and worth are exact."""
    curve = LearningCurve.of([100, 200, 400], [constant(x) for x in (0.3, 0.28, 0.26)])
    assert curve.loss(800) == pytest.approx(0.24)
    assert curve.worth(0.02, 400) == pytest.approx(400)
    assert curve.worth(-0.1, 400) == 0.0


def test_rising_losses_are_taken_as_flat():
    """A public model that seems to get worse with records is taken to stay as it is."""
    curve = LearningCurve.of([100, 200], [constant(0.2), constant(0.3)])
    assert curve.slope == 0.0
    assert curve.loss(10**6) == pytest.approx(0.25)
    assert curve.worth(0.1, 100) == math.inf
    assert curve.carried(Figure(0.1, 0.01), 40, 100) == Figure(0.1, 0.01)


def test_gains_are_carried_to_the_full_public_data():
    """Reports worth m records beside 40 are worth m records beside 100."""
    curve = LearningCurve.of([100, 200, 400], [constant(x) for x in (0.3, 0.28, 0.26)])
    m = curve.worth(0.03, 40)
    carried = curve.carried(Figure(0.03, 0.01), 40, 100)
    assert curve.loss(100 + m) == pytest.approx(curve.loss(100) - carried.value)
    assert 0 < carried.standard_error < 0.01


def constant(loss: float) -> Floats:
    return np.full(ROWS, loss)


@pytest.mark.parametrize(
    ("planned", "promised"),
    [
        (0.10, 0.16),  # far ahead of public models with twice the records: just that is promised
        (0.26, 0.02 / math.log(2) * math.log(1.5)),  # as good as them: half as many again
        (0.28, 0.0),  # no better than public models with as many records as it has itself
    ],
)
def test_gains_are_measured_before_they_are_extrapolated(planned, promised):
    """A measured advantage is promised in full, and extrapolation adds to small gains only."""
    curve = LearningCurve.of([100, 200, 400], [constant(x) for x in (0.3, 0.28, 0.26)])
    told = Prospect(constant(0.28), constant(0.26), constant(planned), curve, 200, 400, 500)
    assert told.gain().value == pytest.approx(promised, abs=1e-12)


def test_promises_are_for_all_public_records():
    """Trials leave a fifth of the records out; the promise follows the learning curve to all."""
    curve = LearningCurve.of([100, 200, 400], [constant(x) for x in (0.3, 0.28, 0.26)])
    told = Prospect(constant(0.28), constant(0.26), constant(0.2), curve, 200, 400, 500)
    assert told.public_only().value == pytest.approx(curve.loss(500))
    assert told.expected().value == pytest.approx(curve.loss(500) - told.gain().value)


def test_an_unsure_slope_makes_the_promise_unsure():
    """What the learning curve adds has an error of its own."""
    rng = np.random.default_rng(2)
    curve = LearningCurve.of([100, 400], [(rng.random(ROWS) < p).astype(float) for p in (0.3, 0.2)])
    assert curve.slope_error == pytest.approx(
        math.sqrt((0.3 * 0.7 + 0.2 * 0.8) / ROWS) / math.log(4), rel=0.1
    )
    told = Prospect(constant(0.3), constant(0.2), constant(0.2), curve, 200, 400, 500)
    assert told.expected().standard_error == pytest.approx(curve.slope_error * math.log(1.25))


@pytest.mark.parametrize(
    ("gain", "error", "verdict"),
    [
        (0.05, 0.01, Verdict.COLLECT),
        (0.05, 0.03, Verdict.UNCLEAR),
        (0.004, 0.0001, Verdict.DO_NOT_COLLECT),
        (-0.1, 0.01, Verdict.DO_NOT_COLLECT),
        (0.0, 0.01, Verdict.UNCLEAR),
    ],
)
def test_verdicts_follow_gain_and_uncertainty(gain, error, verdict):
    """Collect needs a sure and worthwhile gain; advice against needs it to be surely absent."""
    assert verdict_on(Figure(gain, error), 0.005) == verdict


def test_mean_figure_has_the_usual_standard_error():
    """The standard error is that of a mean of independent rows."""
    figure = mean_figure(np.array([0.0, 1.0, 0.0, 1.0]))
    assert figure.value == 0.5
    assert figure.standard_error == pytest.approx(math.sqrt(1 / 3) / 2)


def test_search_tries_few_amounts():
    """The least amount is found by bisection, as among all amounts; the best loss is told too."""
    amounts = [float(2**k) for k in range(11)]
    for wanted in (0.9, 0.31, 0.0625, 0.01):
        tried: list[float] = []

        def loss(amount: float, tried: list[float] = tried) -> float:
            tried.append(amount)
            return 1.0 / amount

        found, least = search(amounts, loss, wanted)
        assert found == first_reaching(amounts, [1.0 / a for a in amounts], wanted)
        assert len(tried) == len(set(tried)) <= most_trials(amounts) < len(amounts)
        assert least == 1.0 / 1024
    assert search(amounts, lambda amount: 1.0 / amount, 0.0001) == (None, 1.0 / 1024)


@pytest.mark.parametrize(
    ("wanted", "found"),
    [(0.5, 1.0), (0.4, 1.0), (0.35, math.sqrt(10)), (0.3, 10.0), (0.2, 100.0), (0.1, None)],
)
def test_first_reaching_interpolates_on_a_log_scale(wanted, found):
    """The least amount is found between the tried ones; what wavers upwards is smoothed away."""
    reached = first_reaching([1.0, 10.0, 31.0, 100.0], [0.4, 0.3, 0.33, 0.2], wanted)
    assert reached == (None if found is None else pytest.approx(found))
