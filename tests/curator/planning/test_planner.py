"""Plans keep their promises and say what to do."""

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from privet.curator.planning import Figure, Plan, Verdict, plan
from privet.curator.planning.folds import FoldModels, Part
from privet.curator.planning.planner import (
    HOLDER_STEPS,
    Baseline,
    LearningCurve,
    Trials,
    least_amount,
    verdict_on,
)
from privet.curator.public_data import Floats, PublicData
from privet.curator.publishing.build import build_task
from privet.curator.publishing.settings import TaskSettings
from privet.protocol.errors import InvalidPublicData, InvalidRequest, InvalidTask

ROWS = 1000
QUICK: dict[str, Any] = {"grower": "max_edge", "depth": 3, "estimator": "averaged"}


def checkers(rows: int, seed: int = 0) -> dict[str, Any]:
    """Labels on an 8 x 8 checkerboard, right with probability 0.9: too fine for a forest."""
    rng = np.random.default_rng(seed)
    X = rng.random((rows, 2))
    black = np.floor(8 * X).sum(axis=1) % 2 == 1
    y = (rng.random(rows) < np.where(black, 0.9, 0.1)).astype(float)
    return {"a": X[:, 0], "b": X[:, 1], "y": y}


def halves(rows: int = 300, seed: int = 0) -> dict[str, Any]:
    """A label that is 1 with probability 0.9 on one half of the square and 0.1 on the other."""
    rng = np.random.default_rng(seed)
    X = rng.random((rows, 2))
    y = (rng.random(rows) < 0.1 + 0.8 * (X[:, 0] > 0.5)).astype(float)
    return {"a": X[:, 0], "b": X[:, 1], "y": y}


def planned(rows: int = 400, **options: Any) -> Plan:
    arguments = {"label": "y", "holders": 100_000, "epsilon": 4.0, **QUICK, **options}
    return plan(checkers(rows), **arguments)


def settings(**given: Any) -> TaskSettings:
    return TaskSettings(name="plan", label="y", **given)


def test_many_reports_are_worth_collecting_where_the_public_model_is_weak() -> None:
    """On a fine checkerboard the plan says to collect with the six levels that it needs."""
    found = planned(depth=6)
    assert found.verdict == Verdict.COLLECT
    assert found.gain.value > 0.03
    assert found.expected.value > found.public_only.value
    assert found.worth > 0
    assert found.lower_bound
    assert "expect at least that" in found.reason


def test_hopeless_reports_are_not_collected() -> None:
    """A handful of nearly silent reports is not worth asking for."""
    rng = np.random.default_rng(1)
    X = rng.random((2000, 2))
    easy = {"a": X[:, 0], "b": X[:, 1], "y": (X[:, 0] > 0.5).astype(float)}
    found = plan(easy, label="y", holders=20, epsilon=0.1, **QUICK)
    assert found.verdict == Verdict.DO_NOT_COLLECT
    assert "use the public model" in found.reason
    assert not found.lower_bound


def test_a_gain_that_few_records_cannot_show_is_not_excluded() -> None:
    """A million reports carry more information than 16 people can play, whatever the verdict."""
    found = planned(40, holders=10**6, depth=1)
    assert found.lower_bound
    assert "so many reports carry more information" in found.reason.lower()


@pytest.mark.parametrize(
    "chosen",
    [
        {},
        {"mechanism": "laplace", "grower": "cart", "depth": 2},
        {"questions": [{"asks": "cell"}, {}], "allocation": "one", "grower": "grid", "depth": 2},
    ],
    ids=["default", "named", "two questions"],
)
def test_a_plan_is_for_the_task_that_would_be_published(chosen: dict[str, Any]) -> None:
    """Its mechanisms, cells and bytes are those of the task that the same settings build."""
    estimator = "histogram" if "questions" in chosen else None
    found = plan(halves(), label="y", holders=500, epsilon=2.0, estimator=estimator, **chosen)
    stated = json.dumps({"name": "plan", "label": "y", "holders": 500, "epsilon": 2.0, **chosen})
    task, _ = build_task(TaskSettings.parse(stated), halves())
    assert [each["mechanism"] for each in found.questions] == [
        question.mechanism for question in task.questions
    ]
    assert [each["cells"] for each in found.questions] == [m.cells for m in task.mechanisms]
    assert found.report_bytes == task.longest_report


