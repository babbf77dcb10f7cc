"""Sealed batches from a folder or an object store, added up by many processes.

Other processes read a file, check its reports and add them up, as is done for a batch over HTTP;
this one takes what they give into the store, a file in one transaction. There each id counts once,
so a file that is collected again, or holds what came by HTTP, adds nothing. What is wrong with one
file, or happens to the process that reads it, is that file's fault, and the others are counted.
"""

from collections import Counter, deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np

from privet.protocol.batch import BatchResponse
from privet.protocol.errors import PrivetError, StorageFailed, TooLarge
from privet.protocol.task import Task

from ..datastore.report_ids import keys_of
from ..datastore.reports import Outcome
from ..datastore.store import Store
from ..workers import Died
from .batch import CheckedBatch, checked, failed_of
from .batch_reader import BatchReader
from .task_cache import CachedTask

READER_MEMORY = 2**31
"""Bytes of data that a process needs at most to read a file of the largest size."""


READER_DIED = (
    "The process that read it died, often for want of memory: collect it again, with fewer --jobs. "
    "Keep the file: its relay has acknowledged its reports."
)


@dataclass(frozen=True)
class CollectedFile:
    """The numbers of a file's reports, by outcome.

    With a ``fault`` some or all do not count, and the file stays.
    """

    name: str
    outcomes: Counter[str] = field(default_factory=Counter)
    fault: str = ""
    removed: bool = False


def collect(
    store: Store,
    task: Task,
    folder: str,
    submit: Callable[..., Future[CheckedBatch]],
    clock: Callable[[], float],
    *,
    ahead: int,
    source: str,
    remove: bool = False,
) -> Iterator[CollectedFile]:
    """Count the reports of all files for ``task`` in a folder, in transactions of a file each.

    Files are prepared by what ``submit`` starts, ``ahead`` of them, more than there are workers,
    while one is taken. ``source`` is the name under which a status and a card show how many came
    this way. What became of its reports is written beside each file, for its relay; a file is
    removed, if so asked, once each of its reports is durable, or was before.
    Raises ``StorageFailed`` if the folder or the store fails; what was collected until then stays
    so.
    """
    batches = BatchReader(folder)
    names = deque(batches.names(task.id))
    waiting: deque[tuple[str, Future[CheckedBatch]]] = deque()
    while names or waiting:
        while names and len(waiting) < ahead:
            name = names.popleft()
            waiting.append((name, submit(prepare, folder, name, task.canonical, source)))
        name, future = waiting.popleft()
        try:
            batch = future.result()
        except Died:
            yield CollectedFile(name, fault=READER_DIED)
            continue
        except PrivetError as error:
            yield CollectedFile(name, fault=error.detail)
            continue
        outcomes = (
            store.reports.take([batch.valid], clock())[0] if len(batch.valid) else np.empty(0, "i1")
        )
        if (outcomes == Outcome.NOT_ADMITTED).any():
            yield CollectedFile(name, fault="Its holders' invitations are not held for it.")
            continue
        refused = {reason: len(ids) for reason, ids in failed_of(batch, outcomes).items()}
        if refused:
            store.standing.count_rejects(task.id, refused)
        taken = {
            kind.name.lower(): int(np.count_nonzero(outcomes == kind))
            for kind in (Outcome.COUNTED, Outcome.REPLAYED)
        }
        fault = ", ".join(f"{count} {reason}" for reason, count in refused.items())
        if fault:
            fault = f"Reports were refused, so the file stays: {fault}."
        failed = {
            reason: [key.hex() for key in keys_of(ids)]
            for reason, ids in failed_of(batch, outcomes).items()
        }
        try:
            response = BatchResponse.model_validate({**taken, "failed": failed})
            batches.write_outcome(name, response.model_dump_json().encode())
            if remove and not fault:
                batches.remove(name)
        except StorageFailed as error:
            fault = fault or error.detail
        removed = remove and not fault
        yield CollectedFile(name, Counter({**taken, **refused}), fault, removed)


def prepare(folder: str, name: str, canonical: bytes, source: str) -> CheckedBatch:
    """A file's valid reports with their total; in another process."""
    task = _cached(canonical)
    try:
        return checked(task, BatchReader(folder).read(name, task.task), source)
    except MemoryError:
        raise TooLarge("It takes more memory than its reader may have.") from None


@lru_cache(maxsize=1)
def _cached(canonical: bytes) -> CachedTask:
    return CachedTask(Task.parse(canonical))
