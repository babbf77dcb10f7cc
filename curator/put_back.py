"""Databases that were put back: reports that were counted, and that the database lacks.

A snapshot or a copy of files brings back a database that knows nothing of what it lost. It is seen
from outside: by the mark, each task's reports in a file beside an SQLite database or in the memory
of a curator that ran meanwhile; and by what relays say was counted of theirs. Then the tasks that
were there before ask holders again.
"""

import json
import logging
import os
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from .datastore import Store
from .datastore.audit import PUT_BACK, RESTORED, AuditEntry
from .datastore.tasks import ListedTask
from .operations.curator import Curator

log = logging.getLogger(__name__)


@dataclass(eq=False)
class ReportMark:
    """The most reports of each task that were ever counted, by its id, in a file."""

    path: Path | None
    """None where there is no place beside the database: then this process alone remembers."""
    _written: dict[str, int] | None = field(default=None, init=False)
    turns: threading.Lock = field(default_factory=threading.Lock, init=False)
    """Held while a thread compares, since the last look may begin before another has ended."""

    @classmethod
    def of(cls, store: Store) -> "ReportMark":
        """The mark beside the store's database."""
        url = store.engine.url
        is_file = url.get_backend_name() == "sqlite" and url.database not in {None, "", ":memory:"}
        return cls(Path(f"{url.database}.mark") if is_file else None)

    def read(self) -> dict[str, int]:
        """The marked reports; none where no mark can be read."""
        if self.path is None:
            return dict(self._written or {})
        try:
            marked = json.loads(self.path.read_text(encoding="ascii"))
            return {str(task): int(reports) for task, reports in marked.items()}
        except FileNotFoundError:
            return {}
        except (OSError, ValueError, TypeError, AttributeError) as error:
            log.warning("the mark %s cannot be read: %s", self.path, error)
            return {}

    def write(self, reports: dict[str, int]) -> None:
        """Replace the mark, so that a crash leaves one or the other."""
        if self.path is None:
            self._written = reports
        if self.path is None or reports == self._written:
            return
        partial = self.path.with_name(f"{self.path.name}.{os.getpid()}")
        try:
            with open(partial, "w", encoding="ascii", opener=_private) as file:
                json.dump(reports, file)
                file.flush()
                os.fsync(file.fileno())
            partial.replace(self.path)
            self._written = reports
        except OSError as error:
            log.warning("the mark %s cannot be written: %s", self.path, error)
            with suppress(OSError):
                partial.unlink()


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


class Compared(NamedTuple):
    """The tasks, the counted reports of each by its id, and those that are missing."""

    listed: Sequence[ListedTask]
    counted: Mapping[str, int]
    missing: Mapping[str, int]


def compare(curator: Curator, mark: ReportMark) -> Compared:
    """Compare with the mark and with relays' words; tasks that lack reports ask again from now on.

    Raises ``StorageFailed``.
    """
    with mark.turns:
        marked = mark.read()  # first: another process may count, and mark it, meanwhile
        counted = curator.store.standing.counted()
        listed = curator.store.tasks.listed()
        missing = _missing(curator, marked, counted, listed)
        since = mark.read()
        most = {
            task: max(n, marked.get(task, 0), since.get(task, 0)) for task, n in counted.items()
        }
        mark.write(dict(sorted(most.items())))
        return Compared(listed, counted, missing)


def _missing(
    curator: Curator,
    marked: Mapping[str, int],
    counted: Mapping[str, int],
    listed: Sequence[ListedTask],
) -> dict[str, int]:
    """The reports that were counted and are missing, by task."""
    store, now = curator.store, curator.clock()
    relayed = store.standing.missing()
    known = {task: reports for task, reports in marked.items() if reports > 0}
    gone = {t: n for t, n in known.items() if t not in counted and not store.tasks.was_deleted(t)}
    missing = dict(relayed)
    for task in known.keys() & counted.keys():
        lacking = max(known[task] - counted[task], missing.get(task, 0))
        if lacking > 0:
            missing[task] = lacking
    fact = store.facts.read(RESTORED)
    asking = float(fact or "-inf")
    made = {"": now} | {each.head.id: each.created for each in listed}
    news = {task: n for task, n in missing.items() if asking < made.get(task, asking)} | gone
    if news:
        detail = {"reports": sum(news.values()), "tasks": len(news), "tasks gone": len(gone)}
        until = max(now, *made.values())  # whatever the clock says
        if store.audit.ask_again(AuditEntry(now, "", PUT_BACK, "", detail), until, fact):
            log.error(
                "The database was put back: of %d tasks %d reports that were counted are missing. "
                "Tasks that are open ask for them again.",
                len(news),
                detail["reports"],
            )
        fact = store.facts.read(RESTORED)
    if fact is not None:  # by another process or command too
        curator.restored = float(fact)
    curator.metrics.missing_reports.set(sum(missing.values()))
    return missing | gone
