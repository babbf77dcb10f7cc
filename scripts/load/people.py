"""Where simulated holders' records come from: a table's rows, or records all over the domain.

A source draws encoded records, label included, some hundred at a time. It must be picklable,
since worker processes call it.
"""

import csv
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from privet.protocol.features import Categorical, Classes, Numeric, Range, encode_table, label_value
from privet.protocol.task import Task

Floats = NDArray[np.float64]
Source = Callable[[Task, np.random.Generator, int], tuple[Floats, Floats]]
"""(task, generator, n) -> X of shape (n, columns), encoded, and y of shape (n,)."""


def rows_of(path: Path, task: Task, rng: np.random.Generator, count: int) -> tuple[Floats, Floats]:
    """Rows of a CSV file, drawn with replacement; raises ``InvalidRecord`` for a row at fault."""
    X, y = _encoded(path, task.canonical)
    rows = rng.integers(len(y), size=count)
    return X[rows], y[rows]


def uniform(task: Task, rng: np.random.Generator, count: int) -> tuple[Floats, Floats]:
    """Records spread evenly over the task's domain."""
    X = np.hstack([_column(feature, rng, count) for feature in task.features])
    return X, _labels(task.label, rng, count)


@cache
def _encoded(path: Path, canonical: bytes) -> tuple[Floats, Floats]:
    task = Task.parse(canonical)
    with path.open(newline="", encoding="utf-8") as file:
        reader = csv.DictReader(file)
        rows = list(reader)
        columns = {name: [row[name] for row in rows] for name in reader.fieldnames or ()}
    labels: Sequence[str] = columns.pop(task.label.name, [])
    y = np.array([label_value(task.label, label) for label in labels])
    return encode_table(task.features, columns), y


def _column(feature: Numeric | Categorical, rng: np.random.Generator, count: int) -> Floats:
    if isinstance(feature, Categorical):
        size = len(feature.categories)
        return np.eye(size)[rng.integers(size, size=count)]
    return rng.random((count, 1))


def _labels(label: Classes | Range, rng: np.random.Generator, count: int) -> Floats:
    if isinstance(label, Classes):
        return rng.integers(len(label.classes), size=count).astype(np.float64)
    return rng.uniform(label.low, label.high, count)
