"""Charts of bars or a line with intervals, as pictures that stand by themselves and as tables."""

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass

from ..core.escaping import csv_cell
from .figure_picture import FRAME, INK, LINE, MARGIN, SOFT, WIDTH, standing, text_at, wrapped

HEIGHT, LEFT = 220.0, 72.0
"""Pixels of the axis of values, and left of it."""
MOST_LETTERS = 36
"""Letters of names that fit side by side below a chart, on a phone too."""


@dataclass(frozen=True)
class DrawnPoint:
    """A value at a place of the other axis, from 0 to 1, with its 95 % interval if it has one.

    ``beside`` is drawn at a point on a line, if its name is drawn too.
    """

    name: str
    at: float
    value: float
    in_words: str
    low: float | None = None
    high: float | None = None
    beside: str = ""


@dataclass(frozen=True)
class DrawnChart:
    """Points on an axis with ``ticks``, from the least, and what they say.

    ``along`` names the other axis. ``bar`` is the width of a bar, from 0 to 1; a line joins the
    points where it is None.
    """

    title: str
    along: str
    points: Sequence[DrawnPoint]
    ticks: Sequence[tuple[float, str]]
    bar: float | None = None

    def height(self, value: float) -> float:
        """The height of a value on the axis, from 0 to 1."""
        least, most = self.ticks[0][0], self.ticks[-1][0]
        return (value - least) / (most - least)

    @property
    def described(self) -> str:
        """All points in words."""
        said = ", ".join(f"{each.name} {each.in_words}" for each in self.points)
        return f"{self.title} ({self.along}): {said}"

    @property
    def named(self) -> Sequence[DrawnPoint]:
        """The points with names below: as many as fit, at equal distances from the first to the
        last, and the first, the middle and the last at least."""
        last = len(self.points) - 1
        for step in (each for each in range(1, last) if last % each == 0):
            named = self.points[::step]
            if sum(len(each.name) + 1 for each in named) <= MOST_LETTERS:
                return named
        return [self.points[place] for place in sorted({0, last // 2, last})]


def chart_to_svg(chart: DrawnChart) -> str:
    """The chart with a ground of its own, as pictures of figures have (``figures_to_svg``)."""
    top = MARGIN + 22.0 * len(wrapped(chart.title)) + 16.0
    bottom, width = top + HEIGHT, WIDTH - LEFT - MARGIN
    right, middle = (f'font-size="12" fill="{SOFT}" text-anchor="{at}"' for at in ("end", "middle"))
    bold = f'font-weight="bold" fill="{INK}" text-anchor="middle"'

    def across(point: DrawnPoint) -> float:
        return LEFT + width * point.at

    def down(value: float) -> float:
        return bottom - HEIGHT * chart.height(value)

    drawn = []
    for tick, words in chart.ticks:
        drawn.append(f'<path d="M{LEFT:g} {down(tick):.1f}h{width:g}" stroke="{FRAME}"/>')
        drawn.append(text_at(LEFT - 8.0, down(tick) + 4.0, words, right))
    if chart.bar is None:
        joined = "L".join(f"{across(each):.1f} {down(each.value):.1f}" for each in chart.points)
        drawn.append(f'<path d="M{joined}" fill="none" stroke="{LINE}" stroke-width="2"/>')
    for each in chart.points:
        x, y = across(each), down(each.value)
        if chart.bar is None:
            drawn.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4.5" fill="{LINE}"/>')
        else:
            drawn.append(
                f'<rect x="{x - width * chart.bar / 2.0:.1f}" y="{y:.1f}" '
                f'width="{width * chart.bar:.1f}" height="{bottom - y:.1f}" fill="{LINE}" '
                'fill-opacity=".6"/>'
            )
        if each.low is not None and each.high is not None:
            ends = f"M{x - 4.0:.1f} {down(each.high):.1f}h8m-4 0V{down(each.low):.1f}m-4 0h8"
            drawn.append(f'<path d="{ends}" stroke="{INK}" fill="none"/>')
    drawn += [text_at(across(each), bottom + 18.0, each.name, middle) for each in chart.named]
    drawn += [
        text_at(across(each), max(down(each.value) - 10.0, top + 12.0), each.beside, bold)
        for each in chart.named
        if chart.bar is None and each.beside
    ]
    drawn.append(text_at(LEFT + width / 2.0, bottom + 38.0, chart.along, middle))
    return standing(chart.title, chart.described, drawn, bottom + 38.0 + MARGIN)


def chart_to_csv(chart: DrawnChart) -> str:
    """A row for each point: its name, value, and the ends of its 95 % interval if it has one."""
    table = io.StringIO()
    writer = csv.writer(table, lineterminator="\n")
    writer.writerow((csv_cell(chart.along), "value", "low", "high"))
    for each in chart.points:
        writer.writerow((csv_cell(each.name), each.value, each.low, each.high))
    return table.getvalue()
