"""A curator as a process of its own, over any database."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import httpx

SCRIPT = """
from privet.curator.settings import Settings
from privet.curator.server import serve
serve(Settings(), show=lambda url, token: print(url, token, flush=True))
"""


@contextmanager
def served(
    database: str, script: str = SCRIPT, **settings: str
) -> Iterator[tuple[str, str, subprocess.Popen[str]]]:
    """A curator process; its address, first token and process."""
    chosen = {"database": database, "port": "0", **settings}
    environment = {k: v for k, v in os.environ.items() if not k.startswith("PRIVET_")}
    environment |= {f"PRIVET_{name.upper()}": value for name, value in chosen.items()}
    process = subprocess.Popen(
        [sys.executable, "-c", script], env=environment, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    try:
        url, token = process.stdout.readline().split()
        yield url, token, process
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def wait_until_ready(url: str) -> None:
    """Until the curator answers; its port is bound before it is shown, so connections queue."""
    assert httpx.get(f"{url}/readyz", timeout=60).status_code == 200
