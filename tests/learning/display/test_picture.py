"""The picture of a tree shows every node once, in words, to everybody, and runs nothing."""

import re
from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pytest

from privet.learning.core.amounts import percent
from privet.learning.core.counts import Interval
from privet.learning.core.model import Model
from privet.learning.display.picture import GREY, Node, lay_out, to_svg, to_text
from privet.protocol.features import Categorical, Classes, Numeric, Range, columns_of
from privet.protocol.partition import LEAF, Partition

SVG = "{http://www.w3.org/2000/svg}"
FEATURES = (
    Numeric(name="age", low=20.0, high=80.0),
    Categorical(name="<script>", categories=("a & b", '"c"')),
)
COLUMNS = columns_of(FEATURES)
TREE = Partition.build(
    len(COLUMNS),
    feature=[0, 2, LEAF, LEAF, LEAF],
    threshold=[0.5, 0.5, 0.0, 0.0, 0.0],
    left=[1, 3, LEAF, LEAF, LEAF],
    right=[2, 4, LEAF, LEAF, LEAF],
)
WORDS = ["all", "age: under 50", "<script>: a & b", '<script>: "c"', "age: 50 or more"]
"""Of all nodes, in the order of their rows."""


def model(label: Classes | Range, values: list[list[float]]) -> Model:
    table = np.array(values)
    return Model(
        label=label,
        partition=TREE,
        values=table,
        standard_error=np.full_like(table, 0.05),
        low=table - 0.1,
        high=table + 0.1,
        public_share=np.zeros(3),
        n=100,
    )


TWO = model(Classes(name="ill", classes=("no", "<b>")), [[0.9, 0.1], [0.5, 0.5], [0.2, 0.8]])
THREE = model(
    Classes(name="ward", classes=("a", "b", "c")),
    [[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.1, 0.1, 0.8]],
)
NUMBERS = model(Range(name="cost", low=0.0, high=10.0), [[1.0], [5.0], [9.0]])


def groups(svg: str) -> list[ElementTree.Element]:
    return [g for g in ElementTree.fromstring(svg).iter(f"{SVG}g") if g.get("class") == "node"]


def test_every_node_has_a_row_in_words() -> None:
    """Parents above children, and texts come through whatever characters they have."""
    nodes = groups(to_svg(lay_out(TREE, COLUMNS, model=TWO), name="one"))
    assert [node.findtext(f"{SVG}text") for node in nodes] == WORDS
    assert [node.get("id") for node in nodes] == [f"one-{n}" for n in (0, 1, 3, 4, 2)]
    assert [node.get("data-cell") for node in nodes] == [None, None, "1", "2", "0"]
    titles = [node.findtext(f"{SVG}title") or "" for node in nodes]
    mass, value = "33\u00a0% of all", "<b> 50\u00a0% (40\u00a0% to 60\u00a0%)"
    assert titles[2] == f"age: under 50 · <script>: a & b; {mass}; {value}"


def test_a_picture_is_described_by_what_it_shows() -> None:
    """Shares or means, and the groups of which it has none; the whole is all of it."""

    def described(of: Model, untold: list[bool]) -> str:
        layout = lay_out(TREE, COLUMNS, model=of, untold=np.array(untold))
        return ElementTree.fromstring(to_svg(layout)).findtext(f"{SVG}desc") or ""

    ends = "with the 95 % interval"
    assert described(TWO, [False] * 3) == f"3 groups. Each shows its share {ends}."
    assert described(NUMBERS, [False] * 3) == f"3 groups. Each shows its mean {ends}."
    some = f"3 groups. Each shows its share {ends}, or “too few answers”."
    assert described(THREE, [True, False, False]) == some
    assert described(THREE, [True] * 3) == "3 groups. Each: “too few answers”."
    nearly = [Interval(1.0 - 1e-12, 0.9, 1.0), *[Interval(0.3, 0.1, 0.5)] * 4]
    assert lay_out(TREE, COLUMNS, reported=nearly).nodes[0].mass_text == "100\u00a0%"


