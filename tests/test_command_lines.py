"""Every command of the three programs helps, completes, fits a terminal, and is plain in a pipe."""

import re
import shlex
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

from privet.client.cli import app as holder
from privet.conformance.cli import app as conformance
from privet.curator.cli import app as curator
from privet.relay.cli import app as relay

ROOT = Path(__file__).parent.parent
APPS = {
    "privet": curator,
    "privet-conformance": conformance,
    "privet-holder": holder,
    "privet-relay": relay,
}
PROGRAMS: dict[str, Any] = {name: get_command(app) for name, app in APPS.items()}
WIDTH = 80
SHELLS = {"", "sh", "console"}
"""Languages of code blocks with commands."""


def walk(command: Any, *path: str) -> Iterator[tuple[str, ...]]:
    """All commands and groups below a program, itself included."""
    yield path
    for name, below in getattr(command, "commands", {}).items():
        yield from walk(below, *path, name)


def found(path: tuple[str, ...]) -> Any:
    command = PROGRAMS[path[0]]
    for name in path[1:]:
        command = command.commands[name]
    return command


EVERY = [path for name, program in PROGRAMS.items() for path in walk(program, name)]
LEAVES = [path for path in EVERY if not hasattr(found(path), "commands")]


def helped(path: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> str:
    with pytest.raises(SystemExit) as ended:
        PROGRAMS[path[0]]([*path[1:], "--help"], prog_name=path[0])
    assert ended.value.code == 0
    return capsys.readouterr().out


@pytest.mark.parametrize("path", EVERY, ids=" ".join)
def test_help_is_plain_and_fits(
    path: tuple[str, ...], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a pipe there is no colour, and no line is longer than a narrow terminal is wide."""
    monkeypatch.setenv("COLUMNS", str(WIDTH))
    text = helped(path, capsys)
    assert "\x1b" not in text
    assert max(map(len, text.splitlines())) <= WIDTH


def test_no_line_of_help_ends_where_the_source_has_it_end() -> None:
    """Typer shows what is in a docstring's later paragraphs line by line: each has one."""
    for path in EVERY:
        command = found(path)
        texts = [command.help, *(getattr(each, "help", None) for each in command.params)]
        for text in filter(None, texts):
            assert not any("\n" in paragraph for paragraph in text.split("\n\n")), path


@pytest.mark.parametrize("path", LEAVES, ids=" ".join)
def test_help_has_an_example_that_parses(
    path: tuple[str, ...], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The example calls this command with options and files that exist."""
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("COLUMNS", "1000")
    (line,) = re.findall(r"Example: (.*)", helped(path, capsys))
    words = shlex.split(line)
    assert tuple(words[: len(path)]) == path
    found(path).make_context(" ".join(path), words[len(path) :])


def documented() -> Iterator[tuple[str, list[str]]]:
    """The lines of code blocks that start with one of the programs, by page."""
    for page in [*(ROOT / "docs").glob("*.md"), ROOT / "README.md"]:
        text = page.read_text(encoding="utf-8")
        for language, block in re.findall(r"^```(\w*)\n(.*?)^```", text, re.MULTILINE | re.DOTALL):
            lines = block.replace("\\\n", " ").splitlines() if language in SHELLS else []
            for line in (each.removeprefix("$ ") for each in lines):
                if line.partition(" ")[0] in PROGRAMS:
                    yield page.name, shlex.split(line, comments=True)


def test_documented_commands_exist_with_their_options() -> None:
    """Every command in a code block of the pages takes every option that it is shown with."""
    lines = list(documented())
    assert len(lines) > 30
    for page, (program, *words) in lines:
        path = [program]
        while hasattr(found(tuple(path)), "commands"):
            path.append(words.pop(0))
        options = {
            "--help",
            *(o for p in found(tuple(path)).params for o in (*p.opts, *p.secondary_opts)),
        }
        used = {word.partition("=")[0] for word in words if re.match(r"--?[a-z]", word)}
        assert used <= options, (page, path, used - options)


def test_every_program_is_walked() -> None:
    """The programs that an installation gets are those whose commands are tested here."""
    scripts = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"]
    assert set(scripts) == set(PROGRAMS)
    assert len(LEAVES) > 35
