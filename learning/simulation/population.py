"""The counts of a whole population, simulated exactly in distribution.

Used in experiments, in the scikit-learn estimators, and in planning, where public records stand in
for private ones. Every holder of a record behaves as ``make_report`` of the protocol does: a
numeric label is rounded at random for each question, and under allocation ``one`` the question is
drawn at random.
"""

import numpy as np
from numpy.typing import NDArray

from privet.protocol.errors import InvalidRecord
from privet.protocol.features import Label, Range, encode_record, encode_table
from privet.protocol.label_scale import LabelScale
from privet.protocol.mechanisms.base import Mechanism, Sums
from privet.protocol.partition import Partition
from privet.protocol.task import Task

from ..core.counts import QuestionCounts
from ..core.public_data import Floats
from ..core.trees import locate
from ..task_building.build import encode_labels
from ..task_building.columns import Columns, is_arrow
from .sums import simulate_sums

Integers = NDArray[np.int64]


def simulate(
    task: Task,
    population: Columns,
    *,
    copies: Integers | None = None,
    seed: int = 0,
) -> list[QuestionCounts]:
    """Collect from a whole population at once; one entry per question, as estimators take them.

    ``population`` holds the records by column, label included (a pandas, polars or Arrow table will
    do). ``copies``, shape ``(rows,)``, says how many holders have each record; one by default.
    Holders whose record does not fit the task report that.
    """
    X, y, fits = _encoded(task, population)
    copies = np.ones(len(X), dtype=np.int64) if copies is None else copies
    misfits = int(copies[~fits].sum())
    rng = np.random.default_rng(seed)
    return simulate_counts(task, X, y, rng, copies=copies * fits, misfits=misfits)


def simulate_counts(
    task: Task,
    X: Floats,
    y: Floats,
    rng: np.random.Generator,
    *,
    copies: Integers | None = None,
    misfits: int = 0,
) -> list[QuestionCounts]:
    """The counts of each question after all holders have reported.

    ``X`` has shape ``(rows, columns)``, encoded; ``y`` has shape ``(rows,)`` and holds class
    indices or label values. ``copies``, shape ``(rows,)``, says how many holders have each record;
    one by default. ``misfits`` more have a record that does not fit. The cost does not depend on
    the number of holders where that of ``simulate_sums`` does not.
    """
    copies = np.ones(len(X), dtype=np.int64) if copies is None else copies
    counts, holders, questions = [], np.append(copies, misfits), len(task.questions)
    allocated = [holders] * questions
    if task.allocation == "one":
        shares = [task.asked_share(question) for question in range(questions)]
        allocated = list(rng.multinomial(holders, shares).T)
    for question, answering in enumerate(allocated):
        sums = simulate_question(
            task.tree_of(question),
            task.mechanisms[question],
            label=task.label,
            X=X,
            y=y,
            copies=answering[:-1],
            rng=rng,
            scale=task.label_scales[question],
            misfits=int(answering[-1]),
        )
        counts.append(QuestionCounts.of(task, question, sums, int(answering.sum())))
    return counts


def simulate_question(
    partition: Partition,
    mechanism: Mechanism,
    *,
    label: Label,
    X: Floats,
    y: Floats,
    copies: Integers,
    rng: np.random.Generator,
    scale: LabelScale | None = None,
    misfits: int = 0,
) -> Sums:
    """The sums of all holders' answers to one question; arguments as in ``simulate_counts``.

    A number is reported on ``scale``, by default on the label's range.
    """
    cells, top = locate(partition, X).astype(np.int64), mechanism.levels - 1
    counts = np.zeros((mechanism.cells, mechanism.levels), dtype=np.int64)
    level = np.zeros(len(y)) if mechanism.slots == 1 else y
    if isinstance(label, Range) and mechanism.slots > 1:
        scale = LabelScale.of(label, partition.cells) if scale is None else scale
        level, top = top * scale.to_unit(cells, y), top - 1
    below = np.minimum(level.astype(np.int64), top)
    above = rng.binomial(copies, level - below)  # a number's level is rounded at random
    np.add.at(counts, (cells, below), copies - above)
    np.add.at(counts, (cells, np.minimum(below + 1, mechanism.levels - 1)), above)
    return simulate_sums(mechanism, counts, rng, misfits)


def _encoded(task: Task, population: Columns) -> tuple[Floats, Floats, NDArray[np.bool_]]:
    """Columns, labels, and which records fit; those of the others are placeholders."""
    if is_arrow(population):
        from ..task_building.table import read_arrow

        population = read_arrow(population)
    fields = (*task.features, task.label)
    columns = {field.name: field.read_cells(population[field.name]) for field in fields}
    try:
        y = encode_labels(task.label, columns[task.label.name])
        X = np.empty((len(y), 0))
        if task.features:
            X = encode_table(task.features, {f.name: columns[f.name] for f in task.features})
        return X, y, np.ones(len(y), dtype=np.bool_)
    except InvalidRecord:
        rows = zip(*columns.values(), strict=True)
        records = [
            encode_record(task.features, task.label, dict(zip(columns, row, strict=True)))
            for row in rows
        ]
    X, y = np.array([record.x for record in records]), np.array([record.y for record in records])
    return X, y, np.array([not record.faults for record in records])
