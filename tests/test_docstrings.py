"""The first line of a docstring names what it describes, or says what comes back."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
PUT_OFF = re.compile(
    r"(What|Whether|How|Which|Where|Who|Whose|Whom|Why|When|Those|That|The ones?|Of|By|It|So|Not)\b"
)
"""Beginnings of clauses about a thing that the sentence does not name."""


def docstrings(path: Path) -> Iterator[tuple[int, str]]:
    """The docstrings of modules, classes, functions and constants, with their lines."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        body = getattr(node, "body", None)
        for part in body if isinstance(body, list) else ():
            match part:
                case ast.Expr(value=ast.Constant(value=str(text))):
                    yield part.lineno, text


def test_first_lines_name_their_subject() -> None:
    """In all code but tests, whose docstrings are claims."""
    parts = sorted({path.resolve().parent for path in (ROOT / "privet").glob("*/__init__.py")})
    folders = [*parts, *(ROOT / name for name in ("bench", "scripts"))]
    faults = [
        f"{path.relative_to(ROOT)}:{line}: {text.splitlines()[0]}"
        for folder in folders
        for path in sorted(folder.rglob("*.py"))
        for line, text in docstrings(path)
        if PUT_OFF.match(text)
    ]
    assert len(folders) > 8
    assert faults == []
