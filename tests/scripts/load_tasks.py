"""A small task for the tests of the load test's parts."""

from privet.protocol.features import Classes, Numeric
from privet.protocol.partition import Partition, Tree
from privet.protocol.task import Question, Task


def _strips(cells: int) -> Partition:
    """Node 2 i splits off the cell i on its left, at node 2 i + 1."""
    feature, threshold, left, right = [], [], [], []
    for cell in range(cells - 1):
        feature += [0, -1]
        threshold += [(cell + 1) / cells, 0.0]
        left += [2 * cell + 1, -1]
        right += [2 * cell + 2, -1]
    return Partition.build(2, [*feature, -1], [*threshold, 0.0], [*left, -1], [*right, -1])


TASK = Task.checked(
    {
        "name": "strips",
        "features": [Numeric(name="x", low=0, high=1), Numeric(name="z", low=0, high=1)],
        "label": Classes(name="y", classes=("a", "b")),
        "partitions": [Tree.of(_strips(16))],
        "questions": [Question(partition=0, mechanism="subset", epsilon=1.0)],
    }
)
"""Cells 0 to 16 along the first of two columns."""
