"""Heads of tasks, read without their trees."""

import pytest

from privet.protocol import wire
from privet.protocol.panel import Panel
from privet.protocol.task import Task
from privet.protocol.task_head import TASK_BOUNDS, TaskHead
from tests.protocol.examples import make_task

PANEL = Panel(mode="repeat", waves=((10, 20), (20, 30)))
DOCUMENT = make_task(panel=PANEL, opens=10, closes=30)
PLAIN = make_task(opens=5)
INVITED = make_task(invited=True)


@pytest.mark.parametrize("task", [PLAIN, INVITED, DOCUMENT, *DOCUMENT.waves])
def test_a_head_is_read_as_its_task_states_it(task: Task) -> None:
    assert TaskHead.read(task.id, task.canonical) == task.head


def test_heads_of_a_panel_name_each_other() -> None:
    """By the ids that the documents hash to."""
    ids = tuple(wave.id for wave in DOCUMENT.waves)
    heads = [task.head for task in (DOCUMENT, *DOCUMENT.waves, PLAIN)]
    assert [head.panel for head in heads] == [*[DOCUMENT.id] * 3, None]
    assert [head.wave for head in heads] == [None, 0, 1, None]
    assert [head.waves for head in heads] == [ids, (), (), ()]


@pytest.mark.parametrize("damage", [{"label": "y"}, {"questions": 3}, {"panel": {"waves": []}}])
def test_bytes_of_no_task_have_no_head(damage: dict[str, object]) -> None:
    """Nor has a map that lacks a field."""
    fields = wire.unpack(PLAIN.canonical, TASK_BOUNDS)
    with pytest.raises(ValueError, match=r"lacks what every task|Panel"):
        TaskHead.read(PLAIN.id, wire.pack(fields | damage))
    del fields["name"]
    with pytest.raises(ValueError, match="'name'"):
        TaskHead.read(PLAIN.id, wire.pack(fields))
