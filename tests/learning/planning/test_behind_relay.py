"""What a central guarantee allows behind a relay."""

from functools import cache
from typing import Any

import numpy as np
import pytest

from privet.learning.planning import Plan, plan
from privet.learning.planning.behind_relay import CANDIDATES, Shuffling
from privet.learning.task_building.build import build_task
from privet.learning.task_building.settings import TaskSettings
from privet.protocol.errors import InvalidRequest
from privet.protocol.limits import TASK_CAP
from privet.protocol.shuffling import epsilon_of_batch
from privet.protocol.task import Task

from .test_planner import QUICK, halves

PUBLIC = halves(100)
SHUFFLING = Shuffling(epsilon=0.3, delta=1e-8, batch=5_000, cap=8.0)


def settings(**given: Any) -> TaskSettings:
    """Of 64 cells and two classes."""
    most = {"epsilon": 8.0, "grower": "max_edge", "depth": 6}
    return TaskSettings(name="plan", label="y", **{**most, **given})


def publish(of: TaskSettings, epsilon: float) -> Task:
    """The task at another epsilon."""
    return build_task(of.model_copy(update={"epsilon": epsilon}), PUBLIC)[0]


def noise(of: TaskSettings, epsilon: float) -> float:
    """The variance of a cell's count of its last label, with holders spread evenly."""
    mechanism = publish(of, epsilon).mechanisms[0]
    even = np.ones((mechanism.cells, mechanism.slots))
    return float(mechanism.variance(even.size + 1, even)[0, -1])


@cache
def best_with(name: str) -> tuple[TaskSettings, float]:
    return SHUFFLING.best(settings(mechanism=name), publish, noise)


@pytest.mark.parametrize("name", CANDIDATES)
def test_the_local_epsilon_is_the_largest_that_keeps_the_guarantee(name: str) -> None:
    """To two digits behind the point, in a search that ends at one per cent."""
    found, epsilon = best_with(name)
    assert found.mechanism == name
    assert epsilon == round(epsilon, 2)
    assert epsilon_of_batch(publish(found, epsilon), 5_000, 1e-8) <= 0.3
    assert epsilon_of_batch(publish(found, 1.02 * epsilon), 5_000, 1e-8) > 0.3


def test_the_mechanism_is_the_one_that_tells_most() -> None:
    """Here grr, although subset has less variance at an equal local epsilon."""
    best = SHUFFLING.best(settings(), publish, noise)
    assert best[0].mechanism == "grr"
    by_name = [best_with(name) for name in CANDIDATES]
    assert noise(*best) == min(noise(*other) for other in by_name)
    assert noise(*best) < 0.8 * noise(*by_name[0])
    assert noise(settings(mechanism="subset"), 2.0) < noise(settings(mechanism="grr"), 2.0)


def test_questions_keep_their_mechanisms() -> None:
    """What is set is not replaced, and both answers count."""
    asked = [{"epsilon": 6.0, "mechanism": "projective"}, {"epsilon": 2.0, "asks": "cell"}]
    given = TaskSettings.model_validate({**settings().model_dump(), "questions": asked})

    def shared(of: TaskSettings, epsilon: float) -> Task:
        spent = [(question.epsilon or 0.0) * epsilon / 8.0 for question in of.questions]
        parts = tuple(
            question.model_copy(update={"epsilon": part})
            for question, part in zip(of.questions, spent, strict=True)
        )
        return publish(of.model_copy(update={"questions": parts}), epsilon)

    found, epsilon = SHUFFLING.best(given, shared, lambda _, epsilon: -epsilon)
    assert [m.name for m in shared(found, epsilon).mechanisms] == ["projective", "subset"]
    assert 0.28 < epsilon_of_batch(shared(found, epsilon), 5_000, 1e-8) <= 0.3


def planned(**options: Any) -> Plan:
    """A plan behind a relay."""
    wish = {"central_epsilon": 0.3, "delta": 1e-8, "batch": 5_000}
    return plan(PUBLIC, label="y", **{"holders": 20_000, **QUICK, **wish, **options})


@pytest.mark.slow
@pytest.mark.usefixtures("quick")
def test_a_plan_says_what_the_relay_gains() -> None:
    """Beside reports whose local epsilon is as small as the central one."""
    found = planned(epsilon=3.0)
    relay = found.relay
    direct = plan(PUBLIC, label="y", holders=20_000, epsilon=0.3, **QUICK)
    assert relay is not None
    assert relay.direct_width == direct.here.half_width > 2.0 * found.here.half_width
    assert found.questions[0]["mechanism"] == relay.mechanism
    assert found.epsilon < relay.cap == 3.0
    allows, rests = found.details[-2:]
    assert f"(0.3, 1e-08) allows a local ε of {found.epsilon:g} with {relay.mechanism}" in allows
    assert (
        f"a local ε of 0.3, which gives overall figures to ± {direct.amount(relay.direct_width)}"
        in allows
    )
    assert "as long as 5\u202f000 of the reports in the batch are from honest holders" in rests
    assert "a smallest batch of as many" in rests
    assert "Against everybody, the relay included, the local ε holds." in rests
    assert found.to_document()["relay"]["stated"] == relay.stated <= 0.3


@pytest.mark.usefixtures("quick")
def test_holders_accept_no_more_than_their_cap() -> None:
    """By default what their programs spend on a task."""
    found = planned(central_epsilon=1.0)
    assert found.relay is not None
    assert found.epsilon == found.relay.cap == TASK_CAP
    assert found.relay.stated < 1.0
    left = f"the most that holders accept here; it leaves {found.relay.stated:.3g}"
    assert left in found.details[-2]


@pytest.mark.usefixtures("quick")
def test_few_reports_hide_nobody() -> None:
    """Then the local epsilon is the central one, which the plan says."""
    found = planned(batch=2)
    assert found.epsilon == 0.3
    assert "this few reports hide nobody" in found.details[-2]


@pytest.mark.parametrize(
    ("wish", "says"),
    [
        ({"central_epsilon": 0.0}, "give one above 0, and below the 2"),
        ({"central_epsilon": 2.0}, "give one above 0, and below the 2"),
        ({"central_epsilon": float("nan")}, "give one above 0, and below the 2"),
        ({"delta": 0.0}, "far below one in the number of holders"),
        ({"delta": 2.0}, "from 1e-100 to below 1"),
        ({"batch": 0}, "A batch of 0 reports"),
        ({"batch": 30_000}, "does not come together of 20000 holders"),
        ({"central_epsilon": None, "epsilon": None}, "give it, or a central epsilon"),
        ({"disclosed": ["a"]}, "hides only among those of its stratum"),
    ],
)
def test_impossible_wishes_are_refused(wish: dict[str, Any], says: str) -> None:
    """Before anything is computed."""
    with pytest.raises(InvalidRequest, match=says):
        planned(**wish)
