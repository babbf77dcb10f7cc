"""What a trial loses on the rows that judge it."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from privet.curator.estimation.counts import Label
from privet.curator.public_data import Floats
from privet.protocol.features import Classes

Integers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Losses:
    """What every row, judging once, found; each of shape ``(rows,)``.

    ``loss`` is what is reported: 1 for a wrong class and 0 for the right one, or the squared error
    of a number. ``strict`` is what choices are made by: the squared error of the probabilities
    (Brier's score), which wavers less; for a number the same as ``loss``.
    """

    loss: Floats
    strict: Floats

    @classmethod
    def empty(cls, rows: int) -> "Losses":
        """Losses to be filled in."""
        return cls(np.empty(rows), np.empty(rows))

    def judge(self, rows: Integers, label: Label, values: Floats, y: Floats) -> None:
        """Fill in what ``rows`` with labels ``y`` find of the predicted ``values``."""
        self.loss[rows], self.strict[rows] = row_losses(label, values, y)


def row_losses(label: Label, values: Floats, y: Floats) -> tuple[Floats, Floats]:
    """``Losses.loss`` and ``Losses.strict`` of predicted ``values``, ``(rows,)`` each."""
    if isinstance(label, Classes):
        truth = y.astype(np.int64)
        wrong = np.asarray(values.argmax(axis=1) != truth, dtype=np.float64)
        return wrong, np.asarray(((values - np.eye(values.shape[1])[truth]) ** 2).sum(axis=1))
    squared = (values[:, 0] - y) ** 2
    return squared, squared
