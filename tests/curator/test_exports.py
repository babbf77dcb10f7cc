"""What tasks and users write is shown by every export as it is, and run by none."""

import csv
import io
import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from privet.admin.results import ReportSource
from privet.curator.cli.model import write_predictions
from privet.curator.operations.card import write_card
from privet.learning.core.counts import QuestionCounts
from privet.learning.core.escaping import csv_cell, markdown
from privet.learning.core.model import FittedModel, Model
from privet.learning.core.public_data import PublicData
from privet.learning.display.picture import lay_out, to_svg
from privet.learning.display.tree import TreeDisplay
from privet.learning.export.formats import EXPORTS
from privet.learning.methods import fit
from privet.learning.simulation import simulate_sums
from privet.learning.task_building.encoded_table import as_csv, encoded_table
from privet.learning.task_building.settings import TaskSettings
from privet.page import index
from privet.protocol.features import UNSHOWABLE, Categorical, Classes, Numeric, columns_of
from privet.protocol.partition import Partition, Tree
from privet.protocol.task import Question, Task
from privet.protocol.values import NUMBER
from tests.keeping import keeps

HOSTILE = [
    "=cmd|' /C calc'!A0",
    '=HYPERLINK("http://evil.example")',
    "+1+1",
    "-2+3",
    "@SUM(A1)",
    "x;=1+1",
    "\ufeff=1+1",
    "\uff1d1+1",
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "[x](javascript:alert(1))",
    "![x](javascript:alert(1))",
    "<javascript:alert(1)>",
    "[x]: javascript:alert(1)",
    "a | b | c",
    "`a` | ``b",
    "# heading",
    "1. one",
    "---",
    "===",
    "> quoted",
    "*a* _b_ ~~c~~ $d$",
    "\\",
    "&lt;script&gt; &amp;",
    '"quoted", and more',
]
odd = st.sampled_from(HOSTILE) | st.text(
    "=+-@;,\"'|`<>[]()!&#*_~\\$.:/01 aé\ufeff\u200b\uff1d", min_size=1, max_size=12
)
names = odd.filter(lambda text: text == text.strip() and not UNSHOWABLE.search(text))
lines = st.lists(odd.filter(lambda text: not UNSHOWABLE.search(text)), max_size=4).map("\n".join)
several = st.lists(names, min_size=9, max_size=9, unique=True)

PUBLIC = PublicData(np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 1.0]] * 20), np.array([0.0, 1.0] * 20))
SPLITS = Partition.build(
    3,
    feature=[0, -1, 1, -1, -1],
    threshold=[0.5, 0.0, 0.5, 0.0, 0.0],
    left=[1, -1, 3, -1, -1],
    right=[2, -1, 4, -1, -1],
)


def published(name: str, description: str, named: list[str]) -> Task:
    """A task whose texts are all given."""
    number, text, label, *others = named
    return Task.checked(
        {
            "name": name,
            "description": description,
            "features": (
                Numeric(name=number, low=0.0, high=1.0),
                Categorical(name=text, categories=tuple(others[:2])),
            ),
            "label": Classes(name=label, classes=tuple(others[2:4])),
            "partitions": (Tree.of(SPLITS),),
            "questions": (Question(partition=0, mechanism="grr", epsilon=2.0),),
        }
    )


def modelled(task: Task) -> tuple[Model, QuestionCounts]:
    """A model of 600 simulated reports."""
    (mechanism,), (tree,) = task.mechanisms, task.trees
    counts = np.full((mechanism.cells, mechanism.levels), 100)
    sums = simulate_sums(mechanism, counts, np.random.default_rng(0))
    question = QuestionCounts(tree, mechanism, sums, int(counts.sum()))
    return fit("weighted", task.label, PUBLIC, [question]), question


TASK = published("t", "", list("abcdefg"))
MODEL, QUESTION = modelled(TASK)


def check_csv(data: bytes) -> list[list[str]]:
    """The rows; no cell is computed, by whichever of the usual separators a reader splits it."""
    text = data.decode("utf-8-sig")
    for separator in ",;\t":
        for row in csv.reader(io.StringIO(text, newline=""), delimiter=separator):
            for cell in row:
                begun = cell.lstrip('\ufeff\u200b "')
                assert begun[:1] not in set("=+-@\uff1d") or NUMBER.fullmatch(cell), cell
    return list(csv.reader(io.StringIO(text, newline="")))


def check_markdown(text: str) -> Iterator[tuple[str, str]]:
    """Kind and shown text of every block; there is no HTML, no link and no image in it."""
    tokens = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"]).parse(text)
    for before, token in zip([None, *tokens], tokens, strict=False):
        assert token.type not in {"html_block", "code_block", "fence", "blockquote_open", "hr"}
        if token.type != "inline":
            continue
        shown = ""
        for part in token.children or []:
            assert part.type in {"text", "text_special", "softbreak", "code_inline", "hardbreak"}
            shown += part.content or "\n"
        yield "" if before is None else before.tag, shown


