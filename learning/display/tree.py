"""Trees in a notebook: a picture made by ``from_...`` of an estimator, a task or an export."""

import json
from html import escape
from typing import Any, Self

from privet.protocol.errors import InvalidRequest
from privet.protocol.features import FEATURES, columns_of
from privet.protocol.task import Task

from ..core.model import Model
from .picture import Layout, lay_out, to_svg


class TreeDisplay:
    """A tree with its cells' values, or without a model its splits and masses only.

    A notebook shows it as an SVG picture.
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
            features = FEATURES.validate_python(exported["features"])
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
