"""What crosses the wire is spelled in protocol/calls.py alone."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from privet.protocol import calls
from privet.protocol.calls import HOLDER_CALLS, RELAY_CALLS

PACKAGE = Path(__file__).parents[1]
ROOMS = (
    "admin",
    "client",
    "conformance",
    "curator",
    "http_client",
    "http_server",
    "intake",
    "page",
    "protocol",
    "relay",
)
SPELLED = re.compile(
    r"/v1\b|vnd\.privet|application/(?:problem\+)?json|privet-(?:invitation|signature|receipt)\b",
    re.I,
)
FILES = [path for room in ROOMS for path in sorted((PACKAGE / room).rglob("*.py"))]
DOCS = (PACKAGE / "docs" / "calls.md").read_text(encoding="utf-8")


def texts(tree: ast.AST) -> Iterator[str]:
    """The texts in code, without docstrings."""
    documentation = {
        id(statement.value) for statement in ast.walk(tree) if isinstance(statement, ast.Expr)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and id(node) not in documentation:
            value = node.value.decode("latin-1") if isinstance(node.value, bytes) else node.value
            if isinstance(value, str):
                yield value


def test_no_other_file_names_a_path_header_or_media_type() -> None:
    """Not even in a message for people, which would go on naming what has changed."""
    assert len(FILES) > 100
    found = {
        str(path.relative_to(PACKAGE)): text
        for path in FILES
        if path != PACKAGE / "protocol" / "calls.py"
        for text in texts(ast.parse(path.read_text(encoding="utf-8")))
        if SPELLED.search(text)
    }
    assert found == {}


@pytest.mark.parametrize("call", [*HOLDER_CALLS, *RELAY_CALLS], ids=lambda call: call.below)
def test_the_page_names_every_call(call: calls.Call) -> None:
    """docs/calls.md, with what goes with it and what comes back."""
    path = call.path.format(task_id="{id}", report_id="{report}")
    assert f"{call.method} {path}" in re.sub(r"\s+", " ", DOCS)
    for named in (call.body, call.header):
        assert named is None or f"{named}`" in DOCS
    assert all(str(status) in DOCS for status in call.responses)
