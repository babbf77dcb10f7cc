"""What the command lines of all roles say to people while they wait."""

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Timer

from rich.console import Console

PATIENCE = 1.0
"""Seconds of silence."""


@contextmanager
def waiting(doing: str) -> Iterator[None]:
    """Show on standard error what is being done, if it takes longer than ``PATIENCE``.

    Only on a terminal; pipes and files get nothing.
    """
    console = Console(stderr=True)
    status = console.status(doing)
    timer = Timer(PATIENCE, status.start)
    timer.daemon = True
    if console.is_terminal:
        timer.start()
    try:
        yield
    finally:
        timer.cancel()
        if console.is_terminal:
            timer.join()
        status.stop()
