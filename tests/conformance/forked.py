"""The command line of the holder in Python, in processes forked from one that has imported it.

A new interpreter takes a second of processor time to import what it needs, and the clauses start a
hundred. A forked process has arguments, environment, standard input and exit status of its own.
"""

import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from privet.conformance.clauses import SECONDS, Given, Holder, Site

ROOT = Path(__file__).parents[2]
ANSWER = ("answer", "{url}", "--yes", "--ledger", "{state}")


@contextmanager
def forked_holders() -> Iterator[tuple[Holder, Site]]:
    """The holder for one record and the one for a site's file, while their parent runs."""
    with tempfile.TemporaryDirectory(prefix="privet-") as folder:
        address = Path(folder) / "parent"
        command = [sys.executable, "-m", __name__, str(address)]
        with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE) as parent:
            try:
                assert parent.stdout is not None
                assert parent.stdout.readline() == b"ready\n"
                run = _runner(address)
                yield (
                    lambda given: run(given, "--record", "-"),
                    lambda given, records: run(
                        given, "--csv", str(records), "--subject-column", "subject"
                    ),
                )
            finally:
                parent.kill()


def _runner(address: Path) -> Callable[..., int]:
    """Runs the command line for what is given; its exit status."""
    usual = {k: v for k, v in os.environ.items() if not k.startswith("PRIVET_")}

    def run(given: Given, *more: str) -> int:
        places = {"{url}": given.url, "{state}": str(given.state)}
        asked = {
            "arguments": [*(places.get(word, word) for word in ANSWER), *more],
            "environment": {**usual, **given.environment},
            "input": given.record,
        }
        with socket.socket(socket.AF_UNIX) as called:
            called.settimeout(SECONDS)
            called.connect(str(address))
            called.sendall(json.dumps(asked).encode())
            called.shutdown(socket.SHUT_WR)
            return int(_all_of(called))

    return run


def _all_of(connection: socket.socket) -> bytes:
    """Read until the other side has sent all."""
    with connection.makefile("rb") as stream:
        return stream.read()


def main(address: str) -> None:
    """Fork a process for each connection."""
    from privet.client import cli

    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(address)
        listening.listen(64)
        print("ready", flush=True)
        while True:
            connection, _ = listening.accept()
            with connection:
                asked = json.loads(_all_of(connection))
                if os.fork() == 0:
                    listening.close()
                    status = 1
                    try:
                        status = _status(cli.main, asked)
                    finally:
                        connection.sendall(str(status).encode())
                        os._exit(0)


def _status(command: Callable[[], None], asked: Mapping[str, Any]) -> int:
    """The exit status of ``command``, run in this process."""
    with tempfile.TemporaryFile() as given:
        given.write(asked["input"].encode())
        given.seek(0)
        os.dup2(given.fileno(), 0)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    os.environ.clear()
    os.environ.update(asked["environment"])
    sys.argv = ["privet-holder", *asked["arguments"]]
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    try:
        command()
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    return 0


if __name__ == "__main__":
    main(sys.argv[1])
