"""A public name has one meaning: no two rooms define it. Words that were given up stay away."""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
SURFACES = ("client/cli", "curator/cli", "curator/dashboard", "curator/http")
"""Commands, pages and routes have the names of the use cases that they call."""
SHARED = {
    "Settings": "each server has its own",
    "create_app": "each server has its own",
    "main": "each program has its own",
    "Figure": "on the wire it is what is left of one: its name, numbers and whether it differs",
}

GIVEN_UP = {
    "shown": "disclosed, or the thing itself",
    "told": "reported, detected, or the thing itself",
    "crowd": "group size, smallest group",
    "company": "group size, smallest group",
    "fate": "report state",
    "canary": "given up (ADR 0010)",
}
"""Words that no name in the code has, and what stands in their place."""
NOT_SAID = re.compile(
    r"\b(crowd|company|fate|canary|vouch\w*|mend(s|ed)?|by reasoning|for time's sake)\b",
    re.I,
)
"""Words that no docstring, message, page or document has."""
QUOTED = ("docs/adr", "relay/spool_forms.py")
"""Decisions and tables of then, in the words of then."""


def packages() -> Iterator[Path]:
    """The folders of all packages."""
    for path in sorted((ROOT / "privet").glob("*/__init__.py")):
        yield path.resolve().parent


def definitions(tree: ast.Module) -> Iterator[tuple[str, str, bool]]:
    """The public names that a module defines, what as, and whether as a class."""
    for node in tree.body:
        match node:
            case ast.ClassDef(name=name):
                yield name, "", True
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                yield name, "", False
            case ast.Assign(targets=targets, value=value):
                parts = (part for target in targets for part in ast.walk(target))
                for part in parts:
                    if isinstance(part, ast.Name):
                        yield part.id, ast.unparse(value), False
            case ast.AnnAssign(target=ast.Name(id=name)):
                yield name, "", False


def test_no_two_rooms_define_a_name() -> None:
    """Classes, and what other modules import; aliases of one type are one name."""
    trees = {
        path.relative_to(ROOT): ast.parse(path.read_text(encoding="utf-8"))
        for folder in packages()
        for path in sorted(folder.rglob("*.py"))
    }
    imported = defaultdict(set)
    for tree in trees.values():
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom):
                for alias in node.names:
                    imported[alias.name].add((node.module or "").rpartition(".")[2])
    rooms: dict[str, dict[str, str]] = defaultdict(dict)
    for path, tree in trees.items():
        room = path.parent.as_posix()
        module = path.parent.name if path.stem == "__init__" else path.stem
        for name, value, is_class in definitions(tree):
            if is_class or module in imported[name]:
                rooms[name][room] = value
    twice = {}
    for name, found in rooms.items():
        inside = {room: value for room, value in found.items() if not room.startswith(SURFACES)}
        same = len(set(inside.values())) == 1 and "" not in inside.values()
        if len(inside) > 1 and not same and name not in SHARED and not name.startswith("_"):
            twice[name] = sorted(inside)
    assert twice == {}
    assert SHARED.keys() <= rooms.keys()


def parts(name: str) -> set[str]:
    """The words of a name in snake or camel case."""
    return {part.lower() for part in re.findall(r"[A-Z]?[a-z]+|[A-Z]+", name)}


def names(tree: ast.Module) -> Iterator[str]:
    """All names in a module, those of arguments and attributes among them."""
    for node in ast.walk(tree):
        for field in ("id", "arg", "name", "attr"):
            name = getattr(node, field, None)
            if isinstance(name, str):
                yield name


def code() -> Iterator[Path]:
    """The modules of all packages, and the programs beside them."""
    for folder in (*packages(), ROOT / "scripts", ROOT / "bench"):
        yield from sorted(folder.rglob("*.py"))


def test_no_name_has_a_word_that_was_given_up() -> None:
    """One word for one thing; in docs/glossary.md they stand."""
    texts = {path: path.read_text(encoding="utf-8") for path in code()}
    found = {
        f"{path.relative_to(ROOT)}: {name}": GIVEN_UP[word]
        for path, text in texts.items()
        if any(word in text.lower() for word in GIVEN_UP)
        for name in names(ast.parse(text))
        for word in parts(name) & GIVEN_UP.keys()
    }
    assert found == {}


def test_no_text_has_a_word_that_was_given_up() -> None:
    """Neither in code, pages and templates, nor in the documentation, but for its records."""
    files = [
        *code(),
        *(ROOT / "page").glob("*.js"),
        *(ROOT / "holder-js/src").glob("*.js"),
        *(ROOT / "curator/dashboard").rglob("*.html"),
    ]
    files += [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    assert len(files) > 300
    found = {
        f"{path.relative_to(ROOT)}: {match[0]}"
        for path in files
        if not path.relative_to(ROOT).as_posix().startswith(QUOTED)
        for match in NOT_SAID.finditer(path.read_text(encoding="utf-8"))
    }
    assert found == set()
