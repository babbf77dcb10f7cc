"""Which report ids were counted: rows for those that come alone, runs for large batches.

Both are looked into before an id is claimed, and both change under the task's lock: claims that
write rows share it, since the primary key settles their races; a claim that writes a run, or that
must know before it writes, holds it alone.
"""

from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, select

from curator.storage.base import Ids
from curator.storage.known import Known
from curator.storage.runs import Fingerprints, Runs
from curator.storage.schema import report_ids

BULK = 4_096
"""From this many ids on, a claim becomes a run."""


class Rows(Protocol):
    """The row-wise part, which each database does in its own way."""

    def claim(
        self, connection: Connection, task_no: int, ids: Ids, fingerprints: Fingerprints
    ) -> Known:
        """Insert the ids that are not there; which were, once all races are settled."""
        ...

    def lookup(self, connection: Connection, task_no: int, ids: Ids) -> Known:
        """Which of the ids are there."""
        ...


class IdBook:
    """All report ids, as one process sees them; used by one thread at a time."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows
        self._runs = Runs()

    def find(self, connection: Connection, task_no: int, ids: Ids) -> Known:
        """Which of the ids are known; ``ids`` are distinct and ascending, shape ``(B, 16)``."""
        known = self._runs.find(connection, task_no, ids)
        if len(ids) < BULK or self._any_rows(connection, task_no):
            unknown = np.flatnonzero(~known.there)
            known.put(unknown, self._rows.lookup(connection, task_no, ids[unknown]))
        return known

    def claim(
        self, connection: Connection, task_no: int, ids: Ids, fingerprints: Fingerprints
    ) -> Known:
        """Make the ids known; which were before. Same conditions as ``find``."""
        if len(ids) < BULK:
            known = self._runs.find(connection, task_no, ids)
            new = np.flatnonzero(~known.there)
            known.put(new, self._rows.claim(connection, task_no, ids[new], fingerprints[new]))
            return known
        known = self.find(connection, task_no, ids)
        new = np.flatnonzero(~known.there)
        if len(new):
            self._runs.append(connection, task_no, ids[new], fingerprints[new])
        return known

    def _any_rows(self, connection: Connection, task_no: int) -> bool:
        query = select(report_ids.c.task_no).where(report_ids.c.task_no == task_no).limit(1)
        return connection.execute(query).first() is not None


def distinct(ids: NDArray[np.bytes_]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Where each distinct id comes first, ascending by id; and for every row where its id does.

    Shapes ``(D,)`` and ``(B,)`` for B ids of which D differ.
    """
    order = np.argsort(ids, kind="stable")
    ranked = ids[order]
    begins = np.ones(len(ids), dtype=bool)
    begins[1:] = ranked[1:] != ranked[:-1]
    first = order[begins]
    decider = np.empty(len(ids), dtype=np.intp)
    decider[order] = first[np.cumsum(begins) - 1]
    return first, decider
