from typing import Any

import pytest

from privet.learning.partitions.distilled import distilled_depth
from privet.learning.task_building.build import build_task
from privet.learning.task_building.settings import TaskSettings
from privet.learning.task_building.table import read_table
from privet.protocol.errors import InvalidPublicData, InvalidTask
from privet.protocol.mechanisms import MECHANISMS, SubsetSelection
from privet.protocol.task import Task
from tests.curator import samples


def test_max_edge_keeps_the_full_grid_by_default() -> None:
    """Without settings for it, a tree of depth p has 2^p cells however few the public records."""
    settings = TaskSettings(name="survey", label="label", epsilon=1.0, depth=5, grower="max_edge")
    task, _ = build_task(settings, read_table(samples.survey()))
    assert task.tree_of(0).cells == 2**5


def test_distilled_cells_follow_what_reports_can_distinguish() -> None:
    """Without a depth, the default grower makes the cells that 100 holders can distinguish."""
    settings = TaskSettings(name="survey", label="label", epsilon=1.0, holders=100)
    task, _ = build_task(settings, read_table(samples.survey()))
    assert 1 < task.tree_of(0).cells <= 2 ** distilled_depth(100, 1.0)


def line_task(rows: int = 300, **more: Any) -> Task:
    settings = TaskSettings(**{"name": "line", "label": "y", "epsilon": 1.0, "depth": 2, **more})
    return build_task(settings, read_table(samples.line(rows)))[0]


def test_a_mechanism_added_at_run_time_can_be_published(monkeypatch: pytest.MonkeyPatch) -> None:
    """One entry in MECHANISMS is all that the settings of a task and the task itself ask for."""

    class Other(SubsetSelection):
        name = "other"

    monkeypatch.setitem(MECHANISMS, "other", Other)
    assert type(line_task(mechanism="other").mechanisms[0]) is Other


def test_numbers_are_reported_around_the_public_models_means() -> None:
    """By default the grower distilled publishes centres, one per cell, and a radius."""
    task = line_task(grower="distilled")
    centring = task.questions[0].centring
    assert centring is not None
    assert len(centring.centres) == task.tree_of(0).cells == 4
    assert 0.1 <= centring.radius < 5.0
    assert Task.parse(task.canonical, task.id) == task
    assert line_task(grower="distilled").id == task.id


def test_numbers_around_centres_get_more_cells() -> None:
    """Where no depth is given, there are four times as many cells to report numbers around."""
    plain, centred = (
        line_task(grower="distilled", depth=None, holders=500, epsilon=4.0, centred=wanted)
        for wanted in (False, None)
    )
    depth = distilled_depth(500, 4.0)
    assert distilled_depth(500, 4.0, centred=True) == depth + 2
    assert (plain.tree_of(0).cells, centred.tree_of(0).cells) == (2**depth, 2 ** (depth + 2))


@pytest.mark.parametrize(
    "more",
    [
        {"grower": "max_edge"},
        {"grower": "cart"},
        {"grower": "distilled", "centred": False},
        {"grower": "distilled", "questions": [{"centred": False}]},
        {"grower": "distilled", "questions": [{"asks": "cell"}]},
        {"grower": "distilled", "rows": 9, "depth": 1},
        {"grower": "distilled", "questions": [{"depth": 2}, {"depth": 1}]},
    ],
    ids=["max_edge", "cart", "no", "not this question", "cell alone", "few rows", "levels"],
)
def test_numbers_are_reported_on_the_whole_range_where_no_centres_are_wanted(
    more: dict[str, Any],
) -> None:
    """The papers' growers, who declines, fewer than ten public records, and several levels."""
    task = line_task(**more)
    assert all(question.centring is None for question in task.questions)


def test_any_grower_can_be_centred() -> None:
    """The public model has a mean in every cell, whoever grew it; each question may decline."""
    questions = [{}, {"centred": False}, {"asks": "cell"}]
    task = line_task(grower="max_edge", centred=True, questions=questions)
    assert [question.centring is not None for question in task.questions] == [True, False, False]


def test_centres_that_nothing_can_be_said_of_are_refused() -> None:
    """Classes, the cell alone, and too few public records for an explicit wish."""
    with pytest.raises(InvalidTask, match="centred is for questions about a numeric label"):
        build_task(
            TaskSettings(name="s", label="label", epsilon=1.0, depth=1, centred=True),
            read_table(samples.survey()),
        )
    with pytest.raises(InvalidTask, match="centred is for questions about a numeric label"):
        line_task(grower="max_edge", questions=[{"asks": "cell", "centred": True}, {}])
    with pytest.raises(InvalidPublicData, match="at least 10 public records, and there are 9"):
        line_task(rows=9, depth=1, grower="max_edge", centred=True)
