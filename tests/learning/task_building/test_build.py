"""Tasks as they are published, from an admin's settings and public columns."""

from typing import Any

import numpy as np
import pytest

from privet.client import Explanation
from privet.learning.public_model.distilled import distilled_depth
from privet.learning.task_building.build import build_task
from privet.learning.task_building.encode import encode_records
from privet.learning.task_building.encoded_table import as_csv, encoded_table
from privet.learning.task_building.label_part import LEAST
from privet.learning.task_building.settings import TaskSettings
from privet.learning.task_building.table import read_table
from privet.protocol.errors import InvalidPublicData, InvalidRecord, InvalidTask
from privet.protocol.mechanisms import MECHANISMS, SubsetSelection, create_mechanism
from privet.protocol.task import Task
from tests.curator import samples


def survey_task(**more: Any) -> Task:
    settings = TaskSettings(**{"name": "survey", "label": "label", "epsilon": 1.0, **more})
    return build_task(settings, read_table(samples.survey()))[0]


def test_cells_are_as_many_as_is_said() -> None:
    """A max-edge tree of depth p has 2^p, however few the public records.

    Without a depth, the default grower makes those that 100 holders can distinguish.
    """
    assert survey_task(depth=5, grower="max_edge").tree_of(0).cells == 2**5
    assert 1 < survey_task(holders=100).tree_of(0).cells <= 2 ** distilled_depth(100, 1.0)


def line_task(rows: int = 300, **more: Any) -> Task:
    settings = TaskSettings(**{"name": "line", "label": "y", "epsilon": 1.0, "depth": 2, **more})
    return build_task(settings, read_table(samples.line(rows)))[0]


def test_a_mechanism_added_at_run_time_can_be_published(monkeypatch: pytest.MonkeyPatch) -> None:
    """One entry in MECHANISMS is all that building and publishing need."""

    class Perfect(SubsetSelection):
        name = "perfect"

    monkeypatch.setitem(MECHANISMS, "perfect", Perfect)
    assert create_mechanism("perfect", 1.0, 4, 2, {"k": 3}).parameters() == {"k": 3}
    assert type(line_task(mechanism="perfect").mechanisms[0]) is Perfect


def test_numbers_are_reported_around_the_public_models_means() -> None:
    """At a large epsilon, the default publishes centres, one per cell, and a radius, and asks a
    part for the number alone."""
    task = line_task(grower="distilled", epsilon=4.5)
    centring = task.questions[0].centring
    assert centring is not None
    assert len(centring.centres) == task.tree_of(0).cells == 4
    assert 0.1 <= centring.radius < 5.0
    assert Task.parse(task.canonical, task.id) == task
    assert line_task(grower="distilled", epsilon=4.5).id == task.id
    assert task.asked_share(1) >= LEAST
    assert line_task(grower="distilled", epsilon=9.0).asked_share(1) == LEAST
    assert line_task(grower="max_edge", centred=True).asked_share(1) >= LEAST


@pytest.mark.parametrize(
    ("holders", "epsilon", "deeper"),
    [(700, 1.0, 1), (20_000, 1.0, -1), (3_000, 3.0, 0), (3_000, 6.0, 2)],
)
def test_numbers_around_centres_get_cells_of_their_own_number(
    holders: int, epsilon: float, deeper: int
) -> None:
    """Without a depth half the cells at a small epsilon, at least four; at a large four times."""
    plain, centred = (
        line_task(grower="distilled", depth=None, holders=holders, epsilon=epsilon, centred=wanted)
        for wanted in (False, True)
    )
    depth = distilled_depth(holders, epsilon)
    assert distilled_depth(holders, epsilon, centred=True) == depth + deeper
    assert (plain.tree_of(0).cells, centred.tree_of(0).cells) == (2**depth, 2 ** (depth + deeper))


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
        {"grower": "distilled", "epsilon": 4.0},
        {"grower": "distilled", "disclosed": ("x",)},
        {"grower": "distilled", "label_part": 0.0},
    ],
    ids=[
        *("max_edge", "cart", "no", "not this question", "cell alone", "few rows", "levels"),
        *("small epsilon", "disclosed", "no part"),
    ],
)
def test_numbers_are_reported_on_the_whole_range_where_no_centres_are_wanted(
    more: dict[str, Any],
) -> None:
    """The papers' growers, who declines, fewer than ten public records, several levels, an epsilon
    up to 4, disclosed columns, of whose groups figures are wanted, and no part that states the
    mean."""
    task = line_task(**{"epsilon": 6.0, **more})
    assert all(question.centring is None for question in task.questions)


