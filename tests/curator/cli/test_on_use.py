"""Commands of ``privet`` are imported when they are used, and their help says what they say."""

import inspect
from collections.abc import Mapping
from typing import Any
from unittest.mock import Mock

import pytest
import typer
from typer.testing import CliRunner

from privet.curator.cli import PLACES, app
from privet.curator.cli.on_use import Loaded
from privet.protocol.errors import PrivetError
from tests.curator.cli.conftest import Cli


def test_the_lines_of_the_help_are_the_commands_own() -> None:
    """What the program shows without importing a command is what the command shows of itself."""
    program: Any = typer.main.get_command(app)
    context = typer.Context(program)
    for name in PLACES:
        shown, own = program.get_command(context, name), program.commands[name]
        assert own is program.resolve_command(context, [name])[1]
        assert shown.name == own.name == name
        assert shown.help == " ".join(inspect.cleandoc(own.help).partition("\n\n")[0].split())
        assert not own.hidden
        assert not own.deprecated


def test_completion_has_names_and_lines() -> None:
    """Of commands, of a group's commands, and of a command's options."""

    def completed(words: str) -> str:
        asked = {"_PRIVET_COMPLETE": "complete_zsh", "_TYPER_COMPLETE_ARGS": words}
        return CliRunner().invoke(app, [], prog_name="privet", env=asked).output

    assert '"predict":"Predict for one record' in completed("privet pre")
    assert '"uninvite"' in completed("privet task un")
    assert "--holders" in completed("privet plan --hol")


def test_a_mistyped_command_is_answered_with_one_that_exists(run: Cli) -> None:
    result = run("verfy")
    assert result.code == 2
    assert "No such command 'verfy'" in result.err
    assert "verify" in result.err


def test_a_package_that_is_missing_is_named(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Help needs no package of the curator's; a command that does says what to install."""

    def missing(name: str) -> Mapping[str, Any]:
        fault = ModuleNotFoundError(name=name)
        monkeypatch.setattr("privet.curator.cli.on_use.import_module", Mock(side_effect=fault))
        return Loaded("privet", PLACES)

    with pytest.raises(PrivetError, match=r"privet card needs sqlalchemy, .*\[curator\]'$"):
        missing("sqlalchemy")["card"]
    with pytest.raises(SystemExit) as ended:
        typer.main.get_group(app)(["--help"])
    assert ended.value.code == 0
    assert "Print a model card in Markdown" in capsys.readouterr().out
    with pytest.raises(ModuleNotFoundError):
        missing("privet.curator")["card"]
