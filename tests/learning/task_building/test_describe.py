"""Descriptions and units of features and label, from the settings into the task's bytes."""

import pytest

from privet.client import Explanation
from privet.learning.task_building.build import build_task
from privet.learning.task_building.settings import TaskSettings
from privet.learning.task_building.table import read_table
from privet.protocol.errors import InvalidPublicData
from privet.protocol.task import Task
from tests.curator import samples


def published(describe: dict[str, dict[str, str]]) -> Task:
    settings = TaskSettings.model_validate(
        {"name": "described", "label": "label", "epsilon": 1, "depth": 1, "grower": "cart"}
        | {"describe": describe}
    )
    task, _ = build_task(settings, read_table(samples.survey()))
    return Task.parse(task.canonical, task.id)


def test_people_read_what_was_described() -> None:
    """Of a number, a text and the label; what is not described has neither field in the bytes."""
    plain = published({})
    assert b"unit" not in plain.canonical
    assert plain.canonical.count(b"description") == 1  # the task's own
    task = published(
        {
            "age": {"description": "At your last birthday.", "unit": "years"},
            "job": {"description": "What you do."},
            "label": {"description": "Did it help?"},
        }
    )
    shown = Explanation.of(task)
    assert shown.reads[0] == "age: a number in years, taken as 18 to 69. At your last birthday."
    assert shown.reads[2].endswith("What you do.")
    assert shown.label.endswith("Did it help?")


@pytest.mark.parametrize(
    ("describe", "said"),
    [
        ({"job": {"unit": "years"}}, "unit"),
        ({"age": {"unit": ""}}, "at least 1"),
        ({"age": {"description": "one\ntwo"}}, "control character"),
        ({"nobody": {"description": "x"}}, "no column 'nobody'"),
    ],
)
def test_what_no_task_takes_is_refused(describe: dict[str, dict[str, str]], said: str) -> None:
    with pytest.raises(InvalidPublicData, match=said):
        published(describe)
