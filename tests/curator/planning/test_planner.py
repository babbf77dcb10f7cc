"""Plans keep their promises and say what to do."""

import json

import numpy as np
import pytest

from privet.curator.planning import Plan, Verdict, plan, plan_table
from privet.curator.public_data import PublicData
from privet.curator.publishing.build import build_task
from privet.curator.publishing.settings import TaskSettings
from privet.protocol.errors import InvalidRequest
from privet.protocol.features import Classes, Range

CLASSES = Classes(name="y", classes=("a", "b"))
QUICK = {
    "growers": ("cart", "max_edge"),
    "depths": (1, 3),
    "mechanisms": ("subset", "laplace"),
    "estimator": "averaged",
}


def checkers(rows: int, seed: int = 0) -> PublicData:
    """Labels on an 8 x 8 checkerboard, right with probability 0.9: too fine for a forest."""
    rng = np.random.default_rng(seed)
    X = rng.random((rows, 2))
    black = np.floor(8 * X).sum(axis=1) % 2 == 1
    return PublicData(X, (rng.random(rows) < np.where(black, 0.9, 0.1)).astype(float))


def planned(rows: int = 400, **options) -> Plan:
    arguments = {"holders": 100_000, "epsilon": 4.0, **QUICK, **options}
    return plan(CLASSES, checkers(rows), **arguments)


def test_many_reports_are_worth_collecting_where_the_public_model_is_weak():
    """On a fine checkerboard the plan says to collect, and that six levels are needed for it."""
    found = planned(depths=(1, 6), growers=("max_edge",), mechanisms=("subset",))
    assert found.verdict == Verdict.COLLECT
    assert found.best.choice.depth == 6
    assert found.gain.value > 0.03
    assert found.expected.value > found.public_only.value
    assert found.worth > 0
    assert found.lower_bound
    assert "expect at least that" in found.reason


def test_hopeless_reports_are_not_collected():
    """A handful of nearly silent reports is not worth asking for."""
    rng = np.random.default_rng(1)
    X = rng.random((2000, 2))
    easy = PublicData(X, (X[:, 0] > 0.5).astype(float))
    found = plan(CLASSES, easy, holders=20, epsilon=0.1, **QUICK)
    assert found.verdict == Verdict.DO_NOT_COLLECT
    assert "use the public model" in found.reason
    assert not found.lower_bound


def test_a_gain_that_few_records_cannot_show_is_not_excluded():
    """A million reports know more than 16 people can play, whatever the verdict."""
    found = planned(40, holders=10**6, depths=(1,), growers=("cart",), mechanisms=("subset",))
    assert found.lower_bound
    assert "so many reports know more" in found.reason.lower()


def test_all_mechanisms_are_tried_on_the_best_tree():
    """Every mechanism appears with its report size, on the partition that was best."""
    found = planned(growers=("cart",), depths=(2,), mechanisms=None)
    leader = (found.outlooks[0].choice.grower, found.outlooks[0].choice.depth)
    tried = {o.choice.mechanism for o in found.outlooks}
    assert {"subset", "laplace", "randomized_response"} <= tried
    sizes = {o.choice.mechanism: o.report_bytes for o in found.outlooks}
    assert sizes["laplace"] > sizes["subset"] > 0
    assert leader in {(o.choice.grower, o.choice.depth) for o in found.outlooks}


@pytest.fixture
def few_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Try few numbers of holders and epsilons when asked for the inverse."""
    monkeypatch.setattr("privet.curator.planning.planner.HOLDER_STEPS", (0.01, 1.0, 100.0))
    monkeypatch.setattr("privet.curator.planning.planner.EPSILONS", (0.1, 1.0, 8.0))


@pytest.mark.usefixtures("few_steps")
def test_the_inverse_falls_with_what_is_asked():
    """A higher accuracy needs more holders or more epsilon; an impossible one is None."""
    arguments = {
        "depths": (6,),
        "growers": ("max_edge",),
        "mechanisms": ("subset",),
        "estimator": "private",
    }
    low, high, never = (
        planned(200, holders=10_000, epsilon=1.0, wanted=wanted, **arguments).required
        for wanted in (0.65, 0.75, 0.999)
    )
    assert low.holders < high.holders
    assert low.epsilon <= high.epsilon
    assert never.holders is None
    assert never.epsilon is None


def test_numeric_labels_are_planned_in_squared_error():
    """For numbers the score is the mean squared error and a gain lowers it."""
    rng = np.random.default_rng(2)
    X = rng.random((500, 2))
    y = np.floor(4 * X).sum(axis=1) % 2 + rng.normal(0, 0.3, 500)
    label = Range(name="y", low=-1.0, high=2.0)
    found = plan(
        label,
        PublicData(X, np.clip(y, -1, 2)),
        holders=10**6,
        epsilon=4.0,
        depths=(1, 4),
        growers=("max_edge",),
        estimator="averaged",
    )
    assert found.score == "mean squared error"
    assert found.expected.value == pytest.approx(found.public_only.value - found.gain.value)


def test_a_plan_can_be_published():
    """``settings`` are fields of a task's settings, and the task they make is the plan's."""
    data = checkers(400)
    columns = {"a": data.X[:, 0], "b": data.X[:, 1], "y": data.y}
    settings = TaskSettings(name="board", label="y", epsilon=2.0, holders=50_000)
    found = plan_table(columns, settings, **QUICK)
    task, _ = build_task(settings.model_copy(update=found.settings()), columns)
    assert task.questions[0].mechanism == found.best.choice.mechanism
    assert task.epsilon == 2.0
    assert task.mechanisms[0].report_bytes == pytest.approx(found.best.report_bytes, abs=2)


@pytest.mark.usefixtures("few_steps")
def test_a_plan_is_json():
    """The document survives JSON and holds what a script needs."""
    document = json.loads(json.dumps(planned(wanted=0.6).to_document(), allow_nan=False))
    assert document["settings"]["grower"] in QUICK["growers"]
    assert document["verdict"] in {"collect", "unclear", "do not collect"}
    assert document["outlooks"][0]["report_bytes"] > 0
    assert document["required"]["wanted"] == 0.6


def test_progress_reaches_the_announced_total():
    """Progress counts up by one to the total it names."""
    steps: list[tuple[int, int]] = []
    planned(mechanisms=("subset", "grr"), progress=lambda *step: steps.append(step))
    assert [done for done, _ in steps] == list(range(1, len(steps) + 1))
    assert steps[-1][0] == steps[-1][1]


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"growers": ("oak",)}, "Unknown grower"),
        ({"mechanisms": ("whisper",)}, "Unknown mechanism"),
        ({"estimator": "guess"}, "Unknown estimator"),
        ({"holders": 0}, "at least 1"),
    ],
)
def test_impossible_plans_are_refused(options, says):
    """Unknown names and an empty population are refused before any work."""
    with pytest.raises(InvalidRequest, match=says):
        planned(**options)
