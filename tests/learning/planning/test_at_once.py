"""The precision that is told while settings are typed, against that of the plan."""

from typing import Any

import numpy as np
import pytest

from privet.learning.planning import plan
from privet.learning.planning.at_once import collection_at_once
from privet.learning.task_building.settings import TaskSettings
from privet.protocol.features import Classes, Range
from tests.curator import samples


@pytest.mark.usefixtures("planned_alone")
@pytest.mark.parametrize(
    "given",
    [
        {"epsilon": 1.0, "holders": 10_000},
        {"epsilon": 2.0, "holders": 3_000, "label_part": 0.4, "depth": 2},
        {"epsilon": 0.5, "holders": 50_000, "label_part": 0.0, "looks": "once"},
    ],
)
def test_it_is_the_plans(given: dict[str, Any]) -> None:
    """Of a tree that is not grown yet, whatever the file says about the label."""
    planned = plan(samples.survey(), label="label", **given)
    settings = TaskSettings(name="a", label="label", **given)
    label = Classes(name="label", classes=("0", "1"))
    found = collection_at_once(settings, label, features=4)
    assert found.here.half_width == pytest.approx(planned.here.half_width, rel=0.01)


@pytest.mark.usefixtures("planned_alone")
@pytest.mark.parametrize("epsilon", [1.0, 4.0])
def test_it_is_the_plans_where_most_give_one_answer(epsilon: float) -> None:
    """Of three, which made it a tenth too narrow while it took them to be as frequent."""
    rng = np.random.default_rng(0)
    y = rng.choice(list("abc"), 600, p=[0.8, 0.1, 0.1])
    file = {"x": rng.random(600).tolist(), "y": y.tolist()}
    planned = plan(file, label="y", epsilon=epsilon, holders=10_000)
    settings = TaskSettings(name="a", label="y", epsilon=epsilon, holders=10_000)
    shares = np.array([(y == name).mean() for name in "abc"])
    label = Classes(name="y", classes=tuple("abc"))
    found = collection_at_once(settings, label, 1, shares)
    assert found.here.half_width == pytest.approx(planned.here.half_width, rel=0.02)


def test_one_question_takes_fewer_people_than_a_tree() -> None:
    """And a number is known in its own unit."""
    settings = TaskSettings(name="a", label="y", epsilon=1.0, label_part=0.0)
    label = Classes(name="y", classes=("no", "yes"))
    alone, tree = (collection_at_once(settings, label, features).here for features in (0, 5))
    assert alone.half_width < tree.half_width / 2.0
    of = {
        high: collection_at_once(settings, Range(name="y", low=0.0, high=high), 0).here.half_width
        for high in (1.0, 1000.0)
    }
    assert of[1000.0] == pytest.approx(1000.0 * of[1.0])
