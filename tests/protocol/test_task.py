import contextlib
import hashlib
import json
import math
from typing import Any

import msgpack
import pytest
from hypothesis import given
from hypothesis import strategies as st

from privet.protocol import wire
from privet.protocol.errors import InvalidTask, TaskMismatch
from privet.protocol.features import Categorical, Numeric
from privet.protocol.partition import Tree
from privet.protocol.task import Question, Task
from tests.keeping import keeps
from tests.protocol.examples import (
    CLASSES,
    FEATURES,
    RANGE,
    SPLITS,
    make_task,
    question,
    task_fields,
)
from tests.strategies import tasks


@given(tasks())
def test_a_task_survives_the_wire(task: Task) -> None:
    """Parsing the canonical bytes gives an equal task with the same bytes, id and trees."""
    again = Task.parse(task.canonical, task.id)
    assert again == task
    assert again.canonical == task.canonical
    assert again.id == hashlib.sha256(task.canonical).hexdigest()
    assert Task.checked(json.loads(json.dumps(task.model_dump(mode="json")))) == task


def test_the_fullest_task_survives_the_wire() -> None:
    """A map that holders read may have every field that a task can."""
    optional = {
        "description": "about it",
        "parts": (2,),
        "opens": 1,
        "closes": 2,
        "invited": True,
        "smallest_batch": 5,
        "edition": 2,
        "asker": {"name": "A", "contact": "a@b.org", "purpose": "p", "link": "https://b.org"},
        "language": "en",
        "translations": ({"language": "de", "texts": (("about it", "davon"),)},),
    }
    task = make_task(allocation="one", **optional)
    assert len(msgpack.unpackb(task.canonical)) == 17
    assert Task.parse(task.canonical, task.id) == task
    assert len(Task.model_fields) <= wire.MAX_FIELDS


def test_the_id_covers_every_field() -> None:
    """Two tasks that differ anywhere have different ids."""
    changes: list[dict[str, Any]] = [
        {},
        {"name": "other"},
        {"description": "x"},
        {"label": RANGE},
        {"features": (*FEATURES[:1], FEATURES[1].model_copy(update={"missing": None}))},
        {"partitions": (Tree.of(SPLITS), Tree.of(SPLITS))},
        {"questions": (Question(partition=0, mechanism="subset", epsilon=1.5),)},
        {"allocation": "one"},
        {"allocation": "one", "parts": (1,)},
        {"allocation": "one", "parts": (2,)},
        {"opens": 1},
        {"closes": 1},
    ]
    assert len({make_task(**change).id for change in changes}) == len(changes)


def test_a_copy_has_an_id_of_its_own() -> None:
    """Changing a copy recomputes what is derived from its fields, and checks it."""
    task = make_task()
    assert task.model_copy().id == task.id
    assert task.model_copy(update={"name": "other"}).id == make_task(name="other").id
    with pytest.raises(InvalidTask):
        task.model_copy(update={"name": ""})


def test_epsilon_adds_up_over_questions_or_is_the_largest() -> None:
    """`all` spends the sum and `one` the largest; the true log ratio never exceeds it."""
    questions = tuple(Question(partition=0, mechanism="subset", epsilon=e) for e in (0.1, 0.2, 0.7))
    both = make_task(questions=questions)
    one = make_task(questions=questions, allocation="one")
    assert (both.epsilon, one.epsilon) == (1.0, 0.7)
    for task in (both, one):
        assert 0 < task.log_ratio <= task.epsilon
    assert both.log_ratio == math.fsum(m.log_ratio() for m in both.mechanisms)


def tree_fields(**changes: Any) -> dict[str, Any]:
    return {**Tree.of(SPLITS).model_dump(), **changes}


many_classes = CLASSES.model_copy(update={"classes": tuple(map(str, range(1000)))})
# those of tests/vectors/messages/tasks.json are refused as well
BAD_TASKS: dict[str, dict[str, Any]] = {
    "two features of one name": {"features": (FEATURES[0], FEATURES[0])},
    "a feature named like the label": {"features": (Numeric(name="answer", low=0, high=1),)},
    "too many columns": {
        "features": tuple(
            Categorical(name=n, categories=tuple(map(str, range(10_001)))) for n in "ab"
        )
    },
    "an infinite range": {
        "features": [{"kind": "numeric", "name": "a", "low": -1e308, "high": 1e308}]
    },
    "NaN as replacement": {
        "features": [{"kind": "numeric", "name": "a", "low": 0.0, "high": 1.0, "missing": math.nan}]
    },
    "repeated categories": {
        "features": [{"kind": "categorical", "name": "a", "categories": ["x", "x"]}]
    },
    "padded category": {"features": [{"kind": "categorical", "name": "a", "categories": [" x"]}]},
    "stand-in off the list": {
        "features": [{"kind": "categorical", "name": "a", "categories": ["x"], "missing": "y"}]
    },
    "an empty label range": {"label": {"kind": "range", "name": "y", "low": 1.0, "high": 1.0}},
    "no partitions": {"partitions": ()},
    "a partition over other columns": {"partitions": [tree_fields(columns=5)]},
    "truth among nodes": {"partitions": [tree_fields(left=[True, 3, 5, -1, -1, -1, -1])]},
    "a node beyond all limits": {"partitions": [tree_fields(left=[10**30, 3, 5, -1, -1, -1, -1])]},
    "no questions": {"questions": ()},
    "too many questions": {"questions": [question()] * 65},
    "a negative partition": {"questions": [question(partition=-1)]},
    "too many parameters": {
        "questions": [question(parameters=dict.fromkeys("abcdefghijklmnopq", 1))]
    },
    "a parameter beyond 64 bits": {"questions": [question(parameters={"size": 2**64})]},
    "opens before time": {"opens": -1},
    "too many answers": {"partitions": [Tree.complete(2**11, columns=4)], "label": many_classes},
}


