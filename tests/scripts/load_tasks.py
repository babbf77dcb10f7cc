"""Small tasks for the tests of the load test's parts."""

from collections.abc import Sequence

from privet.protocol.features import Classes, Numeric, Range
from privet.protocol.partition import Partition, Tree
from privet.protocol.task import Question, Task

SUBSET = Question(partition=0, mechanism="subset", epsilon=1.0)
INDEXED = Question(partition=0, mechanism="subset", epsilon=7.0)
LAPLACE = Question(partition=0, mechanism="laplace", epsilon=1.0)
CELL = Question(partition=0, mechanism="subset", epsilon=2.0, asks="cell")
LABEL = Classes(name="y", classes=("a", "b", "c"))
NUMBER = Range(name="y", low=-2.0, high=5.0)
ROWS = 16


def make_task(
    questions: Sequence[Question], allocation: str = "all", label: Classes | Range = LABEL
) -> Task:
    """A task over two columns, with cells 0 to 16 along the first."""
    return Task.checked(
        {
            "name": "strips",
            "features": [Numeric(name="x", low=0, high=1), Numeric(name="z", low=0, high=1)],
            "label": label,
            "partitions": [Tree.of(_strips(ROWS))],
            "questions": list(questions),
            "allocation": allocation,
        }
    )


def _strips(cells: int) -> Partition:
    """Node 2 i splits off the cell i on its left, at node 2 i + 1."""
    feature, threshold, left, right = [], [], [], []
    for cell in range(cells - 1):
        feature += [0, -1]
        threshold += [(cell + 1) / cells, 0.0]
        left += [2 * cell + 1, -1]
        right += [2 * cell + 2, -1]
    return Partition.build(2, [*feature, -1], [*threshold, 0.0], [*left, -1], [*right, -1])
