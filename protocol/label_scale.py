"""How a numeric label is told: as a share of a range, the label's own or one around each cell.

A mechanism answers (cell, level), where the level is the share rounded at random, so its noise is
a fixed part of the range's width. A ``Centring`` publishes where labels are expected in each cell
and one reach; holders then tell the label on [centre - reach, centre + reach] of their cell, and
the noise falls with the reach. What lies beyond is told as the nearer end. Choosing the range by
the published task and the cell comes before the mechanism, so epsilon stays what it is.
"""

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from privet.protocol.features import Published, Range
from privet.protocol.limits import MAX_CELLS

Floats = NDArray[np.float64]


class Centring(Published):
    """Where a numeric label is expected in each cell, and how far from there it is told."""

    centres: Annotated[
        tuple[float, ...],
        Field(strict=False, fail_fast=True, min_length=1, max_length=MAX_CELLS),
    ]
    reach: float = Field(gt=0)

    def fault(self, label: Range, cells: int) -> str | None:
        """What keeps this from being the centring of ``cells`` cells; None if it can be."""
        if len(self.centres) != cells:
            return f"there are {len(self.centres)} centres for {cells} cells: give one for each"
        if not label.low <= min(self.centres) <= max(self.centres) <= label.high:
            return f"every centre must lie between {label.low:g} and {label.high:g}"
        if self.reach > label.high - label.low:
            return "the reach must not be wider than the label's range"
        centres = np.array(self.centres)
        with np.errstate(over="ignore"):
            lows = centres - self.reach
        if not np.isfinite(2 * self.reach) or not np.isfinite(lows).all():
            return "the reach is too wide; give a smaller one"
        if not (lows < centres).all():
            return "the reach is lost beside a centre; give a larger one"
        return None


@dataclass(frozen=True, eq=False)
class Scale:
    """In cell l the label y is told as t = (y - low[l]) / width, clipped to [0, 1].

    ``low`` has shape ``(cells,)``; ``label`` is the range that values are clipped to.
    """

    label: Range
    low: Floats
    width: float

    @classmethod
    def of(cls, label: Range, cells: int, centring: Centring | None = None) -> "Scale":
        """The label's own range for every cell, or the ranges of a ``Centring``."""
        if centring is None:
            return cls(label, np.broadcast_to(label.low, cells), label.high - label.low)
        return cls(label, np.array(centring.centres) - centring.reach, 2 * centring.reach)

    @property
    def centred(self) -> bool:
        """Whether cells have ranges of their own."""
        whole = self.label.high - self.label.low
        return self.width != whole or bool((self.low != self.label.low).any())

    def span(self, cell: int) -> tuple[float, float]:
        """One cell's low end and the width."""
        return float(self.low[cell]), self.width

    def to_unit(self, cells: NDArray[np.integer[Any]], y: Floats) -> Floats:
        """t of labels ``y`` in ``cells``, both ``(rows,)``."""
        clipped = np.clip(y, self.label.low, self.label.high)
        return np.asarray(np.clip((clipped - self.low[cells]) / self.width, 0.0, 1.0))

    def from_unit(self, t: Floats) -> Floats:
        """The labels that ``t``, ``(cells, ...)``, stands for, within the label's range."""
        low = self.low.reshape(-1, *[1] * (t.ndim - 1))
        return np.asarray(np.clip(low + t * self.width, self.label.low, self.label.high))
