"""docs/holder.md is held true: exit statuses, options, and the session run as written."""

import re
from pathlib import Path

import typer

from privet.client import BlockingHolder, Caps, SqliteLedger
from privet.client.cli import app, states
from privet.client.cli.states import ANSWER_STATES
from privet.client.ledger import default_path
from tests.fake_curator import FakeCurator

TEXT = (Path(__file__).parents[2] / "docs" / "holder.md").read_text(encoding="utf-8")


def rows(head: str) -> list[list[str]]:
    """The rows of the table whose first heading is ``head``."""
    below = TEXT.split(f"| {head} |")[1].split("\n\n")[0].splitlines()[2:]
    return [[cell.strip() for cell in row.strip("|").split("|")] for row in below]


def test_states_and_exit_statuses_are_those_of_the_command() -> None:
    """Every state and every status has a line, and no other."""
    own = {getattr(states, name) for name in dir(states) if name.startswith("EXIT_")}
    assert {int(row[0]) for row in rows("exit status")} == {0, 2, *own}
    listed = {row[0].strip("`"): int(row[1]) for row in rows("state")}
    assert listed == {state.value: own.status for state, own in ANSWER_STATES.items()}


def test_options_and_their_environment_are_real() -> None:
    """Each listed option exists with its variable and default, and so do all commands named."""
    commands = typer.main.get_command(app).commands  # type: ignore[attr-defined]
    options = {opt: param for param in commands["answer"].params for opt in param.opts}
    for option, variable, _ in rows("option"):
        param = options[option.strip("`")]
        assert (param.envvar or "") == variable.strip("`")
    assert default_path().name in TEXT
    assert f"epsilon {Caps().task:g} for one task and {Caps().year:g} for a year" in TEXT
    assert set(re.findall(r"privet-holder (\w+)", TEXT)) <= set(commands)


def test_the_program_runs_as_printed(curator: FakeCurator, ledger: SqliteLedger) -> None:
    """The Python lines of the page answer a task."""
    program = TEXT.split("```python\n")[1].split("```")[0]
    program = program.replace("BlockingHolder()", "BlockingHolder(ledger)")
    exec(program, {"task_url": curator.url, "ledger": ledger, "BlockingHolder": BlockingHolder})
    assert len(curator.counted) == 1
