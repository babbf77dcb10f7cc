"""The precision of overall figures before there is a tree: a plan's, while settings are typed.

It depends on the number of cells and hardly on where they are, so a tree that cuts one made-up
column into as many stands in for the one to be grown.
"""

from typing import Any

import numpy as np

from privet.protocol.features import Label, Numeric
from privet.protocol.partition import Partition, Tree
from privet.protocol.task import Task

from ..core.public_data import Floats, PublicData, class_count
from ..lpct.grid import grid_partition
from ..methods import GROWERS
from ..task_building.build import settings_by_question
from ..task_building.label_part import chosen_part
from ..task_building.settings import TaskSettings
from .detection import Collection
from .populations import Population


def collection_at_once(
    settings: TaskSettings, label: Label, features: int, shares: Floats | None = None
) -> Collection:
    """A collection whose overall figures are as precise as those of a task with these settings and
    so many ``features``.

    A file has ``shares`` of the classes; they are equal if nothing tells them. Cells of numbers
    count as they do on the label's whole range, and everybody is asked for the same first question.
    Of ``features`` that are disclosed in part the plan may be more precise, since strata have fewer
    cells; where all are, it is that of the label alone.
    Raises ``InvalidTask`` where there can be no such task.
    """
    ((of, centred), *_) = settings_by_question(settings, label)
    cells = 1
    if len(settings.disclosed) < features:  # else a report hides in its one cell
        depth = of.depth
        if depth is None:
            columns, slots = {"columns": features, "public_rows": 0}, label.slots
            depth = GROWERS[of.grower].default_depth(of.holders, of.epsilon, **columns, slots=slots)
        cells = 2**depth
    classes, middle = class_count(label), sum(label.bounds) / 2.0
    y = np.arange(classes) if classes else np.array([middle])
    part = chosen_part(settings, cells, label.slots, centred=centred)
    task = _standing_in(of, label, cells, part, centred=centred)
    if shares is None:
        shares = np.full(classes, 1.0 / classes) if classes else np.array([middle])
    return Collection(
        task,
        settings.holders,
        settings.looks,
        PublicData(np.zeros((len(y), 1)), y.astype(np.float64)),
        len(y),
        Population.fair((np.arange(cells)[:, None] + 0.5) / cells, np.tile(shares, (cells, 1))),
    )


def _standing_in(of: TaskSettings, label: Label, cells: int, part: float, *, centred: bool) -> Task:
    """A task whose tree has so many cells, a power of two, of which a ``part`` of the holders is
    not asked."""
    asked: dict[str, Any] = {"mechanism": of.mechanism, "parameters": of.parameters}
    questions: list[dict[str, Any]] = [{"partition": 0, "epsilon": of.epsilon, **asked}]
    if centred and part:  # which alone states figures
        questions[0]["centring"] = {
            "centres": (sum(label.bounds) / 2.0,) * cells,
            "radius": label.span / 2.0,
        }
    trees, fields = [grid_partition(1, cells)], dict[str, Any](allocation="all")
    if part and cells > 1:
        trees.append(Partition.root(1))
        questions.append({"partition": 1, "epsilon": of.epsilon, "mechanism": "subset"})
        parts = 1000 - round(1000 * part), round(1000 * part)
        fields |= {"allocation": "one", "parts": parts}
    return Task.checked(
        {
            "name": "at once",
            "features": (Numeric(name="place", low=0.0, high=1.0),),
            "label": label,
            "partitions": tuple(map(Tree.of, trees)),
            "questions": questions,
            **fields,
        }
    )
