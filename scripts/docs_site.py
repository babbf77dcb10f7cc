"""Hooks of mkdocs: the site's navigation, and what it has besides the pages in ``docs/``.

The groups of the navigation are the sections of ``docs/index.md``, and within them those of the
folders that have an index of their own. The README becomes a page, so do
notebooks with their stored outputs, and files outside ``docs/`` that pages link are copied.
"""

import json
import os
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
    listed = {section.splitlines()[0]: _entries(section, Path()) for section in sections}
    config.nav = [{"Home": "index.md"}, *({name: pages} for name, pages in listed.items() if pages)]
    return config


STYLE = """
:root, [data-md-color-scheme] { --md-primary-fg-color: #00695c; }
[data-md-color-scheme="default"] {
  --md-typeset-a-color: #00695c; --md-accent-fg-color: #00504a;
  --md-code-hl-operator-color: #555; --md-code-hl-punctuation-color: #555;
}
[data-md-color-scheme="slate"] {
  --md-typeset-a-color: #6fd3c4; --md-accent-fg-color: #a5ebe0;
  --md-code-hl-constant-color: #b9aef5; --md-code-hl-number-color: #f0978f;
}
.md-typeset p a, .md-typeset li a, .md-typeset td a { text-decoration: underline; }
.md-tabs__link { opacity: 1; }
.md-typeset table:not([class]) th { min-width: 0; }
.md-typeset table:not([class]) :is(th, td) { padding: .5em .6em; }
"""
"""Contrast, links that show by more than their colour, and tables of many columns that fit."""


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the README, the notebooks as pages, and the files that pages link outside ``docs/``."""
    files.append(File.generated(config, "site.css", content=STYLE))
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    readme = readme.replace("](docs/", "](").replace("](papers/", "](../papers/")
    files.append(File.generated(config, START, content=readme))
    for notebook in sorted((DOCS / "examples").glob("*.ipynb")):
        source = f"examples/{notebook.stem}.md"
        files.append(File.generated(config, source, content=as_markdown(notebook)))
    for page in DOCS.rglob("*.md"):
        for target in LINK.findall(page.read_text(encoding="utf-8")):
            file = (page.parent / target).resolve()
            if _is_copied(file) and files.get_file_from_path(_copy(file)) is None:
                files.append(File.generated(config, _copy(file), abs_src_path=str(file)))
    return files


def on_page_markdown(markdown: str, page: Page, **_: Any) -> str:
    """Make links to the README, to notebooks, and out of ``docs/`` lead to these in the site."""
    folder = (DOCS / page.file.src_uri).parent

    def rewritten(link: re.Match[str]) -> str:
        target, file = link[1], (folder / link[1]).resolve()
        if file == ROOT / "README.md":
            target = os.path.relpath(DOCS / START, folder)
        elif _is_copied(file):
            target = os.path.relpath(DOCS / _copy(file), folder)
        elif file.suffix == ".ipynb":
            target = f"{target.removesuffix('ipynb')}md"
        return f"]({target}"

    return LINK.sub(rewritten, markdown)


def on_page_content(html: str, **_: Any) -> str:
    """Empty headers of tables are no headers to a screen reader."""
    return html.replace("<th></th>", "<td></td>")


def on_post_page(output: str, **_: Any) -> str:
    """Name the theme's search for a screen reader."""
    return output.replace('role="dialog"', 'role="dialog" aria-label="Search"')


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


def _entries(text: str, folder: Path) -> list[Any]:
    """The pages that an index in a folder lists; another index stands with its own below it."""
    entries: list[Any] = []
    for title, target, _ in ENTRY.findall(text):
        path = (folder / target).as_posix()
        if path.endswith("/index.md"):
            below = _entries((DOCS / path).read_text(encoding="utf-8"), Path(path).parent)
            entries.append({title: [path, *below]})
        else:
            entries.append(
                {title: START if target == "../README.md" else path.replace(".ipynb", ".md")}
            )
    return entries


def _is_copied(file: Path) -> bool:
    """True if a file that a page links is outside ``docs/``, other than the README."""
    return file.is_file() and not file.is_relative_to(DOCS) and file != ROOT / "README.md"


def _copy(file: Path) -> str:
    """The site's path of a file from outside ``docs/``; a page of another project is a text."""
    path = f"files/{file.relative_to(ROOT).as_posix()}"
    return f"{path}.txt" if file.suffix == ".md" else path