@keeps(
    "threat-model: texts in a card are no markup",
    in_="learning/core/escaping.py",
    instead_of=r'line = MARKS.sub(r"\\\g<0>", line)',
    plant="pass",
)
@keeps(
    "threat-model: HTML in a card is text",
    in_="learning/core/escaping.py",
    instead_of='escape(UNSHOWABLE.sub(" ", text).strip(), quote=False)',
    plant='UNSHOWABLE.sub(" ", text).strip()',
)
@settings(max_examples=150, deadline=None)
@given(odd)
def test_markdown_shows_a_text_as_it_is(text: str) -> None:
    """Alone, in a heading, in a list and in a table; what is read is what was written."""
    wanted = " ".join(UNSHOWABLE.sub(" ", text).split())
    written = markdown(text)
    table = f"| {written} | x |\n| --- | --- |\n| y | {written} |"
    page = "\n\n".join([f"# {written}", written, f"- {written}", table])
    shown = [(tag, " ".join(content.split())) for tag, content in check_markdown(page)]
    assert [content for tag, content in shown if tag == "h1"] == [wanted]
    assert [content for tag, content in shown if tag in {"th", "td"}] == [wanted, "x", "y", wanted]
    assert [content for tag, content in shown if tag == "p"] == [wanted] * 2 * bool(wanted)


@keeps(
    "threat-model: a formula in a CSV cell is text",
    in_="learning/core/escaping.py",
    instead_of='return FORMULA.sub(r"\\1\'", value)',
    plant="return value",
)
@settings(max_examples=150, deadline=None)
@given(odd | st.integers().map(str) | st.floats())
def test_csv_cells_are_no_formulas(value: Any) -> None:
    """Numbers and harmless texts stay; of others the text is there behind an apostrophe."""
    cell = csv_cell(value)
    if isinstance(value, float) or NUMBER.fullmatch(value):
        assert cell is value
        return
    written = io.StringIO(newline="")
    csv.writer(written).writerow(["x", cell])
    check_csv(written.getvalue().encode())
    assert cell.replace("'", "") == value.replace("'", "")


@settings(max_examples=12, deadline=None)
@given(names, lines, several)
def test_exports_show_the_texts_of_a_task(name: str, description: str, named: list[str]) -> None:
    """Cards, CSV files, pictures and pages of tasks with hostile names."""
    task = published(name, description, named)
    model = replace(MODEL, label=task.label, parameters={named[7]: named[8]})
    fitted = FittedModel(task.id, 1, 0.0, model)
    ways = [ReportSource(relay=named[7], reports=3, worst_found=0.1)]
    shown = list(check_markdown(write_card(task, fitted, PUBLIC, [QUESTION], ways)))
    assert shown[0] == ("h1", f"{name}: model 1")
    assert [tag for tag, _ in shown].count("h1") == 1
    cells = [content for tag, content in shown if tag in {"th", "td"}]
    assert f"{named[2]}, one of {', '.join(named[5:7])}" in cells
    assert f"in batches of {named[7]}" in cells
    rows = check_csv(EXPORTS["csv"].write(task, fitted))
    assert {len(row) for row in rows} == {2 + 3 * 2 + 1}
    columns: dict[str, Any] = {
        named[0]: np.array([0.0, 1.0] * 2),
        named[1]: named[3:5] * 2,
        named[2]: named[5:7] * 2,
    }
    wanted = TaskSettings(name="t", label=named[2], epsilon=1.0)
    with suppress(UnicodeError):
        check_csv(as_csv(encoded_table(columns, wanted)))
    with TemporaryDirectory() as folder:
        write_predictions(Path(folder) / "p.csv", named, [[*named[:8], 0.5]])
        check_csv((Path(folder) / "p.csv").read_bytes())
    layout = lay_out(SPLITS, columns_of(task.features), model=model)
    check_picture(to_svg(layout, title=name))
    check_page(TreeDisplay(layout, name)._repr_html_())
    check_page(index(f"https://curator.example/v1/tasks/{name}", named[0]).decode())


def check_picture(svg: str) -> None:
    """It is XML, and draws only."""
    for element in ET.fromstring(svg).iter():
        assert element.tag.rpartition("}")[2] in DRAWING, element.tag
        assert not any(name.startswith("on") for name in element.attrib)


DRAWING = {
    "svg",
    "title",
    "desc",
    "style",
    "g",
    "a",
    "rect",
    "text",
    "line",
    "path",
    "circle",
    "tspan",
}


class Reader(HTMLParser):
    """Tags and attributes of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.scripts: list[dict[str, str | None]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag not in {"img", "iframe", "object"}
        for name, value in attrs:
            assert not name.startswith("on")
            assert not (name in {"href", "src"} and (value or "").lstrip().startswith("javascript"))
        if tag == "script":
            self.scripts.append(dict(attrs))


def check_page(text: str) -> None:
    """No script but the page's own files."""
    reader = Reader()
    reader.feed(text)
    assert all(re.fullmatch(r"[\w.-]+", script["src"] or "") for script in reader.scripts)


@pytest.mark.parametrize("text", HOSTILE)
def test_a_card_has_no_line_of_its_task_that_is_more_than_text(text: str) -> None:
    """A description of several lines stays paragraphs."""
    task = published("t", f"{text}\n\n{text}\n{text}", list("abcdefg"))
    card = write_card(task, FittedModel(task.id, 1, 0.0, MODEL), PUBLIC, [QUESTION])
    plain = " ".join(UNSHOWABLE.sub(" ", text).split())
    assert [shown for tag, shown in check_markdown(card) if tag == "p"][:2] == [
        plain,
        f"{plain}\n{plain}",
    ]