def test_trials_find_what_reports_teach() -> None:
    """With nearly truthful reports the loss nears the best possible, which is 0.1 here.

    300 rows: the standard error of the mean loss is 0.017; at 1e-6 it stays within 4.9 of them.
    """
    trials = Trials.of(settings(epsilon=8.0), halves(), "private", 0)
    many = settings(epsilon=8.0, holders=10**6, grower="cart", depth=1)
    few = settings(epsilon=0.05, holders=10, grower="cart", depth=1)
    assert abs(trials.losses(many).mean() - 0.1) < 4.9 * 0.0174
    assert trials.losses(few).mean() > trials.losses(many).mean()


def test_labels_of_the_test_set_change_nothing_but_their_losses() -> None:
    """Turning the labels of one fold's test set around turns its losses around, nothing else."""
    chosen = settings(epsilon=1.0, holders=5000, grower="cart", depth=3)
    trials = Trials.of(chosen, halves(), "averaged", 0)
    tested = trials.models.folds[0].test
    y = trials.public.y.copy()
    y[tested] = 1.0 - y[tested]
    public = PublicData(trials.public.X, y)
    models = FoldModels(public, 2, trials.models.folds)
    turned = replace(trials, public=public, models=models)
    loss, other = (each.losses(chosen)[tested] for each in (trials, turned))
    np.testing.assert_array_equal(loss, 1.0 - other)


def test_trials_are_reproducible() -> None:
    """The same seed and settings give the same losses, in whatever order they are asked for."""
    first, again = (Trials.of(settings(epsilon=1.0), halves(), "averaged", 3) for _ in range(2))
    a, b = (settings(epsilon=1.0, holders=1000, grower="cart", depth=depth) for depth in (1, 2))
    one = [first.losses(each) for each in (a, b)]
    two = [again.losses(each) for each in (b, a)]
    np.testing.assert_array_equal(one, two[::-1])


@pytest.mark.parametrize("estimator", ["averaged", "drift"])
def test_numbers_are_judged_by_squared_error(estimator: str) -> None:
    """For a numeric label the loss is the squared error, and reports lower it."""
    rng = np.random.default_rng(5)
    X = rng.random((200, 2))
    data = {"a": X[:, 0], "b": X[:, 1], "y": 2 * X[:, 0]}
    chosen = settings(epsilon=4.0, holders=10**6, grower="cart", depth=3)
    losses = Trials.of(chosen, data, estimator, 0).losses(chosen)
    assert losses.mean() < 0.2 * data["y"].var()
    found = plan(data, label="y", epsilon=4.0, holders=10**5, estimator=estimator, depth=3)
    assert found.score == "mean squared error"
    promised = max(found.public_only.value - found.gain.value, 0.0)
    assert found.expected.value == pytest.approx(promised)


def test_numbers_are_centred_as_the_task_would_have_them() -> None:
    """Around the public model in its own cells; else, or if set so, on the whole range."""
    data = {**halves(60), "y": 2 * halves(60)["a"]}
    chosen = settings(epsilon=2.0)
    trials = Trials.of(chosen, data, "drift", 0)
    for changed, centred in (({}, True), ({"grower": "cart"}, False), ({"centred": False}, False)):
        task = trials.task(chosen.model_copy(update=changed), 0, Part.KNOWN)
        assert (task.questions[0].centring is not None) == centred


