"""The documentation site builds without a warning and loads nothing from elsewhere."""

import json
import os
import re
import sys
from collections.abc import Iterator
from functools import partial
from html.parser import HTMLParser
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

import privet
from scripts.notebooks import NOTEBOOKS
from tests.browsing import violations
from tests.processes import output_of
from tests.served import serving

ROOT = Path(__file__).parent.parent
SURVEY = "examples/survey"
LOADED = {"href": {"link"}, "src": None, "srcset": None, "data": {"object"}, "poster": None}
"""Attributes by which a page loads a file, and of which tags if not of all."""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built strictly: every warning, as of a link that leads nowhere, is an error."""
    folder = tmp_path_factory.mktemp("site")
    build = (sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", folder)
    output_of(*build, cwd=ROOT, env=os.environ | {"NO_MKDOCS_2_WARNING": "1"})
    return folder


class _Loaded(HTMLParser):
    """Collects the addresses of all that a page loads."""

    def __init__(self) -> None:
        super().__init__()
        self.addresses: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            tags = LOADED.get(name, set())
            if value and (tags is None or tag in tags):
                self.addresses.append(value)


def loaded(site: Path) -> Iterator[tuple[str, str]]:
    for page in site.rglob("*.html"):
        parser = _Loaded()
        parser.feed(page.read_text(encoding="utf-8"))
        yield from ((page.name, address) for address in parser.addresses)
    for sheet in site.rglob("*.css"):
        text = sheet.read_text(encoding="utf-8")
        yield from ((sheet.name, a) for a in re.findall(r"url\([\"']?([^)\"']+)", text))
        yield from ((sheet.name, a) for a in re.findall(r"@import [\"']([^\"']+)", text))


@pytest.mark.slow
def test_it_loads_nothing_from_elsewhere(site: Path) -> None:
    """Scripts, styles, fonts and pictures are in the site itself."""
    addresses = list(loaded(site))
    assert len(addresses) > 100
    assert [a for a in addresses if re.match(r"(?:https?:)?//", a[1])] == []


@pytest.mark.slow
def test_it_has_every_page_a_search_and_a_reference(site: Path) -> None:
    """Pages, the README, notebooks with their pictures, and the public API's docstrings."""
    pages = {path.stem for path in site.rglob("*.html")}
    assert {path.stem for path in (ROOT / "docs").rglob("*.md")} - {"template"} <= pages
    assert {"start", *(path.stem for path in NOTEBOOKS)} <= pages
    reference = (site / "reference.html").read_text(encoding="utf-8")
    for name in set(privet.__all__) - {"__version__"}:
        assert re.search(rf'id="privet\.[\w.]*\b{name}"', reference), name
    assert "<svg" in (site / "examples" / "survey.html").read_text(encoding="utf-8")
    index = json.loads((site / "search" / "search_index.json").read_text(encoding="utf-8"))
    assert any("epsilon" in entry["text"] for entry in index["docs"])


@pytest.mark.needs("chromium")
def test_a_browser_searches_it_and_calls_nobody_else(site: Path, tab: Any) -> None:
    """Scripts run without errors and ask this machine alone; axe finds nothing, light and dark."""
    asked: list[str] = []
    faults: list[str] = []
    tab.on("request", lambda request: asked.append(request.url))
    tab.on("pageerror", lambda error: faults.append(str(error)))
    files = partial(SimpleHTTPRequestHandler, directory=str(site))
    with serving(ThreadingHTTPServer(("127.0.0.1", 0), files)) as home:
        for scheme in ("dark", "light"):
            tab.emulate_media(color_scheme=scheme)
            for page in ("index", "is-it-for-me", "reference", "performance", SURVEY):
                tab.goto(f"{home}/{page}.html")
                assert violations(tab.locator("h1")) == [], (scheme, page)
        tab.keyboard.press("/")
        tab.keyboard.type("invitation")
        tab.wait_for_selector(".md-search-result__item")
    assert faults == []
    assert [url for url in asked if not url.startswith((home, "data:", "blob:"))] == []


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebooks_keep_their_outputs_and_use_the_front_door(path: Path) -> None:
    """A reader sees results, and needs no module that ``import privet`` does not name."""
    code = code_of(path)
    outputs = [output.get("data", {}) for cell in code for output in cell["outputs"]]
    assert any("<svg" in "".join(data.get("text/html", "")) for data in outputs)
    assert all(cell["execution_count"] for cell in code)
    source = "\n".join("".join(cell["source"]) for cell in code)
    assert set(re.findall(r"^(?:from|import) (privet[\w.]*)", source, re.MULTILINE)) == {"privet"}
    assert "Traceback" not in path.read_text(encoding="utf-8")
    assert str(ROOT) not in path.read_text(encoding="utf-8")


@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebooks_run(path: Path, tmp_path: Path) -> None:
    """Every cell succeeds in a fresh kernel, with outputs of the stored kinds."""
    copy = tmp_path / "docs" / "examples" / path.name
    copy.parent.mkdir(parents=True)
    copy.write_bytes(path.read_bytes())
    (tmp_path / "scripts").symlink_to(ROOT / "scripts")  # what notebooks read of a checkout
    alone = os.environ | {"OPENBLAS_NUM_THREADS": "1"}  # its threads spin while they wait
    output_of(sys.executable, "-m", "scripts.notebooks", copy, cwd=ROOT, env=alone)
    assert shape(copy) == shape(path)


def shape(path: Path) -> list[list[str]]:
    """The kinds of each cell's outputs."""
    return [[output["output_type"] for output in cell["outputs"]] for cell in code_of(path)]


def code_of(path: Path) -> list[dict[str, Any]]:
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return [cell for cell in cells if cell["cell_type"] == "code"]
