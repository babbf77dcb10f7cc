"""The commands of the handbook's two pages do what these say."""

import re
import shlex
from pathlib import Path

from privet.curator.datastore import open_store
from tests.curator.cli.conftest import Cli

DOCS = Path(__file__).parents[3] / "docs"
PLACES = {
    "sqlite:////var/lib/privet/privet.db": "sqlite:///privet.db",
    "postgresql://privet@host/new": "sqlite:///new.db",
}


def commands() -> list[str]:
    """Every line of the pages' blocks that runs ``privet``, with places that a test may use."""
    pages = (DOCS / name for name in ("operations.md", "monitoring.md"))
    text = "\n".join(page.read_text(encoding="utf-8") for page in pages)
    for place, ours in PLACES.items():
        text = text.replace(place, ours)
    blocks = re.findall(r"^```\w*\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    return [line for block in blocks for line in block.splitlines() if line.startswith("privet ")]


def test_every_command_of_the_handbook_runs(cli: Cli) -> None:
    """In their order, in an empty folder; of ``serve`` the options."""
    open_store("sqlite:///privet.db").close()
    told = commands()
    assert len(told) > 8
    for line in told:
        _, command, *arguments = shlex.split(line)
        if command == "serve":
            known = cli("serve", "--help").out
            assert all(option in known for option in arguments if option.startswith("--"))
            continue
        done = cli(command, *arguments)
        assert done.code == 0, f"{line}: {done.err}"
