"""The round that expires what has had its time, at every start and every hour."""

import asyncio
import logging
from collections.abc import Callable

from starlette.concurrency import run_in_threadpool

from privet.protocol.errors import StorageFailed
from privet.protocol.limits import LATE_SECONDS

from ..settings import Settings
from .expiry import ExpiryStore

log = logging.getLogger(__name__)

DAY = 86_400.0
EVERY_SECONDS = 3_600.0


async def collect_garbage(
    expiry: ExpiryStore,
    settings: Settings,
    clock: Callable[[], float],
    add_entry: Callable[..., None],
) -> None:
    """Expire now and every hour, until cancelled; whatever fails is logged and tried again.

    ``add_entry`` puts each removal into the audit log. Nothing of a task is removed within its
    grace period, while relays may still deliver; report ids go right after it.
    """
    days = settings.keep_tasks_days
    keep_ids, keep_tasks = LATE_SECONDS, None if days is None else max(days * DAY, LATE_SECONDS)
    while True:
        try:
            expired = await run_in_threadpool(expiry.expire, clock(), keep_ids, keep_tasks)
            for removal, task_id in expired.removals:
                await run_in_threadpool(add_entry, removal.value, task_id)
            if expired.tasks or expired.ids:
                log.info("expired %d tasks and %d report ids", expired.tasks, expired.ids)
            if expired.admissions:
                await run_in_threadpool(add_entry, "admissions expired", count=expired.admissions)
                log.warning(
                    "the batches of %d admissions did not come: their invitations are unused again",
                    expired.admissions,
                )
            if expired.marked:
                log.warning(
                    "%d tasks are marked: they, or their report ids, are removed after a day "
                    "(privet task list)",
                    expired.marked,
                )
        except StorageFailed as error:
            log.warning("expiry failed: %s", error.__cause__ or error)
        except Exception:
            log.exception("expiry failed")
        await asyncio.sleep(EVERY_SECONDS)
