"""No task costs its holder more than the published limits allow, and none is built before them."""

import tracemalloc
from collections.abc import Callable
from typing import Any

import pytest

from privet.protocol import wire
from privet.protocol.errors import InvalidTask
from privet.protocol.limits import (
    MAX_CELLS,
    MAX_NODES,
    MAX_TASK_BYTES,
    MAX_TASK_ITEMS,
)
from privet.protocol.mechanisms.limits import MIN_EPSILON
from privet.protocol.partition import Tree
from privet.protocol.task import Task
from tests.keeping import keeps
from tests.protocol.examples import RANGE, make_task, question, task_fields

MOST_MIB = 64

FLOAT, CHARACTER = b"\xcb\x3f\xe1\x3f\xe1\x3f\xe1\x3f\xe1", b"\xa4\xf0\x9f\x98\x80"
MAP = b"\x8d" + b"".join(b"\xa1%c\xa0" % key for key in b"abcdefghijklm")
BOMBS = {
    "number": b"\x01",
    "float": FLOAT,
    "text": b"\xa2ab",
    "character": CHARACTER,
    "map": MAP,
    "empty lists": b"\x90",
    "empty maps": b"\x80",
}


def array_of(length: int) -> bytes:
    """The head of a list."""
    return b"\xdd" + length.to_bytes(4, "big")


def refused(act: Callable[[], object], says: str) -> float:
    """MiB that were used until ``act`` was refused with a message that says ``says``."""
    tracemalloc.start()
    try:
        with pytest.raises(InvalidTask, match=says):
            act()
        return tracemalloc.get_traced_memory()[1] / 2**20
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("label", ["classes", "range"])
def test_a_small_task_cannot_ask_for_a_large_table(label: str) -> None:
    """Some 350 bytes once took 2.5 GB and a minute to explain; now their numbers are refused."""
    name = "laplace" if label == "classes" else "randomized_response"
    hostile = question(mechanism=name, epsilon=MIN_EPSILON, parameters={"resolution": 4096})
    fields = {**make_task().model_dump(), "questions": [hostile]}
    if label == "range":
        fields["label"] = RANGE.model_dump()
    data = wire.pack(fields)
    assert len(data) < 1_000
    assert refused(lambda: Task.parse(data), "smaller one or a larger epsilon") < 1


@keeps(
    "threat-model: the largest table of a task is bounded",
    in_="protocol/task.py",
    instead_of="if self.table_entries > MAX_TABLE_ENTRIES:",
    plant="if False:",
)
def test_many_small_tables_are_refused_together() -> None:
    """The limit is on all tables of a task; questions with equal noise share one."""
    questions = [question(mechanism="laplace", epsilon=0.01 + i / 1e6) for i in range(64)]
    assert refused(lambda: Task.checked(task_fields(questions=questions)), "the same epsilon") < 1
    alike = Task.checked(task_fields(questions=[questions[0]] * 64))
    assert len({id(mechanism.lattice) for mechanism in alike.mechanisms}) == 1
    lattice = alike.mechanisms[0].lattice
    assert lattice is not None
    assert alike.table_entries == lattice.entries == len(lattice.weights)


@keeps(
    "threat-model: the randomness of a task is bounded",
    in_="protocol/task.py",
    instead_of="if self.random_bytes > MAX_RANDOM_BYTES:",
    plant="if False:",
)
def test_questions_share_the_limit_on_randomness() -> None:
    """Sixteen questions of subset over 2^17 categories would take a holder seconds."""
    questions = [question(mechanism="subset", epsilon=0.1, parameters={"k": 2**16})] * 17
    fields = task_fields(partitions=[Tree.complete(2**16, columns=4)], questions=questions)
    refused(lambda: Task.checked(fields), "random bytes")
    one = Task.checked({**fields, "allocation": "one"})
    assert one.random_bytes == 8 * (2**16 + 1)


@keeps(
    "threat-model: a task's nodes are bounded",
    in_="protocol/task.py",
    instead_of="if nodes > MAX_NODES:",
    plant="if False:",
)
def test_partitions_and_centres_share_their_limits() -> None:
    """One partition or centring may have the most cells; a second one may not."""
    tree = Tree.complete(MAX_CELLS, columns=4)
    refused(
        lambda: Task.checked(task_fields(partitions=[tree, Tree.complete(2, columns=4)])),
        str(MAX_NODES),
    )
    centring = {"centres": [0.5] * 40_000, "radius": 0.1}
    questions = [question(epsilon=0.1, mechanism="grr", centring=centring)] * 2
    label = {"kind": "range", "name": "label", "low": 0.0, "high": 1.0}
    fields = task_fields(
        partitions=[Tree.complete(40_000, columns=4)], questions=questions, label=label
    )
    refused(lambda: Task.checked(fields), "80000 centres")


@pytest.mark.quick("number", "float", "map", "empty lists", "empty maps")
@pytest.mark.parametrize("item", BOMBS.values(), ids=BOMBS)
def test_bytes_that_are_no_task_are_refused_in_little_memory(item: bytes) -> None:
    """Lists as long and as many as fit, of whatever takes the most memory per byte."""
    longest = MAX_NODES if item != MAP else 3_000
    length = array_of(longest)
    lists = (MAX_TASK_BYTES - 100) // (longest * len(item) + 5)
    data = b"\x81\xa8features\xdc" + lists.to_bytes(2, "big") + lists * (length + longest * item)
    assert len(data) <= MAX_TASK_BYTES
    assert refused(lambda: Task.parse(data), "more than|required|too many") < MOST_MIB


def test_lists_that_claim_items_take_no_memory_for_them() -> None:
    """A thousand lists in each other, each of which claims the most items."""
    data = b"\x81\xa8features" + array_of(MAX_NODES) * 1000
    assert refused(lambda: Task.parse(data), r"\w") < 2 * MOST_MIB


def test_items_are_counted_over_all_lists() -> None:
    """Each list is short enough, and all together are not."""
    fields: dict[str, Any] = make_task().model_dump()
    fields["features"] = [[1] * MAX_NODES] * 7
    refused(lambda: Task.parse(wire.pack(fields)), f"more than {MAX_TASK_ITEMS} items")