def test_the_inverse_falls_with_what_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    """A higher accuracy needs more holders or more epsilon; an impossible one is None."""
    monkeypatch.setattr("privet.curator.planning.planner.HOLDER_STEPS", (0.01, 1.0, 100.0))
    monkeypatch.setattr("privet.curator.planning.planner.EPSILONS", (0.1, 1.0, 8.0))
    chosen = {"depth": 6, "estimator": "private", "holders": 10_000, "epsilon": 1.0}
    low, high, never = (
        planned(200, wanted=wanted, **chosen).required for wanted in (0.65, 0.75, 0.999)
    )
    assert low is not None
    assert high is not None
    assert never is not None
    assert low.holders is not None
    assert high.holders is not None
    assert low.epsilon is not None
    assert high.epsilon is not None
    assert low.holders < high.holders
    assert low.epsilon <= high.epsilon
    assert never.holders is None
    assert never.epsilon is None


def test_another_epsilon_is_another_epsilon_for_every_question() -> None:
    """A question with an epsilon of its own keeps its share where a wanted score is looked for."""
    found = plan(
        halves(100),
        label="y",
        epsilon=1.0,
        holders=2000,
        wanted=0.88,
        estimator="private",
        grower="cart",
        depth=1,
        questions=[{"epsilon": 1.0}],
    )
    assert found.required is not None
    assert found.required.epsilon is not None
    assert found.required.epsilon < 8.0


def test_a_plan_is_json() -> None:
    """The document survives JSON and holds what a script needs."""
    document = json.loads(json.dumps(planned(wanted=0.6).to_document(), allow_nan=False))
    assert document["verdict"] in {"collect", "unclear", "do not collect"}
    assert document["questions"][0]["bytes"] > 0
    assert document["required"]["wanted"] == 0.6


def test_public_records_come_in_many_forms(tmp_path: Path) -> None:
    """A file, its bytes and columns by name lead to the same plan."""
    data = checkers(60)
    rows = zip(*data.values(), strict=True)
    text = "\n".join(
        ["a,b,y", *(f"{a!r},{b!r},{y:.0f}" for a, b, y in np.array(list(rows)).tolist())]
    )
    (tmp_path / "public.csv").write_text(text)
    forms = (tmp_path / "public.csv", str(tmp_path / "public.csv"), text.encode(), data)
    plans = [plan(form, label="y", holders=100, epsilon=1.0, **QUICK) for form in forms]
    assert all(each == plans[0] for each in plans)


@pytest.mark.parametrize(
    ("options", "error", "says"),
    [
        ({"grower": "oak"}, InvalidTask, "Unknown grower"),
        ({"mechanism": "whisper"}, InvalidTask, "Unknown mechanism"),
        ({"estimator": "guess"}, InvalidRequest, "Unknown estimator"),
        ({"holders": 0}, InvalidRequest, "holders"),
        ({"label": "z"}, InvalidPublicData, "no column 'z'"),
    ],
)
def test_impossible_plans_are_refused(
    options: dict[str, Any], error: type[Exception], says: str
) -> None:
    """Unknown names and an empty population are refused before any work."""
    with pytest.raises(error, match=says):
        planned(**options)


def constant(loss: float) -> Floats:
    return np.full(ROWS, loss)


FALLING = LearningCurve.of([100, 200, 400], [constant(x) for x in (0.3, 0.28, 0.26)])


def baseline(curve: LearningCurve = FALLING) -> Baseline:
    return Baseline(constant(0.28), constant(0.26), curve, 200, 400, 500)


def test_learning_curve_goes_through_its_points() -> None:
    """On a curve that is a straight line in ln n, what a gain is worth is exact."""
    assert FALLING.worth(0.02, 400) == pytest.approx(400)
    assert FALLING.worth(-0.1, 400) == 0.0
    assert FALLING.needed(0.24) == pytest.approx(800)


