"""A tree for people: as text, as an SVG picture, and as a layout for other drawings.

Every node has a row, indented by its depth: the split that leads to it in words, a bar as wide as
its part of the mass, and for a cell the prediction on an axis with the 95 % interval of the cell's
share or mean. Cells have the colour of their prediction where they can be told apart. The picture
needs no style sheet: text has the colour of the text around it, and the other colours suit light
and dark ground. With a public model the tree is a summary: predictions differ within a cell, and
their range there is drawn.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from html import escape
from math import floor, log10

import numpy as np
from numpy.typing import NDArray

from privet.protocol.conditions import condition_of, conditions_in_words, readable_names
from privet.protocol.features import Classes, Column, Label
from privet.protocol.partition import LEAF, Index, Partition

from ..core.amounts import TOO_FEW_ANSWERS, figure, percent, tells_enough, thousands
from ..core.counts import Interval
from ..core.model import Model
from ..core.public_data import Floats
from ..core.trees import name_of_group, node_sums, readable_path

LOW, HIGH = (0x2E, 0x7E, 0xC8), (0xD0, 0x64, 0x14)
"""Ends of the colour scale of numbers and of two classes, legible on black and on white."""
CLASS_COLORS = (
    "#2e7ec8", "#d06414", "#2b9348", "#b5519c", "#8a7a16", "#1795a3", "#c94c4c", "#7a6fd0",
)  # fmt: skip
"""Colours of three and more classes, repeated after the eighth; the names are always written."""
COLORS_IN_WORDS = ("blue", "orange", "green", "purple", "olive", "teal", "red", "violet")
GREY = "#858585"
NOT_STATED = "not stated"
"""The figure of a cell of numbers around centres."""
SUMMARY = (
    "The tree is a summary of the model: predictions differ within a group, by the public model."
)
RANGES = " Ranges are those for the file's records."
NO_RANGE = " None is given where the group's own figure lies outside."

ROW, INDENT, MARGIN = 24.0, 16.0, 8.0
"""Pixels between rows, between levels, and around the picture."""
BAR, AXIS, GAP, WIDE_GAP = 60.0, 170.0, 46.0, 124.0
"""Pixels of the bar of all the mass, of the axis, and after a bar for its share in percent, without
and with its interval."""
FRAME = 6.0
"""Pixels between the ends of the axis and the frame: an interval that ends there is seen."""
WIDE, NARROW = frozenset("mwMW%@_<>=≥≤–◇"), frozenset("iljtfrI.,:;'|()[] \u00a0")
"""Letters of about 12 pixels, and of 5; others have 7.5, and those of other scripts up to 12."""


@dataclass(frozen=True)
class CellValue:
    """A cell's prediction: a class's share, or the mean label, with its 95 % interval.

    ``name`` is the class, or empty; ``public`` the same figure without any report, if known;
    ``within`` the range of predictions in the cell, if they differ there and records are known.
    """

    name: str
    value: float
    low: float
    high: float
    public: float | None = None
    within: tuple[float, float] | None = None
    decimals: int = 0
    """Decimals of a number, the same in all cells."""
    untold: str = ""
    """The reason for stating no figure, in two or three words; empty where one is stated."""
    rough: bool = False
    """True if the interval is too wide for the value to say anything: it is stated alone."""

    def __str__(self) -> str:
        text, name = self.text_of, self._named if self.is_only_predicted else ""
        predicted = f", predicts {name}{text(self.value)}" if self.is_only_predicted else ""
        if self.within is not None:
            predicted = f", predicts {name}{text(self.within[0])} to {text(self.within[1])}"
        return f"{self.figure}{predicted}"

    @property
    def is_only_predicted(self) -> bool:
        """True if the value is no figure of the group, which has too few answers."""
        return self.rough or self.untold != ""

    @property
    def figure(self) -> str:
        """The value with its interval, if the reports tell anything of it."""
        text = self.text_of
        if self.untold:
            return self.untold
        ends = f"{text(self.low)} to {text(self.high)}"
        return self._named + (ends if self.rough else f"{text(self.value)} ({ends})")

    @property
    def bare_figure(self) -> str:
        """The figure without the class's name, which an axis of one class has in its title."""
        return self.figure if self.untold else self.figure.removeprefix(self._named)

    @property
    def _named(self) -> str:
        return f"{self.name} " if self.name else ""

    @property
    def text_of(self) -> Callable[[float], str]:
        """Text of a share in percent, or of a number."""
        return percent if self.name else partial(in_decimals, decimals=self.decimals)


