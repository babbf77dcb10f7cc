"""Sealed batches from a folder or an object store, added up by many processes.

Other processes read a file, check its reports and add them up, as is done for a batch over HTTP;
this one takes what they give into the store, a file in one transaction. There each id counts once,
so a file that is collected again, or holds what came by HTTP, adds nothing.
"""

from collections import Counter, deque
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
from tests.batch_folder import BatchFolder

from privet.protocol.errors import PrivetError
from privet.protocol.task import Task

from ..datastore.base import Outcome, Store
from .batch import CheckedBatch, checked, failed_of
from .task_cache import CachedTask


@dataclass(frozen=True)
class CollectedFile:
    """What became of a file's reports, by outcome; or its ``fault``, which leaves it for later."""

    name: str
    outcomes: Counter[str] = field(default_factory=Counter)
    fault: str = ""


def collect(
    store: Store,
    task: Task,
    folder: str,
    executor: Executor,
    clock: Callable[[], float],
    *,
    ahead: int,
    source: str,
    remove: bool = False,
) -> Iterator[CollectedFile]:
    """Count the reports of all files for ``task`` in a folder, in transactions of a file each.

    ``ahead`` files, more than there are workers, are prepared while one is taken. ``source`` is the
    name under which a status and a card show how many came this way. A file is removed, if so
    asked, once its reports are durable. Raises ``StorageFailed`` if the folder or the store fails;
    what was collected until then stays so.
    """
    batches = BatchFolder(folder)
    names = deque(batches.names(task.id))
    waiting: deque[tuple[str, Future[CheckedBatch]]] = deque()
    while names or waiting:
        while names and len(waiting) < ahead:
            name = names.popleft()
            waiting.append((name, executor.submit(prepare, folder, name, task.canonical, source)))
        name, future = waiting.popleft()
        try:
            batch = future.result()
        except PrivetError as error:
            yield CollectedFile(name, fault=error.detail)
            continue
        outcomes = store.take([batch.valid], clock())[0] if len(batch.valid) else np.empty(0, "i1")
        if (outcomes == Outcome.NOT_ADMITTED).any():
            yield CollectedFile(name, fault="its holders' invitations are not held for it")
            continue
        refused = {reason: len(ids) for reason, ids in failed_of(task, batch, outcomes).items()}
        if refused:
            store.count_rejects(task.id, refused)
        taken = {
            kind.name.lower(): int(np.count_nonzero(outcomes == kind))
            for kind in (Outcome.COUNTED, Outcome.REPLAYED)
        }
        if remove:
            batches.remove(name)
        yield CollectedFile(name, Counter({**taken, **refused}))


def prepare(folder: str, name: str, canonical: bytes, source: str) -> CheckedBatch:
    """A file's valid reports with their total; in another process."""
    task = _cached(canonical)
    return checked(task, BatchFolder(folder).read(name, task.task), source)


@lru_cache(maxsize=1)
def _cached(canonical: bytes) -> CachedTask:
    return CachedTask(Task.parse(canonical))