def test_rising_losses_are_taken_as_flat() -> None:
    """A public model that seems to get worse with records is taken to stay as it is."""
    curve = LearningCurve.of([100, 200], [constant(0.2), constant(0.3)])
    assert curve.slope == 0.0
    assert curve.worth(0.1, 100) == math.inf
    assert curve.carried(Figure(0.1, 0.01), 40, 100) == Figure(0.1, 0.01)


def test_gains_are_carried_to_the_full_public_data() -> None:
    """Reports worth m records in addition to 40 are worth m records in addition to 100."""
    m = FALLING.worth(0.03, 40)
    carried = FALLING.carried(Figure(0.03, 0.01), 40, 100)
    assert carried.value == pytest.approx(FALLING.slope * math.log(1 + m / 100))
    assert 0 < carried.standard_error < 0.01


@pytest.mark.parametrize(
    ("loss", "promised"),
    [
        (0.10, 0.16),  # far ahead of public models with twice the records: just that is promised
        (0.26, 0.02 / math.log(2) * math.log(1.5)),  # as good as them: half as many again
        (0.28, 0.0),  # no better than public models with as many records as it has itself
    ],
)
def test_gains_are_measured_before_they_are_extrapolated(loss: float, promised: float) -> None:
    """A measured advantage is promised in full, and extrapolation adds to small gains only."""
    assert baseline().gain(constant(loss)).value == pytest.approx(promised, abs=1e-12)


def test_promises_are_for_all_public_records() -> None:
    """Trials leave a fifth of the records out; the promise follows the learning curve to all."""
    at_all = FALLING.level - FALLING.slope * math.log(500)
    assert baseline().public_only().value == pytest.approx(at_all)
    gain = baseline().gain(constant(0.2)).value
    assert baseline().expected(constant(0.2)).value == pytest.approx(at_all - gain)


def test_an_unsure_slope_makes_the_promise_unsure() -> None:
    """What the learning curve adds has an error of its own."""
    rng = np.random.default_rng(2)
    curve = LearningCurve.of([100, 400], [(rng.random(ROWS) < p).astype(float) for p in (0.3, 0.2)])
    assert curve.slope_error == pytest.approx(
        math.sqrt((0.3 * 0.7 + 0.2 * 0.8) / ROWS) / math.log(4), rel=0.1
    )
    expected = baseline(curve).expected(constant(0.2))
    assert expected.standard_error == pytest.approx(curve.slope_error * math.log(1.25))


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
def test_verdicts_follow_gain_and_uncertainty(gain: float, error: float, verdict: Verdict) -> None:
    """Collect needs a sure and worthwhile gain; advice against needs it to be surely absent."""
    assert verdict_on(Figure(gain, error), 0.005) == verdict


def test_a_mean_has_the_usual_standard_error() -> None:
    """The standard error is that of a mean of independent rows."""
    figure = Figure.of(np.array([0.0, 1.0, 0.0, 1.0]))
    assert figure.value == 0.5
    assert figure.standard_error == pytest.approx(math.sqrt(1 / 3) / 2)


@pytest.mark.parametrize("wanted", [2.0, 0.9, 0.31, 0.0625, 0.01])
def test_the_least_amount_is_found_by_bisection(wanted: float) -> None:
    """Few amounts are tried, and what lies between two of them is interpolated in logarithms."""
    amounts, tried = [float(2**k) for k in range(len(HOLDER_STEPS))], []

    def loss(amount: float) -> float:
        tried.append(amount)
        return 1.0 / amount

    found, least = least_amount(amounts, loss, wanted)
    assert len(tried) == len(set(tried)) <= 5
    assert least == 1.0 / 1024
    above = next(amount for amount in amounts if 1.0 / amount <= wanted)
    assert found is not None
    assert above / 2 <= found <= above
    assert found == above or wanted < 1.0
    assert least_amount(amounts, lambda amount: 1.0 / amount, 0.0001) == (None, 1.0 / 1024)
