"""Time of the newest backup and expiry of the proxy's TLS certificate, for alerting."""

import asyncio
import logging
import ssl

from starlette.concurrency import run_in_threadpool

from privet.protocol.errors import StorageFailed

from .datastore import Store
from .datastore.audit import BACKED_UP
from .metrics import Metrics

EVERY_SECONDS = 60.0
ANSWER_SECONDS = 5.0

log = logging.getLogger(__name__)


async def watch(metrics: Metrics, store: Store, certificate_of: str) -> None:
    """Tell ``metrics`` every minute, until cancelled.

    ``certificate_of`` is ``host:port``, or empty where there is none to watch.
    """
    while True:
        try:
            moment = await run_in_threadpool(store.facts.read, BACKED_UP)
            metrics.backed_up(float(moment or 0.0))
        except StorageFailed as error:
            log.warning("the time of the newest backup is not known: %s", error.detail)
        if certificate_of:
            metrics.certified(await run_in_threadpool(certificate_end, certificate_of))
        await asyncio.sleep(EVERY_SECONDS)


def certificate_end(address: str) -> float:
    """Unix time at which the certificate at ``host:port`` expires; 0 if it cannot be read."""
    from cryptography.x509 import load_pem_x509_certificate

    host, _, port = address.rpartition(":")
    try:
        pem = ssl.get_server_certificate((host.strip("[]"), int(port)), timeout=ANSWER_SECONDS)
    except OSError as error:
        log.warning("the certificate of %s cannot be seen: %s", address, error)
        return 0.0
    return load_pem_x509_certificate(pem.encode()).not_valid_after_utc.timestamp()
