"""``privet serve``: its options, its first words, and how it fails."""

import secrets
import socket
from pathlib import Path
from typing import Any

import pytest
import typer

from privet.client import cli as holder_cli
from privet.curator import cli as curator_cli
from privet.curator.cli.serve import announce, read_settings
from privet.curator.settings import OTHER_VARIABLES, Settings
from privet.protocol.errors import InvalidRequest
from privet.relay import cli as relay_cli
from tests.curator.cli.conftest import Cli
from tests.keeping import keeps


def test_every_setting_is_an_option_but_the_token(run: Cli) -> None:
    """The help lists all settings; secrets are no options, since options are seen by others."""
    help_text = run("serve", "--help").out
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


@keeps(
    "deployment: an unknown PRIVET_ variable stops the start",
    in_="curator/settings.py",
    instead_of='name.startswith("PRIVET_") and name not in variables',
    plant="False",
)
def test_impossible_settings_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """The refusal names the setting; a slip in a variable's name would leave one to its default, so
    the nearest name is said."""
    wrong = {"port": 70000}, {"log_format": "loud"}, {"workers": 0}, {"database_disk": "/no/such"}
    for given in wrong:
        with pytest.raises(InvalidRequest, match=next(iter(given))):
            read_settings(given)
    for name, meant in (("DATABSE", "DATABASE"), ("RATELIMIT", "RATE_LIMIT")):
        said = f"There is no setting PRIVET_{name}: did you mean PRIVET_{meant}"
        with monkeypatch.context() as patch:
            patch.setenv(f"PRIVET_{name}", "1")
            with pytest.raises(InvalidRequest, match=said):
                read_settings({})


def test_the_other_commands_variables_are_known() -> None:
    """Every variable that a command of the three reads, and no more."""

    def variables(command: Any) -> set[str]:
        names = {str(option.envvar) for option in command.params if option.envvar}
        inner = getattr(command, "commands", {}).values()
        return names.union(*map(variables, inner))

    used = set()
    for program in (curator_cli.app, holder_cli.app, relay_cli.app):
        used |= variables(typer.main.get_command(program))
    settings = {f"PRIVET_{name.upper()}" for name in Settings.model_fields}
    assert used - settings == OTHER_VARIABLES


def test_a_weak_admin_token_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing, less than 128 bits, or with a space; it is not repeated. Random ones are taken."""
    human = (
        "0123456789abcdef",
        "correct horse battery staple",
        "x" * 64,
        "Zq8" * 7,
        "a" * 22 + " ",
    )
    for token in ("", " ", "\t\n", *human):
        monkeypatch.setenv("PRIVET_ADMIN_TOKEN", token)
        with pytest.raises(InvalidRequest, match="admin_token") as refused:
            read_settings({})
        assert not token.strip() or token not in str(refused.value)
    for make in (secrets.token_urlsafe, secrets.token_hex):
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


def test_what_cannot_be_served_is_told_and_no_token_is_lost(run: Cli, tmp_path: Path) -> None:
    """A port in use, a folder that is not there, an unknown kind of database: exit 1 and what to
    do, and no token is made that nobody would see."""
    database = tmp_path / "privet.db"
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        for given, address, said in (
            (port, f"sqlite:///{database}", "another --port"),
            ("0", "sqlite:////no/such/folder/x.db", "database"),
            ("0", "mysql://x/y", "database"),
            ("0", "x", "database"),
        ):
            refused = run("serve", "--port", given, "--database", address)
            assert refused.code == 1
            assert said in refused.err
            assert "Traceback" not in refused.err
    assert not database.exists()


SIGN_IN = {
    "oidc_issuer": "https://login.example",
    "oidc_client_id": "privet",
    "oidc_client_secret": secrets.token_urlsafe(32),
    "oidc_redirect_uri": "https://curator.example/sign-in/callback",
    "oidc_admins": "admin",
}
NOBODY_SIGNS_IN = {**SIGN_IN, "oidc_admins": ""}
WRONG: dict[str, tuple[str, dict[str, str]]] = {
    "database": ("mysql://host/name", {}),
    "host": ("no such host", {}),
    "port": ("70000", {}),
    "workers": ("0", {}),
    "admin_token": ("guessed", {}),
    "signing_key": ("/no/key", {}),
    "new_signing_key": ("perhaps", {}),
    "guard_models": ("perhaps", {}),
    "dashboard": ("perhaps", {}),
    "oidc_issuer": ("login.example", SIGN_IN),
    "oidc_client_id": ("", SIGN_IN),
    "oidc_client_secret": ("guessed", SIGN_IN),
    "oidc_redirect_uri": ("https://curator.example", SIGN_IN),
    "oidc_scope": ("profile", SIGN_IN),
    "oidc_claim": ("", SIGN_IN),
    "oidc_admins": (",", NOBODY_SIGNS_IN),
    "oidc_fitters": (" ", NOBODY_SIGNS_IN),
    "oidc_readers": (" , ", NOBODY_SIGNS_IN),
    "oidc_session_seconds": ("0", SIGN_IN),
    "oidc_audience": ("privet", SIGN_IN),
    "worker_memory": ("4GB", {}),
    "keep_tasks_days": ("-1", {}),
    "certificate_of": ("curator.example", {}),
    "backups": ("/no/folder", {}),
    "database_disk": ("/no/folder", {}),
    "trusted_proxies": ("nginx", {}),
    "root_path": ("privet/", {}),
    "rate_limit": ("-1", {}),
    "token_tries": ("many", {}),
    "relay_rate_limit": ("-1", {}),
    "cors_holders": ("perhaps", {}),
    "log_format": ("loud", {}),
}
"""A wrong value of each setting, and the settings beside which it is wrong."""


@pytest.mark.parametrize("name", Settings.model_fields)
def test_each_wrong_setting_is_refused_in_a_sentence(
    name: str, run: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It names the setting, and nothing serves."""
    value, beside = WRONG[name]
    with socket.create_server(("127.0.0.1", 0)) as taken:  # so that nothing ever serves
        fine = {"database": f"sqlite:///{tmp_path}/x.db", "port": str(taken.getsockname()[1])}
        given = {**fine, **beside, name: value}
        if name in {"database", "signing_key"}:  # which are opened after the port
            given["port"] = "0"
        for setting, text in given.items():
            monkeypatch.setenv(f"PRIVET_{setting.upper()}", text)
        refused = run("serve")
    assert refused.code == 1
    (sentence,) = refused.err.splitlines()
    assert sentence.startswith("Error: ")
    assert sentence.endswith(".")
    assert name in sentence.lower()