def axis_title(values: Iterable[CellValue | None]) -> str:
    """The name of an axis of cells' predictions, such as "predicted share of yes"."""
    names = {value.name for value in values if value is not None}
    if len(names) > 1:
        return "predicted share of the class named"
    (name,) = names or {""}
    return f"predicted share of {name}" if name else "predicted mean"


@dataclass(frozen=True)
class Node:
    """One node in its row, from 0: parents above their children.

    ``condition`` is the split that leads to it in words, empty at the root; ``mass`` its part of
    the whole, 0 to 1, with its 95 % interval ``mass_ends`` if it is estimated. ``cell`` and
    ``value`` are None at inner nodes, ``value`` without a model.
    """

    number: int
    parent: int | None
    depth: int
    row: int
    condition: str
    mass: float
    color: str
    cell: int | None
    value: CellValue | None
    mass_ends: tuple[float, float] | None = None

    @property
    def mass_text(self) -> str:
        """The mass in percent, with its interval if it is known."""
        if self.mass_ends is None:
            return percent(self.mass)
        return figure(self.mass, *self.mass_ends, is_share=True)


@dataclass(frozen=True)
class Layout:
    """The nodes of a tree in order of their numbers, and the ends of the axis of its values.

    ``note`` says that the tree is a summary of the model, if it is; else it is empty. ``colors``
    says what the colours mean, with a model.
    """

    nodes: tuple[Node, ...]
    axis: tuple[float, float] | None
    note: str = ""
    colors: str = ""
    paths: tuple[list[str], ...] = ()
    """The conditions that lead to each node, less those that others imply."""

    @property
    def rows(self) -> list[Node]:
        """The nodes in the order of their rows."""
        return sorted(self.nodes, key=lambda node: node.row)

    def path(self, node: Node) -> list[str]:
        """The conditions that lead to a node, less those that others imply."""
        return self.paths[node.number]

    def describe(self, node: Node) -> str:
        """All about a node in one line."""
        about = [
            name_of_group(self.path(node)),
            f"{node.mass_text} of all",
        ]
        if node.value is not None:
            about.append(str(node.value))
            if node.value.public is not None:
                about.append(f"{node.value.text_of(node.value.public)} without answers")
        return "; ".join(about)


def lay_out(
    partition: Partition,
    columns: tuple[Column, ...],
    *,
    model: Model | None = None,
    mass: Floats | None = None,
    ranges: tuple[Floats, Floats] | None = None,
    reported: Sequence[Interval] | None = None,
    untold: NDArray[np.bool_] | None = None,
) -> Layout:
    """The rows of a tree.

    ``columns`` are the features' own (``columns_of``). ``mass``, ``(cells,)``, weighs the cells,
    negative ones as 0, and equally by default; ``reported`` are the nodes' estimated parts of the
    whole, in place of these. ``ranges`` are
    ``Model.ranges`` of public records. ``untold`` are cells of which reports tell nothing, besides
    those whose interval is all that is possible.
    """
    weights = np.ones(partition.cells) if mass is None else np.maximum(mass, 0.0)
    sums = node_sums(partition, weights)
    shares = sums / max(float(sums[0]), 1e-300)
    rows, depths = _rows(partition), partition.node_depth
    unseen = None if model is None else cells_untold(model, untold)
    apart = None if model is None or unseen is None else cells_apart(model, ~unseen)
    colors = _colors(model, partition, apart)
    nodes, names = [], readable_names(columns)
    for node in range(partition.nodes):
        parent, cell = int(partition.parent[node]), int(partition.cell_of_node[node])
        condition, part = "", None if reported is None or parent < 0 else reported[node]
        if parent >= 0:
            left = int(partition.left[parent]) == node
            split = condition_of(partition, columns, parent, left=left)
            (condition,) = conditions_in_words([split], names)
        nodes.append(
            Node(
                number=node,
                parent=None if parent < 0 else parent,
                depth=int(depths[node]),
                row=int(rows[node]),
                condition=condition,
                mass=float(shares[node] if part is None else part.value),
                color=colors[node],
                cell=None if cell < 0 else cell,
                value=None
                if cell < 0 or model is None or unseen is None
                else _value(model, cell, ranges, untold=_untold(model) if unseen[cell] else ""),
                mass_ends=None if part is None else (part.low, part.high),
            )
        )
    axis, note = None, ""
    if model is not None:  # numbers span what their intervals and predictions do
        least, most = (model.low, model.high) if ranges is None else ranges
        ends = float(np.fmin(model.low, least).min()), float(np.fmax(model.high, most).max())
        axis = (0.0, 1.0) if isinstance(model.label, Classes) else ends
        if model.base_values is not None:
            note = SUMMARY if ranges is None else SUMMARY + RANGES
            missing = (node.value is not None and node.value.within is None for node in nodes)
            if ranges is not None and any(missing):
                note += NO_RANGE
    paths = tuple(readable_path(partition, columns, node) for node in range(partition.nodes))
    legend = ""
    if model is not None and apart is not None and unseen is not None:
        legend = _legend(model, apart, ~unseen)
    return Layout(tuple(nodes), axis, note, legend, paths)


