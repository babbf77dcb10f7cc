"""The commands of the handbook do what it says."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from starlette.responses import JSONResponse
from starlette.types import Receive, Scope, Send

from privet.admin.client import CuratorClient
from privet.curator.datastore import open_store
from privet.protocol.report import Report
from tests.curator.cli.conftest import TOKEN, Cli, Front

PAGE = Path(__file__).parents[3] / "docs" / "operations.md"
PLACES = {
    "sqlite:////var/lib/privet/privet.db": "sqlite:///privet.db",
    "postgresql://privet@host/new": "sqlite:///new.db",
}


SHELL = "/bin/sh"
"""Where every system has it, also where PATH has no shell."""
WATCH = r"(?s)\n## Watch from outside\n(.*?)(?=\n## |\Z)"
"""A section of the handbook."""


def commands() -> list[str]:
    """Every line of its blocks that runs ``privet``, with places that a test may use."""
    text = re.sub(WATCH, "", PAGE.read_text(encoding="utf-8"))  # which has a test of its own
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


def watch_from_outside(folder: Path, url: str) -> tuple[list[str], Path]:
    """What the handbook's section types once, and the script that cron runs after it."""
    section = re.search(WATCH, PAGE.read_text(encoding="utf-8"))
    assert section
    typed, script = re.findall(r"^```\w*\n(.*?)^```", section[1], re.MULTILINE | re.DOTALL)
    public, *commands = typed.splitlines()
    subprocess.run([SHELL, "-c", public], cwd=folder, check=True)
    file = folder / "probe"
    file.write_text(script.replace("https://curator.example", url))
    return commands, file


@pytest.mark.slow
def test_what_watches_from_outside_sees_reports_that_do_not_count(
    cli: Cli, served: tuple[str, Front], curator_url: str, tmp_path: Path
) -> None:
    """It is silent where all is well, again and again, and says what is not."""
    commands, script = watch_from_outside(tmp_path, curator_url)
    done = [cli(*shlex.split(command)[1:]) for command in commands]
    assert [each.code for each in done] == [0, 0]
    token = done[-1].out.strip()
    api = CuratorClient(curator_url, TOKEN)
    filled = script.read_text().replace("PRIVET_TOKEN=...", f"PRIVET_TOKEN={token}")
    script.write_text(filled.replace("/tasks/...", f"/tasks/{api.task_id('Probe')}"))
    programs = Path(sys.executable).parent
    environment = os.environ | {"PATH": f"{programs}:{os.environ['PATH']}"}

    def probe() -> subprocess.CompletedProcess[str]:
        command = [SHELL, str(script)]
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)

    for count in range(1, 4):
        passed = probe()
        assert (passed.returncode, passed.stdout, passed.stderr) == (0, "", "")
        assert api.status("Probe")["reports"] == count
    _, front = served
    curator = front.application

    async def acknowledging(scope: Scope, receive: Receive, send: Send) -> None:
        """A curator that gives receipts and counts nothing."""
        if scope["method"] != "POST":
            await curator(scope, receive, send)
            return
        body, more = b"", True
        while more:
            message = await receive()
            body, more = body + message["body"], message.get("more_body", False)
        receipt = {"report": Report.unpack(body).id.hex(), "counted": True}
        await JSONResponse(receipt, 201)(scope, receive, send)

    front.application = acknowledging
    failed = probe()
    said = "The report was acknowledged, and does not count.\n"
    assert (failed.returncode, failed.stdout, failed.stderr) == (1, said, "")
    assert list(tmp_path.glob("tmp*")) == []
