"""Which report ids were counted: rows for those that come alone, runs for large batches.

Both are looked into before an id is claimed, and both change under the task's lock: claims that
write rows share it, since the primary key settles their races; a claim that writes a run, or that
must know before it writes, holds it alone.
"""

from typing import Protocol

import numpy as np
from sqlalchemy import bindparam, exists, select

from privet.curator.datastore.base import Ids
from privet.curator.datastore.known import Known
from privet.curator.datastore.runs import Fingerprints, Runs
from privet.curator.datastore.schema import report_ids
from privet.curator.datastore.session import Prepared, Session

BULK = 4_096
"""From this many ids on, a claim becomes a run."""

ANY_ROW = Prepared(select(exists().where(report_ids.c.task_no == bindparam("task_no"))))


class Rows(Protocol):
    """The row-wise part, which each database does in its own way."""

    def claim(self, session: Session, task_no: int, ids: Ids, fingerprints: Fingerprints) -> Known:
        """Insert the ids that are not there; which were, once all races are settled."""
        ...

    def lookup(self, session: Session, task_no: int, ids: Ids) -> Known:
        """Which of the ids are there."""
        ...


class IdBook:
    """All report ids, as one process sees them; used by one thread at a time.

    ``last_run`` is always the number of the task's newest run as this transaction reads it, None
    if there is none.
    """

    def __init__(self, rows: Rows) -> None:
        self._rows = rows
        self._runs = Runs()

    def find(self, session: Session, task_no: int, last_run: int | None, ids: Ids) -> Known:
        """Which of the ids are known; ``ids`` are distinct and ascending, shape ``(B, 16)``."""
        known = self._runs.find(session, task_no, last_run, ids)
        if len(ids) < BULK or session.row(ANY_ROW, {"task_no": task_no})[0]:
            unknown = np.flatnonzero(~known.there)
            known.put(unknown, self._rows.lookup(session, task_no, ids[unknown]))
        return known

    def claim(
        self,
        session: Session,
        task_no: int,
        last_run: int | None,
        ids: Ids,
        fingerprints: Fingerprints,
    ) -> Known:
        """Make the ids known; which were before. Same conditions as ``find``."""
        if len(ids) < BULK:
            return self._claim_rows(session, task_no, last_run, ids, fingerprints)
        known = self.find(session, task_no, last_run, ids)
        new = np.flatnonzero(~known.there)
        if len(new) == len(ids):
            self._runs.append(session, task_no, ids, fingerprints)
        elif len(new):
            self._runs.append(session, task_no, ids[new], fingerprints[new])
        return known

    def forget_unsure(self) -> None:
        """A transaction may not have become durable: believe nothing of what it wrote."""
        self._runs.forget_unsure()

    def _claim_rows(
        self,
        session: Session,
        task_no: int,
        last_run: int | None,
        ids: Ids,
        fingerprints: Fingerprints,
    ) -> Known:
        if last_run is None:
            return self._rows.claim(session, task_no, ids, fingerprints)
        known = self._runs.find(session, task_no, last_run, ids)
        new = np.flatnonzero(~known.there)
        known.put(new, self._rows.claim(session, task_no, ids[new], fingerprints[new]))
        return known
