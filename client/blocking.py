"""The same holder for programs without an event loop: one thread runs it, this side waits."""

import os
from collections.abc import Callable, Coroutine
from contextlib import ExitStack
from functools import partial, wraps
from typing import Any, Concatenate, ParamSpec, Self, TypeVar

from anyio.from_thread import BlockingPortal, start_blocking_portal

from privet.http_client.report_client import ReportClient
from privet.protocol.limits import SMALLEST_GROUP
from privet.protocol.mechanisms.base import RandomBytes

from .explanation import Explanation
from .holder import Holder
from .ledger import Ledger, SqliteLedger
from .opening import validate

P = ParamSpec("P")
R = TypeVar("R")


def _blocking(
    verb: Callable[Concatenate[Holder, P], Coroutine[Any, Any, R]],
) -> Callable[Concatenate["BlockingHolder", P], R]:
    """The verb of a ``Holder`` that returns when it is done."""

    @wraps(verb)
    def done(self: "BlockingHolder", /, *given: P.args, **named: P.kwargs) -> R:
        outcome: R = self._portal.call(partial(verb, self._holder, *given, **named))
        return outcome

    return done


class BlockingHolder:
    """A ``Holder`` whose verbs return when they are done; a context manager.

    ``with BlockingHolder() as holder: holder.answer(task_url, record)``. Works inside notebooks
    too, since the event loop lives in a thread of its own, in which functions are called that
    ``answer_all`` is given.
    """

    def __init__(
        self,
        ledger: Ledger | None = None,
        subject: str = "me",
        *,
        connect: Callable[[], ReportClient] = ReportClient,
        randomness: RandomBytes = os.urandom,
        curator_key: str | None = None,
        smallest_group: int = SMALLEST_GROUP,
    ) -> None:
        self.ledger = ledger if ledger is not None else SqliteLedger()
        self._connect = connect
        self._made_with = partial(
            Holder,
            ledger=self.ledger,
            subject=subject,
            randomness=randomness,
            curator_key=curator_key,
            smallest_group=smallest_group,
        )
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        self._portal: BlockingPortal = self._stack.enter_context(start_blocking_portal())
        client = self._stack.enter_context(
            self._portal.wrap_async_context_manager(self._portal.call(self._connect))
        )
        self._holder = self._made_with(client)
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    explain = staticmethod(Explanation.of)
    validate = staticmethod(validate)
    fetch = _blocking(Holder.fetch)
    offer = _blocking(Holder.offer)
    collection = _blocking(Holder.collection)
    check = _blocking(Holder.check)
    turn = _blocking(Holder.turn)
    answer = _blocking(Holder.answer)
    answer_all = _blocking(Holder.answer_all)
    ask_relays = _blocking(Holder.ask_relays)
    show_counted = _blocking(Holder.show_counted)
    code = _blocking(Holder.code)
    restore = _blocking(Holder.restore)
    resend = _blocking(Holder.resend)
