"""Figures of all people with their intervals, as a picture that stands by itself and as a table."""

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from ..core.amounts import amount, percent
from ..core.escaping import csv_cell

WIDTH, MARGIN, LETTER = 640.0, 16.0, 8.0
"""Pixels of the picture, around it, and of a letter on average."""
BACK, INK, SOFT, LINE, FRAME = "#ffffff", "#17241f", "#52605a", "#12634a", "#cfd8d2"


@dataclass(frozen=True)
class DrawnFigure:
    """A share, or a mean, with its 95 % interval and a sentence about it.

    ``public`` is the same of the public records; ``known`` is False where the interval is too wide
    for the value to say anything. ``name`` is the class, or the label of a number.
    """

    sentence: str
    value: float
    low: float
    high: float
    public: float | None = None
    known: bool = True
    name: str = ""


def figures_to_svg(
    title: str,
    figures: Sequence[DrawnFigure],
    axis: tuple[float, float],
    measures: str,
    source: str,
) -> str:
    """The figures, each a sentence above its interval on one axis, which ``measures`` names.

    The picture has a ground of its own, so it can stand in any page; its text is in its
    description too. ``source`` stands below. A value is a dot, the public one a diamond.
    """
    least, most = axis
    is_share = axis == (0.0, 1.0)
    rows, height = [], MARGIN + 22.0 * len(wrapped(title)) + 8.0
    for each in figures:
        words = wrapped(each.sentence)
        height += 20.0 * len(words) + 28.0
        y = height - 14.0
        rows += [
            text_at(MARGIN, y - 14.0 - 20.0 * (len(words) - 1 - place), line)
            for place, line in enumerate(words)
        ]
        low, at, high = (_along(axis, end) for end in (each.low, each.value, each.high))
        rows.append(
            f'<path d="M{_along(axis, least):g} {y:g}H{_along(axis, most):g}" stroke="{FRAME}"/>'
            f'<path d="M{low:.5g} {y - 5:g}v10m0-5H{high:.5g}m0-5v10" stroke="{LINE}" '
            'stroke-width="2" fill="none"/>'
        )
        if each.known:
            rows.append(f'<circle cx="{at:.5g}" cy="{y:g}" r="4.5" fill="{LINE}"/>')
        if each.public is not None:
            x = _along(axis, each.public)
            rows.append(f'<path d="M{x:.5g} {y - 6:g}l6 6l-6 6l-6-6z" fill="none" stroke="{INK}"/>')
    text = percent if is_share else amount
    for place, anchor in ((0.0, "start"), (0.5, "middle"), (1.0, "end")):
        value = least + place * (most - least)
        small = f'font-size="12" fill="{SOFT}" text-anchor="{anchor}"'
        rows.append(text_at(_along(axis, value), height + 14.0, text(value), small))
    key = "● with its 95 % interval" if any(each.known for each in figures) else "95 % interval"
    key += ", ◇ the earlier file" if any(each.public is not None for each in figures) else ""
    for line in (measures, key, *wrapped(source)):
        height += 18.0
        rows.append(text_at(MARGIN, height + 16.0, line, f'font-size="12" fill="{SOFT}"'))
    height += 16.0 + MARGIN
    described = " ".join(each.sentence for each in figures)
    return standing(title, described, rows, height)


def standing(title: str, described: str, drawn: Sequence[str], height: float) -> str:
    """A picture of things ``drawn`` below its title, on its own ground and with its words in it."""
    titles = "".join(
        text_at(MARGIN, MARGIN + 16.0 + 22.0 * place, line, 'font-size="18" font-weight="600"')
        for place, line in enumerate(wrapped(title))
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH:g} {height:g}" '
        f'width="{WIDTH:g}" height="{height:g}" role="img" aria-labelledby="title desc" '
        f'font-family="system-ui, \'DejaVu Sans\', sans-serif" font-size="15" fill="{INK}">\n'
        f'<title id="title">{escape(title)}</title>\n<desc id="desc">{escape(described)}</desc>\n'
        f'<rect width="100%" height="100%" fill="{BACK}"/>\n{titles}\n{"".join(drawn)}\n</svg>\n'
    )


def figures_to_csv(figures: Sequence[DrawnFigure]) -> str:
    """A row for each figure: its name, value, the ends of its 95 % interval, and the public one."""
    table = io.StringIO()
    writer = csv.writer(table, lineterminator="\n")
    writer.writerow(("figure", "value", "low", "high", "public"))
    for each in figures:
        writer.writerow((csv_cell(each.name), each.value, each.low, each.high, each.public))
    return table.getvalue()


def text_at(x: float, y: float, words: str, look: str = "") -> str:
    """Words at a pixel, with attributes for their look."""
    return f'<text x="{x:g}" y="{y:g}" {look}>{escape(words)}</text>'


def _along(axis: tuple[float, float], value: float) -> float:
    """The pixel of a value, within the frame."""
    low, high = axis
    part = (min(max(value, low), high) - low) / (high - low) if high > low else 0.5
    return MARGIN + 4.0 + part * (WIDTH - 2.0 * MARGIN - 8.0)


def wrapped(text: str) -> list[str]:
    """Lines that fit the picture."""
    most, lines = int((WIDTH - 2.0 * MARGIN) / LETTER), [""]
    for word in text.split(" "):
        if lines[-1] and len(lines[-1]) + 1 + len(word) > most:
            lines.append(word)
        else:
            lines[-1] = f"{lines[-1]} {word}".strip()
    return lines
