"""Settings of a task are taken as they are meant, not as they could be read."""

import json
from dataclasses import fields
from typing import Any

import pytest

from privet.learning.core.growth import GrowthSpec
from privet.learning.task_building.inputs import inputs_of
from privet.learning.task_building.settings import TaskSettings
from privet.protocol.errors import InvalidRequest


def parsed(**changes: Any) -> TaskSettings:
    return TaskSettings.parse(json.dumps({"name": "n", "label": "l", "epsilon": 1, **changes}))


def test_whole_numbers_are_numbers() -> None:
    """1 is an epsilon; dates may be text or Unix seconds."""
    made = parsed(label_range=[0, 1], closes=2_000_000_000, features={"a": {"low": 0}})
    assert made.epsilon == 1.0
    assert made.label_range == (0.0, 1.0)
    assert made.closes is not None
    assert made.closes == parsed(closes="2033-05-18T03:33:20Z").closes


@pytest.mark.parametrize("value", [True, "1", [1], None])
@pytest.mark.parametrize("name", ["epsilon", "holders", "seed", "min_leaf"])
def test_what_is_no_number_is_refused(name: str, value: Any) -> None:
    """True is not 1 and "1" is not 1, and the refusal names the setting."""
    with pytest.raises(InvalidRequest, match=name):
        parsed(**{name: value})


@pytest.mark.parametrize(
    "changes",
    [
        {"questions": [{"epsilon": True}]},
        {"features": {"a": {"low": "0"}}},
        {"label_range": [False, True]},
        {"depth": "10"},
        {"draft": "yes"},
    ],
)
def test_numbers_and_truth_values_are_not_read_from_text(changes: dict[str, Any]) -> None:
    """A number or a truth value given as text is refused by its setting's name."""
    with pytest.raises(InvalidRequest, match=next(iter(changes))):
        parsed(**changes)


def test_numbers_by_name_are_written_with_equals_signs() -> None:
    """One a line; a name may have one itself."""
    prevalence = inputs_of(TaskSettings)["prevalence"]
    assert prevalence.value("yes=.018\n\n a=b = 0.2 ") == {"yes": 0.018, "a=b": 0.2}
    with pytest.raises(InvalidRequest, match="'yes' is no NAME=NUMBER"):
        prevalence.value("yes")
    with pytest.raises(InvalidRequest, match=r"prevalence\.yes"):
        parsed(prevalence={"yes": 1.5})


def test_growers_read_settings_of_the_task_by_their_names() -> None:
    """With the same defaults, but where a default is decided before a tree is grown."""
    specified = {each.name: each.default for each in fields(GrowthSpec)}
    declared = {name: TaskSettings.model_fields[name].default for name in specified}
    decided = {"depth", "hidden_depth"}
    assert {name: declared[name] for name in specified.keys() - decided} == {
        name: specified[name] for name in specified.keys() - decided
    }
