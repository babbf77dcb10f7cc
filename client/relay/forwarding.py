"""Sending reports on: shuffled, in batches that are large enough to hide in."""

import asyncio
import json
import logging
from collections import Counter
from collections.abc import Sequence
from secrets import SystemRandom
from typing import Any

from anyio import to_thread

from client.errors import UnexpectedAnswer
from client.http import CuratorClient
from client.relay.intake import Intake
from client.relay.spool import ALL_QUESTIONS, Parcel, Spool
from protocol import PrivetError, wire

BATCH_MEDIA_TYPE = "application/vnd.privet.reports+msgpack"
MAX_BATCH = 50_000
MAX_BATCH_BYTES = 32 * 2**20

log = logging.getLogger(__name__)


class Forwarder:
    """Forwards a task's reports as soon as ``least`` of them wait, never fewer together."""

    def __init__(self, client: CuratorClient, intake: Intake, spool: Spool, least: int) -> None:
        self._client = client
        self._intake = intake
        self._spool = spool
        self.least = least

    async def run(self, every: float) -> None:
        """Forward what may go, every ``every`` seconds, until cancelled."""
        while True:
            await asyncio.sleep(every)
            await self.forward()

    async def forward(self) -> None:
        """Send every group that is large enough; what fails stays and is tried again."""
        for task, question, waiting in await to_thread.run_sync(self._spool.groups):
            if waiting >= self.least:
                try:
                    await self._forward(task, question, waiting)
                except PrivetError as error:
                    log.warning("reports of task %s stay here: %s", task[:16], error.detail)

    async def _forward(self, task: str, question: int, waiting: int) -> None:
        """Whole groups only: a rest that is too small to hide in waits for company."""
        while waiting >= self.least:
            parcels = await to_thread.run_sync(self._spool.take, task, question, MAX_BATCH)
            fitting = max(self.least, MAX_BATCH_BYTES // (len(parcels[0].payload) + 64))
            parcels = parcels[:fitting]
            body = batch(parcels)
            reply = await self._client.send_batch(
                self._intake.address(task), BATCH_MEDIA_TYPE, body
            )
            await to_thread.run_sync(self._spool.settle, parcels, outcome_of(reply, len(parcels)))
            waiting -= len(parcels)


def batch(parcels: Sequence[Parcel]) -> bytes:
    """The columns of a batch, in an order drawn by the operating system's randomness."""
    order = list(parcels)
    SystemRandom().shuffle(order)
    columns: dict[str, Any] = {
        "version": 1,
        "ids": b"".join(parcel.id for parcel in order),
        "payloads": b"".join(parcel.payload for parcel in order),
    }
    if order[0].question != ALL_QUESTIONS:
        columns["question"] = order[0].question
    if any(parcel.invitation is not None for parcel in order):
        columns["invitations"] = b"".join(parcel.invitation or bytes(32) for parcel in order)
    return wire.pack(columns)


def outcome_of(reply: bytes, sent: int) -> dict[str, int]:
    """What became of a batch; raises ``UnexpectedAnswer`` unless it accounts for every report."""
    try:
        told = json.loads(reply)
        refused = {reason: len(ids) for reason, ids in told["failed"].items()}
        outcome = Counter(refused) + Counter({k: int(told[k]) for k in ("counted", "replayed")})
    except (ValueError, TypeError, KeyError, AttributeError):
        outcome = Counter()
    if outcome.total() != sent:
        raise UnexpectedAnswer(
            f"The curator does not account for all {sent} reports: check its address and version."
        )
    return dict(outcome)