def test_bars_are_as_wide_as_the_mass() -> None:
    """Negative masses, which noise makes, count as none; nodes have what their cells have."""
    layout = lay_out(TREE, COLUMNS, model=TWO, mass=np.array([30.0, 10.0, -5.0]))
    assert [node.mass for node in layout.nodes] == [1.0, 0.25, 0.75, 0.25, 0.0]
    bars = [float(g.findall(f"{SVG}rect")[1].get("width", "")) for g in groups(to_svg(layout))]
    assert bars == [60.0, 15.0, 15.0, 1.0, 45.0]


def test_two_classes_show_the_second_and_three_the_likeliest() -> None:
    """The public value stands beside, and numbers have no name."""
    public = np.array([[0.7, 0.3], [0.6, 0.4], [0.5, 0.5]])
    layout = lay_out(TREE, COLUMNS, model=replace(TWO, values_without_reports=public))
    assert str(layout.nodes[2].value) == "<b> 10\u00a0% (0\u00a0% to 20\u00a0%)"
    assert layout.describe(layout.nodes[2]).endswith("30\u00a0% without answers")
    assert (
        str(lay_out(TREE, COLUMNS, model=THREE).nodes[4].value)
        == "c 80\u00a0% (70\u00a0% to 90\u00a0%)"
    )
    assert str(lay_out(TREE, COLUMNS, model=NUMBERS).nodes[3].value) == "5.0 (4.9 to 5.1)"
    assert lay_out(TREE, COLUMNS, model=NUMBERS).axis == (0.9, 9.1)
    unknown = replace(TWO, low=np.zeros_like(TWO.low), high=np.ones_like(TWO.high))
    value = lay_out(TREE, COLUMNS, model=unknown).nodes[2].value
    assert str(value) == "too few answers, predicts <b> 10\u00a0%"


def test_an_interval_wider_than_half_of_what_is_possible_has_no_value() -> None:
    """In words and drawn: the value is a prediction, as where the answers tell nothing."""
    for width, has_value in ((0.5, True), (0.51, False)):
        high = np.where(TWO.values == 0.1, width, TWO.high)
        layout = lay_out(TREE, COLUMNS, model=replace(TWO, low=np.zeros_like(high), high=high))
        value = layout.nodes[2].value
        assert value is not None
        ends = f"0\u00a0% to {percent(width)}"
        assert value.figure == (f"<b> 10\u00a0% ({ends})" if has_value else f"<b> {ends}")
        assert (", predicts <b> 10\u00a0%" in str(value)) is not has_value
        drawn = to_svg(layout)
        assert f">{ends}<" in drawn or f">10\u00a0% ({ends})<" in drawn, "the axis names the class"
        (group,) = [g for g in groups(drawn) if g.get("data-node") == "2"]
        assert len([c for c in group.findall(f"{SVG}circle") if c.get("r") == "4"]) == has_value


@pytest.mark.parametrize("model", [TWO, THREE, NUMBERS])
def test_a_cell_of_which_reports_tell_nothing_has_no_interval(model: Model) -> None:
    """Where its interval is all that is possible, of classes and of numbers, or where the reports'
    own is, whatever the model's: neither dot nor line nor colour; the others have them."""
    least, most = model.label.bounds
    unknown = replace(model, low=model.low.copy(), high=model.high.copy())
    unknown.low[1], unknown.high[1] = least, most
    for of, untold in ((unknown, None), (model, np.array([False, True, False]))):
        layout = lay_out(TREE, COLUMNS, model=of, untold=untold)
        drawn = to_svg(layout)
        for node in layout.nodes:
            if node.value is not None:
                assert bool(node.value.untold) == (node.cell == 1)
                assert ("too few answers" in str(node.value)) == (node.cell == 1)
                assert node.color == GREY or node.cell != 1
        (guess,) = (node.value for node in layout.nodes if node.value and node.value.untold)
        (bar,) = re.findall(r'd="M([0-9.]+) [0-9.]+v16" stroke="#858585"', drawn)
        low, high = layout.axis or (0.0, 1.0)
        part = (guess.value - low) / (high - low)
        ends = [float(x) for x in re.findall(r'<path d="M([0-9.]+) 36v', drawn)]
        assert float(bar) == pytest.approx(ends[0] + part * (ends[-1] - ends[0]), abs=0.1)
        assert drawn.count('r="4"') == drawn.count('stroke-width="2"') == of.partition.cells - 1


