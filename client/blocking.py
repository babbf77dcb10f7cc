"""The same holder for programs without an event loop: one thread runs it, this side waits."""

import os
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from functools import partial
from typing import Any, Self

from anyio.from_thread import BlockingPortal, start_blocking_portal

from privet.http_client.report_client import Offer, ReportClient
from privet.protocol.errors import PrivetError
from privet.protocol.limits import SMALLEST_GROUP
from privet.protocol.mechanisms.base import RandomBytes
from privet.protocol.status import CollectionStatus
from privet.protocol.task import Task

from .explanation import Explanation
from .holder import AT_A_TIME, Holder
from .ledger import Ledger, SqliteLedger, StoredAnswer
from .opening import CheckedTask, OpenedRecord


class BlockingHolder:
    """A ``Holder`` whose verbs return when they are done; a context manager.

    ``with BlockingHolder() as holder: holder.answer(task_url, record)``. Works inside notebooks
    too, since the event loop lives in a thread of its own.
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
        self._subject = subject
        self._connect = connect
        self._randomness = randomness
        self._curator_key = curator_key
        self._smallest_group = smallest_group
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        self._portal: BlockingPortal = self._stack.enter_context(start_blocking_portal())
        client = self._stack.enter_context(
            self._portal.wrap_async_context_manager(self._portal.call(self._connect))
        )
        self._holder = Holder(
            client,
            self.ledger,
            self._subject,
            self._randomness,
            curator_key=self._curator_key,
            smallest_group=self._smallest_group,
        )
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def fetch(self, task_url: str) -> Task:
        """See ``Holder.fetch``."""
        return self._portal.call(self._holder.fetch, task_url)

    def offer(self, task_url: str) -> Offer:
        """See ``Holder.offer``."""
        return self._portal.call(self._holder.offer, task_url)

    def collection(self, task_url: str) -> CollectionStatus | None:
        """See ``Holder.collection``."""
        return self._portal.call(self._holder.collection, task_url)

    def explain(self, task: Task, signed_by: str = "") -> Explanation:
        """See ``Holder.explain``."""
        return self._holder.explain(task, signed_by)

    def validate(self, task: Task, record: Mapping[str, Any]) -> OpenedRecord:
        """See ``Holder.validate``."""
        return self._holder.validate(task, record)

    def check(self, task: Task, clock_ahead: float | None = None) -> CheckedTask:
        """See ``Holder.check``."""
        return self._portal.call(self._holder.check, task, clock_ahead)

    def turn(self, offer: Offer) -> Offer:
        """See ``Holder.turn``."""
        return self._portal.call(self._holder.turn, offer)

    def answer(
        self,
        task_url: str,
        record: Mapping[str, Any] | OpenedRecord,
        invitation: str | None = None,
    ) -> StoredAnswer:
        """See ``Holder.answer``."""
        answer: StoredAnswer = self._portal.call(self._holder.answer, task_url, record, invitation)
        return answer

    def answer_all(
        self,
        task_url: str,
        records: Mapping[str, Mapping[str, Any]],
        invitations: Mapping[str, str] | None = None,
        *,
        at_a_time: int = AT_A_TIME,
        answered: Callable[[], object] = lambda: None,
        unfit: Callable[[dict[str, tuple[str, ...]]], object] | None = None,
    ) -> dict[str, StoredAnswer | PrivetError]:
        """See ``Holder.answer_all``; ``answered`` and ``unfit`` are called in another thread."""
        call = partial(self._holder.answer_all, at_a_time=at_a_time, answered=answered, unfit=unfit)
        return self._portal.call(call, task_url, records, invitations)

    def ask_relays(self) -> list[str]:
        """See ``Holder.ask_relays``."""
        return self._portal.call(self._holder.ask_relays)

    def show_counted(self, curator_key: str) -> dict[str, bool]:
        """See ``Holder.show_counted``."""
        return self._portal.call(self._holder.show_counted, curator_key)

    def resend(self) -> list[StoredAnswer]:
        """See ``Holder.resend``."""
        return self._portal.call(self._holder.resend)