def cells_untold(model: Model, of_reports: NDArray[np.bool_] | None = None) -> NDArray[np.bool_]:
    """True for the cells of which a picture says that the reports tell nothing yet, ``(cells,)``.

    Those ``of_reports``, and those whose interval in the picture is all that is possible.
    """
    (low, high), (least, most) = drawn_intervals(model), model.label.bounds
    whole = np.asarray((low <= least) & (high >= most))
    return whole if of_reports is None else whole | of_reports


def drawn_intervals(model: Model) -> tuple[Floats, Floats]:
    """The ends of the interval in each cell's picture, ``(cells,)`` each."""
    slots = _slots(model)[:, None]
    low, high = (np.take_along_axis(ends, slots, 1)[:, 0] for ends in (model.low, model.high))
    return low, high


def _untold(model: Model) -> str:
    return TOO_FEW_ANSWERS if model.states_cells else NOT_STATED


def _slots(model: Model) -> NDArray[np.int64]:
    """The slot whose value stands for each cell: the second of two classes, or the likeliest."""
    if model.values.shape[1] == 2:
        return np.ones(len(model.values), dtype=np.int64)
    return np.asarray(model.values.argmax(axis=1))


def _value(
    model: Model, cell: int, ranges: tuple[Floats, Floats] | None, *, untold: str
) -> CellValue:
    """A cell's share of the second of two classes, or of the likeliest, or its mean."""
    classes = model.label.classes if isinstance(model.label, Classes) else ("",)
    slot = int(_slots(model)[cell])
    value, low, high = (float(at[cell, slot]) for at in (model.values, model.low, model.high))
    without = model.values_without_reports
    before = (
        None if without is None or np.isnan(without[cell, slot]) else float(without[cell, slot])
    )
    within = None
    if ranges is not None and ranges[0][cell, slot] <= value <= ranges[1][cell, slot]:
        within = float(ranges[0][cell, slot]), float(ranges[1][cell, slot])
    return CellValue(
        classes[slot],
        value,
        low,
        high,
        before,
        within,
        decimals_of(model.label),
        untold,
        rough=not (untold or tells_enough(low, high, model.label.span)),
    )


def in_decimals(number: float, decimals: int) -> str:
    """A number with so many decimals, and thousands apart."""
    whole, point, rest = f"{number:,.{decimals}f}".partition(".")
    return f"{whole.replace(',', thousands(1000)[1])}{point}{rest}"


def to_text(layout: Layout) -> str:
    """One line per split and per cell, as scikit-learn's ``export_text`` prints a tree.

    Above them the layout's note, if it has one.
    """
    lines = [layout.note] if layout.note else []
    for node in layout.rows:
        if node.condition:
            lines.append(f"{'|   ' * (node.depth - 1)}|--- {node.condition}")
        if node.value is not None:
            lines.append(f"{'|   ' * node.depth}|--- {node.value}")
    return "\n".join(lines) + "\n"


def to_svg(
    layout: Layout,
    *,
    name: str = "tree",
    title: str = "Decision tree",
    href: Callable[[Node], str] | None = None,
) -> str:
    """The picture, to stand in a page or in a file of its own.

    Each node is a ``<g id="{name}-{number}" class="node" data-node data-cell data-mass>`` with a
    ``<title>`` that says all about it; of several pictures in a page each needs its own ``name``.
    It is one image to a screen reader, for which a page should have ``to_text`` as well. With
    ``href`` every node is a link to that address instead, which the keyboard reaches.
    """
    return _Drawing(layout, name).svg(title, href)


