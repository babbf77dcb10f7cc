"""Sending reports on: shuffled, in batches that are large enough to hide in."""

import asyncio
import json
import logging
import re
from collections import Counter

from anyio import to_thread

from privet.protocol.errors import PrivetError
from privet.protocol.report import REPORT_ID_BYTES
from privet.relay.bundle import DIGEST_BYTES, Bundle
from privet.relay.intake import Intake
from privet.relay.sealing import MAX_BYTES
from privet.relay.spool import Spool
from privet.relay.status import OWN_COUNTS, TAKEN
from privet.transport.curator_client import ReportClient
from privet.transport.errors import LedgerFailed, UnexpectedAnswer

BATCH_MEDIA_TYPE = "application/vnd.privet.reports+msgpack"
MAX_BATCH = 50_000
REASON = re.compile(r"[a-z][a-z-]{0,63}")

log = logging.getLogger(__name__)


class Forwarder:
    """Forwards a task's reports as soon as ``least`` of them wait, never fewer together."""

    def __init__(self, client: ReportClient, intake: Intake, spool: Spool, least: int) -> None:
        self._client = client
        self._intake = intake
        self._spool = spool
        self.least = least

    async def run(self, every: float) -> None:
        """Forward what may go, every ``every`` seconds, until cancelled."""
        while True:
            await asyncio.sleep(every)
            try:
                await self.forward()
            except LedgerFailed as error:
                log.warning("nothing was forwarded: %s", error.detail)

    async def forward(self) -> None:
        """Send what was sealed before, then every group that is large enough.

        What fails stays as it is and is sent again, the same reports in the same order.
        """
        stuck = await self._send_sealed()
        for task, question, waiting, width in await to_thread.run_sync(self._spool.groups):
            if task not in stuck:
                stuck |= await self._forward(task, question, waiting, width)

    async def _forward(self, task: str, question: int, waiting: int, width: int) -> set[str]:
        """Seal and send a group, unless something stays here; the tasks that do."""
        left, stuck = waiting, set[str]()
        while left >= self.least and not stuck:
            about = share(left, self.least, width)
            key = (task, question, self.least, about)
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
            bundle = await to_thread.run_sync(self._spool.bundle, number)
            try:
                outcome = await self._sent(bundle)
            except PrivetError as error:
                log.warning("reports of task %s stay here: %s", bundle.task[:16], error.detail)
                stuck.add(bundle.task)
                continue
            await to_thread.run_sync(self._spool.settle, number, outcome)
        if numbers:
            await to_thread.run_sync(self._spool.forget)
        return stuck

    async def _sent(self, bundle: Bundle) -> dict[str, int]:
        address = self._intake.address(bundle.task)
        reply = await self._client.send_batch(address, BATCH_MEDIA_TYPE, bundle.packed())
        return outcome_of(reply, len(bundle))


def share(waiting: int, least: int, width: int) -> int:
    """How many of those that wait go out together: as even as can be, none left over alone.

    Not more than fit into a batch that curators and relays take, with payloads of ``width`` bytes,
    unless ``least`` are more already.
    """
    most = max(1, min(MAX_BATCH, MAX_BYTES // (REPORT_ID_BYTES + width + DIGEST_BYTES)))
    lots = max(1, min(-(-waiting // most), waiting // least))
    return -(-waiting // lots)


def outcome_of(reply: bytes, sent: int) -> dict[str, int]:
    """What became of a batch; raises ``UnexpectedAnswer`` unless it accounts for every report.

    Reasons are words that cannot pass for the relay's own counts.
    """
    try:
        told = json.loads(reply)
        refused = {reason: len(ids) for reason, ids in told["failed"].items()}
        outcome = Counter(refused) + Counter({kind: int(told.get(kind, 0)) for kind in TAKEN})
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError):
        refused, outcome = {}, Counter()
    if outcome.total() != sent or not all(map(_is_reason, refused)):
        raise UnexpectedAnswer(
            f"The curator does not account for all {sent} reports: check its address and version."
        )
    return dict(outcome)


def _is_reason(name: str) -> bool:
    return REASON.fullmatch(name) is not None and name not in OWN_COUNTS
