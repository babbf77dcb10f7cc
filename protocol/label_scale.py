"""The encoding of a label as a level that a mechanism can report.

A class is its own level. A numeric label y is reported as its position t in [0, 1] on a range,
rounded at random to one of the mechanism's levels, so the noise is a fixed share of the range's
width. The range is the label's own, or [centre - radius, centre + radius] of the record's cell if
the task publishes a ``Centring``; then the noise falls with the radius, and labels beyond the range
are reported as its nearer end. The range depends only on the task and the cell and is applied
before the mechanism, so epsilon is unchanged.
"""

import math
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from .features import Classes, Range
from .limits import MAX_CELLS
from .mechanisms.base import RandomBytes
from .wire import Message

Floats = NDArray[np.float64]


class Centring(Message):
    """Per-cell centres and a radius; a numeric label is reported relative to its cell's centre."""

    centres: Annotated[
        tuple[float, ...], Field(strict=False, fail_fast=True, min_length=1, max_length=MAX_CELLS)
    ]
    radius: float = Field(gt=0)

    def fault(self, label: Range, cells: int) -> str | None:
        """The reason why this cannot centre a label in ``cells`` cells; None if it can."""
        if len(self.centres) != cells:
            return f"there are {len(self.centres)} centres for {cells} cells: give one for each"
        if not label.low <= min(self.centres) <= max(self.centres) <= label.high:
            return f"every centre must lie between {label.low:g} and {label.high:g}"
        if self.radius > label.span:
            return "the radius must not be wider than the label's range"
        centres = np.array(self.centres)
        with np.errstate(over="ignore"):
            lows = centres - self.radius
        if not np.isfinite(2 * self.radius) or not np.isfinite(lows).all():
            return "the radius is too wide; give a smaller one"
        if not (lows < centres).all():
            return "the radius is lost in rounding at a centre; give a larger one"
        return None


@dataclass(frozen=True, eq=False)
class LabelScale:
    """Scale of a numeric label: in cell l, y is t = (y - low[l]) / width, clipped to [0, 1].

    ``low`` has shape ``(cells,)``; ``label`` is the range that values are clipped to.
    """

    label: Range
    low: Floats
    width: float

    @classmethod
    def of(cls, label: Range, cells: int, centring: Centring | None = None) -> "LabelScale":
        """The label's own range for every cell, or the ranges of a ``Centring``."""
        if centring is None:
            return cls(label, np.broadcast_to(label.low, cells), label.span)
        return cls(label, np.array(centring.centres) - centring.radius, 2 * centring.radius)

    @property
    def centred(self) -> bool:
        """True if cells have ranges of their own."""
        whole = self.label.span
        return self.width != whole or bool((self.low != self.label.low).any())

    def span(self, cell: int) -> tuple[float, float]:
        """The low end and the width of one cell's range."""
        return float(self.low[cell]), self.width

    def to_unit(self, cells: NDArray[np.integer[Any]], y: Floats) -> Floats:
        """t of labels ``y`` in ``cells``, both ``(rows,)``."""
        clipped = np.clip(y, self.label.low, self.label.high)
        return np.asarray(np.clip((clipped - self.low[cells]) / self.width, 0.0, 1.0))

    def from_unit(self, t: Floats) -> Floats:
        """The labels at positions ``t``, ``(cells, ...)``, clipped to the label's range."""
        low = self.low.reshape(-1, *[1] * (t.ndim - 1))
        return np.asarray(np.clip(low + t * self.width, self.label.low, self.label.high))


def label_level(
    label: Classes | Range,
    value: float,
    levels: int,
    randomness: RandomBytes,
    span: tuple[float, float] | None = None,
) -> int:
    """The level from 0 to ``levels - 1`` that is reported for a label that ``encode`` read.

    A class is its own level. A number is rounded at random, without bias, to one of the two
    nearest of ``levels`` evenly spaced points of ``span``, a low end and a width (by default the
    label's range); a number outside is moved to the nearer end. Eight bytes are drawn either way.
    """
    draw = int.from_bytes(randomness(8), "big")
    if isinstance(label, Classes):
        return int(value)
    low, width = (label.low, label.span) if span is None else span
    position = min(max((value - low) / width, 0.0), 1.0) * (levels - 1)
    below = min(math.floor(position), levels - 2)
    return below + (draw < int((position - below) * 2.0**64))
