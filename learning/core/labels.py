"""A label as figures have it: classes have shares, a number has a mean.

``kind_of`` is the one place that looks at a label's type; whoever states, weighs or writes figures
asks the kind.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

import numpy as np

from privet.protocol.features import Classes, Label, Range

from .amounts import amount, figure, percent
from .counts import QuestionCounts
from .public_data import Floats, PublicData
from .trees import locate


@dataclass(frozen=True, eq=False)
class LabelKind(ABC):
    """A label, its figures' ``names``, and ``ends``: each slot's value in every figure."""

    is_share: ClassVar[bool]
    unit: ClassVar[str]
    """The unit of a hundredth of all that is possible."""

    @property
    @abstractmethod
    def label(self) -> Label:
        """The label as published."""

    @property
    @abstractmethod
    def names(self) -> tuple[str, ...]:
        """The figures: a share for each class, or one mean."""

    @property
    def measure(self) -> str:
        """The unit of the label itself; empty where it has none."""
        return ""

    @property
    @abstractmethod
    def ends(self) -> Floats:
        """Each slot's value, ``(figures, slots)``, where numbers are on the label's range."""

    @property
    def tests(self) -> int:
        """The number of independent figures: of two classes the second mirrors the first."""
        return len(self.names) if len(self.names) > 2 else 1

    @property
    def independent(self) -> slice:
        """The places of as many figures: of two classes the second."""
        return slice(len(self.names) - self.tests, None)

    @property
    def bounds(self) -> tuple[float, float]:
        """The least and greatest figure."""
        return self.label.bounds

    @property
    def span(self) -> float:
        """The greatest distance of two figures."""
        return self.label.span

    @property
    @abstractmethod
    def middle(self) -> float:
        """The figure of holders of whom nothing is known."""

    def scaled(self, question: QuestionCounts) -> QuestionCounts:
        """The question with the scale of a number, as ``QuestionCounts.mean`` needs."""
        return question

    @abstractmethod
    def weights(self, question: QuestionCounts) -> Floats:
        """The value that each count stands for, ``(figures, cells, slots)``."""

    @abstractmethod
    def scale_of(self, question: QuestionCounts) -> tuple[Floats, float]:
        """The figures of cells where a share is 0, ``(cells,)``, and how far they are from 1."""

    def of_shares(self, question: QuestionCounts, shares: Floats) -> tuple[Floats, float]:
        """Cells' figures by the shares of their slots, both ``(cells, ...)``, and their unit."""
        low, width = self.scale_of(question)
        return low[:, None] + width * shares[:, -len(self.names) :], width

    @abstractmethod
    def public_figures(self, public: PublicData) -> Floats:
        """The figures of the public records, ``(figures,)``."""

    def stated(self, value: float, low: float, high: float) -> str:
        """A figure with its interval, as text."""
        return figure(value, low, high, is_share=self.is_share)

    @abstractmethod
    def text(self, value: float) -> str:
        """A figure as text."""

    @abstractmethod
    def size(self, least: float) -> str:
        """A difference of two figures as text, in two or three digits."""


@dataclass(frozen=True, eq=False)
class ClassLabel(LabelKind):
    """Classes, each with its share of the holders."""

    is_share = True
    unit = "points"
    classes: Classes

    @property
    def label(self) -> Classes:
        return self.classes

    @property
    def names(self) -> tuple[str, ...]:
        return self.classes.classes

    @cached_property
    def ends(self) -> Floats:
        return np.eye(self.classes.slots)

    @property
    def middle(self) -> float:
        return 1.0 / self.classes.slots

    def weights(self, question: QuestionCounts) -> Floats:
        shape = len(self.names), *question.counts.shape
        return np.broadcast_to(self.ends[:, None], shape).copy()

    def scale_of(self, question: QuestionCounts) -> tuple[Floats, float]:
        return np.zeros(question.partition.cells), 1.0

    def hits(self, public: PublicData) -> Floats:
        """The public records of each class, ``(classes,)``."""
        return np.bincount(public.y.astype(np.int64), minlength=len(self.names)).astype(np.float64)

    def public_figures(self, public: PublicData) -> Floats:
        return self.hits(public) / len(public)

    def text(self, value: float) -> str:
        return percent(value)

    def size(self, least: float) -> str:
        return f"{amount(float(f'{max(100.0 * least, 0.1):.2g}'))} points"


@dataclass(frozen=True, eq=False)
class NumberLabel(LabelKind):
    """A number, with its mean."""

    is_share = False
    unit = "% of the range"
    number: Range

    @property
    def label(self) -> Range:
        return self.number

    @property
    def names(self) -> tuple[str, ...]:
        return (self.number.name,)

    @property
    def measure(self) -> str:
        return self.number.unit or ""

    @cached_property
    def ends(self) -> Floats:
        return np.array([self.number.bounds])

    @property
    def middle(self) -> float:
        return sum(self.number.bounds) / 2.0

    def scaled(self, question: QuestionCounts) -> QuestionCounts:
        return replace(question, scale=question.scale_of(self.number))

    def weights(self, question: QuestionCounts) -> Floats:
        low, width = self.scale_of(question)
        return np.stack([low, low + width], axis=1)[None]

    def scale_of(self, question: QuestionCounts) -> tuple[Floats, float]:
        scale = question.scale_of(self.number)
        return np.broadcast_to(scale.low, question.partition.cells), scale.width

    def public_figures(self, public: PublicData) -> Floats:
        return np.array([public.y.mean()])

    def as_reported(self, public: PublicData, question: QuestionCounts) -> Floats:
        """The public labels, ``(rows,)``, clipped as reported ones are."""
        scale, cells = question.scale_of(self.number), locate(question.partition, public.X)
        return np.asarray(scale.low[cells] + scale.width * scale.to_unit(cells, public.y))

    def text(self, value: float) -> str:
        return amount(value)

    def size(self, least: float) -> str:
        return amount(float(f"{least:.3g}"))


def kind_of(label: Label) -> ClassLabel | NumberLabel:
    """The kind of a label."""
    return ClassLabel(label) if isinstance(label, Classes) else NumberLabel(label)
