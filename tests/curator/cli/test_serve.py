"""``privet serve``: its options, its first words, and how it fails."""

import socket
from pathlib import Path

import pytest

from privet.curator.cli import main
from privet.curator.cli.serve import announce, read_settings
from privet.curator.settings import Settings
from privet.protocol.errors import InvalidRequest


def test_every_setting_is_an_option_but_the_token(capsys: pytest.CaptureFixture[str]) -> None:
    """The help lists all settings; the token is no option, since options are seen by others."""
    assert main(["serve", "--help"]) == 0
    help_text = capsys.readouterr().out
    for name in set(Settings.model_fields) - {"admin_token"}:
        assert f"--{name.replace('_', '-')}" in help_text
    assert "--admin-token" not in help_text


def test_options_win_over_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """An option, else the environment, else the default."""
    monkeypatch.setenv("PRIVET_PORT", "7000")
    monkeypatch.setenv("PRIVET_HOST", "0.0.0.0")
    settings = read_settings({"port": 7001, "host": None, "cors_origins": '["https://a"]'})
    assert (settings.port, settings.host) == (7001, "0.0.0.0")
    assert settings.cors_origins == ("https://a",)
    assert settings.workers == 1


@pytest.mark.parametrize(
    "given", [{"port": 70000}, {"log_level": "loud"}, {"cors_origins": "x"}, {"workers": 0}]
)
def test_impossible_settings_are_named(given: dict[str, object]) -> None:
    """The refusal names the setting."""
    with pytest.raises(InvalidRequest, match=next(iter(given))):
        read_settings(given)


def test_the_token_is_announced_alone_on_its_line(capsys: pytest.CaptureFixture[str]) -> None:
    """It can be copied as it stands; without one only the address is shown."""
    announce("http://127.0.0.1:1", "t0k3n" * 20)
    assert "t0k3n" * 20 in capsys.readouterr().err.splitlines()
    announce("http://127.0.0.1:1", None)
    printed = capsys.readouterr().err
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
