"""Refused reports, counted by reason and written down at most once a second.

A flood of bad reports must not become a flood of transactions.
"""

import asyncio
import logging
import threading
from collections import Counter
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor

from privet.protocol.errors import PrivetError

log = logging.getLogger(__name__)

Write = Callable[[str, Mapping[str, int]], None]

SECONDS = 1.0


class Rejects:
    """Counts that have not been written yet, and the thread that writes them."""

    def __init__(self, write: Write) -> None:
        self._write = write
        self._counts: dict[str, Counter[str]] = {}
        self._lock = threading.Lock()
        self._thread = ThreadPoolExecutor(1, "rejects")
        self._resting = False

    def add(self, task_id: str, reason: str, count: int = 1) -> None:
        """Count refused reports; called on the event loop."""
        with self._lock:
            self._counts.setdefault(task_id, Counter())[reason] += count
        if not self._resting:
            self._resting = True
            self._thread.submit(self._flush)
            asyncio.get_running_loop().call_later(SECONDS, self._rested)

    def close(self) -> None:
        self._thread.shutdown(wait=True)
        self._flush()

    def _rested(self) -> None:
        self._resting = False
        if self._counts:
            self._thread.submit(self._flush)

    def _flush(self) -> None:
        with self._lock:
            counts, self._counts = self._counts, {}
        for task_id, reasons in counts.items():
            try:
                self._write(task_id, reasons)
            except PrivetError as error:
                log.warning("rejects not counted: %s", error.__cause__ or error)
