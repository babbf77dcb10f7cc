"""The pages' sessions are run, command by command, and must print what the pages say."""

import doctest
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from scripts.servers import running_curator
from tests.processes import output_of

ROOT = Path(__file__).parents[2]
SESSION = re.compile(r"^```console\n(.*?)^```$", re.DOTALL | re.MULTILINE)
PAGES = ("docs/own-data.md",)
TASK_ID = re.compile(r"[0-9a-f]{64}")


def examples(text: str) -> Iterator[tuple[str, str]]:
    """Commands of all sessions, without those of make, and the output they should have."""
    for session in SESSION.findall(text):
        for part in re.split(r"^\$ ", session, flags=re.MULTILINE)[1:]:
            command, _, output = part.partition("\n")
            if not command.startswith("make "):
                yield command, output


def without_padding(text: str) -> str:
    return "\n".join(line.rstrip() for line in text.strip().splitlines()) + "\n"


def test_every_session_is_run() -> None:
    """A page whose sessions are no longer found, or that gets its first one, would go unnoticed."""
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    found = {
        str(page.relative_to(ROOT)): list(examples(text))
        for page in pages
        if "```console" in (text := page.read_text(encoding="utf-8"))
    }
    assert found.pop("README.md") == []  # that of make demo: test_set_up.py
    assert found.keys() == {*PAGES}
    assert min(map(len, found.values())) >= 5
    assert all(expected for commands in found.values() for _, expected in commands)


@pytest.mark.needs("curl")
def test_sessions_print_what_they_say(tmp_path: Path) -> None:
    """Each command prints the page's output, ``...`` standing for anything."""
    text = "\n".join((ROOT / page).read_text(encoding="utf-8") for page in PAGES)
    checker = doctest.OutputChecker()
    with running_curator(tmp_path / "curator") as curator:
        environment = {
            **os.environ,
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "COLUMNS": "100",
            "PRIVET_URL": curator.url,
            "PRIVET_TOKEN": curator.token,
            "XDG_DATA_HOME": str(tmp_path),
        }
        written_id = TASK_ID.search(text[text.index("$ privet task create") :])
        assert written_id is not None
        real_id = written_id.group()
        for command, expected in examples(text):
            here = command.replace("http://127.0.0.1:8000", curator.url)
            here = here.replace(written_id.group(), real_id)
            printed = output_of("bash", "-c", here, cwd=ROOT, env=environment, timeout=120)
            if command.startswith("privet task create"):
                found = TASK_ID.search(printed)
                assert found is not None, printed
                real_id = found.group()
            comparable = printed.replace(real_id, written_id.group())
            comparable = comparable.replace(real_id[:16], written_id.group()[:16])
            comparable = comparable.replace(curator.url, "http://127.0.0.1:8000")
            assert checker.check_output(
                without_padding(expected), without_padding(comparable), doctest.ELLIPSIS
            ), f"$ {command}\n{comparable}"