def test_intervals_are_where_the_axis_says() -> None:
    """The dot lies between the ends, at its share of the way."""
    layout = lay_out(TREE, COLUMNS, model=TWO)
    (group,) = [g for g in groups(to_svg(layout)) if g.get("data-cell") == "1"]
    line = group.find(f"{SVG}path")
    dot = group.find(f"{SVG}circle")
    assert line is not None
    assert dot is not None
    low, high = map(float, re.findall(r"[MH]([\d.]+)", line.get("d", "")))
    assert float(dot.get("cx", "")) == pytest.approx((low + high) / 2, abs=0.01)


@pytest.mark.parametrize(
    ("of", "title"),
    [
        (TWO, "predicted share of <b>"),
        (THREE, "predicted share of the class named"),
        (NUMBERS, "predicted mean"),
    ],
)
def test_the_axis_is_named_and_its_ends_are_apart_from_the_frame(of: Model, title: str) -> None:
    """An interval that ends at an end of the axis does not lie on the frame."""
    least, most = of.label.bounds
    wide = replace(of, low=np.full_like(of.low, least + 0.01), high=np.full_like(of.high, most))
    layout = lay_out(TREE, COLUMNS, model=wide)
    drawn = ElementTree.fromstring(to_svg(layout))
    assert title in [each.text for each in drawn.iter(f"{SVG}text")]
    (frame,) = [
        [float(x) for x in re.findall(r"[MH]([\d.]+)", each.get("d", ""))]
        for each in drawn.findall(f"{SVG}path")
        if each.get("d", "").endswith("z")
    ]
    for group in groups(to_svg(layout)):
        line = group.find(f"{SVG}path")
        if line is not None and "H" in line.get("d", ""):
            low, high = map(float, re.findall(r"[MH]([\d.]+)", line.get("d", "")))
            assert min(frame) + 5.0 <= low < high <= max(frame) - 5.0


def test_a_partition_alone_has_no_values() -> None:
    """Without a model there are words and masses, but no axis; one cell is one node.

    A picture with links has the role of a group, so that a keyboard reaches them.
    """

    def href(node: Node) -> str:
        return f'?node={node.number}&"'

    layout = lay_out(TREE, COLUMNS)
    assert layout.axis is None
    assert {node.value for node in layout.nodes} == {None}
    assert len(groups(to_svg(lay_out(Partition.root(3), COLUMNS)))) == 1
    root = ElementTree.fromstring(to_svg(layout, href=href))
    assert root.get("role") == "group"
    assert [a.get("href") for a in root.iter(f"{SVG}a")][:2] == ['?node=0&"', '?node=1&"']


@pytest.mark.parametrize("of", [TWO, THREE, NUMBERS], ids=["two", "three", "numbers"])
def test_colours_are_seen_on_light_and_dark_ground(of: Model) -> None:
    """Three to one against white and nearly black, as WCAG 2.2 asks of graphics."""
    for node in lay_out(TREE, COLUMNS, model=of).nodes:
        light = luminance(node.color)
        assert 1.05 / (light + 0.05) >= 3.0
        assert (light + 0.05) / (luminance("#1c1c1c") + 0.05) >= 3.0


def luminance(color: str) -> float:
    """Relative luminance of WCAG 2.2."""
    parts = (int(color[at : at + 2], 16) / 255 for at in (1, 3, 5))
    r, g, b = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts)
    return 0.2126 * r + 0.7152 * g + 0.0722 * b


def test_it_needs_no_style_and_loads_nothing() -> None:
    """A page with a strict policy may show it: no style, no script, no address."""
    svg = to_svg(lay_out(TREE, COLUMNS, model=TWO), title="<i>")
    root = ElementTree.fromstring(svg)
    assert root.get("role") == "img"
    assert root.findtext(f"{SVG}title") == "<i>"
    assert {element.tag.removeprefix(SVG) for element in root.iter()} <= {
        "svg", "title", "desc", "g", "rect", "path", "circle", "text",
    }  # fmt: skip
    assert "style" not in svg
    assert re.findall(r"https?://[^\"]+", svg) == ["http://www.w3.org/2000/svg"]


