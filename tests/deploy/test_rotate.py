"""Secrets of the stack are made anew while it runs, whole, and again after any interruption."""

import re
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any, Self

import psycopg
import pytest
import yaml

from privet.admin.client import CuratorClient
from privet.protocol.errors import InsufficientScope, NotAuthorized
from tests.curator.cli.conftest import TOKEN, curator_url, served

__all__ = ["curator_url", "served"]

DEPLOY = Path(__file__).parents[2] / "deploy"
SPEC = spec_from_file_location("rotate", DEPLOY / "rotate.py")
assert SPEC is not None
assert SPEC.loader is not None
rotate: Any = module_from_spec(SPEC)
SPEC.loader.exec_module(rotate)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The secrets of a new stack, before there are tokens."""
    for name, text in {
        "admin/token": TOKEN,
        "database/password": "old",
        "curator/pgpass": "database:5432:*:privet:old",
        "relay-metrics/token": "metrics",
    }.items():
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_text(f"{text}\n")
    (tmp_path / "curator/pgpass").chmod(0o600)
    (tmp_path / "database/password").chmod(0o444)
    for name in ("relay", "reader"):
        (tmp_path / name).mkdir()
    return tmp_path


def token(folder: Path, scope: str) -> str:
    return (folder / scope / "token").read_text().strip()


def serves(url: str, token: str) -> bool:
    """True if the curator knows a token."""
    try:
        CuratorClient(url, token).call("GET", "/metrics")
    except InsufficientScope:
        return True
    except NotAuthorized:
        return False
    return True


def test_a_relay_is_not_cut_off(folder: Path, curator_url: str) -> None:
    """Its token serves on beside the new one, under the same name; the one before that does not."""
    rotate.check_tokens(folder, curator_url)
    first = token(folder, "relay")
    rotate.issue(folder, curator_url, "relay")
    second = token(folder, "relay")
    assert [serves(curator_url, each) for each in (first, second)] == [True, True]
    rotate.issue(folder, curator_url, "relay")
    third = token(folder, "relay")
    assert [serves(curator_url, each) for each in (first, second, third)] == [False, True, True]


def test_tokens_of_another_database_are_issued_anew(folder: Path, curator_url: str) -> None:
    """After a recovery; those that are good stay, and the others are not asked for by anybody."""
    rotate.check_tokens(folder, curator_url)
    before = {scope: token(folder, scope) for scope in rotate.SCOPES}
    rotate.check_tokens(folder, curator_url)
    assert {scope: token(folder, scope) for scope in rotate.SCOPES} == before
    admin = CuratorClient(curator_url, TOKEN)
    admin.call("DELETE", "/v1/tokens/stack-relay")
    (folder / "reader" / "token").write_text("")
    rotate.check_tokens(folder, curator_url)
    for scope in rotate.SCOPES:
        assert token(folder, scope) != before[scope]
        assert serves(curator_url, token(folder, scope))


class Server:
    """A database's password, as ``connect`` and ``ALTER ROLE`` see it."""

    def __init__(self) -> None:
        self.password, self.asked = "old", ""
        self.pgconn = self

    def connect(self, password: str) -> Self:
        if password != self.password:
            raise psycopg.OperationalError("password authentication failed")
        return self

    def encrypt_password(self, password: bytes, user: bytes, how: bytes) -> bytes:
        assert (user, how) == (b"privet", b"scram-sha-256")
        return b"SCRAM " + password[::-1]

    def execute(self, statement: str) -> None:
        found = re.fullmatch("ALTER ROLE privet PASSWORD 'SCRAM (.+)'", statement)
        assert found
        self.asked = found[1][::-1]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.password, self.asked = self.asked or self.password, ""


@pytest.fixture
def server() -> Server:
    return Server()


def check_password(folder: Path, server: Server) -> None:
    """Both files and the server agree, and each file is still for those it was for."""
    kept = token_of(folder / "database/password")
    assert kept == server.password != "old"
    assert token_of(folder / "curator/pgpass") == f"database:5432:*:privet:{kept}"
    for name, mode in (("database/password", 0o444), ("curator/pgpass", 0o600)):
        assert (folder / name).stat().st_mode & 0o777 == mode
    assert {file.name for file in (folder / "database").iterdir()} == {"password"}


def token_of(file: Path) -> str:
    return file.read_text().strip()


def test_the_databases_password_is_in_both_volumes(folder: Path, server: Server) -> None:
    rotate.rotate_password(folder, server.connect)
    check_password(folder, server)


@pytest.mark.parametrize("step", range(6))
def test_a_rotation_that_was_cut_short_is_run_again(
    folder: Path, server: Server, step: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At each of its steps: nobody is locked out, whatever the server knows already."""
    left = step

    def dying(name: str, call: Any) -> Any:
        def counted(*arguments: Any, **options: Any) -> Any:
            nonlocal left
            left -= 1
            if left < 0:
                raise KeyboardInterrupt(name)
            return call(*arguments, **options)

        return counted

    with monkeypatch.context() as patch:
        patch.setattr(rotate, "write", dying("write", rotate.write))
        patch.setattr(Server, "execute", dying("execute", Server.execute))
        patch.setattr(Path, "replace", dying("replace", Path.replace))
        with pytest.raises(KeyboardInterrupt):
            rotate.rotate_password(folder, server.connect)
    rotate.rotate_password(folder, server.connect)
    check_password(folder, server)


@pytest.mark.parametrize("what", ["admin", "relay-metrics"])
def test_other_secrets_are_drawn_anew(
    folder: Path, what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rotate, "FOLDER", folder)
    before = token(folder, what)
    rotate.main(what)
    assert len(token(folder, what)) >= 32 != len(before)
    with pytest.raises(SystemExit):
        rotate.main("everything")


def test_the_services_mount_what_they_write() -> None:
    """And the script for the machine names what the one for containers can do."""
    stack = yaml.safe_load((DEPLOY.parent / "docker-compose.yml").read_text())["services"]
    written = {"database", "curator", "admin", "relay", "relay-metrics", "reader"}
    mounted = {volume.rpartition("/run/privet/")[2] for volume in stack["rotate"]["volumes"][1:]}
    assert mounted == written
    assert {"relay", "reader"} < {
        volume.rpartition("/run/privet/")[2] for volume in stack["tokens"]["volumes"]
    }
    shell = (DEPLOY / "rotate.sh").read_text()
    usage = re.search(r"rotate\.sh ([a-z|-]+)", shell)
    assert usage
    assert set(usage[1].split("|")) == written - {"curator"} | {"certificate"}
    assert all(word in (rotate.__doc__ or "") for word in written - {"curator"})
