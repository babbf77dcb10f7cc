"""Every command of the three programs helps, completes, fits a terminal, and is plain in a pipe."""

import os
import pty
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

from privet.client.cli import app as holder
from privet.curator.cli import app as curator
from privet.relay.cli import app as relay

ROOT = Path(__file__).parent.parent
PROGRAMS = {"privet": curator, "privet-holder": holder, "privet-relay": relay}
WIDTH = 80
SHELLS = {"", "sh", "console"}
"""Languages of code blocks with commands."""


def walk(command: Any, *path: str) -> Iterator[tuple[str, ...]]:
    """All commands and groups below a program, itself included."""
    yield path
    for name, below in getattr(command, "commands", {}).items():
        yield from walk(below, *path, name)


def found(path: tuple[str, ...]) -> Any:
    command: Any = get_command(PROGRAMS[path[0]])
    for name in path[1:]:
        command = command.commands[name]
    return command


EVERY = [path for name, app in PROGRAMS.items() for path in walk(get_command(app), name)]
COMMANDS = [path for path in EVERY if not hasattr(found(path), "commands")]


def helped(path: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> str:
    with pytest.raises(SystemExit) as ended:
        get_command(PROGRAMS[path[0]])([*path[1:], "--help"], prog_name=path[0])
    assert ended.value.code == 0
    return capsys.readouterr().out


@pytest.mark.parametrize("path", EVERY, ids=" ".join)
def test_help_is_plain_and_fits(
    path: tuple[str, ...], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a pipe there is no colour, and no line is longer than a narrow terminal's."""
    monkeypatch.setenv("COLUMNS", str(WIDTH))
    text = helped(path, capsys)
    assert "\x1b" not in text
    assert max(map(len, text.splitlines())) <= WIDTH


@pytest.mark.parametrize("path", COMMANDS, ids=" ".join)
def test_help_has_an_example_that_parses(
    path: tuple[str, ...], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is of this command, and its options and files exist."""
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
    """In every code block of the pages; files, tasks and values are the reader's."""
    lines = list(documented())
    assert len(lines) > 30
    for page, (program, *words) in lines:
        path = [program]
        while hasattr(found(tuple(path)), "commands"):
            path.append(words.pop(0))
        known = {
            "--help",
            *(o for p in found(tuple(path)).params for o in (*p.opts, *p.secondary_opts)),
        }
        used = {word.partition("=")[0] for word in words if re.match(r"--?[a-z]", word)}
        assert used <= known, (page, path, used - known)


@pytest.mark.parametrize("name", PROGRAMS)
def test_shells_complete_commands(name: str) -> None:
    """The program prints the shell's script, and answers it when it asks."""
    program = Path(sys.executable).parent / name
    variable = f"_{name.replace('-', '_').upper()}_COMPLETE"

    def run(*arguments: str, **asked: str) -> str:
        environment = {k: v for k, v in os.environ.items() if not k.startswith("PRIVET_")} | asked
        done = subprocess.run(
            [program, *arguments], env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    script = run(**{variable: "source_bash"})
    assert f"{variable}=complete_bash" in script
    offered = run(**{variable: "complete_bash"}, COMP_WORDS=f"{name} s", COMP_CWORD="1").split()
    expected = [word for word in get_command(PROGRAMS[name]).commands if word.startswith("s")]  # type: ignore[attr-defined]
    assert offered == expected


LATE = (
    "import time\nfrom privet.http_client.terminal import waiting\nwith waiting('Fitting ...'):\n"
)


@pytest.mark.parametrize(("seconds", "shown"), [(0.0, False), (2.0, True)])
def test_a_terminal_is_told_what_takes_long(seconds: float, shown: bool) -> None:
    """Nothing for what is quick; a line that is gone at the end for what is not."""
    ours, theirs = pty.openpty()
    command = [sys.executable, "-c", f"{LATE}    time.sleep({seconds})"]
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "80"}
    process = subprocess.Popen(command, stderr=theirs, stdout=theirs, env=environment)
    assert process.wait(60) == 0
    os.write(theirs, b"END")
    said = b""
    while not said.endswith(b"END"):
        said += os.read(ours, 1000)
    os.close(ours)
    os.close(theirs)
    assert (b"Fitting ..." in said) == shown


def test_a_pipe_is_told_nothing() -> None:
    """However long it takes."""
    command = [sys.executable, "-c", f"{LATE}    time.sleep(1.5)"]
    done = subprocess.run(command, capture_output=True, check=True)
    assert (done.stdout, done.stderr) == (b"", b"")


def test_every_program_is_walked() -> None:
    """The programs of the package are these."""
    scripts = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"]
    assert set(scripts) == set(PROGRAMS)
    assert len(COMMANDS) > 35
