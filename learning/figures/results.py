"""Results of comparisons, as calls and pages have them: plain numbers, with a sentence."""

from dataclasses import dataclass

from ..core.counts import Interval


@dataclass(frozen=True)
class CellDifference:
    """A cell whose mass (``name`` None), or whose share of ``name``, differs from public data.

    ``low`` to ``high`` is an interval of ``reported``; of those listed one in twenty misses.
    """

    cell: int
    name: str | None
    reported: float
    low: float
    high: float
    public: float
    p_value: float


@dataclass(frozen=True)
class FigureInGroup:
    """The share of a class in a group, or its mean label, with a 95 % interval, and that of the
    public records there, if there are any. It ``differs`` where that is beyond chance, by a test of
    all figures of all groups together."""

    name: str
    value: float
    low: float
    high: float
    public: float | None
    differs: bool = False


@dataclass(frozen=True)
class Group:
    """People below a ``node`` of the tree, a ``part`` of all."""

    node: int
    part: float
    figures: tuple[FigureInGroup, ...]


@dataclass(frozen=True)
class WaveFigure:
    """A figure in one wave, with its interval.

    Of those of whom the holders who answered are drawn, so it covers noise and who answered.
    """

    wave: int
    reports: int
    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Line:
    """The share of a class, or the mean label, wave by wave, of all holders or in a cell."""

    name: str
    figures: tuple[WaveFigure, ...]
    cell: int | None = None


@dataclass(frozen=True)
class WaveChange:
    """A change of ``name`` beyond chance, in a cell or of all holders, between two waves."""

    since: int
    wave: int
    cell: int | None
    name: str
    before: float
    after: float
    low: float
    """The change lies between this and ``high``."""
    high: float
    p_value: float
    sentence: str


@dataclass(frozen=True)
class OverTime:
    """The waves of a panel beside each other."""

    lines: tuple[Line, ...]
    changes: tuple[WaveChange, ...]
    comparisons: int
    sentence: str
    in_cells: tuple[Line, ...] = ()
    """Lines of the cells that changed, the surest change first."""


@dataclass(frozen=True)
class Yardsticks:
    """A model's accuracy beside what it is corrected from, and beside others.

    ``uncorrected`` is counted on the very reports that the cells were fitted to, noise included: no
    figure of anybody. ``more_than_public`` and ``more_than_always`` are the accuracy less that of
    the same estimator without reports, and less that of predicting ``always`` for everybody, the
    class that by its interval is hardest to beat.
    """

    uncorrected: float
    more_than_public: Interval
    always: str
    more_than_always: Interval
