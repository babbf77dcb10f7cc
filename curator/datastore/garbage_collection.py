"""What a curator does by itself from time to time: let go of data whose time is over."""

import asyncio
import logging

from starlette.concurrency import run_in_threadpool

from privet.curator.clock import Clock
from privet.curator.datastore.base import Expired, Store
from privet.curator.settings import Settings
from privet.protocol.errors import StorageFailed

log = logging.getLogger(__name__)

DAY = 86_400.0
EVERY_SECONDS = 3_600.0


def expire(store: Store, settings: Settings, now: float) -> Expired:
    """One round of expiry by the settings."""
    keep_tasks = settings.keep_tasks_days
    return store.expire(
        now, settings.keep_ids_days * DAY, None if keep_tasks is None else keep_tasks * DAY
    )


async def keep_up(store: Store, settings: Settings, clock: Clock) -> None:
    """Expire now and every hour, until cancelled; a failure is logged and tried again."""
    while True:
        try:
            removed = await run_in_threadpool(expire, store, settings, clock.now())
            if removed.tasks or removed.ids:
                log.info("expired %d tasks and %d report ids", removed.tasks, removed.ids)
        except StorageFailed as error:
            log.warning("expiry failed: %s", error.__cause__)
        await asyncio.sleep(EVERY_SECONDS)