class _Drawing:
    """The SVG of one layout: where its columns are, and a method for each kind of mark."""

    def __init__(self, layout: Layout, name: str) -> None:
        self.layout, self.name = layout, escape(name)
        words = max(n.depth * INDENT + _pixels(_words(n)) for n in layout.nodes)
        self.bars = MARGIN + words + 14.0
        known = any(node.mass_ends is not None for node in layout.nodes)
        self.axis = self.bars + BAR + (WIDE_GAP if known else GAP)
        self.values = self.axis + AXIS
        stated = [node.value for node in layout.nodes if node.value is not None]
        self.is_one_class = len({value.name for value in stated}) == 1
        values = [_pixels(self.words(value)) for value in stated]
        self.width = self.values + max(values) if values else self.axis
        self.top = MARGIN + (28.0 if values else 0.0)
        self.height = self.top + len(layout.nodes) * ROW + MARGIN

    def words(self, value: CellValue) -> str:
        """The figure of a cell as it stands beside the axis, whose title has a class of all."""
        return value.bare_figure if self.is_one_class else value.figure

    def about_groups(self) -> str:
        """A sentence on the figures of the groups."""
        values = [node.value for node in self.layout.nodes if node.value is not None]
        untold = {value.untold for value in values if value.untold}
        what = "share" if values[0].name else "mean"
        said = f"Each shows its {what} with the 95 % interval"
        if not untold:
            return f"{said}."
        why = " or ".join(f"“{each}”" for each in sorted(untold))
        return (
            f"{said}, or {why}." if any(not value.untold for value in values) else f"Each: {why}."
        )

    def svg(self, title: str, href: Callable[[Node], str] | None) -> str:
        name, layout = self.name, self.layout
        size = f"{self.width:.0f}", f"{self.height:.0f}"
        description = f"{sum(node.cell is not None for node in layout.nodes)} groups."
        if layout.axis is not None:
            description += f" {self.about_groups()}"
        description = " ".join(filter(None, (description, layout.note)))
        parts = [
            f'<svg xmlns="http://www.w3.org/2000/svg" role="{"img" if href is None else "group"}" '
            f'viewBox="0 0 {" ".join(size)}" width="{size[0]}" height="{size[1]}" '
            f'aria-labelledby="{name}-title {name}-desc" '
            'font-family="system-ui, sans-serif" font-size="12" fill="currentColor">'
            f'<title id="{name}-title">{escape(title)}</title>'
            f'<desc id="{name}-desc">{description}</desc>',
            *(self.branch(layout.nodes[n.parent], n) for n in layout.nodes if n.parent is not None),
        ]
        if layout.axis is not None:
            parts.append(self.scale(layout.axis))
        for node in layout.rows:
            body = self.node(node)
            if href is not None:
                body = f'<a href="{escape(href(node))}">{body}</a>'
            cell = "" if node.cell is None else f' data-cell="{node.cell}"'
            parts.append(
                f'<g id="{name}-{node.number}" class="node" data-node="{node.number}"{cell} '
                f'data-mass="{node.mass:.4g}">{body}</g>'
            )
        return "".join([*parts, "</svg>"])

    def branch(self, parent: Node, node: Node) -> str:
        x = MARGIN + parent.depth * INDENT + 4.0
        return (
            f'<path d="M{x:g} {self.y(parent) + 9:g}V{self.y(node):g}h{INDENT - 8:g}" fill="none" '
            'stroke="currentColor" stroke-opacity=".4"/>'
        )

    def node(self, node: Node) -> str:
        """The words and the bar, and for a cell its value and interval."""
        x, y = MARGIN + node.depth * INDENT, self.y(node)
        mass, end, whisker = escape(node.mass_text), node.mass, ""
        if node.mass_ends is not None:
            low, end = (self.bars + BAR * each for each in node.mass_ends)
            whisker = (
                f'<path d="M{low:.5g} {y - 3:g}v6m0-3H{end:.5g}m0-3v6" stroke="currentColor" '
                'fill="none"/>'
            )
            end = max(node.mass, node.mass_ends[1])
        parts = [
            f"<title>{escape(self.layout.describe(node))}</title>"
            f'<rect x="{x:g}" y="{y - ROW / 2:g}" width="{self.width - x:g}" height="{ROW:g}" '
            'fill="none" pointer-events="all"/>'
            f'<text x="{x:g}" y="{y + 4:g}">{escape(_words(node))}</text>'
            f'<rect x="{self.bars:g}" y="{y - 6:g}" width="{max(BAR * node.mass, 1.0):.4g}" '
            f'height="12" fill="{node.color}"/>{whisker}'
            f'<text x="{self.bars + max(BAR * end, 1.0) + 4:.5g}" y="{y + 4:g}" '
            f'font-size="10" opacity=".8">{mass}</text>'
        ]
        if node.value is not None and self.layout.axis is not None:
            parts.append(self.interval(self.layout.axis, node.color, node.value, y))
        return "".join(parts)

    def interval(self, axis: tuple[float, float], color: str, value: CellValue, y: float) -> str:
        """The range of predictions as a band, or a single one as a bar where it is no figure; the
        interval as a line if the reports tell anything, and the value as a dot if they tell enough;
        the public one as a ring; the figure as text."""
        low, at, high = (self.along(axis, end) for end in (value.low, value.value, value.high))
        ring = band = known = ""
        if not value.untold:
            known = (
                f'<path d="M{low:.5g} {y - 5:g}v10m0-5H{high:.5g}m0-5v10" stroke="{color}" '
                'stroke-width="2" fill="none"/>'
            )
        if not value.is_only_predicted:
            known += f'<circle cx="{at:.5g}" cy="{y:g}" r="4" fill="{color}"/>'
        if value.within is None and value.is_only_predicted:
            band = f'<path d="M{at:.5g} {y - 8:g}v16" stroke="{color}" stroke-width="3"/>'
        elif value.within is not None:
            least, most = (self.along(axis, end) for end in value.within)
            band = (
                f'<rect x="{least:.5g}" y="{y - 8:g}" width="{max(most - least, 1.0):.4g}" '
                f'height="16" fill="{color}" opacity=".25"/>'
            )
        if value.public is not None:
            ring = (
                f'<circle cx="{self.along(axis, value.public):.5g}" cy="{y:g}" r="5" fill="none" '
                'stroke="currentColor"/>'
            )
        words = f'<text x="{self.values:g}" y="{y + 4:g}">{escape(self.words(value))}</text>'
        return f"{band}{known}{ring}{words}"

    def scale(self, axis: tuple[float, float]) -> str:
        """A frame, a line in the middle, and the values of both ends and the middle above."""
        left, right = self.along(axis, axis[0]) - FRAME, self.along(axis, axis[1]) + FRAME
        below = self.height - MARGIN
        marks = [
            f'<path d="M{left:g} {self.top:g}H{right:g}V{below:g}H{left:g}z" fill="none" '
            'stroke="currentColor" stroke-opacity=".2"/>'
        ]
        for value in (axis[0], (axis[0] + axis[1]) / 2, axis[1]):
            at, down = self.along(axis, value), 4.0 if value in axis else below - self.top
            marks.append(
                f'<path d="M{at:g} {self.top:g}v{down:g}" stroke="currentColor" '
                f'stroke-opacity="{".6" if value in axis else ".2"}"/><text x="{at:g}" '
                f'y="{self.top - 4:g}" font-size="10" text-anchor="middle">'
                f"{self.mark(value)}</text>"
            )
        title = axis_title(node.value for node in self.layout.nodes)
        marks.append(
            f'<text x="{self.along(axis, (axis[0] + axis[1]) / 2):g}" y="{self.top - 18:g}" '
            f'font-size="10" text-anchor="middle">{escape(title)}</text>'
        )
        return "".join(marks)

    def mark(self, value: float) -> str:
        names = [node.value.name for node in self.layout.nodes if node.value is not None]
        decimals = max(
            (node.value.decimals for node in self.layout.nodes if node.value is not None), default=0
        )
        return percent(value) if any(names) else in_decimals(value, decimals)

    def along(self, axis: tuple[float, float], value: float) -> float:
        low, high = axis
        part = (value - low) / (high - low) if high > low else 0.5
        return self.axis + 8.0 + min(max(part, 0.0), 1.0) * (AXIS - 24.0)

    def y(self, node: Node) -> float:
        return self.top + (node.row + 0.5) * ROW


