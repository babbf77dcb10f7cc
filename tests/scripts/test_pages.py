"""Tables that commands write into the documentation."""

from pathlib import Path

import pytest

from bench.report import PAGE, TABLES
from scripts import screenshots
from scripts.load_test import PERFORMANCE
from scripts.pages import fill

TEXT = (
    "# A page\n\n<!-- table one -->\nold\n<!-- end -->\n\nBetween.\n\n"
    "<!-- table two -->\n<!-- end -->\nAfter.\n"
)


def test_tables_are_replaced_and_the_text_around_them_stays(tmp_path: Path) -> None:
    """Writing twice is the same as writing once."""
    page = tmp_path / "page.md"
    page.write_text(TEXT)
    for _ in range(2):
        fill(page, {"one": "| a |\n", "two": r"| \g<1> |"})
    expected = TEXT.replace("old", "| a |").replace("two -->\n", "two -->\n| \\g<1> |\n")
    assert page.read_text() == expected


def test_a_page_without_a_place_is_left_alone(tmp_path: Path) -> None:
    """Nothing is written where a table has no place, and the error names it."""
    page = tmp_path / "page.md"
    page.write_text(TEXT)
    with pytest.raises(ValueError, match="no place for the table 'three'"):
        fill(page, {"one": "new", "three": "new"})
    assert page.read_text() == TEXT


def test_the_documentation_has_every_place() -> None:
    """The page on performance has a place for benchmarks and for each kind of load test."""
    text = PAGE.read_text(encoding="utf-8")
    kinds = ["load single", "load relay", "load single through relay"]
    assert PAGE == PERFORMANCE
    places = ["machine", "short", "marks", *TABLES, *kinds]
    assert all(f"<!-- table {name} -->" in text for name in places)


def test_screenshots_that_pages_link_are_written() -> None:
    """A run that wrote none of them, or one too few, fails and names what is left."""
    written = [path.name for path in (screenshots.DOCS / "images").iterdir()]
    screenshots.check_linked(written)
    for some in ([], [name for name in written if name != "dashboard-task-dark.png"]):
        with pytest.raises(ValueError, match="dashboard-task-dark"):
            screenshots.check_linked(some)