def test_any_grower_can_be_centred() -> None:
    """The public model has a mean in every cell, whoever grew it; each question may decline."""
    questions = [{}, {"centred": False}, {"asks": "cell"}]
    task = line_task(grower="max_edge", centred=True, questions=questions)
    assert [question.centring is not None for question in task.questions] == [True, False, False]


def test_centres_that_nothing_can_be_said_of_are_refused() -> None:
    """Classes, the cell alone, and too few public records for an explicit wish."""
    with pytest.raises(InvalidTask, match="centred is for questions about a numeric label"):
        survey_task(depth=1, centred=True)
    with pytest.raises(InvalidTask, match="centred is for questions about a numeric label"):
        line_task(grower="max_edge", questions=[{"asks": "cell", "centred": True}, {}])
    with pytest.raises(InvalidPublicData, match="at least 10 public records, and there are 9"):
        line_task(rows=9, depth=1, grower="max_edge", centred=True)


DESCRIBED = {
    "age": {
        "prompt": "How old are you?",
        "description": "At your last birthday.",
        "unit": "years",
    },
    "job": {"description": "What you do."},
    "label": {"prompt": "Did it help?"},
}


def test_people_read_what_was_described() -> None:
    """Of a number, a text and the label; what is not described has neither field in the bytes."""
    plain, task = (survey_task(depth=1, grower="cart", describe=d) for d in ({}, DESCRIBED))
    assert not any(word in plain.canonical for word in (b"unit", b"prompt"))
    assert plain.canonical.count(b"description") == 1  # the task's own
    disclosed = Explanation.of(Task.parse(task.canonical, task.id))
    assert disclosed.reads[0] == (
        "age: a number in years, taken as 18 to 69. “How old are you?” At your last birthday."
    )
    assert disclosed.reads[2].endswith("What you do.")
    assert disclosed.label.endswith("“Did it help?”")


@pytest.mark.parametrize(
    ("describe", "said"),
    [
        ({"job": {"unit": "years"}}, "unit"),
        ({"age": {"unit": ""}}, "at least 1"),
        ({"age": {"description": "one\ntwo"}}, "control character"),
        ({"label": {"prompt": "?" * 1_001}}, "at most 1000"),
        ({"nobody": {"description": "x"}}, "no column 'nobody'"),
    ],
)
def test_what_no_task_takes_is_refused(describe: dict[str, dict[str, str]], said: str) -> None:
    """A unit of a text, an empty or multi-line description, and an unknown column are refused."""
    with pytest.raises(InvalidPublicData, match=said):
        survey_task(depth=1, grower="cart", describe=describe)


def test_records_are_encoded_as_the_public_table_is() -> None:
    """A column per number and per category; an unknown field is refused with its row."""
    settings = TaskSettings(name="t", label="label", epsilon=1.0, grower="cart", depth=1)
    columns = read_table(samples.survey(30))
    task, public = build_task(settings, columns)
    table = encoded_table(columns, settings)
    jobs = ["job=farmer", "job=nurse", "job=smith"]
    assert table.column_names == ["age", "hours", *jobs, "member=False", "member=True", "label"]
    *encoded, labels = (column.to_numpy() for column in table.columns)
    np.testing.assert_array_equal(np.stack(encoded, axis=1), public.X)
    np.testing.assert_array_equal(labels, public.y)
    assert read_table(as_csv(table)).keys() == set(table.column_names)
    records = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    np.testing.assert_array_equal(encode_records(task, records), public.X)
    with pytest.raises(InvalidRecord, match="Row 2: Unknown fields 'shoe'"):
        encode_records(task, [records[0], {**records[1], "shoe": 1}])
