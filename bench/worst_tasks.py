"""The cost of the most expensive tasks on a holder's device, from their bytes to a report.

Each is close to a limit of ``privet.protocol.limits``; a search over mechanisms, parameters and
sizes found none that costs more. Their number of bytes says little: some have 350.
"""

import os
import tracemalloc
from collections.abc import Iterator
from time import process_time
from typing import Any

from bench.figures import Effort, Figure
from privet.client.departure import longest_seconds
from privet.client.explanation import Explanation
from privet.protocol.limits import MAX_CELLS, MAX_COLUMNS
from privet.protocol.partition import Tree
from privet.protocol.report import make_report
from privet.protocol.task import Task

Fields = dict[str, Any]

ROUNDS = 3

NUMBER: Fields = {"kind": "range", "name": "label", "low": 0.0, "high": 1.0}
MOST_CLASSES: Fields = {"kind": "classes", "name": "label", "classes": [str(i) for i in range(32)]}


def worst_tasks() -> dict[str, Fields]:
    """The fields of each task by what it exhausts; every one of them is accepted."""
    cells, columns = 2**15 - 1, _columns(MAX_COLUMNS)
    shared = _question("laplace", 0.001)
    return {
        "largest_table": _task([_question("laplace", 0.001)], 2, NUMBER),
        "many_tables": _task([_question("laplace", 0.063 + i * 1e-6) for i in range(64)], 2),
        "one_table_shared": _task([shared] * 64, 2, NUMBER),
        "largest_subset": _task([_question("subset", 1.0, k=32 * cells)], cells, MOST_CLASSES),
        "many_subsets": _task([_question("subset", 1.0, k=2**16 - 1)] * 16, 2**11, MOST_CLASSES),
        "most_random_bits": _task([_question("randomized_response", 4.0)], cells, MOST_CLASSES),
        "most_random_numbers": _task([_question("laplace", 4.0)], cells - 8, MOST_CLASSES),
        "many_spaces": _task(
            [_question("projective", 8 + i / 64) for i in range(64)], cells, MOST_CLASSES
        ),
        "most_cells": _task([_question("randomized_response", 4.0)] * 15, MAX_CELLS, NUMBER),
        "most_columns": _task([_question("grr", 1.0)], 2, NUMBER, columns),
        "all_at_once": _task(
            [_question("randomized_response", 0.001), _question("laplace", 0.5)],
            42_000,
            NUMBER,
            columns,
        ),
    }


def answer(data: bytes) -> Task:
    """All that a holder does with a task: read, recompute epsilon, explain, answer."""
    task = Task.parse(data)
    Explanation.of(task)
    make_report(task, {"label": 0}, os.urandom).pack()
    return task


def processor_time(data: bytes) -> float:
    """Seconds of one core that ``answer`` takes."""
    begun = process_time()
    answer(data)
    return process_time() - begun


def drawing_over_wait(data: bytes) -> float:
    """The time of a report from its record, over the least that holders wait before they send it.

    Tables are there already: no record decides what they cost.
    """
    task = Task.parse(data)
    make_report(task, {"label": 0}, os.urandom)
    begun = process_time()
    make_report(task, {"label": 0}, os.urandom)
    return (process_time() - begun) / longest_seconds(task)


def peak_mib(data: bytes) -> float:
    """The most memory that ``answer`` holds at once."""
    tracemalloc.start()
    try:
        answer(data)
        return tracemalloc.get_traced_memory()[1] / 2**20
    finally:
        tracemalloc.stop()


def holding(effort: Effort) -> Iterator[Figure]:
    """Processor time and peak memory of each task; the tiny size takes one of them."""
    tasks = worst_tasks()
    for name in list(tasks)[: 1 if effort is Effort.QUICK else None]:
        data = Task.checked(tasks[name]).canonical
        elapsed = min(processor_time(data) for _ in range(ROUNDS))
        yield Figure("worst_tasks", name, "task", len(data), "B")
        yield Figure("worst_tasks", name, "time", elapsed, "s")
        yield Figure("worst_tasks", name, "memory", peak_mib(data), "MiB")
        yield Figure("worst_tasks", name, "drawing_over_wait", drawing_over_wait(data), "x")


def _task(
    questions: list[Fields],
    cells: int,
    label: Fields = MOST_CLASSES,
    features: list[Fields] | None = None,
) -> Fields:
    features = features or _columns(1)
    columns = sum(len(feature["categories"]) for feature in features)
    return {
        "name": "worst",
        "features": features,
        "label": label,
        "partitions": [Tree.complete(cells, columns)],
        "questions": questions,
    }


def _question(mechanism: str, epsilon: float, **parameters: int) -> Fields:
    return {"partition": 0, "mechanism": mechanism, "epsilon": epsilon, "parameters": parameters}


def _columns(count: int) -> list[Fields]:
    """Features of one category each, which take the most memory per column."""
    names = [f"\N{GRINNING FACE}{number}" for number in range(count)]
    return [
        {
            "kind": "categorical",
            "name": f"f{name}",
            "categories": [name],
            "missing": f"{name}",
            "unknown": f"{name}",
        }
        for name in names
    ]