@pytest.mark.parametrize("name", BAD_TASKS)
def test_impossible_tasks_are_refused(name: str) -> None:
    """Every impossible field is an InvalidTask for its own sake, whether built or parsed."""
    changes = BAD_TASKS[name]
    with pytest.raises(InvalidTask, match=r"\w") as caught:
        Task.checked(task_fields(**changes))
    assert ("encoded columns" in caught.value.detail) is (name == "a partition over other columns")
    try:
        packed = wire.pack(as_plain({**make_task().model_dump(), **changes}))
    except OverflowError:
        return
    with pytest.raises(InvalidTask):
        Task.parse(packed)


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"partitions": [tree_fields(left=[0, 3, 5, -1, -1, -1, -1])]}, "one binary tree"),
        ({"questions": [question(mechanism="truth")]}, "Unknown mechanism"),
        ({"questions": [question(mechanism="truth", partition=1)]}, "names no partition"),
        (
            {
                "partitions": [tree_fields(columns=5)],
                "questions": [question(mechanism="truth", partition=1)],
            },
            "encoded columns",
        ),
    ],
)
def test_a_task_is_checked_when_it_is_built(changes: dict[str, Any], fault: str) -> None:
    """Trees, then questions, then mechanisms, by every way to build one and not at first use."""
    fields = task_fields(**changes)
    for build in (Task.checked, Task.model_validate, lambda fields: Task(**fields)):
        with pytest.raises(InvalidTask, match=fault):
            build(fields)


def as_plain(value: Any) -> Any:
    """Models as maps, so that bad fields can be packed."""
    if hasattr(value, "model_dump"):
        return value.model_dump()
    if isinstance(value, dict):
        return {key: as_plain(item) for key, item in value.items()}
    return [as_plain(item) for item in value] if isinstance(value, list | tuple) else value


def test_a_report_that_would_be_huge_is_refused_with_its_size() -> None:
    """Sixty-four questions over many cells would make a report above the limit."""
    questions = [question(epsilon=0.1, mechanism="laplace")] * 64
    with pytest.raises(InvalidTask, match="report would have"):
        Task.checked(task_fields(partitions=[Tree.complete(2**16, columns=4)], questions=questions))


@keeps(
    "threat-model: the task's bytes hash to the id asked for",
    in_="protocol/task.py",
    instead_of="expected_id is not None and hashlib.sha256(data).hexdigest() != expected_id",
    plant="False",
)
def test_other_bytes_than_asked_for_are_a_mismatch() -> None:
    """Bytes that do not hash to the id are refused before they are read."""
    task = make_task()
    with pytest.raises(TaskMismatch, match="do not answer it"):
        Task.parse(task.canonical, make_task(name="other").id)
    with pytest.raises(TaskMismatch):
        Task.parse(b"not even a task", task.id)


@pytest.mark.parametrize("change", ["order", "twice"])
def test_only_canonical_bytes_are_a_task(change: str) -> None:
    """The same fields in another order, or one of them twice, are another byte string."""
    fields = make_task().model_dump()
    twice = b"\x8b" + wire.pack(fields)[1:] + b"\xa7version\x04"
    packed = msgpack.packb(dict(reversed(fields.items()))) if change == "order" else twice
    with pytest.raises(InvalidTask, match=r"canonical|a key twice"):
        Task.parse(packed)


@given(st.data())
def test_flipping_a_byte_never_gives_the_same_task(data: st.DataObject) -> None:
    """A damaged task is refused, or is another task with another id."""
    task = make_task()
    damaged = bytearray(task.canonical)
    at = data.draw(st.integers(0, len(damaged) - 1))
    damaged[at] ^= data.draw(st.integers(1, 255))
    with contextlib.suppress(InvalidTask):
        assert Task.parse(bytes(damaged)).id != task.id
