"""Exit statuses of ``privet-holder``, and how errors and answers lead to one."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NoReturn

import typer

from privet.http_client.errors import UnsafeAddress
from privet.protocol.errors import PrivetError, TaskMismatch

from ..errors import BudgetSpent, OutOfTurn, TaskRefused, WrongClock
from ..ledger import StoredAnswer
from .output import say
from .states import ANSWER_STATES, EXIT_FAULT, EXIT_KEPT, EXIT_LATER, EXIT_REFUSED

OWN_REFUSALS = (BudgetSpent, TaskRefused, UnsafeAddress, WrongClock)
KEPT_HINT = "\nThe answer is kept: run `privet-holder resend` later."


@contextmanager
def faults(find: Callable[[], StoredAnswer | None] = lambda: None) -> Iterator[None]:
    """Turn a ``PrivetError`` into one sentence and an exit status; ``find`` asks the ledger."""
    try:
        yield
    except PrivetError as error:
        status = status_of(error, find())
        say(error.detail + (KEPT_HINT if status == EXIT_KEPT else ""))
        raise typer.Exit(status) from None


def status_of(error: PrivetError, kept: StoredAnswer | None) -> int:
    """The exit status after an error: a kept answer's, unless it is this holder that refuses."""
    if isinstance(error, OWN_REFUSALS) or (kept is None and isinstance(error, TaskMismatch)):
        return EXIT_REFUSED
    if isinstance(error, OutOfTurn):
        return EXIT_LATER
    return EXIT_FAULT if kept is None else ANSWER_STATES[kept.state].status


def decline() -> NoReturn:
    say("Nothing was drawn and nothing was sent.")
    raise typer.Exit(EXIT_FAULT)
