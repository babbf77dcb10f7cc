"""docs/cli.md and docs/api.md name what there is, and nothing else."""

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import typer
from pydantic import Field
from typer.testing import CliRunner

from privet import curator
from privet.admin.calls import ApiCall
from privet.curator.cli import PLACES, app
from privet.curator.cli.options import with_settings
from privet.curator.http.routes import BY_HAND
from privet.curator.operations.table import OPERATIONS
from privet.curator.settings import Settings
from privet.learning.core.onnx import OPERATORS
from privet.learning.task_building.inputs import Input, inputs_of
from privet.learning.task_building.publication import Publication
from privet.learning.task_building.settings import Rows, TaskSettings
from scripts.pages import table_of
from scripts.write_calls import calls_of_programs

DOCS = Path(__file__).parents[3] / "docs"


def commands(root: Any, *before: str) -> Iterator[str]:
    for name, command in root.commands.items():
        if hasattr(command, "commands"):
            yield from commands(command, *before, name)
        else:
            yield " ".join([*before, name])


def test_every_command_is_documented() -> None:
    """The table of commands and the command line have the same commands."""
    table = "\n".join(line for line in (DOCS / "cli.md").read_text().splitlines() if "|" in line)
    program: Any = typer.main.get_command(app)
    known = set(commands(program))
    groups = "|".join(name for name, place in PLACES.items() if place.example is None)
    documented = set(re.findall(rf"`privet ((?:(?:{groups}) )?[a-z-]+)", table))
    assert documented == known


def test_the_table_of_calls_is_the_curators() -> None:
    """``python -m scripts.write_calls`` writes it."""
    assert table_of(DOCS / "api.md", "calls") == calls_of_programs().splitlines()


def test_every_call_of_programs_is_taken() -> None:
    """By a use case of its own, and under its name."""
    taken = {each.name.upper(): each.call for each in OPERATIONS.values() if each.call}
    assert taken == {call.name: call for call in ApiCall}


def test_every_action_is_documented() -> None:
    """In the table of the audit log."""
    log = (DOCS / "operations.md").read_text()
    for operation in OPERATIONS.values():
        assert not operation.audit or f"`{operation.audit}`" in log, operation.name


def test_few_routes_are_written_by_hand() -> None:
    """Only those whose body or answer is no JSON or has headers of its own."""
    assert {operation.name for operation in BY_HAND} == {
        "create_task",
        "read_task",
        "predict",
        "export",
        "fit",
        "export_waves",
        "read_card",
    }
    folder = Path(curator.__file__).parent / "http"
    routers = {file.name for file in folder.glob("*.py") if "APIRouter(" in file.read_text()}
    assert routers == {"health.py", "openapi.py", "reports.py"}


def test_every_setting_of_a_curator_is_documented() -> None:
    """The table of settings has exactly the fields, with their defaults and their help."""
    rows = [
        tuple(cell.strip() for cell in line.strip("|\n").split("|"))
        for line in (DOCS / "deployment.md").read_text().splitlines()
        if line.startswith("| `PRIVET_")
    ]
    assert rows == [
        (
            f"`PRIVET_{name.upper()}`",
            "" if field.default in (None, "", ()) else f"`{field.default}`",
            field.description,
        )
        for name, field in Settings.model_fields.items()
    ]


def test_every_setting_of_a_task_is_documented() -> None:
    """The table of settings has exactly the fields, with their defaults and their help."""
    section = (DOCS / "api.md").read_text().split("## Create a task")[1].split("\n## ")[0]
    documented = [line for line in section.splitlines() if line.startswith("| `")]
    assert documented == [
        f"| `{name}` | {default_of(each)} | {each.help} |"
        for name, each in inputs_of(Publication).items()
    ]


def default_of(setting: Input) -> str:
    if setting.required:
        return "required"
    return "" if setting.default is None else f"`{json.dumps(setting.default)}`"


def test_every_setting_of_a_task_is_an_option() -> None:
    """Of its creation and of its plan, with the setting's help."""
    commands: Any = typer.main.get_command(app).commands  # type: ignore[attr-defined]
    for command, model in (
        (commands["task"].commands["create"], Publication),
        (commands["plan"], TaskSettings),
    ):
        options = {option.name: option for option in command.params}
        for name, setting in inputs_of(model).items():
            assert options[name].help.startswith(setting.help)


def test_a_new_setting_needs_one_declaration() -> None:
    """A field becomes an option of its type, with bounds and help, and its value is passed on."""

    class More(TaskSettings):
        most_features: Rows | None = Field(default=None, description="Features of a split.")

    asked: list[dict[str, Any]] = []
    program = typer.Typer()
    program.command()(with_settings(More, only=("most_features",))(_noting(asked)))
    assert "Features of a split." in CliRunner().invoke(program, ["--help"]).output
    assert CliRunner().invoke(program, ["--most-features", "-1"]).exit_code == 2
    assert CliRunner().invoke(program, ["--most-features", "3"]).exit_code == 0
    assert asked == [{"most_features": 3}]


def _noting(asked: list[dict[str, Any]]) -> Callable[..., None]:
    def command(settings: dict[str, Any]) -> None:
        asked.append(settings)

    return command


def test_every_operator_of_a_public_model_is_documented() -> None:
    """The page lists the operators that are run, and no others."""
    section = (DOCS / "public-model.md").read_text()
    listed = section.split("The operators:")[1].split("\n\n")[0].replace("`ai.onnx.ml`", "")
    assert set(re.findall(r"`(\w+)`", listed)) == set.union(*map(set, OPERATORS.values()))
