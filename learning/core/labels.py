"""A label as figures have it: classes have shares, a number has a mean.

``kind_of`` is the one place that looks at a label's type; whoever states, weighs or writes figures
asks the kind.
"""

from abc import ABC, abstractmethod
from dataclasses import replace
from typing import ClassVar

import numpy as np

from privet.protocol.features import Classes, Label, Range

from .amounts import amount, figure, in_digits, percent
from .counts import QuestionCounts
from .public_data import Floats, PublicData


def _points(number: str) -> str:
    return f"{number} point{'' if number == '1' else 's'}"


class LabelKind(ABC):
    """The ``names`` of a label's figures, and ``ends``: each slot's value in every figure,
    ``(figures, slots)``. Figures are shares or not, with the ``unit`` of a hundredth of all that is
    possible; a number has a ``measure`` of its own if it has a unit. Of holders of whom nothing is
    known the figure is the ``middle``."""

    is_share: ClassVar[bool]
    unit: ClassVar[str]
    label: Label
    measure: str
    names: tuple[str, ...]
    ends: Floats
    middle: float

    @property
    def tests(self) -> int:
        """The number of independent figures: of two classes one mirrors the other."""
        return len(self.names) if len(self.names) > 2 else 1

    @property
    def headline(self) -> int:
        """The place of the figure that stands for all: of classes the one that was chosen, or the
        last."""
        level = self.label.headline_level if isinstance(self.label, Classes) else None
        return len(self.names) - 1 if level is None else level

    @property
    def independent(self) -> slice:
        """The places of the independent figures: of two classes the headline."""
        if len(self.names) == 2:
            return slice(self.headline, self.headline + 1)
        return slice(None)

    @property
    def bounds(self) -> tuple[float, float]:
        """The least and greatest figure."""
        return self.label.bounds

    @property
    def span(self) -> float:
        """The greatest distance of two figures."""
        return self.label.span

    def scaled(self, question: QuestionCounts) -> QuestionCounts:
        """The question with the scale of a number, as ``QuestionCounts.mean`` needs."""
        return question

    @abstractmethod
    def scale_of(self, question: QuestionCounts) -> tuple[Floats, float]:
        """The figures of cells where a share is 0, ``(cells,)``, and how far they are from 1."""

    def of_shares(self, question: QuestionCounts, shares: Floats) -> tuple[Floats, float]:
        """Cells' figures by the shares of their slots, both ``(cells, ...)``, and their unit."""
        low, width = self.scale_of(question)
        return low[:, None] + width * shares[:, -len(self.names) :], width

    @abstractmethod
    def weights(self, question: QuestionCounts) -> Floats:
        """The value that each count stands for, ``(figures, cells, slots)``."""

    @abstractmethod
    def public_figures(self, public: PublicData) -> Floats:
        """The figures of the public records, ``(figures,)``."""

    def stated(self, value: float, low: float, high: float) -> str:
        """A figure with its interval, as text."""
        return figure(value, low, high, is_share=self.is_share)

    @abstractmethod
    def in_words(self, name: str, value: float, low: float, high: float) -> str:
        """The figure of a ``name`` with its interval, as a sentence without its full stop."""

    @abstractmethod
    def text(self, value: float) -> str:
        """A figure as text."""

    def with_unit(self, number: str) -> str:
        """A number with its unit, if it has one."""
        return f"{number} {self.measure}".rstrip()

    def beside(self, value: float, low: float, high: float) -> str:
        """A figure as text, in the digits of one with an interval."""
        return self.text(value) if self.is_share else in_digits((high - low) / 2.0, value)[0]

    @abstractmethod
    def size(self, difference: float) -> str:
        """A difference of two figures as text, in two or three digits."""

    def moved(self, distance: float) -> str:
        """A distance by which a figure was moved, as text in two digits."""
        if self.is_share:
            return _points(amount(float(f"{100.0 * distance:.2g}")))
        return self.with_unit(amount(float(f"{distance:.2g}")))


READ_AS_WORDS = {"all", "any", "few", "many", "most", "nobody", "none", "nothing", "so", "some"}
"""Names of classes that stand for something else in a sentence, such as "24 % say none"."""


def as_answer(name: str) -> str:
    """The name of a class in a sentence on who gives it."""
    return f"“{name}”" if name.lower() in READ_AS_WORDS else name


class ClassLabel(LabelKind):
    """Classes, each with its share of the holders."""

    is_share, unit, measure = True, "points", ""
    label: Classes

    def __init__(self, label: Classes) -> None:
        self.label, self.names = label, label.classes
        self.ends, self.middle = np.eye(label.slots), 1.0 / label.slots

    def scale_of(self, question: QuestionCounts) -> tuple[Floats, float]:
        return np.zeros(question.partition.cells), 1.0

    def weights(self, question: QuestionCounts) -> Floats:
        shape = len(self.names), *question.counts.shape
        return np.broadcast_to(self.ends[:, None], shape).copy()

    def hits(self, public: PublicData) -> Floats:
        """The public records of each class, ``(classes,)``."""
        return np.bincount(public.y.astype(np.int64), minlength=len(self.names)).astype(np.float64)

    def public_figures(self, public: PublicData) -> Floats:
        return self.hits(public) / len(public)

    def in_words(self, name: str, value: float, low: float, high: float) -> str:
        share, ends = self.stated(value, low, high).split(" ", 1)
        return f"{share} say {as_answer(name)} {ends}"

    def text(self, value: float) -> str:
        return percent(value)

    def size(self, difference: float) -> str:
        return _points(amount(float(f"{max(100.0 * difference, 0.1):.2g}")))


class NumberLabel(LabelKind):
    """A number, with its mean."""

    is_share, unit = False, "% of the range"
    label: Range

    def __init__(self, label: Range) -> None:
        self.label, self.names, self.measure = label, (label.name,), label.unit or ""
        self.ends, self.middle = np.array([label.bounds]), sum(label.bounds) / 2.0

    def scaled(self, question: QuestionCounts) -> QuestionCounts:
        if question.scale is not None:
            return question
        return replace(question, scale=question.scale_of(self.label))

    def scale_of(self, question: QuestionCounts) -> tuple[Floats, float]:
        scale = question.scale_of(self.label)
        return np.broadcast_to(scale.low, question.partition.cells), scale.width

    def weights(self, question: QuestionCounts) -> Floats:
        low, width = self.scale_of(question)
        slots = question.mechanism.slots
        if slots == 2:
            return np.stack([low, low + width], axis=1)[None]
        return (low[:, None] + width * np.arange(slots) / (slots - 1))[None]

    def public_figures(self, public: PublicData) -> Floats:
        return np.array([public.y.mean()])

    def in_words(self, name: str, value: float, low: float, high: float) -> str:  # noqa: ARG002
        mean, ends = self.stated(value, low, high).split(" (", 1)
        return f"The mean is {self.with_unit(mean)} ({ends}"

    def text(self, value: float) -> str:
        return amount(value)

    def size(self, difference: float) -> str:
        return self.with_unit(amount(float(f"{difference:.3g}")))


def kind_of(label: Label) -> ClassLabel | NumberLabel:
    """The kind of a label."""
    return ClassLabel(label) if isinstance(label, Classes) else NumberLabel(label)
