"""Sending reports on: shuffled, in batches that are large enough to hide in."""

import asyncio
import json
import logging
import re
from collections import Counter
from collections.abc import Callable

from anyio import to_thread

from privet.protocol.batch import INVITATION_DIGEST_BYTES
from privet.protocol.errors import PrivetError
from privet.protocol.report import REPORT_ID_BYTES
from privet.relay.errors import SpoolFailed
from privet.relay.spool import MAX_BYTES, Group, Spool
from privet.relay.status import OWN_COUNTS, TAKEN
from privet.transport.address import TaskAddress
from privet.transport.errors import UnexpectedAnswer
from privet.transport.report_client import ReportClient

MAX_BATCH = 50_000
REASON = re.compile(r"[a-z][a-z-]{0,63}")

log = logging.getLogger(__name__)


class Forwarder:
    """Forwards a task's reports as soon as ``least`` of them wait, never fewer together.

    ``address`` says where the curator publishes a task, by the task's id.
    """

    def __init__(
        self, client: ReportClient, address: Callable[[str], TaskAddress], spool: Spool, least: int
    ) -> None:
        self._client = client
        self._address = address
        self._spool = spool
        self._least = least

    async def run(self, every: float) -> None:
        """Forward what may go, every ``every`` seconds, until cancelled.

        A spool that fails is tried again at the next turn; other exceptions end this.
        """
        while True:
            await asyncio.sleep(every)
            try:
                await self.forward()
            except SpoolFailed as error:
                log.warning("nothing was forwarded: %s", error.detail)

    async def forward(self) -> None:
        """Send what was sealed before, then every group that is large enough.

        What fails stays as it is and is sent again, the same reports in the same order.
        """
        stuck = await self._send_sealed()
        for group in await to_thread.run_sync(self._spool.groups):
            if group.task not in stuck:
                stuck |= await self._forward(group)

    async def _forward(self, group: Group) -> set[str]:
        """Seal and send a group until too few are left or something stays; the tasks that do."""
        left, stuck = group.waiting, set[str]()
        while left >= self._least and not stuck:
            about = batch_size(left, self._least, group.width)
            key = (group.task, group.questions, self._least, about)
            if not await to_thread.run_sync(self._spool.seal, *key):
                break
            left -= about
            stuck = await self._send_sealed()
        return stuck

    async def _send_sealed(self) -> set[str]:
        """Send what is sealed; the tasks whose reports stay here."""
        stuck = set()
        numbers = await to_thread.run_sync(self._spool.sealed)
        for number in numbers:
            task, batch = await to_thread.run_sync(self._spool.batch, number)
            try:
                reply = await self._client.send_batch(self._address(task), batch.pack())
                outcome = outcome_of(reply, len(batch))
            except PrivetError as error:
                log.warning("reports of task %s stay here: %s", task[:16], error.detail)
                stuck.add(task)
                continue
            await to_thread.run_sync(self._spool.settle, number, outcome)
        if numbers:
            await to_thread.run_sync(self._spool.purge)
        return stuck


def batch_size(waiting: int, least: int, width: int) -> int:
    """How many of those that wait go out together: as even as can be, none left over alone.

    Not more than fit into a batch that curators and relays take, with payloads of ``width`` bytes,
    unless ``least`` are more already.
    """
    row = REPORT_ID_BYTES + width + INVITATION_DIGEST_BYTES
    most = max(1, min(MAX_BATCH, MAX_BYTES // row))
    batches = max(1, min(-(-waiting // most), waiting // least))
    return -(-waiting // batches)


def outcome_of(reply: bytes, sent: int) -> dict[str, int]:
    """What became of a batch; raises ``UnexpectedAnswer`` unless it accounts for every report.

    Reasons are words that cannot pass for the relay's own counts.
    """
    try:
        account = json.loads(reply)
        refused = {reason: len(ids) for reason, ids in account["failed"].items()}
        outcome = Counter(refused) + Counter({kind: int(account.get(kind, 0)) for kind in TAKEN})
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError):
        refused, outcome = {}, Counter()
    if outcome.total() != sent or not all(map(_is_reason, refused)):
        raise UnexpectedAnswer(
            f"The curator does not account for all {sent} reports: check its address and version."
        )
    return dict(outcome)


def _is_reason(name: str) -> bool:
    return REASON.fullmatch(name) is not None and name not in OWN_COUNTS
