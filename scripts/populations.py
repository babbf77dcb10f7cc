"""Where simulated holders come from: what is public, whom reports are drawn from, who is tested.

A source makes one ``World`` per seed. LPCT's design is given by its law, so its worlds weigh a
fine grid of points and need no sample; a table's worlds split its rows at random.
"""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from privet.curator.publishing.schema import infer_label
from privet.curator.publishing.settings import TaskSettings
from privet.curator.publishing.table import Columns, count_rows
from privet.protocol.features import Classes, ColumnValues
from scripts.reproduce.lpct_design import draw, fine_grid

Floats = NDArray[np.float64]
Rows = NDArray[np.int64]

UNIT = {"low": 0.0, "high": 1.0}


@dataclass(frozen=True, eq=False)
class World:
    """Public records, the records holders have, and those that predictions are judged on.

    ``people_weights`` and ``test_weights``, one per record and adding up to 1, say how common a
    record is. ``settings`` is what the task must declare for its label and features.
    """

    public: Columns
    people: Columns
    people_weights: Floats
    test: Columns
    test_weights: Floats
    settings: Mapping[str, Any]


class Source(Hashable, Protocol):
    """Makes worlds; the same seed makes the same world, on any machine."""

    def world(self, seed: int) -> World:
        """The world of one replication."""


@dataclass(frozen=True)
class DesignSource:
    """LPCT's synthetic design: ``rows`` public records, a population given by its law.

    Holders and tests are the 512 x 512 midpoints of a grid, labels weighed by eta: exact for
    partitions that halve edges, at most nine times per axis.
    """

    gamma: float = 0.5
    rows: int = 1_000

    def world(self, seed: int) -> World:
        public = draw(self.rows, self.gamma, np.random.default_rng(seed))
        points, chance = fine_grid()
        labels = np.repeat([0.0, 1.0], len(points))
        people = _named(np.tile(points, (2, 1)), labels)
        weights = np.concatenate([1.0 - chance, chance]) / len(points)
        settings = {"label": "y", "classes": ("0", "1"), "features": {"x1": UNIT, "x2": UNIT}}
        return World(_named(public.X, public.y), people, weights, people, weights, settings)


@dataclass(frozen=True, eq=False)
class TableSource:
    """Records of a table, or of two: ``population`` has the holders if it is given.

    Of one table, ``public_share`` of the rows is public. Of the other rows ``test_share`` is kept
    for judging, and holders have the rest. Holders are drawn with replacement, so there may be
    many more holders than rows.
    """

    columns: Columns
    label: str
    population: Columns | None = None
    public_share: float = 0.1
    test_share: float = 0.2

    def world(self, seed: int) -> World:
        rng = np.random.default_rng(seed)
        public, others = self.columns, self.population
        if others is None:
            order = rng.permutation(count_rows(public))
            first = round(self.public_share * len(order))
            public, others = take(self.columns, order[:first]), take(self.columns, order[first:])
        order = rng.permutation(count_rows(others))
        tested = round(self.test_share * len(order))
        test, people = take(others, order[:tested]), take(others, order[tested:])
        weights = (_equal(people), _equal(test))
        return World(public, people, weights[0], test, weights[1], self._declared())

    def _declared(self) -> dict[str, Any]:
        """All classes, or the label's range."""
        asked = TaskSettings(name="label", label=self.label, epsilon=1.0)
        label = infer_label(self.columns, asked)
        if isinstance(label, Classes):
            return {"label": self.label, "classes": label.classes}
        return {"label": self.label, "label_range": (label.low, label.high)}


def take(columns: Columns, rows: Rows) -> dict[str, ColumnValues]:
    """Some rows of every column."""
    return {
        name: values[rows] if isinstance(values, np.ndarray) else [values[row] for row in rows]
        for name, values in columns.items()
    }


def _named(X: Floats, y: Floats) -> dict[str, Any]:
    return {"x1": X[:, 0], "x2": X[:, 1], "y": y}


def _equal(columns: Columns) -> Floats:
    rows = count_rows(columns)
    if not rows:
        msg = "a share leaves no record: give the table more rows, or choose other shares"
        raise ValueError(msg)
    return np.full(rows, 1.0 / rows)
