"""One small task with everything in it, for tests that need a definite one."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from privet.protocol.batch import Batch
from privet.protocol.errors import InvalidRecord
from privet.protocol.features import (
    Categorical,
    Classes,
    Features,
    Matrix,
    Numeric,
    Range,
    encode_record,
)
from privet.protocol.mechanisms.base import RandomBytes
from privet.protocol.partition import LEAF, Partition, Tree
from privet.protocol.report import Report
from privet.protocol.task import Question, Task

FEATURES = (
    Numeric(name="age", low=20.0, high=60.0),
    Categorical(name="work", categories=("farm", "shop", "none"), missing="none", unknown="none"),
)
CLASSES = Classes(name="answer", classes=("no", "yes"))
RANGE = Range(name="income", low=0.0, high=1000.0)
RECORD = {"age": 33.5, "work": "shop", "answer": "yes"}

SPLITS = Partition.build(
    4,
    feature=[0, 1, 0, -1, -1, -1, -1],
    threshold=[0.5, 0.5, 0.75, 0.0, 0.0, 0.0, 0.0],
    left=[1, 3, 5, -1, -1, -1, -1],
    right=[2, 4, 6, -1, -1, -1, -1],
)
"""age < 40 ? (work is farm ?) : (age < 50 ?)"""


def left_leaves(depth: int) -> Partition:
    """A tree of one column in which every left child is a leaf."""
    inner = np.arange(depth)
    nodes = np.full(2 * depth + 1, LEAF)
    feature, left, right = nodes.copy(), nodes.copy(), nodes.copy()
    feature[2 * inner], left[2 * inner], right[2 * inner] = 0, 2 * inner + 1, 2 * inner + 2
    threshold = (np.arange(2 * depth + 1) // 2 + 1) / (depth + 1)
    return Partition.build(1, feature, threshold, left, right)


def encoded(features: Features, record: dict[Any, Any]) -> Matrix:
    """A record's columns, label left out; raises ``InvalidRecord`` if it does not fit."""
    x, _, faults, _ = encode_record(features, CLASSES, {**record, CLASSES.name: "yes"})
    if faults:
        raise InvalidRecord(faults[0])
    return x


def task_fields(**changes: Any) -> dict[str, Any]:
    """The fields of a valid task, some of them replaced."""
    fields = {
        "name": "example",
        "features": FEATURES,
        "label": CLASSES,
        "partitions": (Tree.of(SPLITS),),
        "questions": (Question(partition=0, mechanism="subset", epsilon=1.0),),
    }
    return {**fields, **changes}


def make_task(**changes: Any) -> Task:
    """A valid task, some of its fields replaced."""
    return Task.checked(task_fields(**changes))


def question(**changes: Any) -> dict[str, Any]:
    """The fields of a question, some of them replaced."""
    return {"partition": 0, "mechanism": "subset", "epsilon": 1.0, **changes}


def batch_of(reports: Sequence[Report], *admissions: bytes) -> Batch:
    """The batch that a relay makes of reports that answer the same questions."""
    rows = [b"".join(payload for _, payload in own.answers) for own in reports]
    return Batch(
        questions=tuple(question for question, _ in reports[0].answers),
        ids=np.frombuffer(b"".join(own.id for own in reports), np.uint8).reshape(-1, 16),
        payloads=np.frombuffer(b"".join(rows), np.uint8).reshape(len(reports), -1),
        admissions=admissions,
    )


def counted(source: RandomBytes = bytes) -> tuple[list[int], RandomBytes]:
    """The sizes that are asked of ``source``, by default of zeros, and the source to ask."""
    asked: list[int] = []

    def randomness(size: int) -> bytes:
        asked.append(size)
        return source(size)

    return asked, randomness
