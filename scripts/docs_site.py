"""Hooks of mkdocs: the site's navigation, and what it has besides the pages in ``docs/``.

The groups of the navigation are the sections of ``docs/index.md``. The README becomes a page, so do
notebooks with their stored outputs, and files outside ``docs/`` that pages link are copied.
"""

import json
import re
from collections.abc import Iterator
from html import escape
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
START = "start.md"
LINK = re.compile(r"\]\((?!https?:|mailto:|#)([^)#\s]+)")
ENTRY = re.compile(r"^\s*- \[([^\]]+)\]\(([^)#]+)\)(?:: (.*))?$", re.MULTILINE)


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """The sections of the index as groups, each with the pages that it lists."""
    text = (DOCS / "index.md").read_text(encoding="utf-8")
    _, *sections = re.split(r"^## ", text, flags=re.MULTILINE)
    nav: list[Any] = [{"Home": "index.md"}]
    for section in sections:
        pages = [_entry(*found.groups()) for found in ENTRY.finditer(section)]
        nav.append({section.splitlines()[0]: pages})
    config.nav = nav
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the README, the notebooks as pages, and the files that pages link outside ``docs/``."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    files.append(File.generated(config, START, content=readme.replace("](docs/", "](")))
    for notebook in sorted((DOCS / "examples").glob("*.ipynb")):
        source = f"examples/{notebook.stem}.md"
        files.append(File.generated(config, source, content=as_markdown(notebook)))
    for page in DOCS.glob("*.md"):
        for target in LINK.findall(page.read_text(encoding="utf-8")):
            name = _outside(target)
            if name is not None and files.get_file_from_path(name) is None:
                path = str((DOCS / target).resolve())
                files.append(File.generated(config, name, abs_src_path=path))
    return files


def on_page_markdown(markdown: str, page: Page, **_: Any) -> str:
    """Make links to the README, to notebooks, and out of ``docs/`` lead to these in the site."""

    def rewritten(link: re.Match[str]) -> str:
        target = link[1]
        if target == "../README.md":
            target = START
        elif target.endswith(".ipynb"):
            target = f"{target.removesuffix('ipynb')}md"
        return f"]({_outside(target) or target}"

    return markdown if page.file.src_uri.startswith("adr/") else LINK.sub(rewritten, markdown)


def as_markdown(notebook: Path) -> str:
    """A notebook's texts, code and stored outputs, with a link to the file itself."""
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    parts = [part for cell in cells for part in _cell(cell)]
    link = f'<p><a href="{notebook.name}" download>Download this page as a notebook</a></p>'
    return "\n\n".join([*parts, link]) + "\n"


def _cell(cell: dict[str, Any]) -> Iterator[str]:
    source = "".join(cell["source"])
    if cell["cell_type"] == "markdown":
        yield source
        return
    yield f"```python\n{source}\n```"
    for output in cell["outputs"]:
        data = output.get("data", {"text/plain": output.get("text", "")})
        if "text/html" in data:
            html = "".join(data["text/html"])
            yield f"<div>{' '.join(html.split(chr(10)))}</div>"
        elif "image/png" in data:
            encoded = "".join(data["image/png"]).replace("\n", "")
            yield f'<img alt="{escape(source)}" src="data:image/png;base64,{encoded}">'
        else:
            yield f"```text\n{''.join(data['text/plain']).rstrip()}\n```"


def _entry(title: str, target: str, _: str | None) -> dict[str, str]:
    return {title: START if target == "../README.md" else target.replace(".ipynb", ".md")}


def _outside(target: str) -> str | None:
    """Where the site has a file outside ``docs/``; None for one inside and for the README."""
    inside = not target.startswith("../") or target == "../README.md"
    return None if inside else f"files/{target.removeprefix('../')}"
