"""``privet serve``: its options, its first words, and how it fails."""

import secrets
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import typer

from privet.client import cli as holder_cli
from privet.curator import cli as curator_cli
from privet.curator.cli import main
from privet.curator.cli.serve import announce, read_settings
from privet.curator.settings import OTHER_VARIABLES, Settings
from privet.protocol.errors import InvalidRequest
from privet.relay import cli as relay_cli


def test_every_setting_is_an_option_but_the_token(capsys: pytest.CaptureFixture[str]) -> None:
    """The help lists all settings; secrets are no options, since options are seen by others."""
    assert main(["serve", "--help"]) == 0
    help_text = capsys.readouterr().out
    for name in set(Settings.model_fields) - {"admin_token", "oidc_client_secret"}:
        assert f"--{name.replace('_', '-')}" in help_text
    assert "--admin-token" not in help_text
    assert "--oidc-client-secret" not in help_text


def test_options_win_over_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """An option, else the environment, else the default."""
    monkeypatch.setenv("PRIVET_PORT", "7000")
    monkeypatch.setenv("PRIVET_HOST", "0.0.0.0")
    settings = read_settings({"port": 7001, "host": None})
    assert (settings.port, settings.host) == (7001, "0.0.0.0")
    assert settings.workers == 1


@pytest.mark.parametrize("given", [{"port": 70000}, {"log_level": "loud"}, {"workers": 0}])
def test_impossible_settings_are_named(given: dict[str, object]) -> None:
    """The refusal names the setting."""
    with pytest.raises(InvalidRequest, match=next(iter(given))):
        read_settings(given)


@pytest.mark.parametrize(
    ("name", "said"),
    [("PRIVET_DATABSE", "PRIVET_DATABASE"), ("PRIVET_RATELIMIT", "PRIVET_RATE_LIMIT")],
)
def test_an_unknown_variable_is_refused(
    monkeypatch: pytest.MonkeyPatch, name: str, said: str
) -> None:
    """A slip would leave a setting to its default; the nearest name is said."""
    monkeypatch.setenv(name, "1")
    with pytest.raises(InvalidRequest, match=f"There is no setting {name}: did you mean {said}"):
        read_settings({})


def test_the_other_commands_variables_are_known() -> None:
    """Every variable that a command of the three reads, and no more but that of the tests."""

    def variables(command: Any) -> set[str]:
        names = {str(option.envvar) for option in command.params if option.envvar}
        inner = getattr(command, "commands", {}).values()
        return names.union(*map(variables, inner))

    used = set()
    for program in (curator_cli.app, holder_cli.app, relay_cli.app):
        used |= variables(typer.main.get_command(program))
    settings = {f"PRIVET_{name.upper()}" for name in Settings.model_fields}
    assert used - settings == OTHER_VARIABLES - {"PRIVET_TEST_POSTGRES"}


@pytest.mark.parametrize(
    "token",
    [
        "",
        " ",
        "\t\n",
        "x" * 64,
        "0123456789abcdef",
        "correct horse battery staple",
        "Zq8" * 7,
        "a" * 22 + " ",
    ],
)
def test_a_weak_admin_token_is_refused(token: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing, less than 128 bits, or with a space; it is not repeated."""
    monkeypatch.setenv("PRIVET_ADMIN_TOKEN", token)
    with pytest.raises(InvalidRequest, match="admin_token") as refused:
        read_settings({})
    assert not token.strip() or token not in str(refused.value)


@pytest.mark.parametrize("make", [secrets.token_urlsafe, secrets.token_hex])
def test_a_random_admin_token_is_taken(
    make: Callable[[int], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """32 random bytes in either form."""
    monkeypatch.setenv("PRIVET_ADMIN_TOKEN", make(32))
    assert read_settings({}).admin_token is not None


def test_the_token_is_announced_alone_on_its_line(capsys: pytest.CaptureFixture[str]) -> None:
    """It can be copied as it stands; without one only the address is shown."""
    settings = Settings(database="postgresql://me:s3cret@host/name")
    announce(settings, "http://127.0.0.1:1", "t0k3n" * 20)
    assert "t0k3n" * 20 in capsys.readouterr().err.splitlines()
    announce(settings, "http://127.0.0.1:1", None)
    printed = capsys.readouterr().err
    assert "postgresql://me:***@host/name" in printed
    assert "http://127.0.0.1:1/docs" in printed
    assert "token" not in printed.lower()


def test_a_port_in_use_is_told_and_no_token_is_lost(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The command exits with 1, says what to do, and makes no token that nobody would see."""
    database = tmp_path / "privet.db"
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        assert main(["serve", "--port", port, "--database", f"sqlite:///{database}"]) == 1
    printed = capsys.readouterr().err
    assert "another --port" in printed
    assert "Traceback" not in printed
    assert not database.exists()


@pytest.mark.parametrize("address", ["sqlite:////no/such/folder/x.db", "mysql://x/y", "x"])
def test_a_database_that_cannot_be_used_is_told(
    address: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """A folder that is not there or an unknown kind of database: exit 1 and what to do."""
    assert main(["serve", "--port", "0", "--database", address]) == 1
    printed = capsys.readouterr().err
    assert "database" in printed
    assert "Traceback" not in printed
