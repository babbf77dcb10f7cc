"""The project's pages link what exists, name what there is, and their code compiles."""

import re
from pathlib import Path

import pytest

from reproduce import ROOT

PAGES = sorted(
    page for folder in (".", "baselines", "tables") for page in (ROOT / folder).glob("*.md")
)
LINK = re.compile(r"\]\((?!https?:|mailto:)([^)#\s]*)(?:#([^)\s]+))?\)")
FILE = re.compile(r"`((?:baselines|reproduce|published)/[\w-]+\.\w+)`")
pages = pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, by GitHub's rule."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pages
def test_links_lead_somewhere(page: Path) -> None:
    """Files exist, and headings where a link names one."""
    for target, anchor in LINK.findall(page.read_text(encoding="utf-8")):
        file = (page.parent / target).resolve() if target else page
        assert file.exists(), target
        assert not anchor or anchor in anchors(file), f"{target}#{anchor}"


@pages
def test_code_is_there_and_compiles(page: Path) -> None:
    """Files that a page names, and its blocks of Python."""
    text = page.read_text(encoding="utf-8")
    assert [name for name in FILE.findall(text) if not (ROOT / name).exists()] == []
    for block in re.findall(r"^```python\n(.*?)^```", text, re.DOTALL | re.MULTILINE):
        compile(block, str(page), "exec")


def test_the_readme_lists_every_table() -> None:
    """So that each is found."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert {f"tables/{page.name}" for page in ROOT.glob("tables/*.md")} <= {
        target for target, _ in LINK.findall(text)
    }
