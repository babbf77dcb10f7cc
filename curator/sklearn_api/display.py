"""A fitted tree for people: as text and as a drawing, with its cells' own values.

With a public model, predictions also vary within a cell around these values.
"""

from html import escape

from privet.curator.estimation import Model
from privet.curator.trees.descriptions import describe_split
from privet.protocol.features import Classes, Column
from privet.protocol.partition import LEAF

ROW, COLUMN, WIDTH = 64, 150, 138
"""Distances in pixels between levels and cells of a drawing, and the width of a box."""


def as_text(model: Model, columns: tuple[Column, ...]) -> str:
    """One line per split and per cell, as scikit-learn's ``export_text`` prints a tree."""
    tree, lines = model.partition, []

    def descend(node: int, indent: str) -> None:
        if tree.left[node] == LEAF:
            lines.append(f"{indent}|--- {describe_cell(model, int(tree.cell_of_node[node]))}")
            return
        for left, child in ((True, tree.left[node]), (False, tree.right[node])):
            lines.append(f"{indent}|--- {describe_split(tree, columns, node, left=left)}")
            descend(int(child), f"{indent}|   ")

    descend(0, "")
    return "\n".join(lines) + "\n"


def as_svg(model: Model, columns: tuple[Column, ...]) -> str:
    """The tree as an SVG drawing: records that meet a node's condition go left."""
    tree = model.partition
    place = {}
    next_leaf = 0

    def put(node: int, depth: int) -> float:
        nonlocal next_leaf
        if tree.left[node] == LEAF:
            x, next_leaf = (next_leaf + 0.5) * COLUMN, next_leaf + 1
        else:
            children = (int(tree.left[node]), int(tree.right[node]))
            x = sum(put(child, depth + 1) for child in children) / 2
        place[node] = (x, depth * ROW + 30.0)
        return x

    put(0, 0)
    lines, boxes = [], []
    for node, (x, y) in place.items():
        if tree.left[node] == LEAF:
            text, fill = describe_cell(model, int(tree.cell_of_node[node])), "#e8f1fa"
        else:
            text, fill = describe_split(tree, columns, node, left=True), "#ffffff"
            for child in (int(tree.left[node]), int(tree.right[node])):
                to_x, to_y = place[child]
                lines.append(f'<path d="M{x:g} {y + 14:g}L{to_x:g} {to_y - 14:g}" stroke="#888"/>')
        boxes.append(
            f'<rect x="{x - WIDTH / 2:g}" y="{y - 14:g}" width="{WIDTH}" height="28" rx="4" '
            f'fill="{fill}" stroke="#888"/><text x="{x:g}" y="{y + 4:g}" font-size="11" '
            f'font-family="sans-serif" text-anchor="middle"><title>{escape(text)}</title>'
            f"{escape(text if len(text) <= 24 else text[:23] + '…')}</text>"
        )
    size = f'width="{tree.cells * COLUMN}" height="{tree.depth * ROW + 60}"'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size}>{"".join(lines + boxes)}</svg>'


def describe_cell(model: Model, cell: int) -> str:
    """The likeliest class with its probability, or the mean label, with the 95 % interval."""
    values = model.values[cell]
    best = int(values.argmax())
    name = f"{model.label.classes[best]} " if isinstance(model.label, Classes) else ""
    low, high = model.low[cell, best], model.high[cell, best]
    return f"{name}{values[best]:.3g} [{low:.3g}, {high:.3g}]"
