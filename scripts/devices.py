"""Holders as they are outside of servers: a ledger on disk, and addresses that they once had."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from privet.client import Holder, ReportClient, SqliteLedger, StoredAnswer


class Devices:
    """Holders whose answers are in one ledger at ``file``, and who pin the curator's key.

    ``connect`` makes their client.
    """

    def __init__(
        self, file: Path, key: str, connect: Callable[[], ReportClient] = ReportClient
    ) -> None:
        self._ledger = SqliteLedger(file)
        self._key = key
        self._connect = connect
        self._subjects = 0

    def answer(self, task_url: str, records: Sequence[Mapping[str, Any]]) -> list[StoredAnswer]:
        """Let a new holder answer for each record; what each keeps."""

        async def answer_all() -> list[StoredAnswer]:
            async with self._connect() as http:
                holders = [self._holder(http, self._subjects + i) for i in range(len(records))]
                answers = (h.answer(task_url, r) for h, r in zip(holders, records, strict=True))
                return await asyncio.gather(*answers)

        answers = asyncio.run(answer_all())
        self._subjects += len(records)
        return answers

    def resend(self) -> list[StoredAnswer]:
        """Do for every holder what ``privet-holder resend`` does; what it sent or asked for."""

        async def resend_all() -> list[StoredAnswer]:
            async with self._connect() as http:
                holders = (self._holder(http, subject) for subject in range(self._subjects))
                resent = await asyncio.gather(*(holder.resend() for holder in holders))
                return [answer for answers in resent for answer in answers]

        return asyncio.run(resend_all())

    def answers(self) -> list[StoredAnswer]:
        subjects = map(str, range(self._subjects))
        return [answer for subject in subjects for answer in self._ledger.answers(subject)]

    def _holder(self, http: ReportClient, subject: int) -> Holder:
        return Holder(http, self._ledger, str(subject), curator_key=self._key, wait=False)