def _pixels(text: str) -> float:
    """The width of a text at 12 pixels, in the widest of the usual fonts."""
    return sum(
        12.0 if letter in WIDE or letter > "\u024f" else 5.0 if letter in NARROW else 7.5
        for letter in text
    )


def _words(node: Node) -> str:
    return node.condition or "all"


def _rows(partition: Partition) -> Index:
    """The row of each node: parents first, then all on their left, then all on their right."""
    rows, stack = np.zeros(partition.nodes, dtype=np.int32), [0]
    for row in range(partition.nodes):
        node = stack.pop()
        rows[node] = row
        if partition.left[node] != LEAF:
            stack += [int(partition.right[node]), int(partition.left[node])]
    return rows


def cells_apart(model: Model, known: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """True for the cells whose colour tells something, ``(cells,)``, of those ``known``.

    Of a number and of two classes those whose interval has nothing in common with that of another
    cell; of more classes those whose likeliest class is likelier than every other in its interval,
    or has more than half.
    """
    if not known.any():
        return known
    if model.values.shape[1] > 2:
        top = model.values.argmax(axis=1)[:, None]
        others = np.where(np.arange(model.values.shape[1]) == top, -np.inf, model.high)
        least = np.take_along_axis(model.low, top, 1)[:, 0]
        return np.asarray(known & (least > np.minimum(others.max(axis=1), 1.0 - least)))
    low, high = model.low[:, -1], model.high[:, -1]
    return np.asarray(known & ((high < low[known].max()) | (low > high[known].min())))


def _legend(model: Model, apart: NDArray[np.bool_], known: NDArray[np.bool_]) -> str:
    """The meaning of the colours in a sentence: each class's, or the ends of the scale."""
    label = model.label
    has_many = isinstance(label, Classes) and len(label.classes) > 2
    if not known.any():
        return ""
    if not apart.any():
        return (
            "In no group is the likeliest answer certain."
            if has_many
            else "No group is sure to differ from another."
        )
    if isinstance(label, Classes) and has_many:
        rest = "" if apart.all() else "; grey where it is not certain"
        named = [
            f"{color} for {', '.join(label.classes[slot :: len(CLASS_COLORS)])}"
            for slot, color in enumerate(COLORS_IN_WORDS[: len(label.classes)])
        ]
        return f"Colours by the likeliest class: {'; '.join(named)}{rest}."
    seen = model.values[apart, -1]
    least, most = (_value_text(model, float(end)) for end in (seen.min(), seen.max()))
    what = f"the share of {label.classes[-1]}" if isinstance(label, Classes) else "the mean"
    rest = "" if apart.all() else "; the others are grey"
    return (
        f"In colour: groups that are sure to differ from another, by {what}, from blue ({least}) "
        f"to orange ({most}){rest}."
    )


def _value_text(model: Model, value: float) -> str:
    return (
        percent(value)
        if isinstance(model.label, Classes)
        else in_decimals(value, decimals_of(model.label))
    )


def decimals_of(label: Label) -> int:
    """Decimals of a number, by the width of all that is possible."""
    least, most = label.bounds
    return max(2 - floor(log10(most - least)), 0) if most > least else 0


def _colors(
    model: Model | None, partition: Partition, apart: NDArray[np.bool_] | None
) -> list[str]:
    """Colours of cells by prediction, where they can be told ``apart``; the rest is grey."""
    colors = [GREY] * partition.nodes
    if model is None or apart is None:
        return colors
    values = model.values
    seen = values[apart, -1] if apart.any() else values[:, -1]
    low, high = float(seen.min()), float(seen.max())
    for cell in np.flatnonzero(apart).tolist():
        if values.shape[1] > 2:
            color = CLASS_COLORS[int(values[cell].argmax()) % len(CLASS_COLORS)]
        else:
            place = (float(values[cell, -1]) - low) / max(high - low, 1e-300)
            mixed = [int((1 - place) * a + place * b) for a, b in zip(LOW, HIGH, strict=True)]
            color = "#{:02x}{:02x}{:02x}".format(*mixed)
        colors[int(partition.leaves[cell])] = color
    return colors