def test_text_has_the_same_words() -> None:
    """The text is indented as scikit-learn's ``export_text`` is, with a line per split and cell."""
    lines = to_text(lay_out(TREE, COLUMNS, model=TWO)).splitlines()
    assert lines[0] == "|--- age: under 50"
    assert lines[2] == "|   |   |--- <b> 50\u00a0% (40\u00a0% to 60\u00a0%)"
    assert len(lines) == 2 * 3 + 1


def test_a_tree_that_is_not_the_model_says_so() -> None:
    """With a public model the tree says that predictions differ within cells, and how far.

    The range is on the axis of a number, also beyond its interval; a cell without records has none.
    """
    based = replace(NUMBERS, base_values=NUMBERS.values)
    ranges = np.array([[0.5], [3.0], [np.nan]]), np.array([[4.0], [5.5], [np.nan]])
    layout = lay_out(TREE, COLUMNS, model=based, ranges=ranges)
    assert "summary" in layout.note
    assert layout.axis == (0.5, 9.1)
    assert str(layout.nodes[2].value) == "1.0 (0.9 to 1.1), predicts 0.5 to 4.0"
    assert str(layout.nodes[4].value) == "9.0 (8.9 to 9.1)"
    assert to_text(layout).splitlines()[0] == layout.note
    svg = to_svg(layout)
    assert layout.note in svg
    bands = [
        [float(rect.get("width", "")) for rect in g.findall(f"{SVG}rect") if rect.get("opacity")]
        for g in groups(svg)
        if g.get("data-cell")
    ]
    assert [len(widths) for widths in bands] == [1, 0, 1]
    assert lay_out(TREE, COLUMNS, model=based).note
    assert not lay_out(TREE, COLUMNS, model=NUMBERS).note


def test_only_what_can_be_told_apart_is_coloured() -> None:
    """A cell whose interval overlaps all others is grey, as are splits, and the legend says so."""
    wide = replace(TWO, low=TWO.low - 0.4, high=TWO.high + 0.4)
    alike = lay_out(TREE, COLUMNS, model=wide)
    assert {node.color for node in alike.nodes} == {GREY}
    assert alike.colors == "No group is sure to differ from another."
    assert "opacity" not in "".join(re.findall(r"<rect [^>]*#858585[^>]*>", to_svg(alike)))
    some = replace(TWO, high=np.where(np.arange(3)[:, None] == 1, 1.0, TWO.high))
    some = replace(some, low=np.where(np.arange(3)[:, None] == 1, 0.0, TWO.low))
    layout = lay_out(TREE, COLUMNS, model=some)
    grey = [node.cell for node in layout.nodes if node.color == GREY]
    assert grey == [None, None, 1]
    assert layout.colors.endswith("; the others are grey.")
    last = np.arange(3)[:, None] == 2
    most = replace(THREE, high=np.where(last, 0.9, THREE.high))
    layout = lay_out(TREE, COLUMNS, model=most)
    assert layout.nodes[int(TREE.leaves[2])].color != GREY, "more than half have the last class"
    unsure = replace(most, low=np.where(last, 0.4, THREE.low))
    layout = lay_out(TREE, COLUMNS, model=unsure)
    assert layout.nodes[int(TREE.leaves[2])].color == GREY
    assert layout.nodes[int(TREE.leaves[0])].color != GREY
    assert layout.colors.endswith("; grey where it is not certain.")
    even = np.full_like(THREE.values, 1.0 / 3.0)
    none = replace(THREE, values=even, low=even - 0.1, high=even + 0.1)
    assert lay_out(TREE, COLUMNS, model=none).colors == (
        "In no group is the likeliest answer certain."
    )


