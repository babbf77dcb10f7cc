"""Make a secret of the stack anew while it runs: the services `tokens` and `rotate` run this.

    python rotate.py check                          tokens that are missing, or not the database's
    python rotate.py admin|database|reader|relay|relay-metrics

deploy/rotate.sh restarts what reads it at a start. Whatever ends half-way is run again.
"""

import os
import secrets
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg

from privet.admin.client import CuratorClient
from privet.admin.results import Scope
from privet.protocol.errors import InsufficientScope, NotAuthorized

FOLDER = Path("/run/privet")
CURATOR = "http://curator:8000"
SCOPES = (Scope.RELAY, Scope.READER)
"""Tokens that the curator issues, under the name stack-SCOPE."""
OVERLAP_HOURS = 1
"""Time for which the token before serves on: until the relay has started with the new one."""
PGPASS = "database:5432:*:privet:"


def main(what: str) -> None:
    """Do what the command line says; raises ``SystemExit`` for anything else."""
    if what == "check":
        check_tokens(FOLDER, CURATOR)
    elif what in SCOPES:
        issue(FOLDER, CURATOR, Scope(what))
    elif what in ("admin", "relay-metrics"):
        write(FOLDER / what / "token", secrets.token_urlsafe(32))
    elif what == "database":
        rotate_password(FOLDER, connect)
    else:
        sys.exit(__doc__)


def check_tokens(folder: Path, url: str) -> None:
    """Issue each token that is missing, or that the curator does not know: of another database."""
    for scope in SCOPES:
        file = folder / scope / "token"
        try:
            client(url, file.read_text()).call("GET", "/metrics")
        except (FileNotFoundError, NotAuthorized):
            issue(folder, url, scope)
        except InsufficientScope:
            pass


def client(url: str, token: str) -> CuratorClient:
    """A client of the curator, which is reached within the stack's own network."""
    return CuratorClient(url, token, insecure_http=True)


def issue(folder: Path, url: str, scope: Scope) -> None:
    """A new token in the file of that scope; the one before serves on for a while."""
    admin = client(url, (folder / "admin" / "token").read_text())
    made = admin.issue_token(f"stack-{scope}", scope, overlap_hours=OVERLAP_HOURS)
    write(folder / scope / "token", made.token)


def rotate_password(folder: Path, connect: Callable[[str], Any]) -> None:
    """A new password of the database's user, in the server and in both files that have it.

    Connections stay. One that is opened between the server's change and that of the curators' file,
    a few milliseconds, is refused, and its caller sends again.
    """
    file, pgpass = folder / "database" / "password", folder / "curator" / "pgpass"
    new = file.with_name("password.new")
    if not new.exists():
        write(new, secrets.token_urlsafe(32), like=file)
    password = new.read_text().strip()
    try:
        connection = connect(file.read_text().strip())
    except psycopg.OperationalError:  # the server has the new one since a run that was cut short
        connection = connect(password)
    with connection:
        hashed = connection.pgconn.encrypt_password(password.encode(), b"privet", b"scram-sha-256")
        connection.execute(f"ALTER ROLE privet PASSWORD '{hashed.decode()}'")  # no log has it
    write(pgpass, f"{PGPASS}{password}")
    new.replace(file)


def connect(password: str) -> Any:
    return psycopg.connect(host="database", dbname="privet", user="privet", password=password)


def write(file: Path, text: str, like: Path | None = None) -> None:
    """Put a line into a file, whole or not at all; its owner and readers stay."""
    before = like or file
    part = file.with_name(f"{file.name}.part")
    part.unlink(missing_ok=True)
    with os.fdopen(os.open(part, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "w") as out:
        out.write(f"{text}\n")
        out.flush()
        os.fsync(out.fileno())
    if before.exists():
        stat = before.stat()
        os.chown(part, stat.st_uid, stat.st_gid)
        part.chmod(stat.st_mode & 0o777)
    else:
        part.chmod(0o644)  # Prometheus runs as a user of its own
    part.replace(file)


if __name__ == "__main__":
    main(*sys.argv[1:])
