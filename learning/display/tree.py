"""Tree displays in scikit-learn's manner: made by ``from_...``, drawn by ``plot``."""

import json
from html import escape
from typing import Any, Self

from pydantic import TypeAdapter

from privet.protocol.errors import InvalidRequest
from privet.protocol.features import Categorical, Numeric, columns_of
from privet.protocol.task import Task

from ..estimators import Model
from .picture import Layout, Node, lay_out, to_svg

ROW_INCHES = 0.24

_FEATURES: TypeAdapter[list[Numeric | Categorical]] = TypeAdapter(list[Numeric | Categorical])


class TreeDisplay:
    """A tree with its cells' values, or without a model its splits and masses only.

    It shows itself in a notebook as an SVG picture; ``plot`` draws it with matplotlib and then sets
    ``ax_`` and ``figure_``.
    """

    def __init__(self, layout: Layout, title: str = "Decision tree") -> None:
        self.layout = layout
        self.title = title

    @classmethod
    def from_estimator(cls, estimator: Any) -> Self:
        """The tree of a fitted ``PrivateTreeClassifier`` or ``PrivateTreeRegressor``."""
        return cls(estimator.layout(), type(estimator).__name__)

    @classmethod
    def from_task(cls, task: Task, question: int = 0) -> Self:
        """The published partition of a task's question, each cell of the same mass."""
        return cls(lay_out(task.tree_of(question), columns_of(task.features)), task.name)

    @classmethod
    def from_export(cls, document: bytes | str) -> Self:
        """The tree of a model that ``privet export`` or ``CuratorClient.export`` wrote as JSON.

        Raises ``InvalidRequest`` for anything else.
        """
        try:
            exported = json.loads(document)
            features = _FEATURES.validate_python(exported["features"])
            described, number = exported["model"], exported["number"]
        except (ValueError, KeyError, TypeError) as error:
            raise InvalidRequest(
                f"This is no model as JSON ({error}): export it with format='json'."
            ) from None
        model = Model.from_document(described)
        title = f"Model {number} of {model.label.name}"
        return cls(lay_out(model.partition, columns_of(features), model=model), title)

    def _repr_html_(self) -> str:
        """The picture, with a list of its nodes for screen readers."""
        svg = to_svg(self.layout, name=f"tree-{id(self)}", title=self.title)
        described = map(self.layout.describe, self.layout.rows)
        texts = "".join(f"<li>{escape(text)}</li>" for text in described)
        note = f"<p>{escape(self.layout.note)}</p>" if self.layout.note else ""
        return (
            f'<div style="overflow-x:auto">{svg}</div>{note}'
            f"<details><summary>The tree as text</summary><ul>{texts}</ul></details>"
        )

    def plot(self, ax: Any = None) -> Self:
        """Draw it into matplotlib's ``ax``, or into a figure of its own.

        Each node has a row, with its part of the mass in percent; cells have a point with its 95 %
        interval, a ring at the value without reports and a band over the range of predictions if
        these are known. Raises ``ImportError`` without matplotlib.
        """
        rows = self.layout.rows
        if ax is None:
            height = 0.8 + ROW_INCHES * len(rows)
            _, ax = pyplot().subplots(figsize=(8.0, height), layout="constrained")
        for node in rows:
            _draw(ax, node)
        ax.set_title("\n".join(filter(None, (self.title, self.layout.note))))
        names = {node.value.name for node in rows if node.value is not None}
        ax.set_xlabel(_quantity(names))
        ax.set_ylim(len(rows) - 0.5, -0.5)
        ax.set_yticks(range(len(rows)), [_words(node, named=len(names) > 1) for node in rows])
        _align_left(ax)
        self.ax_, self.figure_ = ax, ax.figure
        return self


def pyplot() -> Any:
    """``matplotlib.pyplot``; raises ``ImportError`` that says what to install."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError("plot() needs matplotlib: pip install matplotlib") from error
    return plt


def _draw(ax: Any, node: Node) -> None:
    value = node.value
    if value is None:
        if node.cell is not None:
            ax.barh(node.row, node.mass, height=0.6, color=node.color)
        return
    if value.within is not None:
        least, most = value.within
        ax.barh(node.row, most - least, left=least, height=0.6, color=node.color, alpha=0.25)
    ends = [[value.value - value.low], [value.high - value.value]]
    ax.errorbar(value.value, node.row, xerr=ends, fmt="o", color=node.color, capsize=3)
    if value.public is not None:
        ax.plot(value.public, node.row, "o", markersize=8, fillstyle="none", color="0.5")


def _words(node: Node, *, named: bool) -> str:
    name = f": {node.value.name}" if named and node.value is not None else ""
    return f"{'    ' * node.depth}{node.condition or 'all'} ({node.mass:.0%}){name}"


def _quantity(names: set[str]) -> str:
    """The label of the horizontal axis for cells that predict the classes ``names``."""
    if not names:
        return "part of the mass"
    if names == {""}:
        return "mean of the label"
    return f"share of {min(names)}" if len(names) == 1 else "share"


def _align_left(ax: Any) -> None:
    """Set the rows' words flush left, so that their indentation shows."""
    labels = ax.get_yticklabels()
    ax.figure.canvas.draw()
    widest = max(label.get_window_extent().width for label in labels)
    ax.tick_params(axis="y", pad=4 + widest * 72 / ax.figure.dpi, length=0)
    for label in labels:
        label.set_horizontalalignment("left")