def test_groups_that_differ_surely_are_those_in_colour() -> None:
    """Each has an interval that another's does not meet; without such a pair none is sure to."""
    drawn, seen = np.random.default_rng(0), set()
    for _ in range(200):
        middle, half = drawn.uniform(0.1, 0.9, 3), drawn.uniform(0.0, 0.5, 3)
        low, high = np.clip(middle - half, 0.0, 1.0), np.clip(middle + half, 0.0, 1.0)
        pairs = [1.0 - middle, middle], [1.0 - high, low], [1.0 - low, high]
        values, least, most = (np.stack(pair, axis=1) for pair in pairs)
        model = replace(TWO, values=values, low=least, high=most)
        layout = lay_out(TREE, COLUMNS, model=model)
        cells = [(node, node.value) for node in layout.nodes if node.value is not None]
        apart = {
            node.number
            for node, one in cells
            for _, other in cells
            if one.high < other.low or other.high < one.low
        }
        assert {node.number for node, _ in cells if node.color != GREY} == apart
        told = any(not value.untold for _, value in cells)
        none = "No group is sure to differ from another." if told else ""
        assert layout.colors == none or apart
        assert not apart or layout.colors.startswith("In colour: groups that are sure to differ")
        assert ("the others are grey" in layout.colors) == (0 < len(apart) < len(cells))
        seen.add(len(apart))
    assert seen == {0, 2, 3}


def test_a_bar_shows_how_sure_its_mass_is() -> None:
    """By a line over it and in words, but for the root, which has all."""
    parts = [(1.0, 1.0, 1.0), (0.3, 0.1, 0.5), (0.7, 0.4, 0.9), (0.1, 0.0, 0.3), (0.4, 0.2, 0.6)]
    layout = lay_out(TREE, COLUMNS, model=TWO, reported=[Interval(*part) for part in parts])
    assert layout.nodes[1].mass_text == "30\u00a0% (10\u00a0% to 50\u00a0%)"
    assert layout.nodes[0].mass_text == "100\u00a0%"
    svg = to_svg(layout)
    assert layout.nodes[2].mass_text in svg
    assert [len(g.findall(f"{SVG}path")) for g in groups(svg)] == [0, 1, 2, 2, 2]


def test_numbers_have_as_many_decimals_in_every_cell() -> None:
    """By the width of the range, with thousands apart."""
    wide = replace(NUMBERS, label=Range(name="cost", low=0.0, high=90_000.0))
    wide = replace(wide, **{n: getattr(NUMBERS, n) * 5_000 for n in ("values", "low", "high")})
    texts = [str(node.value) for node in lay_out(TREE, COLUMNS, model=wide).nodes if node.value]
    assert texts[-1].replace("\u202f", " ") == "45 000 (44 500 to 45 500)"


def test_a_range_without_its_value_is_left_out() -> None:
    """Since the cell's own figure is then no summary of its predictions, which the note says."""
    based = replace(NUMBERS, base_values=NUMBERS.values)
    ranges = np.array([[2.0], [3.0], [8.0]]), np.array([[4.0], [5.5], [9.5]])
    layout = lay_out(TREE, COLUMNS, model=based, ranges=ranges)
    within = [node.value.within is None for node in layout.nodes if node.value]
    assert sorted(within) == [False, False, True]
    assert layout.note.endswith("None is given where the group's own figure lies outside.")


def test_the_colours_are_explained() -> None:
    """The ends of a scale, or each class's, by the colours that the bars have."""
    said = {id(of): lay_out(TREE, COLUMNS, model=of).colors for of in (TWO, THREE, NUMBERS)}
    sure = "In colour: groups that are sure to differ from another, by"
    share = f"{sure} the share of <b>, from blue (10\u00a0%) to orange (80\u00a0%)."
    assert said[id(TWO)] == share
    assert said[id(NUMBERS)] == f"{sure} the mean, from blue (1.0) to orange (9.0)."
    classes = "Colours by the likeliest class: blue for a; orange for b; green for c."
    assert said[id(THREE)] == classes
    nodes = lay_out(TREE, COLUMNS, model=TWO).nodes
    assert (nodes[2].color, nodes[4].color) == ("#2e7ec8", "#d06414")
    assert lay_out(TREE, COLUMNS).colors == ""
